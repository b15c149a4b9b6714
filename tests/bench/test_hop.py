"""The isolated hop, with a real server on both sides."""

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

import numpy as np
import pytest

from speakahead.backends.websocket import WebSocketBackend
from speakahead.bench import hop
from speakahead.bench.figures import MeasurementFailed, complete
from speakahead.errors import InvalidRequest, SynthesisFailed
from speakahead.session.events import (
    Audio,
    Cancel,
    Event,
    Failed,
    Flush,
    Request,
    Speak,
    UtteranceCancelled,
    UtteranceCompleted,
)
from tests.conftest import Server


def test_three_sides_over_a_real_server(server: Server) -> None:
    backend = WebSocketBackend(server.url)
    sides = [hop.Side(name, backend, name == "whole") for name in hop.SIDES]
    told: list[float] = []
    hops = asyncio.run(hop.measure("websocket", sides, [1, 2], 1, told.append))
    report = hop.Report(hops, 1)
    result = complete(json.loads(json.dumps(report.as_dict())))
    assert [each["sentences"] for each in result["hops"]] == [1, 2]
    for each in result["hops"]:
        assert all(len(values) == 1 for values in each["values"].values())
        assert all(spread["n"] == 1 for spread in each["first_sound"].values())
        for side in ("sentences", "windows"):
            assert each["first_byte"][side]["median"] <= each["first_sound"][side]["median"]
    # All sides are one server here, so only how long the whole is waited for is different.
    assert result["hops"][1]["ratio"] > 1
    assert result["hops"][1]["audio_s"] > result["hops"][0]["audio_s"] > 1
    assert told == sorted(told)
    assert told[-1] == 1
    assert "websocket" in report.table()


@dataclass
class Scripted:
    """A back end whose sound costs a given time a sentence, and which may fail."""

    piece_s: float = 0.01
    pieces: int = 4
    silent: bool = False
    fails: bool = False
    requests: list[Request] = field(default_factory=list)

    def open(self, settings: object = None) -> "Scripted":
        self._events: asyncio.Queue[Event] = asyncio.Queue()
        self._speaking: asyncio.Task[None] | None = None
        return self

    async def __aenter__(self) -> "Scripted":
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._speaking is not None:
            self._speaking.cancel()

    async def aclose(self) -> None:
        pass

    async def send(self, request: Request) -> None:
        self.requests.append(request)
        match request:
            case Speak() | Flush():
                self._speaking = asyncio.create_task(self._speak())
            case Cancel():
                assert self._speaking is not None
                self._speaking.cancel()
                self._events = asyncio.Queue()
                self._events.put_nowait(UtteranceCancelled("u", 0.0, "", "", True))

    async def _speak(self) -> None:
        if self.fails:
            self._events.put_nowait(Failed("u", SynthesisFailed("No.")))
        level = 0.0 if self.silent else 0.5
        for number in range(self.pieces):
            await asyncio.sleep(self.piece_s)
            self._events.put_nowait(Audio("u", np.full(2400, level, np.float32), number * 2400))
        self._events.put_nowait(UtteranceCompleted("u", 0.4, 0.1))

    def __aiter__(self) -> AsyncIterator[Event]:
        return self

    async def __anext__(self) -> Event:
        return await self._events.get()


def sides(**options: object) -> list[hop.Side]:
    made = {name: Scripted(**options) for name in hop.SIDES}  # type: ignore[arg-type]
    return [hop.Side(name, backend, name == "whole") for name, backend in made.items()]  # type: ignore[arg-type]


def test_the_whole_counts_when_all_of_it_is_there() -> None:
    (result,) = asyncio.run(hop.measure("scripted", sides(piece_s=0.03), [3], 2))
    assert result.first_sound["whole"].least >= 4 * 30
    assert result.first_sound["windows"].most < 4 * 30
    assert result.first_sound["windows"].least >= 30


def test_whole_is_one_message_and_the_others_one_a_sentence() -> None:
    made = sides()
    asyncio.run(hop.measure("scripted", made, [3], 1))
    whole, sentences = (
        [r for r in side.backend.requests if not (isinstance(r, Speak) and r.text == "Yes.")]  # type: ignore[attr-defined]
        for side in made[:2]
    )
    assert [type(r).__name__ for r in whole] == ["Speak", "Speak"]  # the first is the warm-up
    assert whole[1].text == " ".join(hop.REPLY[:3])
    assert [type(r).__name__ for r in sentences[-5:]] == ["Append"] * 3 + ["Flush", "Cancel"]


@pytest.mark.parametrize("options", [{"silent": True}, {"fails": True}])
def test_a_reply_that_is_not_heard_is_an_error(options: dict[str, bool]) -> None:
    with pytest.raises(MeasurementFailed):
        asyncio.run(hop.measure("scripted", sides(**options), [1], 1))


@pytest.mark.parametrize(
    "options",
    [{"transports": ["pigeon"]}, {"transports": []}, {"sizes": [0]}, {"sizes": [9]}, {"sizes": {}}],
)
def test_what_cannot_be_measured_is_refused(options: dict[str, object]) -> None:
    with pytest.raises(InvalidRequest):
        hop.run(**options)  # type: ignore[arg-type]
