"""Time to first sound, real-time factor and slack, against kokoro-onnx in the same process.

Both sides get the same phonemes, the same int8 weights (ours: prepared from them) and the same
voice; their runs alternate, who is first changes from one to the next, and medians are reported.
Needs the ``bench`` extra.
"""

from __future__ import annotations

import importlib
import importlib.util
import statistics
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from itertools import batched
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from speakahead.assets import ModelDirectory, Voices, locate
from speakahead.audio.pcm import SAMPLE_RATE
from speakahead.bench.figures import interleaved
from speakahead.errors import ModelNotFound
from speakahead.kokoro.engine import Engine
from speakahead.kokoro.loading import load_engine
from speakahead.text.frontend import FrontEnd
from speakahead.text.phonemes import Phonemes

VOICE = "af_heart"
AHEAD_S = 5.0
"""How far a server sends ahead of its listener, by default."""
AUDIBLE = 10 ** (-50 / 20)
"""First sound is the first sample above -50 dBFS."""

SENTENCES = (
    "Your order shipped this morning.",
    "The quick brown fox jumps over the lazy dog, and then it runs all the way back home.",
    "The recommendations were sensible and carefully worded, although very few of the people "
    "who had testified believed that anything would change, or that it would matter.",
    "When the committee finally published its report after eleven months of hearings, nearly "
    "everyone who had testified agreed that the recommendations were sensible, although very "
    "few of them believed that anything would change before the end of the following year.",
)
"""About 1.5, 4, 8 and 13 seconds."""

_WORDS = (
    "your order left the warehouse and it should reach you before noon on friday if nothing "
    "else goes wrong please tell me whether that is early enough for you"
).split()


@dataclass(slots=True)
class Run:
    """One rendering of one sentence; times in seconds from the phonemes."""

    first_sound_s: float
    total_s: float
    samples: int
    slacks_s: list[float] = field(default_factory=list)

    @property
    def rtf(self) -> float:
        return self.total_s / (self.samples / SAMPLE_RATE)


@dataclass(frozen=True, slots=True)
class SentenceReport:
    """Medians for one sentence.

    ``min_slack_ms`` is the smallest time, over all runs and windows, that a listener still had to
    play when the next window came.
    """

    phonemes: int
    audio_s: float
    first_sound_ms: float
    peer_first_audio_ms: float
    ratio: float
    rtf: float
    peer_rtf: float
    min_slack_ms: float


@dataclass(frozen=True, slots=True)
class Report:
    """The result.

    Attributes:
        late_windows: windows, of ``windows``, that came when their listener had run dry, while
            sentences were played back to back.
        min_slack_ms: the least time by which one of them was early.
        cold_late_windows: likewise of the sentences above, each of which began with a listener
            who had nothing to play.
    """

    sentences: list[SentenceReport]
    late_windows: int
    windows: int
    min_slack_ms: float | None
    cold_late_windows: int
    cold_windows: int
    repeats: int
    threads: int

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)

    def table(self) -> str:
        """The report for people."""
        lines = [
            "audio s  first sound ms  kokoro-onnx ms  ratio    rtf  kokoro-onnx  min slack ms",
            *(
                f"{s.audio_s:7.2f}{s.first_sound_ms:16.0f}{s.peer_first_audio_ms:16.0f}"
                f"{s.ratio:7.1f}{s.rtf:7.3f}{s.peer_rtf:13.3f}{s.min_slack_ms:14.0f}"
                for s in self.sentences
            ),
            f"{self.late_windows} of {self.windows} windows late in sentences back to back"
            + ("" if self.min_slack_ms is None else f"; smallest slack {self.min_slack_ms:.0f} ms"),
            f"{self.cold_late_windows} of {self.cold_windows} windows late in sentences that begin "
            "with nothing to play",
        ]
        return "\n".join(lines)


def run(
    model: Path | None = None,
    *,
    threads: int = 2,
    repeats: int = 10,
    back_to_back: int = 200,
    sentences: tuple[str, ...] = SENTENCES,
) -> Report:
    """Measure.

    Raises:
        ModelNotFound: there is no model, or the ``bench`` extra is not installed.
    """
    found = locate(model)
    voices = Voices(found.path)
    engine = load_engine(found, voices, threads=threads)
    engine.warm()
    front_end = FrontEnd()
    inputs = [_phonemes(front_end, sentence) for sentence in sentences]
    peer = _Peer(found, voices, inputs[0])
    ours, theirs = race([lambda each: render(engine, each), peer.render], inputs, repeats)
    reports = [
        _sentence(phonemes, mine, other)
        for phonemes, mine, other in zip(inputs, ours, theirs, strict=True)
    ]
    slacks = play(engine, front_end, _varied(back_to_back)) if back_to_back else []
    cold = [slack for runs in ours for run in runs for slack in run.slacks_s]
    return Report(
        reports,
        late_windows=sum(slack < 0 for slack in slacks),
        windows=len(slacks),
        min_slack_ms=round(min(slacks) * 1000, 1) if slacks else None,
        cold_late_windows=sum(slack < 0 for slack in cold),
        cold_windows=len(cold),
        repeats=repeats,
        threads=threads,
    )


