"""Words and signs: titles, abbreviations, Roman numerals, initialisms, tags, operators."""

from __future__ import annotations

import re

from speakahead.text.spoken.code import split_humps
from speakahead.text.spoken.numerals import cardinal, digits, number, ordinal, pairs, roman
from speakahead.text.spoken.rules import CAPITALS, DIGITS, Rule, choice, rule

_TITLES = {
    "Mr": "Mister", "Mrs": "Missus", "Ms": "Miz", "Prof": "Professor", "Gen": "General",
    "Col": "Colonel", "Sgt": "Sergeant", "Capt": "Captain", "Cpt": "Captain", "Lt": "Lieutenant",
    "Sen": "Senator", "Rep": "Representative", "Gov": "Governor", "Rev": "Reverend",
    "Hon": "Honorable", "Pres": "President", "Mt": "Mount", "Ft": "Fort", "Messrs": "Messers",
    "Supt": "Superintendent", "Cmdr": "Commander", "Maj": "Major", "Fr": "Father",
}  # fmt: skip
_STREETS = {
    "Ave": "Avenue", "Blvd": "Boulevard", "Rd": "Road", "Ln": "Lane", "Ct": "Court",
    "Pl": "Place", "Sq": "Square", "Hwy": "Highway", "Pkwy": "Parkway", "Jr": "Junior",
    "Sr": "Senior", "Esq": "Esquire", "Inc": "Incorporated", "Ltd": "Limited",
    "Corp": "Corporation", "Co": "Company", "Bros": "Brothers", "Dept": "Department",
    "Univ": "University",
}  # fmt: skip
_REFERENCES = {
    "No": "number", "Nos": "numbers", "no": "number", "nos": "numbers", "Nr": "number",
    "p": "page", "pp": "pages", "pg": "page", "pgs": "pages", "Vol": "volume", "vol": "volume",
    "Ch": "chapter", "ch": "chapter", "Chap": "chapter", "Fig": "figure", "fig": "figure",
    "Figs": "figures", "Sec": "section", "sec": "section", "Sect": "section", "Eq": "equation",
    "eq": "equation", "Art": "article", "Para": "paragraph", "para": "paragraph", "App": "appendix",
    "Apt": "apartment", "Ste": "suite", "Rm": "room", "Ex": "example", "Ver": "version",
    "ver": "version", "tel": "telephone", "Tel": "telephone", "ext": "extension", "c": "circa",
    "ca": "circa", "vs": "versus", "approx": "approximately", "Approx": "approximately",
    "est": "estimated", "Pt": "part", "pt": "part", "l": "line", "ll": "lines",
}  # fmt: skip
_ABBREVIATIONS = {
    "e.g": "for example", "eg": "for example", "i.e": "that is", "ie": "that is",
    "vs": "versus", "v": "versus", "cf": "compare", "viz": "namely",
    "approx": "approximately", "incl": "including", "excl": "excluding", "esp": "especially",
    "resp": "respectively", "et al": "et al", "a.k.a": "also known as", "N.B": "note well",
    "dept": "department", "govt": "government", "est": "estimated", "max": "maximum",
    "min": "minimum", "avg": "average", "misc": "miscellaneous", "temp": "temperature",
    "tbsp": "tablespoons", "tsp": "teaspoons", "Approx": "approximately", "E.g": "for example",
    "I.e": "that is", "P.S": "PS", "Ph.D": "PhD", "ph.d": "PhD", "assoc": "associated",
}  # fmt: skip
_UNSURE = frozenset(("v", "eg", "ie", "et al", "temp", "min", "max"))
"""Words or names as well, so that their stop may be that of a sentence; they have own rules."""
_WITH_STOP = choice(word for word in _ABBREVIATIONS if word not in _UNSURE)
_SHORTHAND = {
    "w/o": "without", "b/c": "because", "b/w": "between", "w/": "with", "W/": "With",
    "n/a": "not applicable", "N/A": "not applicable", "a/c": "A C", "c/o": "care of",
    "he/she": "he or she", "she/he": "she or he", "his/her": "his or her", "s/he": "she or he",
    "him/her": "him or her", "yes/no": "yes or no", "true/false": "true or false",
    "and/or": "and or", "either/or": "either or", "I/O": "I O", "OS/2": "OS two",
    "km/h": "kilometers per hour", "A/B": "A B", "CI/CD": "CI CD", "TCP/IP": "TCP IP",
    "AC/DC": "AC DC", "Q/A": "Q and A",
    "Q&A": "Q and A", "R&D": "R and D", "R/W": "read write", "aka": "also known as",
    "GNU/Linux": "GNU Linux", "JSON": "Jason", "JSONL": "Jason L", "YAML": "yamel",
    "etc": "et cetera",
}  # fmt: skip

