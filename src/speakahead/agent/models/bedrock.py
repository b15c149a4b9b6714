"""Amazon Bedrock, so that a reply that is stopped is really stopped."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import AsyncGenerator
from typing import Any

from strands.models.bedrock import BedrockModel
from strands.types.content import Messages
from strands.types.streaming import StreamEvent


class _Latch(threading.Event):
    """Set once the signal that it follows has been seen set, and for good."""

    def __init__(self, signal: threading.Event | None) -> None:
        super().__init__()
        self._signal = signal

    def is_set(self) -> bool:
        if self._signal is not None and self._signal.is_set():
            self.set()
        return super().is_set()


class StoppableBedrockModel(BedrockModel):
    """Ends the transfer at the next chunk after a reply was stopped, in whatever way.

    Strands clears its signal as soon as the agent has stopped, which may be before the thread that
    reads from Bedrock has looked at it; that one then reads, and one pays for, the whole reply.
    """

    async def stream(
        self,
        messages: Messages,
        *arguments: Any,
        cancel_signal: threading.Event | None = None,
        **options: Any,
    ) -> AsyncGenerator[StreamEvent, None]:
        latch = _Latch(cancel_signal)
        chunks = super().stream(messages, *arguments, cancel_signal=latch, **options)
        try:
            async with contextlib.aclosing(chunks):
                async for chunk in chunks:
                    yield chunk
        finally:
            latch.set()
