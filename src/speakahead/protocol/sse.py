"""Server-sent events (WHATWG HTML, section 9.2): JSON over a plain HTTP answer.

The reader does no I/O: bytes go in as they come, cut anywhere, and the events that became complete
come out.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from speakahead.errors import InvalidRequest

MEDIA_TYPE = "text/event-stream"

MAX_EVENT_BYTES = 1 << 20
"""Default bound of the reader: ten seconds of PCM in base64 have 640 KB."""

_BOM = b"\xef\xbb\xbf"
_LINE_END = re.compile(rb"\r\n|\r|\n")
_FORBIDDEN = re.compile(r"[\r\n\0]")


class EventTooLarge(InvalidRequest):
    """An event is larger than the reader was told to take; the stream cannot be read on."""

    code = "event_too_large"


@dataclass(frozen=True, slots=True)
class SseEvent:
    """One event.

    Attributes:
        data: its data lines, joined by line feeds.
        event: its type.
        id: the last identifier that the stream has given, which need not be in this event.
    """

    data: str
    event: str = "message"
    id: str = ""

    def json(self) -> Any:
        """The data as JSON.

        Raises:
            InvalidRequest: ``invalid_json``: they are not.
        """
        try:
            return json.loads(self.data)
        except (ValueError, RecursionError):
            raise InvalidRequest("The event's data are not JSON.", code="invalid_json") from None


def encode_event(data: Mapping[str, Any], event: str | None = None, id: str | None = None) -> bytes:
    """One event with JSON data, as it goes over the wire.

    Args:
        data: what ``json.dumps`` takes. JSON has no raw line ends, so it is one line.
        event: its type; readers take it as ``message`` by default.
        id: what a reader that reconnects sends as ``Last-Event-ID``.

    Raises:
        ValueError: the type or the identifier has a line end or a NUL in it, or a number in the
            data is not finite.
    """
    lines = []
    for name, value in (("event", event), ("id", id)):
        if value is not None:
            if _FORBIDDEN.search(value):
                raise ValueError(f"the {name} of an event is one line without NUL")
            lines.append(f"{name}: {value}")
    content = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    lines.append(f"data: {content}")
    # A lone surrogate cannot be sent; json.loads on the other side would not mind its absence.
    return ("\n".join(lines) + "\n\n").encode("utf-8", "replace")


def encode_comment(text: str = "") -> bytes:
    """A line that readers ignore; keeps proxies from closing a connection that is silent.

    Raises:
        ValueError: the text has a line end or a NUL in it.
    """
    if _FORBIDDEN.search(text):
        raise ValueError("a comment is one line without NUL")
    return f": {text}\n\n".encode("utf-8", "replace")


class SseReader:
    """Reads one stream of events.

    An event that the stream ends within is dropped, as the standard has it.

    Attributes:
        last_event_id: what to send as ``Last-Event-ID`` when connecting again.
        retry_ms: how long the server asks to wait before that; None when it did not.
    """

    def __init__(self, max_event_bytes: int = MAX_EVENT_BYTES) -> None:
        self.last_event_id = ""
        self.retry_ms: int | None = None
        self._most = max_event_bytes
        self._line = bytearray()
        self._after_return = False
        self._at_start = True
        self._data: list[str] = []
        self._event = ""
        self._bytes = 0

    def feed(self, chunk: bytes) -> list[SseEvent]:
        """The events that ``chunk`` completes.

        Raises:
            EventTooLarge: the event or line that is being read has too many bytes.
        """
        if not chunk:
            return []
        if self._after_return and chunk[:1] == b"\n":
            chunk = chunk[1:]  # the second half of a line end that was taken for a whole one
        self._after_return = chunk.endswith(b"\r")
        *ends, rest = _LINE_END.split(chunk)
        events = []
        for end in ends:
            self._add(end)
            line = bytes(self._line)
            self._line.clear()
            if (event := self._take(line)) is not None:
                events.append(event)
        self._add(rest)
        return events

    def _add(self, part: bytes) -> None:
        self._line += part
        if self._bytes + len(self._line) > self._most:
            raise EventTooLarge(f"An event may have {self._most:,} bytes.")

    def _take(self, line: bytes) -> SseEvent | None:
        if self._at_start:
            self._at_start = False
            line = line.removeprefix(_BOM)
        if not line:
            return self._dispatch()
        if line.startswith(b":"):
            return None
        self._bytes += len(line)
        name, _, value = line.decode("utf-8", "replace").partition(":")
        value = value.removeprefix(" ")
        match name:
            case "data":
                self._data.append(value)
            case "event":
                self._event = value
            case "id" if "\0" not in value:
                self.last_event_id = value
            case "retry" if value.isascii() and value.isdecimal():
                self.retry_ms = int(value[:18])
        return None

    def _dispatch(self) -> SseEvent | None:
        data, event = self._data, self._event
        self._data, self._event, self._bytes = [], "", 0
        if not data:
            return None
        return SseEvent("\n".join(data), event or "message", self.last_event_id)
