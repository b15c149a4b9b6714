"""Measures with their units."""

from __future__ import annotations

from collections.abc import Callable

import pytest

CASES = {
    "He ran 5km in 25.5 min": "He ran five kilometers in twenty five point five minutes",
    "−12 °C": "minus twelve degrees Celsius",
    "fell to -12°C": "fell to minus twelve degrees Celsius",
    "72°F": "seventy two degrees Fahrenheit",
    "40.7128° N": "forty point seven one two eight degrees north",
    "80GB": "eighty gigabytes",
    "3 kg": "three kilograms",
    "1 kg": "one kilogram",
    "60 mph": "sixty miles per hour",
    "He is 5'11\".": "He is five foot eleven.",
    "3.5 GHz": "three point five gigahertz",
    "120 km/h": "one hundred twenty kilometers per hour",
    "9.8 m/s²": "nine point eight meters per second squared",
    "10 m²": "ten square meters",
    "250ml": "two hundred fifty milliliters",
    "2 tbsp. sugar": "two tablespoons sugar",
    "1/2 tsp salt": "one half teaspoon salt",
    "16 oz": "sixteen ounces",
    "5 ms": "five milliseconds",
    "3 kWh": "three kilowatt hours",
    "100 Mbps": "one hundred megabits per second",
    "1h30m": "one hour thirty minutes",
    "a 5 km run": "a five kilometer run",
    "5-10 km": "five to ten kilometers",
    "10–20%": "ten to twenty percent",
    "It is 5 km. Then left.": "It is five kilometers. Then left.",
    "We saw 5 in the end": "We saw five in the end",
    'a 27" monitor': "a twenty seven inch monitor",
    "50%": "fifty percent",
    "gate 12A": "gate twelve A",
}


@pytest.mark.parametrize(("written", "spoken"), CASES.items())
def test_reads_as_a_person_would(say: Callable[..., str], written: str, spoken: str) -> None:
    assert say(written) == spoken