_PARTS = choice(
    "Chapter Part Book Volume Vol Act Scene Section Article Appendix Phase Type Stage Level Title "
    "Class Grade Tier Round Season Episode Figure Table Mark Step Unit Module Category Schedule "
    "Annex Division Canto Amendment Lesson Exhibit Rocky Apollo".split()
)
_EVENTS = r"World War|Super Bowl|WrestleMania|Final Fantasy|Grand Theft Auto|Civilization|Vatican"
_REGNAL = choice(
    "Henry Louis Elizabeth George Edward Richard Charles William James Mary Philip Paul Benedict "
    "Pius Francis Leo Gregory Innocent Clement Urban Napoleon Catherine Alexander Nicholas Peter "
    "Ivan Frederick Ferdinand Alfonso Carlos Juan Ramesses Ramses Ptolemy Cleopatra Darius Xerxes "
    "Otto Christian Gustav Harald Haakon Olav Margrethe Albert Leopold Baldwin Wilhelm Friedrich "
    "Amenhotep Thutmose Seti Cyrus Artaxerxes Antiochus Constantine Theodosius Justinian Basil "
    "Robert Malcolm Kenneth David Stephen John Boniface Sixtus Julius Adrian Celestine Honorius "
    "Felipe Pedro Manuel Joseph Maximilian Rudolf Sigismund Casimir Mehmed Murad Selim Suleiman "
    "Mustafa Abdulhamid Rama Akihito Abdullah Hassan Mohammed Hussein".split()
)
_ROMAN = r"([IVX]{1,7}|[IVXL]{2,8})"
_VERB_LIKE = re.compile(r" (?!of\b|was\b|and\b|is\b|in\b|had\b|ruled\b|reigned\b|to\b|died\b)[a-z]")

_STREET_BEFORE = re.compile(
    r"(?:\d[\w\-]* (?:[NSEW]\.? |North |South |East |West )?(?:[A-Z][\w']{0,30} ){1,3}"
    r"|\d{1,3}(?:st|nd|rd|th) )$"
)
_NAME_BEFORE = re.compile(
    r"(?:^|[^.!?:] |\b(?:St|Mt|Ft|Dr|Mr|Mrs|Gen|Pres)\. )[A-Z][\w']{1,30} $|^[A-Z][\w']{2,30} $"
)

_GREEK = dict(
    zip(
        "αβγδεζηθικλνξοπρστυφχψωΔΣΩΠΘΛΦΨΓ",
        (
            "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda nu xi omicron pi rho "
            "sigma tau upsilon phi chi psi omega delta sigma omega pi theta lambda phi psi gamma"
        ).split(),
        strict=True,
    )
) | {"µ": "mu"}
_SIGNS = {
    "&": "and", "≥": "greater than or equal to", "≤": "less than or equal to",
    "≠": "not equal to", "≈": "approximately", "±": "plus or minus", "÷": "divided by",
    "∞": "infinity", "√": "square root of", "°": "degrees", "%": "percent", "‰": "per mille",
    "§": "section", "∑": "sum of", "∈": "in", "∆": "delta", "∂": "partial", "∫": "integral of",
    "≡": "is equivalent to", "∀": "for all", "∃": "there exists", "∴": "therefore",
    "¬": "not", "∪": "union", "∩": "intersection", "⊂": "subset of",
}  # fmt: skip


