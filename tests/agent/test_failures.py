"""What is left of a turn, and of the conversation, when a part of it fails or is slow to end."""

import asyncio
import time
from collections.abc import AsyncGenerator, Callable
from typing import Any

import pytest

from speakahead.agent.models.scripted import Pause, Say, ScriptedModel
from speakahead.agent.request import MAX_PROMPT
from speakahead.backends.interface import SpeechStream
from speakahead.errors import ConnectionFailed
from speakahead.session.events import Append, Audio, Event, Request
from tests.agent.rig import Rig, Stream, of, skip_sound, skip_to, text
from tests.agent.test_history import FIRST, FIRST_S, REPLY, heard_s, texts

SECRET = "secret words"


# -- speech that takes its time to close ------------------------------------------------------


class Lingering(Stream):
    """Takes as long to close as a connection whose peer says nothing."""

    async def aclose(self) -> None:
        await asyncio.sleep(1.0)
        await super().aclose()


def test_leaving_stops_the_model_while_the_speech_is_still_closing() -> None:
    async def scenario() -> None:
        async with Rig((Say(REPLY * 50),), rate=200, through=Lingering) as rig:
            async with rig.turn() as events:
                began = time.monotonic()
                await skip_sound(events, 0.5)
                await asyncio.sleep(0.3)
                left = time.monotonic()
            assert time.monotonic() - left < 0.5
            there_was_s = time.monotonic() - began
            written, history = rig.model.written, rig.history
            await asyncio.sleep(1.3)
            assert rig.model.written == written
            assert rig.speech.scheduler.streams == 0
            assert rig.history == history
            [_, (_, answer)] = texts(history)
            assert answer
            assert heard_s(answer) < there_was_s, "what there was time for, not what was sent"

    asyncio.run(scenario())


def test_what_the_client_says_it_heard_holds_if_it_leaves_at_once() -> None:
    async def scenario() -> None:
        async with Rig((Say(f"{REPLY} And"), Pause(30)), through=Lingering) as rig:
            async with rig.turn() as events:
                await skip_sound(events, FIRST_S)
                rig.conversations.named("s").interrupt(0.25)
                await asyncio.sleep(0.02)
            assert texts(rig.history) == [("user", "Hello?"), ("assistant", "This")]

    asyncio.run(scenario())


def test_the_end_of_a_turn_does_not_wait_for_the_speech_to_close() -> None:
    async def scenario() -> None:
        async with Rig((Say(FIRST),), through=Lingering) as rig:
            events = await rig.answer()
            assert events[-1]["at"] - of(events, "utterance_complete")[0]["at"] < 0.5

    asyncio.run(scenario())


# -- speech that fails ------------------------------------------------------------------------


class Refusing(Stream):
    async def __aenter__(self) -> "Refusing":
        raise ConnectionFailed("It cannot be reached.")


class Deaf(Stream):
    """Takes nothing from the second sentence on."""

    async def send(self, request: Request) -> None:
        if isinstance(request, Append) and "And" in request.delta:
            raise ConnectionFailed("It has gone.")
        await super().send(request)


class Breaking(Stream):
    """Breaks off within the first sentence."""

    error: Exception = ConnectionFailed("It has gone.")

    def __init__(self, inner: SpeechStream) -> None:
        super().__init__(inner)
        self.pieces = 0

    async def __anext__(self) -> Event:
        event = await super().__anext__()
        self.pieces += isinstance(event, Audio)
        if self.pieces > 10:
            raise self.error
        return event

    async def send(self, request: Request) -> None:
        if self.pieces > 10:
            await asyncio.sleep(60)  # nobody makes room
        await super().send(request)


class Faulty(Breaking):
    error = RuntimeError(SECRET)


BROKEN = (Say(f"{REPLY} And"), Pause(0.3), Say(" that was all."))
BROKEN_REPLY = f"{REPLY} And that was all."


