"""How well the chunker finds sentences: exact matches on labelled texts, and invariance.

The data are JSON lines with ``text``, ``sentences`` and ``lang``. A case is *exact* if the chunker
returns just these sentences, compared after collapsing white space; it is *split-invariant* if
random ways to cut the text into pieces give the same units as the whole text. The soft limit is
off, because it is a policy of its own.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from speakahead.errors import InvalidRequest
from speakahead.text.chunker import IncrementalSentenceChunker, Sentence

_SEED = 20240229

# Golden Rules that do not suit speech: several list items in one line without a stop, lines joined
# as after a PDF export, a stop glued to the next word (as in file names), what takes semantics.
_NOT_PURSUED = frozenset(f"en-golden-{number:03}" for number in (18, *range(31, 42), 51, 52))


@dataclass(slots=True)
class Tally:
    """Counts over some cases."""

    cases: int = 0
    exact: int = 0
    split_invariant: int = 0

    @property
    def exact_share(self) -> float:
        """The share of exact cases, 0 to 1."""
        return self.exact / self.cases if self.cases else 0.0

    def add(self, *, exact: bool, invariant: bool) -> None:
        self.cases += 1
        self.exact += exact
        self.split_invariant += invariant

    def as_dict(self) -> dict[str, Any]:
        return {
            "cases": self.cases,
            "exact": self.exact,
            "exact_share": round(self.exact_share, 4),
            "split_invariant": self.split_invariant,
        }


@dataclass(slots=True)
class FileReport:
    """The result for one file: in total, by group, and the cases that are not exact.

    Groups are named by set and language ("golden en") or by language alone ("en"). The group
    "verbatim" leaves out the cases whose sentences are not parts of the text, which no chunker
    that keeps the text can match; "pursued ..." leaves out those that do not suit speech.
    """

    total: Tally = field(default_factory=Tally)
    groups: dict[str, Tally] = field(default_factory=dict)
    inexact: list[str] = field(default_factory=list)

    def as_dict(self) -> dict[str, Any]:
        groups = {name: tally.as_dict() for name, tally in self.groups.items()}
        return {**self.total.as_dict(), "groups": groups, "inexact": self.inexact}


@dataclass(slots=True)
class Report:
    """The results by file name."""

    files: dict[str, FileReport]
    splits: int
    seed: int

    def as_dict(self) -> dict[str, Any]:
        files = {name: report.as_dict() for name, report in self.files.items()}
        return {"files": files, "splits_per_case": self.splits, "seed": self.seed}

    def table(self) -> str:
        """The report for people."""
        lines = [f"{'data':<34}{'cases':>7}{'exact':>7}{'share':>9}{'invariant':>11}"]
        for name, report in self.files.items():
            rows = {name: report.total} | {f"  {k}": v for k, v in report.groups.items()}
            lines += [
                f"{label:<34}{tally.cases:>7}{tally.exact:>7}{tally.exact_share:>9.1%}"
                f"{tally.split_invariant:>11}"
                for label, tally in rows.items()
            ]
        return "\n".join(lines)


def run(data: Path, *, splits: int = 50, seed: int = _SEED) -> Report:
    """Measure on every ``*.jsonl`` file in the folder ``data``, with ``splits`` splits per case.

    Raises:
        InvalidRequest: there are no such files, or one of them has a line of another form.
    """
    paths = sorted(data.glob("*.jsonl"))
    if not paths:
        raise InvalidRequest("The data folder has no .jsonl files; name one with labelled texts.")
    return Report({path.name: _measure(path, splits, seed) for path in paths}, splits, seed)


def random_pieces(text: str, rng: random.Random) -> list[str]:
    """``text`` cut at random, in pieces of 1 character up to a length that is random as well."""
    longest = rng.choice((1, 2, 3, 5, 8, 13, 40))
    pieces = []
    start = 0
    while start < len(text):
        end = start + rng.randint(1, longest)
        pieces.append(text[start:end])
        start = end
    return pieces


def _measure(path: Path, splits: int, seed: int) -> FileReport:
    report = FileReport()
    for case in _read(path):
        text, language = case["text"], case["lang"]
        whole = _units([text], language)
        found = [" ".join(unit.text.split()) for unit in whole]
        exact = found == [" ".join(sentence.split()) for sentence in case["sentences"]]
        name = str(case.get("id", report.total.cases + 1))
        rng = random.Random(f"{seed} {name}")  # noqa: S311  # reproducible, not secret
        invariant = all(_units(random_pieces(text, rng), language) == whole for _ in range(splits))
        report.total.add(exact=exact, invariant=invariant)
        for group in _groups(case):
            report.groups.setdefault(group, Tally()).add(exact=exact, invariant=invariant)
        if not exact:
            report.inexact.append(name)
    return report


def _groups(case: Mapping[str, Any]) -> Iterator[str]:
    language = case["lang"]
    name = f"{case['set']} {language}" if "set" in case else language
    yield name
    if "verbatim" in case:
        if not case["verbatim"]:
            return
        yield "verbatim"
        if language != "en":
            yield "verbatim, not English"
    if str(case.get("id", "")).startswith("en-golden") and case["id"] not in _NOT_PURSUED:
        yield f"pursued {name}"


def _units(pieces: list[str], language: str) -> list[Sentence]:
    chunker = IncrementalSentenceChunker(language, soft_limit=None)
    units = [unit for piece in pieces for unit in chunker.feed(piece)]
    return units + chunker.flush()


def _read(path: Path) -> Iterator[dict[str, Any]]:
    with path.open(encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            if not line.strip():
                continue
            try:
                case = json.loads(line)
                valid = (
                    isinstance(case["text"], str)
                    and isinstance(case["lang"], str)
                    and all(isinstance(sentence, str) for sentence in case["sentences"])
                )
            except (ValueError, KeyError, TypeError):
                valid = False
            if not valid:
                raise InvalidRequest(
                    f"Line {number} of {path.name} is no labelled text; "
                    "it needs the keys text, lang and sentences."
                )
            yield case
