"""Dates, times of day, decades and years.

An American date is month, day, year; a British one day, month, year. ISO 8601 dates are
unambiguous. Two-digit years are of this century up to 49.
"""

from __future__ import annotations

import re

from speakahead.text.spoken.numerals import cardinal, decade, number, ordinal, year
from speakahead.text.spoken.rules import CAPITALS, DIGITS, Rule, choice, needing, rule

_MONTHS = (
    "January February March April May June July August September October November December"
).split()
_SHORT = {
    "Jan": 1, "Feb": 2, "Mar": 3, "Apr": 4, "Jun": 6, "Jul": 7, "Aug": 8, "Sep": 9, "Sept": 9,
    "Oct": 10, "Nov": 11, "Dec": 12,
}  # fmt: skip
_MONTH_NUMBER = {name: i for i, name in enumerate(_MONTHS, 1)} | _SHORT
_DAYS = {
    "Mon": "Monday", "Tue": "Tuesday", "Tues": "Tuesday", "Wed": "Wednesday", "Thu": "Thursday",
    "Thur": "Thursday", "Thurs": "Thursday", "Fri": "Friday", "Sat": "Saturday", "Sun": "Sunday",
}  # fmt: skip
_MONTH = rf"({choice(_MONTH_NUMBER)})\b\.?"
_DAY = r"(\d{1,2})(?:st|nd|rd|th)?"
_YEAR = r"(\d{4}|'\d\d)(?![\w%]|[,.:]\d)"
_DASH = r" ?[-–—] ?"
_MERIDIEM = r"(?:([AaPp])(?:\.\s?[Mm]\b\.?|[Mm]\b))"
_CLOCK = r"(\d{1,2})(?:[:.](\d{2}))?"
_YEAR_BEFORE = re.compile(
    r"(?i)(?:\b(?:in|since|by|from|until|till|circa|year|years|mid|late|early|spring|summer|autumn"
    r"|fall|winter|before|after|during|around|of|the|and|to|class|copyright|between|about"
    r"|christmas|january|february|march|april|may|june|july|august|september|october|november"
    r"|december|q[1-4]|quarter)[ \-,]{1,2}|[(©\"]|^)$"
)
_ALWAYS_YEAR_BEFORE = re.compile(
    r"(?i)\b(?:in|since|until|till|circa|year|mid|late|early|spring|summer|autumn|fall|winter"
    r"|january|february|march|april|may|june|july|august|september|october|november|december"
    r"|q[1-4]|class of|quarter|of)[ \-,]{1,2}$"
)
_QUANTITY_AFTER = re.compile(
    r" (?:[a-z]{3,}s|people|men|women|children|of|more|other|percent|fish|sheep|feet)\b(?<!was)"
    r"(?<!has)(?<!his)(?<!this)"
)
_QUANTITY_BEFORE = re.compile(
    r"(?i)\b(?:about|over|under|than|nearly|almost|around|exactly|least|most|total|these|those|all"
    r"|up to|only|some|approximately|roughly|page|another|extra)[ ]$"
)


def _stop(match: re.Match[str]) -> str:
    """The last stop of "p.m." where the sentence ends as well."""
    after = match.string[match.end() : match.end() + 4].strip("\"')")
    return "." if match[0].endswith(".") and not after else ""


