"""Turns, bidi and batch, with a scripted model and a speech back end that costs nothing."""

import asyncio
import time
from typing import Any

import numpy as np
import pytest

from speakahead.agent.app import make_agent
from speakahead.agent.conversation import Conversations
from speakahead.agent.events import Mode
from speakahead.agent.models.scripted import Pause, Say, ScriptedModel
from speakahead.agent.request import AgentRequest, parse_request
from speakahead.agent.settings import SpeechSettings
from speakahead.agent.speech import open_speech
from speakahead.errors import InvalidRequest
from speakahead.server.settings import ServerSettings
from speakahead.session import Limits
from tests.agent.rig import Rig, of, skip_to, sound, text
from tests.server.rig import serving

REPLY = "This is the first sentence. Here is a second one, a little longer. And that was all."


def ask(*steps: Any, rate: float = 10_000.0, **fields: Any) -> list[dict[str, Any]]:
    async def scenario() -> list[dict[str, Any]]:
        async with Rig(*steps, rate=rate) as rig:
            return await rig.answer(**fields)

    return asyncio.run(scenario())


@pytest.mark.parametrize("mode", ["bidi", "batch"])
def test_a_turn_is_one_stream_of_sound_between_its_start_and_its_end(mode: str) -> None:
    events = ask((Say(REPLY),), mode=mode)
    assert events[0]["type"] == "agent_start"
    assert events[0]["session_id"] == "s"
    assert events[0]["mode"] == mode
    assert events[-1]["type"] == "agent_end"
    assert events[-1]["stop_reason"] == "end_turn"
    assert text(events) == REPLY
    kinds = [event["type"] for event in events]
    assert kinds.count("audio_stream_start") == kinds.count("audio_stream_end") == 1
    assert kinds.index("audio_stream_start") < kinds.index("audio_chunk")
    chunks = of(events, "audio_chunk")
    assert [chunk["sequence"] for chunk in chunks] == list(range(len(chunks)))
    end = of(events, "audio_stream_end")[0]
    assert end["chunks"] == len(chunks)
    assert end["duration_s"] == pytest.approx(len(sound(events)) / 48_000, abs=0.001)
    letters = len(REPLY) - 2  # without the spaces between sentences
    assert end["duration_s"] == pytest.approx(letters * 0.05 + 3 * 0.7, abs=0.01)
    assert not of(events, "error")


def test_both_modes_sound_alike() -> None:
    assert sound(ask((Say(REPLY),), mode="bidi")) == sound(ask((Say(REPLY),), mode="batch"))


def test_sound_leaves_while_the_model_writes_only_in_bidi() -> None:
    script = (Say("This is the first sentence. Here"), Pause(0.5), Say(" is the end."))
    bidi = ask(script)
    heard, written = of(bidi, "audio_chunk")[0], of(bidi, "text_delta")[-1]
    assert written["at"] - heard["at"] > 0.3
    batch = ask(script, mode="batch")
    heard, written = of(batch, "audio_chunk")[0], of(batch, "text_delta")[-1]
    assert heard["at"] >= written["at"]


def test_timings_tell_the_modes_apart() -> None:
    script = (Say("This is the first sentence. Here"), Pause(0.4), Say(" is the end."))
    for mode in ("bidi", "batch"):
        timings = ask(script, mode=mode)[-1]["timings"]
        assert 0 <= timings["first_text_s"] <= timings["first_sentence_s"]
        assert timings["first_sentence_s"] <= timings["first_audio_s"] <= timings["total_s"]
        assert timings["model_done_s"] > 0.4
        assert (timings["first_audio_s"] > 0.4) is (mode == "batch")
        assert timings["audio_s"] > 3


def ask_through_a_server(script: Any, mode: Mode) -> list[dict[str, Any]]:
    """The same, spoken by a server elsewhere."""

    async def scenario() -> list[dict[str, Any]]:
        async with serving(ServerSettings(ahead_s=None)) as server:
            speech = await open_speech(SpeechSettings(f"ws://127.0.0.1:{server.port}"))
            agent = make_agent(ScriptedModel([script], tokens_per_second=10_000), tools=False)
            async with Conversations(lambda: agent, speech) as conversations:
                turn = conversations.named(None).turn(AgentRequest(prompt="Hi.", mode=mode))
                return [dict(event) async for event in turn]

    return asyncio.run(scenario())


