"""Plain numbers, ranges, fractions, ordinals and Roman numerals."""

from __future__ import annotations

from collections.abc import Callable

import pytest

CASES = {
    "12,345 people": "twelve thousand three hundred forty five people",
    "1,000,000": "one million",
    "3.14": "three point one four",
    ".5": "zero point five",
    "-5": "minus five",
    "−0.5": "minus zero point five",
    "5-10": "five to ten",
    "pp. 3–7": "pages three to seven",
    "10 − 3 = 7": "ten minus three equals seven",
    "1/2 cup": "one half cup",
    "3/4": "three quarters",
    "2 1/2": "two and a half",
    "½ and 2½": "one half and two and a half",
    "9/10": "nine out of ten",
    "4.5/5": "four point five out of five",
    "1/60th of it": "one sixtieth of it",
    "UTC+2 and GMT-5": "UTC plus two and GMT minus five",
    "Apt 4B": "apartment four B",
    "H.264": "H two sixty four",
    "under <5 ms": "under less than five milliseconds",
    "1st, 22nd": "first, twenty second",
    "007": "zero zero seven",
    "0x1F": "hex one F",
    "24/7": "twenty four seven",
    "3.5x faster": "three point five times faster",
    "It grew 3.5x.": "It grew three point five times.",
    "10x": "ten times",
    "1.5x-2x": "one point five to two times",
    "a 10x engineer": "a ten X engineer",
    "a 3x speedup": "a three times speedup",
    "2x + 3y = 5": "two X plus three y equals five",
    "y = 2x": "y equals two X",
    "10k": "ten thousand",
    "4K video": "four K video",
    "70B parameters": "seventy billion parameters",
    "5+ years": "five plus years",
    "1.5e-7": "one point five times ten to the power of minus seven",
    "6.02×10²³": "six point zero two times ten to the power of twenty three",
    "x² + y³": "x squared plus y cubed",
    "1920x1080": "nineteen twenty by ten eighty",
    "3 × 4 = 12": "three times four equals twelve",
    "GPT-4": "GPT four",
    "HBM3": "HBM three",
    "H₂O": "H two O",
    "RTX 4090": "RTX forty ninety",
    "Boeing 747": "Boeing seven forty seven",
    "King Henry VIII": "King Henry the eighth",
    "Chapter IV": "Chapter four",
    "World War II": "World War two",
    "World War I": "World War one",
    "Part III": "Part three",
    "Elizabeth I was queen": "Elizabeth the first was queen",
    "The part I liked": "The part I liked",
    "Then I said MIX a CD": "Then I said MIX a CD",
    "an IV drip": "an IV drip",
    "12345678901234567890": (
        "one two three four, five six seven eight, nine zero one two, three four five six, "
        "seven eight nine zero"
    ),
}


@pytest.mark.parametrize(("written", "spoken"), CASES.items())
def test_reads_as_a_person_would(say: Callable[..., str], written: str, spoken: str) -> None:
    assert say(written) == spoken
