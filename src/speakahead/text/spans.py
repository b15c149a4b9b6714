"""Source positions, kept through every rewriting of the text.

Captions, and the answer to "what was heard", are given in positions of the text that the client
sent, although what is spoken may read quite differently ("$3.50" is spoken as "three dollars and
fifty cents"). So every character of the spoken form knows which part of the source it stands for.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple


class Span(NamedTuple):
    """A half-open range ``[start, end)`` of characters in the source text."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class SpannedText:
    """A text in which each character knows the source span that it stands for.

    ``origins`` has one span for each character of ``text``, with starts that never decrease.
    """

    text: str
    origins: tuple[Span, ...]

    def __post_init__(self) -> None:
        if len(self.text) != len(self.origins):
            raise ValueError("a spanned text needs one origin for each character")

    @classmethod
    def verbatim(cls, text: str, start: int = 0) -> SpannedText:
        """Text as it stands in the source, where its first character has position ``start``."""
        return cls(text, tuple(Span(i, i + 1) for i in range(start, start + len(text))))

    def __len__(self) -> int:
        return len(self.text)

    def __add__(self, other: SpannedText) -> SpannedText:
        return SpannedText(self.text + other.text, self.origins + other.origins)

    def cut(self, start: int, end: int) -> SpannedText:
        """The part ``[start, end)`` of this text, with its origins."""
        return SpannedText(self.text[start:end], self.origins[start:end])

    def source(self, start: int, end: int) -> Span:
        """The source span that the characters ``[start, end)`` of this text stand for.

        An empty range gives an empty span at the place where it would be.
        """
        if start >= end:
            if start < len(self.origins):
                return Span(self.origins[start].start, self.origins[start].start)
            last = self.origins[-1].end if self.origins else 0
            return Span(last, last)
        first = self.origins[start]  # starts never decrease
        if end - start == 1:
            return first
        return Span(first.start, max(span.end for span in self.origins[start:end]))

    def rewrite(
        self, pattern: re.Pattern[str], replacement: Callable[[re.Match[str]], str | None]
    ) -> SpannedText:
        """Replace each match of ``pattern``; all of a replacement stands for all of its match.

        ``replacement`` returns the new text, or None to leave this match as it is. A match may be
        replaced by nothing.
        """
        pieces: list[str] = []
        origins: list[Span] = []
        done = 0
        for match in pattern.finditer(self.text):
            new = replacement(match)
            if new is None or new == match[0]:
                continue
            start, end = match.span()
            pieces += (self.text[done:start], new)
            origins += self.origins[done:start]
            origins += [self.source(start, end)] * len(new)
            done = end
        if done == 0 and not pieces:
            return self
        pieces.append(self.text[done:])
        origins += self.origins[done:]
        return SpannedText("".join(pieces), tuple(origins))

    def unwrapped(self, pattern: re.Pattern[str]) -> SpannedText:
        """Replace each match of ``pattern`` by its group 1, whose characters keep their origins."""
        pieces: list[str] = []
        origins: list[Span] = []
        done = 0
        for match in pattern.finditer(self.text):
            for start, end in ((done, match.start()), match.span(1)):
                pieces.append(self.text[start:end])
                origins += self.origins[start:end]
            done = match.end()
        if not done:
            return self
        pieces.append(self.text[done:])
        origins += self.origins[done:]
        return SpannedText("".join(pieces), tuple(origins))

    def stripped(self) -> SpannedText:
        """This text without white space at its ends."""
        left = len(self.text) - len(self.text.lstrip())
        return self.cut(left, max(left, len(self.text.rstrip())))
