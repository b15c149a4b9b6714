"""From a model's words to utterances, and which of them must wait.

What a model says before it knows a tool's result may be wrong, so it is not said before the result
is there. The rule, for each of the model's calls in a turn (a *step*):

1. The first sentence, as in "Let me check.", is spoken at once.
2. If the agent has tools, the rest of the step is prepared but held until one knows whether a tool
   call follows: until the step is complete, or the first sentence has nearly been heard (so that
   holding never makes a gap).
3. From the moment a tool call begins, what is held, and what is still written, waits for the
   results.
4. With the results it is released. If a tool has failed, it is discarded: the model says in its
   next step what it makes of that.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from enum import Enum, auto
from typing import Protocol

from speakahead.agent.heard import Heard
from speakahead.backends.interface import SpeechStream
from speakahead.session.events import Append, Discard, Flush, Hold, Release
from speakahead.text.chunker import IncrementalSentenceChunker

_MARGIN_S = 0.3
"""How long before the first sentence has been heard what follows it must be let out."""
_MAX_HELD = 4_000
"""Characters given to the session while they are held. A session that is full takes no more text,
and would never be told of the result."""
_PART = 4_000
"""Characters in one request."""


class Speaker(Protocol):
    """Takes a reply's events, in order."""

    async def write(self, text: str) -> None: ...

    async def tool_called(self) -> None: ...

    async def tools_answered(self, succeeded: bool) -> None: ...

    async def finish(self) -> None:
        """The reply is complete."""
        ...

    def all_sent(self, utterance: str) -> None:
        """All sound of an utterance has been sent to the client."""
        ...

    def failed(self, utterance: str | None) -> None:
        """An utterance could not be spoken, and takes no more text."""
        ...

    def abandon(self) -> None:
        """Nothing more is to be spoken."""
        ...


class _State(Enum):
    LEAD_IN = auto()  # the first sentence of a step is being written
    WAITING = auto()  # what follows it is held: a tool call may come
    CALLING = auto()  # a tool is being called, or at work: what is written is held
    FREE = auto()  # what is written is spoken


