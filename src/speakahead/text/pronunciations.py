"""How a user wants certain words to be said."""

from __future__ import annotations

import itertools
import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from speakahead.errors import InvalidRequest
from speakahead.text.alphabet import has_sound, in_alphabet
from speakahead.text.spans import SpannedText

MOST = 100
"""The most pronunciations of one utterance."""
LONGEST_WORD = 64
LONGEST_REPLACEMENT = 128
"""Characters in a word, and in the phonemes or the respelling that it gets."""

_CODE = "invalid_pronunciation"


@dataclass(frozen=True, slots=True)
class Pronunciation:
    """One word, or a few, and how to say it.

    Attributes:
        word: as it is written in the text, 1 to 64 characters with a letter, a digit or a sign
            (as in ``"€"``); matched as a whole word, upper or lower case alike.
        phonemes: in Kokoro's alphabet (as in ``"kˈOkəɹO"``), 1 to 128 symbols; or
        respelling: other letters that are read by the usual rules (as in ``"coco row"``), 1 to
            128 characters.

    Raises:
        InvalidRequest: with code ``invalid_pronunciation``; not exactly one of ``phonemes`` and
            ``respelling`` is given, or one of the three cannot be used.
    """

    word: str
    phonemes: str | None = None
    respelling: str | None = None

    def __post_init__(self) -> None:
        problem = _problem(self.word, self.phonemes, self.respelling)
        if problem:
            raise InvalidRequest(problem, code=_CODE)


def _problem(word: str, phonemes: str | None, respelling: str | None) -> str | None:
    if not 1 <= len(word) <= LONGEST_WORD:
        return f"The word of a pronunciation must have 1 to {LONGEST_WORD} characters."
    if not any(character.isalnum() or _is_sign(character) for character in word):
        return "The word of a pronunciation needs a letter, a digit or a sign such as €."
    if (phonemes is None) == (respelling is None):
        return "A pronunciation needs either phonemes or a respelling."
    if phonemes is not None:
        if not 1 <= len(phonemes) <= LONGEST_REPLACEMENT:
            return f"The phonemes of a word must be 1 to {LONGEST_REPLACEMENT} symbols."
        for position, symbol in enumerate(phonemes, 1):
            if not in_alphabet(symbol):
                return f"Kokoro has no symbol like number {position} of the phonemes."
        if not has_sound(phonemes):
            return "The phonemes of a word need a vowel or a consonant."
    if respelling is not None:
        if not 1 <= len(respelling) <= LONGEST_REPLACEMENT:
            return f"A respelling must have 1 to {LONGEST_REPLACEMENT} characters."
        if not any(character.isalnum() for character in respelling):
            return "A respelling needs a letter or a digit."
    return None


def _is_sign(character: str) -> bool:
    """Currency, and emoji and other pictures; what Markdown is written with is none."""
    category = unicodedata.category(character)
    return category == "Sc" or (category[0] == "S" and not character.isascii())


# -- matching ---------------------------------------------------------------------------------

_ALIKE = {
    **dict.fromkeys("'’‘ʼ＇", "['’‘ʼ＇]"),
    **dict.fromkeys("-‐‑", "[-‐‑]"),
    " ": r"\s{1,8}",
}
_APOSTROPHES = str.maketrans(dict.fromkeys("’‘ʼ＇", "'") | dict.fromkeys("‐‑", "-"))


def _key(word: str) -> str:
    """The same for all ways to write a word: case, composed letters, apostrophes, spaces."""
    word = unicodedata.normalize("NFC", word).translate(_APOSTROPHES)
    return " ".join(word.casefold().split())


def _spellings(word: str) -> set[str]:
    """Patterns of a word as it may be written: accents within the letters, or after them."""
    plain = " ".join(word.split())
    return {
        "".join(_ALIKE.get(character, re.escape(character)) for character in form)
        for form in (
            unicodedata.normalize("NFC", plain),
            unicodedata.normalize("NFD", plain),
            plain,
        )
    }


@lru_cache(maxsize=1)
def _vowel_signs() -> str:
    """Accents, vowel signs and the like, as ranges: they continue a word as letters do.

    The underscore does not: it is markup (``_Kokoro_``) or joins words (``kokoro_model``).
    """
    marks = [c for c in range(0x300, 0x1E94B) if unicodedata.category(chr(c))[0] == "M"]
    ranges = []
    for _, group in itertools.groupby(enumerate(marks), lambda pair: pair[1] - pair[0]):
        run = [code for _, code in group]
        ranges.append(f"{chr(run[0])}-{chr(run[-1])}")
    return "".join(ranges)


