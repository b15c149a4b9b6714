"""Measures: a number and a unit's symbol, after the SI brochure and everyday American usage."""

from __future__ import annotations

import re

from speakahead.text.spoken.numerals import cardinal, number, ordinal
from speakahead.text.spoken.rules import DIGITS, Rule, choice, needing, rule

_REGULAR = {
    "km": "kilometer",
    "m": "meter",
    "cm": "centimeter",
    "mm": "millimeter",
    "µm": "micrometer",
    "nm": "nanometer",
    "kg": "kilogram",
    "g": "gram",
    "mg": "milligram",
    "µg": "microgram",
    "mcg": "microgram",
    "lb": "pound",
    "lbs": "pound",
    "oz": "ounce",
    "yd": "yard",
    "mi": "mile",
    "ml": "milliliter",
    "mL": "milliliter",
    "l": "liter",
    "L": "liter",
    "cl": "centiliter",
    "dl": "deciliter",
    "dL": "deciliter",
    "gal": "gallon",
    "qt": "quart",
    "pt": "pint",
    "tbsp": "tablespoon",
    "Tbsp": "tablespoon",
    "tsp": "teaspoon",
    "ms": "millisecond",
    "µs": "microsecond",
    "us": "microsecond",
    "ns": "nanosecond",
    "s": "second",
    "sec": "second",
    "secs": "second",
    "min": "minute",
    "mins": "minute",
    "h": "hour",
    "hr": "hour",
    "hrs": "hour",
    "d": "day",
    "wk": "week",
    "wks": "week",
    "mo": "month",
    "mos": "month",
    "yr": "year",
    "yrs": "year",
    "kB": "kilobyte",
    "KB": "kilobyte",
    "MB": "megabyte",
    "GB": "gigabyte",
    "TB": "terabyte",
    "PB": "petabyte",
    "KiB": "kibibyte",
    "MiB": "mebibyte",
    "GiB": "gibibyte",
    "TiB": "tebibyte",
    "Kb": "kilobit",
    "Mb": "megabit",
    "Gb": "gigabit",
    "W": "watt",
    "kW": "kilowatt",
    "MW": "megawatt",
    "GW": "gigawatt",
    "Wh": "watt hour",
    "kWh": "kilowatt hour",
    "MWh": "megawatt hour",
    "GWh": "gigawatt hour",
    "mAh": "milliamp hour",
    "V": "volt",
    "kV": "kilovolt",
    "mV": "millivolt",
    "A": "amp",
    "mA": "milliamp",
    "Ω": "ohm",
    "kΩ": "kilohm",
    "J": "joule",
    "kJ": "kilojoule",
    "kcal": "kilocalorie",
    "cal": "calorie",
    "Pa": "pascal",
    "kPa": "kilopascal",
    "hPa": "hectopascal",
    "dB": "decibel",
    "px": "pixel",
    "ha": "hectare",
    "MP": "megapixel",
    "kN": "kilonewton",
    "Nm": "newton meter",
    "mol": "mole",
    "cc": "cc",
    "ac": "acre",
    "kJ/mol": "kilojoule per mole",
    "tok": "token",
    "deg": "degree",
    "rad": "radian",
}
_IRREGULAR = {
    "ft": ("foot", "feet"),
    "in": ("inch", "inches"),
    "mph": ("mile per hour", "miles per hour"),
    "kph": ("kilometer per hour", "kilometers per hour"),
    "mpg": ("mile per gallon", "miles per gallon"),
    "Hz": ("hertz", "hertz"),
    "kHz": ("kilohertz", "kilohertz"),
    "MHz": ("megahertz", "megahertz"),
    "GHz": ("gigahertz", "gigahertz"),
    "THz": ("terahertz", "terahertz"),
    "bps": ("bit per second", "bits per second"),
    "kbps": ("kilobit per second", "kilobits per second"),
    "Kbps": ("kilobit per second", "kilobits per second"),
    "Mbps": ("megabit per second", "megabits per second"),
    "Gbps": ("gigabit per second", "gigabits per second"),
    "rpm": ("RPM", "RPM"),
    "RPM": ("RPM", "RPM"),
    "fps": ("frame per second", "frames per second"),
    "bpm": ("beat per minute", "beats per minute"),
    "psi": ("PSI", "PSI"),
    "ppm": ("part per million", "parts per million"),
    "hp": ("horsepower", "horsepower"),
    "dpi": ("DPI", "DPI"),
    "ppi": ("PPI", "PPI"),
    "fl oz": ("fluid ounce", "fluid ounces"),
    "fl. oz": ("fluid ounce", "fluid ounces"),
    "sq ft": ("square foot", "square feet"),
    "sq. ft": ("square foot", "square feet"),
    "sqft": ("square foot", "square feet"),
    "sq mi": ("square mile", "square miles"),
    "sq km": ("square kilometer", "square kilometers"),
    "sq m": ("square meter", "square meters"),
    "cu ft": ("cubic foot", "cubic feet"),
    "°C": ("degree Celsius", "degrees Celsius"),
    "° C": ("degree Celsius", "degrees Celsius"),
    "°F": ("degree Fahrenheit", "degrees Fahrenheit"),
    "° F": ("degree Fahrenheit", "degrees Fahrenheit"),
    "°": ("degree", "degrees"),
    "%": ("percent", "percent"),
    "‰": ("per mille", "per mille"),
    "pp": ("percentage point", "percentage points"),
    "°N": ("degree north", "degrees north"),
    "° N": ("degree north", "degrees north"),
    "°S": ("degree south", "degrees south"),
    "° S": ("degree south", "degrees south"),
    "°E": ("degree east", "degrees east"),
    "° E": ("degree east", "degrees east"),
    "°W": ("degree west", "degrees west"),
    "° W": ("degree west", "degrees west"),
    "km²": ("square kilometer", "square kilometers"),
}
_NAMES = {symbol: (name, f"{name}s") for symbol, name in _REGULAR.items()} | _IRREGULAR
_ONLY_TOUCHING = frozenset("in d pt us cal mi deg tok mo A V W J L h cc pp rad ac ha".split())
"""After a space these are more often words ("5 in all") or names."""
_PHYSICAL = frozenset("V W J L h ha".split())
_ELECTRIC = re.compile(
    r" (?:fuse|charger|circuit|current|breaker|outlet|supply|bulb|lamp|battery|motor|adapter|"
    r"heater|panel|line)\b"
)
_POWER_UNITS = frozenset("A V W kW mAh".split())
_WITH_STOP = frozenset(
    "lb lbs oz yd mi gal qt pt tbsp Tbsp tsp sec secs min mins hr hrs wk wks mo mos yr yrs ft in "
    "cal mph".split()
)
_PER = {
    "s": "second",
    "sec": "second",
    "min": "minute",
    "h": "hour",
    "hr": "hour",
    "d": "day",
    "day": "day",
    "wk": "week",
    "mo": "month",
    "yr": "year",
    "year": "year",
    "month": "month",
    "week": "week",
    "hour": "hour",
    "minute": "minute",
    "second": "second",
    "kg": "kilogram",
    "L": "liter",
    "l": "liter",
    "dL": "deciliter",
    "mL": "milliliter",
    "ml": "milliliter",
    "m": "meter",
    "km": "kilometer",
    "gal": "gallon",
    "person": "person",
    "user": "user",
    "cm": "centimeter",
    "g": "gram",
    "mol": "mole",
}
_POWERS = {"2": "square", "3": "cubic"}

