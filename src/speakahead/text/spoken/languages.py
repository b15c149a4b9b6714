"""Spanish, French, Hindi, Italian and Portuguese: numbers, money, times, units and addresses.

Decimal signs after CLDR: a comma in all but Hindi, with points or spaces between thousands; Hindi
writes "1,23,456.5". Other languages keep their digits for the phonemizer to read.
"""

from __future__ import annotations

import re
from functools import cache

from speakahead.text.spoken.numerals import cardinal, digit_groups, number, ordinal
from speakahead.text.spoken.rules import Rule, choice, rule
from speakahead.text.spoken.vocabularies import VOCABULARIES
from speakahead.text.spoken.web import address_rules


@cache
def rules(language: str) -> tuple[Rule, ...]:
    """The rules of a language ("fr"); none for a language that is not known."""
    if language not in VOCABULARIES:
        return ()
    v = VOCABULARIES[language]
    if language == "hi":
        amount, separators = (
            r"(?:\d{1,3}(?:,\d{2,3}){1,6}(?!\d)|\d{1,15}(?!\d))(?:\.\d{1,12}(?!\d))?",
            ",.",
        )
    else:
        amount = (
            r"(?:\d{1,3}(?:\.\d{3}){1,5}(?![\d])|\d{1,3}(?: \d{3}){1,5}(?![\d])|\d{1,15}(?!\d))"
            r"(?:,\d{1,12}(?!\d))?"
        )
        separators = ".,"
    start = r"(?<!\w)(?<!\d[.,])"
    signed = rf"(?:(?<![\w)])[-−](?=\d))?{amount}"

    def ascii_number(text: str) -> str:
        text = text.replace("−", "-").replace(" ", "")
        if separators == ".,":
            text = text.replace(".", "").replace(",", ".")
        return text

    def said(text: str) -> str:
        return number(ascii_number(text), language)

    def money(text: str, symbol: str) -> str:
        one, many, cent, cents = v.currencies[symbol]
        whole, _, part = ascii_number(text).partition(".")
        joint = f" {v.conjunction} ".replace("  ", " ")
        if len(part) == 2 and len(whole.replace(",", "")) <= 15:
            units, hundredths = int(whole.replace(",", "")), int(part)
            smaller = cent if hundredths == 1 else f"{cardinal(hundredths, language)} {cents}"
            larger = one if units == 1 else f"{cardinal(units, language)} {many}"
            if not hundredths:
                return larger
            return smaller if not units else f"{larger}{joint}{smaller}"
        if ascii_number(text) == "1":
            return one
        of = "" if not re.search(r"0{6}$", ascii_number(text)) else _of_millions(language)
        return f"{said(text)} {of}{many}".replace(
            "de euros", "d'euros" if language == "fr" else "de euros"
        )

    def measure(match: re.Match[str]) -> str:
        one, many = v.units[_powered(match[3])]
        text = ascii_number(match[2] or match[1])
        low = f"{said(match[1])} {v.to} {said(match[2])}" if match[2] else said(match[1])
        return f"{low} {one if text.lstrip('-') == '1' else many}"

    def time(match: re.Match[str]) -> str | None:
        hour, minute = int(match[1]), int(match[2] or 0)
        if hour > 24 or minute > 59:
            return None
        many, one = v.hour
        hours = cardinal(hour, language)
        if language == "fr":
            hours = f"{'une' if hour == 1 else hours} {one if hour == 1 else many}"
            return f"{hours} {cardinal(minute, language)}" if minute else hours
        if language == "hi":
            return (
                f"{hours} {many} {cardinal(minute, language)} मिनट" if minute else f"{hours} {one}"
            )
        if hour in (1, 21) and language in ("es", "pt"):
            hours = {"es": {1: "una", 21: "veintiuna"}, "pt": {1: "uma", 21: "vinte e uma"}}[
                language
            ][hour]
        elif hour == 2 and language == "pt":
            hours = "duas"
        return f"{hours} {many} {cardinal(minute, language)}" if minute else hours

    def date(match: re.Match[str]) -> str | None:
        day, month = int(match[1]), int(match[2])
        if not (1 <= day <= 31 and 1 <= month <= 12):
            return None
        return dated(day, month, match[3])

    def dated(day: int, month: int, year: str) -> str:
        first = {"fr": "premier", "it": "primo", "pt": "primeiro"}
        day_words = first.get(language, "") if day == 1 else ""
        return v.date.format(
            day=day_words or cardinal(day, language),
            month=v.months[month - 1],
            year=cardinal(int(year), language),
        )

    def marked_ordinal(match: re.Match[str]) -> str:
        words = ordinal(int(match[1]), language)
        if match[2] in ("ª", "re") and words[-1] in "oe":
            words = " ".join(re.sub("o$", "a", word) for word in words.split())
            return "première" if language == "fr" else words
        return words

    def plain(match: re.Match[str]) -> str:
        text = ascii_number(match[0])
        if "." not in text and "," not in text and len(text.lstrip("-")) > 12:
            return digit_groups(text, language)
        return said(match[0])

    currency, unit = (
        choice(v.currencies),
        choice({*v.units, "m2", "km2", "m^2", "km^2"} - {"m²", "km²"}),
    )
    marks = "re|er|ère|ème|e" if language == "fr" else f"[{v.ordinal_marks}]"
    ordinals = (
        (rule(rf"{start}(\d{{1,4}})\.?({marks})(?!\w)", marked_ordinal),) if v.ordinal_marks else ()
    )
    clock = r"(?:h|:)" if language in ("fr", "pt") else ":"
    hours = r"(?: ?h(?!\w))?" if language != "hi" else ""
    return (
        *address_rules(language),
        rule(rf"(?<!\w)({choice(v.words)})(?!\w)" if v.words else r"(?!)", lambda m: v.words[m[1]]),
        rule(r"(?<![\w/.\-])(\d{1,2})[/.\-](\d{1,2})[/.\-](\d{4})(?![\w/\-])", date),
        rule(
            r"(?<![\w/.\-])(\d{4})-(\d{2})-(\d{2})(?![\w\-])",
            lambda m: dated(int(m[3]), int(m[2]), m[1]) if 1 <= int(m[2]) <= 12 else None,
        ),
        rule(rf"(?<![\w.,:])(\d{{1,2}}){clock}(\d\d)(?![\w:]){hours}", time),
        rule(
            r"\+\d{1,3}(?:[ .\-]?\(?\d{1,4}\)?){2,6}(?!\w)",
            lambda m: f"{v.signs['+']} {digit_groups(m[0], language)}",
        ),
        rule(r"(?<![\w.,])0\d(?:[ .]\d\d){4}(?!\w)", lambda m: digit_groups(m[0], language)),
        rule(rf"{start}({signed}) ?({currency})(?!\w)", lambda m: money(m[1], m[2])),
        rule(rf"(?<!\w)({currency}) ?({amount})", lambda m: money(m[2], m[1])),
        rule(rf"{start}({signed})(?: ?[-–] ?({amount}))? ?({unit})(?![\w/])", measure),
        *ordinals,
        rule(
            rf"{start}({amount}) ?[-–] ?({amount})(?![\w\-])",
            lambda m: f"{said(m[1])} {v.to} {said(m[2])}",
        ),
        rule(rf"{start}{signed}(?!\w)", plain),
        rule(r"(?<=[^\W\d_])-?(?=\d)|(?<=\d)-?(?=[^\W\d_])", " "),
        rule(rf"{start}{signed}(?!\w)", plain),
        rule(r"\d{1,400}", lambda m: f" {digit_groups(m[0], language)} "),
        rule(rf"[{re.escape(''.join(v.signs))}]", lambda m: f" {v.signs[m[0]]} "),
    )


def _powered(symbol: str) -> str:
    return symbol.replace("^", "").replace("2", "²")


def _of_millions(language: str) -> str:
    """Millions take "of" before what they count."""
    return {"es": "de ", "fr": "de ", "pt": "de ", "it": "di "}.get(language, "")