def race[I](
    sides: Sequence[Callable[[I], Run]], inputs: Sequence[I], repeats: int
) -> list[list[list[Run]]]:
    """Each side renders each input so often, in turn; who is first changes from trial to trial.

    Returns:
        Runs by side, input and trial.
    """
    runs: list[list[list[Run]]] = [[[] for _ in inputs] for _ in sides]
    for order in batched(interleaved(range(len(sides)), repeats), len(sides)):
        for number, each in enumerate(inputs):
            for side in order:
                runs[side][number].append(sides[side](each))
    return runs


def play(
    engine: Engine[Any], front_end: FrontEnd, sentences: Iterable[str], ahead_s: float = AHEAD_S
) -> list[float]:
    """Sentences played one right after another, as one long reply: the slack of each window.

    The listener plays from the first window on, and no work is done while it has ``ahead_s`` to
    play; that time is left out, not waited for. Text is turned to phonemes in the same thread.

    Returns:
        Seconds that the listener had still to play when each window came, but for the first.
    """
    began = time.perf_counter()
    skipped = 0.0
    plays_until: float | None = None
    slacks: list[float] = []
    for sentence in sentences:
        phonemes = _phonemes(front_end, sentence)
        left_s = 0.0 if plays_until is None else plays_until - time.perf_counter() + began - skipped
        plan = engine.plan(phonemes, VOICE, 1.0, max(0.0, left_s))
        for window in plan.windows:
            if plays_until is not None:
                now = time.perf_counter() - began + skipped
                skipped += max(0.0, plays_until - now - ahead_s)
            samples = engine.decode(plan, window)
            now = time.perf_counter() - began + skipped
            if plays_until is not None:
                slacks.append(plays_until - now)
            plays_until = max(plays_until or now, now) + len(samples) / SAMPLE_RATE
    return slacks


def render(engine: Engine[Any], phonemes: Phonemes, voice: str = VOICE) -> Run:
    """Speak one sentence to a listener who starts to play with the first window."""
    began = time.perf_counter()
    plan = engine.plan(phonemes, voice, 1.0)
    first: float | None = None
    plays_until: float | None = None
    slacks = []
    for window in plan.windows:
        samples = engine.decode(plan, window)
        now = time.perf_counter() - began
        if plays_until is not None:
            slacks.append(plays_until - now)
        if first is None and audible(samples):
            first = now
        plays_until = max(plays_until or now, now) + len(samples) / SAMPLE_RATE
    total = time.perf_counter() - began
    return Run(total if first is None else first, total, plan.samples, slacks)


def audible(samples: NDArray[np.float32]) -> bool:
    """Whether a sample is above -50 dBFS."""
    return bool(np.any(np.abs(samples) > AUDIBLE))


class _Peer:
    """kokoro-onnx as its users run it, on our weights and voice."""

    def __init__(self, model: ModelDirectory, voices: Voices, warm_up: Phonemes) -> None:
        if importlib.util.find_spec("kokoro_onnx") is None:
            raise ModelNotFound("The comparison needs the extra `bench`: speakahead[bench].")
        kokoro: Any = importlib.import_module("kokoro_onnx").Kokoro
        pack: Any = voices.load(VOICE)
        with tempfile.TemporaryDirectory() as folder:
            packs = Path(folder) / "voices.npz"
            np.savez(packs, allow_pickle=False, **{VOICE: pack})
            self._kokoro: Any = kokoro(str(model.weights), str(packs))
            self._kokoro.voices = {VOICE: pack}  # its file goes away
        self.render(warm_up)

    def render(self, phonemes: Phonemes) -> Run:
        began = time.perf_counter()
        samples, _ = self._kokoro.create(phonemes.text, voice=VOICE, is_phonemes=True)
        total = time.perf_counter() - began
        return Run(total, total, len(samples))


def _phonemes(front_end: FrontEnd, sentence: str) -> Phonemes:
    (phonemes,) = front_end.phonemes(sentence, 0, "en-us")
    return phonemes


def _sentence(phonemes: Phonemes, ours: list[Run], theirs: list[Run]) -> SentenceReport:
    first = statistics.median(run.first_sound_s for run in ours)
    peer_first = statistics.median(run.first_sound_s for run in theirs)
    return SentenceReport(
        phonemes=len(phonemes.text),
        audio_s=round(ours[0].samples / SAMPLE_RATE, 3),
        first_sound_ms=round(first * 1000, 1),
        peer_first_audio_ms=round(peer_first * 1000, 1),
        ratio=round(peer_first / first, 2),
        rtf=round(statistics.median(run.rtf for run in ours), 4),
        peer_rtf=round(statistics.median(run.rtf for run in theirs), 4),
        min_slack_ms=round(min((s for r in ours for s in r.slacks_s), default=0.0) * 1000, 1),
    )


def _varied(count: int) -> Iterator[str]:
    """Sentences of 3 to 25 words, always the same ones."""
    rng = np.random.default_rng(82)
    for _ in range(count):
        words = rng.choice(_WORDS, size=rng.integers(3, 26))
        yield " ".join(words).capitalize() + "."
