"""What of a turn has been heard: to the word, by the clock or by the client's own count."""

from __future__ import annotations

from dataclasses import dataclass, field

from speakahead.audio.pcm import SAMPLE_RATE
from speakahead.session.events import SentenceStarted
from speakahead.session.utterance import Stretch, heard_end
from speakahead.text.spans import Span


@dataclass(slots=True)
class _Utterance:
    text_start: int  # in the turn's text
    text: str = ""
    steps: list[int] = field(default_factory=list)  # of each character
    start_s: float = 0.0  # on the turn's time line
    words: list[Stretch] = field(default_factory=list)

    def heard(self, played_s: float) -> int:
        """How many characters of its text have been heard."""
        return heard_end(self.text, self.words, played_s)


class Heard:
    """Follows a turn's text and sound.

    The session can tell too, but only while it is open; a turn is still being heard when all of it
    has been sent. What a word needs to count is the session's rule.
    """

    def __init__(self) -> None:
        self._utterances: dict[str, _Utterance] = {}
        self._length = 0
        self._samples = 0
        self._plays_until = float("-inf")
        self._stopped_s: float | None = None
        self._shown: list[str] = []  # of each of the model's calls
        self._silent = False

    # -- as the turn goes on -------------------------------------------------------------------

    def showed(self, step: int, text: str) -> None:
        """More of the reply's text, as it can be read; ``step`` as in ``wrote``."""
        self._shown += [""] * (step + 1 - len(self._shown))
        self._shown[step] += text

    def silence(self) -> None:
        """The speech has failed: from here on the reply can only be read."""
        self._silent = True

    @property
    def silent(self) -> bool:
        """Whether the speech has failed."""
        return self._silent

    def wrote(self, utterance: str, step: int, text: str) -> None:
        """More text of an utterance; ``step`` counts the model's calls in the turn."""
        known = self._utterances.get(utterance)
        if known is None:
            known = self._utterances[utterance] = _Utterance(self._length)
        known.text += text
        known.steps += [step] * len(text)
        self._length += len(text)

    def utterance_started(self, utterance: str) -> None:
        """Its sound follows what has been sent."""
        self._utterances[utterance].start_s = self._samples / SAMPLE_RATE

    def sentence_started(self, event: SentenceStarted) -> None:
        """The sound of a sentence follows."""
        utterance = self._utterances[event.utterance]
        self._close_untimed(utterance)
        base = utterance.start_s
        if event.words:
            offset = base + event.offset_s
            utterance.words += [
                Stretch(offset + w.start_s, offset + w.end_s, w.span.end) for w in event.words
            ]
        else:  # no timings: the sentence counts as one word
            start = base + event.offset_s
            utterance.words.append(Stretch(start, float("inf"), event.sentence.span.end))

    def utterance_completed(self, utterance: str) -> None:
        self._close_untimed(self._utterances[utterance])

    def sent(self, samples: int, now: float) -> None:
        """Sound has left for the client at ``now`` (seconds, any origin)."""
        self._samples += samples
        self._plays_until = max(self._plays_until, now) + samples / SAMPLE_RATE

    def _close_untimed(self, utterance: _Utterance) -> None:
        if utterance.words and utterance.words[-1].end_s == float("inf"):
            utterance.words[-1] = utterance.words[-1]._replace(end_s=self.sent_s)

    # -- at its end ----------------------------------------------------------------------------

    @property
    def sent_s(self) -> float:
        """Seconds of sound that have been sent."""
        return self._samples / SAMPLE_RATE

    @property
    def interrupted(self) -> bool:
        """Whether the listener stopped before everything that was written had been heard."""
        return self._stopped_s is not None

    def playing(self, now: float) -> bool:
        """Whether a client that plays without a pause has not yet played all that was sent."""
        return now < self._plays_until

    def stop(self, now: float, played_s: float | None = None) -> None:
        """The listener stops hearing now, after ``played_s`` of the turn by the client's count."""
        if played_s is None:
            played_s = max(0.0, self.sent_s - max(0.0, self._plays_until - now))
        self._stopped_s = min(played_s, self.sent_s)

    @property
    def plays_until(self) -> float:
        """When a client that plays without a pause will have played all that was sent."""
        return self._plays_until

    @property
    def played_s(self) -> float:
        """Seconds of the turn's sound that were heard; all, where nobody interrupted."""
        return self.sent_s if self._stopped_s is None else self._stopped_s

    def by_step(self) -> list[str]:
        """The text that was heard of each of the model's calls.

        Where the speech failed, what was written counts when all sound that came has been heard.
        """
        if self._silent and self.played_s >= self.sent_s:
            return list(self._shown)
        steps: dict[int, list[str]] = {}
        for utterance in self._utterances.values():
            end = utterance.heard(self.played_s)
            for step, char in zip(utterance.steps[:end], utterance.text[:end], strict=True):
                steps.setdefault(step, []).append(char)
        return ["".join(steps.get(step, ())) for step in range(1 + max(steps, default=-1))]

    @property
    def text_spoken(self) -> str:
        """The text that was heard."""
        return "".join(self.by_step())

    @property
    def text_remaining(self) -> str:
        """The text that was written and not heard."""
        if self._silent:
            return "".join(self._shown)[len(self.text_spoken) :]
        return "".join(u.text[u.heard(self.played_s) :] for u in self._utterances.values())

    def text(self, utterance: str, span: Span) -> str:
        """A part of an utterance's text."""
        return self._utterances[utterance].text[span.start : span.end]

    def text_start(self, utterance: str) -> int:
        """Where an utterance's text begins in the turn's."""
        return self._utterances[utterance].text_start

    def start_s(self, utterance: str) -> float:
        """Where an utterance begins on the turn's time line."""
        return self._utterances[utterance].start_s