def _ends_sentence(match: re.Match[str]) -> str:
    """The stop of an abbreviation is also that of the sentence where nothing follows."""
    after = match.string[match.end() : match.end() + 4].strip("\"') \n")
    return "" if after else "."


def titles(language: str) -> tuple[Rule, ...]:
    """Mr., Dr., St., streets and companies."""

    def saint_or_street(match: re.Match[str]) -> str | None:
        before = match.string[max(0, match.start() - 60) : match.start()]
        person, street = ("Saint", "Street") if match[1] == "St" else ("Doctor", "Drive")
        name_follows = re.match(r" [A-Z]", match.string[match.end() : match.end() + 2]) is not None
        if _STREET_BEFORE.search(before):
            return street + _ends_sentence(match)
        if name_follows:
            return person
        if not match[2] and not _NAME_BEFORE.search(before):
            return None
        if _NAME_BEFORE.search(before):
            return street + _ends_sentence(match) if match[2] else street
        return person + (_ends_sentence(match) if match[2] else "")

    def house(match: re.Match[str]) -> str:
        return f"{pairs(match[1], language)} {match[2]}".strip()

    return (
        rule(
            r"(?<![\w.,$-])(?<!No\. )(\d{1,4})([A-Z]?)(?= (?:[NSEW]\.? )?(?:[A-Z][\w']{1,20} ){1,3}"
            r"(?:St|Ave|Blvd|Rd|Ln|Dr|Ct|Street|Avenue|Boulevard|Road|Lane|Drive)\b)",
            house,
            DIGITS,
        ),
        rule(
            rf"\b({choice(_TITLES)})(?:\.(?= ?[A-Z\d]| and M)|(?<=[MD][rs])(?= [A-Z])|(?<=Mrs)"
            rf"(?= [A-Z]))",
            lambda m: _TITLES[m[1]],
            CAPITALS,
        ),
        rule(r"\b(Dr|St)\b(\.)?", saint_or_street, "DS"),
        rule(r"\bSts\.(?= [A-Z])", "Saints", "S"),
        rule(
            rf"(?<=[A-Za-z\d,&] )({choice(_STREETS)})(?:\.|(?=,|$))",
            lambda m: _STREETS[m[1]] + (_ends_sentence(m) if m[0].endswith(".") else ""),
            CAPITALS,
        ),
    )


def romans(language: str) -> tuple[Rule, ...]:
    """Roman numerals where only a number makes sense: parts, wars, rulers; never "I"."""

    def part(match: re.Match[str]) -> str | None:
        value = roman(match[2])
        after = match.string[match.end() : match.end() + 10]
        if value is None or (match[2] == "I" and (_VERB_LIKE.match(after) or after[:1] == "'")):
            return None
        return f"{match[1]} {cardinal(value, language)}"

    def event(match: re.Match[str]) -> str | None:
        value = roman(match[2])
        return f"{match[1]} {cardinal(value, language)}" if value else None

    def ruler(match: re.Match[str]) -> str | None:
        value = roman(match[2])
        after = match.string[match.end() : match.end() + 10]
        if value is None or (
            len(match[2]) == 1
            and (
                _VERB_LIKE.match(after)
                or (after[:1] == "'" and match[2] == "I" and after[:2] != "'s")
            )
        ):
            return None
        return f"{match[1]} the {ordinal(value, language)}"

    return (
        rule(rf"\b({_PARTS}s?\.?) {_ROMAN}(?![\w.]\w|\w)", part, "IVXL"),
        rule(rf"\b({_EVENTS}) {_ROMAN}(?!\w)", event, "IVXL"),
        rule(rf"\b({_REGNAL}) {_ROMAN}(?!\w|\.\w)", ruler, "IVXL"),
        rule(
            r"(?<=\w )(II|III|IV|VI|VII|VIII|IX|XI|XII|XIII|XIV|XVI?)(?=[,.;:!?)\"]|$| (?:of|"
            r"and|is|was)\b)",
            lambda m: cardinal(roman(m[1]) or 0, language),
            "IVX",
        ),
    )


