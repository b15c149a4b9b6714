"""The Amazon SageMaker AI container contract: ``/ping``, ``/invocations`` and the WebSocket.

Source: "Custom Inference Code with Hosting Services" in the SageMaker AI developer guide,
section on bidirectional streaming.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import traceback
import uuid
from typing import Literal

from starlette.requests import Request
from starlette.responses import Response
from starlette.websockets import WebSocket, WebSocketDisconnect, WebSocketDisconnected

from speakahead.backends.local import LocalStream
from speakahead.errors import (
    ConnectionFailed,
    IdleTimeout,
    IllegalTransition,
    NotReady,
    SpeakaheadError,
    SynthesisFailed,
)
from speakahead.protocol import v1
from speakahead.protocol.json import Message, parse_object, validate
from speakahead.server.settings import ServerSettings
from speakahead.server.speech import (
    SpeechRequest,
    read_body,
    ready_backend,
    server_settings,
    speak,
)
from speakahead.server.status import error_response

_log = logging.getLogger(__name__)

_TRY_AGAIN_LATER = 1013
_POLICY_VIOLATION = 1008
_CLIENT_LEFT = (WebSocketDisconnect, WebSocketDisconnected)


class Invocation(Message):
    """Body of ``POST /invocations``."""

    text: str
    voice: v1.VoiceName | None = None
    speed: float | None = None
    format: Literal["wav", "pcm"] = "wav"
    stream: bool = True


async def ping(request: Request) -> Response:
    """200 with an empty body while the model is loaded, warm and being worked with; else 503."""
    state = request.app.state.speech
    if state.backend is None:
        not_ready = NotReady("The model is still being loaded.", retry_after_s=2.0)
        return error_response(state.failure or not_ready, 503)
    if not state.backend.scheduler.alive:
        return error_response(SynthesisFailed("The engine has stopped; restart the server."), 503)
    return Response()


async def invocations(request: Request) -> Response:
    """Speak a text; the sound is streamed from the first window unless ``stream`` is false."""
    body = validate(Invocation, parse_object(await read_body(request)))
    settings = v1.settings(body.voice, body.speed, server_settings(request).voice)
    return await speak(request, SpeechRequest(body.text, settings, body.format, body.stream))


async def bidirectional_stream(socket: WebSocket) -> None:
    """One session of protocol 1; stays open until ``close`` or until the client leaves."""
    await socket.accept()  # first of all: the platform allows 250 ms
    settings = server_settings(socket)
    session_id = socket.headers.get("x-amzn-sagemaker-request-id") or uuid.uuid4().hex[:12]
    try:
        backend = ready_backend(socket)
        stream = backend.open(settings.voice, ahead_s=settings.ahead_s, name=session_id)
    except SpeakaheadError as refused:
        with contextlib.suppress(ConnectionFailed, *_CLIENT_LEFT):
            await _send(socket, v1.encode_error(None, refused), settings)
            await socket.close(_TRY_AGAIN_LATER)
        return
    _log.info("session %s opened", session_id)
    reading = asyncio.create_task(_read(socket, stream, settings))
    writing = asyncio.create_task(_write(socket, stream, settings))
    try:
        await asyncio.wait({reading, writing}, return_when=asyncio.FIRST_COMPLETED)
        if not writing.done() and reading.exception() is None:
            await asyncio.wait({writing})  # the client said close: the rest is still spoken
    finally:
        for task in (reading, writing):
            task.cancel()
        outcomes = await asyncio.gather(reading, writing, return_exceptions=True)
        await stream.aclose()
        _log.info("session %s ended", session_id)
        for outcome in outcomes:
            if isinstance(outcome, Exception) and not isinstance(outcome, _CLIENT_LEFT):
                # Where, not what: the text of an exception may hold the client's words.
                where = "".join(traceback.format_tb(outcome.__traceback__))
                _log.error("session %s: %s at\n%s", session_id, type(outcome).__name__, where)


async def _read(socket: WebSocket, stream: LocalStream, settings: ServerSettings) -> None:
    """Frames to requests, until the client says close or leaves."""
    while not stream.closed:
        quiet_s = 0.0 if stream.busy else stream.quiet_s
        try:
            async with asyncio.timeout(settings.idle_timeout_s - quiet_s):
                message = await socket.receive()
        except TimeoutError:
            if stream.busy or stream.quiet_s < settings.idle_timeout_s:
                continue
            await stream.refuse(IdleTimeout("The session was idle for too long and is closed now."))
            await stream.end_input()
            return
        if message["type"] == "websocket.disconnect":
            raise WebSocketDisconnect(message.get("code", 1006))
        frame = message.get("text")
        try:
            request = v1.decode(message["bytes"] if frame is None else frame, settings.voice)
        except v1.RefusedMessage as refused:
            await stream.refuse(refused, refused.request_id)
            continue
        with contextlib.suppress(IllegalTransition):  # raced with a close: nobody listens
            await stream.send(request)


async def _write(socket: WebSocket, stream: LocalStream, settings: ServerSettings) -> None:
    """Events to frames, until the session is closed."""
    async for event in stream:
        frame = v1.encode(event)
        if frame is not None:
            try:
                await _send(socket, frame, settings)
            except ConnectionFailed:
                with contextlib.suppress(TimeoutError, RuntimeError):
                    async with asyncio.timeout(1.0):
                        await socket.close(_POLICY_VIOLATION)
                return
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(settings.send_timeout_s):
            await socket.close()


async def _send(socket: WebSocket, frame: str | bytes, settings: ServerSettings) -> None:
    try:
        async with asyncio.timeout(settings.send_timeout_s):
            if isinstance(frame, str):
                await socket.send_text(frame)
            else:
                await socket.send_bytes(frame)
    except TimeoutError:
        raise ConnectionFailed("The client stopped reading.") from None
