"""Model providers: the real classes against stand-ins of their services, and the embedded one."""

import asyncio
import json
import time
from pathlib import Path
from typing import Any

import pytest
from strands import Agent

from speakahead.agent.app import make_agent
from speakahead.agent.conversation import Conversations
from speakahead.agent.models import ModelKind, ModelSettings, build_model
from speakahead.agent.models.embedded import EmbeddedModel, fetch
from speakahead.agent.models.scripted import Call, Pause, Say, ScriptedModel, read_script
from speakahead.agent.request import AgentRequest
from speakahead.errors import InvalidRequest
from tests.agent.rig import Events, of, skip_to, speech_backend, text
from tests.agent.services import services

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
            assert time.monotonic() - leaving < 0.5
            assert await asyncio.to_thread(stub.left.wait, 1.0), "the service sees that we left"

    with services("Hello there. ", endless=True) as stub:
        asyncio.run(scenario(make_agent(build_model(settings(kind, stub.url)), tools=False)))


@pytest.mark.parametrize("kind", REMOTE)
def test_a_service_that_refuses_is_a_typed_error(kind: ModelKind) -> None:
    with services(*WORDS) as stub:
        stub.fails = True
        agent = make_agent(build_model(settings(kind, stub.url)), tools=False)
        events = asyncio.run(answer(agent))
    [error] = of(events, "error")
    assert error["code"] == "connection_failed"
    assert stub.url not in error["message"]
    assert events[-1]["stop_reason"] == "error"
    assert agent.messages == []


def test_a_model_at_a_service_has_to_be_named() -> None:
    with pytest.raises(InvalidRequest, match="bedrock"):
        build_model(ModelSettings(ModelKind.BEDROCK))


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
    for wrong in ("", "{}", '{"steps": []}', '{"steps": [[{"say": 1}]]}'):
        file.write_text(wrong)
        with pytest.raises(InvalidRequest):
            read_script(file)
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


@pytest.fixture(scope="module")
def embedded() -> EmbeddedModel:
    return EmbeddedModel(fetch(), max_tokens=60)


def test_the_embedded_model_answers_without_a_network(embedded: EmbeddedModel) -> None:
    agent = make_agent(embedded, tools=False)
    events = asyncio.run(answer(agent))
    assert len(text(events).split()) > 3
    assert len(of(events, "text_delta")) > 3, "it is streamed"
    assert of(events, "audio_chunk")
    assert agent.messages[-1]["content"] == [{"text": text(events)}]


def test_the_embedded_model_can_be_stopped(embedded: EmbeddedModel) -> None:
    async def scenario() -> None:
        agent = make_agent(embedded, tools=False)
        async with Conversations(lambda: agent, speech_backend()) as conversations:
            turn = conversations.named("s").turn(AgentRequest(prompt="Tell me a long story."))
            await skip_to(turn, "text_delta", 20)
            leaving = time.monotonic()
            await turn.aclose()
            assert time.monotonic() - leaving < 0.5
            assert not embedded._lock.locked()

    asyncio.run(scenario())
