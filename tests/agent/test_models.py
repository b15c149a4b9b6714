"""Model providers: the real classes against stand-ins of their services, and the scripted one."""

import asyncio
import json
import os
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from strands import Agent
from typer.testing import CliRunner

from speakahead.agent.app import make_agent
from speakahead.agent.conversation import Conversations
from speakahead.agent.models import ModelKind, ModelSettings, build_model
from speakahead.agent.models.scripted import Call, Pause, Say, ScriptedModel, read_script
from speakahead.agent.models.watched import WatchedModel
from speakahead.agent.request import AgentRequest
from speakahead.cli.agent import agent as agent_cli
from speakahead.errors import InvalidRequest
from tests.agent.rig import Events, of, skip_to, speech_backend, text
from tests.agent.services import services
from tests.conftest import free_port

WORDS = ("Hello", " there", ". How", " are", " you", "?")
REMOTE = (ModelKind.BEDROCK, ModelKind.OPENAI, ModelKind.OLLAMA)


@pytest.fixture(autouse=True)
def credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "test")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "test")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")


def settings(kind: ModelKind, url: str) -> ModelSettings:
    return ModelSettings(kind, model_id="some.model", url=url, region="eu-west-1", api_key="k")


async def answer(agent: Agent) -> Events:
    async with Conversations(lambda: agent, speech_backend()) as conversations:
        turn = conversations.named("s").turn(AgentRequest(prompt="Good morning."))
        return [dict(event) async for event in turn]


@pytest.mark.parametrize("kind", REMOTE)
def test_a_service_is_spoken_while_it_writes(kind: ModelKind) -> None:
    with services(*WORDS) as stub:
        agent = make_agent(build_model(settings(kind, stub.url)), tools=True)
        events = asyncio.run(answer(agent))
        [(path, request)] = stub.requests
    assert text(events) == "Hello there. How are you?"
    assert [c["text"] for c in of(events, "captions")] == ["Hello there.", "How are you?"]
    assert events[-1]["stop_reason"] == "end_turn"
    sent = json.dumps(request)
    assert "Good morning." in sent
    assert "order_status" in sent
    if kind is ModelKind.BEDROCK:
        assert path == "/model/some.model/converse-stream"
    else:
        assert request["model"] == "some.model"


@pytest.mark.parametrize("kind", REMOTE)
def test_leaving_stops_a_service(kind: ModelKind) -> None:
    async def scenario(agent: Agent) -> None:
        async with Conversations(lambda: agent, speech_backend()) as conversations:
            turn = conversations.named("s").turn(AgentRequest(prompt="Go on."))
            await skip_to(turn, "audio_chunk")
            leaving = time.monotonic()
            await turn.aclose()
            left = leaving + 0.5 - time.monotonic()
            assert left > 0
            assert await asyncio.to_thread(stub.left.wait, left), "the service sees that we left"

    with services("Hello there. ", endless=True) as stub:
        asyncio.run(scenario(make_agent(build_model(settings(kind, stub.url)), tools=False)))


@pytest.mark.parametrize("kind", REMOTE)
def test_a_service_that_refuses_is_a_typed_error(kind: ModelKind) -> None:
    with services(*WORDS) as stub:
        stub.fails = 400
        agent = make_agent(build_model(settings(kind, stub.url)), tools=False)
        events = asyncio.run(answer(agent))
    [error] = of(events, "error")
    assert error["code"] == "connection_failed"
    assert stub.url not in error["message"]
    assert events[-1]["stop_reason"] == "error"
    assert agent.messages == []


@pytest.mark.parametrize("pieces", [0, 3])
@pytest.mark.parametrize("kind", REMOTE)
def test_a_service_that_hangs_is_given_up(kind: ModelKind, pieces: int) -> None:
    with services(*WORDS) as stub:
        stub.silent_after = pieces
        model = build_model(replace(settings(kind, stub.url), silence_s=1.2))
        began = time.monotonic()
        events = asyncio.run(asyncio.wait_for(answer(make_agent(model, tools=False)), 20))
        assert time.monotonic() - began < 8
        assert len(stub.requests) <= 1, "it is not asked again"
    [error] = of(events, "error")
    assert error["code"] == "connection_failed"
    assert error["retryable"]
    # By the watch, or by the client, which gives up soon after it.
    assert "has written nothing for" in error["message"]
    assert text(events).startswith("Hello there" if pieces else "")
    assert events[-1]["stop_reason"] == "error"


@pytest.mark.parametrize("kind", REMOTE)
def test_a_service_that_leaves_in_the_middle_is_a_typed_error(kind: ModelKind) -> None:
    with services(*WORDS) as stub:
        stub.cut_after = 3
        agent = make_agent(build_model(settings(kind, stub.url)), tools=False)
        events = asyncio.run(answer(agent))
    [error] = of(events, "error")
    assert error["code"] == "connection_failed"