def rules(language: str) -> tuple[Rule, ...]:
    """The English rules."""
    british = language == "en-gb"

    def year_words(text: str) -> str:
        if text.startswith("'"):
            return cardinal(int(text[1:]), language)
        return year(int(text), language)

    def full_year(text: str) -> str:
        value = int(text)
        if len(text) == 2:
            value += 2000 if value < 50 else 1900
        return year(value, language)

    def date(day: int, month: int, said_year: str = "") -> str | None:
        if not (1 <= day <= 31 and 1 <= month <= 12):
            return None
        name = _MONTHS[month - 1]
        if british:
            said = f"the {ordinal(day, language)} of {name}"
            return f"{said} {said_year}".strip()
        said = f"{name} {ordinal(day, language)}"
        return f"{said}, {said_year}" if said_year else said

    def without_article(match: re.Match[str], said: str | None) -> str | None:
        """ "On the 5 May" already has the article."""
        before = match.string[max(0, match.start() - 4) : match.start()].lower()
        return said.removeprefix("the ") if said and before.endswith("the ") else said

    def iso(match: re.Match[str]) -> str | None:
        said = date(int(match[3]), int(match[2]), year(int(match[1]), language))
        if said and match[4]:
            said += f" at {clock(int(match[4]), match[5])}"
            if match[6] == "Z":
                said += " UTC"
        return without_article(match, said)

    def slashed(match: re.Match[str]) -> str | None:
        first, second = int(match[1]), int(match[3])
        day_first = (british or match[2] == ".") if max(first, second) <= 12 else first > 12
        day, month = (first, second) if day_first else (second, first)
        return without_article(match, date(day, month, full_year(match[4])))

    def month_day(match: re.Match[str]) -> str | None:
        month = _MONTHS[_MONTH_NUMBER[match[1]] - 1]
        days = [int(d) for d in (match[2], match[3]) if d]
        if not all(1 <= d <= 31 for d in days):
            return None
        article = "the " if british else ""
        said = f"{month} {article}" + " to ".join(ordinal(d, language) for d in days)
        return f"{said}, {year_words(match[4])}" if match[4] else said

    def day_month(match: re.Match[str]) -> str | None:
        month = _MONTHS[_MONTH_NUMBER[match[3]] - 1]
        days = [int(d) for d in (match[1], match[2]) if d]
        if not all(1 <= d <= 31 for d in days):
            return None
        said = "the " + " to ".join(ordinal(d, language) for d in days) + f" of {month}"
        said += f" {year_words(match[4])}" if match[4] else ""
        return without_article(match, said)

    def month_alone(match: re.Match[str]) -> str:
        month = _MONTHS[_MONTH_NUMBER[match[1]] - 1]
        return f"{month} {year_words(match[2])}" if match[2] else month

    def clock(hour: int, minute: str | None) -> str:
        """Without "AM" or "PM": 16:05 is "sixteen oh five", 12:00 "twelve o'clock"."""
        if minute is None:
            return cardinal(hour, language)
        if minute == "00":
            if hour == 0:
                return "midnight"
            hours = cardinal(hour, language)
            return f"{hours} o'clock" if hour <= 12 else f"{hours} hundred"
        past = (
            f"oh {cardinal(int(minute), language)}"
            if minute[0] == "0"
            else (cardinal(int(minute), language))
        )
        return f"{cardinal(hour, language)} {past}"

    def twelve(hour: str, minute: str | None, half: str | None) -> str:
        said = cardinal(int(hour), language)
        if minute and minute != "00":
            said = clock(int(hour), minute)
        return f"{said} {half.upper()}M" if half else said

    def with_meridiem(match: re.Match[str]) -> str | None:
        hour, minute = int(match[1]), int(match[2] or 0)
        if not 0 <= hour <= 23 or minute > 59:
            return None
        return twelve(match[1], match[2], match[3]) + _stop(match)

    def meridiem_range(match: re.Match[str]) -> str | None:
        if int(match[1]) > 12 or int(match[4]) > 12:
            return None
        low = twelve(match[1], match[2], match[3])
        return f"{low} to {twelve(match[4], match[5], match[6])}{_stop(match)}"

    def day_time(match: re.Match[str]) -> str | None:
        hour = int(match[1])
        if hour > 24 or int(match[2]) > 59:
            return None
        said = clock(hour, match[2])
        if match[3]:
            said += f" and {number(str(int(match[3])), language)} seconds"
        return said

    def time_range(match: re.Match[str]) -> str | None:
        if int(match[1]) > 24 or int(match[3]) > 24 or max(int(match[2]), int(match[4])) > 59:
            return None
        return f"{clock(int(match[1]), match[2])} to {clock(int(match[3]), match[4])}"

    def year_range(match: re.Match[str]) -> str | None:
        first, last = match[1], match[2]
        if not 1000 <= int(first) <= 2100:
            return None
        if len(last) == 2:
            # "2024-05" is a month, "2024-25" the year after.
            follows = int(last) == int(first[2:]) + 1
            if int(last) <= int(first[2:]) or (int(last) < 13 and not follows):
                return None
            return f"{year(int(first), language)} to {year(int(last), language)}"
        if not int(first) < int(last) <= 2200:
            return None
        return f"{year(int(first), language)} to {year(int(last), language)}"

    def decades(match: re.Match[str]) -> str | None:
        text = match[1]
        if len(text) == 2 and "'" not in match[0]:
            before = match.string[max(0, match.start() - 14) : match.start()].lower()
            if not re.search(r"\b(?:the|early|late|mid|his|her|their|my|your|its)[ \-]$", before):
                return None  # thirty seconds
        return decade(text, language)

    def bare_year(match: re.Match[str]) -> str | None:
        value = int(match[0])
        before = match.string[max(0, match.start() - 16) : match.start()]
        after = match.string[match.end() : match.end() + 20]
        if re.match(r" (?:AD|BC|BCE|CE)\b", after) or _ALWAYS_YEAR_BEFORE.search(before):
            return year(value, language)
        if value < 1500 or value > 2099:
            return None
        if _QUANTITY_AFTER.match(after) or _QUANTITY_BEFORE.search(before):
            return None
        return year(value, language)

    names = (
        rule(
            rf"\b({choice(_DAYS)})\.? ?[-–] ?({choice(_DAYS)})\b",
            lambda m: f"{_DAYS[m[1]]} to {_DAYS[m[2]]}",
            CAPITALS,
            "-–",
        ),
        rule(
            rf"\b({choice(_MONTH_NUMBER)})\.? ?[-–] ?({choice(_MONTH_NUMBER)})\b",
            lambda m: f"{_MONTHS[_MONTH_NUMBER[m[1]] - 1]} to {_MONTHS[_MONTH_NUMBER[m[2]] - 1]}",
            CAPITALS,
            "-–",
        ),
        rule(
            rf"\b({choice(_DAYS)})\b(?:\.(?=,? )|(?=,? (?:{choice(_MONTH_NUMBER)}|\d)))",
            lambda m: _DAYS[m[1]],
            CAPITALS,
        ),
        rule(
            r"\b(Jan|Feb|Apr|Aug|Sept?|Oct|Nov|Dec)\b(?:\.|(?=[ ,–-]))",
            lambda m: _MONTHS[_MONTH_NUMBER[m[1]] - 1],
            CAPITALS,
        ),
    )
    dated = (
        rule(
            r"(?<![\w.\-/])(\d{4})-(\d{2})-(\d{2})(?:T|,? (?=\d\d:\d\d(?::\d\d)?(?:Z|\b)))?"
            r"(?:(?<=[T ])(\d{2}):(\d{2})(?::\d{2}(?:\.\d{1,9})?)?(Z)?)?(?![\w\-])",
            iso,
            "-",
        ),
        rule(
            r"(?<![\w.\-/])(\d{4})/(\d{2})/(\d{2})(?![\w/])",
            lambda m: without_article(m, date(int(m[3]), int(m[2]), year(int(m[1]), language))),
            "/",
        ),
        rule(
            r"(?<![\w.\-/])(\d{1,2})([/.\-])(\d{1,2})\2(\d{4}|\d\d)(?![\w/\-]|\.\d)", slashed, "/.-"
        ),
        rule(
            r"(?<![\w.\-/])((?<=on )|(?<=by )|(?<=until )|(?<=since )|(?<=before )|(?<=due ))"
            r"(\d{1,2})/(\d{1,2})(?![\w/\-]|\.\d)",
            lambda m: date(int(m[2]), int(m[3])) if british else date(int(m[3]), int(m[2])),
            "/",
        ),
        rule(
            rf"\b{_MONTH} {_DAY}(?:{_DASH}{_DAY})?(?![\w:%/]|[.,]\d|-\d)(?:,? {_YEAR})?",
            month_day,
            CAPITALS,
        ),
        rule(
            rf"(?<![\w.\-/:$]){_DAY}(?:{_DASH}{_DAY})?(?: of)? {_MONTH}(?:,? {_YEAR})?(?!\w)",
            day_month,
            CAPITALS,
        ),
        rule(rf"\b{_MONTH},? {_YEAR}", month_alone, CAPITALS),
        # Times of day.
        rule(
            rf"(?<![\w.:]){_CLOCK}\s?{_MERIDIEM}?{_DASH}{_CLOCK}\s?{_MERIDIEM}(?!\w)",
            meridiem_range,
            "mM",
            "-–—",
        ),
        rule(rf"(?<![\w.:]){_CLOCK}(?: |-)?{_MERIDIEM}(?!\w)", with_meridiem, "mM"),
        rule(
            rf"(?<![\w.:])(\d{{1,2}}):(\d{{2}}){_DASH}(\d{{1,2}}):(\d{{2}})(?![\w:])",
            time_range,
            ":",
            "-–—",
        ),
        rule(
            r"(?<![\w.:])(\d{1,2}):(\d{2})(?::(\d{2})(?:\.\d{1,6})?)?(?![\w:]|\.\d)", day_time, ":"
        ),
        rule(
            r"(?<![\w.:])(\d{1,4}):(\d{1,4})(?::(\d{1,4}))?(?![\w:])",
            lambda m: " to ".join(number(part, language) for part in m.groups() if part),
            ":",
        ),
        # Decades and years.
        rule(r"(?<![\w.,])(?<!\d-)((?:1[0-9]|20)\d0)'?s\b", decades, "s"),
        rule(r"(?<![\w.,])'?([1-9]0)'?s\b", decades, "s"),
        rule(r"(?<![\w.,\-–/$€£])(\d{4})[-–](\d{4}|\d{2})(?![\w\-–%]|[.,/]\d)", year_range, "-–"),
        rule(r"(?<![\w.,\-–/$€£#])\d{4}(?![\w%°]|[.,:/\-–]\d| ?[%×=+*^<>])", bare_year),
        rule(r"(?<!\w)'(\d\d)(?!\w)", lambda m: cardinal(int(m[1]), language), "'"),
    )
    return (*names[:3], *needing(DIGITS, dated), *names[3:])
