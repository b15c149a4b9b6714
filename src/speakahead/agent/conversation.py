"""Conversations of a Strands agent, which remember what was heard."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import threading
import time
import uuid
from collections import OrderedDict
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from functools import partial
from typing import Any, Self

from strands import Agent
from strands.types.content import Messages
from strands.types.exceptions import (
    ContextWindowOverflowException,
    MaxTokensReachedException,
)

from speakahead.agent.batch import run_batch
from speakahead.agent.bidi import run_bidi
from speakahead.agent.events import AgentEvent, Interrupted, interrupted_event
from speakahead.agent.heard import Heard
from speakahead.agent.history import heard_messages, newest, place_after
from speakahead.agent.interruption import Interruption
from speakahead.agent.models.faults import explain
from speakahead.agent.reply import (
    ReplayedReply,
    ReplyEvent,
    ReplyStream,
    TextWritten,
    ToolCalled,
    ToolsAnswered,
    Written,
)
from speakahead.agent.request import AgentRequest
from speakahead.backends.interface import SpeechBackend
from speakahead.errors import (
    InvalidRequest,
    Overloaded,
    SpeakaheadError,
    TextTooLong,
)
from speakahead.session.events import VoiceSettings

_AHEAD = 64
"""Events of the model that may wait."""
_OBEY_S = 0.25
"""How long the model may take to see that it is to stop, before it is cancelled."""
_TAKE_OVER_S = 2.0
"""How long a turn waits for the one before it, which it has interrupted, before its client is left;
and after that, before it gives up."""

log = logging.getLogger(__name__)


class StrandsReply:
    """One reply of a Strands agent. The agent runs in a task of its own, until ``aclose``.

    Attributes:
        failed: whether the model failed.
        too_long: whether the question alone is more than the model takes.
    """

    def __init__(self, agent: Agent, prompt: str) -> None:
        self.failed = False
        self._agent = agent
        self._prompt = prompt
        self._events: asyncio.Queue[ReplyEvent | SpeakaheadError | None] = asyncio.Queue(_AHEAD)
        self._stop = threading.Event()  # what Strands asks for
        self._running = asyncio.create_task(self._run())
        self._ended = False
        self.too_long = False

    def __aiter__(self) -> AsyncIterator[ReplyEvent]:
        return self

    async def __anext__(self) -> ReplyEvent:
        event = None if self._ended else await self._events.get()
        if event is None:
            self._ended = True
            raise StopAsyncIteration
        if isinstance(event, SpeakaheadError):
            self._ended = True
            raise event
        return event

    async def aclose(self) -> None:
        self._ended = True
        self._stop.set()
        while not self._events.empty():  # it may be waiting for room
            self._events.get_nowait()
        if not self._running.done():
            await asyncio.wait({self._running}, timeout=_OBEY_S)
            self._running.cancel()
            await asyncio.wait({self._running}, timeout=_OBEY_S / 2)

    async def _run(self) -> None:
        last: ReplyEvent | SpeakaheadError = Written()
        try:
            async for event in self._agent.stream_async(self._prompt, cancel_signal=self._stop):
                for translated in _translate(event):
                    if not self._stop.is_set():
                        await self._events.put(translated)
        except MaxTokensReachedException:
            last = Written("max_tokens")
        except ContextWindowOverflowException:
            self.too_long = len(self._agent.messages) == 1  # Strands has dropped all before it
            if self.too_long:
                last = TextTooLong("The question is too long for this model.")
            else:
                last = InvalidRequest(
                    "The conversation is too long for the model; begin a new one."
                )
        except Exception as error:
            last = explain(error)
        if not self._stop.is_set():
            self.failed = isinstance(last, SpeakaheadError)
            await self._events.put(last)
            await self._events.put(None)


def _translate(event: dict[str, Any]) -> list[ReplyEvent]:
    """What an event of Strands means for the speech."""
    if data := event.get("data"):
        return [TextWritten(str(data))]
    start = event.get("event", {}).get("contentBlockStart", {}).get("start", {})
    if "toolUse" in start:
        return [ToolCalled(start["toolUse"]["name"])]
    message = event.get("message", {})
    if message.get("role") == "user":
        results = [c["toolResult"] for c in message["content"] if "toolResult" in c]
        if results:
            return [ToolsAnswered(all(r.get("status") != "error" for r in results))]
    return []


class Conversation:
    """One user's conversation with an agent: one turn at a time."""

    def __init__(
        self, name: str, agent: Agent, speech: SpeechBackend, voice: str, on_busy: Busy
    ) -> None:
        self.name = name
        self._agent = agent
        self._speech = speech
        self._voice = voice
        self._busy = on_busy
        self._turn = asyncio.Lock()
        self._newest: Interruption | None = None  # of the turn that was asked for last
        self._interruption: Interruption | None = None  # of the turn that began last
        self._going = False  # whether it is going on
        self._heard: Heard | None = None  # of it
        self._said: Messages = []  # its messages, uncut
        self._first = 0  # where they, or what is left of them, are in the agent's
        self._asked: list[str] = []  # what it was to answer
        self._failed = False  # whether the model failed
        self._unanswered: list[str] = []  # what the user said and got no audible answer to

    def interrupt(
        self, played_s: float | None = None, of: Interruption | None = None
    ) -> Interrupted | None:
        """The listener does not want to hear more of a turn.

        Args:
            played_s: as in ``AgentRequest``.
            of: that of the turn, which may not have begun yet; None: the latest turn.

        Returns:
            What was heard of a turn that had been sent to its end and was still being heard. A
            turn that is still going on tells by its own events.
        """
        if of is not None and of is not self._interruption:
            of.interrupt(played_s)
        elif self._going:
            assert self._interruption is not None
            self._interruption.interrupt(played_s)
        elif self._heard is not None:
            now = time.monotonic()
            unknown = self._heard.playing(now) and not self._heard.interrupted
            if played_s is not None or unknown:  # else what was said about it before counts
                self._heard.stop(now, played_s)
                self._remember_heard()
                return interrupted_event(self._heard)
        return None

    async def turn(
        self, request: AgentRequest, interruption: Interruption | None = None
    ) -> AsyncGenerator[AgentEvent]:
        """Answer a request; what is left of the turn before is interrupted.

        Args:
            request: what was asked.
            interruption: lets the listener interrupt this turn, also before it has begun.

        Raises:
            InvalidRequest: the format or the speed cannot be had.
            Overloaded: the turn before does not end.
        """
        request.encoder()  # refused before anything is begun
        settings = request.settings(self._voice)
        interruption = interruption or Interruption()
        before, self._newest = self._newest, interruption
        self.interrupt(request.played_s, before)
        try:
            await self._take_over()
        except BaseException:
            if self._newest is interruption:
                self._newest = before  # the next request is about that one, too
            raise
        try:
            if request.played_s is not None:  # the turn may have ended before it could be told
                self.interrupt(request.played_s, before)
            self._heard, self._interruption = Heard(), interruption
            self._going = True
            request = request.model_copy(update={"session_id": self.name})
            if request.replay is None:
                events = self._answer(request, settings, self._heard, interruption)
            else:
                replayed = ReplayedReply((piece.at_s, piece.text) for piece in request.replay)
                events = self._run(replayed, request, settings, self._heard, interruption)
            with self._busy():
                async with contextlib.aclosing(events):
                    async for event in events:
                        yield event
        finally:
            self._going = False
            if request.replay is not None:
                self._heard = None  # nothing of it is remembered
            self._turn.release()

    async def _take_over(self) -> None:
        """Wait for the turn before to end, but not for ever for a client that takes nothing."""
        for _ in range(2):
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_TAKE_OVER_S):
                    await self._turn.acquire()
                    return
            if self._interruption is not None:
                self._interruption.stuck.set()
        raise Overloaded("The answer before this one has not ended yet; try again soon.")

    async def _answer(
        self,
        request: AgentRequest,
        settings: VoiceSettings,
        heard: Heard,
        interruption: Interruption,
    ) -> AsyncGenerator[AgentEvent]:
        """A turn with the model, and what is remembered of it."""
        self._asked, self._unanswered = [*self._unanswered, request.prompt], []
        history = list(self._agent.messages)
        before = history[-1] if history else None
        reply = StrandsReply(self._agent, "\n".join(self._asked))
        events = self._run(reply, request, settings, heard, interruption)
        try:
            async with contextlib.aclosing(events):
                async for event in events:
                    yield event
        finally:
            self._failed = reply.failed
            if reply.too_long:  # as if never asked
                self._heard = None
                self._agent.messages[:] = history
            else:
                # Strands drops the oldest messages of a long conversation, so not by number.
                self._first = place_after(before, self._agent.messages)
                self._said = self._agent.messages[self._first :]
                if interruption.at is not None and not heard.interrupted:  # after all was spoken
                    heard.stop(interruption.at, interruption.played_s)
                if heard.interrupted or not self._said or self._said[-1]["role"] == "user":
                    self._remember_heard()

    def _run(
        self,
        reply: ReplyStream,
        request: AgentRequest,
        settings: VoiceSettings,
        heard: Heard,
        interruption: Interruption,
    ) -> AsyncGenerator[AgentEvent]:
        run = run_batch
        if request.mode == "bidi":
            run = partial(run_bidi, tools=bool(self._agent.tool_names))
        return run(
            reply,
            self._speech,
            request,
            settings=settings,
            heard=heard,
            interruption=interruption,
        )

    def _remember_heard(self) -> None:
        """Leave in the history of the latest turn what was heard of it.

        If that is nothing, its question goes before the next one. Not that of a model that failed:
        it may have failed because of the question, and would fail again.
        """
        assert self._heard is not None
        kept: Messages = []
        if self._said:
            question, *reply = self._said
            kept = heard_messages(reply, self._heard.by_step())
            self._agent.messages[self._first :] = [question, *kept] if kept else []
        lost = self._heard.interrupted and not self._failed and not kept
        self._unanswered = newest(self._asked) if lost else []


Busy = Callable[[], contextlib.AbstractContextManager[None]]


class Conversations:
    """The conversations of a process, by name; the ones unused longest are forgotten.

    Args:
        agent: makes a new agent.
        speech: speaks for all of them.
        voice: their voice.
        most: how many are remembered.
        busy: entered for every turn.
    """

    def __init__(
        self,
        agent: Callable[[], Agent],
        speech: SpeechBackend,
        *,
        voice: str = "af_heart",
        most: int = 256,
        busy: Busy = contextlib.nullcontext,
    ) -> None:
        self._make = agent
        self._speech = speech
        self._voice = voice
        self._most = most
        self._busy = busy
        self._known: OrderedDict[str, Conversation] = OrderedDict()

    def named(self, name: str | None) -> Conversation:
        """The conversation of this name, perhaps a new one; None: a new one."""
        name = name or str(uuid.uuid4())
        conversation = self._known.get(name)
        if conversation is None:
            conversation = Conversation(name, self._make(), self._speech, self._voice, self._busy)
            self._known[name] = conversation
            while len(self._known) > self._most:
                self._known.popitem(last=False)
        self._known.move_to_end(name)
        return conversation

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *details: object) -> None:
        await self._speech.aclose()