@pytest.mark.parametrize("kind", [ModelKind.BEDROCK, ModelKind.OPENAI])
def test_a_service_that_is_busy_is_not_waited_for(kind: ModelKind) -> None:
    with services(*WORDS) as stub:
        stub.fails = 429
        agent = make_agent(build_model(settings(kind, stub.url)), tools=False)
        events = asyncio.run(asyncio.wait_for(answer(agent), 10))
    [error] = of(events, "error")
    assert error["code"] == "overloaded"
    assert error["retryable"]


def test_how_long_a_service_may_be_silent_is_an_option() -> None:
    with services(*WORDS) as stub:
        stub.silent_after = 0
        options = ["--model", "ollama", "--model-id", "some.model", "--model-url", stub.url]
        result = CliRunner().invoke(agent_cli, ["ask", "Hi.", *options, "--model-silence", "1"])
    assert result.exit_code == 1
    assert "nothing for 1 seconds" in result.stderr


def test_a_service_is_watched_between_its_pieces_only() -> None:
    """A reply that takes longer than the silence that is allowed."""
    pause = [part for word in "one two three four".split() for part in (Pause(0.2), Say(word))]

    async def scenario() -> list[Any]:
        model = WatchedModel(ScriptedModel([pause], tokens_per_second=1_000), silence_s=0.6)
        return [event async for event in model.stream([])]

    assert asyncio.run(scenario())[-1] == {"messageStop": {"stopReason": "end_turn"}}


def test_a_model_at_a_service_has_to_be_named() -> None:
    with pytest.raises(InvalidRequest, match="bedrock"):
        build_model(ModelSettings(ModelKind.BEDROCK))


@pytest.mark.parametrize("kind", [ModelKind.OPENAI, ModelKind.OLLAMA, ModelKind.BEDROCK])
def test_a_service_that_is_not_there_is_named_as_the_cause(
    kind: ModelKind, caplog: pytest.LogCaptureFixture
) -> None:
    model = build_model(settings(kind, f"http://127.0.0.1:{free_port()}"))
    [error] = of(asyncio.run(answer(make_agent(model, tools=False))), "error")
    assert error["code"] == "connection_failed"
    assert "cannot be reached" in error["message"]
    assert "the model failed" not in caplog.text, "there is no more to say about it"


def test_bedrock_without_credentials_says_so(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    for file in ("CONFIG", "SHARED_CREDENTIALS"):
        monkeypatch.setenv(f"AWS_{file}_FILE", str(tmp_path / "none"))
    model = build_model(ModelSettings(ModelKind.BEDROCK, "some.model", region="eu-west-1"))
    [error] = of(asyncio.run(answer(make_agent(model, tools=False))), "error")
    assert "No AWS credentials" in error["message"]


def test_only_openai_itself_needs_a_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(InvalidRequest, match="OPENAI_API_KEY"):
        build_model(ModelSettings(ModelKind.OPENAI, "some.model"))
    with services(*WORDS) as stub:
        model = build_model(ModelSettings(ModelKind.OPENAI, "some.model", url=stub.url))
        events = asyncio.run(answer(make_agent(model, tools=False)))
    assert text(events) == "".join(WORDS)


def test_a_script_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "script.json"
    steps: Any = [
        [{"say": "Let me check."}, {"call": "order_status", "arguments": {"order_number": "1"}}],
        [{"pause_s": 0.5}, {"say": "Here."}],
    ]
    file.write_text(json.dumps({"steps": steps}))
    assert read_script(file) == [
        [Say("Let me check."), Call("order_status", {"order_number": "1"})],
        [Pause(0.5), Say("Here.")],
    ]
    for wrong in (
        "",
        "{}",
        '{"steps": []}',
        '{"steps": [[{"say": 1}]]}',
        '{"steps": [[{"sya": ""}]]}',
    ):
        file.write_text(wrong)
        with pytest.raises(InvalidRequest) as refused:
            read_script(file)
        assert "message" not in refused.value.message
    with pytest.raises(InvalidRequest):
        read_script(tmp_path / "none.json")


def test_a_scripted_model_writes_at_its_rate() -> None:
    async def scenario() -> tuple[str, float]:
        model = ScriptedModel([[Say("One two three four five.")]], tokens_per_second=20)
        began = time.monotonic()
        pieces = [
            event["contentBlockDelta"]["delta"]["text"]
            async for event in model.stream([])
            if "contentBlockDelta" in event
        ]
        return "".join(pieces), (time.monotonic() - began) / len(pieces)

    written, seconds = asyncio.run(scenario())
    assert written == "One two three four five."
    assert seconds == pytest.approx(1 / 20, rel=0.35)