@pytest.mark.parametrize("mode", ["bidi", "batch"])
@pytest.mark.parametrize("through", [Refusing, Deaf, Breaking, Faulty])
def test_without_its_speech_the_text_goes_on(
    through: Callable[[SpeechStream], SpeechStream],
    mode: str,
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def scenario() -> None:
        async with Rig(BROKEN, through=through) as rig:
            events = await asyncio.wait_for(rig.answer(mode=mode), 20)
            assert text(events) == BROKEN_REPLY
            [error] = of(events, "error")
            assert error["code"] == "internal" if through is Faulty else "connection_failed"
            assert events[-1]["type"] == "agent_end"
            assert events[-1]["stop_reason"] == "error"
            assert texts(rig.history) == [("user", "Hello?"), ("assistant", BROKEN_REPLY)]
            assert SECRET not in f"{events}{caplog.text}"
            assert ("the speech failed: RuntimeError at" in caplog.text) is (through is Faulty)

    asyncio.run(scenario())


def test_a_voice_that_does_not_exist_leaves_the_text() -> None:
    async def scenario() -> None:
        async with Rig(BROKEN) as rig:
            events = await rig.answer(voice="nobody")
            assert [error["code"] for error in of(events, "error")] == ["unknown_voice"]
            assert text(events) == BROKEN_REPLY
            assert not of(events, "audio_chunk")
            assert texts(rig.history) == [("user", "Hello?"), ("assistant", BROKEN_REPLY)]

    asyncio.run(scenario())


def test_text_that_could_only_be_read_was_read_up_to_the_interruption() -> None:
    async def scenario() -> None:
        async with Rig((Say(f"{REPLY} And"), Pause(30), Say(" more."))) as rig:
            async with rig.turn(voice="nobody") as events:
                await skip_to(events, "error")
                await asyncio.sleep(0.3)
                rig.conversations.named("s").interrupt()
                interrupted = await skip_to(events, "interrupted")
            assert interrupted["text_spoken"] == f"{REPLY} And"
            assert interrupted["text_remaining"] == ""
            assert texts(rig.history) == [("user", "Hello?"), ("assistant", f"{REPLY} And")]

    asyncio.run(scenario())


def test_where_the_speech_broke_off_it_counts_what_was_heard_of_it_first() -> None:
    async def scenario() -> None:
        async with Rig(BROKEN, through=Breaking) as rig:
            await rig.answer()
            event = rig.conversations.named("s").interrupt(0.25)
            assert event is not None
            assert event["text_spoken"] == "This"
            assert event["text_spoken"] + event["text_remaining"] == BROKEN_REPLY
            assert texts(rig.history)[-1] == ("assistant", "This")

    asyncio.run(scenario())


# -- a model that fails -----------------------------------------------------------------------


class Choosy(ScriptedModel):
    """Refuses what holds "bad", and quotes it."""

    async def stream(self, messages: Any, *args: Any, **kwargs: Any) -> AsyncGenerator[Any, None]:
        if "bad" in str(messages[-1]):
            raise ValueError(f"400: {messages[-1]} {SECRET}")
        async for event in super().stream(messages, *args, **kwargs):
            yield event


@pytest.mark.parametrize("leaves", [False, True])
def test_a_question_that_the_model_refused_is_not_asked_again(
    leaves: bool, caplog: pytest.LogCaptureFixture
) -> None:
    async def scenario() -> None:
        async with Rig() as rig:
            rig.model = Choosy([[Say("Good.")]])
            if leaves:
                async with rig.turn("Something bad.") as events:
                    await skip_to(events, "error")
            else:
                assert of(await rig.answer("Something bad."), "error")
            rig.conversations.named("s").interrupt(0.0)
            assert not of(await rig.answer("Two."), "error")
            assert texts(rig.history) == [("user", "Two."), ("assistant", "Good.")]

    asyncio.run(scenario())
    assert "the model failed: ValueError at" in caplog.text
    assert SECRET not in caplog.text
    assert "Something bad" not in caplog.text


def test_questions_without_an_answer_do_not_pile_up() -> None:
    async def scenario() -> None:
        async with Rig((Pause(30),)) as rig:
            for letter in "abcd":
                async with rig.turn(letter * (MAX_PROMPT // 2)) as events:
                    await skip_to(events, "agent_start")
                    await asyncio.sleep(0.1)
            [asked] = rig.model.requests[-1][-1]["content"]
            assert set(asked["text"]) == {"b", "c", "d", "\n"}

    asyncio.run(scenario())
