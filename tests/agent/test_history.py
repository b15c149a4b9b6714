"""Interruptions, and what the conversation remembers."""

import asyncio
import time
from typing import Any

import pytest

from speakahead.agent.history import heard_messages
from speakahead.agent.models.scripted import Call, Pause, Say
from speakahead.audio.formats import FORMATS
from tests.agent.rig import CHARACTER_S, Rig, of, skip_sound, skip_to

FIRST, SECOND = "This is the first sentence.", "Here is a second one."
REPLY = f"{FIRST} {SECOND}"
FIRST_S = len(FIRST) * CHARACTER_S


def texts(history: list[dict[str, Any]]) -> list[tuple[str, str]]:
    return [(m["role"], "".join(c.get("text", "") for c in m["content"])) for m in history]


def heard_s(text: str) -> float:
    """How long a listener needs at least for what counts as heard: half of its last word."""
    last = text.rsplit(" ", 1)[-1]
    return (len(text) - len(last) / 2 - 1) * CHARACTER_S


def test_the_history_of_a_turn_that_was_heard_is_the_whole_reply() -> None:
    async def scenario() -> None:
        async with Rig((Say(REPLY),)) as rig:
            await rig.answer("Hello?")
            assert texts(rig.history) == [("user", "Hello?"), ("assistant", REPLY)]

    asyncio.run(scenario())


@pytest.mark.parametrize("mode", ["bidi", "batch"])
def test_the_client_says_what_it_played(mode: str) -> None:
    async def scenario() -> None:
        endless = (
            (Say(f"{REPLY} And"), Pause(30), Say(" more.")) if mode == "bidi" else (Say(REPLY),)
        )
        async with Rig(endless) as rig:
            conversation = rig.conversations.named("s")
            async with rig.turn(mode=mode) as events:
                if mode == "bidi":
                    await skip_to(events, "captions")
                    await skip_to(events, "captions")
                # "This is the" and more than half of "first"
                played = (len("This is the ") + 3) * CHARACTER_S
                async for event in events:
                    if event["type"] == "audio_chunk" and event["sequence"] > 40:
                        conversation.interrupt(played)
                        break
                interrupted = await skip_to(events, "interrupted")
                end = await skip_to(events, "agent_end")
            assert interrupted["text_spoken"] == "This is the first"
            assert interrupted["text_remaining"].startswith(" sentence. Here")
            assert interrupted["played_s"] == pytest.approx(played)
            assert end["stop_reason"] == "interrupted"
            assert texts(rig.history)[-1] == ("assistant", "This is the first")

    asyncio.run(scenario())


@pytest.mark.parametrize("name", FORMATS)
def test_no_sound_follows_an_interruption(name: str) -> None:
    async def scenario() -> None:
        async with Rig((Say(REPLY * 20),)) as rig, rig.turn(format=name) as events:
            await skip_to(events, "audio_chunk")
            await asyncio.sleep(0.1)  # so that sound waits for us
            rig.conversations.named("s").interrupt()
            await asyncio.sleep(0.1)
            kinds = [event["type"] async for event in events]
            assert "audio_chunk" not in kinds
            assert kinds[-3:] == ["interrupted", "audio_stream_end", "agent_end"]

    asyncio.run(scenario())


def test_a_client_that_leaves_has_heard_what_there_was_time_for() -> None:
    async def scenario() -> None:
        async with Rig((Say(REPLY * 20),)) as rig:
            async with rig.turn() as events:
                began = time.monotonic()
                await skip_to(events, "audio_chunk")
                await asyncio.sleep(0.2)
                await skip_sound(events, 2.0)
            there_was_s = time.monotonic() - began
            [(_, question), (_, answer)] = texts(rig.history)
            assert question == "Hello?"
            assert answer.startswith("This"), "there were 0.2 s at least"
            assert (REPLY * 20).startswith(answer)
            assert heard_s(answer) < there_was_s
            assert "cancel" not in str(rig.history).lower()

    asyncio.run(scenario())


def test_what_the_user_said_and_got_no_answer_to_is_not_lost() -> None:
    async def scenario() -> None:
        async with Rig((Pause(30), Say("Late.")), (Say("Good."),)) as rig:
            async with rig.turn("One.") as events:
                await skip_to(events, "agent_start")
                await asyncio.sleep(0.1)
            assert rig.history == []
            await rig.answer("Two.")
            assert texts(rig.history) == [("user", "One.\nTwo."), ("assistant", "Good.")]

    asyncio.run(scenario())


