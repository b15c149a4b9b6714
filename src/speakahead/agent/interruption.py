"""How a turn is interrupted from outside of its events."""

from __future__ import annotations

import asyncio
import time


class Interruption:
    """Lets a listener interrupt a turn from outside of its events.

    Made by whoever takes the request, so that what arrives together with it is about its turn.

    Args:
        stuck: is set when the conversation's next turn has waited too long for this one to be
            taken by its client, which is then to be left.
    """

    def __init__(self, stuck: asyncio.Event | None = None) -> None:
        self.stuck = stuck or asyncio.Event()
        self.at: float | None = None
        self.played_s: float | None = None
        self._event = asyncio.Event()

    def interrupt(self, played_s: float | None = None) -> None:
        """The listener does not want to hear more.

        Args:
            played_s: seconds of the turn's sound that were heard; None: what a client that plays
                without a pause has played by now.
        """
        if self.at is None:
            self.at = time.monotonic()
            self.played_s = played_s
            self._event.set()

    async def wait(self) -> None:
        """Return when the listener has interrupted."""
        await self._event.wait()
