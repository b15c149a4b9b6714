"""Who is told what became of each utterance."""

from __future__ import annotations

from typing import Protocol

from speakahead.session.record import UtteranceRecord

__all__ = ["Observer", "UtteranceRecord"]


class Observer(Protocol):
    """Is told about each utterance when it ends. Called on the event loop; must not block.

    Times of the record are of ``time.monotonic``.
    """

    def utterance_ended(self, record: UtteranceRecord) -> None: ...
