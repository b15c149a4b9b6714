"""Spanish, French, Hindi, Italian and Portuguese: numbers, money, times, units and addresses.

Decimal signs after CLDR: a comma in all but Hindi, with points or spaces between thousands; Hindi
writes "1,23,456.5". Other languages keep their digits for the phonemizer to read.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cache

from speakahead.text.spoken.numerals import cardinal, digit_groups, number, ordinal
from speakahead.text.spoken.rules import Rule, choice, rule
from speakahead.text.spoken.web import address_rules


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The words of one language.

    ``currencies`` and ``units`` give one, several; and for currencies one and several hundredths.
    """

    conjunction: str
    to: str
    per: str
    signs: dict[str, str]
    currencies: dict[str, tuple[str, str, str, str]]
    units: dict[str, tuple[str, str]]
    months: tuple[str, ...]
    date: str
    hour: tuple[str, str]
    words: dict[str, str] = field(default_factory=dict)
    ordinal_marks: str = ""
    feminine_ordinal: tuple[str, str] = ("", "")


def _metric(
    prefixes: tuple[str, str, str], meter: str, gram: str, liter: str, plural: str = "s"
) -> dict[str, tuple[str, str]]:
    kilo, centi, milli = prefixes
    names = {
        "km": kilo + meter, "m": meter, "cm": centi + meter, "mm": milli + meter,
        "kg": kilo + gram, "g": gram, "mg": milli + gram, "l": liter, "L": liter,
        "ml": milli + liter, "mL": milli + liter, "cl": centi + liter,
    }  # fmt: skip
    return {symbol: (name, name + plural) for symbol, name in names.items()}


