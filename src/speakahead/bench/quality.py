"""Does speech in windows sound like the same speech decoded in one go?

Every input (:mod:`speakahead.bench.inputs`) is decoded by the same float32 decoder twice: in
windows, with predicted statistics, as it is sent to a listener; and as a whole with its true
statistics. Both have the same timing and are trimmed alike, so that they can be compared sample by
sample.

* Word errors count for English inputs of 6 phonemes and more. A recogniser guesses at a single
  syllable without any context, and the one that we use knows English only. Numbers and the like
  are compared as words (:func:`speakahead.bench.recognition.spoken_words`).
* DNSMOS P.808 and PLCMOS are means over all inputs.
* The level is that of the voiced parts, windowed against whole.
* Joins are flagged where the windowed version clicks and the whole does not. As a control of the
  detector, the middle of each window is looked at likewise.
"""

from __future__ import annotations

import json
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from speakahead.audio.pcm import to_s16le
from speakahead.audio.wav import header
from speakahead.bench.inputs import BANDS, Input, inputs
from speakahead.bench.listening import (
    Listener,
    draw_spectrograms,
    has_click,
    level_difference,
    mel_distance,
)
from speakahead.bench.recognition import WordErrors, word_errors
from speakahead.errors import InvalidRequest
from speakahead.kokoro.engine import Plan, Window
from speakahead.text.frontend import FrontEnd
from speakahead.text.phonemes import Phonemes

Floats = NDArray[np.float32]

MOST_WORD_ERRORS_ADDED = 0.005
MOST_SCORE_CHANGE = 0.10
MOST_LEVEL_CHANGE_DB = 0.3

_LEAST_PHONEMES_FOR_WORDS = 6
_SAVED = 10


class Subject[P: Plan](Protocol):
    """The engine under test; :class:`speakahead.kokoro.windowed.WindowedEngine` is one."""

    def is_calibrated(self, voice: str) -> bool: ...

    def plan(self, phonemes: Phonemes, voice: str, speed: float) -> P: ...

    def decode(self, plan: P, window: Window) -> Floats: ...

    def whole(self, phonemes: Phonemes, voice: str, speed: float) -> Floats: ...


class Transcriber(Protocol):
    """Hears English words; :class:`speakahead.bench.recognition.Recogniser` is one."""

    def transcribe(self, samples: Floats) -> str: ...


class Scorer(Protocol):
    """Predicts opinions; :class:`speakahead.bench.listening.Listener` is one."""

    def p808(self, samples: Floats) -> float: ...

    def plcmos(self, samples: Floats) -> float: ...


@dataclass(frozen=True, slots=True)
class Scores:
    """One version of one input. ``words`` and ``heard`` are None where words do not count."""

    p808: float
    plcmos: float
    words: WordErrors | None
    heard: str | None


@dataclass(frozen=True, slots=True)
class Utterance:
    """One input, both versions.

    Attributes:
        identical: the versions have the same samples, as when the engine chose to decode the
            input whole.
        joins_flagged, controls_flagged: of ``joins`` joins, and of as many middles of windows.
        level_db: how much louder the windowed version is; None where the whole is silent.
        mel_db: mean difference of the log-mel spectra.
    """

    input: Input
    phonemes: int
    samples: int
    identical: bool
    joins: int
    joins_flagged: int
    controls_flagged: int
    level_db: float | None
    mel_db: float
    whole: Scores
    windowed: Scores

    def as_dict(self) -> dict[str, Any]:
        row: dict[str, Any] = {
            "text": self.input.text,
            "voice": self.input.voice,
            "band": str(self.input.band),
            "phonemes": self.phonemes,
            "identical": self.identical,
            "joins": self.joins,
            "joins_flagged": self.joins_flagged,
            "level_db": _rounded(self.level_db),
            "mel_db": _rounded(self.mel_db),
        }
        for name, scores in (("whole", self.whole), ("windowed", self.windowed)):
            row[name] = {"p808": _rounded(scores.p808), "plcmos": _rounded(scores.plcmos)}
            if scores.words is not None:
                row[name] |= {"word_errors": scores.words.errors, "heard": scores.heard}
        return row


