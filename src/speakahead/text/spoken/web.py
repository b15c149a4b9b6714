"""Addresses and names of the net and of files: e-mail, URLs, IP addresses, versions, paths, hashes.

An address is shortened to what a person would say: no scheme, no "www", no query; and only the
host if the path is long or is not made of words.
"""

from __future__ import annotations

import re

from speakahead.text.spoken.code import SYMBOLS, extension, split_humps
from speakahead.text.spoken.numerals import cardinal, digits, number, pairs
from speakahead.text.spoken.rules import DIGITS, Rule, choice, rule

_LONGEST_PATH = 40
_TOP_LEVEL = choice(
    "ai app at au be biz blog br ca ch cloud cn co com cz de dev dk edu es eu fi fm fr gg gov gr "
    "hu ie in info int io is it jp kr me mil mobi museum mx name net nl no nz online org pl pt pro "
    "ro ru se shop site sk so store tech tv ua uk us wiki world xyz za".split()
)
_FILES = choice(
    "avi bash bat bin bmp c cc cfg conf cpp cs css csv dart db dll doc docx env exe flac gif go "
    "gz h hpp htm html ini ipynb iso jar java jpeg jpg js json jsx kt log lock lua m4a md mjs mov "
    "mp3 mp4 ogg onnx parquet pdf php pkl png ppt pptx properties ps1 py pyi pt r rar rb rs rst "
    "safetensors scala sh sql sqlite svg swift tar tex tf toml ts tsv tsx ttf txt vue wasm wav "
    "webm webp whl xls xlsx xml yaml yml zip zsh".split()
)
_SOFTWARE = choice(
    "Python Ubuntu Debian Fedora Linux Kernel macOS iOS iPadOS watchOS Android Windows Node "
    "Node.js npm Java JDK PHP Ruby Rails Go Rust Django Flask Kubernetes Docker Postgres "
    "PostgreSQL MySQL SQLite Redis MongoDB CUDA PyTorch TensorFlow NumPy Pandas React Angular Vue "
    "Next.js Firefox Chrome Safari Bluetooth USB HTTP HTTPS TLS SSL OpenSSL Wi-Fi GPT Claude Llama "
    "Gemini Gemma Qwen Mistral Phi Swift Kotlin Scala Perl Lua Julia .NET C# C++ Bash Git Helm "
    "Terraform Ansible Spark Kafka Unity Unreal Blender version Version release Release v".split()
)

_EMAIL = re.compile(
    r"(?<![\w.%+\-])(?:mailto:)?([\w.%+\-]{1,64})@((?:[\w\-]{1,63}\.){1,8}[A-Za-z]{2,24})(?![\w@])"
)
_URL = re.compile(
    r"(?<![\w/])(?:(?:https?|ftp|wss?|git|ssh|s3)://|www\.(?=\w))(?:[^\s/@<>\"]{1,200}@)?"
    r"([^\s/?#<>\"'()\[\]]{1,253})([^\s<>\"'\[\]]{0,2000})",
    re.IGNORECASE,
)
_DOMAIN = re.compile(
    rf"(?<![\w@./\-])((?:[A-Za-z0-9][A-Za-z0-9\-]{{0,62}}\.){{1,5}}{_TOP_LEVEL}|localhost)"
    r"(:\d{2,5})?(/[\w\-./~%+=@:?&#]{0,500})?(?![\w@])"
)
_IP = re.compile(r"(?<![\w.])(\d{1,3}(?:\.\d{1,3}){3})(?::(\d{1,5}))?(?:/(\d{1,2}))?(?![\w.]*\d)")


