"""Everything that the project claims, measured in one run: a result file and a page.

A section that fails does not stop the others: its error stands where its figures would, and the run
as a whole has failed.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import logging
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from speakahead.bench import machine, page
from speakahead.bench.claims import Claim
from speakahead.bench.figures import MeasurementFailed, complete
from speakahead.bench.pictures import Picture
from speakahead.bench.sections import SECTIONS, Bench, Section
from speakahead.errors import InvalidRequest, SpeakaheadError

_log = logging.getLogger(__name__)

FORMAT = 2
"""Version of the result file's shape."""
WANTED_MINUTES = 20

type Watch = Callable[[str], AbstractContextManager[Callable[[float], None]]]


@contextlib.contextmanager
def unwatched(title: str) -> Iterator[Callable[[float], None]]:
    """A watch that shows nothing."""
    yield lambda share: None


@dataclass(frozen=True, slots=True)
class Proof:
    """What came out, and where it was written."""

    document: dict[str, Any]
    result_file: Path
    page_file: Path

    @property
    def failed(self) -> list[str]:
        """Names of the sections that have no figures."""
        return [name for name, part in self.document["sections"].items() if "error" in part]

    def as_dict(self) -> dict[str, Any]:
        return self.document

    def table(self) -> str:
        """The report for people."""
        blocks = []
        for name, part in self.document["sections"].items():
            error = part.get("error")
            text = f"NOT MEASURED: {error['message']}" if error else part["table"]
            blocks.append(f"== {name} ({part['seconds']:.0f} s)\n{text}")
        claims = [
            Claim(**claim)
            for part in self.document["sections"].values()
            for claim in part.get("claims", [])
        ]
        blocks.append("== claims\n" + page.claims_table(claims))
        minutes = self.document["seconds"] / 60
        blocks.append(
            f"{minutes:.1f} minutes (wanted: under {WANTED_MINUTES}) on "
            f"{machine.sentence(self.document['machine'])}"
        )
        return "\n\n".join(blocks)


def run(
    bench: Bench,
    output: Path,
    *,
    sections: Sequence[Section] = SECTIONS,
    watch: Watch = unwatched,
) -> Proof:
    """Measure, and write ``<date>.json`` and ``<date>.html`` into a folder.

    Args:
        bench: what the sections work with.
        output: the folder; made if it is not there.
        sections: which; all by default.
        watch: opened with the title of each section; gives what is told its progress.

    Raises:
        InvalidRequest: the folder cannot be written to.
    """
    try:
        output.mkdir(parents=True, exist_ok=True)
    except OSError:
        raise InvalidRequest("The folder for the results cannot be made.") from None
    document, drawn = measure_all(bench, sections=sections, watch=watch)
    stamp = document["date"][:16].replace(":", "")
    result_file, page_file = output / f"{stamp}.json", output / f"{stamp}.html"
    result_file.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    page_file.write_text(page.render(document, sections, drawn), encoding="utf-8")
    return Proof(document, result_file, page_file)


def measure_all(
    bench: Bench,
    *,
    sections: Sequence[Section] = SECTIONS,
    watch: Watch = unwatched,
) -> tuple[dict[str, Any], dict[str, list[Picture]]]:
    """The document of all sections, ready for JSON, and their pictures; see ``run``."""
    began, busyness = time.monotonic(), machine.Busyness()
    document: dict[str, Any] = {
        "format": FORMAT,
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "quick": bench.quick,
        "machine": complete(machine.describe(), "machine"),
    }
    results: dict[str, Any] = {}
    parts: dict[str, Any] = {}
    drawn: dict[str, list[Picture]] = {}
    for section in sections:
        with watch(section.title) as progress:
            mine = dataclasses.replace(bench, results=results, progress=progress)
            parts[section.name], drawn[section.name] = _part(section, mine)
        if "result" in parts[section.name]:
            results[section.name] = parts[section.name]["result"]
    document["seconds"] = round(time.monotonic() - began, 1)
    document["busyness"] = busyness.figures()
    document["sections"] = parts
    return document, drawn


def read(file: Path) -> dict[str, Any]:
    """A result file.

    Raises:
        InvalidRequest: it is none, or one of another version.
    """
    try:
        document: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        raise InvalidRequest("This is no result file.") from None
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise InvalidRequest("This result file is of another version, or none.")
    return document


def read_loads(file: Path) -> list[dict[str, Any]]:
    """The measured loads of a result file, or of what `speakahead bench load --json` printed.

    Raises:
        InvalidRequest: there are none in it.
    """
    try:
        document = json.loads(file.read_text(encoding="utf-8"))
        load = document["sections"]["load"]["result"] if "sections" in document else document
        runs: list[dict[str, Any]] = load["runs"]
    except (OSError, ValueError, KeyError, TypeError):
        raise InvalidRequest("There are no measured loads in this file.") from None
    return runs


def chosen(names: Sequence[str], sections: Sequence[Section] = SECTIONS) -> list[Section]:
    """The sections of these names, in their usual order; all where none is named.

    Raises:
        InvalidRequest: there is no such section.
    """
    known = [section.name for section in sections]
    if unknown := [name for name in names if name not in known]:
        raise InvalidRequest(f"There is no section {unknown[0]}; they are: {', '.join(known)}.")
    return [section for section in sections if not names or section.name in names]


def _part(section: Section, bench: Bench) -> tuple[dict[str, Any], list[Picture]]:
    """One section: its result, claims and pictures, or its error."""
    began, busyness = time.monotonic(), machine.Busyness()
    part: dict[str, Any] = {"title": section.title, "command": section.command}
    drawn: list[Picture] = []
    try:
        report = section.measure(bench)
        # Through JSON, so that pictures and claims see what a reader of the file sees.
        result = complete(json.loads(json.dumps(report.as_dict())), section.name)
        part["result"] = result
        part["claims"] = [asdict(claim) for claim in section.claims(result)]
        part["table"] = report.table()
        drawn = section.pictures(result)
    except SpeakaheadError as error:
        part = {**_without_figures(part), "error": {"code": error.code, "message": error.message}}
    except Exception:
        _log.exception("the section %s failed", section.name)
        wrong = MeasurementFailed("It failed in an unexpected way; the log says how.")
        part = {**_without_figures(part), "error": {"code": wrong.code, "message": wrong.message}}
    part["seconds"] = round(time.monotonic() - began, 1)
    part["busyness"] = busyness.figures()
    return part, drawn


def _without_figures(part: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in part.items() if key not in ("result", "claims", "table")}
