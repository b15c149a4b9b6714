"""The answer to a streaming request: events, and the faults that strike between them."""

from __future__ import annotations

import asyncio
import contextlib

from speakahead.emulator.events import (
    CONTENT_TYPE,
    PayloadPart,
    encode_error,
    encode_exception,
    encode_part,
)
from speakahead.emulator.exchange import Exchange
from speakahead.emulator.faults import Fault, FaultKind, RequestFaults
from speakahead.emulator.refusals import StreamRefused

_LAST_EVENT_TIMEOUT_S = 30.0


class EventResponse:
    """The events of one answer.

    Args:
        headers: of the answer, besides its content type.
    """

    def __init__(
        self, exchange: Exchange, faults: RequestFaults, headers: list[tuple[str, str]]
    ) -> None:
        self._exchange = exchange
        self._faults = faults
        self._headers = [("content-type", CONTENT_TYPE), *headers]
        self._sending = False
        self._parts = 0

    @property
    def sending(self) -> bool:
        """Whether an event is on its way to the client, or was when its sending was stopped."""
        return self._sending

    @property
    def parts(self) -> int:
        """How many parts have been sent."""
        return self._parts

    async def start(self, headers: list[tuple[str, str]] | None = None) -> None:
        """Send the head, with more headers.

        Raises:
            FaultFired, ClientGone
        """
        await self._exchange.start(200, [*self._headers, *(headers or [])])
        self._faults.answered(0)

    async def part(self, part: PayloadPart) -> None:
        """Send a part.

        Raises:
            FaultFired, ClientGone
        """
        await self._send(encode_part(part))
        self._parts += 1
        self._faults.answered(self._parts)

    async def end(self) -> None:
        """End the answer; one that was stopped within an event is broken off instead.

        Raises:
            ClientGone
        """
        if self._sending:
            self._exchange.reset()
        else:
            await self._exchange.end()

    async def model_stream_error(self, code: str, message: str) -> None:
        """End with what went wrong at the container.

        Args:
            code: a WebSocket close code, ``StreamBroken`` or ``ModelInvocationTimeExceeded``.

        Raises:
            ClientGone
        """
        members = {"Message": message, "ErrorCode": code}
        await self._finish(encode_exception("ModelStreamError", members))

    async def refuse(self, refused: StreamRefused) -> None:
        """End with what is wrong with the client's events.

        Raises:
            ClientGone
        """
        await self._finish(encode_error(refused.code, refused.message))

    async def perform(self, fault: Fault) -> None:
        """Let a fault of an open stream happen.

        Raises:
            ClientGone
        """
        match fault.kind:
            case FaultKind.STALL:
                await self._exchange.gone()
            case FaultKind.RESET:
                self._exchange.reset()
            case FaultKind.CUT:
                self._exchange.cut()
            case FaultKind.MODEL_STREAM_ERROR:
                await self.model_stream_error("1011", "A fault that was asked for.")
            case FaultKind.INTERNAL_STREAM_FAILURE:
                members = {"Message": "A fault that was asked for."}
                await self._finish(encode_exception("InternalStreamFailure", members))
            case FaultKind.EARLY_CLOSE:
                await self.model_stream_error("1000", "")
            case _:
                await self.end()

    async def _finish(self, event: bytes) -> None:
        if not self._sending:
            with contextlib.suppress(TimeoutError):  # the stream is broken off by end() then
                async with asyncio.timeout(_LAST_EVENT_TIMEOUT_S):
                    await self._send(event)
        await self.end()

    async def _send(self, event: bytes) -> None:
        self._sending = True
        await self._exchange.send(event)
        self._sending = False
