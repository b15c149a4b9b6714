"""The Amazon SageMaker AI container contract: ``/ping`` and ``/invocations``.

Source: "Custom Inference Code with Hosting Services" in the SageMaker AI developer guide. Its
WebSocket is in ``server.bidirectional``.
"""

from __future__ import annotations

from typing import Literal

from starlette.requests import Request
from starlette.responses import Response

from speakahead.errors import NotReady, ShuttingDown, SynthesisFailed
from speakahead.protocol import v1
from speakahead.protocol.json import Message, parse_object, validate
from speakahead.server.speech import SpeechRequest, read_body, server_settings, speak
from speakahead.server.status import error_response


class Invocation(Message):
    """Body of ``POST /invocations``."""

    text: str
    voice: v1.VoiceName | None = None
    speed: float | None = None
    format: Literal[
        "wav", "pcm", "pcm_f32le", "flac", "mulaw", "alaw", "mp3", "aac", "opus", "webm"
    ] = "wav"
    stream: bool = True


async def ping(request: Request) -> Response:
    """200 with an empty body while the model is loaded, warm and being worked with; else 503.

    503 also once the server is shutting down. Asks for no key.
    """
    state = request.app.state.speech
    if state.drain.started.is_set():
        return error_response(ShuttingDown("The server is shutting down."))
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