def _matcher(words: Sequence[str]) -> re.Pattern[str]:
    marks = rf"(?-i:[{_vowel_signs()}])"
    letter = rf"(?:[^\W_]|{marks})"
    patterns = sorted({spelling for word in words for spelling in _spellings(word)}, key=len)
    # A word that begins (or ends) with a sign may touch letters there: "$" in "$5", but not
    # half of a sign ("C+" in "C++"). A number is not matched within a longer one ("3" in "3.5").
    return re.compile(
        rf"(?<!\\)(?:(?<!{letter})(?:(?<!\d[.,/:])(?=\d)|(?=[^\W\d_]|{marks}))|(?!{letter}))"
        rf"(?:{'|'.join(reversed(patterns))})"
        rf"(?:(?<=\d)(?![.,/:]?\d)(?!{letter})|(?<={letter})(?<!\d)(?!{letter})"
        rf"|(?<=[^\W\d_])(?=(?-i:s)(?!{letter}))|(?<!{letter})(?!(?<=(.))\1)(?!{marks}))",
        re.IGNORECASE | re.DOTALL,
    )


# What looks like a word and is none: the name of a tag or of a character.
_TAG_BEFORE = re.compile(r"</?\Z")
_ENTITY = re.compile(r"&#?\w{1,32};")


def _is_name_in_markup(text: str, start: int, end: int) -> bool:
    if _TAG_BEFORE.search(text, max(0, start - 2), start) and text[start:end].isascii():
        return True
    entity = _ENTITY.match(text, start - 1) or _ENTITY.match(text, start - 2) if start else None
    return entity is not None and end < entity.end()


_CONSONANTS, _VOWELS = "bdfgklmnprtvz", "aiou"
_STAND_IN = re.compile(rf"([Zz]u(?:[{_CONSONANTS}][{_VOWELS}]){{2}})('?)")


@dataclass(frozen=True, slots=True)
class Marked:
    """A text in which words with given phonemes are replaced by stand-ins.

    A stand-in is a made-up word that no rule for numbers, abbreviations or spelling touches, and
    that has a capital where the written word has one.

    Attributes:
        text: the text, respelled.
        given: the phonemes of each stand-in.
        written: the word that each stand-in stands for. ("GPUs" has an apostrophe after its
            stand-in, which this leaves out again.)
    """

    text: SpannedText
    given: Mapping[str, str]
    written: Mapping[str, str]

    def unmarked(self, said: str) -> str:
        """``said``, a part of the spoken form, with the written words in their places."""
        return _STAND_IN.sub(
            lambda match: (
                self.written.get(match[0]) or self.written.get(match[1], match[1]) + match[2]
            ),
            said,
        )


class Pronunciations:
    """Pronunciations made ready for use; see ``compiled``."""

    def __init__(self, pronunciations: Sequence[Pronunciation]) -> None:
        if len(pronunciations) > MOST:
            raise InvalidRequest(f"At most {MOST} pronunciations can be given.", code=_CODE)
        self._by_word = {_key(each.word): each for each in pronunciations}
        self._respellings = " ".join(each.respelling or "" for each in pronunciations)
        words = [each.word for each in pronunciations]
        self._pattern = _matcher(words) if words else None

    def applied(self, text: SpannedText) -> Marked:
        """``text`` with every matched word respelled or marked; each stands for its whole match."""
        if self._pattern is None:
            return Marked(text, {}, {})
        names: dict[tuple[str, bool], str] = {}
        given: dict[str, str] = {}
        written: dict[str, str] = {}
        fresh = _stand_ins(f"{text.text} {self._respellings}")

        def replaced(match: re.Match[str]) -> str | None:
            start, end = match.span()
            found = self._by_word.get(_key(match[0]))
            if found is None or _is_name_in_markup(match.string, start, end):
                return None
            before, after = match.string[start - 1 : start], match.string[end : end + 1]
            plural = match[0][-1].isalpha() and after == "s"
            if plural and not match[0].isupper():  # "GPUs", but not "Kokoros"
                return None
            if found.respelling is not None:
                said = " ".join(found.respelling.split())
                said = said[0].upper() + said[1:] if match[0][0].isupper() else said
            else:
                name = names.get((match[0], plural)) or next(fresh, None)
                if name is None:
                    return None
                names[match[0], plural] = name
                name = name.capitalize() if match[0][0].isupper() else name
                given[name] = " ".join(in_alphabet(found.phonemes or "").split())
                said = name + "'" if plural else name
                written[said] = " ".join(match[0].split())
            if match[0].endswith(".") and not match.string[end : end + 9].strip("\"'”’)*_ \n"):
                said += "."  # it ends the sentence as well
            left = " " if before.isalnum() else ""
            return left + said + (" " if after.isalnum() and not plural else "")

        marked = text.rewrite(self._pattern, replaced)
        return Marked(marked, given, written)


def _stand_ins(text: str) -> Iterator[str]:
    """Words that can be read, that mean nothing in any of our languages and are not in ``text``."""
    taken = text.casefold()
    for letters in itertools.product(_CONSONANTS, _VOWELS, _CONSONANTS, _VOWELS):
        name = "zu" + "".join(letters)
        if name not in taken:
            yield name


@lru_cache(maxsize=64)
def compiled(pronunciations: tuple[Pronunciation, ...]) -> Pronunciations:
    """The matcher of these pronunciations, kept for the next sentence. Of two for a word, the
    later one holds; of two words that match, the longer one.

    Raises:
        InvalidRequest: with code ``invalid_pronunciation``; there are more than 100.
    """
    return Pronunciations(pronunciations)
