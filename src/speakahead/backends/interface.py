"""What every speech back end offers: one session at a time, requests in and events out."""

from __future__ import annotations

from collections.abc import AsyncIterator
from types import TracebackType
from typing import Protocol, Self

from speakahead.session.events import Event, Request, VoiceSettings


class SpeechStream(Protocol):
    """One session of speech; use as an async context manager, which opens and closes it.

    ``send`` gives it requests, and may wait where the back end has no room for more text.
    Iteration gives its events, in one task; it ends after ``SessionClosed`` or ``aclose``.

    Raises:
        SpeakaheadError: the back end cannot be reached any more, or refused.
    """

    async def send(self, request: Request) -> None: ...

    def __aiter__(self) -> AsyncIterator[Event]: ...

    async def __anext__(self) -> Event: ...

    async def aclose(self) -> None: ...

    async def __aenter__(self) -> Self: ...

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None: ...


class SpeechBackend(Protocol):
    """Opens sessions of speech."""

    def open(self, settings: VoiceSettings | None = None) -> SpeechStream: ...

    async def aclose(self) -> None: ...
