"""Money: symbols, ISO 4217 codes, cents, magnitudes and ranges."""

from __future__ import annotations

import re
from dataclasses import dataclass

from speakahead.text.spoken.numerals import cardinal, number
from speakahead.text.spoken.rules import CAPITALS, DIGITS, Rule, choice, rule


@dataclass(frozen=True, slots=True)
class Currency:
    """What one and several of a unit, and of its hundredth, are called."""

    one: str
    many: str
    cent: str = ""
    cents: str = ""

    @classmethod
    def like(cls, prefix: str) -> Currency:
        """A dollar of some country."""
        return cls(f"{prefix} dollar", f"{prefix} dollars", "cent", "cents")


_DOLLAR = Currency("dollar", "dollars", "cent", "cents")
_POUND = Currency("pound", "pounds", "penny", "pence")
_RUPEE = Currency("rupee", "rupees", "paisa", "paise")
_REAL = Currency("real", "reais", "centavo", "centavos")
_SYMBOLS = {
    "$": _DOLLAR,
    "€": Currency("euro", "euros", "cent", "cents"),
    "£": _POUND,
    "¥": Currency("yen", "yen"),
    "₹": _RUPEE,
    "₩": Currency("won", "won"),
    "₽": Currency("ruble", "rubles", "kopeck", "kopecks"),
    "₺": Currency("lira", "lira"),
    "₿": Currency("bitcoin", "bitcoin"),
    "₪": Currency("shekel", "shekels"),
    "₫": Currency("dong", "dong"),
    "฿": Currency("baht", "baht"),
    "₱": Currency("peso", "pesos"),
    "₦": Currency("naira", "naira"),
    "US$": Currency.like("US"),
    "CA$": Currency.like("Canadian"),
    "C$": Currency.like("Canadian"),
    "A$": Currency.like("Australian"),
    "AU$": Currency.like("Australian"),
    "NZ$": Currency.like("New Zealand"),
    "HK$": Currency.like("Hong Kong"),
    "S$": Currency.like("Singapore"),
    "R$": _REAL,
    "Rs.": _RUPEE,
    "Rs": _RUPEE,
}
_CODES = {
    "USD": Currency.like("US"),
    "EUR": _SYMBOLS["€"],
    "GBP": _POUND,
    "JPY": _SYMBOLS["¥"],
    "INR": _RUPEE,
    "CAD": Currency.like("Canadian"),
    "AUD": Currency.like("Australian"),
    "NZD": Currency.like("New Zealand"),
    "HKD": Currency.like("Hong Kong"),
    "SGD": Currency.like("Singapore"),
    "CHF": Currency("Swiss franc", "Swiss francs"),
    "CNY": Currency("yuan", "yuan"),
    "RMB": Currency("renminbi", "renminbi"),
    "BRL": _REAL,
    "MXN": Currency("Mexican peso", "Mexican pesos"),
    "SEK": Currency("Swedish krona", "Swedish kronor"),
    "NOK": Currency("Norwegian krone", "Norwegian kroner"),
    "KRW": _SYMBOLS["₩"],
    "DKK": Currency("Danish krone", "Danish kroner"),
    "PLN": Currency("zloty", "zloty"),
    "ZAR": Currency("rand", "rand"),
    "TRY": Currency("lira", "lira"),
    "BTC": _SYMBOLS["₿"],
    "ETH": Currency("ether", "ether"),
}

_MAGNITUDES = {
    "k": "thousand",
    "K": "thousand",
    "M": "million",
    "m": "million",
    "MM": "million",
    "mn": "million",
    "mm": "million",
    "mil": "million",
    "B": "billion",
    "b": "billion",
    "bn": "billion",
    "Bn": "billion",
    "T": "trillion",
    "tn": "trillion",
    "thousand": "thousand",
    "million": "million",
    "billion": "billion",
    "trillion": "trillion",
    "hundred": "hundred",
}
_PER = {
    "mo": "month",
    "mth": "month",
    "yr": "year",
    "y": "year",
    "hr": "hour",
    "h": "hour",
    "wk": "week",
    "d": "day",
    "lb": "pound",
    "oz": "ounce",
    "kg": "kilogram",
    "g": "gram",
    "gal": "gallon",
    "l": "liter",
    "L": "liter",
    "GB": "gigabyte",
    "kWh": "kilowatt hour",
    "ft": "foot",
    "sqft": "square foot",
    "min": "minute",
    "s": "second",
    "M": "million",
    "1M": "million",
    "1K": "thousand",
    "1k": "thousand",
    "pp": "person",
}

_AMOUNT = r"(?:\d{1,3}(?:,\d{3}){1,6}|\d{1,15})(?:\.\d{1,6})?(?![\d])|\.\d{1,4}(?!\d)"
_LONG_SIZE = choice(word for word in _MAGNITUDES if len(word) > 3)
_SHORT_SIZE = choice(word for word in _MAGNITUDES if len(word) < 4)
_SIZE = rf"(?:[ \-]?({_LONG_SIZE})|({_SHORT_SIZE}))(?!\w)"
_SYMBOL = choice(_SYMBOLS)
_CODE = choice(_CODES)


