"""A reply that is spoken again, for comparison."""

import asyncio

import pytest

from speakahead.agent.models.scripted import Say
from speakahead.agent.request import MAX_REPLAY_S, parse_request
from speakahead.errors import InvalidRequest
from tests.agent.rig import Rig, of, text

PIECES = [{"at_s": 0.0, "text": "One is here. Two"}, {"at_s": 0.3, "text": " too."}]


def request(**fields: object) -> dict[str, object]:
    return {"prompt": "Hello?", "replay": PIECES, **fields}


def pieces() -> list[object]:
    replay = parse_request(request()).replay
    assert replay is not None
    return list(replay)


@pytest.mark.parametrize("mode", ["bidi", "batch"])
def test_same_words_at_the_same_times(mode: str) -> None:
    async def go() -> None:
        async with Rig((Say("Not this."),)) as rig:
            events = await rig.answer(mode=mode, replay=pieces())
        assert text(events) == "One is here. Two too."
        assert rig.model.written == 0  # the model was not asked
        first, second = of(events, "text_delta")
        assert second["at"] - first["at"] == pytest.approx(0.3, abs=0.1)
        (end,) = of(events, "agent_end")
        assert end["stop_reason"] == "end_turn"
        spoken_early = end["timings"]["first_audio_s"] < 0.3
        assert spoken_early == (mode == "bidi")

    asyncio.run(go())


def test_conversation_does_not_remember_it() -> None:
    async def go() -> None:
        async with Rig((Say("A reply."),)) as rig:
            await rig.answer("Before?")
            before = rig.history
            await rig.answer(replay=pieces(), played_s=60.0)  # the first was heard to its end
            rig.conversations.named("s").interrupt(0.1)
            assert rig.history == before
            await rig.answer("After?")
            assert rig.history[2]["content"] == [{"text": "After?"}]

    asyncio.run(go())


def test_it_can_be_interrupted() -> None:
    async def go() -> None:
        late = parse_request(request(replay=[*PIECES, {"at_s": 500.0, "text": "Three."}])).replay
        async with Rig((Say("A reply."),)) as rig, rig.turn(replay=late) as events:
            seen = []
            async for event in events:
                seen.append(event)
                if event["type"] == "audio_chunk":
                    rig.conversations.named("s").interrupt(0.2)
        (interrupted,) = of(seen, "interrupted")
        assert interrupted["text_spoken"] == "One"
        assert rig.history == []

    asyncio.run(asyncio.wait_for(go(), 10))


@pytest.mark.parametrize(
    "replay",
    [
        [],
        [{"at_s": -1.0, "text": "a"}],
        [{"at_s": MAX_REPLAY_S + 1, "text": "a"}],
        [{"at_s": 0.0, "text": ""}],
        [{"text": "a"}],
        "text",
    ],
)
def test_refused(replay: object) -> None:
    with pytest.raises(InvalidRequest, match="replay"):
        parse_request(request(replay=replay))