def abbreviations() -> tuple[Rule, ...]:
    """References ("No. 5"), Latin and everyday abbreviations, and dotted initialisms."""

    def etc(match: re.Match[str]) -> str:
        after = match.string[match.end() : match.end() + 3]
        return "et cetera" if after.strip("\"') \n") else "et cetera."

    def initials(match: re.Match[str]) -> str:
        return match[0].replace(".", "") + _ends_sentence(match)

    return (
        rule(r"\b(?<![\w.])a\.k\.a\.?", "also known as", flags=re.IGNORECASE),
        rule(r"\betc\b\.?", etc, flags=re.IGNORECASE),
        rule(r"\bet al\.", "et al", "."),
        rule(
            rf"(?<![\w.])({choice(_REFERENCES)})\. ?(?=#?[\d~$])",
            lambda m: f"{_REFERENCES[m[1]]} ",
            ".",
        ),
        rule(
            r"(?<![\w.'])([pP]{1,2})(?=\d{1,4}(?:[-–]\d|[,.;)]|$))",
            lambda m: "pages " if len(m[1]) == 2 else None,
            DIGITS,
        ),
        rule(
            rf"(?<![\w.])({_WITH_STOP})"
            r"\.(?=[\s,;:)]|$)",
            lambda m: _ABBREVIATIONS[m[1]] + _ends_sentence(m),
            ".",
        ),
        rule(
            r"(?<![\w.])(e\.?g|i\.?e)\b\.?(?!\w)",
            lambda m: "for example" if m[1][0] == "e" else "that is",
        ),
        rule(r"(?<=[a-z] )(min|max|avg|temp)\.(?= [a-z])", lambda m: _ABBREVIATIONS[m[1]]),
        rule(
            r"(?<=[A-Za-z] )vs\b|(?<=[a-z] )v\.(?= [A-Z])|(?<=[A-Z][a-z] )v\.(?= [A-Z])", "versus"
        ),
        rule(
            r"(?<![\w.])Ph\.? ?D\.?(?!\w)",
            lambda m: "PhD" + (_ends_sentence(m) if m[0][-1] == "." else ""),
            "D",
        ),
        rule(r"(?<![\w.])(?:[A-Z]\.){2,8}(?!\w)", initials, ".", CAPITALS),
        rule(
            r"(?<![\w.])(?:[A-Z]\. ){1,3}(?=[A-Z][a-z])",
            lambda m: m[0].replace(".", "") if m[0] not in ("I. ", "A. ") else None,
            ".",
        ),
        rule(rf"(?<![\w/])({choice(_SHORTHAND)})(?![\w/]|\.\w)", lambda m: _SHORTHAND[m[1]]),
        rule(r"(?<![\w/])w/ ?(?=\w)", "with ", "/"),
    )


def names(language: str) -> tuple[Rule, ...]:
    """Tags, handles and names that programs use."""

    def hashtag(match: re.Match[str]) -> str:
        return f"hashtag {split_humps(match[1]).replace('_', ' ')}"

    return (
        rule(r"(?<![\w~])~ ?(?=\w)", "about ", "~"),
        rule(
            r"(?<![\w&/])#(\d{1,9})(?!\w)",
            lambda m: (
                f"number {digits(m[1], language)}"
                if len(m[1]) > 3
                else f"number {number(m[1], language)}"
            ),
            "#",
        ),
        rule(r"(?<![\w&/])#([^\W\d]\w{0,60})", hashtag, "#"),
        rule(
            r"(?<![\w@])@([A-Za-z_][\w\-]{0,60})",
            lambda m: f"at {split_humps(m[1]).replace('_', ' ')}",
            "@",
        ),
        rule(r"(?<=\d)\+(?=[\s,.;:!?)]|$)", " plus ", "+"),
        rule(r"(?<!\w)([A-Za-z])\+\+(?!\w)", lambda m: f"{m[1].upper()} plus plus", "+"),
        rule(r"(?<!\w)([CFJ])#(?!\w)", lambda m: f"{m[1]} sharp", "#"),
        rule(
            r"(?<!\w)([A-F])([+−-])(?=[\s,.;:!?)\"]|$)",
            lambda m: f"{m[1]} {'plus' if m[2] == '+' else 'minus'}",
            "+−-",
        ),
        rule(r"(?<!\w)([A-Za-z]\w{0,60})\(\)", lambda m: m[1], "("),
        rule(
            r"(?<!\w)[a-z]{2,30}(?:[A-Z][a-z0-9]{1,30}){1,8}(?!\w)"
            r"|(?<!\w)[A-Z][a-z]{1,30}(?:[A-Z][a-z0-9]{1,30}){2,8}(?!\w)",
            lambda m: split_humps(m[0]),
            CAPITALS,
        ),
        rule(r"(?<=\w)_+(?=\w)", " ", "_"),
        rule(
            r"(?<=\s)(--?)([a-zA-Z][\w\-]{1,40})",
            lambda m: f"dash dash {m[2]}" if m[1] == "--" else None,
            "-",
        ),
        rule(
            r"(?<=[^\W\d_])\.(js|NET|ts)\b",
            lambda m: f" dot {m[1].upper().replace('NET', 'net')}",
            ".",
        ),
        rule(r"(?<![\w.])\.NET\b", "dot net", "."),
    )


