"""A session whose sound Amazon Polly makes, without I/O.

Order, holding back and interruption are those of every session. This adds what is Polly's own: the
text of an utterance goes to it in *parts*, one for each of its streams, and what comes back is
sound alone, without a word on which sentence it belongs to.

Times within a part are therefore estimated: the sound is shared out over the text by characters.
As long as the part is under way its length is reckoned from the pace of the parts before; once it
is complete, its length is known. So ``SentenceStarted.offset_s`` is an estimate and its ``words``
are empty, and ``UtteranceCancelled.text_spoken`` is what the played share of the sound makes
likely, to the word.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from speakahead.audio.pcm import SAMPLE_RATE
from speakahead.backends.polly_voices import PollyVoice, VoiceTable
from speakahead.errors import SpeakaheadError
from speakahead.session import Limits, Session
from speakahead.session.events import (
    AudioReady,
    Event,
    Request,
    SentenceBegan,
    SentenceDone,
    SentenceFailed,
    UtteranceCancelled,
    VoiceSettings,
    Work,
)
from speakahead.session.utterance import Stretch, Utterance, heard_end
from speakahead.text.chunker import Boundary
from speakahead.text.pronunciations import compiled
from speakahead.text.spans import SpannedText
from speakahead.text.spoken import spoken_form

TEXT_LIMIT = 3_000
"""Billed characters in one TextEvent. Source: Polly's developer guide, "SynthesizeSpeech and
StartSpeechSynthesisStream compared"."""

PART_LIMIT = 3_000
"""Characters after which an utterance goes on in another stream: some four minutes of sound, which
bounds what one stream can send."""

PART_AGE_S = 8 * 60.0
"""Polly ends a stream after ten minutes. Source: the same guide, "Sending text and receiving
audio"."""

AHEAD_S = 60.0
"""While this much sound waits to be taken, no further part is begun."""

_PACE_S = 1 / 15
"""Seconds that a character takes at speed 1, before there is anything to reckon from."""
_LEAST_TEXT = 40
"""Characters that a part needs for others to be reckoned from it."""
_REMEMBERED = 64
"""Utterances that may still be being heard."""
_ALL = 1 << 30

_WORD = re.compile(r"\S+")


class Text(NamedTuple):
    """One TextEvent.

    Attributes:
        text: what to say, or an SSML document that says it.
        ssml: which of the two.
        flush: whether Polly is to speak at once what it has.
    """

    text: str
    ssml: bool
    flush: bool


class _Word(NamedTuple):
    """Where a word is in the spoken form of its sentence, and where it ends in the source."""

    start: int
    end: int
    source_end: int


class _Line:
    """One sentence of a part; ``text`` is empty if nothing of it can be spoken."""

    def __init__(self, work: Work, position: int) -> None:
        sentence = work.sentence
        written = SpannedText.verbatim(sentence.text, sentence.span.start)
        marked = compiled(work.settings.pronunciations).applied(written)
        spoken = spoken_form(marked.text, work.language)
        self.work = work
        self.position = position  # characters of the part before it
        self.words = [
            _Word(m.start(), m.end(), spoken.source(m.start(), m.end()).end)
            for m in _WORD.finditer(spoken.text)
        ]
        self.text = spoken.text
        self.whole = sentence.boundary is not Boundary.CLAUSE
        if self.whole and self.text[-1:].isalnum():
            self.text += "."  # a heading, say, does not run into what follows

    def pieces(self) -> Iterator[str]:
        """The text, cut where it is more than one event may hold; a piece ends with a space."""
        rest = self.text
        while len(rest) >= TEXT_LIMIT:
            cut = rest.rfind(" ", 1, TEXT_LIMIT)
            cut = TEXT_LIMIT - 1 if cut < 0 else cut
            yield rest[:cut] + " "
            rest = rest[cut:].lstrip()
        if rest:
            yield rest + " "


