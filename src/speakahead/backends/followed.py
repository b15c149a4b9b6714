"""An utterance, as the client of a session over several legs follows it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from speakahead.audio.pcm import SAMPLE_RATE
from speakahead.session.events import (
    Append,
    Flush,
    Hold,
    Request,
    UtteranceCancelled,
    VoiceSettings,
)
from speakahead.session.utterance import Stretch, heard_end
from speakahead.text.spans import Span

_PIECE = 10_000
"""Characters of one request to the next leg. By default a server refuses more than twice as many,
though an utterance may have far more."""


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

    def again(self, start: int, known: int = 0) -> list[Request]:
        """What asks the next leg for the text from ``start``, of which ``known`` samples came."""
        # A blank where there is nothing, for without text there is no utterance.
        rest = self.text[start:] or " "
        requests: list[Request] = [Hold(self.name)] if self.held else []
        skip = known if self.started else None
        requests.append(Append(rest[:_PIECE], self.settings, self.name, skip))
        requests += [
            Append(rest[position : position + _PIECE], None, self.name)
            for position in range(_PIECE, len(rest), _PIECE)
        ]
        return [*requests, Flush()] if self.ended else requests

    def cancelled(self, played_s: float | None, now: float, *, final: bool) -> UtteranceCancelled:
        """The answer to an interruption, as far as it is known here."""
        if played_s is None:
            played_s = max(0.0, self.samples / SAMPLE_RATE - max(0.0, self.plays_until - now))
        end = heard_end(self.text, self.heard, played_s)
        return UtteranceCancelled(self.name, played_s, self.text[:end], self.text[end:], final)


class Opening:
    """What deltas without text have said of an utterance that begins with its first text."""

    def __init__(self) -> None:
        self._said: Append | None = None

    def joined(self, request: Append) -> Append:
        """A delta with what was said before, which is remembered until it has text."""
        said, self._said = self._said, None
        if said is not None and request.utterance in (None, said.utterance):
            settings = request.settings or said.settings
            request = replace(request, settings=settings, utterance=said.utterance)
        if not request.delta:
            self._said = request
        return request

    def forget(self, name: str | None = None) -> list[str]:
        """Drop an utterance of this name; None: whatever it is. Returns the name, if it has one."""
        said = self._said
        if said is None or name not in (None, said.utterance):
            return []
        self._said = None
        return [] if said.utterance is None else [said.utterance]
