"""Numbers in words: cardinals, ordinals, decimals, years and digits, in each language.

``language`` is "en-us", "en-gb", "es", "fr", "hi", "it" or "pt". num2words spells all but Hindi.
"""

from __future__ import annotations

from functools import lru_cache

from num2words import num2words

LONGEST = 15
"""Numbers with more digits than this are read digit by digit."""

_POINT = {"es": "coma", "fr": "virgule", "hi": "दशमलव", "it": "virgola", "pt": "vírgula"}
_MINUS = {"es": "menos", "fr": "moins", "hi": "माइनस", "it": "meno", "pt": "menos"}
_DIGITS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
_TENS = {"20": "twenties", "30": "thirties", "40": "forties", "50": "fifties", "60": "sixties",
         "70": "seventies", "80": "eighties", "90": "nineties", "10": "tens",
         "00": "hundreds"}  # fmt: skip

_HINDI = (
    "शून्य एक दो तीन चार पाँच छह सात आठ नौ दस ग्यारह बारह तेरह चौदह पंद्रह सोलह सत्रह अठारह उन्नीस "
    "बीस इक्कीस बाईस तेईस चौबीस पच्चीस छब्बीस सत्ताईस अट्ठाईस उनतीस तीस इकतीस बत्तीस तैंतीस चौंतीस "
    "पैंतीस छत्तीस सैंतीस अड़तीस उनतालीस चालीस इकतालीस बयालीस तैंतालीस चौवालीस पैंतालीस छियालीस "
    "सैंतालीस अड़तालीस उनचास पचास इक्यावन बावन तिरपन चौवन पचपन छप्पन सत्तावन अट्ठावन उनसठ साठ "
    "इकसठ बासठ तिरसठ चौंसठ पैंसठ छियासठ सड़सठ अड़सठ उनहत्तर सत्तर इकहत्तर बहत्तर तिहत्तर चौहत्तर "
    "पचहत्तर छिहत्तर सतहत्तर अठहत्तर उनासी अस्सी इक्यासी बयासी तिरासी चौरासी पचासी छियासी सत्तासी "
    "अट्ठासी नवासी नब्बे इक्यानवे बानवे तिरानवे चौरानवे पचानवे छियानवे सत्तानवे अट्ठानवे निन्यानवे"
).split()


def _hindi(value: int) -> str:
    """Indian grouping: hundreds, thousands, lakhs (10^5), crores (10^7)."""
    for size, name in ((10**7, "करोड़"), (10**5, "लाख"), (1000, "हज़ार"), (100, "सौ")):
        if value >= size:
            many, rest = divmod(value, size)
            return f"{_hindi(many)} {name}" + (f" {_hindi(rest)}" if rest else "")
    return _HINDI[value]


@lru_cache(maxsize=4096)
def cardinal(value: int, language: str) -> str:
    """``105`` as "one hundred five" ("one hundred and five" in British English)."""
    if value < 0:
        return f"{_MINUS.get(language, 'minus')} {cardinal(-value, language)}"
    if language == "hi":
        return _hindi(value)
    words: str = num2words(value, lang=language[:2])
    if language.startswith("en"):
        words = words.replace(",", "").replace("-", " ")
        return words if language == "en-gb" else words.replace(" and ", " ")
    return words


@lru_cache(maxsize=1024)
def ordinal(value: int, language: str) -> str:
    """``22`` as "twenty second"; in Hindi the cardinal with "वाँ"."""
    if language == "hi":
        irregular = {1: "पहला", 2: "दूसरा", 3: "तीसरा", 4: "चौथा", 6: "छठा"}
        return irregular.get(value, _hindi(value) + "वाँ")
    words: str = num2words(value, lang=language[:2], to="ordinal")
    if language.startswith("en"):
        words = words.replace(",", "").replace("-", " ")
        return words if language == "en-gb" else words.replace(" and ", " ")
    return words


def digits(text: str, language: str) -> str:
    """Digit by digit; what is not a digit is left out."""
    if language.startswith("en"):
        return " ".join(_DIGITS[int(digit)] for digit in text if digit.isdecimal())
    return " ".join(cardinal(int(digit), language) for digit in text if digit.isdecimal())


