"""An utterance, as the client of a session over several legs follows it."""

from __future__ import annotations

from dataclasses import dataclass, field

from speakahead.audio.pcm import SAMPLE_RATE
from speakahead.session.events import UtteranceCancelled, VoiceSettings
from speakahead.session.utterance import Stretch, heard_end
from speakahead.text.spans import Span


@dataclass(slots=True, eq=False)
class Followed:
    """What is known of an utterance that has not ended.

    Attributes:
        legs: how many have spoken it.
        untouched: this leg has not begun with it, though an earlier one had.
        base: what the leg's own positions count from: a character and a sample.
        begins: the sentence that is being spoken: its first character and sample.
        ends: the end of what has been announced of it; 0 before the first.
        goes_on: more of that sentence follows in the next unit.
        parts: how often parts of that sentence have been announced.
        parts_known: announcements that come again.
        samples: that have come.
        plays_until: when a client that plays without a pause will have played those.
        heard: its words, for an interruption that no leg can answer.
    """

    name: str
    settings: VoiceSettings
    text: str = ""
    ended: bool = False
    held: bool = False
    started: bool = False
    legs: int = 1
    untouched: bool = False
    base: tuple[int, int] = (0, 0)
    begins: tuple[int, int] = (0, 0)
    ends: int = 0
    goes_on: bool = False
    parts: int = 0
    parts_known: int = 0
    samples: int = 0
    plays_until: float = float("-inf")
    heard: list[Stretch] = field(default_factory=list)

    @property
    def base_s(self) -> float:
        return self.base[1] / SAMPLE_RATE

    def moved(self, span: Span) -> Span:
        return Span(span.start + self.base[0], span.end + self.base[0])

    def cancelled(self, played_s: float | None, now: float, *, final: bool) -> UtteranceCancelled:
        """The answer to an interruption, as far as it is known here."""
        if played_s is None:
            played_s = max(0.0, self.samples / SAMPLE_RATE - max(0.0, self.plays_until - now))
        end = heard_end(self.text, self.heard, played_s)
        return UtteranceCancelled(self.name, played_s, self.text[:end], self.text[end:], final)