class _Reader:
    """Reads addresses with the words of one language."""

    def __init__(self, language: str) -> None:
        self.language = language
        self.names = SYMBOLS[language[:2]]
        self.english = language.startswith("en")

    def mark(self, character: str) -> str:
        if character == "-" and self.english:
            return "dash"
        if character == "_" and self.english:
            return "underscore"
        return self.names.get(character, "plus" if character == "+" else " ")

    def words(self, text: str) -> str:
        """Letters as words, short numbers as numbers, marks by name."""
        said = []
        for part in re.findall(r"\d+|[^\W\d_]+|[\W_]", text):
            if part.isdecimal():
                short = len(part) <= 2 and part[0] != "0"
                said.append(cardinal(int(part), self.language) if short else self.code(part))
            elif part.isalpha():
                said.append(split_humps(part))
            else:
                said.append(self.mark(part))
        return " ".join(said)

    def code(self, text: str) -> str:
        return pairs(text, self.language) if self.english else digits(text, self.language)

    def email(self, match: re.Match[str]) -> str:
        user, host = match[1].strip("."), match[2]
        return f"{self.words(user)} {self.mark('@')} {self.words(host)}"

    def host(self, host: str) -> str:
        host, _, port = host.partition(":")
        host = host.removeprefix("www.").removeprefix("WWW.").strip(".")
        address = _IP.fullmatch(host)
        said = self.octets(host) if address else self.words(host)
        return f"{said} port {self.code(port)}" if port.isdecimal() else said

    def octets(self, address: str) -> str:
        return f" {self.mark('.')} ".join(self.code(part) for part in address.split("."))

    def path(self, path: str) -> str:
        """The path in words, or nothing if it is long or unreadable."""
        path = re.split(r"[?#]", path, maxsplit=1)[0].strip("/")
        steps = [step for step in path.split("/") if step]
        readable = all(re.fullmatch(r"[^\W\d_]+(?:[-_.][^\W_]+)*|\d{1,4}|v\d", s) for s in steps)
        if not readable or len(path) > _LONGEST_PATH:
            return ""
        return "".join(f" {self.mark('/')} {self.step(step)}" for step in steps)

    def step(self, step: str) -> str:
        name, dot, ending = step.rpartition(".")
        if dot and re.fullmatch(_FILES, ending):
            return f"{self.name(name)} {self.mark('.')} {extension(ending)}"
        return self.name(step)

    def name(self, name: str) -> str:
        """A file's name: hyphens and underscores only separate its words."""
        return self.words(re.sub(r"[-_]+", " ", name)).strip()

    def url(self, match: re.Match[str]) -> str:
        rest = match[2]
        kept = rest.rstrip(".,;:!?*_'")
        while kept.endswith(")") and kept.count(")") > kept.count("("):
            kept = kept[:-1].rstrip(".,;:!?*_'")
        host = match[1]
        if not rest:
            trimmed = host.rstrip(".,;:!?*_")
            return self.host(trimmed) + host[len(trimmed) :]
        return self.host(host) + self.path(kept) + rest[len(kept) :]

    def domain(self, match: re.Match[str]) -> str:
        rest = match[3] or ""
        kept = rest.rstrip(".,;:!?")
        return self.host(match[1] + (match[2] or "")) + self.path(kept) + rest[len(kept) :]

    def ip(self, match: re.Match[str]) -> str | None:
        if any(int(part) > 255 for part in match[1].split(".")):
            return None
        said = self.octets(match[1])
        if match[2]:
            said += f" port {self.code(match[2])}"
        if match[3]:
            said += f" {self.mark('/')} {cardinal(int(match[3]), self.language)}"
        return said

    def file(self, match: re.Match[str]) -> str:
        path, name, ending = match[1] or "", match[2], match[3]
        said = self.slashes(path) if path else ""
        dots = f" {self.mark('.')} "
        stem = dots.join(self.name(part) for part in name.split(".") if part)
        return f"{said}{stem}{dots if stem else dots.lstrip()}{extension(ending)}"

    def slashes(self, path: str) -> str:
        steps = path.split("/")
        said = []
        for i, step in enumerate(steps):
            if i:
                said.append(self.mark("/"))
            if step in (".", "..", "~"):
                said.append({".": "dot", "..": "dot dot", "~": "tilde"}[step])
            elif step.startswith("."):
                said.append(f"{self.mark('.')} {self.step(step[1:])}")
            elif step:
                said.append(self.step(step))
        return " ".join(said) + (" " if said else "")

    def folder(self, match: re.Match[str]) -> str:
        return self.slashes(match[0]).strip()


def address_rules(language: str) -> tuple[Rule, ...]:
    """E-mail addresses, URLs, host names and IP addresses, in any language that has rules."""
    reader = _Reader(language)
    return (
        rule(_EMAIL, reader.email, "@", "."),
        rule(_URL, reader.url, "/.", "sSpPwW"),
        rule(_IP, reader.ip, ".", DIGITS),
        rule(_FILE, reader.file, "."),
        rule(_DOMAIN, reader.domain, ".l"),
    )