@dataclass(frozen=True, slots=True)
class Report:
    """The measurement, over one utterance or more."""

    utterances: tuple[Utterance, ...]

    def as_dict(self) -> dict[str, Any]:
        """For JSON. ``wer`` is a fraction, scores are 1 to 5; ``met`` says which demands hold."""
        groups = {
            key: {name: _summary(members) for name, members in self._groups(key).items()}
            for key in ("by_band", "by_voice")
        }
        return {
            **_summary(self.utterances),
            "met": self.met(),
            **groups,
            "utterances": [utterance.as_dict() for utterance in self.utterances],
        }

    def met(self) -> dict[str, bool]:
        """Which of the demands on windowed speech hold."""
        totals = _summary(self.utterances, digits=12)
        change = totals["difference"]
        level = totals["level_db"]
        return {
            "wer": change["wer"] <= MOST_WORD_ERRORS_ADDED,
            "p808": abs(change["p808"]) <= MOST_SCORE_CHANGE,
            "plcmos": abs(change["plcmos"]) <= MOST_SCORE_CHANGE,
            "level_db": level is not None and abs(level) <= MOST_LEVEL_CHANGE_DB,
            "joins_flagged": totals["joins_flagged"] == 0,
        }

    def table(self) -> str:
        """The report for people."""
        lines = [
            f"{'whole > windowed':<18}{'n':>4}{'WER %':>15}{'P.808':>14}{'PLCMOS':>14}"
            f"{'level dB':>14}{'mel dB':>8}{'joins':>7}{'clicks':>7}"
        ]
        rows = {"all": self.utterances} | self._groups("by_band") | self._groups("by_voice")
        lines += [_line(name, _summary(members)) for name, members in rows.items()]
        missed = [name for name, holds in self.met().items() if not holds]
        lines.append(f"Not met: {', '.join(missed)}." if missed else "All demands are met.")
        return "\n".join(lines)

    def _groups(self, key: str) -> dict[str, tuple[Utterance, ...]]:
        if key == "by_band":
            names = [str(band) for band in BANDS]
            labels = [str(each.input.band) for each in self.utterances]
        else:
            labels = [each.input.voice for each in self.utterances]
            names = sorted(set(labels))
        groups: dict[str, tuple[Utterance, ...]] = dict.fromkeys(names, ())
        for label, utterance in zip(labels, self.utterances, strict=True):
            groups[label] += (utterance,)
        return {name: members for name, members in groups.items() if members}


def run[P: Plan](
    engine: Subject[P],
    front_end: FrontEnd,
    recogniser: Transcriber,
    *,
    limit: int | None = None,
    save: Path | None = None,
    progress: Callable[[float], None] | None = None,
    listener: Scorer | None = None,
) -> Report:
    """Measure on all inputs; some minutes on two cores.

    Args:
        engine: has to be calibrated for the inputs' voices.
        limit: only this many of the inputs, at least 1; they are spread over lengths and voices.
        save: a folder for the ten inputs with the largest mel distance: for each of them
            ``NN-whole.wav``, ``NN-windowed.wav`` and, where matplotlib is installed, ``NN.png``
            with their spectrograms. ``worst.json`` says which they are.
        progress: told the share that is done, 0 to 1.
        listener: gives the opinion scores, by default a :class:`Listener`.

    Raises:
        InvalidRequest: a voice is not calibrated, so that it would be compared with itself.
        ModelNotFound: the ``bench`` extra is not installed.
    """
    chosen = inputs()[:limit]
    if not chosen:
        raise InvalidRequest("The quality benchmark needs a limit of at least 1 input.")
    missing = sorted({each.voice for each in chosen if not engine.is_calibrated(each.voice)})
    if missing:
        raise InvalidRequest(
            f"Not calibrated, so that there is nothing to compare: {', '.join(missing)}. "
            "Run `speakahead models calibrate` first."
        )
    scorer = listener or Listener()
    utterances: list[Utterance] = []
    worst: list[_Pair] = []
    for number, each in enumerate(chosen):
        if progress is not None:
            progress(number / len(chosen))
        pair = _render(engine, front_end, each)
        utterance = _measure(pair, scorer, recogniser)
        utterances.append(utterance)
        if save is not None:
            pair.mel_db = utterance.mel_db
            worst = sorted([*worst, pair], key=lambda kept: -kept.mel_db)[:_SAVED]
    if save is not None:
        _save(save, worst)
    if progress is not None:
        progress(1.0)
    return Report(tuple(utterances))


@dataclass(slots=True)
class _Pair:
    """Both versions of one input, and where the windows of one of them begin and end."""

    input: Input
    phonemes: int
    whole: Floats
    windowed: Floats
    windows: Sequence[Window]
    mel_db: float = 0.0

    @property
    def joins(self) -> list[int]:
        return [window.start for window in self.windows[1:]]


def _render[P: Plan](engine: Subject[P], front_end: FrontEnd, each: Input) -> _Pair:
    phonemes = each.phonemes(front_end)
    plan = engine.plan(phonemes, each.voice, 1.0)
    windowed = np.concatenate([engine.decode(plan, window) for window in plan.windows])
    whole = engine.whole(phonemes, each.voice, 1.0)
    assert len(whole) == len(windowed) == plan.samples
    return _Pair(each, len(phonemes.text), whole, windowed, plan.windows)