class Part:
    """A stretch of an utterance that one of Polly's streams speaks.

    Attributes:
        voice: who speaks it.
        language: and in which language.
        complete: no more text will come.
        closed: all of its sound is there.
        characters: of its text.
        samples: of its sound that have come.
    """

    def __init__(
        self, voice: PollyVoice, language: str, owner: Utterance, pace_s: float, now: float
    ) -> None:
        self.voice = voice
        self.language = language
        self.complete = False
        self.closed = False
        self.characters = 0
        self.samples = 0
        self.owner = owner
        self.offset_s = owner.samples / SAMPLE_RATE
        self.begun_at = now
        self.lines: list[_Line] = []
        self.spoken = 0  # lines that are done
        self.speaking = False  # whether the one after those has begun
        self._pace_s = pace_s / owner.settings.speed
        self._given = 0  # lines that were taken
        self._pieces: list[str] = []  # of the last of them, what was not

    @property
    def has_text(self) -> bool:
        """Whether there is anything to say in it."""
        return self.characters > 0

    @property
    def duration_s(self) -> float:
        """How long its sound is, or as far as that is not known, is likely to be."""
        made = self.samples / SAMPLE_RATE
        return made if self.closed else max(made, self.characters * self._pace_s)

    def add(self, work: Work) -> None:
        """Take one more sentence."""
        line = _Line(work, self.characters)
        self.lines.append(line)
        self.characters += len(line.text)

    def take(self) -> Text | None:
        """The next event to send; None while there is none."""
        while not self._pieces:
            if self._given == len(self.lines):
                return None
            self._pieces = list(self.lines[self._given].pieces())
            self._given += 1
        piece = self._pieces.pop(0)
        line = self.lines[self._given - 1]
        # Polly speaks best when it sees what follows, but not so much better that the first sound,
        # or a sentence that nothing follows yet, should wait for it.
        follows = any(later.text for later in self.lines[self._given :])
        first = line.position == 0
        flush = not self._pieces and (first or (line.whole and not follows))
        speed = self.owner.settings.speed
        if speed == 1.0:
            return Text(piece, False, flush)
        said = html.escape(piece.strip(), quote=False)
        rate = f'<prosody rate="{round(speed * 100)}%">{said}</prosody>'
        return Text(f"<speak>{rate}</speak>", True, flush)

    def rewind(self) -> None:
        """Give all of the text once more."""
        self._given, self._pieces = 0, []

    def stretches(self) -> Iterator[Stretch]:
        """Its words, in seconds from the utterance's first sample."""
        per_character = self.duration_s / self.characters if self.characters else 0.0
        for line in self.lines:
            begin = self.offset_s + line.position * per_character
            for word in line.words:
                yield Stretch(
                    begin + word.start * per_character,
                    begin + word.end * per_character,
                    word.source_end,
                )

    def due(self) -> bool:
        """Whether the sentence after the one that is being spoken has likely begun."""
        later = next((line for line in self.lines[self.spoken + 1 :] if line.text), None)
        if later is None:
            return False
        share = later.position / self.characters
        return self.samples / SAMPLE_RATE >= share * self.duration_s