_ES = Vocabulary(
    conjunction="con", to="a", per="por",
    signs={"%": "por ciento", "&": "y", "+": "más", "=": "igual a", "°": "grados", "±": "más o menos",
           "€": "euros", "$": "dólares", "×": "por", "#": "número", "@": "arroba", "§": "sección",
           "<": "menor que", ">": "mayor que", "~": "aproximadamente"},
    currencies={"€": ("un euro", "euros", "un céntimo", "céntimos"),
                "$": ("un dólar", "dólares", "un centavo", "centavos"),
                "£": ("una libra", "libras", "un penique", "peniques")},
    units=_metric(("kiló", "centí", "milí"), "metro", "gramo", "litro")
    | {"kg": ("kilogramo", "kilogramos"), "mg": ("miligramo", "miligramos"),
       "ml": ("mililitro", "mililitros"), "cl": ("centilitro", "centilitros"),
       "mL": ("mililitro", "mililitros"),
       "h": ("hora", "horas"), "min": ("minuto", "minutos"), "s": ("segundo", "segundos"),
       "km/h": ("kilómetro por hora", "kilómetros por hora"), "°C": ("grado Celsius", "grados Celsius"),
       "GB": ("gigabyte", "gigabytes"), "MB": ("megabyte", "megabytes"), "%": ("por ciento", "por ciento"),
       "m²": ("metro cuadrado", "metros cuadrados"), "km²": ("kilómetro cuadrado", "kilómetros cuadrados")},
    months=tuple("enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre".split()),
    date="{day} de {month} de {year}", hour=("y", ""),
    words={"Sr.": "señor", "Sra.": "señora", "Srta.": "señorita", "Dr.": "doctor", "Dra.": "doctora",
           "Ud.": "usted", "Uds.": "ustedes", "etc.": "etcétera", "p. ej.": "por ejemplo",
           "EE. UU.": "Estados Unidos", "EE.UU.": "Estados Unidos", "núm.": "número", "pág.": "página"},
    ordinal_marks="ºª",
)  # fmt: skip
_FR = Vocabulary(
    conjunction="", to="à", per="par",
    signs={"%": "pour cent", "&": "et", "+": "plus", "=": "égale", "°": "degrés", "±": "plus ou moins",
           "€": "euros", "$": "dollars", "×": "fois", "#": "numéro", "@": "arobase", "§": "section",
           "<": "inférieur à", ">": "supérieur à", "~": "environ"},
    currencies={"€": ("un euro", "euros", "un centime", "centimes"),
                "$": ("un dollar", "dollars", "un cent", "cents"),
                "£": ("une livre", "livres", "un penny", "pence")},
    units=_metric(("kilo", "centi", "milli"), "mètre", "gramme", "litre")
    | {"h": ("heure", "heures"), "min": ("minute", "minutes"), "s": ("seconde", "secondes"),
       "km/h": ("kilomètre-heure", "kilomètres-heure"), "°C": ("degré Celsius", "degrés Celsius"),
       "Go": ("gigaoctet", "gigaoctets"), "Mo": ("mégaoctet", "mégaoctets"), "%": ("pour cent", "pour cent"),
       "GB": ("gigaoctet", "gigaoctets"), "MB": ("mégaoctet", "mégaoctets"),
       "m²": ("mètre carré", "mètres carrés"), "km²": ("kilomètre carré", "kilomètres carrés")},
    months=tuple("janvier février mars avril mai juin juillet août septembre octobre novembre décembre".split()),
    date="{day} {month} {year}", hour=("heures", "heure"),
    words={"M.": "monsieur", "Mme": "madame", "Mlle": "mademoiselle", "Dr": "docteur", "Dr.": "docteur",
           "etc.": "et cetera", "p. ex.": "par exemple", "n°": "numéro", "N°": "numéro"},
    ordinal_marks="e",
)  # fmt: skip
_IT = Vocabulary(
    conjunction="e", to="a", per="per",
    signs={"%": "per cento", "&": "e", "+": "più", "=": "uguale a", "°": "gradi", "±": "più o meno",
           "€": "euro", "$": "dollari", "×": "per", "#": "numero", "@": "chiocciola", "§": "sezione",
           "<": "minore di", ">": "maggiore di", "~": "circa"},
    currencies={"€": ("un euro", "euro", "un centesimo", "centesimi"),
                "$": ("un dollaro", "dollari", "un centesimo", "centesimi"),
                "£": ("una sterlina", "sterline", "un penny", "pence")},
    units={"km": ("chilometro", "chilometri"), "m": ("metro", "metri"), "cm": ("centimetro", "centimetri"),
           "mm": ("millimetro", "millimetri"), "kg": ("chilogrammo", "chilogrammi"), "g": ("grammo", "grammi"),
           "mg": ("milligrammo", "milligrammi"), "l": ("litro", "litri"), "L": ("litro", "litri"),
           "ml": ("millilitro", "millilitri"), "cl": ("centilitro", "centilitri"), "h": ("ora", "ore"),
           "min": ("minuto", "minuti"), "s": ("secondo", "secondi"), "km/h": ("chilometro all'ora", "chilometri all'ora"),
           "°C": ("grado Celsius", "gradi Celsius"), "GB": ("gigabyte", "gigabyte"), "MB": ("megabyte", "megabyte"),
           "%": ("per cento", "per cento"), "m²": ("metro quadrato", "metri quadrati"),
           "km²": ("chilometro quadrato", "chilometri quadrati")},
    months=tuple("gennaio febbraio marzo aprile maggio giugno luglio agosto settembre ottobre novembre dicembre".split()),
    date="{day} {month} {year}", hour=("e", ""),
    words={"Sig.": "signor", "Sig.ra": "signora", "Dott.": "dottor", "Dott.ssa": "dottoressa",
           "Prof.": "professor", "ecc.": "eccetera", "es.": "esempio", "pag.": "pagina"},
    ordinal_marks="ºª°",
)  # fmt: skip
_PT = Vocabulary(
    conjunction="e", to="a", per="por",
    signs={"%": "por cento", "&": "e", "+": "mais", "=": "igual a", "°": "graus", "±": "mais ou menos",
           "€": "euros", "$": "dólares", "×": "vezes", "#": "número", "@": "arroba", "§": "seção",
           "<": "menor que", ">": "maior que", "~": "cerca de"},
    currencies={"R$": ("um real", "reais", "um centavo", "centavos"),
                "€": ("um euro", "euros", "um cêntimo", "cêntimos"),
                "$": ("um dólar", "dólares", "um centavo", "centavos"),
                "£": ("uma libra", "libras", "um pêni", "pence")},
    units=_metric(("quilô", "centí", "milí"), "metro", "grama", "litro")
    | {"kg": ("quilograma", "quilogramas"), "mg": ("miligrama", "miligramas"), "ml": ("mililitro", "mililitros"),
       "mL": ("mililitro", "mililitros"), "cl": ("centilitro", "centilitros"),
       "h": ("hora", "horas"), "min": ("minuto", "minutos"), "s": ("segundo", "segundos"),
       "km/h": ("quilômetro por hora", "quilômetros por hora"), "°C": ("grau Celsius", "graus Celsius"),
       "GB": ("gigabyte", "gigabytes"), "MB": ("megabyte", "megabytes"), "%": ("por cento", "por cento"),
       "m²": ("metro quadrado", "metros quadrados"), "km²": ("quilômetro quadrado", "quilômetros quadrados")},
    months=tuple("janeiro fevereiro março abril maio junho julho agosto setembro outubro novembro dezembro".split()),
    date="{day} de {month} de {year}", hour=("e", ""),
    words={"Sr.": "senhor", "Sra.": "senhora", "Dr.": "doutor", "Dra.": "doutora", "etc.": "et cetera",
           "p. ex.": "por exemplo", "nº": "número", "pág.": "página"},
    ordinal_marks="ºª",
)  # fmt: skip
_HI = Vocabulary(
    conjunction="", to="से", per="प्रति",
    signs={"%": "प्रतिशत", "&": "और", "+": "प्लस", "=": "बराबर", "°": "डिग्री", "€": "यूरो", "$": "डॉलर",
           "₹": "रुपये", "×": "गुणा", "#": "नंबर", "@": "एट"},
    currencies={"₹": ("एक रुपया", "रुपये", "एक पैसा", "पैसे"), "$": ("एक डॉलर", "डॉलर", "एक सेंट", "सेंट"),
                "€": ("एक यूरो", "यूरो", "एक सेंट", "सेंट"), "£": ("एक पाउंड", "पाउंड", "एक पेनी", "पेंस")},
    units={symbol: (name, name) for symbol, name in {
        "km": "किलोमीटर", "m": "मीटर", "cm": "सेंटीमीटर", "mm": "मिलीमीटर", "kg": "किलोग्राम",
        "g": "ग्राम", "mg": "मिलीग्राम", "l": "लीटर", "L": "लीटर", "ml": "मिलीलीटर", "h": "घंटे",
        "min": "मिनट", "s": "सेकंड", "km/h": "किलोमीटर प्रति घंटा", "°C": "डिग्री सेल्सियस",
        "GB": "गीगाबाइट", "MB": "मेगाबाइट", "%": "प्रतिशत", "किमी": "किलोमीटर", "किग्रा": "किलोग्राम",
        "सेमी": "सेंटीमीटर", "m²": "वर्ग मीटर", "km²": "वर्ग किलोमीटर"}.items()},
    months=tuple("जनवरी फ़रवरी मार्च अप्रैल मई जून जुलाई अगस्त सितंबर अक्टूबर नवंबर दिसंबर".split()),
    date="{day} {month} {year}", hour=("बजकर", "बजे"),
    words={"डॉ.": "डॉक्टर", "श्री.": "श्री"},
)  # fmt: skip
VOCABULARIES = {"es": _ES, "fr": _FR, "hi": _HI, "it": _IT, "pt": _PT}


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
