"""Telephone numbers and codes that are read by their digits."""

from __future__ import annotations

from collections.abc import Callable

import pytest

CASES = {
    "Call 555-0134": "Call five five five, zero one three four",
    "(415) 555-2671": "four one five, five five five, two six seven one",
    "415.555.2671": "four one five, five five five, two six seven one",
    "+1 415 555 2671": "plus one, four one five, five five five, two six seven one",
    "+44 20 7946 0958": "plus four four, two zero, seven nine four six, zero nine five eight",
    "1-800-FLOWERS": "one eight hundred, flowers",
    "1-800-555-0199 ext. 12": (
        "one, eight zero zero, five five five, zero one nine nine, extension one two"
    ),
    "Dial 911 now": "Dial nine one one now",
    "4111 1111 1111 1111": ("four one one one, one one one one, one one one one, one one one one"),
    "123-45-6789": "one two three, four five, six seven eight nine",
    "500-1000 words": "five hundred to one thousand words",
    "Order #48291": "Order number four eight two nine one",
    "my PIN is 1234": "my PIN is one two three four",
    "CA 94103": "CA nine four one zero three",
    "room 204": "room two oh four",
}


@pytest.mark.parametrize(("written", "spoken"), CASES.items())
def test_reads_as_a_person_would(say: Callable[..., str], written: str, spoken: str) -> None:
    assert say(written) == spoken
