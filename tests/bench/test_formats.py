"""The benchmark of formats, on tones and a listener who is told what to hear."""

import json

import numpy as np
import pytest
from numpy.typing import NDArray

from speakahead.audio.formats import FORMATS
from speakahead.audio.pcm import SAMPLE_RATE
from speakahead.bench.formats import TEXTS, Report, decode, encoded, measure, run
from speakahead.errors import InvalidRequest

Floats = NDArray[np.float32]


def tone(text: str) -> Floats:
    """A text's length tells which one it is."""
    t = np.arange(SAMPLE_RATE // 5 * (2 + TEXTS.index(text))) / SAMPLE_RATE
    return (0.3 * np.sin(2 * np.pi * 300 * t)).astype(np.float32)


class Ears:
    """Hears the text whose tone is as long; if ``strict``, only when the samples are its own."""

    def __init__(self, strict: bool = False) -> None:
        self.heard = 0
        self.strict = strict

    def transcribe(self, samples: Floats) -> str:
        self.heard += 1
        text = TEXTS[round(len(samples) / SAMPLE_RATE * 5) - 2]
        same = len(samples) == len(tone(text)) and np.abs(samples - tone(text)).max() < 1e-3
        return text if same or not self.strict else "something else"


def test_there_are_24_different_texts() -> None:
    assert len(set(TEXTS)) == 24


def test_the_report_has_every_format() -> None:
    told: list[float] = []
    ears = Ears()
    text = TEXTS[0]
    result = json.loads(
        json.dumps(measure(tone, ears, texts=[text], progress=told.append).as_dict())
    )
    assert result["clips"] == 1
    assert list(result["formats"]) == list(FORMATS)
    samples = len(tone(text))
    pcm, wav = result["formats"]["pcm"], result["formats"]["wav"]
    assert pcm["bytes"] == 2 * samples
    assert wav["bytes"] == 2 * samples + 44
    assert pcm["base64_bytes"] == 4 * -(-2 * samples // 3)
    assert pcm["kbit_s"] == 384
    assert result["formats"]["mulaw"]["kbit_s"] == pytest.approx(64, rel=0.01)
    for row in result["formats"].values():
        assert row.keys() >= {"bytes", "base64_bytes", "kbit_s", "first_byte_ms", "wer"}
        assert row["first_byte_ms"] <= row["first_sound_ms"]
        assert row["wer"] == 0
    assert ears.heard < len(FORMATS), "the same sound is heard once"
    assert told == sorted(told)
    assert told[-1] == 1


def test_a_format_that_costs_words_does_not_meet_the_demand() -> None:
    report = measure(tone, Ears(strict=True), texts=TEXTS[:2])
    missed = {name for name, cost in report.formats.items() if not cost.met}
    assert {"mp3", "mulaw"} <= missed
    assert missed.isdisjoint({"pcm", "wav", "flac"})
    assert report.formats["mp3"].wer > 0.5
    last = report.table().splitlines()[-1]
    assert last.startswith("Not met: ")
    assert "mp3" in last


def unmet(report: Report) -> set[str]:
    return {claim.what for claim in report.claims() if not claim.met}


def test_spoken_answers_meet_the_demands() -> None:
    """Two clips of the real engine, heard by the real recogniser."""
    report = run(limit=2, threads=1)
    assert report.words > 10
    assert unmet(report) == set()
    pcm, mp3, aac = (report.formats[name] for name in ("pcm", "mp3", "aac"))
    assert pcm.wer <= 0.1, "the recogniser has understood"
    assert pcm.bytes == pytest.approx(report.seconds * 48_000)
    for cost in report.formats.values():
        assert cost.base64_bytes == pytest.approx(cost.bytes * 4 / 3, abs=4 * report.clips)
        assert cost.met
    assert [cost.public_kbit_s for cost in (pcm, mp3, aac)] == [384, 49.4, 41.35]
    assert mp3.bytes < pcm.bytes / 7
    assert aac.bytes < mp3.bytes
    assert report.formats["opus"].first_byte_ms <= 20
    assert mp3.first_byte_ms <= 100
    assert aac.first_byte_ms <= 150


def test_words_and_bytes_that_are_too_many_are_told() -> None:
    """Of a very short sound the container's header is the larger part."""
    report = measure(tone, Ears(strict=True), texts=TEXTS[:1])
    assert {"mp3 word errors, by PCM's", "aac bytes, by the public ones"} <= unmet(report)
    assert unmet(report).isdisjoint({"wav word errors, by PCM's", "pcm bytes, by the public ones"})
    told = {claim["what"] for claim in report.as_dict()["claims"] if not claim["met"]}
    assert told == unmet(report)


def test_no_texts() -> None:
    with pytest.raises(InvalidRequest, match="at least one"):
        measure(tone, Ears(), texts=[])


def test_decoding_takes_the_rate_that_it_was_encoded_with() -> None:
    sound = tone(TEXTS[0])
    for rate in (8_000, 48_000):
        again = decode(encoded("pcm", sound, rate), "pcm", rate)
        assert len(again) == pytest.approx(len(sound), abs=3)
