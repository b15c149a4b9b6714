"""Does anything grow with the length of a text, or with the age of a session?

One session with a server of its own speaks texts of more and more sentences. For each length:
time to first sound, time for a sentence, and the server's memory when it has been spoken. Before
each text, and at the end, a short utterance (a *probe*) says how soon a session so old answers.
Longer texts than are worth waiting for are begun, and interrupted after their first sound.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from speakahead.audio.pcm import SAMPLE_RATE
from speakahead.backends.interface import SpeechBackend, SpeechStream
from speakahead.backends.websocket import WebSocketBackend
from speakahead.bench.figures import MeasurementFailed, Spread, rounded
from speakahead.bench.latency import audible
from speakahead.bench.process import server_process
from speakahead.errors import InvalidRequest
from speakahead.session.events import (
    Append,
    Audio,
    Cancel,
    Failed,
    Flush,
    UtteranceCancelled,
    UtteranceCompleted,
)

LENGTHS = (1, 2, 5, 10, 20, 50, 100, 200, 500)
SPOKEN_UP_TO = 50
PROBE = "One moment, please."
SENTENCES = (
    "The train leaves at noon.",
    "It is warm today.",
    "We have two rooms left.",
    "Your order is on its way.",
    "The shop opens at nine.",
)
MOST_FIRST_SOUND_RATIO = 1.25
"""First sound counts as flat if the late ones take at most so many times as long as the early."""
MOST_MEMORY_GROWTH = 0.1
"""Memory counts as flat if it grows by at most this share of itself."""

_PART = 4_000
_TIMEOUT_S = 900.0
_WARM_UP = 5


@dataclass(frozen=True, slots=True)
class Spoken:
    """A text that was spoken to its end: time until all sound was there, by sentence."""

    sentence_ms: float
    audio_s: float


@dataclass(frozen=True, slots=True)
class Length:
    """A text of so many sentences.

    Attributes:
        first_sound_ms: from its first character to its first sound.
        memory_mb: resident memory of the server afterwards.
        spoken: None for a text that was interrupted after its first sound.
    """

    sentences: int
    first_sound_ms: float
    memory_mb: float
    spoken: Spoken | None

    def as_dict(self) -> dict[str, Any]:
        """For JSON; has what was measured only."""
        row: dict[str, Any] = {
            "sentences": self.sentences,
            "first_sound_ms": self.first_sound_ms,
            "memory_mb": self.memory_mb,
        }
        return row if self.spoken is None else {**row, **asdict(self.spoken)}


@dataclass(frozen=True, slots=True)
class Probe:
    """First sounds of a short utterance in a session that has spoken so many sentences."""

    age_sentences: int
    first_sound_ms: Spread
    values: list[float]


@dataclass(frozen=True, slots=True)
class Report:
    """Everything of one session.

    ``length_ratio`` compares first sounds of texts longer and shorter than the middle one, as
    medians; ``age_ratio`` those of the last third of the probes with those of the first; and
    ``memory_growth`` is the share by which memory grew after the warm-up.
    """

    lengths: list[Length]
    probes: list[Probe]
    warm_memory_mb: float
    length_ratio: float
    age_ratio: float
    memory_growth: float

    @property
    def flat(self) -> bool:
        """Whether nothing grows."""
        return (
            max(self.length_ratio, self.age_ratio) <= MOST_FIRST_SOUND_RATIO
            and self.memory_growth <= MOST_MEMORY_GROWTH
        )

    def as_dict(self) -> dict[str, Any]:
        return {
            **asdict(self),
            "lengths": [length.as_dict() for length in self.lengths],
            "flat": self.flat,
        }

    def table(self) -> str:
        """The report for people."""
        lines = ["sentences  first sound ms  ms a sentence  audio s  memory MB"]
        for length in self.lengths:
            spoken = length.spoken
            rest = (
                f"{'interrupted':>24}"
                if spoken is None
                else f"{spoken.sentence_ms:15.0f}{spoken.audio_s:9.1f}"
            )
            lines.append(
                f"{length.sentences:9}{length.first_sound_ms:16.0f}{rest}{length.memory_mb:11.0f}"
            )
        lines.append("after sentences  first sound of a short utterance, ms (least-most)")
        for probe in self.probes:
            s = probe.first_sound_ms
            lines.append(f"{probe.age_sentences:15}  {s.median:.0f} ({s.least:.0f}-{s.most:.0f})")
        lines.append(
            f"first sound: {self.length_ratio:.2f} times as long for long texts, "
            f"{self.age_ratio:.2f} times late in the session (flat: at most "
            f"{MOST_FIRST_SOUND_RATIO:g}); memory {self.memory_growth:+.1%} "
            f"(flat: at most {MOST_MEMORY_GROWTH:.0%})"
        )
        return "\n".join(lines)


def run(
    lengths: Sequence[int] = LENGTHS,
    *,
    spoken_up_to: int = SPOKEN_UP_TO,
    probes: int = 5,
    model: Path | None = None,
    serve_options: Sequence[str] = (),
    progress: Callable[[float], None] = lambda share: None,
) -> Report:
    """Measure with a server of its own.

    Args:
        lengths: numbers of sentences; two or more, in rising order.
        spoken_up_to: texts of at most so many are spoken to their end.
        probes: short utterances at each age.
        model: model directory; found by itself by default.
        serve_options: more options of the server.
        progress: told the share that is done, 0 to 1.

    Raises:
        InvalidRequest: the lengths cannot be compared.
        ConnectionFailed: the server did not start.
        MeasurementFailed: a text was not heard, or the system does not tell a process's memory.
    """
    options = ["--pace", "fast", *serve_options, *(["--model", str(model)] if model else [])]
    with server_process(options) as server:

        def memory_mb() -> float:
            usage = server.usage()
            if usage is None:
                raise MeasurementFailed("This system does not tell the memory of a process.")
            return usage.memory_mb

        work = measure(
            WebSocketBackend(server.url),
            memory_mb,
            lengths,
            spoken_up_to=spoken_up_to,
            probes=probes,
            progress=progress,
        )
        return asyncio.run(work)


async def measure(
    backend: SpeechBackend,
    memory_mb: Callable[[], float],
    lengths: Sequence[int],
    *,
    spoken_up_to: int,
    probes: int,
    progress: Callable[[float], None] = lambda share: None,
) -> Report:
    """Measure one session of any back end; see ``run``."""
    if len(lengths) < 2 or list(lengths) != sorted(set(lengths)) or lengths[0] < 1:
        raise InvalidRequest("Lengths are two or more numbers of sentences, in rising order.")
    cost = [min(length, spoken_up_to) + probes for length in lengths]
    done, asked = [], []
    age = 0
    try:
        async with asyncio.timeout(_TIMEOUT_S), backend.open() as stream:
            await _speak(stream, text_of(_WARM_UP), to_end=True)
            warm_mb = memory_mb()
            for number, length in enumerate(lengths):
                asked.append(await _probe(stream, age, probes))
                age += probes
                done.append(await _length(stream, length, length <= spoken_up_to, memory_mb))
                age += length if length <= spoken_up_to else 1
                progress(sum(cost[: number + 1]) / sum(cost))
            asked.append(await _probe(stream, age, probes))
    except TimeoutError:
        raise MeasurementFailed("The texts were not spoken in time; ask for fewer.") from None
    middle = len(done) // 2
    short, long = done[:middle], done[-middle:]
    third = -(-len(asked) // 3)
    early = [value for probe in asked[:third] for value in probe.values]
    late = [value for probe in asked[-third:] for value in probe.values]
    return Report(
        done,
        asked,
        warm_mb,
        length_ratio=_ratio([d.first_sound_ms for d in long], [d.first_sound_ms for d in short]),
        age_ratio=_ratio(late, early),
        memory_growth=round(max(d.memory_mb for d in done) / warm_mb - 1, 4),
    )


def text_of(sentences: int) -> str:
    """A text of so many sentences."""
    return " ".join(SENTENCES[number % len(SENTENCES)] for number in range(sentences))


async def _length(
    stream: SpeechStream, sentences: int, to_end: bool, memory_mb: Callable[[], float]
) -> Length:
    heard = await _speak(stream, text_of(sentences), to_end=to_end)
    sentence_ms = round(heard.total_s * 1000 / sentences, 1)
    return Length(
        sentences=sentences,
        first_sound_ms=round(heard.first_sound_s * 1000, 1),
        memory_mb=memory_mb(),
        spoken=Spoken(sentence_ms, round(heard.audio_s, 1)) if to_end else None,
    )


async def _probe(stream: SpeechStream, age: int, count: int) -> Probe:
    values = [(await _speak(stream, PROBE, to_end=True)).first_sound_s * 1000 for _ in range(count)]
    return Probe(age, Spread.of(values), rounded(values))


@dataclass(frozen=True, slots=True)
class _Heard:
    first_sound_s: float
    total_s: float
    audio_s: float


async def _speak(stream: SpeechStream, text: str, *, to_end: bool) -> _Heard:
    """Speak a text in parts, while its sound is taken; or only until something is heard."""
    began = time.perf_counter()
    writing = asyncio.create_task(_write(stream, text))
    first: float | None = None
    samples = 0
    try:
        async for event in stream:
            now = time.perf_counter() - began
            match event:
                case Audio():
                    samples += len(event.samples)
                    if first is None and audible(event.samples):
                        first = now
                        if not to_end:
                            await writing
                            await stream.send(Cancel(played_s=0.0))
                case Failed(error=error):
                    raise MeasurementFailed(f"A text could not be spoken: {error.code}.")
                case UtteranceCancelled(final=True):
                    # What the engine was at may still run; a word is spoken when it has ended.
                    await _speak(stream, "Yes.", to_end=True)
                    break
                case UtteranceCompleted() if first is not None and to_end:
                    break
    finally:
        writing.cancel()
        await asyncio.gather(writing, return_exceptions=True)
    if first is None:
        raise MeasurementFailed("A text was not heard.")
    return _Heard(first, time.perf_counter() - began, samples / SAMPLE_RATE)


async def _write(stream: SpeechStream, text: str) -> None:
    for start in range(0, len(text), _PART):
        await stream.send(Append(text[start : start + _PART]))
    await stream.send(Flush())


def _ratio(values: Sequence[float], base: Sequence[float]) -> float:
    return round(Spread.of(values).median / Spread.of(base).median, 3)