class PollySession(Session):
    """A session that gives out its text in parts. Not thread-safe.

    Attributes:
        part: the part under way. Its text is to be sent, also what it gets later, until it is
            ``complete``; then ``finish`` or ``fail`` must be told what became of it. A part that
            is not here any more is not wanted.
    """

    def __init__(self, voices: VoiceTable, settings: VoiceSettings | None = None) -> None:
        super().__init__(
            lambda wanted: voices.find(wanted)[1],
            defaults=settings,
            limits=Limits(work_ahead=_ALL),  # how far ahead is decided here
        )
        self.part: Part | None = None
        self._voices = voices
        self._pace_s = _PACE_S
        self._parts: dict[str, list[Part]] = {}

    def receive(self, request: Request, now: float) -> None:
        super().receive(request, now)
        self._feed(now)

    def abandon(self, now: float) -> None:
        super().abandon(now)
        self.part = None

    def next_event(self, now: float) -> Event | None:
        event = super().next_event(now)
        self._feed(now)  # there may be room for another part
        if isinstance(event, UtteranceCancelled) and event.utterance in self._parts:
            parts = self._parts.pop(event.utterance)
            text = event.text_spoken + event.text_remaining
            stretches = (stretch for part in parts for stretch in part.stretches())
            end = heard_end(text, stretches, event.played_s)
            return UtteranceCancelled(
                event.utterance, event.played_s, text[:end], text[end:], event.final
            )
        return event

    # -- what becomes of a part ----------------------------------------------------------------

    def sound(self, part: Part, samples: NDArray[np.float32], now: float) -> None:
        """The next piece of a part's sound: float32 [n] at 24 kHz."""
        if part is not self.part or not len(samples):
            return
        if not part.speaking:
            self._next_line(part, now)
        while part.due():
            self._next_line(part, now)
        self.deliver(AudioReady(part.lines[part.spoken].work, samples), now)
        part.samples += len(samples)

    def rest(self, part: Part) -> None:
        """Send no more text in this part; what comes is another one's."""
        part.complete = True

    def finish(self, part: Part, now: float) -> None:
        """All sound of a part that is complete has come."""
        if part is self.part:
            self._close(part, now)
            self._feed(now)

    def fail(self, part: Part, error: SpeakaheadError, now: float) -> None:
        """A part's utterance ends here."""
        if part is not self.part:
            return
        self.part = None
        self.deliver(SentenceFailed(part.lines[part.spoken].work, error), now)
        self._feed(now)

    # -- inside --------------------------------------------------------------------------------

    def _close(self, part: Part, now: float) -> None:
        part.closed = True
        if part.samples and part.characters >= _LEAST_TEXT:
            speed = part.owner.settings.speed
            self._pace_s = part.duration_s * speed / part.characters
        self.part = None
        while part.spoken < len(part.lines):
            self._next_line(part, now)

    def _next_line(self, part: Part, now: float) -> None:
        """End the sentence that is being spoken, and begin the next that has any text."""
        while part.spoken < len(part.lines):
            line = part.lines[part.spoken]
            if line.text and not part.speaking:
                part.speaking = True
                self.deliver(SentenceBegan(line.work), now)
                return
            part.speaking = False
            part.spoken += 1
            self.deliver(SentenceDone(line.work), now)

    def _feed(self, now: float) -> None:
        """Move sentences into the part under way, and complete it when it has all that it gets."""
        if self.withdrawn():  # all that is handed out is in that part
            self.part = None
        while True:
            part = self.part
            if part is not None:
                full = part.characters >= PART_LIMIT or now - part.begun_at >= PART_AGE_S
                owner = part.owner
                written = owner.ended and not owner.uncut and not owner.waiting
                part.complete = part.complete or full or written
                if part.complete:
                    if part.has_text:
                        return
                    self._close(part, now)  # there is nothing to ask Polly for
                    continue
            elif self.unsent_samples > AHEAD_S * SAMPLE_RATE:
                return
            work = self.next_work()
            if work is None and self._lineup.waiting:
                self._advance(now)  # which cuts more of it into sentences
                work = self.next_work()
            if work is None:
                return
            if part is None:
                part = self.part = self._begin(work, now)
            part.add(work)

    def _begin(self, work: Work, now: float) -> Part:
        owner = self._handed_out[-1][1]
        voice, language = self._voices.find(work.settings)
        part = Part(voice, language, owner, self._pace_s, now)
        if owner.samples == 0:
            self._parts.pop(owner.id, None)  # of another one that had this name
        self._parts.setdefault(owner.id, []).append(part)
        while len(self._parts) > _REMEMBERED:
            del self._parts[next(iter(self._parts))]
        return part
