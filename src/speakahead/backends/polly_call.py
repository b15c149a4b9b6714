"""One of Amazon Polly's bidirectional streams, with the real SDK.

What the SDK does not do by itself: a call that gets no answer, or a peer that takes nothing, would
wait for ever; a read that is cancelled spoils the stream; and a stream that was reset ends like one
that is complete, so that only Polly's ``StreamClosedEvent`` proves that all sound has come.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
from aws_sdk_polly import models
from aws_sdk_polly.client import AsyncPollyClient
from numpy.typing import NDArray
from smithy_core.exceptions import CallError

from speakahead.audio.pcm import SAMPLE_RATE, S16leReader
from speakahead.backends.polly_session import Part, PollySession, Text
from speakahead.errors import (
    ConnectionFailed,
    InvalidRequest,
    Overloaded,
    RemoteError,
    SessionExpired,
    SpeakaheadError,
    SynthesisFailed,
    Unauthorized,
)

_log = logging.getLogger(__name__)

_ENGINE = "generative"
_POLLY_RATE = 16_000
"""In Hz; the most that Polly gives as PCM. Source: SampleRate of SynthesizeSpeech in its API's
reference."""

KEEP_ALIVE_S = 3.0
"""Polly ends a stream that gets no event for five seconds. Source: "Sending text and receiving
audio" in its developer guide, which also says that an event with blanks will do."""
REST_S = 20.0
"""A stream that gets no text for so long is ended, so that it does not count against the quota of
streams at a time; the utterance goes on in another one."""

_RETRY_AFTER_S = 1.0
"""Polly does not say; its quotas are per second."""
_CLOSE_S = 1.0
_LEAVE_S = 0.25


class PollyCall:
    """One call: a part's text in, its sound out.

    One task reads from beginning to end, because a read that is cancelled spoils the SDK's stream.

    Attributes:
        heard: called after each piece of sound.
        over: Polly has said all, to the end of the stream.
    """

    def __init__(
        self, part: Part, session: PollySession, changed: asyncio.Event, timeout_s: float
    ) -> None:
        self.heard: Callable[[], None] = lambda: None
        self.over = False
        self._part = part
        self._session = session
        self._changed = changed
        self._timeout_s = timeout_s
        self._stream: Any = None
        self._reading: asyncio.Task[None] | None = None
        self._deadline: asyncio.Timeout | None = None
        self._said_all = False
        self._proven = False

    async def open(self, client: AsyncPollyClient) -> None:
        voice = self._part.voice
        self._stream = await client.start_speech_synthesis_stream(
            models.StartSpeechSynthesisStreamInput(
                engine=_ENGINE,
                language_code=self._part.language if len(voice.languages) > 1 else None,
                output_format=models.OutputFormat.PCM,
                sample_rate=str(_POLLY_RATE),
                voice_id=voice.id,
            )
        )

    async def run(self) -> None:
        """Talk until all sound has come.

        Raises:
            TimeoutError: an answer is missing.
            Exception: of the SDK's.
        """
        self._reading = asyncio.create_task(self._read())
        writing = asyncio.create_task(self._write())
        try:
            async with asyncio.timeout(self._timeout_s) as self._deadline:
                await asyncio.wait({self._reading, writing}, return_when=asyncio.FIRST_COMPLETED)
                if not self._reading.done() and writing.exception() is not None:
                    self._due(_CLOSE_S)  # what is read says why, as a rule
                await asyncio.wait({self._reading})
        except TimeoutError:
            if self._proven:
                return  # it has said that this is all, and only leaves the stream open
            if writing.done():
                writing.result()
            raise
        finally:
            writing.cancel()
            await asyncio.gather(writing, return_exceptions=True)
        self._reading.result()
        self.over = True

    async def shut(self, client: AsyncPollyClient) -> None:
        """Leave, whatever is under way. Takes a few seconds at most."""
        if self._stream is not None:
            with contextlib.suppress(Exception):
                async with asyncio.timeout(_CLOSE_S):
                    await self._stream.input_stream.close()
        if self._reading is not None:
            # The SDK complains of a connection that is closed before the end was written.
            await asyncio.wait({self._reading}, timeout=_LEAVE_S)
        await shut_client(client)
        if self._reading is not None:
            await asyncio.wait({self._reading}, timeout=_CLOSE_S)
            self._reading.cancel()
            await asyncio.gather(self._reading, return_exceptions=True)

    def _due(self, seconds: float | None) -> None:
        """An answer is due in so many seconds; None: there is none."""
        if self._deadline is not None and not self._deadline.expired():
            when = None if seconds is None else asyncio.get_running_loop().time() + seconds
            self._deadline.reschedule(when)

    async def _read(self) -> None:
        reader, upsampler = S16leReader(), _Upsampler()
        _, receiver = await self._stream.await_output()
        while (event := await receiver.receive()) is not None:
            match event:
                case models.StartSpeechSynthesisStreamEventStreamAudioEvent(value=audio):
                    self._due(self._timeout_s if self._said_all else None)
                    self._sound(upsampler.feed(reader.feed(audio.audio_chunk or b"")))
                case models.StartSpeechSynthesisStreamEventStreamStreamClosedEvent():
                    self._due(_CLOSE_S)
                    self._sound(upsampler.finish())
                    self._proven = self._said_all
        if not self._proven:  # the end of a stream proves nothing
            raise ConnectionFailed("Amazon Polly has closed the connection.")

    def _sound(self, samples: NDArray[np.float32]) -> None:
        self._session.sound(self._part, samples, time.monotonic())
        self.heard()

    async def _write(self) -> None:
        clock = asyncio.get_running_loop().time
        spoke_at = sent_at = clock()
        while True:
            text = self._part.take()
            if text is not None:
                await self._say(text)
                spoke_at = sent_at = clock()
            elif self._part.complete:
                break
            else:
                self._changed.clear()
                try:
                    async with asyncio.timeout_at(sent_at + KEEP_ALIVE_S):
                        await self._changed.wait()
                except TimeoutError:
                    if clock() - spoke_at >= REST_S:
                        self._session.rest(self._part)
                    else:
                        await self._say(Text(" ", False, False))
                        sent_at = clock()
        self._said_all = True
        self._due(self._timeout_s)
        await self._send(
            models.StartSpeechSynthesisStreamActionStreamCloseStreamEvent(
                value=models.CloseStreamEvent()
            )
        )
        async with asyncio.timeout(self._timeout_s):
            await self._stream.input_stream.close()

    async def _say(self, text: Text) -> None:
        flush = models.FlushStreamConfiguration(force=True) if text.flush else None
        event = models.TextEvent(
            text=text.text,
            text_type=models.TextType.SSML if text.ssml else models.TextType.TEXT,
            flush_stream_configuration=flush,
        )
        await self._send(models.StartSpeechSynthesisStreamActionStreamTextEvent(value=event))
        if text.flush:
            self._due(self._timeout_s)

    async def _send(self, event: Any) -> None:
        async with asyncio.timeout(self._timeout_s):  # a peer that is dead takes nothing for ever
            await self._stream.input_stream.send(event)