def digit_groups(text: str, language: str, size: int = 0) -> str:
    """Digit by digit, with a short pause (a comma) after each group.

    Groups are those of ``text`` where it has spaces, points or hyphens, else of ``size`` digits;
    0 takes four where that comes out even, and three otherwise.
    """
    groups = "".join(c if c.isdecimal() else " " for c in text).split()
    if len(groups) == 1:
        size = size or (4 if len(text) % 4 == 0 else 3)
        groups = [text[i : i + size] for i in range(0, len(text), size)]
        if len(groups) > 1 and len(groups[-1]) == 1:
            groups[-2:] = [groups[-2] + groups[-1]]
    return ", ".join(digits(group, language) for group in groups)


def number(text: str, language: str) -> str:
    """A numeral as it is written, with an ASCII point as decimal separator and commas for groups.

    A leading zero ("007") makes it a code, read by its digits; so does great length.
    """
    sign, text = ("", text) if text[0] not in "+-−" else (text[0], text[1:])
    whole, _, fraction = text.replace(",", "").partition(".")
    whole = whole or "0"
    if len(whole) > LONGEST or (whole[0] == "0" and len(whole) > 1):
        words = digits(whole, language)
    else:
        words = cardinal(int(whole), language)
    if fraction:
        words += f" {_POINT.get(language, 'point')} {_fraction(fraction, language)}"
    if sign:
        words = f"{'plus' if sign == '+' else _MINUS.get(language, 'minus')} {words}"
    return words


def _fraction(fraction: str, language: str) -> str:
    """Digit by digit in English and Hindi; the others say a short one as a number."""
    if language.startswith("en") or language == "hi" or fraction[0] == "0" or len(fraction) > 3:
        return digits(fraction, language)
    return cardinal(int(fraction), language)


def year(value: int, language: str) -> str:
    """``1905`` as "nineteen oh five", ``2007`` "two thousand seven", ``1900`` "nineteen hundred".

    For English, from 100 to 9999; otherwise it is the cardinal.
    """
    century, rest = divmod(value, 100)
    if not 1 <= century <= 99 or (century % 10 == 0 and rest < 10):
        return cardinal(value, language)
    first = cardinal(century, language)
    if rest == 0:
        return f"{first} hundred"
    return f"{first} oh {_DIGITS[rest]}" if rest < 10 else f"{first} {cardinal(rest, language)}"


def decade(text: str, language: str) -> str:
    """``1990`` as "nineteen nineties", ``90`` as "nineties", ``2000`` as "two thousands"."""
    if len(text) == 2:
        return _TENS[text]
    if text[1:] == "000":
        return f"{cardinal(int(text), language)}s"
    return f"{cardinal(int(text[:2]), language)} {_TENS[text[2:]]}"


def pairs(text: str, language: str) -> str:
    """A number that is a name: ``8080`` as "eighty eighty", ``204`` "two oh four", ``5`` "five"."""
    if (text[0] == "0" and len(text) > 1) or len(text) > 4:
        return digits(text, language)
    if len(text) == 4 and text[1:] == "000":
        return cardinal(int(text), language)
    if len(text) < 3:
        return cardinal(int(text), language)
    first, rest = cardinal(int(text[:-2]), language), int(text[-2:])
    if rest == 0:
        return f"{first} hundred"
    return f"{first} oh {_DIGITS[rest]}" if rest < 10 else f"{first} {cardinal(rest, language)}"


_ROMAN_PARTS = (
    (1000, "M"), (900, "CM"), (500, "D"), (400, "CD"), (100, "C"), (90, "XC"), (50, "L"),
    (40, "XL"), (10, "X"), (9, "IX"), (5, "V"), (4, "IV"), (1, "I"),
)  # fmt: skip
_ROMAN = {"I": 1, "V": 5, "X": 10, "L": 50, "C": 100, "D": 500, "M": 1000}


def roman(text: str) -> int | None:
    """The value of a well-formed Roman numeral, else None."""
    total = 0
    for here, after in zip(text, (*text[1:], "I"), strict=True):
        value = _ROMAN.get(here, 0)
        total += -value if value < _ROMAN.get(after, 0) else value
    return total if 0 < total < 4000 and _to_roman(total) == text else None


def _to_roman(value: int) -> str:
    said = ""
    for size, mark in _ROMAN_PARTS:
        many, value = divmod(value, size)
        said += mark * many
    return said
