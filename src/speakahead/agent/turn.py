"""One turn: what a model writes goes to the speech back end, and both come out as events."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import logging
import time
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable

from speakahead.agent.events import (
    AgentEvent,
    StopReason,
    Timings,
    captions_event,
    error_event,
    interrupted_event,
)
from speakahead.agent.heard import Heard
from speakahead.agent.interruption import Interruption
from speakahead.agent.reply import (
    ReplyEvent,
    ReplyStream,
    TextWritten,
    ToolCalled,
    ToolsAnswered,
    Written,
)
from speakahead.agent.request import AgentRequest
from speakahead.agent.speaker import Speaker
from speakahead.audio.encoder import Encoder
from speakahead.backends.interface import SpeechBackend, SpeechStream
from speakahead.errors import SpeakaheadError, describe_fault
from speakahead.session.events import (
    Audio,
    Close,
    Failed,
    SentenceStarted,
    UtteranceCompleted,
    UtteranceStarted,
    VoiceSettings,
)
from speakahead.text.chunker import IncrementalSentenceChunker

_MAX_EVENTS = 64
"""Events that may wait for the client; then the model and the speech wait too."""
_STOP_S = 0.45
"""How long to wait for model and speech to stop; they stop in any case."""
_CLOSE_S = 0.03
"""How long a turn waits for its session of speech to close: one elsewhere may need seconds."""
_UNSPEAKABLE = {"unknown_voice", "unsupported_language"}
"""Errors after which nothing of a reply can be spoken."""
_AFTERMATH = {"unknown_utterance", "not_held"}
"""Errors of a release or a discard that came after the utterance had failed."""

log = logging.getLogger(__name__)
_ending: set[asyncio.Task[None]] = set()  # what nobody waits for any more


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
    # In a task of its own, which ends in good order even while we are being cancelled.
    work = _keep(asyncio.create_task(turn.run(speech, speaker, interruption)))
    ended = False
    try:
        while (event := await events.get()) is not None:
            ended = event["type"] == "agent_end"
            yield event
    finally:
        if not ended:
            turn.leave()
            interruption.interrupt()
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
        self._gone = False  # nobody takes the events any more
        self._speech = contextlib.AsyncExitStack()  # what is to be closed of it
        self._stream: SpeechStream | None = None
        self._speaker: Speaker | None = None
        self._opened = asyncio.Event()  # the two are there, or never will be
        self._telling: asyncio.Timeout | None = None  # of what is being told to the speaker
        self._step = 0
        self._sentences = IncrementalSentenceChunker()
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

    def leave(self) -> None:
        """The client has gone: what it had time for was heard, and nothing more is told."""
        self._stop_hearing()
        self._gone = True
        while not self._events.empty():  # a task may be waiting for room
            self._events.get_nowait()

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
            await self._run_tasks(speech, open_speaker, interruption)
        except Exception as fault:
            await self._fail_unexpectedly(fault)
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
        await self._put(None)

    async def _run_tasks(
        self,
        speech: SpeechBackend,
        open_speaker: Callable[[SpeechStream, Heard], Speaker],
        interruption: Interruption,
    ) -> None:
        """Write and speak until all has been spoken, or the listener interrupts."""
        writing = asyncio.create_task(self._write())
        speaking = asyncio.create_task(self._speak(speech, open_speaker))
        interrupting = asyncio.create_task(interruption.wait())
        tasks = {writing, speaking, interrupting}
        try:
            waiting = set(tasks)
            while speaking in waiting or writing in waiting:
                if writing.done() and self._heard.silent:
                    break
                done, waiting = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
                if interrupting in done:
                    self._stop_hearing(interruption.played_s)
                    break
                for task in done:
                    task.result()
        finally:
            for task in tasks:
                task.cancel()
                _keep(task)
            await asyncio.wait(tasks, timeout=_CLOSE_S)
            # The model first: what it does later would get into the conversation.
            closing = _keep(asyncio.create_task(self._speech.aclose()))
            await self._reply.aclose()
            await asyncio.wait({closing}, timeout=_CLOSE_S)

    # -- the model -----------------------------------------------------------------------------

    async def _write(self) -> None:
        """Tell the client what the model writes, and give it to the speaker."""
        try:
            async for event in self._reply:
                await self._take(event)
        except SpeakaheadError as error:
            await self._fail(error)  # what was written before is still spoken
        except Exception as fault:
            await self._fail_unexpectedly(fault)
        if self._sentences.flush():
            self._note("first_sentence_s")
        self._note("model_done_s")
        await self._tell(lambda speaker: speaker.finish())
        await self._tell(lambda _: self._end_speech())

    async def _take(self, event: ReplyEvent) -> None:
        match event:
            case TextWritten(text=text):
                self._note("first_text_s")
                # Not the speech back end's word, which one elsewhere does not give.
                if self._timings["first_sentence_s"] is None and self._sentences.feed(text):
                    self._note("first_sentence_s")
                self._heard.showed(self._step, text)
                await self._put({"type": "text_delta", "text": text})
                await self._tell(lambda speaker: speaker.write(text))
            case ToolCalled(name=name):
                if self._sentences.flush():
                    self._note("first_sentence_s")
                await self._put({"type": "tool", "state": "started", "name": name})
                await self._tell(lambda speaker: speaker.tool_called())
            case ToolsAnswered(succeeded=succeeded):
                self._step += 1
                await self._put({"type": "tool", "state": "ended", "name": ""})
                await self._tell(lambda speaker: speaker.tools_answered(succeeded))
            case Written(reason=reason):
                self._reason = self._reason if self._reason == "error" else reason

    async def _tell(self, tell: Callable[[Speaker], Awaitable[None]]) -> None:
        """Tell the speaker, as long as there is speech."""
        await self._opened.wait()
        if self._speaker is None or self._heard.silent:
            return
        async with self._speech_may_fail():
            try:
                async with asyncio.timeout(None) as self._telling:
                    await tell(self._speaker)
            except TimeoutError:
                if not self._heard.silent:
                    raise
            finally:
                self._telling = None

    async def _end_speech(self) -> None:
        assert self._stream is not None
        await self._stream.send(Close())

    # -- the speech ----------------------------------------------------------------------------

    async def _speak(
        self, speech: SpeechBackend, open_speaker: Callable[[SpeechStream, Heard], Speaker]
    ) -> None:
        async with self._speech_may_fail():
            self._stream = await self._speech.enter_async_context(speech.open(self._settings))
            self._speaker = open_speaker(self._stream, self._heard)
            self._speech.callback(self._speaker.abandon)
            self._opened.set()
            await self._listen(self._stream, self._speaker)

    @contextlib.asynccontextmanager
    async def _speech_may_fail(self) -> AsyncIterator[None]:
        try:
            yield
        except SpeakaheadError as error:
            await self._silence(error)
        except Exception as fault:
            log.error("the speech failed: %s", describe_fault(fault))
            await self._silence(SpeakaheadError("The speech failed; the agent's log says why."))

    async def _silence(self, error: SpeakaheadError) -> None:
        """The speech has failed, which is told once; the text goes on without it."""
        if self._heard.silent:
            return
        self._heard.silence()
        self._opened.set()
        if self._telling is not None:  # nothing makes room for more text now
            self._telling.reschedule(asyncio.get_running_loop().time())
        await self._fail(error)

    async def _listen(self, stream: SpeechStream, speaker: Speaker) -> None:
        """Take the sound, and send it on."""
        async for event in stream:
            match event:
                case UtteranceStarted(utterance=utterance):
                    self._heard.utterance_started(utterance)
                case SentenceStarted():
                    await self._begin_sound()
                    self._heard.sentence_started(event)
                    await self._put(captions_event(self._heard, event))
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
                    if error.code in _UNSPEAKABLE:
                        await self._silence(error)
                        return
                    await self._fail(error)
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
            if not self._heard.interrupted:  # what the encoder keeps would be heard as a blip
                await self._chunk(self._encoder.finish())
            await self._put(
                {
                    "type": "audio_stream_end",
                    "chunks": self._chunks,
                    "duration_s": round(self._heard.sent_s, 3),
                }
            )

    # -- small things --------------------------------------------------------------------------

    def _stop_hearing(self, played_s: float | None = None) -> None:
        if not self._heard.interrupted:
            self._heard.stop(time.monotonic(), played_s)

    def _drop_sound(self) -> None:
        """Forget the sound that the client has not taken."""
        waiting = [self._events.get_nowait() for _ in range(self._events.qsize())]
        for event in waiting:
            if event is not None and event["type"] != "audio_chunk":
                self._events.put_nowait(event)

    async def _put(self, event: AgentEvent | None) -> None:
        if not self._gone:
            await self._events.put(event)

    async def _fail(self, error: SpeakaheadError) -> None:
        self._reason = "error"
        await self._put(error_event(error))

    async def _fail_unexpectedly(self, fault: Exception) -> None:
        log.error("a turn failed: %s", describe_fault(fault))
        await self._fail(SpeakaheadError("The agent failed; its log says why."))

    def _since(self) -> float:
        return round(time.monotonic() - self._began, 4)

    def _note(self, name: str) -> None:
        timings: dict[str, float | None] = self._timings  # type: ignore[assignment]
        if timings[name] is None:
            timings[name] = self._since()


def _keep(task: asyncio.Task[None]) -> asyncio.Task[None]:
    """Let a task end by itself, also when nobody waits for it or asks how it ended."""
    _ending.add(task)
    task.add_done_callback(_ending.discard)
    task.add_done_callback(lambda task: task.cancelled() or task.exception())
    return task