_FILE = re.compile(
    r"(?<![\w@.\-/])((?:[\w.~\-]{0,60}/){1,12})?"
    rf"([\w\-]{{1,80}}(?:\.[\w\-]{{1,40}}){{0,3}}|)\.({_FILES})(?![\w/]|\.\w|\()"
)
_DRIVE = re.compile(r"(?<!\w)([A-Za-z]):\\([\w.\-\\]{0,300})")
_FOLDER = re.compile(
    r"(?<![\w.,/)])(?:~|\.{1,2})?(?:/[\w.@+\-]{1,60}){2,12}/?(?!\w)"
    r"|(?<![\w.,/])(?:~|\.{1,2})(?:/[\w.@+\-]{1,60}){1,12}/?(?!\w)"
)
_UUID = re.compile(r"(?<![\w\-])[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}(?![\w\-])")
_HASH = re.compile(r"(?<![\w.\-])(?:sha\d{1,3}:)?(?=\d*[a-f])(?=[a-f]*\d)([0-9a-f]{7,128})(?!\w)")
_HEX = re.compile(r"(?<!\w)0[xX]([0-9a-fA-F]{1,64})(?!\w)")
_NOT_VERSION = re.compile(r"[0-3]?\d\.[01]?\d\.(?:19|20)\d\d|\d{3}\.\d{3}\.\d{4}")
_IPV6 = re.compile(r"(?<![\w:])(?:[0-9a-fA-F]{0,4}:){3,7}[0-9a-fA-F]{1,4}(?![\w:])")


def _spelled(text: str, language: str) -> str:
    said = (digits(c, language) if c.isdecimal() else c.upper() for c in text if c.isalnum())
    return " ".join(said)


def rules(language: str) -> tuple[Rule, ...]:
    """The English rules: addresses, then files, folders, hashes and versions."""

    def shortened(text: str) -> str:
        # Nobody listens to a whole digest; the first seven are what tools show as well.
        text = text.replace("-", "")
        more = ", and so on" if len(text) > 10 else ""
        return _spelled(text[:7] if more else text, language) + more

    def part(text: str) -> str:
        """One number of a version: "3.12" is "three point twelve", "22.04" "twenty two oh four"."""
        if text.startswith("0") and len(text) == 2:
            return f"oh {digits(text[1], language)}"
        return number(text, language)

    def version(text: str) -> str:
        numbers = re.findall(r"\d+", text)
        return " point ".join(part(n) for n in numbers) if len(numbers) > 1 else part(numbers[0])

    def suffix(text: str | None) -> str:
        return " " + " ".join(re.findall(r"[A-Za-z]+|\d+", text)) if text else ""

    def drive(match: re.Match[str]) -> str:
        steps = [step for step in match[2].split("\\") if step]
        said = " backslash ".join(re.sub(r"\.(?=\w)", " dot ", step) for step in steps)
        return f"{match[1].upper()} colon backslash {said}"

    reader = _Reader(language)
    return (
        rule(_UUID, lambda m: shortened(m[0]), "-", DIGITS),
        rule(_DRIVE, drive, "\\"),
        *address_rules(language),
        rule(_FOLDER, reader.folder, "/"),
        rule(
            r"(?<![\w.])\.([a-z]{2,12})(?= (?:file|folder|directory|extension|suffix))|"
            rf"(?<![\w.])\.({_FILES})(?!\w)",
            lambda m: f"dot {extension(m[1] or m[2])}",
            ".",
        ),
        rule(_HEX, lambda m: f"hex {_spelled(m[1], language)}", "0", "xX"),
        rule(_HASH, lambda m: shortened(m[1]), DIGITS, "abcdef"),
        rule(_IPV6, lambda m: " colon ".join(_spelled(p, language) for p in m[0].split(":")), ":"),
        rule(
            r"(?<![\w.])[vV](\d{1,4}(?:\.(?:\d{1,6}|x)){0,5})((?:-|(?=[a-z]))[A-Za-z]{1,8}\.?\d{0,4})?"
            r"(?![\w]|\.\d)",
            lambda m: f"version {version(m[1])}{suffix(m[2])}",
            "vV",
            DIGITS,
        ),
        rule(
            r"(?<![\w.,])(\d{1,6}(?:\.\d{1,6}){2,5})((?:-|(?=[a-z]))[A-Za-z]{1,8}\.?\d{0,4})?(?![\w]|\.\d)",
            lambda m: None if _NOT_VERSION.fullmatch(m[0]) else version(m[1]) + suffix(m[2]),
            ".",
            DIGITS,
        ),
        rule(
            rf"(?<![\w.])({_SOFTWARE})([ -]|/|=+)(\d{{1,4}}(?:\.(?:\d{{1,5}}|x)){{1,2}})"
            rf"(?![\d%]|\.\d)",
            lambda m: f"{m[1]} {version(m[3])}",
            ".",
            DIGITS,
        ),
    )