def test_a_new_request_interrupts_what_is_still_being_heard() -> None:
    async def scenario() -> None:
        async with Rig((Say(REPLY),), (Say("Good."),)) as rig:
            await rig.answer("One.")  # all is sent; a listener needs seconds for it
            await rig.answer("Two.", played_s=FIRST_S - CHARACTER_S)
            assert texts(rig.history) == [
                ("user", "One."),
                ("assistant", FIRST),
                ("user", "Two."),
                ("assistant", "Good."),
            ]
            assert texts([dict(m) for m in rig.model.requests[-1]])[1] == ("assistant", FIRST)

    asyncio.run(scenario())


def test_an_interruption_after_the_end_is_answered_at_once() -> None:
    async def scenario() -> None:
        async with Rig((Say(REPLY),)) as rig:
            await rig.answer("One.")
            event = rig.conversations.named("s").interrupt(0.25)
            assert event is not None
            assert event["text_spoken"] == "This"
            assert texts(rig.history)[-1] == ("assistant", "This")

    asyncio.run(scenario())


def test_an_interruption_of_nothing_is_nothing() -> None:
    async def scenario() -> None:
        async with Rig((Say(REPLY),)) as rig:
            conversation = rig.conversations.named("s")
            assert conversation.interrupt() is None
            assert conversation.interrupt(1.0) is None
            await rig.answer("One.")
            assert texts(rig.history)[-1] == ("assistant", REPLY)

    asyncio.run(scenario())


def test_what_was_heard_is_reckoned_where_the_client_does_not_say() -> None:
    """By the clock: sound that has been sent is heard from then on, without a pause."""

    async def scenario() -> None:
        async with Rig((Say(REPLY),)) as rig:
            began = time.monotonic()
            await rig.answer("One.")
            await asyncio.sleep(0.35)  # 7 characters
            event = rig.conversations.named("s").interrupt()
            assert event is not None
            assert 0.3 < event["played_s"] < time.monotonic() - began
            assert event["text_spoken"].startswith("This")
            assert heard_s(event["text_spoken"]) < time.monotonic() - began
            assert event["text_spoken"] + event["text_remaining"] == REPLY
            assert texts(rig.history) == [("user", "One."), ("assistant", event["text_spoken"])]

    asyncio.run(scenario())


def test_the_clients_word_goes_before_what_was_reckoned() -> None:
    async def scenario() -> None:
        async with Rig((Say(f"{FIRST} And"), Pause(30)), (Say("Good."),)) as rig:
            conversation = rig.conversations.named("s")
            async with rig.turn("One.") as events:
                await skip_sound(events, FIRST_S)
                conversation.interrupt()
                await skip_to(events, "agent_end")
            assert conversation.interrupt() is None  # it is known already
            # Less or more than was reckoned, and even if nothing was.
            for played, heard in ((0.0, None), (0.25, "This"), (1000.0, FIRST), (0.3, "This")):
                event = conversation.interrupt(played)
                assert event is not None
                assert event["played_s"] < 3.0, "no more than was sent"
                said = [] if heard is None else [("user", "One."), ("assistant", heard)]
                assert texts(rig.history) == said
            await rig.answer("Two.")
            assert texts(rig.history)[:3] == [
                ("user", "One."),
                ("assistant", "This"),
                ("user", "Two."),
            ]

    asyncio.run(scenario())


def test_a_client_that_left_says_with_its_next_question_what_it_heard() -> None:
    async def scenario() -> None:
        async with Rig((Say(f"{REPLY} And"), Pause(30)), (Say("Good."),)) as rig:
            async with rig.turn("One.") as events:
                await skip_sound(events, FIRST_S)
            # By the clock there was no time to hear so much.
            await rig.answer("Two.", played_s=FIRST_S - CHARACTER_S)
            assert texts([dict(m) for m in rig.model.requests[-1]]) == [
                ("user", "One."),
                ("assistant", FIRST),
                ("user", "Two."),
            ]

    asyncio.run(scenario())


def test_a_conversation_of_which_strands_forgets_the_beginning_goes_on() -> None:
    async def scenario() -> None:
        async with Rig((Say(REPLY),)) as rig:
            for number in range(22):  # more than the 40 messages that Strands keeps
                await rig.answer(f"{number}.", played_s=60.0 if number else None)
                assert texts(rig.history)[-2:] == [("user", f"{number}."), ("assistant", REPLY)]
            assert len(rig.history) == 40
            assert rig.conversations.named("s").interrupt(0.25) is not None
            assert texts(rig.history)[-2:] == [("user", "21."), ("assistant", "This")]

    asyncio.run(scenario())


