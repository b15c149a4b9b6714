"""One utterance of a session: its text, what is left to do for it, and what was heard of it."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from speakahead.audio.pcm import SAMPLE_RATE
from speakahead.session.events import SentenceBegan, VoiceSettings
from speakahead.session.record import UtteranceRecord
from speakahead.text.chunker import IncrementalSentenceChunker, Sentence

_MOST_PIECES = 1024
"""Pieces of text that are kept apart: a short string takes ten times the memory of its text."""


class Stretch(NamedTuple):
    """A stretch of sound, usually a word, in seconds, and where its text ends in the source."""

    start_s: float
    end_s: float
    text_end: int


def heard_end(text: str, stretches: Iterable[Stretch], played_s: float) -> int:
    """How many characters of a text have been heard when ``played_s`` of its sound were played.

    A word was heard if more than half of it has been played. Marks that follow it directly belong
    to it.
    """
    end = 0
    for stretch in stretches:
        if (stretch.start_s + stretch.end_s) / 2 >= played_s:
            break
        end = max(end, stretch.text_end)
    if end:
        while end < len(text) and not text[end].isalnum() and not text[end].isspace():
            end += 1
    return end


@dataclass(slots=True, eq=False)
class Utterance:
    """State of one utterance.

    Attributes:
        id: its name.
        settings: how it is spoken.
        language: language tag of its text.
        chunker: cuts its text into sentences.
        record: its stages, for metrics.
        waiting: complete sentences that are not handed out yet.
        outstanding: sentences that are handed out.
        ended: no more text will come.
        started: ``UtteranceStarted`` has been emitted.
        failed: it ended with an error; what still comes of it is dropped.
        continued: another session has begun it.
        skip: samples that are still to be made, and that the client has already.
        held: nothing of it may leave.
        samples: samples that have been made.
        sent: samples that the door has taken.
        plays_until: when a client that plays without a pause will have played those.
    """

    id: str
    settings: VoiceSettings
    language: str
    chunker: IncrementalSentenceChunker
    record: UtteranceRecord
    continued: bool = False
    skip: int = 0
    held: bool = False
    waiting: deque[Sentence] = field(default_factory=deque)
    outstanding: int = 0
    ended: bool = False
    started: bool = False
    failed: bool = False
    samples: int = 0
    sent: int = 0
    plays_until: float = float("-inf")
    _text: list[str] = field(default_factory=list)
    _length: int = 0
    _cut: int = 0  # characters that the chunker has taken
    _flushed: bool = False  # the chunker knows that no more comes
    _heard: list[Stretch] = field(default_factory=list)

    @property
    def done(self) -> bool:
        """Whether nothing is left to do for it."""
        return self.ended and not self.uncut and not self.waiting and not self.outstanding

    @property
    def uncut(self) -> bool:
        """Whether its text, as far as it has come in, still is to be cut into sentences."""
        return self._cut < self._length or (self.ended and not self._flushed)

    @property
    def taken(self) -> bool:
        """Whether the door has taken all of it, to its completion."""
        return self.record.outcome == "completed"

    @property
    def length(self) -> int:
        """Characters of its text that have come in."""
        return self._length

    def add_text(self, text: str) -> None:
        """Take more text."""
        self._text.append(text)
        self._length += len(text)
        if len(self._text) > _MOST_PIECES:
            self._text = ["".join(self._text)]

    def cut(self, most: int) -> tuple[int, list[Sentence]]:
        """Cut at most so many more characters of its text.

        Returns:
            how many they were, and the sentences that they complete.
        """
        last = self._text[-1] if self._text else ""
        if len(last) <= most and self._cut + len(last) == self._length:
            piece = last  # as text usually comes: all before it is cut
        else:
            self._text = ["".join(self._text)]
            piece = self._text[0][self._cut : self._cut + most]
        self._cut += len(piece)
        sentences = self.chunker.feed(piece)
        if self.ended and self._cut == self._length:
            self._flushed = True
            sentences += self.chunker.flush()
        return len(piece), sentences

    def stop(self) -> int:
        """Forget what is not handed out; returns how many characters that is."""
        dropped = self._length - self._cut + sum(len(sentence.text) for sentence in self.waiting)
        self.waiting.clear()
        self._cut, self._flushed = self._length, True
        return dropped

    def began(self, result: SentenceBegan) -> float:
        """A sentence's sound follows what has been made; returns its offset in seconds."""
        offset = self.samples / SAMPLE_RATE
        if result.words:
            self._heard += [
                Stretch(offset + word.start_s, offset + word.end_s, word.span.end)
                for word in result.words
            ]
        else:  # no timings: the sentence counts as one word
            self._heard.append(Stretch(offset, float("inf"), result.work.sentence.span.end))
        return offset

    def sentence_done(self) -> None:
        """All sound of the sentence that began last has been made."""
        if self._heard and self._heard[-1].end_s == float("inf"):
            self._heard[-1] = self._heard[-1]._replace(end_s=self.samples / SAMPLE_RATE)

    def skipped(self, samples: int) -> int:
        """How many of the samples that come next the client has already; they count as sent."""
        known = min(self.skip, samples)
        self.skip -= known
        self.samples += known
        self.sent += known
        return known

    def played_s(self, now: float) -> float:
        """Seconds of it that a client has played that plays without a pause."""
        return max(0.0, self.sent / SAMPLE_RATE - max(0.0, self.plays_until - now))

    def split_text(self, played_s: float) -> tuple[str, str]:
        """Its text up to the last word that was heard, and the rest; see :func:`heard_end`."""
        text = "".join(self._text)
        end = heard_end(text, self._heard, played_s)
        return text[:end], text[end:]
