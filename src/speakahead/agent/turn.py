"""One turn: what a model writes goes to the speech back end, and both come out as events."""

from __future__ import annotations

import asyncio
import base64
import logging
import time
from collections.abc import AsyncGenerator, Callable

from speakahead.agent.events import (
    AgentEvent,
    Captions,
    ErrorEvent,
    Interrupted,
    StopReason,
    Timings,
)
from speakahead.agent.heard import Heard
from speakahead.agent.reply import ReplyStream, TextWritten, ToolCalled, ToolsAnswered, Written
from speakahead.agent.request import AgentRequest
from speakahead.agent.speaker import Speaker
from speakahead.audio.encoder import Encoder
from speakahead.backends.interface import SpeechBackend, SpeechStream
from speakahead.errors import SpeakaheadError
from speakahead.session.events import (
    Audio,
    Close,
    Failed,
    SentenceReady,
    SentenceStarted,
    UtteranceCompleted,
    UtteranceStarted,
    VoiceSettings,
)

_MAX_EVENTS = 64
"""Events that may wait for the client; then the model and the speech wait too."""
_STOP_S = 0.45
"""How long to wait for model and speech to stop; they stop in any case."""
_UNSPEAKABLE = {"unknown_voice", "unsupported_language"}
"""Errors after which nothing of a reply can be spoken."""
_AFTERMATH = {"unknown_utterance", "not_held"}
"""Errors of a release or a discard that came after the utterance had failed."""

log = logging.getLogger(__name__)


class Interruption:
    """Lets a listener interrupt a turn from outside of its events."""

    def __init__(self) -> None:
        self._event = asyncio.Event()
        self.played_s: float | None = None

    def interrupt(self, played_s: float | None = None) -> None:
        """The listener does not want to hear more.

        Args:
            played_s: seconds of the turn's sound that were heard; None: what a client that plays
                without a pause has played by now.
        """
        if not self._event.is_set():
            self.played_s = played_s
            self._event.set()

    async def wait(self) -> None:
        """Return when the listener has interrupted."""
        await self._event.wait()


async def run_turn(
    reply: ReplyStream,
    speech: SpeechBackend,
    request: AgentRequest,
    speaker: Callable[[SpeechStream, Heard], Speaker],
    *,
    settings: VoiceSettings,
    heard: Heard,
    interruption: Interruption,
) -> AsyncGenerator[AgentEvent]:
    """The events of a turn; see ``run_bidi`` and ``run_batch``."""
    events: asyncio.Queue[AgentEvent | None] = asyncio.Queue(_MAX_EVENTS)
    turn = _Turn(reply, request, settings, heard, events)
    work = asyncio.create_task(turn.run(speech, speaker, interruption))
    try:
        while (event := await events.get()) is not None:
            yield event
    finally:
        # In a task of its own, so that it is stopped in good order even if we are being cancelled.
        work.cancel()
        await asyncio.wait({work}, timeout=_STOP_S)


