"""Logs: one line for each event, with the id of the request it belongs to, as text or JSON.

Nothing that a client says reaches a log: no text to be spoken, no key, no message of a foreign
exception, and ids only if they look like ids.
"""

from __future__ import annotations

import json
import logging
import re
import time
import traceback
import uuid
from contextvars import ContextVar
from enum import StrEnum
from typing import Any, override

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from speakahead.backends.observation import UtteranceRecord

REQUEST_ID_HEADERS = ("x-amzn-sagemaker-request-id", "x-request-id")
"""Where a request may bring its id, the first that is valid counts; the last is answered with."""

request_id: ContextVar[str] = ContextVar("request_id", default="-")
"""Id of the request or session that this task works for."""

_SAFE_ID = re.compile(r"[A-Za-z0-9._:+-]{1,64}")
_ANSWERS = ("http.response.start", "websocket.accept", "websocket.http.response.start")
_log = logging.getLogger(__name__)


class LogFormat(StrEnum):
    TEXT = "text"
    JSON = "json"


def safe_id(value: str) -> str:
    """``value``, or ``"-"`` if a log should not hold it: over 64 characters, or odd ones."""
    return value if _SAFE_ID.fullmatch(value) else "-"


def log_event(logger: logging.Logger, event: str, **fields: str | float | None) -> None:
    """Log an event with its fields; those that are None are left out."""
    present = {name: value for name, value in fields.items() if value is not None}
    message = " ".join([event, *(f"{name}={value}" for name, value in present.items())])
    logger.info("%s", message, extra={"event": event, "fields": present})


class RequestLog:
    """ASGI middleware: gives each request its id, answers with it, and logs the outcome."""

    def __init__(self, app: ASGIApp, quiet_paths: frozenset[str] = frozenset()) -> None:
        """Args: quiet_paths: paths that are polled; only odd answers of theirs are logged."""
        self._app = app
        self._quiet_paths = quiet_paths

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        identity = _identity(Headers(scope=scope))
        request_id.set(identity)  # the server runs each request in a task of its own
        began_at = time.monotonic()
        status = 500

        async def answer(message: Message) -> None:
            nonlocal status
            if message["type"] == "websocket.close" and status != 101:
                status = 403  # closed before it was accepted
            elif message["type"] in _ANSWERS:
                status = message.get("status", 101)
                message.setdefault("headers", [])
                MutableHeaders(scope=message)[REQUEST_ID_HEADERS[-1]] = identity
            await send(message)

        try:
            await self._app(scope, receive, answer)
        finally:
            if scope["path"] not in self._quiet_paths or status not in (200, 503):
                log_event(
                    _log,
                    "request" if scope["type"] == "http" else "connection",
                    method=scope.get("method"),
                    # A path that we do not serve is the client's words.
                    path=scope["path"] if status not in (403, 404) else None,
                    status=status,
                    seconds=round(time.monotonic() - began_at, 3),
                )


class UtteranceLog:
    """An observer that logs what became of each utterance."""

    def utterance_ended(self, record: UtteranceRecord) -> None:
        first_s = None
        if record.first_sent_at is not None:
            first_s = round(record.first_sent_at - record.requested_at, 3)
        log_event(
            _log,
            "utterance",
            session=safe_id(record.session),
            utterance=safe_id(record.utterance),
            outcome=record.outcome,
            first_sound_s=first_s,
            audio_s=round(record.audio_s, 3),
        )


def configure(log_format: LogFormat, level: int = logging.INFO) -> None:
    """Send the logs of this process to standard error in this format."""
    handler = logging.StreamHandler()
    handler.setFormatter(_JsonFormatter() if log_format is LogFormat.JSON else _TextFormatter())
    handler.addFilter(_NoPeerFaults())
    logging.basicConfig(handlers=[handler], level=logging.WARNING, force=True)
    logging.getLogger("speakahead").setLevel(level)


class _SafeFormatter(logging.Formatter):
    converter = staticmethod(time.gmtime)

    @override
    def formatException(self, ei: Any) -> str:
        """Where, not what: the text of an exception may hold the client's words."""
        kind, _, where = ei
        return f"{getattr(kind, '__name__', 'error')} at\n{''.join(traceback.format_tb(where))}"


class _TextFormatter(_SafeFormatter):
    def __init__(self) -> None:
        super().__init__("%(asctime)s.%(msecs)03dZ %(levelname)s %(name)s: %(message)s")
        self.datefmt = "%Y-%m-%dT%H:%M:%S"

    @override
    def formatMessage(self, record: logging.LogRecord) -> str:
        line = super().formatMessage(record)
        identity = request_id.get()
        return line if identity == "-" else f"{line} request={identity}"


class _JsonFormatter(_SafeFormatter):
    def format(self, record: logging.LogRecord) -> str:
        stamp = self.formatTime(record, "%Y-%m-%dT%H:%M:%S")
        line: dict[str, Any] = {
            "time": f"{stamp}.{int(record.msecs):03d}Z",
            "level": record.levelname.lower(),
            "logger": record.name,
        }
        if (identity := request_id.get()) != "-":
            line["request"] = identity
        event: str | None = getattr(record, "event", None)
        if event is None:
            line["message"] = record.getMessage()
        else:
            line |= {"event": event, **getattr(record, "fields", {})}
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return json.dumps(line, ensure_ascii=False)


class _NoPeerFaults(logging.Filter):
    """Keeps lines out of the log that are the peer's fault or hold the peer's words."""

    def filter(self, record: logging.LogRecord) -> bool:
        if record.exc_info is not None and isinstance(record.exc_info[1], UnicodeDecodeError):
            return False  # a malformed frame
        # uvicorn logs a WebSocket's address with its query, which may hold a key. We log our own.
        return not (record.name == "uvicorn.error" and '"WebSocket' in str(record.msg))


def _identity(headers: Headers) -> str:
    for name in REQUEST_ID_HEADERS:
        if _SAFE_ID.fullmatch(given := headers.get(name, "")):
            return given
    return uuid.uuid4().hex