def rules(language: str) -> tuple[Rule, ...]:
    """The English rules."""

    def sum_of(amount: str, currency: Currency, one: bool = False) -> str:
        whole, _, part = amount.replace(",", "").partition(".")
        whole = whole or "0"
        if len(part) == 2 and currency.cent and len(whole) <= 15:
            units, cents = int(whole), int(part)
            said = []
            if units or not cents:
                name = currency.one if units == 1 or one else currency.many
                said.append(f"{cardinal(units, language)} {name}")
            if cents:
                name = currency.cent if cents == 1 or one else currency.cents
                said.append(f"{cardinal(cents, language)} {name}")
            return " and ".join(said)
        name = currency.one if amount == "1" or one else currency.many
        return f"{number(amount, language)} {name}"

    def is_attribute(match: re.Match[str]) -> bool:
        """ "A $5 bill" is a five dollar bill."""
        before = match.string[max(0, match.start() - 4) : match.start()]
        after = match.string[match.end() : match.end() + 2]
        follows = re.match(r"[ \-][a-z]", after) is not None
        return follows and re.search(r"\b[Aa]n? $", before) is not None

    def money(match: re.Match[str]) -> str:
        sign, symbol, amount = match[1], match[2], match[3]
        currency = _SYMBOLS[symbol]
        one = is_attribute(match)
        size = match[4] or match[5]
        high, high_size = match[6], match[7] or match[8]
        if high:
            # "$5-10", "$5M–$10M": the unit is said once.
            low = number(amount, language) + (f" {_MAGNITUDES[size]}" if size else "")
            top = (
                f"{number(high, language)} {_MAGNITUDES[high_size]} {currency.many}"
                if high_size
                else sum_of(high, currency)
            )
            if "." in amount and not size:
                low = sum_of(amount, currency)
            said = f"{low} to {top}"
        elif size:
            name = currency.one if one else currency.many
            said = f"{number(amount, language)} {_MAGNITUDES[size]} {name}"
        else:
            said = sum_of(amount, currency, one)
        if match[9]:
            said += f" per {_PER.get(match[9], match[9])}"
        if sign:
            said = f"{'plus' if sign == '+' else 'minus'} {said}"
        return said

    def code(code: str, amount: str, size: str | None) -> str:
        currency = _CODES[code]
        if size:
            return f"{number(amount, language)} {_MAGNITUDES[size]} {currency.many}"
        return sum_of(amount, currency)

    per = rf"(?:/({choice(_PER)}|[a-z]{{2,12}})(?![\w/]))?"
    return (
        rule(
            rf"(?<![\w])([-−+](?=[^\w\s]|Rs))?(?<![\d])({_SYMBOL}) ?({_AMOUNT})(?:{_SIZE})?"
            rf"(?: ?[-–—] ?(?:{_SYMBOL})?({_AMOUNT})(?:{_SIZE})?(?!-))?{per}",
            money,
            DIGITS,
            "$€£¥₹₩₽₺₿₪₫฿₱₦R",
        ),
        rule(
            rf"(?<![\w.])({_AMOUNT})(?:{_SIZE})? ?([€£¥₹₽₺₪₫฿₱₩])",
            lambda m: (
                f"{number(m[1], language)} {_MAGNITUDES[m[2] or m[3]]} {_SYMBOLS[m[4]].many}"
                if m[2] or m[3]
                else sum_of(m[1], _SYMBOLS[m[4]])
            ),
            DIGITS,
            "€£¥₹₽₺₪₫฿₱₩",
        ),
        rule(
            rf"(?<![\w])({_CODE}) ?({_AMOUNT})(?:{_SIZE})?",
            lambda m: code(m[1], m[2], m[3] or m[4]),
            DIGITS,
            CAPITALS,
        ),
        rule(
            rf"(?<![\w.])({_AMOUNT})(?:{_SIZE})? ({_CODE})(?!\w)",
            lambda m: code(m[4], m[1], m[2] or m[3]),
            DIGITS,
            CAPITALS,
        ),
        rule(
            rf"(?<![\w.])({_AMOUNT}) ?¢",
            lambda m: f"{number(m[1], language)} {'cent' if m[1] == '1' else 'cents'}",
            DIGITS,
            "¢",
        ),
        rule(
            r"(?<![\w.,])(\d{1,3})p(?=[\s.,;!?)]|$)",
            lambda m: f"{number(m[1], language)} p",
            DIGITS,
            "p",
        ),
        rule(
            r"[$€£¥₹](?=\s|$)|(?<![\w$])\$(?=[A-Za-z])",
            lambda m: f" {_SYMBOLS[m[0]].one} ",
            "$€£¥₹",
        ),
    )
