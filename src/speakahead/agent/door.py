"""The WebSocket door: the same turns, with the sound as binary frames, and interruptions.

The client sends JSON text frames: a request as over HTTP begins a turn (and interrupts the one that
is going on), ``{"type": "interrupt", "played_s": 1.25}`` ends it. The server sends every event as a
text frame, except that each ``audio_chunk`` is one or more binary frames of only sound. All binary
frames between ``audio_stream_start`` and ``audio_stream_end`` are one stream.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import json
import logging
from typing import Annotated, Literal

from pydantic import Field
from starlette.websockets import WebSocket, WebSocketDisconnect

from speakahead.agent.conversation import Conversation, Conversations
from speakahead.agent.events import AgentEvent, error_event
from speakahead.agent.interruption import Interruption
from speakahead.agent.request import AgentRequest, parse_request
from speakahead.errors import InvalidRequest, SpeakaheadError, describe_fault
from speakahead.protocol.json import Message, parse_object, validate

MAX_FRAME = 16 * 1024
"""Bytes in a frame. AgentCore closes a connection with more than 32 KB in one."""
SEND_TIMEOUT_S = 30.0
"""How long a client may take none of what it is sent; then it counts as one that has left."""
_CLOSE_S = 1.0
_POLICY_VIOLATION = 1008

log = logging.getLogger(__name__)


class _Interrupt(Message):
    type: Literal["interrupt"]
    played_s: Annotated[float, Field(ge=0, le=86_400)] | None = None


class WebSocketDoor:
    """One connection: one conversation, made by the first request.

    Args:
        websocket: not accepted yet.
        conversations: where the conversation is kept.
        session: the conversation's name as the runtime gives it, which goes before what requests
            say; None: as they say, or a new one.
        send_timeout_s: how long the client may take none of what it is sent.
    """

    def __init__(
        self,
        websocket: WebSocket,
        conversations: Conversations,
        session: str | None,
        send_timeout_s: float = SEND_TIMEOUT_S,
    ) -> None:
        self._websocket = websocket
        self._conversations = conversations
        self._session = session
        self._send_timeout_s = send_timeout_s
        # Pages open connections ahead of a question that may never come, so not made here.
        self._conversation: Conversation | None = None
        self._interruption: Interruption | None = None  # of the latest turn
        self._stuck = asyncio.Event()  # the client does not read
        self._sending = asyncio.Lock()
        self._turn: asyncio.Task[None] | None = None

    async def run(self) -> None:
        """Serve the connection to its end."""
        await self._websocket.accept()
        reading = asyncio.create_task(self._read())
        waiting = asyncio.create_task(self._stuck.wait())
        try:
            await asyncio.wait({reading, waiting}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            if self._conversation is not None:  # also of what is sent and still being heard
                self._conversation.interrupt(of=self._interruption)
            tasks = {reading, waiting, *([self._turn] if self._turn is not None else [])}
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)
        if self._stuck.is_set():
            with contextlib.suppress(TimeoutError, RuntimeError, WebSocketDisconnect):
                async with asyncio.timeout(_CLOSE_S):
                    await self._websocket.close(_POLICY_VIOLATION)
        elif not reading.cancelled():
            reading.result()

    async def _read(self) -> None:
        """Take what the client sends, until it leaves."""
        with contextlib.suppress(WebSocketDisconnect):
            while True:
                message = await self._websocket.receive()
                if message["type"] == "websocket.disconnect":
                    return
                try:
                    await self._receive(message.get("text"))
                except SpeakaheadError as error:
                    await self._send(error_event(error))

    async def _receive(self, text: str | None) -> None:
        if text is None:
            raise InvalidRequest("Send JSON text frames; sound is not taken.")
        value = parse_object(text)
        if value.get("type") == "interrupt":
            await self._interrupt(validate(_Interrupt, value).played_s)
            return
        request = parse_request(value)
        await self._interrupt(request.played_s)
        await self._end_turn()
        named = self._session or request.session_id
        if self._conversation is None or named is not None:
            self._conversation = self._conversations.named(named)
        # Made here, so that an interruption that comes next is not taken for the turn before's.
        self._interruption = Interruption(self._stuck)
        turn = self._run_turn(self._conversation, request, self._interruption)
        self._turn = asyncio.create_task(turn)

    async def _interrupt(self, played_s: float | None) -> None:
        if self._conversation is None:
            return
        if (event := self._conversation.interrupt(played_s, self._interruption)) is not None:
            await self._send(event)

    async def _end_turn(self) -> None:
        if self._turn is not None:
            await asyncio.wait({self._turn})
            self._turn = None

    async def _run_turn(
        self, conversation: Conversation, request: AgentRequest, interruption: Interruption
    ) -> None:
        try:
            async with contextlib.aclosing(conversation.turn(request, interruption)) as events:
                async for event in events:
                    await self._send(event)
        except SpeakaheadError as error:
            await self._send(error_event(error))
        except (WebSocketDisconnect, RuntimeError):
            pass  # the client has left, which ``run`` sees too
        except Exception as fault:
            log.error("an answer failed: %s", describe_fault(fault))

    async def _send(self, event: AgentEvent) -> None:
        """Send an event; its frames do not mix with those of others.

        Raises:
            WebSocketDisconnect: the client has left, or has stopped reading.
        """
        async with self._sending:
            if event["type"] == "audio_chunk":
                data = base64.b64decode(event["audio"])
                for start in range(0, len(data), MAX_FRAME):
                    await self._send_frame(data[start : start + MAX_FRAME])
            else:
                await self._send_frame(json.dumps(event, ensure_ascii=False))

    async def _send_frame(self, frame: str | bytes) -> None:
        try:
            async with asyncio.timeout(self._send_timeout_s):
                if isinstance(frame, str):
                    await self._websocket.send_text(frame)
                else:
                    await self._websocket.send_bytes(frame)
        except TimeoutError:
            self._stuck.set()
            raise WebSocketDisconnect(_POLICY_VIOLATION) from None
