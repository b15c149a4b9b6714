"""Amounts of money."""

from __future__ import annotations

from collections.abc import Callable

import pytest

CASES = {
    "It costs $3.50.": "It costs three dollars and fifty cents.",
    "It was $1,249.99 in all.": (
        "It was one thousand two hundred forty nine dollars and ninety nine cents in all."
    ),
    "Just €20": "Just twenty euros",
    "20 € or 20€": "twenty euros or twenty euros",
    "Only £5.99!": "Only five pounds and ninety nine pence!",
    "It raised $3M.": "It raised three million dollars.",
    "It is worth $1.2 billion today.": "It is worth one point two billion dollars today.",
    "About $1.2B": "About one point two billion dollars",
    "50¢": "fifty cents",
    "USD 40 or 40 USD": "forty US dollars or forty US dollars",
    "₹500": "five hundred rupees",
    "US$20": "twenty US dollars",
    "a $5 bill": "a five dollar bill",
    "$1": "one dollar",
    "$0.99": "ninety nine cents",
    "$1.01": "one dollar and one cent",
    "$5-10": "five to ten dollars",
    "$5M–$10M": "five million to ten million dollars",
    "-$5": "minus five dollars",
    "$20/month": "twenty dollars per month",
    "~$40": "about forty dollars",
    "$5k": "five thousand dollars",
    "¥1,000": "one thousand yen",
    "Both $5 and $10 work.": "Both five dollars and ten dollars work.",
}


@pytest.mark.parametrize(("written", "spoken"), CASES.items())
def test_reads_as_a_person_would(say: Callable[..., str], written: str, spoken: str) -> None:
    assert say(written) == spoken