class _Turn:
    def __init__(
        self,
        reply: ReplyStream,
        request: AgentRequest,
        settings: VoiceSettings,
        heard: Heard,
        events: asyncio.Queue[AgentEvent | None],
    ) -> None:
        self._reply = reply
        self._request = request
        self._settings = settings
        self._heard = heard
        self._events = events
        self._began = time.monotonic()
        self._reason: StopReason = "end_turn"
        self._encoder: Encoder | None = None
        self._chunks = 0
        self._last: tuple[str, int] = ("", 0)
        self._timings = Timings(
            first_text_s=None,
            first_sentence_s=None,
            first_audio_s=None,
            model_done_s=None,
            total_s=0.0,
            audio_s=0.0,
        )

    async def run(
        self,
        speech: SpeechBackend,
        open_speaker: Callable[[SpeechStream, Heard], Speaker],
        interruption: Interruption,
    ) -> None:
        """Put the events of the turn on the queue, and None behind them."""
        session_id = self._request.session_id or ""
        await self._put(
            {"type": "agent_start", "mode": self._request.mode, "session_id": session_id}
        )
        try:
            async with speech.open(self._settings) as stream:
                speaker = open_speaker(stream, self._heard)
                try:
                    await self._run_tasks(stream, speaker, interruption)
                finally:
                    speaker.abandon()
        except SpeakaheadError as error:
            await self._fail(error)
        except asyncio.CancelledError:
            self._stop_hearing()
            raise
        except Exception:
            log.exception("A turn failed")
            await self._fail(SpeakaheadError("The agent failed; its log says why."))
        finally:
            await self._reply.aclose()
        if self._heard.interrupted:
            self._reason = "interrupted"
            self._drop_sound()
            await self._put(interrupted_event(self._heard))
        await self._end_sound()
        self._timings["total_s"] = self._since()
        self._timings["audio_s"] = round(self._heard.sent_s, 3)
        await self._put(
            {"type": "agent_end", "stop_reason": self._reason, "timings": self._timings}
        )
        await self._events.put(None)

    async def _run_tasks(
        self, stream: SpeechStream, speaker: Speaker, interruption: Interruption
    ) -> None:
        """Write and speak until all has been spoken, or the listener interrupts."""
        writing = asyncio.create_task(self._write(stream, speaker))
        listening = asyncio.create_task(self._listen(stream, speaker))
        interrupting = asyncio.create_task(interruption.wait())
        try:
            waiting = {writing, listening, interrupting}
            while listening in waiting:
                done, waiting = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
                if interrupting in done:
                    self._stop_hearing(interruption.played_s)
                    return
                for task in done:
                    task.result()
        finally:
            for task in (writing, listening, interrupting):
                task.cancel()
            await asyncio.gather(writing, listening, interrupting, return_exceptions=True)

    async def _write(self, stream: SpeechStream, speaker: Speaker) -> None:
        """Give what the model writes to the speaker, and tell the client."""
        try:
            async for event in self._reply:
                match event:
                    case TextWritten(text=text):
                        self._note("first_text_s")
                        await self._put({"type": "text_delta", "text": text})
                        await speaker.write(text)
                    case ToolCalled(name=name):
                        await self._put({"type": "tool", "state": "started", "name": name})
                        await speaker.tool_called()
                    case ToolsAnswered(succeeded=succeeded):
                        await self._put({"type": "tool", "state": "ended", "name": ""})
                        await speaker.tools_answered(succeeded)
                    case Written(reason=reason):
                        self._reason = self._reason if self._reason == "error" else reason
        except SpeakaheadError as error:
            await self._fail(error)  # what was written before is still spoken
        self._note("model_done_s")
        await speaker.finish()
        await stream.send(Close())

    async def _listen(self, stream: SpeechStream, speaker: Speaker) -> None:
        """Take the sound, and send it on."""
        async for event in stream:
            match event:
                case SentenceReady():
                    self._note("first_sentence_s")
                case UtteranceStarted(utterance=utterance):
                    self._heard.utterance_started(utterance)
                case SentenceStarted():
                    await self._begin_sound()
                    self._heard.sentence_started(event)
                    await self._put(self._captions(event))
                case Audio():
                    await self._send_sound(event)
                case UtteranceCompleted(utterance=utterance, duration_s=duration):
                    self._heard.utterance_completed(utterance)
                    speaker.all_sent(utterance)
                    await self._put(
                        {
                            "type": "utterance_complete",
                            "utterance": utterance,
                            "duration_s": round(duration, 3),
                        }
                    )
                case Failed(utterance=utterance, error=error):
                    if error.code in _AFTERMATH:
                        continue
                    await self._fail(error)
                    if error.code in _UNSPEAKABLE:
                        return
                    speaker.failed(utterance)

    # -- sound ---------------------------------------------------------------------------------

    async def _begin_sound(self) -> Encoder:
        if self._encoder is None:
            self._encoder = self._request.encoder()
            await self._put(
                {
                    "type": "audio_stream_start",
                    "format": self._request.format,
                    "sample_rate": self._encoder.sample_rate,
                }
            )
        return self._encoder

    async def _send_sound(self, event: Audio) -> None:
        encoder = await self._begin_sound()
        self._last = (event.utterance, event.offset)
        await self._chunk(encoder.encode(event.samples))
        self._heard.sent(len(event.samples), time.monotonic())

    async def _chunk(self, data: bytes) -> None:
        if not data:
            return
        self._note("first_audio_s")
        utterance, offset = self._last
        await self._put(
            {
                "type": "audio_chunk",
                "audio": base64.b64encode(data).decode("ascii"),
                "sequence": self._chunks,
                "utterance": utterance,
                "offset": offset,
            }
        )
        self._chunks += 1

    async def _end_sound(self) -> None:
        if self._encoder is not None:
            await self._chunk(self._encoder.finish())
            await self._put(
                {
                    "type": "audio_stream_end",
                    "chunks": self._chunks,
                    "duration_s": round(self._heard.sent_s, 3),
                }
            )

    def _captions(self, event: SentenceStarted) -> Captions:
        time_base = self._heard.start_s(event.utterance)
        text_base = self._heard.text_start(event.utterance)
        return {
            "type": "captions",
            "utterance": event.utterance,
            "text": event.sentence.text,
            "start_s": round(time_base + event.offset_s, 3),
            "start": text_base + event.sentence.span.start,
            "end": text_base + event.sentence.span.end,
            "words": [
                {
                    "text": word.text,
                    "start_s": round(time_base + event.offset_s + word.start_s, 3),
                    "end_s": round(time_base + event.offset_s + word.end_s, 3),
                    "start": text_base + word.span.start,
                    "end": text_base + word.span.end,
                }
                for word in event.words
            ],
        }

    # -- small things --------------------------------------------------------------------------

    def _stop_hearing(self, played_s: float | None = None) -> None:
        self._heard.stop(time.monotonic(), played_s)

    def _drop_sound(self) -> None:
        """Forget the sound that the client has not taken."""
        waiting = [self._events.get_nowait() for _ in range(self._events.qsize())]
        for event in waiting:
            if event is not None and event["type"] != "audio_chunk":
                self._events.put_nowait(event)

    async def _put(self, event: AgentEvent) -> None:
        await self._events.put(event)

    async def _fail(self, error: SpeakaheadError) -> None:
        self._reason = "error"
        await self._put(error_event(error))

    def _since(self) -> float:
        return round(time.monotonic() - self._began, 4)

    def _note(self, name: str) -> None:
        timings: dict[str, float | None] = self._timings  # type: ignore[assignment]
        if timings[name] is None:
            timings[name] = self._since()


def interrupted_event(heard: Heard) -> Interrupted:
    """How a client is told what was heard."""
    return {
        "type": "interrupted",
        "played_s": round(heard.played_s, 3),
        "text_spoken": heard.text_spoken,
        "text_remaining": heard.text_remaining,
    }


def error_event(error: SpeakaheadError) -> ErrorEvent:
    """How a client is told of an error."""
    return {
        "type": "error",
        "code": error.code,
        "message": error.message,
        "retryable": error.retryable,
    }
