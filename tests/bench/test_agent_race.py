"""The race of the two modes: its arithmetic, and (on request) a small one in Chromium."""

import json
from pathlib import Path

import pytest

from speakahead.agent.models.scripted import Call, Pause, Say, read_script
from speakahead.bench import agent_race, browser
from speakahead.bench.agent_race import (
    AT_ONCE,
    KINDS,
    LONG,
    SHORT,
    TOOL,
    Kind,
    measure,
)
from speakahead.bench.browser import Heard
from speakahead.bench.figures import MeasurementFailed, complete
from speakahead.errors import InvalidRequest


def side(group: str, name: str, kind: Kind, rate: float, *audible: float) -> agent_race._Side:
    heard = [
        Heard(first_byte_ms=ms - 50, first_audible_ms=ms, text_complete_ms=900) for ms in audible
    ]
    url = "http://127.0.0.1/"
    return agent_race._Side(group, name, kind, rate, url, name, settle=lambda: None, heard=heard)


def test_a_script_has_every_reply_once_for_each_side(tmp_path: Path) -> None:
    steps = read_script(agent_race._script(tmp_path / "script.json", KINDS, sides=2))
    assert [len(step) for step in steps] == [1, 1, 1, 1, 2, 2, 2, 2]
    assert steps[0] == steps[1] == [Say(SHORT.text)]
    assert steps[4] == [
        Say("Let me look that up for you."),
        Call("order_status", {"order_number": "1042"}),
    ]
    assert isinstance(steps[5][0], Pause)
    assert TOOL.text.startswith("Let me look that up for you. It was shipped")


def test_sides_change_places_and_groups_do_not() -> None:
    sides = [
        side("short 20.0", "bidi", SHORT, 20.0),
        side("short 20.0", "batch", SHORT, 20.0),
        side("long 20.0", "bidi", LONG, 20.0),
        side("long 20.0", "batch", LONG, 20.0),
    ]
    assert agent_race._in_turn(sides, 0) == sides
    assert agent_race._in_turn(sides, 1) == [sides[1], sides[0], sides[3], sides[2]]


def test_ratios_are_of_medians() -> None:
    sides = [
        side("long 20.0", "bidi", LONG, 20.0, 1000, 1100, 5000),
        side("long 20.0", "batch", LONG, 20.0, 4400, 4300, 9000),
        side("at once", "bidi", LONG, AT_ONCE, 500),
        side("at once", "batch", LONG, AT_ONCE, 500),
        side("at once", "whole sentences", LONG, AT_ONCE, 1000),
    ]
    written, at_once = agent_race._groups(sides)
    assert written.written == "20 tokens/s"
    bidi = written.sides["bidi"].first_audible_ms
    assert (bidi.n, bidi.median, bidi.least, bidi.most) == (3, 1100, 1000, 5000)
    assert written.values["batch"] == [4400, 4300, 9000]
    assert written.ratios == {"batch, first byte": 4.14, "batch, first audible": 4.0}
    assert at_once.written == "at once"
    assert at_once.ratios["batch, first audible"] == 1
    assert at_once.ratios["whole sentences, first audible"] == 2
    report = agent_race.Report([written, at_once], 3, "Chromium 1")
    assert complete(json.loads(json.dumps(report.as_dict())))["repeats"] == 3
    table = report.table()
    assert "1100 (1000-5000)" in table
    assert "batch, first audible x4.00" in table
    assert "nothing is won by waiting less" in table


def test_a_side_without_figures_is_an_error() -> None:
    with pytest.raises(MeasurementFailed, match="Nothing was measured"):
        agent_race._groups([side("long 20.0", "bidi", LONG, 20.0)])


def test_without_a_browser_it_says_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(browser.importlib.util, "find_spec", lambda name: object())
    for chosen in None, tmp_path / "chromium":
        with pytest.raises(InvalidRequest, match="Chromium") as error:
            measure(browser=chosen)
        assert error.value.code == "browser_missing"


@pytest.mark.browser
def test_a_small_race() -> None:
    told: list[float] = []
    report = measure(kinds={20.0: (LONG, TOOL)}, repeats=1, progress=told.append)
    long, tool, at_once = report.groups
    for group in report.groups:
        for way in group.sides.values():
            assert 0 < way.first_byte_ms.median < way.first_audible_ms.median
    assert (long.kind, tool.kind, at_once.kind) == ("long", "tool", "long")
    for group in long, tool:
        bidi, batch = group.sides["bidi"], group.sides["batch"]
        assert bidi.first_byte_ms.median < bidi.text_complete_ms.median
        assert batch.first_byte_ms.median > batch.text_complete_ms.median
        assert group.ratios["batch, first audible"] > 1
    assert set(at_once.sides) == {"bidi", "batch", "whole sentences"}
    assert at_once.ratios["whole sentences, first audible"] > 1
    assert told[-1] == 1
