"""The words of Spanish, French, Hindi, Italian and Portuguese that the rules put together."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The words of one language.

    ``currencies`` and ``units`` give one, several; and for currencies one and several hundredths.
    """

    conjunction: str
    to: str
    signs: dict[str, str]
    currencies: dict[str, tuple[str, str, str, str]]
    units: dict[str, tuple[str, str]]
    months: tuple[str, ...]
    date: str
    hour: tuple[str, str]
    words: dict[str, str] = field(default_factory=dict)
    ordinal_marks: str = ""


def _metric(
    prefixes: tuple[str, str, str], meter: str, gram: str, liter: str, plural: str = "s"
) -> dict[str, tuple[str, str]]:
    kilo, centi, milli = prefixes
    names = {
        "km": kilo + meter,
        "m": meter,
        "cm": centi + meter,
        "mm": milli + meter,
        "kg": kilo + gram,
        "g": gram,
        "mg": milli + gram,
        "l": liter,
        "L": liter,
        "ml": milli + liter,
        "mL": milli + liter,
        "cl": centi + liter,
    }
    return {symbol: (name, name + plural) for symbol, name in names.items()}


_ES = Vocabulary(
    conjunction="con",
    to="a",
    signs={
        "%": "por ciento",
        "&": "y",
        "+": "más",
        "=": "igual a",
        "°": "grados",
        "±": "más o menos",
        "€": "euros",
        "$": "dólares",
        "×": "por",
        "#": "número",
        "@": "arroba",
        "§": "sección",
        "<": "menor que",
        ">": "mayor que",
        "~": "aproximadamente",
    },
    currencies={
        "€": ("un euro", "euros", "un céntimo", "céntimos"),
        "$": ("un dólar", "dólares", "un centavo", "centavos"),
        "£": ("una libra", "libras", "un penique", "peniques"),
    },
    units=_metric(("kiló", "centí", "milí"), "metro", "gramo", "litro")
    | {
        "kg": ("kilogramo", "kilogramos"),
        "mg": ("miligramo", "miligramos"),
        "ml": ("mililitro", "mililitros"),
        "cl": ("centilitro", "centilitros"),
        "mL": ("mililitro", "mililitros"),
        "h": ("hora", "horas"),
        "min": ("minuto", "minutos"),
        "s": ("segundo", "segundos"),
        "km/h": ("kilómetro por hora", "kilómetros por hora"),
        "°C": ("grado Celsius", "grados Celsius"),
        "GB": ("gigabyte", "gigabytes"),
        "MB": ("megabyte", "megabytes"),
        "%": ("por ciento", "por ciento"),
        "m²": ("metro cuadrado", "metros cuadrados"),
        "km²": ("kilómetro cuadrado", "kilómetros cuadrados"),
    },
    months=tuple(
        "enero febrero marzo abril mayo junio julio agosto septiembre octubre "
        "noviembre diciembre".split()
    ),
    date="{day} de {month} de {year}",
    hour=("y", ""),
    words={
        "Sr.": "señor",
        "Sra.": "señora",
        "Srta.": "señorita",
        "Dr.": "doctor",
        "Dra.": "doctora",
        "Ud.": "usted",
        "Uds.": "ustedes",
        "etc.": "etcétera",
        "p. ej.": "por ejemplo",
        "EE. UU.": "Estados Unidos",
        "EE.UU.": "Estados Unidos",
        "núm.": "número",
        "pág.": "página",
    },
    ordinal_marks="ºª",
)
_FR = Vocabulary(
    conjunction="",
    to="à",
    signs={
        "%": "pour cent",
        "&": "et",
        "+": "plus",
        "=": "égale",
        "°": "degrés",
        "±": "plus ou moins",
        "€": "euros",
        "$": "dollars",
        "×": "fois",
        "#": "numéro",
        "@": "arobase",
        "§": "section",
        "<": "inférieur à",
        ">": "supérieur à",
        "~": "environ",
    },
    currencies={
        "€": ("un euro", "euros", "un centime", "centimes"),
        "$": ("un dollar", "dollars", "un cent", "cents"),
        "£": ("une livre", "livres", "un penny", "pence"),
    },
    units=_metric(("kilo", "centi", "milli"), "mètre", "gramme", "litre")
    | {
        "h": ("heure", "heures"),
        "min": ("minute", "minutes"),
        "s": ("seconde", "secondes"),
        "km/h": ("kilomètre-heure", "kilomètres-heure"),
        "°C": ("degré Celsius", "degrés Celsius"),
        "Go": ("gigaoctet", "gigaoctets"),
        "Mo": ("mégaoctet", "mégaoctets"),
        "%": ("pour cent", "pour cent"),
        "GB": ("gigaoctet", "gigaoctets"),
        "MB": ("mégaoctet", "mégaoctets"),
        "m²": ("mètre carré", "mètres carrés"),
        "km²": ("kilomètre carré", "kilomètres carrés"),
    },
    months=tuple(
        "janvier février mars avril mai juin juillet août septembre octobre novembre "
        "décembre".split()
    ),
    date="{day} {month} {year}",
    hour=("heures", "heure"),
    words={
        "M.": "monsieur",
        "Mme": "madame",
        "Mlle": "mademoiselle",
        "Dr": "docteur",
        "Dr.": "docteur",
        "etc.": "et cetera",
        "p. ex.": "par exemple",
        "n°": "numéro",
        "N°": "numéro",
    },
    ordinal_marks="e",
)
_IT = Vocabulary(
    conjunction="e",
    to="a",
    signs={
        "%": "per cento",
        "&": "e",
        "+": "più",
        "=": "uguale a",
        "°": "gradi",
        "±": "più o meno",
        "€": "euro",
        "$": "dollari",
        "×": "per",
        "#": "numero",
        "@": "chiocciola",
        "§": "sezione",
        "<": "minore di",
        ">": "maggiore di",
        "~": "circa",
    },
    currencies={
        "€": ("un euro", "euro", "un centesimo", "centesimi"),
        "$": ("un dollaro", "dollari", "un centesimo", "centesimi"),
        "£": ("una sterlina", "sterline", "un penny", "pence"),
    },
    units={
        "km": ("chilometro", "chilometri"),
        "m": ("metro", "metri"),
        "cm": ("centimetro", "centimetri"),
        "mm": ("millimetro", "millimetri"),
        "kg": ("chilogrammo", "chilogrammi"),
        "g": ("grammo", "grammi"),
        "mg": ("milligrammo", "milligrammi"),
        "l": ("litro", "litri"),
        "L": ("litro", "litri"),
        "ml": ("millilitro", "millilitri"),
        "cl": ("centilitro", "centilitri"),
        "h": ("ora", "ore"),
        "min": ("minuto", "minuti"),
        "s": ("secondo", "secondi"),
        "km/h": ("chilometro all'ora", "chilometri all'ora"),
        "°C": ("grado Celsius", "gradi Celsius"),
        "GB": ("gigabyte", "gigabyte"),
        "MB": ("megabyte", "megabyte"),
        "%": ("per cento", "per cento"),
        "m²": ("metro quadrato", "metri quadrati"),
        "km²": ("chilometro quadrato", "chilometri quadrati"),
    },
    months=tuple(
        "gennaio febbraio marzo aprile maggio giugno luglio agosto settembre ottobre "
        "novembre dicembre".split()
    ),
    date="{day} {month} {year}",
    hour=("e", ""),
    words={
        "Sig.": "signor",
        "Sig.ra": "signora",
        "Dott.": "dottor",
        "Dott.ssa": "dottoressa",
        "Prof.": "professor",
        "ecc.": "eccetera",
        "es.": "esempio",
        "pag.": "pagina",
    },
    ordinal_marks="ºª°",
)
_PT = Vocabulary(
    conjunction="e",
    to="a",
    signs={
        "%": "por cento",
        "&": "e",
        "+": "mais",
        "=": "igual a",
        "°": "graus",
        "±": "mais ou menos",
        "€": "euros",
        "$": "dólares",
        "×": "vezes",
        "#": "número",
        "@": "arroba",
        "§": "seção",
        "<": "menor que",
        ">": "maior que",
        "~": "cerca de",
    },
    currencies={
        "R$": ("um real", "reais", "um centavo", "centavos"),
        "€": ("um euro", "euros", "um cêntimo", "cêntimos"),
        "$": ("um dólar", "dólares", "um centavo", "centavos"),
        "£": ("uma libra", "libras", "um pêni", "pence"),
    },
    units=_metric(("quilô", "centí", "milí"), "metro", "grama", "litro")
    | {
        "kg": ("quilograma", "quilogramas"),
        "mg": ("miligrama", "miligramas"),
        "ml": ("mililitro", "mililitros"),
        "mL": ("mililitro", "mililitros"),
        "cl": ("centilitro", "centilitros"),
        "h": ("hora", "horas"),
        "min": ("minuto", "minutos"),
        "s": ("segundo", "segundos"),
        "km/h": ("quilômetro por hora", "quilômetros por hora"),
        "°C": ("grau Celsius", "graus Celsius"),
        "GB": ("gigabyte", "gigabytes"),
        "MB": ("megabyte", "megabytes"),
        "%": ("por cento", "por cento"),
        "m²": ("metro quadrado", "metros quadrados"),
        "km²": ("quilômetro quadrado", "quilômetros quadrados"),
    },
    months=tuple(
        "janeiro fevereiro março abril maio junho julho agosto setembro outubro "
        "novembro dezembro".split()
    ),
    date="{day} de {month} de {year}",
    hour=("e", ""),
    words={
        "Sr.": "senhor",
        "Sra.": "senhora",
        "Dr.": "doutor",
        "Dra.": "doutora",
        "etc.": "et cetera",
        "p. ex.": "por exemplo",
        "nº": "número",
        "pág.": "página",
    },
    ordinal_marks="ºª",
)
_HI = Vocabulary(
    conjunction="",
    to="से",
    signs={
        "%": "प्रतिशत",
        "&": "और",
        "+": "प्लस",
        "=": "बराबर",
        "°": "डिग्री",
        "€": "यूरो",
        "$": "डॉलर",
        "₹": "रुपये",
        "×": "गुणा",
        "#": "नंबर",
        "@": "एट",
    },
    currencies={
        "₹": ("एक रुपया", "रुपये", "एक पैसा", "पैसे"),
        "$": ("एक डॉलर", "डॉलर", "एक सेंट", "सेंट"),
        "€": ("एक यूरो", "यूरो", "एक सेंट", "सेंट"),
        "£": ("एक पाउंड", "पाउंड", "एक पेनी", "पेंस"),
    },
    units={
        symbol: (name, name)
        for symbol, name in {
            "km": "किलोमीटर",
            "m": "मीटर",
            "cm": "सेंटीमीटर",
            "mm": "मिलीमीटर",
            "kg": "किलोग्राम",
            "g": "ग्राम",
            "mg": "मिलीग्राम",
            "l": "लीटर",
            "L": "लीटर",
            "ml": "मिलीलीटर",
            "h": "घंटे",
            "min": "मिनट",
            "s": "सेकंड",
            "km/h": "किलोमीटर प्रति घंटा",
            "°C": "डिग्री सेल्सियस",
            "GB": "गीगाबाइट",
            "MB": "मेगाबाइट",
            "%": "प्रतिशत",
            "किमी": "किलोमीटर",
            "किग्रा": "किलोग्राम",
            "सेमी": "सेंटीमीटर",
            "m²": "वर्ग मीटर",
            "km²": "वर्ग किलोमीटर",
        }.items()
    },
    months=tuple("जनवरी फ़रवरी मार्च अप्रैल मई जून जुलाई अगस्त सितंबर अक्टूबर नवंबर दिसंबर".split()),
    date="{day} {month} {year}",
    hour=("बजकर", "बजे"),
    words={
        "डॉ.": "डॉक्टर",
        "श्री.": "श्री",
    },
)
VOCABULARIES = {
    "es": _ES,
    "fr": _FR,
    "hi": _HI,
    "it": _IT,
    "pt": _PT,
}
