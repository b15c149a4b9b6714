"""Numbers as they stand in English text: ranges, fractions, ordinals, codes, and plain numbers."""

from __future__ import annotations

import re

from speakahead.text.spoken.numerals import (
    LONGEST,
    cardinal,
    digit_groups,
    digits,
    number,
    ordinal,
    pairs,
)
from speakahead.text.spoken.rules import CAPITALS, DIGITS, Rule, choice, needing, rule
from speakahead.text.spoken.units import fraction

_NUMBER = r"(?:\d{1,3}(?:,\d{3}){1,6}(?![\d])|\d{1,15}(?!\d))(?:\.\d{1,15}(?!\d))?|\.\d{1,15}(?!\d)"
_START = r"(?<!\w)(?<!\d[.,])"
_MAGNITUDES = {
    "k": "thousand", "K": "thousand", "M": "million", "B": "billion", "bn": "billion",
    "T": "trillion", "mn": "million",
}  # fmt: skip
_ROOMS = choice("Room room Suite suite Flight flight Route route Highway highway Apartment "
                "apartment Gate Bus bus Interstate Boeing Airbus Model model Error error Port port "
                "Windows Porsche RTX GTX".split())  # fmt: skip
_LETTERED_NAMES = {"Apt": "apartment", "apt": "apartment"}
_LETTERED = choice(
    "Apt apt Apartment Unit Suite Gate gate Seat seat Row Room Flat Section Table Exercise "
    "Platform Building Block Pier".split()
)
_CODES = re.compile(
    r"(?i)\b(?:order|code|codes|pin|account|ticket|case|invoice|id|ref|reference|confirmation"
    r"|tracking|zip|passcode|password|serial|sku|issue|pr|policy|license|card|bug|box)"
    r"(?: (?:number|no|id|code))?(?: is|:)? ?$"
)
_STATE = re.compile(r"\b[A-Z]{2} $")
_FASTER = (
    r"(?= (?:faster|slower|more|less|larger|smaller|better|bigger|higher|lower|cheaper|longer"
    r"|shorter|as|the|your|speedup|speed-up|improvement|increase|growth|return|leverage)\b)"
)
_NO_TERM_BEFORE = r"(?<![=+*/^−-])(?<![=+*/^−-] )"
_NO_TERM_AFTER = r"(?! ?[=+*/^−] ?[\w(]| ?- ?\d)"
_ARTICLE = re.compile(r"(?i)\ban? \Z")
_NOUN = re.compile(r"[ -][a-z]")
_NAMED_THOUSANDS = re.compile(r" (?:run|race|walk|video|tv|TV|display|monitor|resolution|screen)")
_FIXED = {"24/7": "twenty four seven", "9/11": "nine eleven", "50/50": "fifty fifty",
          "20/20": "twenty twenty", "7/11": "seven eleven", "80/20": "eighty twenty",
          "24/7/365": "twenty four seven three sixty five"}  # fmt: skip


