"""Spreads, interleaving, the machine's description, and the rule that nothing is blank."""

import json
import math
import os
import platform

import pytest
from hypothesis import given
from hypothesis import strategies as st

from speakahead.bench import machine
from speakahead.bench.figures import MeasurementFailed, Spread, complete, interleaved


@given(st.lists(st.floats(0, 1e6), min_size=1, max_size=40))
def test_a_spread_is_in_order(values: list[float]) -> None:
    spread = Spread.of(values, digits=6)
    assert spread.n == len(values)
    assert spread.least <= spread.median <= spread.most
    assert spread.least <= spread.p95 <= spread.most
    assert spread.least == pytest.approx(min(values), abs=1e-6)


@pytest.mark.parametrize("values", [[], [1.0, math.nan], [math.inf]])
def test_what_was_not_measured_has_no_spread(values: list[float]) -> None:
    with pytest.raises(MeasurementFailed):
        Spread.of(values)


def test_sides_take_turns_and_none_is_always_first() -> None:
    order = list(interleaved(["a", "b", "c"], 3))
    assert order == ["a", "b", "c", "b", "c", "a", "c", "a", "b"]


@pytest.mark.parametrize(
    ("figures", "where"),
    [
        (None, "the result"),
        ({"a": {"b": None}}, "a.b"),
        ({"a": [1, math.nan]}, "a.1"),
        ({"a": [{"b": math.inf}]}, "a.0.b"),
        ({"a": " "}, "a"),
        ({"a": []}, "a"),
        ({"a": {}}, "a"),
        ({"a": object()}, "a"),
    ],
)
def test_a_blank_is_an_error_that_names_it(figures: object, where: str) -> None:
    with pytest.raises(MeasurementFailed, match=rf": {where}\."):
        complete(figures)


def test_figures_without_a_blank_are_returned() -> None:
    figures = {"a": 0, "b": [0.0, False], "c": {"d": "x", "errors": [], "absent": []}}
    assert complete(figures) is figures


def test_the_machine_is_described_and_nobody_is_named() -> None:
    described = complete(machine.describe())
    assert described["cores"] == machine.cores() >= 1
    assert described["packages"].keys() >= {"speakahead", "onnxruntime", "numpy"}
    text = json.dumps(described) + machine.sentence(described)
    assert platform.node() not in text
    assert os.path.expanduser("~") not in text
    assert os.getcwd() not in text


def test_busyness_is_in_shares() -> None:
    figures = machine.Busyness().figures()
    assert figures["load_before"] >= 0
    assert 0 <= figures["idle_share"] <= 1
    assert 0 <= figures["stolen_share"] <= 1
