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
from typing import Any, Self

from strands import Agent
from strands.types.content import ContentBlock, Message, Messages
from strands.types.exceptions import (
    ContextWindowOverflowException,
    MaxTokensReachedException,
    ModelThrottledException,
)

from speakahead.agent.batch import run_batch
from speakahead.agent.bidi import run_bidi
from speakahead.agent.events import AgentEvent, Interrupted
from speakahead.agent.heard import Heard
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
from speakahead.agent.turn import Interruption, interrupted_event
from speakahead.backends.interface import SpeechBackend
from speakahead.errors import ConnectionFailed, InvalidRequest, Overloaded, SpeakaheadError

_AHEAD = 64
"""Events of the model that may wait."""
_OBEY_S = 0.25
"""How long the model may take to see that it is to stop, before it is cancelled."""

log = logging.getLogger(__name__)


class StrandsReply:
    """One reply of a Strands agent. The agent runs in a task of its own, until ``aclose``."""

    def __init__(self, agent: Agent, prompt: str) -> None:
        self._agent = agent
        self._prompt = prompt
        self._events: asyncio.Queue[ReplyEvent | SpeakaheadError | None] = asyncio.Queue(_AHEAD)
        self._stop = threading.Event()  # what Strands asks for
        self._running = asyncio.create_task(self._run())
        self._ended = False

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
            last = InvalidRequest("The conversation is too long for the model; begin a new one.")
        except ModelThrottledException:
            last = Overloaded("The model takes no more requests for now; try again soon.")
        except SpeakaheadError as error:
            last = error
        except Exception:
            log.exception("The model failed")
            last = ConnectionFailed(
                "The model did not answer as it should; the agent's log says why."
            )
        if not self._stop.is_set():
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
        self._interruption: Interruption | None = None  # of the turn that is going on
        self._heard: Heard | None = None  # of the latest turn
        self._said: Messages = []  # its messages, uncut
        self._first = 0  # where they, or what is left of them, are in the agent's
        self._unanswered = ""  # what the user said and got no audible answer to

    def interrupt(self, played_s: float | None = None) -> Interrupted | None:
        """The listener does not want to hear more of the latest turn.

        Args:
            played_s: as in ``AgentRequest``.

        Returns:
            What was heard of a turn that had been sent to its end and was still being heard. A
            turn that is still going on tells by its own events.
        """
        if self._interruption is not None:
            self._interruption.interrupt(played_s)
        elif self._heard is not None:
            now = time.monotonic()
            unknown = self._heard.playing(now) and not self._heard.interrupted
            if played_s is not None or unknown:  # else what was said about it before counts
                self._heard.stop(now, played_s)
                self._remember_heard()
                return interrupted_event(self._heard)
        return None

    async def turn(self, request: AgentRequest) -> AsyncGenerator[AgentEvent]:
        """Answer a request; what is left of the turn before is interrupted.

        Raises:
            InvalidRequest: the format or the speed cannot be had.
        """
        request.encoder()  # refused before anything is begun
        settings = request.settings(self._voice)
        self.interrupt(request.played_s)
        async with self._turn:
            if request.played_s is not None:  # the turn may have ended before it could be told
                self.interrupt(request.played_s)
            prompt = request.prompt
            if request.replay is None and self._unanswered:
                prompt = f"{self._unanswered}\n{prompt}"
                self._unanswered = ""
            before = self._agent.messages[-1] if self._agent.messages else None
            self._heard = heard = Heard()
            self._interruption = interruption = Interruption()
            request = request.model_copy(update={"session_id": self.name})
            reply: ReplyStream
            if request.replay is None:
                reply = StrandsReply(self._agent, prompt)
            else:
                reply = ReplayedReply((piece.at_s, piece.text) for piece in request.replay)
            if request.mode == "batch":
                events = run_batch(
                    reply,
                    self._speech,
                    request,
                    settings=settings,
                    heard=heard,
                    interruption=interruption,
                )
            else:
                events = run_bidi(
                    reply,
                    self._speech,
                    request,
                    settings=settings,
                    tools=bool(self._agent.tool_names),
                    heard=heard,
                    interruption=interruption,
                )
            try:
                with self._busy():
                    async with contextlib.aclosing(events):
                        async for event in events:
                            yield event
            finally:
                self._interruption = None
                if request.replay is not None:
                    self._heard = None  # nothing of it is remembered
                else:
                    # Strands drops the oldest messages of a long conversation, so not by number.
                    self._first = _place_after(before, self._agent.messages)
                    self._said = self._agent.messages[self._first :]
                    if not self._said:
                        self._unanswered = prompt
                    elif heard.interrupted or self._said[-1]["role"] == "user":  # the model failed
                        self._remember_heard()

    def _remember_heard(self) -> None:
        """Leave in the history of the latest turn what was heard of it."""
        assert self._heard is not None
        if not self._said:
            return
        question, *reply = self._said
        kept = heard_messages(reply, self._heard.by_step())
        self._agent.messages[self._first :] = [question, *kept] if kept else []
        asked = "".join(block.get("text", "") for block in question["content"])
        self._unanswered = "" if kept else asked


def _place_after(message: Message | None, messages: Messages) -> int:
    """Where what follows a message begins; 0 where it is no longer there."""
    places = (place for place in range(len(messages), 0, -1) if messages[place - 1] is message)
    return next(places, 0)


def heard_messages(messages: Messages, heard: list[str]) -> Messages:
    """A turn's messages after the question, cut to what was heard of them.

    ``heard`` is the text that was heard of each of the model's calls. Tools' results stay as long
    as something was heard after them: an answer that nobody heard was not given. A call without a
    result goes, as models refuse a history with one.
    """
    kept: Messages = []
    length = 0  # up to where something was heard
    step = 0
    for position, message in enumerate(messages):
        if message["role"] == "user":
            kept.append(message)
            continue
        text = heard[step] if step < len(heard) else ""
        step += 1
        content: list[ContentBlock] = [{"text": text}] if text.strip() else []
        answered = position + 1 < len(messages)  # by the message with the tools' results
        if answered:
            content += [block for block in message["content"] if "toolUse" in block]
        if content:
            kept.append(Message(role="assistant", content=content))
        if text.strip():
            length = len(kept)
    if step < len(heard) and heard[step].strip():  # Strands had not kept the message at all
        kept.append(Message(role="assistant", content=[{"text": heard[step]}]))
        length = len(kept)
    kept = kept[:length]
    if kept:  # its calls have lost their results
        kept[-1]["content"] = [block for block in kept[-1]["content"] if "toolUse" not in block]
    return kept


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