def rules(language: str) -> tuple[Rule, ...]:
    """The English rules; after them no digit is left."""

    def words(text: str) -> str:
        plain = text.replace(",", "")
        long = len(plain) > LONGEST or (len(plain) >= 8 and not plain.endswith("0000"))
        if long and plain.isdecimal() and "," not in text:
            return digit_groups(plain, language)
        return number(text, language)

    def of_code(match: re.Match[str]) -> str | None:
        before = match.string[max(0, match.start() - 30) : match.start()]
        if _CODES.search(before):
            return digits(match[0], language)
        if len(match[0]) == 5 and _STATE.search(before):
            return digits(match[0], language)
        return None

    def spoken_fraction(match: re.Match[str]) -> str | None:
        top, bottom = int(match[2]), int(match[3])
        if match[0] in _FIXED:
            return _FIXED[match[0]]
        if not match[1] and (bottom in (10, 100) or top == bottom) and top <= bottom:
            return f"{words(match[2])} out of {words(match[3])}"
        if not 2 <= bottom <= 100 or top > 100 or (top >= bottom and match[1]):
            return f"{words(match[2])} over {words(match[3])}" if not match[1] else None
        if match[1]:
            part = fraction(top, bottom, language)
            if top == 1:
                part = f"a {part.removeprefix('one ')}"
            return f"{cardinal(int(match[1]), language)} and {part}"
        if top > bottom or (bottom > 20 and bottom not in (32, 64, 100)):
            return f"{words(match[2])} over {words(match[3])}"
        return fraction(top, bottom, language)

    def span(match: re.Match[str]) -> str:
        after = match.string[match.end() : match.end() + 3]
        if re.match(r" ?=", after):
            return f"{words(match[1])} minus {words(match[2])}"
        return f"{words(match[1])} to {words(match[2])}"

    def spaced(match: re.Match[str]) -> str:
        difference = match[2] == "−" or "=" in match.string or "equals" in match.string
        return f"{words(match[1])} {'minus' if difference else 'to'} "

    def scientific(match: re.Match[str]) -> str:
        power = number(match[2].replace("−", "-").lstrip("+"), language)
        return f"{number(match[1], language)} times ten to the power of {power}"

    def scaled(match: re.Match[str]) -> str | None:
        if match[2] in "kK" and _NAMED_THOUSANDS.match(match.string, match.end()):
            return f"{number(match[1], language)} K"
        if match[2] == "K" and match[1] in ("2", "4", "8"):
            return f"{cardinal(int(match[1]), language)} K"  # as of screens
        return f"{number(match[1], language)} {_MAGNITUDES[match[2]]}"

    def mixed(match: re.Match[str]) -> str:
        """A name of letters and digits: "HBM3", "221B", "GPT-4o"."""
        said = []
        for piece in re.findall(r"\d+|[^\W\d_]+", match[0]):
            if piece.isdecimal():
                said.append(pairs(piece, language) if len(piece) > 2 else number(piece, language))
            else:
                said.append(piece)
        return " ".join(said)

    def leftover(match: re.Match[str]) -> str:
        return f" {digit_groups(match[0], language)} "

    def fraction_of(match: re.Match[str]) -> str | None:
        top, bottom = int(match[1]), int(match[2])
        return fraction(top, bottom, language) if top and bottom > 1 else None

    numerals = (
        rule(
            r"\b(UTC|GMT)([+−-])(?=\d)",
            lambda m: f"{m[1]} {'plus' if m[2] == '+' else 'minus'} ",
            "+−-",
        ),
        rule(
            rf"\b({_LETTERED})\.? (\d{{1,4}})([A-Z])(?!\w)",
            lambda m: f"{_LETTERED_NAMES.get(m[1], m[1])} {pairs(m[2], language)} {m[3]}",
            CAPITALS,
        ),
        rule(
            r"\b([HhXx])\.(26[3-6])(?!\d)", lambda m: f"{m[1].upper()} {pairs(m[2], language)}", "."
        ),
        rule(r"(?<![\w/.,])(\d{1,3})/(\d{1,4})(?:st|nd|rd|th)s?(?!\w)", fraction_of, "/"),
        rule(
            r"(?<![\w/])(?:24/7/365|24/7|9/11|50/50|20/20|80/20)(?![\w/])",
            lambda m: _FIXED[m[0]],
            "/",
        ),
        rule(rf"{_START}(-?{_NUMBER})[eE]([-−+]?\d{{1,3}})(?!\w)", scientific, "eE"),
        rule(rf"{_START}({_NUMBER}) ?[x×*] ?10\^(-?\d{{1,3}})", scientific, "^"),
        # Powers before the exponent becomes a word; a footnote's mark on a word says nothing.
        rule(r"(?<=[A-Za-z]{3})\^\d{1,2}(?!\w)", "", "^"),
        rule(r"\^([23])(?!\w)", lambda m: " squared " if m[1] == "2" else " cubed ", "^"),
        rule(
            rf"{_START}(\d{{1,5}})(?: ?x ?|×)(\d{{1,5}})(?:(?: ?x ?|×)(\d{{1,5}}))?(?!\w)",
            lambda m: " by ".join(pairs(part, language) for part in m.groups() if part),
            "x×",
        ),
        rule(
            r"(?<![\w/])(\d{1,3}\.\d{1,2})/(\d{1,3})(?![\w/])",
            lambda m: f"{words(m[1])} out of {words(m[2])}",
            "/",
        ),
        rule(rf"{_START}({_NUMBER})x{_FASTER}", lambda m: f"{words(m[1])} times", "x"),
        rule(
            rf"{_START}({_NUMBER})x? ?[-–] ?({_NUMBER})x(?!\w){_NO_TERM_AFTER}",
            lambda m: f"{words(m[1])} to {words(m[2])} times",
            "x",
            "-–",
        ),
        # "A 10x engineer" and the unknown of an equation are said by the letter.
        rule(
            rf"{_NO_TERM_BEFORE}{_START}({_NUMBER})x(?!\w){_NO_TERM_AFTER}",
            lambda m: (
                None
                if _ARTICLE.search(m.string, max(0, m.start() - 4), m.start())
                and _NOUN.match(m.string, m.end())
                else f"{words(m[1])} times"
            ),
            "x",
        ),
        rule(rf"{_START}({_NUMBER})x(?!\w)", lambda m: f"{words(m[1])} X", "x"),
        rule(
            rf"{_START}({_NUMBER}) ?[-–] ?({_NUMBER})(k|K|M|B|bn)(?!\w)",
            lambda m: f"{words(m[1])} to {words(m[2])} {_MAGNITUDES[m[3]]}",
            "kKMBn",
            "-–",
        ),
        rule(rf"{_START}({_NUMBER})({choice(_MAGNITUDES)})(?!\w|-\d)", scaled, "kKMBTn"),
        rule(
            r"(?<![\w.,])(\d{1,3}(?:,\d{3}){1,4}|\d{1,6})(st|nd|rd|th)(?!\w)",
            lambda m: ordinal(int(m[1].replace(",", "")), language),
            "tdh",
        ),
        rule(
            r"(?<![\w.,/$])(?:(\d{1,4})[ \-])?(\d{1,4})/(\d{1,4})(?![\w/]|[.,]\d)",
            spoken_fraction,
            "/",
        ),
        rule(r"(?<![\w.,\-–])\d{4,12}(?![\w\-–]|[.,]\d)", of_code, " "),
        rule(
            rf"\b({_ROOMS})([ \-]#?)(\d{{3,4}})(?![\w%]|[.,]\d)",
            lambda m: f"{m[1]} {pairs(m[3], language)}",
            " -",
        ),
        rule(
            r"(?<![\w])([A-Z]{2,6})([ \-])(\d{3,4})(?![\w%]|[.,]\d)",
            lambda m: f"{m[1]} {pairs(m[3], language)}" if m[2] == "-" or len(m[3]) == 4 else None,
            " -",
            CAPITALS,
        ),
        rule(r"(?<=[^\W\d_])-(?=\d)|(?<=\d)-(?=[a-z])", " ", "-"),
        rule(rf"{_START}({_NUMBER})(?: ?[–—] ?|-)({_NUMBER})(?![\w\-–])", span, "-–—"),
        rule(rf"{_START}({_NUMBER}) ([-−]) (?=\d)", spaced, "-−"),
        rule(
            rf"(?<![\w)\]][-−+])(?<![\w)\]])[-−+](?={_NUMBER})",
            lambda m: "plus " if m[0] == "+" else "minus ",
            "-−+",
        ),
        rule(rf"{_START}(?:{_NUMBER})(?![\w])", lambda m: words(m[0])),
        rule(r"(?<!\w)\d{16,400}(?!\w)", leftover),
        rule(
            r"(?<![^\W_])(?=[^\W\d_]{0,20}\d)(?:\d{1,6}|[^\W\d_]{1,30})(?:-?(?:\d{1,6}|[^\W\d_]{1,30})){1,8}(?![^\W_])",
            mixed,
        ),
        rule(r"(?<=\d)[,.](?=\d)", " "),
        rule(r"\d{1,400}", leftover),
    )
    return (
        *needing(DIGITS, numerals),
        rule(r"(?<=\w)\^\(?(-?\w{1,8})\)?(?![\w^])", lambda m: f" to the power of {m[1]} ", "^"),
        rule(r"−(?=\s?\w)", " minus ", "−"),
    )
