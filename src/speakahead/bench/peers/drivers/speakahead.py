"""speakahead itself, in process: deltas in, sound as it is decoded."""

from __future__ import annotations

import asyncio
import os

from speakahead.backends.local import LocalBackend
from speakahead.session.events import Audio, Failed, VoiceSettings

from .driving import Listener, Setup, Tokens

DISTRIBUTION = "speakahead"


class Speakahead:
    def __init__(self, setup: Setup) -> None:
        self._voice = setup.voice
        self._runner = asyncio.Runner()
        self._speech = self._runner.run(LocalBackend.load(setup.model.parent))

    def speak(self, tokens: Tokens, listener: Listener) -> None:
        self._runner.run(self._speak(tokens, listener))

    async def _speak(self, tokens: Tokens, listener: Listener) -> None:
        async with self._speech.open(VoiceSettings(voice=self._voice)) as stream:

            async def write() -> None:
                async for token in tokens:
                    await stream.push_text(token)
                await stream.end_input()

            async with asyncio.TaskGroup() as group:
                group.create_task(write())
                async for event in stream:
                    if isinstance(event, Audio):
                        listener.hear(event.samples)
                    elif isinstance(event, Failed):
                        raise event.error

    def processes(self) -> list[int]:
        return [os.getpid()]

    def close(self) -> None:
        self._runner.run(self._speech.aclose())
        self._runner.close()


load = Speakahead
