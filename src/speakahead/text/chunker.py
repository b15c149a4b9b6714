"""Cuts a text into units to be spoken while it arrives.

`IncrementalSentenceChunker` takes the text in pieces of any size and returns each unit as soon as
the text says that it has ended: a sentence, a line, or a part of a sentence that grew too long.
How the text was cut into pieces makes no difference to the units.

What is a unit:

* A line break ends a unit, so headings, list items and table rows are units.
* A fenced code block is one unit, and a table row is not cut inside.
* Closing quotes, brackets, markup, closing tags and emoji after the end of a sentence belong to it.
* Nothing ends inside code spans, tags, addresses, file names and numbers.

The text is kept verbatim; reading markup aloud is the business of ``speakahead.text.spoken``.
`speakahead.text.units` finds lines and blocks, `speakahead.text.boundaries` judges the full stop
and its like.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from speakahead.text.abbreviations import lexicon
from speakahead.text.boundaries import Context
from speakahead.text.spans import Span
from speakahead.text.units import Boundary, FenceScan, Unit, UnitScan, opens_fence
from speakahead.text.window import Waiting, Window

__all__ = ["Boundary", "IncrementalSentenceChunker", "Sentence"]

# The window is extended by this many characters at a time, so that taking a unit off its front
# moves few characters even if the whole text arrives at once.
_SLICE = 1024
# A fenced block is one unit up to this many times the soft limit.
_FENCE_FACTOR = 40
_MIN_SOFT_LIMIT = 20


@dataclass(frozen=True, slots=True)
class Sentence:
    """One unit, verbatim.

    Attributes:
        text: ``source[span.start:span.end]``; never empty, no white space at its ends.
        index: how many units came before it.
        span: its position in all the text fed so far, in characters.
        boundary: what ended it.
        fenced: it is a fenced code block, or a part of one that is very long; only the first
            part shows the fence in its text.
    """

    text: str
    index: int
    span: Span
    boundary: Boundary
    fenced: bool = False


class IncrementalSentenceChunker:
    """Returns the units of a text while it arrives.

    The work grows in proportion to the text. With a soft limit the text held back is bounded too.
    """

    def __init__(self, language: str = "en", *, soft_limit: int | None = 200) -> None:
        """Start at position 0.

        Args:
            language: BCP 47 tag of the text; a language without rules of its own gets the English
                ones.
            soft_limit: length above which a sentence is cut at the best place before; where there
                is none, at the next one, or at twice the limit. The length is in characters, but
                those that stand for several sounds count more: an ideograph 3, a digit, a kana or
                a Hangul syllable 2. A fenced block is cut above 40 times the limit, between
                lines. None: nothing is cut.

        Raises:
            ValueError: ``soft_limit`` is less than 20.
        """
        if soft_limit is not None and soft_limit < _MIN_SOFT_LIMIT:
            raise ValueError(f"soft_limit must be at least {_MIN_SOFT_LIMIT} characters")
        self._lexicon = lexicon(language)
        self._soft_limit = soft_limit
        self._window = Window()
        self._index = 0
        self._ready: list[Sentence] = []
        self._scan = self._run()

    @property
    def pending(self) -> str:
        """The text that arrived and is not part of a unit yet."""
        return "".join(self._window.chars)

    def feed(self, delta: str) -> list[Sentence]:
        """Take the next piece of the text; return the units that it completed."""
        for start in range(0, len(delta), _SLICE):
            self._window.chars += delta[start : start + _SLICE]
            next(self._scan)
        return self._take()

    def flush(self) -> list[Sentence]:
        """End the message: return all that is left.

        More text may follow, as a new message; indices and positions go on counting.
        """
        self._window.ended = True
        for _ in self._scan:
            pass
        self._window.ended = False
        self._scan = self._run()
        return self._take()

    def _take(self) -> list[Sentence]:
        ready, self._ready = self._ready, []
        return ready

    def _run(self) -> Waiting[None]:
        """Cut units off the front of the window until the message ends."""
        window = self._window
        context = Context()
        while (yield from self._skip_space()):
            if context.starts_sentence and (yield from opens_fence(window)):
                yield from self._run_fence()
                continue
            if context.starts_sentence:
                context.is_table_row = window.chars[0] == "|"
            unit = yield from UnitScan(window, context, self._lexicon, self._soft_limit).run()
            self._emit(unit)
            if unit.boundary is Boundary.CLAUSE:
                context = replace(context, starts_sentence=False, brackets=0)
            else:
                context = Context()

    def _run_fence(self) -> Waiting[None]:
        limit = None if self._soft_limit is None else self._soft_limit * _FENCE_FACTOR
        scan = FenceScan(self._window, limit)
        while True:
            unit = yield from scan.run()
            self._emit(unit, fenced=True)
            if unit.boundary is not Boundary.CLAUSE:
                return

    def _skip_space(self) -> Waiting[bool]:
        """Drop white space; whether anything follows it."""
        chars = self._window.chars
        while True:
            count = 0
            while count < len(chars) and chars[count].isspace():
                count += 1
            self._window.drop(count)
            if chars:
                return True
            if self._window.ended:
                return False
            yield

    def _emit(self, unit: Unit, *, fenced: bool = False) -> None:
        """Take the unit off the window, and have it ready unless it is only white space."""
        raw = self._window.text(0, unit.end)
        text = raw.strip()
        if text:
            start = self._window.position + len(raw) - len(raw.lstrip())
            span = Span(start, start + len(text))
            self._ready.append(Sentence(text, self._index, span, unit.boundary, fenced))
            self._index += 1
        self._window.drop(unit.end)
