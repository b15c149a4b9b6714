"""One HTTP request and its answer, whatever HTTP version they travel in."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Protocol


class ClientGone(Exception):
    """The client has reset the stream, or its connection is gone."""


class Exchange(Protocol):
    """A request that is being served. One task reads and one writes at a time."""

    @property
    def duplex(self) -> bool:
        """Whether both bodies can flow at the same time, as in HTTP/2."""

    @property
    def method(self) -> str:
        """In capitals."""

    @property
    def path(self) -> str:
        """With the query, as sent."""

    @property
    def headers(self) -> Mapping[str, str]:
        """Names in lower case."""

    async def read(self) -> bytes:
        """The next bytes of the request's body; empty at its end.

        What was read counts as consumed: the client may send as much again.

        Raises:
            ClientGone
        """

    async def start(self, status: int, headers: Iterable[tuple[str, str]]) -> None:
        """Send the answer's status and headers.

        Raises:
            ClientGone
        """

    async def send(self, data: bytes) -> None:
        """Send a piece of the answer's body; waits while the client takes no more.

        Raises:
            ClientGone
        """

    async def end(self) -> None:
        """End the answer's body.

        Raises:
            ClientGone
        """

    def reset(self) -> None:
        """Break off this exchange only; where the HTTP version cannot, its connection."""

    def cut(self) -> None:
        """Drop the connection at once, with all that is on it."""

    async def gone(self) -> None:
        """Return once the client has left."""
