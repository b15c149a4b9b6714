"""What became of an utterance, for metrics and traces."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class UtteranceRecord:
    """The stages of one utterance; times are the session's, in seconds, None where not reached.

    Attributes:
        session: name of the session.
        utterance: id of the utterance.
        voice: what it was spoken with.
        requested_at: its first text came in.
        sentence_at: its first sentence was complete.
        phonemes_at: that sentence's phonemes and prosody were there.
        first_window_at: the first sound was decoded.
        first_sent_at: that sound was taken by the door.
        ended_at: it was completed, cancelled, or failed.
        audio_s: seconds of sound that were taken by the door.
        outcome: ``"completed"``, ``"cancelled"``, ``"abandoned"`` or an error's code.
    """

    session: str
    utterance: str
    voice: str
    requested_at: float
    sentence_at: float | None = None
    phonemes_at: float | None = None
    first_window_at: float | None = None
    first_sent_at: float | None = None
    ended_at: float | None = None
    audio_s: float = 0.0
    outcome: str = ""
