"""kokoro-onnx by ``Kokoro.create_stream``, which takes the whole text."""

from __future__ import annotations

import asyncio
import importlib
import os
from typing import Any

from .driving import Listener, Setup, Tokens

DISTRIBUTION = "kokoro-onnx"


class KokoroOnnx:
    def __init__(self, setup: Setup) -> None:
        self._voice = setup.voice
        self._runner = asyncio.Runner()
        package: Any = importlib.import_module("kokoro_onnx")
        self._kokoro = package.Kokoro(str(setup.model), str(setup.voices))

    def speak(self, tokens: Tokens, listener: Listener) -> None:
        self._runner.run(self._speak(tokens.text(), listener))

    async def _speak(self, text: str, listener: Listener) -> None:
        stream = self._kokoro.create_stream(text, voice=self._voice, lang="en-us")
        async for samples, _ in stream:
            listener.hear(samples)

    def processes(self) -> list[int]:
        return [os.getpid()]

    def close(self) -> None:
        self._runner.close()


load = KokoroOnnx
