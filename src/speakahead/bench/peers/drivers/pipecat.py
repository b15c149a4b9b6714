"""pipecat's Kokoro service in a pipeline: a model's text frames in, sound frames out."""

from __future__ import annotations

import asyncio
import importlib
import os
from typing import Any

import numpy as np

from .driving import SAMPLE_RATE, Listener, Setup, Tokens

DISTRIBUTION = "pipecat-ai"

_START_TIMEOUT_S = 60.0
_REPLY_TIMEOUT_S = 120.0


def _module(name: str) -> Any:
    return importlib.import_module(f"pipecat.{name}")


class Pipecat:
    def __init__(self, setup: Setup) -> None:
        self._frames = _module("frames.frames")
        self._listener: Listener | None = None
        self._runner = asyncio.Runner()
        self._runner.run(self._start(setup))

    async def _start(self, setup: Setup) -> None:
        service = _module("services.kokoro.tts").KokoroTTSService
        tts = service(
            model_path=str(setup.model),
            voices_path=str(setup.voices),
            settings=service.Settings(voice=setup.voice),
        )
        pipelines = _module("pipeline.worker")
        self._worker = pipelines.PipelineWorker(
            _module("pipeline.pipeline").Pipeline([tts, self._sink()]),
            params=pipelines.PipelineParams(audio_out_sample_rate=SAMPLE_RATE),
            cancel_on_idle_timeout=False,
        )
        started = asyncio.Event()
        self._ended = asyncio.Event()

        @self._worker.event_handler("on_pipeline_started")  # type: ignore[untyped-decorator]
        async def on_started(worker: Any, frame: Any) -> None:
            started.set()

        runner = _module("workers.runner").WorkerRunner(handle_sigint=False)
        await runner.add_workers(self._worker)
        self._running = asyncio.create_task(runner.run())
        await asyncio.wait_for(started.wait(), _START_TIMEOUT_S)

    def _sink(self) -> Any:
        """The last processor of the pipeline, where a transport would be."""
        driver = self
        base: Any = _module("processors.frame_processor").FrameProcessor

        class Sink(base):  # type: ignore[misc]
            async def process_frame(self, frame: Any, direction: Any) -> None:
                await super().process_frame(frame, direction)
                driver._received(frame)
                await self.push_frame(frame, direction)

        return Sink()

    def _received(self, frame: Any) -> None:
        if isinstance(frame, self._frames.TTSAudioRawFrame) and self._listener is not None:
            self._listener.hear(np.frombuffer(frame.audio, "<i2"))
        elif isinstance(frame, self._frames.LLMFullResponseEndFrame):  # it follows all sound
            self._ended.set()

    def speak(self, tokens: Tokens, listener: Listener) -> None:
        self._listener = listener
        self._runner.run(self._speak(tokens))
        self._listener = None

    async def _speak(self, tokens: Tokens) -> None:
        self._ended.clear()
        await self._worker.queue_frame(self._frames.LLMFullResponseStartFrame())
        async for token in tokens:
            frame = self._frames.LLMTextFrame(token)
            await self._worker.queue_frame(frame)
        await self._worker.queue_frame(self._frames.LLMFullResponseEndFrame())
        await asyncio.wait_for(self._ended.wait(), _REPLY_TIMEOUT_S)

    def processes(self) -> list[int]:
        return [os.getpid()]

    def close(self) -> None:
        self._runner.run(self._stop())
        self._runner.close()

    async def _stop(self) -> None:
        await self._worker.queue_frame(self._frames.EndFrame())
        await asyncio.wait({self._running}, timeout=10)


load = Pipecat