def test_an_answer_of_which_nothing_was_heard_was_not_given() -> None:
    async def scenario() -> None:
        async with Rig((Say(REPLY),), (Say("Good."),)) as rig:
            await rig.answer("One.")
            event = rig.conversations.named("s").interrupt(0.0)
            assert event is not None
            assert event["text_spoken"] == ""
            assert rig.history == []
            assert rig.conversations.named("s").interrupt(0.0) is not None  # and again
            await rig.answer("Two.")
            assert texts(rig.history) == [("user", "One.\nTwo."), ("assistant", "Good.")]

    asyncio.run(scenario())


def test_a_turn_that_is_going_on_is_interrupted_by_the_next_one() -> None:
    async def scenario() -> None:
        async with Rig((Say(f"{FIRST} And"), Pause(30)), (Say("Good."),)) as rig:

            async def first() -> list[dict[str, Any]]:
                return await rig.answer("One.")

            running = asyncio.create_task(first())
            await asyncio.sleep(0.5)
            second = await asyncio.wait_for(rig.answer("Two."), 20)
            assert (await running)[-1]["stop_reason"] == "interrupted"
            assert second[-1]["stop_reason"] == "end_turn"

    asyncio.run(scenario())


def test_conversations_are_apart_and_the_oldest_are_forgotten() -> None:
    async def scenario() -> None:
        async with Rig((Say("Good."),)) as rig:
            rig.conversations._most = 2
            for session in ("a", "b", "c"):
                await rig.answer(session=session)
                assert len(rig.history) == 2
            first = rig.conversations.named("c")
            assert rig.conversations.named("c") is first
            await rig.answer(session="a")
            assert len(rig.history) == 2, "it was forgotten"
            named = {rig.conversations.named(None).name for _ in range(2)}
            assert len(named) == 2

    asyncio.run(scenario())


USE = {"toolUse": {"toolUseId": "1", "name": "t", "input": {}}}
RESULT: Any = {"role": "user", "content": [{"toolResult": {"toolUseId": "1", "content": []}}]}


def said(*content: Any) -> Any:
    return {"role": "assistant", "content": list(content)}


@pytest.mark.parametrize(
    ("messages", "heard", "kept"),
    [
        # Interrupted in the answer: the tool's result is still known.
        (
            [said({"text": "Let me see."}, USE), RESULT, said({"text": "Cancelled by user"})],
            ["Let me see.", "It is"],
            [said({"text": "Let me see."}, USE), RESULT, said({"text": "It is"})],
        ),
        # Nothing of the answer was heard: so it was not looked up, as far as the user knows.
        (
            [said({"text": "Let me see."}, USE), RESULT, said({"text": "Cancelled by user"})],
            ["Let me"],
            [said({"text": "Let me"})],
        ),
        # The call has no result.
        ([said({"text": "Let me see."}, USE)], ["Let me see."], [said({"text": "Let me see."})]),
        # Nothing was heard.
        ([said({"text": "Cancelled by user"})], [], []),
        ([said({"text": "Cancelled by user"})], [""], []),
        # The model was cut off before Strands kept anything.
        ([], ["It is"], [said({"text": "It is"})]),
        # A step without words before the call.
        (
            [said(USE), RESULT, said({"text": "It is blue."})],
            ["", "It is"],
            [said(USE), RESULT, said({"text": "It is"})],
        ),
    ],
)
def test_messages_are_cut_to_what_was_heard(messages: Any, heard: list[str], kept: Any) -> None:
    assert heard_messages(messages, heard) == kept


def test_the_interrupted_turn_with_a_tool_leaves_a_valid_history() -> None:
    async def scenario() -> None:
        steps = (
            (Say("Let me check."), Call("order_status", {"order_number": "1042"})),
            (Say("Order 1042 arrives on Thursday. And"), Pause(30)),
            (Say("Good."),),
        )
        async with Rig(*steps, tools=True) as rig:
            async with rig.turn("Where is it?") as events:
                await skip_to(events, "tool")
                await skip_to(events, "tool")
                await skip_to(events, "captions")
                rig.conversations.named("s").interrupt(1000.0)
                await skip_to(events, "agent_end")
            roles = [(m["role"], *[next(iter(c)) for c in m["content"]]) for m in rig.history]
            assert roles[:3] == [
                ("user", "text"),
                ("assistant", "text", "toolUse"),
                ("user", "toolResult"),
            ] or roles == [("user", "text"), ("assistant", "text")]
            assert roles[-1][0] == "assistant"
            events_after = await rig.answer("And?")
            assert not of(events_after, "error")

    asyncio.run(scenario())
