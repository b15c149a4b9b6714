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
from typing import Annotated, Literal

from pydantic import Field
from starlette.websockets import WebSocket, WebSocketDisconnect

from speakahead.agent.conversation import Conversation, Conversations
from speakahead.agent.events import AgentEvent
from speakahead.agent.request import AgentRequest, parse_request
from speakahead.agent.turn import error_event
from speakahead.errors import InvalidRequest, SpeakaheadError
from speakahead.protocol.json import Message, parse_object, validate

MAX_FRAME = 16 * 1024
"""Bytes in a frame. AgentCore closes a connection with more than 32 KB in one."""


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
    """

    def __init__(
        self, websocket: WebSocket, conversations: Conversations, session: str | None
    ) -> None:
        self._websocket = websocket
        self._conversations = conversations
        self._session = session
        # Pages open connections ahead of a question that may never come, so not made here.
        self._conversation: Conversation | None = None
        self._sending = asyncio.Lock()
        self._turn: asyncio.Task[None] | None = None

    async def run(self) -> None:
        """Serve the connection to its end."""
        await self._websocket.accept()
        try:
            while True:
                message = await self._websocket.receive()
                if message["type"] == "websocket.disconnect":
                    return
                try:
                    await self._receive(message.get("text"))
                except SpeakaheadError as error:
                    await self._send(error_event(error))
        except WebSocketDisconnect:
            pass
        finally:
            await self._end_turn(cancel=True)

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
        self._turn = asyncio.create_task(self._run_turn(self._conversation, request))

    async def _interrupt(self, played_s: float | None) -> None:
        if self._conversation is None:
            return
        if (event := self._conversation.interrupt(played_s)) is not None:
            await self._send(event)

    async def _end_turn(self, *, cancel: bool = False) -> None:
        if self._turn is not None:
            if cancel:
                self._turn.cancel()
            await asyncio.gather(self._turn, return_exceptions=True)
            self._turn = None

    async def _run_turn(self, conversation: Conversation, request: AgentRequest) -> None:
        try:
            async with contextlib.aclosing(conversation.turn(request)) as events:
                async for event in events:
                    await self._send(event)
        except SpeakaheadError as error:
            await self._send(error_event(error))
        except (WebSocketDisconnect, RuntimeError):
            pass  # the client has left, which ``run`` sees too

    async def _send(self, event: AgentEvent) -> None:
        async with self._sending:
            if event["type"] == "audio_chunk":
                data = base64.b64decode(event["audio"])
                for start in range(0, len(data), MAX_FRAME):
                    await self._websocket.send_bytes(data[start : start + MAX_FRAME])
            else:
                await self._websocket.send_text(json.dumps(event, ensure_ascii=False))
