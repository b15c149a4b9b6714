"""`speakahead say`: text in, sound out, and the time line of what happened when."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from speakahead.audio.pcm import SAMPLE_RATE
from speakahead.backends.local import LocalBackend, LocalStream
from speakahead.cli.outputs import open_output
from speakahead.session.events import (
    Audio,
    Event,
    Failed,
    SentenceReady,
    SentenceStarted,
    UtteranceCompleted,
    VoiceSettings,
)


async def say(
    source: AsyncIterator[str],
    target: str | None,
    voice: str,
    speed: float,
    show_timeline: bool,
    model: Path | None,
    threads: int,
) -> None:
    """Speak what ``source`` gives, while it gives it.

    Raises:
        SpeakaheadError: nothing, or not all of it, could be spoken.
    """
    settings = VoiceSettings(voice, speed)
    async with await LocalBackend.load(model, threads=threads) as speech:
        speech.language_of(voice)  # an error before any text is read or any file is touched
        output = open_output(target)
        async with speech.open(settings) as stream:
            timeline = Timeline()
            feeding = asyncio.create_task(_feed(source, stream, timeline))
            try:
                async for event in stream:
                    timeline.record(event)
                    if isinstance(event, Audio):
                        await output.write(event.samples)
                    elif isinstance(event, Failed):
                        raise event.error
                await feeding
            finally:
                feeding.cancel()
                await output.close()
    if show_timeline:
        timeline.print()
    elif timeline.samples == 0:
        print("speakahead: there was nothing to say.", file=sys.stderr)


async def _feed(source: AsyncIterator[str], stream: LocalStream, timeline: Timeline) -> None:
    try:
        async for delta in source:
            await stream.push_text(delta)
        timeline.text_ended()
        await stream.end_input()
    except BaseException:
        await stream.aclose()  # or its reader would wait for ever
        raise


@dataclass(slots=True)
class _Row:
    text: str
    complete_s: float
    started_s: float | None = None
    heard_s: float | None = None


class Timeline:
    """When each sentence was complete, when its sound began to come, and when it is heard.

    A sentence is heard when its first sound has come and all sound before it has been played, by a
    listener who plays at once and without a gap where there is sound. Times are seconds from the
    first word of the text.
    """

    def __init__(self) -> None:
        self._began = time.monotonic()
        self._rows: list[_Row] = []
        self._started = 0
        self._plays_until = 0.0
        self._text_ended_s: float | None = None
        self._done_s = 0.0
        self.samples = 0

    def text_ended(self) -> None:
        self._text_ended_s = time.monotonic() - self._began

    def record(self, event: Event) -> None:
        now = time.monotonic() - self._began
        match event:
            case SentenceReady(sentence=sentence):
                self._rows.append(_Row(sentence.text, now))
            case SentenceStarted(sentence=sentence):
                self._started = sentence.index
                row = self._rows[sentence.index]
                row.started_s = now if row.started_s is None else row.started_s
            case Audio(samples=samples):
                row = self._rows[self._started]
                start = max(now, self._plays_until)
                row.heard_s = start if row.heard_s is None else row.heard_s
                self._plays_until = start + len(samples) / SAMPLE_RATE
                self.samples += len(samples)
            case UtteranceCompleted():
                self._done_s = now

    def print(self) -> None:
        """Print the table on standard error."""
        table = Table(title="Seconds from the first word of the text", title_justify="left")
        for heading in ("complete", "started", "heard"):
            table.add_column(heading, justify="right")
        table.add_column("sentence")
        for row in self._rows:
            table.add_row(_seconds(row.complete_s), _seconds(row.started_s), _seconds(row.heard_s),
                          Text(row.text))  # fmt: skip
        console = Console(stderr=True)
        console.print(table)
        heard = next((row.heard_s for row in self._rows if row.heard_s is not None), None)
        console.print(
            f"First sound at {_seconds(heard)} s; the text was complete at "
            f"{_seconds(self._text_ended_s)} s, its speech at {_seconds(self._done_s)} s; "
            f"{self.samples / SAMPLE_RATE:.2f} s of sound."
        )


def _seconds(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"
