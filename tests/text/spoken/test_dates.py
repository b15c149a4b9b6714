"""Dates, times of day, decades and years."""

from __future__ import annotations

from collections.abc import Callable

import pytest

CASES = {
    "On 4/5/2024": "On April fifth, twenty twenty four",
    "On 13/05/2024": "On May thirteenth, twenty twenty four",
    "2024-04-05": "April fifth, twenty twenty four",
    "2024-04-05T14:30:00Z": "April fifth, twenty twenty four at fourteen thirty UTC",
    "05.04.2024": "April fifth, twenty twenty four",
    "By Jan. 5": "By January fifth",
    "January 5, 2024": "January fifth, twenty twenty four",
    "5 Jan 2024": "the fifth of January twenty twenty four",
    "on the 5th of March": "on the fifth of March",
    "March 3rd": "March third",
    "Jan. 5–7": "January fifth to seventh",
    "March 2024": "March twenty twenty four",
    "Fri, Jan 5 at 3pm": "Friday, January fifth at three PM",
    "Mon–Fri": "Monday to Friday",
    "May I march 5 miles?": "May I march five miles?",
    "the ’90s": "the nineties",
    "in the mid-1990s": "in the mid-nineteen nineties",
    "the 2000s": "the two thousands",
    "In 1999": "In nineteen ninety nine",
    "In 2007": "In two thousand seven",
    "in 1905": "in nineteen oh five",
    "in 1900": "in nineteen hundred",
    "since 1066": "since ten sixty six",
    "2024–25": "twenty twenty four to twenty five",
    "2019–2024": "twenty nineteen to twenty twenty four",
    "about 1500 people": "about one thousand five hundred people",
    "4:30 pm": "four thirty PM",
    "10am": "ten AM",
    "at 10 a.m. today": "at ten AM today",
    "At 5 a.m. Mr. Smith left.": "At five AM Mister Smith left.",
    "See you at 4 p.m.": "See you at four PM.",
    "16:05": "sixteen oh five",
    "12:00": "twelve o'clock",
    "12:00 pm": "twelve PM",
    "at 00:00": "at midnight",
    "19:00": "nineteen hundred",
    "9:05:30": "nine oh five and thirty seconds",
    "5–7pm": "five to seven PM",
    "10:30am-12:00pm": "ten thirty AM to twelve PM",
    "9:00-17:30": "nine o'clock to seventeen thirty",
    "The ratio is 16:9": "The ratio is sixteen to nine",
}


@pytest.mark.parametrize(("written", "spoken"), CASES.items())
def test_reads_as_a_person_would(say: Callable[..., str], written: str, spoken: str) -> None:
    assert say(written) == spoken


BRITISH = {
    "On 4/5/2024": "On the fourth of May twenty twenty four",
    "2024-04-05": "the fifth of April twenty twenty four",
    "January 5, 2024": "January the fifth, twenty twenty four",
    "on the 5 January": "on the fifth of January",
    "in 2007": "in two thousand and seven",
    "105 of them": "one hundred and five of them",
}


@pytest.mark.parametrize(("written", "spoken"), BRITISH.items())
def test_british_order_and_numbers(say: Callable[..., str], written: str, spoken: str) -> None:
    assert say(written, "en-gb") == spoken
