"""A growing text that is read forwards by generators which wait for what has not arrived yet."""

from __future__ import annotations

from collections.abc import Generator

type Waiting[T] = Generator[None, None, T]
"""Yields whenever it needs more text; returns a ``T`` in the end."""


class Window:
    """The characters from the start of the current unit on, as far as they have arrived.

    Attributes:
        chars: the characters; they only grow, until `drop` takes some off the front.
        position: of the first of ``chars`` in the source.
        ended: no more characters will come.
    """

    __slots__ = ("_absent", "chars", "ended", "position")

    def __init__(self) -> None:
        self.chars: list[str] = []
        self.position = 0
        self.ended = False
        self._absent: dict[str, int] = {}

    def drop(self, count: int) -> None:
        """Take ``count`` characters off the front."""
        del self.chars[:count]
        self.position += count

    def at(self, i: int) -> Waiting[str]:
        """The character at ``i``, once it is there; ``""`` behind the end of the message."""
        while i >= len(self.chars):
            if self.ended:
                return ""
            yield
        return self.chars[i]

    def text(self, start: int, end: int) -> str:
        """The characters ``[start, end)``, all of which have arrived."""
        return "".join(self.chars[start:end])

    def run_of(self, mark: str, i: int, limit: int) -> Waiting[int]:
        """How many times ``mark`` stands at ``i``, counted up to ``limit``."""
        width = 0
        while width < limit and (yield from self.at(i + width)) == mark:
            width += 1
        return width

    def skip_to(self, start: int, close: str, limit: int) -> Waiting[int]:
        """The position after the first ``close``; ``start`` if white space comes before it.

        Looks at ``limit`` characters at most, and never again at those where ``close`` was missed
        once: a text full of unclosed links would take ``limit`` steps for each of them.
        """
        if self.position + start < self._absent.get(close, 0):
            return start
        end = start
        while end < start + limit:
            c = yield from self.at(end)
            if c == close:
                return end + 1
            if not c or c.isspace():
                break
            end += 1
        self._absent[close] = self.position + end
        return start

    def word_at(self, start: int, limit: int, joiners: str = "_") -> Waiting[tuple[str, str]]:
        """The word at ``start``, cut off at ``limit`` characters, and the character after it."""
        i = start
        while c := (yield from self.at(i)):
            if not (c.isalnum() or c in joiners) or i - start >= limit:
                break
            i += 1
        return self.text(start, i), c

    def token_before(self, end: int, limit: int = 48) -> str:
        """What stands before ``end``, back to white space or an opening mark.

        At most ``limit`` characters.
        """
        start = end
        while start > max(0, end - limit):
            c = self.chars[start - 1]
            if c.isspace() or c in '([{"“‘«*_/<>「（':
                break
            start -= 1
        return self.text(start, end)

    def previous_token(self, end: int) -> str:
        """The token before the white space before ``end``."""
        while end and self.chars[end - 1].isspace():
            end -= 1
        return self.token_before(end)