_NUMBER = r"(?:\d{1,3}(?:,\d{3}){1,6}|\d{1,15})(?:\.\d{1,12})?"
_SIGNED = rf"(?:(?<![\w)])[-−+] ?(?=\d))?(?:{_NUMBER}|\.\d{{1,12}})"
_UNIT = choice(_NAMES)
_START = r"(?<!\w)(?<!\d[.,])"


def rules(language: str) -> tuple[Rule, ...]:
    """The English rules, for single values, ranges, feet and inches, and durations."""

    def unit(
        symbol: str, power: str | None, per: str | None, per_power: str | None, one: bool
    ) -> str:
        base = f"{symbol}/{per}" if f"{symbol}/{per}" in _NAMES else symbol
        singular, plural = _NAMES[base]
        said = singular if one else plural
        if power:
            said = f"{_POWERS[power]} {said}"
        if per and base == symbol:
            said += f" per {_PER[per]}"
            if per_power:
                said += " squared" if per_power == "2" else " cubed"
        return said

    def attribute(match: re.Match[str]) -> bool:
        """ "A 5 km run" is a five kilometer run, "a 25-min walk" a twenty five minute walk."""
        before = match.string[max(0, match.start() - 4) : match.start()]
        after = match.string[match.end() : match.end() + 2]
        follows = re.match(r"[ \-][a-z]", after) is not None
        if match["unit"] in _POWER_UNITS and _ELECTRIC.match(match.string, match.end()):
            return True
        return follows and (match["gap"] == "-" or re.search(r"\b[Aa]n? $", before) is not None)

    def allowed(match: re.Match[str]) -> bool:
        symbol, after = match["unit"], match.string[match.end() : match.end() + 12]
        if symbol == "A":  # amps rather than gate 12A
            return "." in match["value"] or _ELECTRIC.match(after) is not None
        if not match["gap"] or symbol not in _ONLY_TOUCHING:
            return True
        if symbol in _WITH_STOP:
            return bool(match["stop"] and after)
        return symbol in _PHYSICAL and (not after or after[0] in ".,;)")

    def stop(match: re.Match[str]) -> str:
        """The stop of "2 tbsp." belongs to the unit, unless the sentence ends with it."""
        after = match.string[match.end() : match.end() + 4].lstrip("\"')")
        own = match["unit"] in _WITH_STOP and re.match(r"\s*[^\sA-Z]", after) is not None
        return "." if match["stop"] and not own else ""

    def measure(match: re.Match[str]) -> str | None:
        if not allowed(match):
            return None
        value = match["value"].replace(" ", "")
        one = attribute(match) or value.lstrip("-−+") == "1"
        said = number(value, language)
        if match["high"]:
            said += f" to {number(match['high'].replace(' ', ''), language)}"
            one = attribute(match)
        name = unit(match["unit"], match["power"], match["per"], match["per_power"], one)
        return f"{said} {name}{stop(match)}"

    def mixed(match: re.Match[str]) -> str | None:
        """ "1 1/2 cups" has no symbol; this is "1/2 tsp", "2 1/2 in."."""
        if match["gap"] and match["unit"] in _ONLY_TOUCHING and not match["stop"]:
            return None
        part = fraction(int(match["top"]), int(match["bottom"]), language)
        singular, plural = _NAMES[match["unit"]]
        if match["whole"]:
            whole = cardinal(int(match["whole"]), language)
            if match["top"] == "1":
                part = f"a {part.removeprefix('one ')}"
            return f"{whole} and {part} {plural}{stop(match)}"
        return f"{part} {singular}{stop(match)}"

    def feet_inches(match: re.Match[str]) -> str:
        said = f"{cardinal(int(match[1]), language)} foot"
        return f"{said} {number(match[2], language)}" if match[2] else said

    def duration(match: re.Match[str]) -> str:
        said = []
        for value, symbol in re.findall(r"(\d{1,4}) ?([a-z]+)", match[0]):
            name = (_NAMES[symbol] if symbol != "m" else ("minute", "minutes"))[value != "1"]
            said.append(f"{cardinal(int(value), language)} {name}")
        return " ".join(said)

    tail = (
        r"(?:\^?(?P<power>[23])(?!\d))?"
        rf"(?:/(?P<per>{choice(_PER)})(?![a-zA-Z])(?:\^?(?P<per_power>[23])(?!\d))?)?(?![\w/']|-\d)"
        rf"(?P<stop>(?<=[a-z])\.(?!\d))?"
    )
    return needing(
        DIGITS,
        (
            rule(r"(?<![\w.])([1-9])'(?: ?(\d{1,2}(?:\.\d)?)(?:\"|''))(?!\w)", feet_inches, "'"),
            rule(
                r"(?<![\w.])(\d{1,3}(?:\.\d)?)\"(?= (?:monitor|screen|display|tv|TV|laptop|"
                r"pipe|wide|tall|long|deep|x))",
                lambda m: f"{number(m[1], language)} inch",
                '"',
            ),
            rule(
                r"(?<![\w.,])\d{1,4} ?(?:d|h|hrs?|m|min)(?: ?\d{1,3} ?(?:h|hr|hrs|m|mins?|s|"
                r"sec|secs)){1,3}(?!\w)",
                duration,
                "dhm",
            ),
            rule(
                rf"{_START}(?:(?P<whole>\d{{1,4}})[ \-])?(?P<top>\d{{1,2}})/(?P<bottom>\d{{1,2}})"
                rf"(?P<gap>[ \-]?)(?P<unit>{_UNIT})(?![\w/'])(?P<stop>\.(?!\d))?",
                mixed,
                "/",
            ),
            rule(
                rf"{_START}(?P<value>{_SIGNED})(?: ?(?:{_UNIT}))? ?[-–—] ?(?P<high>{_SIGNED})"
                rf"(?P<gap>[ \-]?)"
                rf"(?P<unit>{_UNIT}){tail}",
                measure,
                "-–—",
            ),
            rule(
                rf"{_START}(?P<value>{_SIGNED})(?P<high>(?!))?(?P<gap>[ \-]?)"
                rf"(?P<unit>{_UNIT}){tail}",
                measure,
            ),
        ),
    )


def fraction(top: int, bottom: int, language: str) -> str:
    """``3/4`` as "three quarters", ``1/2`` as "one half", ``2/3`` as "two thirds"."""
    names = {2: ("half", "halves"), 4: ("quarter", "quarters")}
    one, many = names.get(bottom, (ordinal(bottom, language), ordinal(bottom, language) + "s"))
    return f"{cardinal(top, language)} {one if top == 1 else many}"
