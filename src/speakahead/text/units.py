"""Finds the end of the unit at the front of a `Window`: a sentence, a line, a fenced block."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

from speakahead.text.abbreviations import Lexicon
from speakahead.text.boundaries import Context, judge
from speakahead.text.characters import (
    CJK_CLOSERS,
    CJK_OPENERS,
    LINE_BREAKS,
    TERMINATORS,
    last_whole_character,
    spoken_length,
)
from speakahead.text.window import Waiting, Window

# Runs longer than this open neither a code span nor a fence that anything would close.
_MAX_MARKS = 64
_MAX_INFO_STRING = 120
_MAX_TAG = 256
_BULLETS = frozenset("•‣⁃◦▪●")
_WIDE_STRONG = frozenset("；：؛")
_WIDE_WEAK = frozenset("、，،・—")
_MAX_CONJUNCTION = 12


class Boundary(StrEnum):
    """What ended a unit."""

    SENTENCE = "sentence"
    """The end of a sentence."""
    LINE = "line"
    """A line break, or the end of a fenced block."""
    CLAUSE = "clause"
    """The soft limit: the sentence, line or block goes on in the next unit."""
    END = "end"
    """The end of the message."""


class Unit(NamedTuple):
    """The unit ends before ``end``, a position in the window."""

    end: int
    boundary: Boundary


def opens_fence(window: Window) -> Waiting[bool]:
    """Whether the window starts with the opening line of a fenced block (CommonMark 0.31, 4.5).

    An indent of any size is allowed, as in list items.
    """
    mark = window.chars[0]
    if mark not in "`~":
        return False
    width = yield from window.run_of(mark, 0, _MAX_MARKS)
    if width < 3:
        return False
    for i in range(width, width + _MAX_INFO_STRING):
        c = yield from window.at(i)
        if not c or c in LINE_BREAKS:
            return True
        if c == mark == "`":
            return False  # a code span
    return False


class FenceScan:
    """The scan of a fenced block; an endless one is cut between lines above ``limit``."""

    def __init__(self, window: Window, limit: int | None) -> None:
        self._window = window
        self._mark = window.chars[0]
        self._limit = limit
        self._width = 0  # of the opening fence; 0: not read yet

    def run(self) -> Waiting[Unit]:
        """Find the end of the block, or of a part of it; then call again for the next part."""
        window = self._window
        i = line_start = 0
        # Whether the line is a closing fence; None while only white space was seen.
        closing: bool | None = None
        if not self._width:
            i = self._width = yield from window.run_of(self._mark, 0, _MAX_MARKS)
            closing = False
        while c := (yield from window.at(i)):
            if c in LINE_BREAKS:
                line_start = i + 1
                if closing:
                    return Unit(line_start, Boundary.LINE)
                closing = None
            elif c == self._mark and closing is None:
                width = yield from window.run_of(c, i, _MAX_MARKS)
                closing = width >= self._width
                i += width - 1
            elif not c.isspace():
                closing = False
            i += 1
            if self._limit is not None and i > self._limit and not closing:
                return Unit(line_start or i, Boundary.CLAUSE)
        return Unit(i, Boundary.END)


class UnitScan:
    """The scan of one unit outside a fence."""

    def __init__(
        self, window: Window, context: Context, lexicon: Lexicon, limit: int | None
    ) -> None:
        self._window = window
        self._context = context
        self._lexicon = lexicon
        self._limit = limit
        self._bullet = window.chars[0] if window.chars[0] in _BULLETS else ""
        self._list_number = 0  # of an item "3)"; 0: none
        self._code_width = 0  # of the backticks around a code span; 0: outside
        self._tag_end = 0
        self._length = 0
        # The last place to cut by rank: strong mark, comma, conjunction, space, any space.
        self._cuts = [0, 0, 0, 0, 0]
        self._word_start = 0

    def run(self) -> Waiting[Unit]:
        """Find the end of the unit."""
        window = self._window
        chars = window.chars
        i = 0
        while True:
            if i == len(chars):
                if window.ended:
                    return Unit(i, Boundary.END)
                yield
                continue
            c = chars[i]
            if c in LINE_BREAKS:
                return Unit(i + 1, Boundary.LINE)
            if c in TERMINATORS and not self._is_protected(i):
                verdict = yield from judge(window, i, self._context, self._lexicon)
                end = verdict.position
                if verdict.ends:
                    at_line_end = end < len(chars) and chars[end] in LINE_BREAKS
                    return Unit(end, Boundary.LINE if at_line_end else Boundary.SENTENCE)
                self._pass_over(i, end)
                i = end
            elif c == "`":
                width = yield from window.run_of("`", i, _MAX_MARKS)
                if not self._code_width:
                    self._code_width = width
                elif self._code_width == width:
                    self._code_width = 0
                self._length += width
                i += width
            else:
                if c == "<" and not self._is_protected(i):
                    self._tag_end = yield from self._find_tag_end(i)
                elif c == ")" or c == self._bullet:
                    start = yield from self._find_next_item(i)
                    if start:
                        return Unit(start, Boundary.LINE)
                self._note(i, c)
                i += 1
            if self._limit is not None and self._length > self._limit:
                cut = self._find_cut(i, self._limit)
                if cut:
                    return Unit(cut, Boundary.CLAUSE)

    def _is_protected(self, i: int) -> bool:
        """Whether ``i`` is where no sentence ends."""
        return self._context.is_table_row or self._code_width > 0 or i < self._tag_end

    def _note(self, i: int, c: str) -> None:
        """Take note of the ordinary character ``c`` at ``i``."""
        context = self._context
        self._length += spoken_length(c)
        if c.isalnum():
            context.has_word = True
            if not context.has_letter and c.isalpha() and not self._is_protected(i):
                context.has_letter = True
                context.lower_case = c.islower()
        else:
            self._note_bracket(c)
            if self._limit is not None:
                self._note_cut(i, c)

    def _note_bracket(self, c: str) -> None:
        if c in CJK_OPENERS:
            self._context.brackets += 1
        elif c in CJK_CLOSERS and self._context.brackets:
            self._context.brackets -= 1

    def _pass_over(self, start: int, end: int) -> None:
        """Take note of terminators, and what closes them, that do not end the unit."""
        for c in self._window.chars[start:end]:
            self._note_bracket(c)
            self._length += spoken_length(c)
        if self._window.chars[start] not in ".．":
            self._cuts[0] = end

    def _note_cut(self, i: int, c: str) -> None:
        """Remember the place after ``c``, if the unit may be cut there."""
        after = i + 1
        if c.isspace():
            self._cuts[4] = after
        if self._context.is_table_row:
            if c == "|":
                self._cuts[0] = after
        elif self._is_protected(i):
            return
        elif c in _WIDE_STRONG:
            self._cuts[0] = after
        elif c in _WIDE_WEAK:
            self._cuts[1] = after
        if not c.isspace():
            return
        previous = self._window.chars[i - 1] if i else ""
        word = self._window.text(self._word_start, min(i, self._word_start + _MAX_CONJUNCTION))
        if word.lower() in self._lexicon.conjunctions:
            self._cuts[2] = self._word_start
        if previous in (";", ":", "—", "–"):
            self._cuts[0] = after
        elif previous == ",":
            self._cuts[1] = after
        elif not previous.isdigit():  # keep "10 000" and "5 km" whole
            self._cuts[3] = after
        self._word_start = after

    def _find_cut(self, i: int, limit: int) -> int:
        """Where to cut the unit, which is too long with ``i`` characters; 0: not yet.

        No place in the first third is taken: the parts would be too short to sound well, and the
        characters after the place are looked at again, which must not happen often.
        """
        hopeless = self._length > 2 * limit
        for cut in self._cuts if hopeless else self._cuts[:4]:
            if cut > i // 3:
                return cut
        return last_whole_character(self._window.chars, i) if hopeless else 0

    def _find_tag_end(self, i: int) -> Waiting[int]:
        """The position after the tag that starts at ``i``; ``i`` if there is none.

        A tag is a name, then nothing or attributes with ``=``: "if a<b or b>c" has none.
        """
        window = self._window
        k = i + 1
        if (yield from window.at(k)) == "/":
            k += 1
        name, c = yield from window.word_at(k, 32, "-:_")
        if not name[:1].isalpha():
            return i
        k += len(name)
        has_attributes = False
        is_tag = c in (">", "/")
        while k < i + _MAX_TAG and (c := (yield from window.at(k))):
            if c == ">":
                return k + 1 if is_tag or has_attributes else i
            if c == "<" or c in LINE_BREAKS:
                break
            has_attributes = has_attributes or c == "="
            k += 1
        return i

    def _find_next_item(self, i: int) -> Waiting[int]:
        """Where the next item of a list in one line starts, if its marker is at ``i``; else 0.

        A line "1) ... 2) ..." or "• ... • ..." is a list; "1. ... 2. ..." is not taken for one,
        because a sentence may end with the number 2.
        """
        if self._is_protected(i) or i == 0:
            return 0
        window = self._window
        if not (yield from window.at(i + 1)).isspace():
            return 0
        if window.chars[i] == self._bullet:
            return i if window.chars[i - 1].isspace() else 0
        token = window.token_before(i, 5)
        digits = token.removesuffix(".")
        if not (digits.isascii() and digits.isdigit()):
            return 0
        start = i - len(token)
        if start == 0:
            self._list_number = int(digits) if self._context.starts_sentence else 0
            return 0
        follows = self._list_number and int(digits) == self._list_number + 1
        return start if follows and window.chars[start - 1].isspace() else 0
