"""What is held until a tool's result is there."""

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from speakahead.agent.models.scripted import Call, Pause, Say, Step
from tests.agent.rig import Rig, of

ORDER = Call("order_status", {"order_number": "1042"})
UNKNOWN = Call("order_status", {"order_number": "9"})


def ask(*steps: Step, **fields: Any) -> list[dict[str, Any]]:
    async def scenario() -> list[dict[str, Any]]:
        async with Rig(*steps, tools=True) as rig:
            return await rig.answer(**fields)

    return asyncio.run(scenario())


def spoken(events: list[dict[str, Any]]) -> list[str]:
    return [caption["text"] for caption in of(events, "captions")]


def time_of(events: list[dict[str, Any]], sentence: str) -> float:
    return float(next(e["at"] for e in of(events, "captions") if e["text"] == sentence))


def result_at(events: list[dict[str, Any]]) -> float:
    return float(next(e["at"] for e in of(events, "tool") if e["state"] == "ended"))


@pytest.mark.parametrize(
    "first",
    [
        (Say("Let me check. "), ORDER, Say("It was shipped. ")),
        (Say("Let me check. It was shipped. "), ORDER),
        (Say("Let me check."), ORDER, Say("It was shipped.")),
        (Say("Let me check. It was"), ORDER, Say(" shipped.")),
    ],
)
def test_only_the_first_sentence_is_heard_before_the_result(first: Sequence[Any]) -> None:
    events = ask(first, (Say("It comes on Thursday."),))
    assert spoken(events) == ["Let me check.", "It was shipped.", "It comes on Thursday."]
    assert time_of(events, "Let me check.") < result_at(events)
    assert time_of(events, "It was shipped.") >= result_at(events)
    assert not of(events, "error")


@pytest.mark.parametrize(
    "first",
    [
        (Say("Let me check. "), UNKNOWN, Say("It was shipped. ")),
        (Say("Let me check. It was shipped. "), UNKNOWN),
    ],
)
@pytest.mark.parametrize("mode", ["bidi", "batch"])
def test_what_a_failed_tool_belies_is_never_said(first: Sequence[Any], mode: str) -> None:
    events = ask(first, (Say("I cannot find that order."),), mode=mode)
    assert spoken(events) == ["Let me check.", "I cannot find that order."]
    assert not of(events, "error")
    captions = of(events, "captions")
    written = "".join(event["text"] for event in of(events, "text_delta"))
    assert [written[c["start"] : c["end"]] for c in captions] == spoken(events)


def test_the_sound_of_a_first_sentence_leaves_while_the_tool_works() -> None:
    events = ask((Say("Let me check."), ORDER), (Say("It comes on Thursday."),))
    leads = [e for e in of(events, "audio_chunk") if e["at"] < result_at(events)]
    assert len(leads) == len("Let me check.") + 1  # with the pause


def test_a_reply_without_a_call_has_no_gap() -> None:
    async def scenario() -> None:
        script = (Say("Hello. Here is more. And"), Pause(3.0), Say(" that was all."))
        async with Rig(script, tools=True) as rig:
            events = await rig.answer()
        assert spoken(events) == ["Hello.", "Here is more.", "And that was all."]
        first = next(e["at"] for e in of(events, "audio_chunk"))
        lead_in_s = len("Hello.") * 0.05 + 0.7
        assert time_of(events, "Here is more.") < first + lead_in_s

    asyncio.run(scenario())


def test_a_call_without_words_is_silent_until_the_answer() -> None:
    events = ask((ORDER,), (Say("It comes on Thursday."),))
    assert spoken(events) == ["It comes on Thursday."]


def test_more_than_a_session_takes_can_be_held() -> None:
    many = "This is one of many sentences that nobody has asked for. " * 90
    events = ask((Say("Let me check. "), ORDER, Say(many)), (Say("Done."),))
    assert len(spoken(events)) == 92
    assert not of(events, "error")


def test_batch_waits_for_the_results_too() -> None:
    events = ask((Say("Let me check. "), ORDER), (Say("It comes on Thursday."),), mode="batch")
    assert spoken(events) == ["Let me check.", "It comes on Thursday."]
    assert len(of(events, "utterance_complete")) == 1


def test_the_tools_answer_from_local_data() -> None:
    async def scenario() -> None:
        steps = ((Call("opening_hours", {"day": "Sunday"}), ORDER), (Say("Closed."),))
        async with Rig(*steps, tools=True) as rig:
            await rig.answer()
            results = [c["toolResult"] for c in rig.history[2]["content"]]
        found = {result["content"][0]["text"] for result in results}
        assert found == {
            "On Sunday: closed.",
            "Order 1042 was shipped on Monday and arrives on Thursday.",
        }

    asyncio.run(scenario())
