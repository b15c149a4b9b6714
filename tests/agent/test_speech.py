"""What speaks for the agent, by configuration."""

import asyncio
import sys

import pytest

from speakahead.agent.app import make_agent
from speakahead.agent.conversation import Conversations
from speakahead.agent.models.scripted import Say, ScriptedModel
from speakahead.agent.request import AgentRequest
from speakahead.agent.settings import SpeechSettings
from speakahead.agent.speech import open_speech
from speakahead.errors import InvalidRequest
from speakahead.server.settings import ServerSettings
from tests.agent.rig import Events, of
from tests.server.rig import serving

KEY = "a-secret-key"


def open_(where: str, **settings: str) -> object:
    return asyncio.run(open_speech(SpeechSettings(where, **settings)))


def test_the_services_of_aws_are_named_without_being_asked() -> None:
    from speakahead.backends.polly import PollyBackend
    from speakahead.backends.sagemaker import SageMakerBackend

    assert isinstance(open_("polly", region="eu-west-1"), PollyBackend)
    assert isinstance(open_("sagemaker:voice-1", region="eu-west-1"), SageMakerBackend)


@pytest.mark.parametrize("where", ["sagemaker:", "sagemaker:no spaces", "pollly", "", "ftp://host"])
def test_what_is_no_back_end_is_refused(where: str) -> None:
    with pytest.raises(InvalidRequest):
        open_(where, region="eu-west-1")


@pytest.mark.parametrize("where", ["polly", "sagemaker:voice-1"])
def test_without_the_extra_one_is_told_how_to_get_it(
    monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    monkeypatch.setitem(sys.modules, f"speakahead.backends.{where.split(':')[0]}", None)
    with pytest.raises(InvalidRequest, match=r"speakahead\[aws\]"):
        open_(where, region="eu-west-1")


@pytest.mark.parametrize("key", [KEY, None])
def test_an_agent_speaks_through_a_server_that_asks_for_a_key(key: str | None) -> None:
    async def scenario() -> Events:
        async with serving(ServerSettings(api_keys=(KEY,))) as server:
            speech = await open_speech(SpeechSettings(f"ws://127.0.0.1:{server.port}", key))
            agent = make_agent(ScriptedModel([[Say("Hello.")]]), tools=False)
            async with Conversations(lambda: agent, speech) as conversations:
                turn = conversations.named(None).turn(AgentRequest(prompt="Hi."))
                return [dict(event) async for event in turn]

    events = asyncio.run(scenario())
    assert bool(of(events, "error")) is (key is None)
    assert bool(of(events, "audio_chunk")) is (key is not None)
