"""Growth: one session with a real server."""

import asyncio
import json

import pytest

from speakahead.backends.websocket import WebSocketBackend
from speakahead.bench import growth
from speakahead.bench.figures import MeasurementFailed, complete
from speakahead.bench.growth import Length, Probe, Report, Spoken, Spread
from speakahead.bench.process import ServerProcess
from speakahead.errors import InvalidRequest
from tests.bench.test_hop import Scripted
from tests.conftest import Server


def test_a_session_with_texts_of_several_lengths(server: Server) -> None:
    process = ServerProcess(server.process, server.port)  # type: ignore[arg-type]

    def memory_mb() -> float:
        usage = process.usage()
        assert usage is not None
        return usage.memory_mb

    told: list[float] = []
    work = growth.measure(
        WebSocketBackend(server.url),
        memory_mb,
        [1, 2, 400],
        spoken_up_to=2,
        probes=1,
        progress=told.append,
    )
    report = asyncio.run(work)
    result = complete(json.loads(json.dumps(report.as_dict())))
    assert [each["sentences"] for each in result["lengths"]] == [1, 2, 400]
    assert "sentence_ms" in result["lengths"][1]
    assert "sentence_ms" not in result["lengths"][2]
    assert result["lengths"][1]["audio_s"] > result["lengths"][0]["audio_s"] > 0.5
    assert [each["age_sentences"] for each in result["probes"]] == [0, 2, 5, 7]
    assert all(each["memory_mb"] > 50 for each in result["lengths"])
    assert told[-1] == 1
    assert "interrupted" in report.table()


def report_of(length_ratio: float, age_ratio: float, memory_growth: float) -> Report:
    spread = Spread.of([100.0])
    lengths = [Length(1, 100.0, 500.0, Spoken(300.0, 1.0)), Length(9, 100.0, 500.0, None)]
    return Report(
        lengths, [Probe(0, spread, [100.0])], 500.0, length_ratio, age_ratio, memory_growth
    )


def test_what_grows_is_not_flat() -> None:
    assert report_of(1.2, 1.2, 0.09).flat
    assert not report_of(1.3, 1.0, 0.0).flat
    assert not report_of(1.0, 1.3, 0.0).flat
    assert not report_of(1.0, 1.0, 0.11).flat


@pytest.mark.parametrize("lengths", [[], [5], [5, 1], [1, 1], [0, 4]])
def test_lengths_that_cannot_be_compared(lengths: list[int]) -> None:
    with pytest.raises(InvalidRequest):
        asyncio.run(
            growth.measure(Scripted(), lambda: 1.0, lengths, spoken_up_to=5, probes=1)  # type: ignore[arg-type]
        )


def test_a_text_that_is_not_heard_is_an_error() -> None:
    work = growth.measure(
        Scripted(fails=True),  # type: ignore[arg-type]
        lambda: 1.0,
        [1, 2],
        spoken_up_to=5,
        probes=1,
    )
    with pytest.raises(MeasurementFailed, match="synthesis_failed"):
        asyncio.run(work)