@pytest.mark.parametrize("speech", ["local", "elsewhere"])
@pytest.mark.parametrize("mode", ["bidi", "batch"])
def test_captions_name_the_words_of_the_text_and_when_they_are_heard(
    mode: Mode, speech: str
) -> None:
    script = (Say(REPLY),)
    events = ask(script, mode=mode) if speech == "local" else ask_through_a_server(script, mode)
    captions = of(events, "captions")
    assert len(captions) == 3
    assert [REPLY[c["start"] : c["end"]] for c in captions] == [c["text"] for c in captions]
    assert [c["start_s"] for c in captions] == [c["words"][0]["start_s"] for c in captions]
    timings = events[-1]["timings"]
    assert timings["first_text_s"] <= timings["first_sentence_s"] <= timings["first_audio_s"]
    words = [word for caption in captions for word in caption["words"]]
    assert [REPLY[w["start"] : w["end"]] for w in words] == [w["text"] for w in words]
    assert [w["text"] for w in words] == REPLY.replace(".", "").replace(",", "").split()
    samples = np.frombuffer(sound(events), "<i2")
    for word in words:
        piece = samples[round(word["start_s"] * 24_000) : round(word["end_s"] * 24_000)]
        assert len(piece) > 0
        assert piece.min() > 0, "a word is where the sound is, not in a pause"


def test_an_encoded_turn_is_one_container() -> None:
    data = sound(ask((Say(REPLY),), format="wav"))
    assert data[:4] == b"RIFF"
    assert data.count(b"RIFF") == 1
    assert len(data) == 44 + len(sound(ask((Say(REPLY),))))


def test_a_reply_without_words_ends_without_sound() -> None:
    events = ask((Say("  "),))
    assert [event["type"] for event in events] == ["agent_start", "text_delta", "agent_end"]


def test_a_sentence_that_cannot_be_spoken_is_an_error_and_the_rest_is_spoken() -> None:
    script = (Say("One is fine. Two will explode. And"), Pause(0.5), Say(" so. Four is fine."))
    events = ask(script)
    [error] = of(events, "error")
    assert error["code"] == "synthesis_failed"
    assert "secret" not in str(events)
    assert [caption["text"] for caption in of(events, "captions")][-1] == "Four is fine."
    assert events[-1]["stop_reason"] == "error"


@pytest.mark.parametrize(
    ("payload", "names"),
    [
        ([], "prompt"),
        ({}, "prompt"),
        ({"prompt": ""}, "prompt"),
        ({"prompt": 7}, "prompt"),
        ({"prompt": "x", "mode": "both"}, "mode"),
        ({"prompt": "x", "speed": 3.0}, "speed"),
        ({"prompt": "x", "played_s": -1.0}, "played_s"),
    ],
)
def test_a_request_that_is_wrong_is_refused_by_name(payload: object, names: str) -> None:
    with pytest.raises(InvalidRequest, match=names):
        parse_request(payload)


def test_a_format_that_does_not_exist_is_refused_before_the_model_is_asked() -> None:
    async def scenario() -> None:
        async with Rig((Say(REPLY),)) as rig:
            with pytest.raises(InvalidRequest):
                await rig.answer(format="midi")
            assert not rig.model.requests

    asyncio.run(scenario())


def test_leaving_stops_the_model_and_the_speech_within_half_a_second() -> None:
    async def scenario() -> None:
        long = "Here comes one more sentence of a long reply. " * 200
        async with Rig((Say(long),), rate=100) as rig:
            async with rig.turn() as events:
                await skip_to(events, "audio_chunk")
                leaving = time.monotonic()
            assert time.monotonic() - leaving < 0.5
            assert rig.speech.scheduler.streams == 0
            written, spoken = rig.model.written, len(rig.spoken)
            await asyncio.sleep(0.3)
            assert rig.model.written == written
            assert len(rig.spoken) <= spoken + 1

    asyncio.run(scenario())


def test_leaving_stops_a_model_that_writes_nothing() -> None:
    async def scenario() -> None:
        async with Rig((Say("Wait. "), Pause(60), Say("No."))) as rig:
            async with rig.turn() as events:
                await skip_to(events, "text_delta")
                leaving = time.monotonic()
            assert time.monotonic() - leaving < 0.5
            assert rig.speech.scheduler.streams == 0

    asyncio.run(scenario())


def test_a_client_that_reads_nothing_makes_the_model_wait() -> None:
    async def scenario() -> None:
        long = "Here comes one more sentence of a long reply. " * 400
        rig = Rig((Say(long),))
        rig.speech.limits = Limits(max_waiting=2_000)
        async with rig, rig.turn() as events:
            await skip_to(events, "audio_chunk")
            await asyncio.sleep(0.5)
            assert 0 < rig.model.written < 2_000

    asyncio.run(scenario())
