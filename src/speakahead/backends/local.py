"""Speech in this process: joins a sans-I/O session to the scheduler, on an asyncio loop.

Every door of the server is a thin translation to and from ``LocalStream``, and applications can
use it without any server::

    async with await LocalBackend.load() as speech:
        async with speech.open() as stream:
            await stream.push_text("Hello there. How are")
            await stream.push_text(" you?")
            await stream.end_input()
            async for event in stream:
                ...
"""

from __future__ import annotations

import asyncio
import contextlib
from pathlib import Path
from types import TracebackType
from typing import Self
from weakref import WeakSet

from speakahead.assets import Voices, locate
from speakahead.backends.observation import Observer, UtteranceRecord
from speakahead.backends.stream import LocalStream
from speakahead.errors import SpeakaheadError
from speakahead.kokoro.background import BackgroundCalibrator
from speakahead.kokoro.engine import Plan
from speakahead.kokoro.loading import load_engine
from speakahead.kokoro.mixing import parse_mix
from speakahead.kokoro.parts import Backend
from speakahead.kokoro.runtimes import precision_of
from speakahead.kokoro.windowed import WindowedEngine
from speakahead.scheduling.scheduler import Policy, Scheduler
from speakahead.session import Limits, Session
from speakahead.session.events import (
    Pauses,
    VoiceSettings,
)
from speakahead.text.frontend import FrontEnd
from speakahead.text.g2p.languages import canonical_language, language_of_voice, warm
from speakahead.text.pronunciations import compiled

_CALIBRATOR_TIMEOUT_S = 5.0
_USUAL_COST = 0.5

__all__ = ["LocalBackend", "LocalStream"]


class LocalBackend:
    """The loaded model and its scheduler; opens streams. Use as an async context manager."""

    def __init__(
        self,
        scheduler: Scheduler[Plan],
        voices: Voices,
        *,
        limits: Limits | None = None,
        pauses: Pauses | None = None,
        observer: Observer | None = None,
        calibrator: BackgroundCalibrator | None = None,
        engine: Backend = Backend.CPU,
    ) -> None:
        self.scheduler = scheduler
        self.voices = voices
        self.limits = limits or Limits()
        self.pauses = pauses or Pauses()
        self.observer = observer
        self.engine = engine
        """What decodes: never ``AUTO``, and the CPU where another did not start."""
        self._calibrator = calibrator
        self._streams: WeakSet[LocalStream] = WeakSet()

    @staticmethod
    async def load(
        model: Path | None = None,
        *,
        threads: int = 2,
        workers: int = 1,
        policy: Policy = Policy.DEADLINE,
        whole: bool = False,
        patience_s: float | None = 5.0,
        engine: Backend = Backend.AUTO,
        calibrate: bool = True,
        limits: Limits | None = None,
        pauses: Pauses | None = None,
    ) -> LocalBackend:
        """Load and warm the model, off the event loop.

        Args:
            model: a model directory; by default the one that ``assets.locate`` finds.
            threads: threads of one inference.
            workers: inferences at a time.
            policy: order of the work.
            whole: decode whole sentences (the yardstick).
            patience_s: see ``Scheduler``.
            engine: what decodes the windows.
            calibrate: calibrate a voice that came without one while nobody speaks, so that it is
                decoded in windows afterwards.
            limits: limits of every session.
            pauses: silence after sentences.

        Raises:
            ModelError: there is no model, or a file of it is damaged.
        """

        def work() -> LocalBackend:
            found = locate(model)
            voices = Voices(found.path)
            warm("en-us")
            decoder = load_engine(found, voices, threads=threads, whole=whole, backend=engine)
            decoder.warm()
            measured = decoder.cost if isinstance(decoder, WindowedEngine) else None
            scheduler: Scheduler[Plan] = Scheduler(
                decoder,
                FrontEnd(),
                policy=policy,
                workers=workers,
                patience_s=patience_s,
                expected_cost=measured or _USUAL_COST,
            )
            calibrator = None
            if calibrate and isinstance(decoder, WindowedEngine):
                calibrator = BackgroundCalibrator(decoder, lambda: scheduler.idle)
            used = decoder.backend if isinstance(decoder, WindowedEngine) else Backend.CPU
            return LocalBackend(
                scheduler,
                voices,
                limits=limits,
                pauses=pauses,
                calibrator=calibrator,
                engine=used,
            )

        return await asyncio.to_thread(work)

    @property
    def precision(self) -> str:
        """What windows are computed in, ``"float32"`` or ``"bfloat16"``."""
        return precision_of(self.engine)

    def language_of(self, voice: str) -> str:
        """The language tag of a voice that is at hand, or of the first one of a mix.

        Raises:
            InvalidRequest: the mix is malformed.
            UnknownVoice: there is no such voice.
            UnsupportedLanguage: its language cannot be turned into phonemes here.
        """
        names = [name for name, _ in parse_mix(voice)]
        for name in names:
            self.voices.require(name)
        return canonical_language(language_of_voice(names[0]))

    def check(self, settings: VoiceSettings) -> str:
        """The language tag of what is spoken with these settings, if it can be spoken.

        Raises:
            InvalidRequest: see ``language_of``; or the pronunciations are too many.
        """
        compiled(settings.pronunciations)
        own = self.language_of(settings.voice)
        return own if settings.language is None else canonical_language(settings.language)

    @property
    def speakable_voices(self) -> tuple[str, ...]:
        """Names of the voices whose language can be turned into phonemes here."""
        speakable = []
        for name in self.voices.names:
            with contextlib.suppress(SpeakaheadError):
                self.language_of(name)
                speakable.append(name)
        return tuple(speakable)

    def open(
        self,
        settings: VoiceSettings | None = None,
        *,
        ahead_s: float | None = None,
        name: str = "utterance",
    ) -> LocalStream:
        """A new session.

        Args:
            settings: defaults for requests that bring none.
            ahead_s: get no further ahead of real-time playback than this; None: no limit.
            name: prefix of the ids of utterances that are not named.
        """
        session = Session(
            self.check,
            defaults=settings,
            limits=self.limits,
            pauses=self.pauses,
            name=name,
        )
        stream = LocalStream(session, self.scheduler.open(ahead_s=ahead_s), self._observe)
        self._streams.add(stream)
        return stream

    def _observe(self, record: UtteranceRecord) -> None:
        if self.observer is not None:
            self.observer.utterance_ended(record)

    async def aclose(self) -> None:
        """Close all streams and end the worker threads."""
        for stream in list(self._streams):
            await stream.aclose()
        await asyncio.to_thread(self.scheduler.close)
        if self._calibrator is not None:
            await asyncio.to_thread(self._calibrator.stop, _CALIBRATOR_TIMEOUT_S)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.aclose()
