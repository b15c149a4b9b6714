"""Telephone numbers, and other numbers that are read by their digits in groups.

Numbering after ITU-T E.164 (at most 15 digits after "+") and the North American plan.
"""

from __future__ import annotations

import re

from speakahead.text.spoken.numerals import digit_groups, digits
from speakahead.text.spoken.rules import CAPITALS, DIGITS, Rule, needing, rule

_CALLING = re.compile(
    r"(?i)(?:\b(?:call|phone|tel|telephone|mobile|cell|fax|dial|text|ring|reach|contact|hotline"
    r"|number|sms|whatsapp|at|on)\b\.?:?\s*(?:us|me|him|her|them|is)?\s*(?:at|on)?\s*)$"
)
_EXTENSION = r"(?:,?\s?(?:ext\.?|x|extension)\s?(\d{1,6}))?"


def rules(language: str) -> tuple[Rule, ...]:
    """International, North American, toll-free with letters, and local numbers; then codes."""

    def said(number: str, extension: str | None = None) -> str:
        words = digit_groups(number, language)
        return f"{words}, extension {digits(extension, language)}" if extension else words

    def international(match: re.Match[str]) -> str | None:
        count = sum(c.isdecimal() for c in match[0])
        if not 7 <= count <= 15:
            return None
        groups = "".join(c if c.isdecimal() else " " for c in match[1]).split()
        if len(groups) == 1:  # +14155552671: the country's part is not marked, so by threes
            return f"plus {digit_groups(groups[0], language, 3)}"
        return f"plus {said(match[1], match[2])}"

    def american(match: re.Match[str]) -> str:
        return said(match[1], match[2])

    def vanity(match: re.Match[str]) -> str:
        area = match[2]
        free = area[0] in "89" and area[1:] == "00"
        code = f"{digits(area[0], language)} hundred" if free else digits(area, language)
        letters = re.sub(r"[A-Z]{2,}", lambda m: m[0].lower(), match[3].replace("-", ", "))
        letters = re.sub(r"\d+", lambda m: f" {digits(m[0], language)} ", letters)
        return f"{digits(match[1] or '', language)} {code}, {letters}".strip()

    def local(match: re.Match[str]) -> str | None:
        """Seven digits are also a range of numbers ("500-1000"): look at what stands before."""
        before = match.string[max(0, match.start() - 30) : match.start()]
        round_numbers = match[2].endswith("00") and match[1].endswith(("0", "5"))
        if match[1] == "555" or (not round_numbers and _CALLING.search(before)):
            return said(match[0])
        return None if int(match[2]) > int(match[1]) else said(match[0])

    return needing(
        DIGITS,
        (
            rule(
                rf"(?<![\w+])\+(\d{{1,15}}(?:[ .\-]?\(?\d{{1,5}}\)?){{0,6}}){_EXTENSION}"
                rf"(?![\w.]*\d)",
                international,
                "+",
            ),
            rule(
                rf"(?<![\w.\-])((?:1[ .\-])?\(\d{{3}}\)\s?\d{{3}}[ .\-]\d{{4}}){_EXTENSION}"
                rf"(?![\w\-])",
                american,
                "(",
                ")",
            ),
            rule(
                r"(?<![\w.\-])((?:1[ .\-])?\d{3}([ .\-])\d{3}\2\d{4})"
                r"(?:,?\s?(?:ext\.?|x|extension)\s?(\d{1,6}))?(?![\w\-])",
                lambda m: said(m[1], m[3]),
                " .-",
            ),
            rule(
                r"(?<![\w.\-])(?:(1)-)?([2-9]\d{2})-((?=[\d\-]{0,8}[A-Z])[A-Z\d]{2,7}(?:-[A-Z\d]{2,7})?)"
                r"(?![\w\-])",
                vanity,
                "-",
                CAPITALS,
            ),
            rule(r"(?<![\w.$€£\-–])(\d{3})-(\d{4})(?![\w\-%]|[.,]\d)", local, "-"),
            rule(r"(?<![\w.\-])\d{4}(?:[ \-]\d{4}){2,4}(?![\w\-])", lambda m: said(m[0]), " -"),
            rule(r"(?<![\w.\-–])0\d{2,4} \d{3,4} \d{3,4}(?![\w\-])", lambda m: said(m[0]), " "),
            rule(
                r"(?<![\w.\-–])(?!\d{4}-\d\d-\d\d)\d{1,7}(?:-\d{1,7}){2,5}(?![\w\-])",
                lambda m: said(m[0]) if len(m[0]) > 8 else None,
                "-",
            ),
            rule(
                r"(?i)\b(call|dial|text|ring)(ed|ing|s)? (911|999|112|411|311|211|988|101|111)\b",
                lambda m: f"{m[1]}{m[2] or ''} {digits(m[3], language)}",
                " ",
            ),
        ),
    )