def signs() -> tuple[Rule, ...]:
    """Operators, comparisons, arrows and whatever single sign has a name."""

    def arrow(match: re.Match[str]) -> str:
        """Between numbers or single letters a step "to"; else the next item of a path."""
        before = match.string[max(0, match.start() - 3) : match.start()]
        after = match.string[match.end() : match.end() + 3]
        if re.search(r"\d[%\w]?$|(?:^|\W)\w$", before) and re.match(r"[$€£]?\d|\w(?:\W|$)", after):
            return " to "
        return ", "

    return (
        rule(r"^\s*(?:→|[-=]+>)\s*", "", "→>"),
        rule(r"\s*(?:→|[-=]{1,3}>)\s*", arrow, "→>"),
        rule(r"\s*(?:←|<[-=]{1,3}(?=\s))\s*", ", ", "←<"),
        rule(r"(?<=\w) ?(?:===?) ?(?=[\w\-\"'])", " equals ", "="),
        rule(r" ?(?:!==?|<>|/=) ?(?=[\w\-\"'])", " not equal to ", "=<"),
        rule(r" ?<= ?(?=[\w\-$])", " less than or equal to ", "<>"),
        rule(r" ?>= ?(?=[\w\-$])", " greater than or equal to ", "<>"),
        rule(r"(?<=\w) < (?=\S)|(?<![\w<])<(?=\w)(?![^<>]{0,60}>)", " less than ", "<"),
        rule(r"(?<=\w) > (?=\S)|(?<=\s)>(?=\w)", " greater than ", ">"),
        rule(r"(?<=\s)=(?=\s)|(?<=[\w)]) ?= ?(?=[\w\-(\"'])", " equals ", "="),
        rule(r"(?<=\w)\+(?=[A-Z])|(?<=\s)\+(?=\s)|(?<=\d) ?\+ ?(?=\d)", " plus ", "+"),
        rule(r"(?<=\w)×(?=\w)|(?<=\d)x(?=\d)", " by ", "×x"),
        rule(r"×|(?<=[\w)]) \* (?=[\w(])", " times ", "×*"),
        rule(r"(?<=\s)@(?=\s)", "at", "@"),
        rule(r"§§? ?(?=\d)", "section ", "§"),
        rule(rf"[{re.escape(''.join(_SIGNS))}]", lambda m: f" {_SIGNS[m[0]]} ", "".join(_SIGNS)),
        rule(
            rf"(?<![^\W\d_])[{''.join(_GREEK)}](?![^\W\d_])",
            lambda m: f" {_GREEK[m[0]]} ",
            "".join(_GREEK),
        ),
        rule(r"(?<=[^\W\d_])/(?=[^\W\d_])", " slash ", "/"),
        rule(r"(?<=[^\W_])/(?=[^\W_])", " slash ", "/"),
        rule(r"\\(?=\w)", " ", "\\"),
    )
