"""The run of everything: its file, its page, and that a blank is an error."""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from speakahead.bench import page, proof
from speakahead.bench.figures import MeasurementFailed
from speakahead.bench.published import LABEL, QUOTED
from speakahead.bench.sections import SECTIONS, Bench, Report, Section
from speakahead.cli.proving import door
from speakahead.errors import InvalidRequest
from tests.bench.results import RESULTS


@dataclass
class Canned:
    result: dict[str, Any]

    def as_dict(self) -> dict[str, Any]:
        return self.result

    def table(self) -> str:
        return "a table <of figures>"


def canned(section: Section, result: dict[str, Any] | None = None) -> Section:
    """The section, as if it had measured this."""
    report = Canned(RESULTS[section.name] if result is None else result)

    def measure(bench: Bench) -> Report:
        bench.progress(1.0)
        return report

    return replace(section, measure=measure)


BENCH = Bench(door, None, 2, quick=True)


def test_every_section_has_canned_results() -> None:
    assert {section.name for section in SECTIONS} <= set(RESULTS)


def test_a_run_writes_a_file_and_a_page(tmp_path: Path) -> None:
    sections = [canned(section) for section in SECTIONS]
    done = proof.run(BENCH, tmp_path / "results", sections=sections)
    assert not done.failed
    document = proof.read(done.result_file)
    assert document == done.document
    assert set(document["sections"]) == {section.name for section in SECTIONS}
    assert re.fullmatch(r"\d{4}-\d{2}-\d{2}T\d{4}\.json", done.result_file.name)
    for part in document["sections"].values():
        assert part["command"].startswith("speakahead bench ")
        assert part["claims"], "every section claims something"
        assert all(claim["met"] for claim in part["claims"])
    text = done.page_file.read_text()
    assert text.count("<figure>") >= len(SECTIONS)
    assert not re.search(r'(src|href)="(?!data:|#)', text), "nothing from elsewhere"
    assert "<script" not in text
    assert "a table &lt;of figures&gt;" in text
    for each in QUOTED:
        assert each.label.endswith(f": {LABEL}.")
        assert page._text(each.label) in text
    for section in SECTIONS:
        assert section.command in text
    table = done.table()
    assert "met  " in table
    assert "NOT MET" not in table


def test_the_page_can_be_made_again_from_the_file(tmp_path: Path) -> None:
    sections = [canned(section) for section in SECTIONS if section.name in ("load", "growth")]
    done = proof.run(BENCH, tmp_path, sections=sections)
    again = page.render(proof.read(done.result_file), SECTIONS)
    assert again == done.page_file.read_text()


def blank(figures: dict[str, Any]) -> None:
    figures["hops"][0]["ratio"] = None


def infinite(figures: dict[str, Any]) -> None:
    figures["hops"][0]["ratio"] = float("inf")


def missing(figures: dict[str, Any]) -> None:
    del figures["hops"][0]["ratio"]


def misshapen(figures: dict[str, Any]) -> None:
    figures["hops"] = 5


@pytest.mark.parametrize("spoil", [blank, infinite, missing, misshapen])
def test_a_missing_figure_is_an_error_and_no_blank(
    spoil: Callable[[dict[str, Any]], None], tmp_path: Path
) -> None:
    hop = next(section for section in SECTIONS if section.name == "hop")
    spoiled = json.loads(json.dumps(RESULTS["hop"]))
    spoil(spoiled)
    latency = next(section for section in SECTIONS if section.name == "latency")
    done = proof.run(BENCH, tmp_path, sections=[canned(hop, spoiled), canned(latency)])
    assert done.failed == ["hop"]
    part = done.document["sections"]["hop"]
    assert part["error"]["code"] == "measurement_failed"
    assert not part.keys() & {"result", "table", "claims"}
    assert "Not measured" in done.page_file.read_text()
    assert "NOT MEASURED" in done.table()
    assert "result" in done.document["sections"]["latency"], "the others were measured"


def test_a_section_that_fails_is_named_with_its_code(tmp_path: Path) -> None:
    def fail(bench: Bench) -> Report:
        raise MeasurementFailed("Nothing was heard.")

    load = next(section for section in SECTIONS if section.name == "load")
    fleet = next(section for section in SECTIONS if section.name == "fleet")
    done = proof.run(BENCH, tmp_path, sections=[replace(load, measure=fail), fleet])
    assert done.failed == ["load", "fleet"], "the simulation needs the loads"
    assert "Nothing was heard." in done.table()
    assert "needs the measured loads" in done.document["sections"]["fleet"]["error"]["message"]


def test_a_claim_that_is_not_met_is_said_to_be_so(tmp_path: Path) -> None:
    growth = next(section for section in SECTIONS if section.name == "growth")
    result = {**RESULTS["growth"], "memory_growth": 0.5}
    done = proof.run(BENCH, tmp_path, sections=[canned(growth, result)])
    assert not done.failed
    assert "NOT MET  Memory" in done.table()
    assert done.table().count("NOT MET") == 1
    text = done.page_file.read_text()
    assert text.count('<td class="no">not met</td>') == 1
    assert "Not met: 1 of 3 claims." in text
    assert "Not met: 1 of 3 claims." in done.table()


def test_a_p95_is_shown_with_how_many_values_it_is_of() -> None:
    load, fleet = (
        next(section for section in SECTIONS if section.name == name) for name in ("load", "fleet")
    )
    assert "A p95 is of 3 turns." in load.pictures(RESULTS["load"])[0].caption
    (picture,) = fleet.pictures(RESULTS["fleet"])
    assert picture.caption.endswith("a p95 is of 280 and of 5 to 10 turns heard.")


def test_the_loads_of_a_file(tmp_path: Path) -> None:
    load = next(section for section in SECTIONS if section.name == "load")
    whole = proof.run(BENCH, tmp_path, sections=[canned(load)])
    assert proof.read_loads(whole.result_file) == RESULTS["load"]["runs"]
    alone = tmp_path / "load.json"
    alone.write_text(json.dumps(RESULTS["load"]))
    assert proof.read_loads(alone) == RESULTS["load"]["runs"]
    alone.write_text("{}")
    with pytest.raises(InvalidRequest):
        proof.read_loads(alone)


@pytest.mark.parametrize("text", ["", "[]", '{"format": 99}'])
def test_what_is_no_result_file(text: str, tmp_path: Path) -> None:
    file = tmp_path / "x.json"
    file.write_text(text)
    with pytest.raises(InvalidRequest):
        proof.read(file)


def test_sections_are_chosen_by_name() -> None:
    assert [s.name for s in proof.chosen(["fleet", "load"])] == ["load", "fleet"]
    assert len(proof.chosen([])) == len(SECTIONS)
    with pytest.raises(InvalidRequest, match="hop"):
        proof.chosen(["nothing"])


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InvalidRequest):
        proof.run(BENCH, tmp_path / "file" / "x", sections=[])
