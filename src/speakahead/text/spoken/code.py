"""Code inside a sentence, and the names of files: ``foo.bar()`` is "foo dot bar"."""

from __future__ import annotations

import re

_ENGLISH = {
    **{"==": "equals", "===": "equals", "!=": "not equal to", "!==": "not equal to"},
    **{"<=": "less than or equal to", ">=": "greater than or equal to", "->": "arrow"},
    **{"=>": "arrow", "&&": "and", "||": "or", "++": "plus plus", "--": "dash dash"},
    **{"+=": "plus equals", "-=": "minus equals", ":=": "colon equals", "//": "slash slash"},
    **{"**": "star star", "=": "equals", "+": "plus", "*": "star", "/": "slash"},
    **{"\\": "backslash", "%": "percent", "&": "and", "|": "pipe", "<": "less than"},
    **{">": "greater than", "@": "at", "#": "hash", "$": "dollar", "~": "tilde", "^": "caret"},
    **{"!": "not", ".": "dot", "-": "dash", "_": " "},
}
SYMBOLS: dict[str, dict[str, str]] = {
    "en": _ENGLISH,
    "es": {".": "punto", "/": "barra", "@": "arroba", "-": "guion", "_": "guion bajo"},
    "fr": {".": "point", "/": "slash", "@": "arobase", "-": "tiret", "_": "tiret bas"},
    "hi": {".": "डॉट", "/": "स्लैश", "@": "एट", "-": "डैश", "_": "अंडरस्कोर"},
    "it": {".": "punto", "/": "barra", "@": "chiocciola", "-": "trattino", "_": "trattino basso"},
    "pt": {".": "ponto", "/": "barra", "@": "arroba", "-": "hífen", "_": "sublinhado"},
}
"""What the marks in addresses and code are called, in each language that has rules."""

_EXTENSIONS = {
    "js": "JS", "ts": "TS", "jsx": "JSX", "tsx": "TSX", "css": "CSS", "html": "HTML",
    "htm": "HTML", "xml": "XML", "json": "Jason", "yml": "yaml", "md": "MD", "txt": "text",
    "csv": "CSV", "tsv": "TSV", "pdf": "PDF", "png": "PNG", "jpg": "JPEG", "svg": "SVG",
    "mp3": "MP3", "mp4": "MP4", "wav": "wave", "exe": "exe", "sh": "SH", "rs": "RS", "rb": "RB",
    "cpp": "CPP", "cs": "CS", "php": "PHP", "sql": "SQL", "ini": "ini", "cfg": "config",
    "docx": "doc X", "xlsx": "XLSX", "pptx": "PPTX", "tsconfig": "TS config", "onnx": "ONNX",
}  # fmt: skip

_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_PARTS = re.compile(
    r"[^\W_]+(?:'[^\W_]+)?|[=!]==?|[<>:+\-]=|[-=]>|&&|\|\||\+\+|--|//|\*\*|[^\w\s]|_+|\s+"
)
_GENERIC = re.compile(r"</?([A-Za-z]\w{0,60})(?: ?/)?>")


def split_humps(name: str) -> str:
    """``getUserName`` as "get User Name", ``HTTPServer`` as "HTTP Server"."""
    return _HUMP.sub(" ", name)


def extension(name: str) -> str:
    """How the ending of a file's name is said."""
    return _EXTENSIONS.get(name.lower(), name)


def spoken_code(source: str, language: str = "en") -> str:
    """A code span in words: names split up, operators named, brackets and quotes left out."""
    if "://" in source:
        return source  # an address is read by the rules for addresses
    names = SYMBOLS.get(language, {})
    source = _GENERIC.sub(r" \1 ", source)
    parts = _PARTS.findall(source)
    said: list[str] = []
    for i, part in enumerate(parts):
        before = parts[i - 1] if i else " "
        after = parts[i + 1] if i + 1 < len(parts) else " "
        if part[0].isalnum():
            ending = before == "." and i > 1 and not part[0].isdigit()
            said.append(split_humps(extension(part) if ending else part))
        elif part == "." and before[0].isdecimal() and after[0].isdecimal():
            said.append(part)
        elif part == "-" and before[0].isalnum() and after[0].isalnum():
            said.append("-" if before[-1].isalpha() and after[0].isalpha() else " ")
        elif part == "." and not after[0].isalnum():
            said.append(" ")
        elif part == ",":
            said.append(", ")
        else:
            said.append(f" {names.get(part, '')} ")
    return re.sub(r"[ \n]+", " ", "".join(said)).strip()
