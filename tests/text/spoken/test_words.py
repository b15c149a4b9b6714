"""Titles, abbreviations, initialisms, tags and signs."""

from __future__ import annotations

from collections.abc import Callable

import pytest

CASES = {
    "Dr. Smith lives at 221B Baker St.": ("Doctor Smith lives at two twenty one B Baker Street."),
    "She lives on St. Mary's Dr.": "She lives on Saint Mary's Drive.",
    "Near Ocean Dr., ask Dr. King": "Near Ocean Drive, ask Doctor King",
    "On Mt. Vernon Dr. it rains": "On Mount Vernon Drive it rains",
    "Thank you, Dr.": "Thank you, Doctor.",
    "St. Paul visited 5 King St. in May": "Saint Paul visited five King Street in May",
    "Mr. and Mrs. Lee": "Mister and Missus Lee",
    "Prof. Xu": "Professor Xu",
    "e.g. this, i.e. that": "for example this, that is that",
    "Pens, ink, etc.": "Pens, ink, et cetera.",
    "cats vs. dogs": "cats versus dogs",
    "approx. 5": "approximately five",
    "No. 5": "number five",
    "No. It is not.": "No. It is not.",
    "The U.S. won": "The US won",
    "J. K. Rowling": "J K Rowling",
    "a Ph.D. in physics": "a PhD in physics",
    "HTML, APIs and the CEO’s NASA talk": "HTML, APIs and the CEO's NASA talk",
    "Briggs & Co. left": "Briggs and Company left",
    "R&D": "R and D",
    "salt & pepper": "salt and pepper",
    "@handle": "at handle",
    "#1": "number one",
    "#GoodNews": "hashtag Good News",
    "w/ you, w/o me": "with you, without me",
    "~5": "about five",
    "≥ 3": "greater than or equal to three",
    "± 2": "plus or minus two",
    "A → B": "A to B",
    "Settings -> Privacy": "Settings, Privacy",
    "C++ and C#": "C plus plus and C sharp",
    "a < b": "a less than b",
    "x != y": "x not equal to y",
    "snake_case": "snake case",
    "getUserName": "get User Name",
    "iPhone, YouTube, McDonald": "iPhone, YouTube, McDonald",
    "and/or": "and or",
    "the angle α": "the angle alpha",
    "§ 5": "section five",
}


@pytest.mark.parametrize(("written", "spoken"), CASES.items())
def test_reads_as_a_person_would(say: Callable[..., str], written: str, spoken: str) -> None:
    assert say(written) == spoken