def _measure(pair: _Pair, scorer: Scorer, recogniser: Transcriber) -> Utterance:
    whole, windowed = pair.whole, pair.windowed
    centres = [(window.start + window.end) // 2 for window in pair.windows[1:]]
    words = pair.input.is_english and pair.phonemes >= _LEAST_PHONEMES_FOR_WORDS
    scores = []
    for version in (whole, windowed):
        heard = recogniser.transcribe(version) if words else None
        errors = None if heard is None else word_errors(pair.input.text, heard)
        scores.append(Scores(scorer.p808(version), scorer.plcmos(version), errors, heard))
    return Utterance(
        input=pair.input,
        phonemes=pair.phonemes,
        samples=len(whole),
        identical=np.array_equal(whole, windowed),
        joins=len(pair.joins),
        joins_flagged=sum(has_click(whole, windowed, join) for join in pair.joins),
        controls_flagged=sum(has_click(whole, windowed, centre) for centre in centres),
        level_db=level_difference(whole, windowed),
        mel_db=mel_distance(whole, windowed),
        whole=scores[0],
        windowed=scores[1],
    )


def _summary(utterances: Sequence[Utterance], digits: int = 4) -> dict[str, Any]:
    sides: dict[str, dict[str, float]] = {}
    for name, versions in (
        ("whole", [each.whole for each in utterances]),
        ("windowed", [each.windowed for each in utterances]),
    ):
        words = sum((v.words for v in versions if v.words is not None), WordErrors(0, 0))
        sides[name] = {
            "wer": round(words.rate, digits),
            "p808": round(statistics.fmean(v.p808 for v in versions), digits),
            "plcmos": round(statistics.fmean(v.plcmos for v in versions), digits),
            "word_errors": words.errors,
        }
    levels = [each.level_db for each in utterances if each.level_db is not None]
    changes = {
        "p808": [each.windowed.p808 - each.whole.p808 for each in utterances],
        "plcmos": [each.windowed.plcmos - each.whole.plcmos for each in utterances],
    }
    difference = {"wer": round(sides["windowed"]["wer"] - sides["whole"]["wer"], digits)}
    for name, values in changes.items():
        difference[name] = round(statistics.fmean(values), digits)
        difference[f"{name}_standard_error"] = round(_spread(values) / len(values) ** 0.5, digits)
    return {
        **sides,
        "difference": difference,
        "level_db": _rounded(statistics.fmean(levels), digits) if levels else None,
        "level_spread_db": _rounded(_spread(levels), digits),
        "level_worst_db": _rounded(max(levels, key=abs, default=None), digits),
        "mel_db": _rounded(statistics.fmean(each.mel_db for each in utterances), digits),
        "joins": sum(each.joins for each in utterances),
        "joins_flagged": sum(each.joins_flagged for each in utterances),
        "controls_flagged": sum(each.controls_flagged for each in utterances),
        "sentences": len(utterances),
        "voices": len({each.input.voice for each in utterances}),
        "words": sum(e.whole.words.words for e in utterances if e.whole.words is not None),
        "identical": sum(each.identical for each in utterances),
    }


def _line(name: str, total: dict[str, Any]) -> str:
    before, after = total["whole"], total["windowed"]
    rates = f"{before['wer']:.2%} > {after['wer']:.2%}".replace("%", "") if total["words"] else "-"
    level = "-"
    if total["level_db"] is not None:
        level = f"{total['level_db']:+.2f} ± {total['level_spread_db']:.2f}"
    scores = [f"{before[key]:.2f} > {after[key]:.2f}" for key in ("p808", "plcmos")]
    return (
        f"{name:<18}{total['sentences']:>4}{rates:>15}{scores[0]:>14}{scores[1]:>14}"
        f"{level:>14}{total['mel_db']:>8.2f}{total['joins']:>7}{total['joins_flagged']:>7}"
    )


def _save(folder: Path, pairs: Sequence[_Pair]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    rows = []
    for number, pair in enumerate(pairs, 1):
        name = f"{number:02}"
        for version, samples in (("whole", pair.whole), ("windowed", pair.windowed)):
            data = to_s16le(samples)
            (folder / f"{name}-{version}.wav").write_bytes(header(len(data)) + data)
        title = f"{pair.input.voice}, mel distance {pair.mel_db:.2f} dB: {pair.input.text}"
        draw_spectrograms(folder / f"{name}.png", pair.whole, pair.windowed, pair.joins, title)
        rows.append(
            {
                "name": name,
                "text": pair.input.text,
                "voice": pair.input.voice,
                "mel_db": _rounded(pair.mel_db),
            }
        )
    text = json.dumps(rows, indent=1, ensure_ascii=False)
    (folder / "worst.json").write_text(text, encoding="utf-8")


def _spread(values: Sequence[float]) -> float:
    return statistics.stdev(values) if len(values) > 1 else 0.0


def _rounded(value: float | None, digits: int = 3) -> float | None:
    return None if value is None else round(value, digits)
