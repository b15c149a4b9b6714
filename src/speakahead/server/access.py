"""Who may use the server: API keys, and the web origins of pages.

Both are off by default, because the platform's own authorisation stands in front of an endpoint
there. A key is taken from the first of these that is present:

1. ``Authorization: Bearer <key>`` (RFC 6750),
2. the query parameter ``api_key``,
3. the WebSocket subprotocol ``speakahead.key.<key>``, because a page's WebSocket cannot set a
   header. The page offers ``speakahead`` too, which is the one that is accepted, so that the key
   is not sent back.

Keys are kept and compared as digests, always against all of them, so that the time an answer takes
says nothing about them; in logs a key is its number in the list.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from starlette.requests import HTTPConnection
from starlette.types import ASGIApp, Receive, Scope, Send

from speakahead.errors import Forbidden, InvalidRequest, Unauthorized

SUBPROTOCOL = "speakahead"
"""The WebSocket subprotocol that is accepted when a client offers it."""

_KEY_SUBPROTOCOL = "speakahead.key."
_KEY = re.compile(r"[\x21-\x7e]{8,512}")


@dataclass(frozen=True, slots=True)
class Key:
    """A known API key, by its number in the list, from 1; never the key itself."""

    number: int


class AccessRules:
    """The keys that are known, and the origins that are allowed."""

    def __init__(self, keys: Iterable[str] = (), origins: Iterable[str] = ()) -> None:
        """Args: keys: empty: no key is asked for. origins: empty: no origin is checked."""
        self._digests = tuple(_digest(key) for key in keys)
        self._origins = frozenset(origin.rstrip("/").lower() for origin in origins)

    def authorize(self, connection: HTTPConnection) -> Key | None:
        """The key of a request or WebSocket; None where none is asked for.

        Raises:
            Unauthorized: there is no key, or it is not known.
            Forbidden: a page of another origin makes this request.
        """
        self._check_origin(connection)
        if not self._digests:
            return None
        presented = _presented_key(connection)
        if presented is None:
            raise Unauthorized("An API key is needed; send it as `Authorization: Bearer <key>`.")
        digest = _digest(presented)
        matches = [hmac.compare_digest(digest, known) for known in self._digests]
        if not any(matches):
            raise Unauthorized("The API key is not known.")
        return Key(matches.index(True) + 1)

    def _check_origin(self, connection: HTTPConnection) -> None:
        # CORS alone hides an answer from a page, but lets it spend the machine's time, and does
        # not concern WebSockets at all.
        origin = connection.headers.get("origin", "").lower()
        if not origin or not self._origins or not self._origins.isdisjoint({"*", origin}):
            return
        if urlsplit(origin).netloc != connection.headers.get("host", "").lower():
            raise Forbidden("Pages of this origin may not use the server; see --cors-origin.")


def authorize(connection: HTTPConnection) -> Key | None:
    """``AccessRules.authorize`` with the rules of the connection's application."""
    rules: AccessRules = connection.app.state.speech.access
    return rules.authorize(connection)


def accepted_subprotocol(connection: HTTPConnection) -> str | None:
    """The subprotocol to accept a WebSocket with; None where the client does not offer ours."""
    return SUBPROTOCOL if SUBPROTOCOL in connection.scope.get("subprotocols", ()) else None


class RequireKey:
    """ASGI middleware of a route: lets only those in who are authorised."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        scope["speakahead.key"] = authorize(HTTPConnection(scope))
        await self._app(scope, receive, send)


def parse_keys(listed: str) -> tuple[str, ...]:
    """Keys from a list with commas or line ends between them; lines that begin with # are left out.

    Raises:
        InvalidRequest: a key is shorter than 8 characters, longer than 512, or has characters other
            than printable ASCII in it.
    """
    lines = (line for line in listed.splitlines() if not line.lstrip().startswith("#"))
    keys = tuple(key.strip() for line in lines for key in line.split(",") if key.strip())
    for number, key in enumerate(keys, start=1):
        if _KEY.fullmatch(key) is None:
            raise InvalidRequest(
                f"API key number {number} must be 8 to 512 printable ASCII characters, no spaces."
            )
    return keys


def read_keys(path: Path) -> tuple[str, ...]:
    """The keys in a file, one a line.

    Raises:
        InvalidRequest: the file cannot be read, holds no key, or one that is malformed.
    """
    try:
        keys = parse_keys(path.read_text("utf-8"))
    except (OSError, UnicodeDecodeError):
        raise InvalidRequest("The file with the API keys cannot be read.") from None
    if not keys:  # an empty file must not open the server to everybody
        raise InvalidRequest("The file with the API keys holds none.")
    return keys


def _presented_key(connection: HTTPConnection) -> str | None:
    scheme, _, token = connection.headers.get("authorization", "").partition(" ")
    if scheme.lower() == "bearer":
        return token.strip()
    if (key := connection.query_params.get("api_key")) is not None:
        return key
    for offered in connection.scope.get("subprotocols", ()):
        if offered.startswith(_KEY_SUBPROTOCOL):
            return str(offered.removeprefix(_KEY_SUBPROTOCOL))
    return None


def _digest(key: str) -> bytes:
    return hashlib.sha256(key.encode()).digest()
