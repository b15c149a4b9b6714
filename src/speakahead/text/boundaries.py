"""Decides, at one terminator, whether the sentence ends there.

Each rule reads the text forwards from the terminator through a `Window`. Where the next character
has not arrived, the rule waits for it: a rule is a generator, and sees the same text in the same
order however it was cut into pieces. So the decision is taken at the first character that settles
it, and never depends on the pieces.

How far a rule looks is bounded, so the work for one terminator is too.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import NamedTuple

from speakahead.text.abbreviations import (
    GLUED_STARTERS,
    LABELLED_BY_LETTER,
    TIME_FOLLOWERS,
    Lexicon,
    contains,
)
from speakahead.text.characters import (
    CJK_CLOSERS,
    CLOSERS,
    HARD_TERMINATORS,
    LINE_BREAKS,
    TERMINATORS,
    is_emoji,
    is_wide,
)
from speakahead.text.window import Waiting, Window

_QUOTES = frozenset("\"'”’»›")
_SPACED_CLOSERS = frozenset("»”’")  # French sets its closing mark apart
_ELLIPSIS = frozenset(". …‥\u00a0\u202f")
# After 「…。」 these go on with the sentence, unless they start one of the words below.
_PARTICLES = frozenset("とっをにはがのもだで")
_PARTICLE_LIKE_STARTERS = frozenset("はい でも では とこ とて とり もち もし だか".split())
_CONTINUERS = frozenset(",;:&=|/،؛、，；：")
_MARKUP = " \t*_#>-•⁃+~"
_INITIALS = re.compile(r"(?:[^\W\d_]\.)*[^\W\d_]")
_LIST_MARKER = re.compile(r"[•⁃]?[(\[]?(?:\d{1,3}(?:\.\d{1,3})*|[IVX]{1,5}|[ivx]{1,5}|[^\W\d_])")
# "A" and "I" alone are more often words.
_ROMAN_OR_LETTER = re.compile(r"I[IVX]+|[B-HJ-Z]\d*|[AI]\d+|[VXLC][IVXLC]+")
_MAX_RUN = 64  # of terminators, of closing marks
_MAX_SPACE = 256
_MAX_TAG = 64
_MAX_LINK = 512
_MAX_CITATION = 24


@dataclass(slots=True)
class Context:
    """What the scan knows about a unit, from its start up to the terminator.

    Attributes:
        starts_sentence: the unit is not the rest of a sentence that was too long, so it may start
            with a list marker.
        is_table_row: the unit is (the rest of) a table row.
        has_word: a letter or digit was seen.
        has_letter: a letter was seen.
        lower_case: the first letter of the sentence is in lower case, as in a text without
            capitals, where lower case may follow an end.
        brackets: how many CJK brackets and quotes are open.
    """

    starts_sentence: bool = True
    is_table_row: bool = False
    has_word: bool = False
    has_letter: bool = False
    lower_case: bool = False
    brackets: int = 0


class Verdict(NamedTuple):
    """The unit ends before ``position``, or, if not ``ends``, the scan goes on from there."""

    ends: bool
    position: int


def judge(window: Window, start: int, context: Context, lexicon: Lexicon) -> Waiting[Verdict]:
    """Whether the unit ends at the terminator at ``start`` (and those that follow it)."""
    return (yield from _Terminator(window, start, context, lexicon).judge())


class _Terminator:
    """One run of terminators, and what was found out about it so far.

    ``end`` is where the unit would end: after the run and all that closes it. ``next`` is the
    character after the white space behind ``end``.
    """

    def __init__(self, window: Window, start: int, context: Context, lexicon: Lexicon) -> None:
        self._window = window
        self._start = start
        self._context = context
        self._lexicon = lexicon
        self._before = window.chars[start - 1] if start else ""
        self._run = ""
        self._end = start
        self._closed = False
        self._next_at = start
        self._next = ""

    @property
    def _no_end(self) -> Verdict:
        return Verdict(False, self._start + len(self._run))

    def judge(self) -> Waiting[Verdict]:
        window = self._window
        run_end = yield from self._find_run_end()
        self._run = window.text(self._start, run_end)
        if not self._context.has_word:
            return self._no_end  # "..." or "¿?" alone is no sentence
        hard = self._run[-1] in HARD_TERMINATORS
        after = yield from window.at(run_end)
        if self._run == "．" and self._before.isdigit() and after.isdigit():
            return self._no_end  # a full-width decimal
        self._end = yield from self._find_closers_end(run_end)
        self._closed = self._end > run_end
        if not (yield from window.at(self._end)):
            return self._no_end
        if hard and (verdict := (yield from self._judge_hard())):
            return verdict
        spaced, emoji = yield from self._find_next()
        if not self._next:
            return self._no_end
        if self._next in LINE_BREAKS:
            return Verdict(True, self._end)
        if self._next == "<" and (yield from window.at(self._next_at + 1)) == "/":
            tag_end = yield from window.skip_to(self._next_at, ">", _MAX_TAG)
            if tag_end > self._next_at:
                return Verdict(True, tag_end)
        if emoji or (hard and spaced):
            return Verdict(True, self._end)
        if spaced:
            return (yield from self._judge_by_next())
        return (yield from self._judge_glued())

    def _find_run_end(self) -> Waiting[int]:
        """Where the run of terminators ends; ``. . .`` is one run."""
        window = self._window
        q = self._start
        while q - self._start < _MAX_RUN:
            while (c := (yield from window.at(q))) and c in TERMINATORS:
                q += 1
                if q - self._start == _MAX_RUN:
                    return q
            if window.chars[self._start] != "." or not c.isspace() or c in LINE_BREAKS:
                return q
            if (yield from window.at(q + 1)) != "." or (yield from window.at(q + 2)).isalnum():
                return q  # "use it. .env files"
            q += 2
        return q

    def _find_closers_end(self, q: int) -> Waiting[int]:
        """Where the quotes, brackets, markup, citations and closing tags at ``q`` end."""
        window = self._window
        limit = q + _MAX_RUN
        while q < limit:
            c = yield from window.at(q)
            after = q
            if c and c in CLOSERS:
                after = q + 1
                if c == "]" and (yield from window.at(after)) == "(":
                    after = yield from window.skip_to(after, ")", _MAX_LINK)
            elif c in ("[", "【"):
                first = yield from window.at(q + 1)
                if first.isdigit() or first == "^":
                    close = "]" if c == "[" else "】"
                    after = yield from window.skip_to(q, close, _MAX_CITATION)
            elif c == "<" and (yield from window.at(q + 1)) == "/":
                after = yield from window.skip_to(q, ">", _MAX_TAG)
            if after == q:
                return q
            q = after
        return q

    def _judge_hard(self) -> Waiting[Verdict | None]:
        """The verdict for 。 and its like, where no white space is needed; None: look further."""
        window = self._window
        run_end = self._start + len(self._run)
        closing = sum(c in CJK_CLOSERS for c in window.chars[run_end : self._end])
        if self._context.brackets > closing:
            return self._no_end
        following = window.chars[self._end]
        if following.isspace() or is_emoji(following) or following == "<":
            return None
        last = window.chars[self._end - 1]
        if following in _CONTINUERS or following in TERMINATORS or last in "》〉":
            return Verdict(False, self._end)  # 《你好！》是一本书
        if last == "）" and window.chars[0] != "（":
            return Verdict(False, self._end)  # an aside: 彼は（そう！）言った
        if last in CJK_CLOSERS and following in _PARTICLES:
            pair = following + (yield from window.at(self._end + 1))
            if pair not in _PARTICLE_LIKE_STARTERS:
                return Verdict(False, self._end)  # 「…。」と言った
        return Verdict(True, self._end)

    def _find_next(self) -> Waiting[tuple[bool, bool]]:
        """Pass over white space and emoji; whether there were any of each."""
        window = self._window
        i = self._end
        limit = i + _MAX_SPACE
        spaced = emoji = False
        while True:
            c = yield from window.at(i)
            if not c or i == limit:
                break
            if is_emoji(c):
                emoji = True
                self._end = i + 1
            elif c.isspace() and c not in LINE_BREAKS:
                spaced = True
            elif c in _SPACED_CLOSERS and spaced and not emoji:
                if (yield from window.at(i + 1)).isalnum():
                    break  # an apostrophe or an opening mark
                self._closed = True
                self._end = i + 1
            else:
                break
            i += 1
        self._next_at = i
        self._next = c
        return spaced, emoji

    def _judge_glued(self) -> Waiting[Verdict]:
        """The verdict where no white space follows ("3.5", "a.com", "Really?How")."""
        window = self._window
        ends = Verdict(True, self._end)
        if self._next == "<":
            is_tag = (yield from window.at(self._end + 1)).isalpha()
            return ends if is_tag else self._no_end
        if is_wide(self._next):
            if self._next in _CONTINUERS or (self._run[-1] == "." and not is_wide(self._before)):
                return self._no_end
            return ends
        if not self._next.isupper() or not (self._before.isalpha() or self._closed):
            return self._no_end
        token = window.token_before(self._start)
        if self._run == ".":
            # Rare, and like a file or module name, so only where it looks like nothing else.
            if self._closed or len(token) < 2 or not (token.isalpha() and token.islower()):
                return self._no_end
            word, after = yield from window.word_at(self._end, 8, "'’")
            glued = word.replace("’", "'") in GLUED_STARTERS and after.isspace()
            return ends if glued else self._no_end
        if self._run[-1] == "." or any(c in "/:=@.&?_" for c in token):
            return self._no_end
        after = yield from window.at(self._end + 1)
        starts = after.islower() or (self._next == "I" and after in (" ", "'", "’"))
        return ends if starts else self._no_end

    def _judge_by_next(self) -> Waiting[Verdict]:
        """The verdict by the first character after white space."""
        ends = Verdict(True, self._end)
        if self._next in _CONTINUERS:
            face_end = yield from self._find_emoticon_end()
            return Verdict(True, face_end) if face_end else self._no_end
        if self._next in "—–-" and (yield from self._dash_continues()):
            return self._no_end
        lower = self._next.islower() and not (yield from self._next_is_name())
        if self._is_ellipsis():
            bracketed = self._before in ("[", "(") and self._closed
            return self._no_end if lower or bracketed else ends
        continues = lower and (self._closed or not self._context.lower_case)
        if self._run == ".":
            return (yield from self._judge_full_stop(continues))
        return self._no_end if continues else ends

    def _is_ellipsis(self) -> bool:
        if self._run == ".":
            return self._before.isspace()  # "well . then"
        return set(self._run) <= _ELLIPSIS

    def _find_emoticon_end(self) -> Waiting[int]:
        """The position after ``:)`` or ``;-)``; 0 if there is none."""
        if self._next not in ":;":
            return 0
        i = self._next_at + 1
        if (yield from self._window.at(i)) == "-":
            i += 1
        return i + 1 if (yield from self._window.at(i)) in (")", "(", "D", "P") else 0

    def _dash_continues(self) -> Waiting[bool]:
        """Whether the dash goes on with the sentence, as in ``"Stop!" -- he said``."""
        window = self._window
        i = self._next_at + 1
        if self._next == "-":
            if (yield from window.at(i)) != "-":
                return False  # a list item or a negative number
            i += 1
        if (yield from window.at(i)).isspace():
            i += 1
        return (yield from window.at(i)).islower()

    def _next_is_name(self) -> Waiting[bool]:
        """Whether lower case starts a name such as iPhone, eBay or v2, or a web address."""
        window = self._window
        second = yield from window.at(self._next_at + 1)
        if second.isupper() or second.isdigit():
            return True
        for k, expected in enumerate("http"):
            if (yield from window.at(self._next_at + k)) != expected:
                return False
        return True

    def _judge_full_stop(self, continues: bool) -> Waiting[Verdict]:
        """The verdict for a single full stop with white space after it.

        ``continues`` says that lower case follows, which goes on unless a rule knows better.
        """
        window = self._window
        lexicon = self._lexicon
        no_end = self._no_end
        ends = Verdict(True, self._end)
        token = window.token_before(self._start)
        if self._is_list_marker(token):
            return no_end
        # "dell'ing." and "l'Avv.": the abbreviation is what follows the apostrophe.
        word = re.split(r"['’]", token)[-1]
        closers = set(window.chars[self._start + 1 : self._end])
        if closers & _QUOTES:
            return no_end if continues else ends
        expects_more = contains(lexicon.inner, word) or contains(lexicon.titles, word)
        if expects_more and ")" not in closers:
            return no_end
        if continues or (contains(lexicon.references, word) and (yield from self._refers(word))):
            return no_end
        if contains(lexicon.enders, word):
            return ends
        after_number = window.previous_token(self._start - len(token))[-1:].isdigit()
        if contains(lexicon.times, word) and ("." in word or after_number):
            next_word, _ = yield from window.word_at(self._next_at, 12)
            more = self._next.isdigit() or next_word in TIME_FOLLOWERS
            return no_end if more else ends
        if (
            expects_more
            or contains(lexicon.ambiguous, word)
            or (contains(lexicon.units, word) and after_number)
            or self._is_initial(word, token)
        ):
            return ends if (yield from self._next_starts_sentence()) else no_end
        return ends

    def _is_list_marker(self, token: str) -> bool:
        """Whether ``token`` numbers a list item or a heading at the start of the unit."""
        if not self._context.starts_sentence or not _LIST_MARKER.fullmatch(token):
            return False
        start = self._start - len(token)
        return start <= 16 and not self._window.text(0, start).strip(_MARKUP)

    def _refers(self, word: str) -> Waiting[bool]:
        """Whether a number follows or, after a capital, a single letter or a Roman numeral."""
        window = self._window
        if self._next in "(#§":
            return self._next != "(" or (yield from window.at(self._next_at + 1)).isdigit()
        if self._next.isdigit():
            return True
        if not self._next.isupper() or word.lower() == "no":
            return False
        number, _ = yield from window.word_at(self._next_at, 8)
        labels = word[:1].isupper() or word in ("p", "vol", "fig") or len(number) > 1
        return labels and _ROMAN_OR_LETTER.fullmatch(number) is not None

    def _is_initial(self, word: str, token: str) -> bool:
        """Whether ``word`` is the initial of a name or an abbreviation by letters ("J", "U.S")."""
        if not _INITIALS.fullmatch(word):
            return False
        if len(word) > 1:
            return True
        if is_wide(word) or word.islower() or word != token:
            return False
        label = self._window.previous_token(self._start - len(token))
        return not label.endswith("°") and label.lower() not in LABELLED_BY_LETTER

    def _next_starts_sentence(self) -> Waiting[bool]:
        """Whether the whole next word starts a sentence rather than goes on with a name."""
        window = self._window
        i = self._next_at
        for _ in range(4):  # past opening quotes, brackets and markup
            c = yield from window.at(i)
            if not c or c.isalnum():
                break
            if c in "¿¡":
                return True
            i += 1
        word, after = yield from window.word_at(i, 16)
        if word.lower() not in self._lexicon.starters:
            return False
        if len(word) == 1 and word != "I":
            return after.isspace()  # an article, not one more initial
        return True
