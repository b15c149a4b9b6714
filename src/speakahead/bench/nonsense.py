"""Messages that no decent client would send, and decent ones among them.

Half are bytes: noise, JSON that is odd or broken, good messages with damaged bytes. The others are
objects: messages of both protocols in which fields are removed, added, renamed, retyped or set to
values at the edge of what is allowed. The same seed gives the same messages.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

_WORDS = (
    "Yes.",
    "Hello there.",
    "It costs $3.50.",
    "One two",
    " three. ",
    "¿Qué?",
    "你好。",
    "a\n",
)
_ODD_TEXT = (
    "",
    " ",
    "\x00",
    "\u200b\u200d\ufeff",
    "\u202e.txt",
    "e\u0301" * 40,
    "👩‍👩‍👧‍👦🏴‍☠️",
    "<b>&#x41;&nbsp;</b>",
    "```py\nx\n",
    "| a | b |\n|---|---|\n",
    "1" * 400,
    "$" * 100 + ".",
    "(" * 200,
    "-" * 300,
    "http://" + "a." * 100,
    "Dr. Mr. e.g. 3.14.15 ",
    "\ud7ff\ue000\ufffd\uffff\U0010ffff",
    "%s %n {0} ${x} \\u0000",
    "'; --",
    "🎉" * 50,
)
_NAMES = ("u1", "u2", "u3", "claim")
_ODD_NUMBERS = (
    0, -1, 1, 0.5, 2, 2.0000001, 10, 10.01, -0.0, 1e308, 5e-324, 86_400_000, 86_400_001,
    2**31, 2**40, 2**40 + 1, 2**53 + 1, 2**63, 2**64, 10**30, 10**400,
)  # fmt: skip
_PRONUNCIATIONS = (
    {"word": "Kokoro", "phonemes": "kˈOkəɹO"},
    {"word": "GIF", "respelling": "jif"},
    {"word": "three", "respelling": "..."},
    {"word": "", "phonemes": "a"},
    {"word": "one", "phonemes": "7"},
)
_FIELDS: dict[str, tuple[str, ...]] = {
    "hello": ("protocol",),
    "text": ("text", "utterance", "voice", "speed", "language", "format", "pronunciations",
             "pauses", "request_id"),
    "delta": ("text", "voice", "speed", "request_id"),
    "flush": (),
    "cancel": ("utterance", "played_ms", "played_samples"),
    "hold": ("utterance",),
    "release": ("utterance",),
    "discard": ("utterance",),
    "configure": ("voice", "speed", "language", "format", "pronunciations", "pauses"),
    "keepalive": (),
}  # fmt: skip
_REQUIRED = {"hello": ("protocol",), "text": ("text",), "delta": ("text",)}


@dataclass(frozen=True, slots=True)
class Nonsense:
    """One message.

    Attributes:
        kind: what was done to it, for the report.
        data: its bytes.
        text: it is for a text frame, else for a binary one.
        cuts: it is sent in so many fragments more.
    """

    kind: str
    data: bytes
    text: bool
    cuts: int

    @property
    def is_text(self) -> bool:
        """Whether the bytes are what a text frame may hold."""
        try:
            self.data.decode()
        except UnicodeDecodeError:
            return False
        return True

    @property
    def is_object(self) -> bool:
        """Whether they are a JSON object, as the standard library has it."""
        try:
            value = json.loads(self.data.decode(), parse_constant=_refuse)
        except (ValueError, RecursionError):
            return False
        return isinstance(value, dict)


def _refuse(constant: str) -> None:
    raise ValueError(constant)


class Maker:
    """Makes messages at random.

    Args:
        rng: where chance comes from.
        largest: bytes that the server takes in one message.
        longest: characters that it takes in one text.
    """

    def __init__(self, rng: random.Random, largest: int, longest: int) -> None:
        self._rng = rng
        self._largest = largest
        self._longest = longest
        self._makers: tuple[tuple[float, str, Callable[[], bytes]], ...] = (
            (6, "noise", self._noise),
            (4, "noise in UTF-8", self._characters),
            (8, "damaged bytes", self._damaged),
            (6, "broken JSON", self._broken),
            (6, "odd JSON", self._odd_json),
            (1, "deep JSON", self._deep),
            (0.02, "large", self._large),
            (30, "valid", lambda: _dumped(self.valid())),
            (40, "mutated", lambda: _dumped(self._mutated())),
            (3, "twice the field", self._doubled),
        )

    def message(self) -> Nonsense:
        """The next message."""
        rng = self._rng
        weights = [weight for weight, _, _ in self._makers]
        _, kind, make = rng.choices(self._makers, weights)[0]
        data = make()
        text = rng.random() < 0.7
        cuts = rng.choice((1, 2, 7)) if rng.random() < 0.15 else 0
        made = Nonsense(kind, data, text, cuts)
        # Text frames that are no text end the connection, so only some of them are sent as such.
        return made if made.is_text or rng.random() < 0.1 else Nonsense(kind, data, False, cuts)

    def valid(self, kind: str | None = None) -> dict[str, Any]:
        """A message with values that may be good; not always in this protocol, or at this time."""
        rng = self._rng
        if kind is None:
            kind = rng.choice(("text", "text", "text", *_FIELDS))
        fields = [
            field
            for field in _FIELDS[kind]
            if field in _REQUIRED.get(kind, ()) or rng.random() < (0.5 if field[0] == "u" else 0.15)
        ]
        message = {"type": kind, **{field: self._good(field) for field in fields}}
        if kind == "text" and rng.random() < 0.1:
            del message["type"]
        return message

    # -- values --------------------------------------------------------------------------------

    def _good(self, field: str) -> Any:
        rng = self._rng
        match field:
            case "protocol":
                return rng.choice((1, 2, 2, 3))
            case "text":
                return self._text()
            case "utterance" | "request_id":
                return rng.choice(_NAMES)
            case "voice":
                return rng.choice(("af_heart", "bf_emma", "af_heart:0.6+af_bella:0.4"))
            case "speed":
                return rng.choice((0.5, 1, 1.25, 2.0))
            case "language":
                return rng.choice(("en-us", "en-gb", "es"))
            case "format":
                return rng.choice(("s16le", "f32le"))
            case "pronunciations":
                return [rng.choice(_PRONUNCIATIONS) for _ in range(rng.choice((0, 1, 2)))]
            case "pauses":
                return {rng.choice(("sentence", "clause", "line")): rng.choice((0, 0.3, 10))}
            case "played_ms":
                return rng.choice((0, 12.5, 700, 86_400_000))
            case _:
                return rng.choice((0, 24_000, 2**40))

    def _text(self) -> str:
        rng = self._rng
        if rng.random() < 0.02:
            return "word " * (self._longest // 5) + "." * rng.choice((0, 1))
        if rng.random() < 0.3:
            return rng.choice(_ODD_TEXT)
        return "".join(rng.choice(_WORDS) for _ in range(rng.randint(1, 4)))

    def _any(self, depth: int = 0) -> Any:
        """A value of any type."""
        rng = self._rng
        pick = rng.random()
        if pick < 0.25:
            return rng.choice(_ODD_NUMBERS)
        if pick < 0.5:
            return rng.choice((*_ODD_TEXT, *_NAMES, *_FIELDS, "x" * 128, "x" * 129, "x" * 35, "2"))
        if pick < 0.7 or depth > 2:
            return rng.choice((None, True, False, [], {}))
        if pick < 0.85:
            return [self._any(depth + 1) for _ in range(rng.choice((1, 2, 101)))]
        return {
            rng.choice(("word", "phonemes", "respelling", "sentence", "type", "")): self._any(
                depth + 1
            )
            for _ in range(rng.randint(1, 3))
        }

    def _mutated(self) -> dict[str, Any]:
        rng = self._rng
        message = self.valid(rng.choice(tuple(_FIELDS)))
        for _ in range(rng.randint(1, 3)):
            field = rng.choice((*message, "type")) if message else "type"
            match rng.randrange(7):
                case 0:
                    message.pop(field, None)
                case 1:
                    message[rng.choice((*_FIELDS["text"], "played_ms", "extra"))] = self._any()
                case 2:
                    message[field] = self._any()
                case 3 if field in message:
                    message[rng.choice((field.upper(), field + "s", "\u200b" + field))] = (
                        message.pop(field)
                    )
                case 4:
                    message["type"] = rng.choice((*_FIELDS, "TEXT", "", "ready", "error", "audio"))
                case 5 if isinstance(message.get(field), str):
                    message[field] *= rng.choice((0, 2, 30, 129))
                case _:
                    inner = message.get(field)
                    if isinstance(inner, dict) and inner:
                        inner[rng.choice(tuple(inner))] = self._any()
                    elif isinstance(inner, list):
                        inner.append(self._any())
        return message

    # -- bytes ---------------------------------------------------------------------------------

    def _noise(self) -> bytes:
        return self._rng.randbytes(self._rng.choice((0, 1, 2, 3, 20, 200, 5000)))

    def _characters(self) -> bytes:
        rng = self._rng
        ranges = ((0x20, 0x7F), (0, 0x20), (0xA0, 0x500), (0x4E00, 0x9FFF), (0x1F300, 0x1FAFF))
        return "".join(
            chr(rng.randrange(*rng.choice(ranges))) for _ in range(rng.choice((1, 3, 50)))
        ).encode()

    def _damaged(self) -> bytes:
        rng = self._rng
        data = bytearray(_dumped(self.valid()))
        for _ in range(rng.randint(1, 4)):
            at = rng.randrange(len(data) + 1)
            match rng.randrange(5):
                case 0:
                    data[at:at] = rng.randbytes(1)
                case 1:
                    del data[at : at + rng.randint(1, 3)]
                case 2 if at < len(data):
                    data[at] ^= 1 << rng.randrange(8)
                case 3:
                    data[at:at] = data[rng.randrange(len(data) + 1) :][:10]
                case _:
                    data[at:at] = rng.choice(
                        (b"\xc0\x80", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xe2\x82", b"\xff",
                         b"\xef\xbb\xbf", b"\x00")
                    )  # fmt: skip
        return bytes(data)

    def _broken(self) -> bytes:
        rng = self._rng
        good = _dumped(self.valid()).decode()
        return rng.choice(
            (
                good[: rng.randrange(len(good))],
                good + rng.choice(("}", ",", " {}", "\x00", "//")),
                good.replace('"', "'"),
                good.replace(":", "=", 1),
                good.replace("}", ",}"),
                "\ufeff" + good,
                good[:-1] + ', "speed": NaN}',
                good[:-1] + ', "speed": -Infinity}',
                good[:-1] + ', "speed": 01}',
                good[:-1] + ', "speed": .5}',
                good[:-1] + ', "utterance": "\\ud800"}',
                good[:-1] + ', "utterance": "\\x41"}',
                good[:-1] + ', "utterance": "a\tb"}',
            )
        ).encode()

    def _odd_json(self) -> bytes:
        rng = self._rng
        good = _dumped(self.valid()).decode()
        return rng.choice(
            (
                "null", "true", "0", "-0.0", '""', '"text"', "[]", "[{}]", "{}", "1e999",
                "[" + good + "]",
                " \t\r\n" * 50 + good + "\n" * 50,
                good[:-1] + ', "speed": 1e999}',
                good[:-1] + ', "speed": 1' + "0" * rng.choice((30, 400, 5000)) + "}",
                good[:-1] + ', "speed": 1.' + "0" * 5000 + "}",
                good[:-1] + ', "played_ms": 1e-999}',
                good[:-1] + ', "utterance": "\\ud83d\\ude00"}',
                good[:-1] + ', "utterance": "\\u0000"}',
                good[:-1] + ', "\\u0074ext": "\\u0048i."}',
                good[:-1] + ', "' + "k" * 10_000 + '": 1}',
            )
        ).encode()  # fmt: skip

    def _deep(self) -> bytes:
        depth = self._rng.choice((50, 199, 201, 1000, 100_000))
        opening, closing = self._rng.choice((("[", "]"), ('{"a":', "}"), ('{"pauses":', "}")))
        inner = "1" if self._rng.random() < 0.5 else ""
        closed = closing * depth if self._rng.random() < 0.7 else ""
        return f'{{"type": "text", "text": {opening * depth}{inner}{closed}}}'.encode()

    def _large(self) -> bytes:
        around = self._rng.choice((-1000, -1, 0, 1, 1000))
        body = b'{"type": "text", "text": "' + b"a" * (self._largest - 28 + around)
        return body + b'"}'

    def _doubled(self) -> bytes:
        good = _dumped(self.valid()).decode()
        field = self._rng.choice(("type", "text", "utterance", "request_id"))
        return f'{good[:-1]}, "{field}": {json.dumps(self._any())}}}'.encode()


def _dumped(message: dict[str, Any]) -> bytes:
    return json.dumps(message, ensure_ascii=False).encode()
