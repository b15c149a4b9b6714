"""Speech as an HTTP answer: shared by every door that takes a whole text and returns sound."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Coroutine
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from starlette.requests import ClientDisconnect, HTTPConnection, Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from speakahead.audio import wav
from speakahead.audio.encoder import Encoder, open_encoder
from speakahead.audio.formats import FORMATS
from speakahead.audio.pcm import SAMPLE_RATE
from speakahead.backends.local import LocalBackend, LocalStream
from speakahead.errors import (
    ConnectionFailed,
    InvalidRequest,
    NotReady,
    SpeakaheadError,
    SynthesisFailed,
    TextTooLong,
)
from speakahead.server.logs import request_id
from speakahead.server.settings import ServerSettings
from speakahead.session.events import Audio, Failed, Speak, UtteranceCompleted, VoiceSettings

MEDIA_TYPES = {
    name: audio_format.media_type.format(rate=audio_format.sample_rate)
    for name, audio_format in FORMATS.items()
}


@dataclass(frozen=True, slots=True)
class SpeechRequest:
    """A text to be spoken, and how its sound is to be returned: ``format`` is one of FORMATS."""

    text: str
    settings: VoiceSettings
    format: str = "wav"
    stream: bool = True


def ready_backend(connection: HTTPConnection) -> LocalBackend:
    """The back end.

    Raises:
        NotReady: the model is still being loaded.
    """
    backend: LocalBackend | None = connection.app.state.speech.backend
    if backend is None:
        raise NotReady("The model is still being loaded.", retry_after_s=2.0)
    return backend


def server_settings(connection: HTTPConnection) -> ServerSettings:
    """The settings that the application was made with."""
    settings: ServerSettings = connection.app.state.speech.settings
    return settings


async def read_body(request: Request) -> bytes:
    """The request's body, bounded in size and time.

    Raises:
        TextTooLong: it has more bytes than ``ServerSettings.max_body``.
        InvalidRequest: ``request_timeout``: it did not come within ``body_timeout_s``.
        ConnectionFailed: the client left.
    """
    settings = server_settings(request)
    body = bytearray()
    try:
        async with asyncio.timeout(settings.body_timeout_s):
            async for chunk in request.stream():
                body += chunk
                if len(body) > settings.max_body:
                    raise TextTooLong(f"A request body may hold {settings.max_body:,} bytes.")
    except TimeoutError:
        raise InvalidRequest(
            "The request's body did not come in time.", code="request_timeout"
        ) from None
    except ClientDisconnect:
        raise ConnectionFailed("The client left within its request.") from None
    return bytes(body)


async def speak(request: Request, speech: SpeechRequest) -> Response:
    """Speak over HTTP: the answer begins with the first sound, not after the whole text.

    Raises:
        SpeakaheadError: nothing has been sent yet, so the caller can answer with a status.
    """
    # A WAV that is not streamed has a header that tells its length.
    bare = speech.format == "wav" and not speech.stream
    encoder = open_encoder("pcm" if bare else speech.format)
    stream = ready_backend(request).open(speech.settings, name=request_id.get())
    try:
        await stream.send(Speak(speech.text))
        await stream.end_input()
        settings = server_settings(request)
        async with asyncio.timeout(settings.first_audio_timeout_s):
            sound = _sound(stream, encoder)
            if not speech.stream:
                whole = await _unless_client_leaves(request, _joined(sound))
                await stream.aclose()
                return _whole(speech, whole)
            first = await _unless_client_leaves(request, _first(sound))
    except TimeoutError:
        await stream.aclose()
        raise SynthesisFailed(
            "The sound was not ready in time; ask for a stream, or send less text."
        ) from None
    except BaseException:
        await stream.aclose()
        raise
    return StreamedSpeech(speech.format, first, sound, stream, settings.send_timeout_s)


async def _sound(stream: LocalStream, encoder: Encoder) -> AsyncIterator[bytes]:
    """Encoded pieces of the stream's only utterance.

    Raises:
        SpeakaheadError: the utterance failed.
    """
    async for event in stream:
        match event:
            case Audio(samples=samples):
                if piece := await _encoded(encoder, samples):
                    yield piece
            case Failed(error=error):
                raise error
            case UtteranceCompleted():
                if rest := encoder.finish():
                    yield rest
                return


async def _encoded(encoder: Encoder, samples: NDArray[np.float32]) -> bytes:
    if encoder.format.needs_extra:  # a codec, which takes its time
        return await asyncio.to_thread(encoder.encode, samples)
    return encoder.encode(samples)


async def _first(sound: AsyncIterator[bytes]) -> bytes:
    return await anext(sound, b"")


async def _joined(sound: AsyncIterator[bytes]) -> bytes:
    return b"".join([piece async for piece in sound])


async def _unless_client_leaves[T](request: Request, work: Coroutine[None, None, T]) -> T:
    """The outcome of ``work``, which is cancelled when the client leaves.

    Raises:
        ConnectionFailed: the client left.
    """
    working = asyncio.create_task(work)
    leaving = asyncio.create_task(_client_left(request.receive))
    try:
        await asyncio.wait({working, leaving}, return_when=asyncio.FIRST_COMPLETED)
        if not working.done():
            raise ConnectionFailed("The client left before its sound was ready.")
        return working.result()
    finally:
        for task in (working, leaving):
            task.cancel()
        await asyncio.gather(working, leaving, return_exceptions=True)


def _whole(speech: SpeechRequest, sound: bytes) -> Response:
    headers = {}
    head = wav.header(len(sound)) if speech.format == "wav" else b""
    if speech.format in ("wav", "pcm"):
        headers["X-Audio-Duration"] = f"{len(sound) / 2 / SAMPLE_RATE:.3f}"
    return Response(head + sound, media_type=MEDIA_TYPES[speech.format], headers=headers)


class StreamedSpeech(Response):
    """Sends sound as it comes; stops the speech when the client leaves or stops reading.

    A failure after the first sound cannot change the status any more. The answer is then left
    incomplete on purpose, so that the client sees a broken transfer and not a short text.
    """

    def __init__(
        self,
        audio_format: str,
        first: bytes,
        sound: AsyncIterator[bytes],
        stream: LocalStream,
        send_timeout_s: float,
    ) -> None:
        self.status_code = 200
        self.background = None
        self.media_type = MEDIA_TYPES[audio_format]
        self.init_headers({"Cache-Control": "no-store", "X-Accel-Buffering": "no"})
        self._first = first
        self._sound = sound
        self._stream = stream
        self._send_timeout_s = send_timeout_s

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        sending = asyncio.create_task(self._send_all(send))
        leaving = asyncio.create_task(_client_left(receive))
        try:
            await asyncio.wait({sending, leaving}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in (sending, leaving):
                task.cancel()
            await asyncio.gather(sending, leaving, return_exceptions=True)
            await self._stream.aclose()

    async def _send_all(self, send: Send) -> None:
        await send(
            {
                "type": "http.response.start",
                "status": self.status_code,
                "headers": self.raw_headers,
            }
        )
        try:
            await self._send(send, self._first)
            async for piece in self._sound:
                await self._send(send, piece)
            await self._send(send, b"", more=False)
        except (SpeakaheadError, TimeoutError):
            return

    async def _send(self, send: Send, piece: bytes, *, more: bool = True) -> None:
        async with asyncio.timeout(self._send_timeout_s):
            await send({"type": "http.response.body", "body": piece, "more_body": more})


async def _client_left(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
