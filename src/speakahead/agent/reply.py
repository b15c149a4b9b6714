"""A reply as a model produces it: text, tool calls and their results, in order."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass
from typing import Protocol

from speakahead.agent.events import StopReason


@dataclass(frozen=True, slots=True)
class TextWritten:
    """The model has written more text."""

    text: str


@dataclass(frozen=True, slots=True)
class ToolCalled:
    """The model has begun to call a tool. It may write more, but does not know the result yet."""

    name: str


@dataclass(frozen=True, slots=True)
class ToolsAnswered:
    """The results of all calls are there, and the model goes on with them.

    ``succeeded`` is False if any of the tools failed.
    """

    succeeded: bool = True


@dataclass(frozen=True, slots=True)
class Written:
    """The reply is complete; the last event."""

    reason: StopReason = "end_turn"


ReplyEvent = TextWritten | ToolCalled | ToolsAnswered | Written


class ReplyStream(Protocol):
    """One reply; iterate it in one task.

    Raises:
        SpeakaheadError: the model failed.
    """

    def __aiter__(self) -> AsyncIterator[ReplyEvent]: ...

    async def __anext__(self) -> ReplyEvent: ...

    async def aclose(self) -> None:
        """Stop the model, within half a second; idempotent."""
        ...


class ReplayedReply:
    """A reply that is known already, written again at given times.

    Args:
        pieces: text, and when it is written in seconds from now; in order.
    """

    def __init__(self, pieces: Iterable[tuple[float, str]]) -> None:
        self._began = time.monotonic()
        self._pieces = iter(pieces)
        self._ended = False

    def __aiter__(self) -> AsyncIterator[ReplyEvent]:
        return self

    async def __anext__(self) -> ReplyEvent:
        if self._ended:
            raise StopAsyncIteration
        piece = next(self._pieces, None)
        if piece is None:
            self._ended = True
            return Written()
        at_s, text = piece
        await asyncio.sleep(max(0.0, self._began + at_s - time.monotonic()))
        return TextWritten(text)

    async def aclose(self) -> None:
        self._ended = True