class SpeakingAhead:
    """Speaks each sentence as soon as it is complete, if it need not wait.

    Args:
        stream: takes the text.
        heard: is told of it.
        tools: whether the model may call tools.
    """

    def __init__(self, stream: SpeechStream, heard: Heard, *, tools: bool) -> None:
        self._stream = stream
        self._heard = heard
        self._first_state = _State.LEAD_IN if tools else _State.FREE
        self._step = 0
        self._utterances = 0
        self._open: str | None = None  # the utterance that is being written
        self._held: str | None = None  # the same, where it waits
        self._failed: str | None = None
        self._space = ""  # written, and belongs to the utterance that follows
        self._held_characters = 0
        self._kept: list[str] = []  # of the held utterance, not given to the session yet
        self._sending = asyncio.Lock()
        self._release_timer: asyncio.Task[None] | None = None
        self._begin_step()

    def _begin_step(self) -> None:
        self._state = self._first_state
        self._lead_in: list[str] = []
        self._lead_in_name: str | None = None
        self._chunker = IncrementalSentenceChunker()

    async def write(self, text: str) -> None:
        async with self._sending:
            match self._state:
                case _State.FREE:
                    await self._append(text)
                case _State.WAITING | _State.CALLING:
                    await self._hold(text)
                case _State.LEAD_IN:
                    self._lead_in.append(text)
                    if sentences := self._chunker.feed(text):
                        await self._end_lead_in(sentences[0].span.end)

    async def tool_called(self) -> None:
        async with self._sending:
            if self._state is _State.LEAD_IN:
                await self._end_lead_in()
            elif self._state is _State.FREE:
                await self._flush()
            self._state = _State.CALLING

    async def tools_answered(self, succeeded: bool) -> None:
        async with self._sending:
            if succeeded:
                await self._release()
            elif self._held is not None:
                self._heard.wrote(self._held, self._step, "".join(self._kept))
                await self._stream.send(Discard(self._held))
                self._open = self._held = None
                self._kept = []
            await self._flush()
            self._step += 1
            self._begin_step()

    async def finish(self) -> None:
        async with self._sending:
            if self._state is _State.LEAD_IN:
                await self._end_lead_in()
            await self._release()
            await self._flush()
        if self._release_timer is not None:
            self._release_timer.cancel()

    def all_sent(self, utterance: str) -> None:
        if utterance == self._lead_in_name and self._state is _State.WAITING:
            self._release_timer = asyncio.create_task(self._release_in_time(utterance))

    def failed(self, utterance: str | None) -> None:
        self._failed = utterance

    def abandon(self) -> None:
        if self._release_timer is not None:
            self._release_timer.cancel()

    # -- inside --------------------------------------------------------------------------------

    async def _end_lead_in(self, end: int | None = None) -> None:
        """Speak what was written up to ``end``, and hold what was written after it."""
        written = "".join(self._lead_in)
        end = len(written) if end is None else end
        self._state = _State.WAITING
        await self._append(written[:end])
        self._lead_in_name = self._open
        await self._flush()
        await self._hold(written[end:])

    async def _release_in_time(self, lead_in: str) -> None:
        await asyncio.sleep(max(0.0, self._heard.plays_until - _MARGIN_S - time.monotonic()))
        async with self._sending:
            if lead_in == self._lead_in_name and self._state is _State.WAITING:
                self._state = _State.FREE
                await self._release()

    async def _hold(self, text: str) -> None:
        if self._held is None:
            if not (self._space + text).strip():
                self._space += text
                return
            self._held = self._name()
            self._held_characters = 0
            await self._stream.send(Hold(self._held))
        self._held_characters += len(text)
        if self._held_characters > _MAX_HELD:
            self._kept.append(text)
        else:
            await self._append(text, self._held)

    async def _release(self) -> None:
        if self._held is not None:
            name, self._held = self._held, None
            await self._stream.send(Release(name))
            kept, self._kept = "".join(self._kept), []
            if kept:
                await self._append(kept)

    async def _append(self, text: str, name: str | None = None) -> None:
        text, self._space = self._space + text, ""
        if self._open is not None and self._open == self._failed and self._held is None:
            await self._flush()  # what comes now is another utterance
        if self._open is None:
            if not text.strip():  # an utterance begins with something to say
                self._space = text
                return
            self._open = name or self._name()
        self._heard.wrote(self._open, self._step, text)
        for part in _parts(text):
            await self._stream.send(Append(part, utterance=self._open))

    async def _flush(self) -> None:
        if self._open is not None:
            self._open = None
            await self._stream.send(Flush())

    def _name(self) -> str:
        self._utterances += 1
        return f"reply-{self._utterances}"


class SpeakingAtOnce:
    """Speaks the whole reply as one utterance when it is complete: the baseline."""

    def __init__(self, stream: SpeechStream, heard: Heard) -> None:
        self._stream = stream
        self._heard = heard
        self._step = 0
        self._text: list[tuple[int, str]] = []  # of the steps before
        self._written = ""  # of this step
        self._sure: int | None = None  # characters of it that were written before a tool call

    async def write(self, text: str) -> None:
        self._written += text

    async def tool_called(self) -> None:
        if self._sure is None:
            self._sure = len(self._written)

    async def tools_answered(self, succeeded: bool) -> None:
        text = self._written
        if not succeeded:
            chunker = IncrementalSentenceChunker()
            sentences = chunker.feed(text[: self._sure]) + chunker.flush()
            end = sentences[0].span.end if sentences else 0
            text = text[:end] + " " * (len(text) - end)  # keeps the positions of what follows
        self._text.append((self._step, text))
        self._written, self._sure = "", None
        self._step += 1

    async def finish(self) -> None:
        self._text.append((self._step, self._written))
        for step, text in self._text:
            self._heard.wrote("reply", step, text)
        whole = "".join(text for _, text in self._text)
        for part in _parts(whole):
            await self._stream.send(Append(part, utterance="reply"))
        await self._stream.send(Flush())

    def all_sent(self, utterance: str) -> None:
        pass

    def failed(self, utterance: str | None) -> None:
        pass

    def abandon(self) -> None:
        pass


def _parts(text: str) -> Iterator[str]:
    for start in range(0, len(text), _PART):
        yield text[start : start + _PART]
