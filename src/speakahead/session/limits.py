"""The one policy of how much a session takes in."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """What a session accepts.

    Attributes:
        max_text: characters in one request; more is refused with ``text_too_long``.
        max_utterance: characters in one utterance; more ends it with ``text_too_long``.
        max_waiting: characters that may wait for the engine before the session is ``congested``
            and its caller should stop reading requests. Large, because an interruption that stands
            behind unread text is not read either: this much takes most of a day to say, which is
            more than a session may last.
        max_utterances: utterances that may wait; more also make the session congested.
        cut_ahead: characters of sentences that are found ahead of the engine. Text behind them
            waits as it came.
        work_ahead: sentences handed out at a time. Two keep the engine busy without a gap, and
            leave little to undo when the session is interrupted.
        soft_limit: characters after which an endless sentence is cut at a clause.
    """

    max_text: int = 20_000
    max_utterance: int = 200_000
    max_waiting: int = 1_000_000
    max_utterances: int = 5_000
    cut_ahead: int = 10_000
    work_ahead: int = 2
    soft_limit: int = 200
