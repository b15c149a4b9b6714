"""Text that comes in: into utterances, and cut into sentences."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from speakahead.errors import InvalidRequest, SpeakaheadError, TextQueueFull, TextTooLong
from speakahead.session.events import Append, SentenceReady, Speak, VoiceSettings
from speakahead.session.limits import Limits
from speakahead.session.lineup import Lineup
from speakahead.session.outbox import Outbox
from speakahead.session.record import UtteranceRecord
from speakahead.session.utterance import Utterance
from speakahead.text.chunker import IncrementalSentenceChunker

_LEAST_COMING = 100
"""Characters that are expected of an utterance while it is being written: a sentence or two."""


class Writing:
    """The text side of a session.

    Attributes:
        current: the utterance that takes the next delta, if one is being written.
        defaults: settings of requests that bring none.
    """

    def __init__(
        self,
        lineup: Lineup,
        outbox: Outbox,
        language_of: Callable[[VoiceSettings], str],
        defaults: VoiceSettings,
        limits: Limits,
        name: str,
    ) -> None:
        self.current: Utterance | None = None
        self.defaults = defaults
        self._lineup = lineup
        self._outbox = outbox
        self._language_of = language_of
        self._limits = limits
        self._name = name
        self._counter = 0
        self._usual_length = 0.0  # of utterances that were written; the last ones count most
        self._refused: Append | None = None  # a delta of an utterance that is dropped
        self._opening: Append | None = None  # a first delta without text, with settings perhaps

    @property
    def full(self) -> bool:
        """Whether more waits to be spoken than should."""
        limits, lineup = self._limits, self._lineup
        return lineup.waiting > limits.max_waiting or len(lineup.pending) > limits.max_utterances

    @property
    def coming(self) -> int:
        """Characters that are expected of the text that is being written; a guess by those before.

        What is expected, the machine keeps free.
        """
        if self.current is None:
            return 0
        return max(_LEAST_COMING, round(self._usual_length) - self.current.length)

    def configure(self, settings: VoiceSettings) -> None:
        """Change the defaults.

        Raises:
            UnknownVoice, UnsupportedLanguage: they cannot be spoken; nothing is changed.
        """
        self._language_of(settings)
        self.defaults = settings

    def speak(self, request: Speak, now: float) -> None:
        """Take a text that is complete; ends the utterance that was being written.

        Raises:
            InvalidRequest: it cannot be spoken; nothing is changed.
        """
        self._check_room()
        self._check_length(request.text)
        if not request.text.strip():
            raise InvalidRequest("The text is empty.", code="empty_text")
        self._language_of(request.settings or self.defaults)  # before anything is ended
        self.end()
        utterance = self._open(request, now)
        self._lineup.add_text(utterance, request.text)
        self._lineup.end(utterance)

    def append(self, request: Append, now: float) -> None:
        """Take more text.

        Raises:
            InvalidRequest: it is refused. If ``current`` is None, what follows of its utterance is
                dropped as well; else the caller has to end ``current``, which has a hole in it.
        """
        name = request.utterance
        if self._lineup.is_stale(name):
            return  # it was on its way when its utterance was dropped
        if self._refused is not None:
            if name is None or name == self._refused.utterance:
                return
            self._refused = None
        if self.current is not None and name is not None and name != self.current.id:
            self.end()
        request = self._opened(request)
        try:
            self._check_room()
            self._check_length(request.delta)
            if self.current is None:
                if not request.delta:  # some models begin with an empty one
                    self._language_of(request.settings or self.defaults)
                    self._opening = request
                    return
                if name is not None and self._lineup.find(name):
                    raise InvalidRequest(
                        "This utterance is complete and takes no more text.",
                        code="already_complete",
                    )
                self.current = self._open(request, now)
        except SpeakaheadError:
            if self.current is None:
                self._refused = request
            raise
        if self.current.length + len(request.delta) > self._limits.max_utterance:
            raise TextTooLong("The utterance is too long; flush it, and begin another.")
        if not self.current.failed:
            self._lineup.add_text(self.current, request.delta)

    def refuse(self, name: str | None) -> None:
        """A delta is missing. If ``current`` is another utterance, that is complete now.

        What follows of the utterance is dropped; the caller has to end ``current``, if it is this.
        """
        if self._lineup.is_stale(name):
            return
        if self.current is not None and name is not None and name != self.current.id:
            self.end()
        if self.current is None:
            self._opening, self._refused = None, Append("", utterance=name)

    def interrupt(self, name: str | None) -> None:
        """Forget an utterance that is not spoken: without text yet, refused, or failed."""
        for request in (self._opening, self._refused):
            if request is not None and name in (None, request.utterance):
                if request.utterance is not None:
                    self._lineup.outdate(request.utterance)
                self._opening = self._refused = None
        if self.current is not None and self.current.failed and name in (None, self.current.id):
            self._lineup.outdate(self.current.id)
            self.end()

    def end(self) -> None:
        """The utterance that is being written is complete."""
        self._refused = self._opening = None
        if self.current is not None:
            self._usual_length += (self.current.length - self._usual_length) / 2
            self._lineup.end(self.current)
            self.current = None

    def cut(self, now: float) -> None:
        """Cut text that waits into sentences, as far as they are needed."""
        for utterance, sentences in self._lineup.cut():
            if utterance.record.sentence_at is None:
                utterance.record.sentence_at = now
            for sentence in sentences:
                self._outbox.put(utterance, SentenceReady(utterance.id, sentence))

    def _opened(self, request: Append) -> Append:
        """A first delta with what those without text before it have said."""
        opening, self._opening = self._opening, None
        if opening is None or request.utterance not in (None, opening.utterance):
            return request
        return replace(
            request,
            settings=opening.settings or request.settings,
            utterance=opening.utterance,
            skip=request.skip if opening.skip is None else opening.skip,
        )

    def _open(self, request: Speak | Append, now: float) -> Utterance:
        settings = request.settings or self.defaults
        language = self._language_of(settings)
        self._counter += 1
        name = request.utterance or f"{self._name}-{self._counter}"
        utterance = Utterance(
            name,
            settings,
            language,
            IncrementalSentenceChunker(language, soft_limit=self._limits.soft_limit),
            UtteranceRecord(self._name, name, settings.voice, now),
            continued=isinstance(request, Append) and request.skip is not None,
            skip=(request.skip or 0) if isinstance(request, Append) else 0,
        )
        self._lineup.add(utterance)
        return utterance

    def _check_room(self) -> None:
        if self.full and self._lineup.blocked:
            raise TextQueueFull("Too much text waits for a release; release or discard it first.")

    def _check_length(self, text: str) -> None:
        if len(text) > self._limits.max_text:
            raise TextTooLong(
                f"A request may hold {self._limits.max_text:,} characters; send the text in parts."
            )