class _Upsampler:
    """Polly's samples to ours, in pieces of any size."""

    def __init__(self) -> None:
        import av

        self._resampler = av.AudioResampler(format="flt", layout="mono", rate=SAMPLE_RATE)
        self._position = 0

    def feed(self, samples: NDArray[np.float32]) -> NDArray[np.float32]:
        """float32 [n] at Polly's rate to float32 [m] at ours; a few milliseconds stay behind."""
        import av

        if len(samples) == 0:
            return samples
        frame = av.AudioFrame.from_ndarray(samples[np.newaxis], format="flt", layout="mono")
        frame.sample_rate = _POLLY_RATE
        frame.time_base = Fraction(1, _POLLY_RATE)
        frame.pts = self._position
        self._position += len(samples)
        return _joined(self._resampler.resample(frame))

    def finish(self) -> NDArray[np.float32]:
        """What is left."""
        return _joined(self._resampler.resample(None) if self._position else [])


def _joined(frames: list[Any]) -> NDArray[np.float32]:
    pieces = [frame.to_ndarray().reshape(-1) for frame in frames]
    return np.concatenate([np.zeros(0, np.float32), *pieces]).astype(np.float32)


async def shut_client(client: AsyncPollyClient) -> None:
    with contextlib.suppress(Exception):
        async with asyncio.timeout(_CLOSE_S):
            await client.close()


def typed_error(error: Exception) -> SpeakaheadError:
    """Our error for one of the SDK's; its words are not ours to repeat."""
    match error:
        case SpeakaheadError():
            return error
        case models.ValidationException():
            return InvalidRequest(
                "Amazon Polly refused the request; the voice may not be generative, or not be "
                "offered in this region.",
                code="polly_refused",
            )
        case models.ServiceQuotaExceededException(
            quota_code=models.QuotaCode.INPUT_STREAM_TIMEOUT
            | models.QuotaCode.INPUT_STREAM_INBOUND_EVENT_TIMEOUT
        ):
            return RemoteError(
                "Amazon Polly has ended a stream that was idle or open for too long.",
                code=SessionExpired.code,
                retryable=True,
            )
        case models.ServiceQuotaExceededException() | CallError(is_throttling_error=True):
            return _overloaded(error)
        case models.ThrottlingException():
            return _overloaded(error)
        case models.ServiceFailureException():
            return SynthesisFailed("Amazon Polly failed to speak this; try again.")
        case CallError() if error.response_metadata.http_status_code in (401, 403):
            return Unauthorized("These AWS credentials may not use Amazon Polly.")
        case _:
            _log.debug("Polly cannot be reached: %s", type(error).__name__)
            return ConnectionFailed("Amazon Polly cannot be reached.")


def _overloaded(error: CallError) -> RemoteError:
    return RemoteError(
        "Amazon Polly takes no more requests at the moment: the account's quota is used up.",
        code=Overloaded.code,
        retryable=True,
        retry_after_s=error.retry_after or _RETRY_AFTER_S,
    )
