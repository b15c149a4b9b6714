"""What all drivers share: the token stream, the listener, and the talk with the parent process.

The parent writes one JSON object a line, ``{"text": …, "tokens_per_second": …}`` (null: the text
is complete from the start), and reads one back: a ``Trial`` as an object. The first line is
written when the peer takes text: ``{"ready": {"version": …, …}}``.
"""

from __future__ import annotations

import argparse
import asyncio
import importlib.metadata
import json
import os
import platform
import re
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

SAMPLE_RATE = 24_000
AUDIBLE = 10 ** (-50 / 20)
"""First sound is the first sample above -50 dBFS."""

_TOKEN = re.compile(r"\s*\S{1,5}|\s+")
"""Pieces about as long as a language model's tokens: at most five characters and a space."""


@dataclass(frozen=True, slots=True)
class Setup:
    """What a driver is started with.

    Attributes:
        model: the ONNX file with the 8-bit weights.
        voices: an ``.npz`` file with float32 [510, 1, 256] under each voice's name.
        voice: the one to speak with.
        scratch: an empty folder of this run.
    """

    model: Path
    voices: Path
    voice: str
    scratch: Path


class Side(Protocol):
    """A peer that has been loaded."""

    def speak(self, tokens: Tokens, listener: Listener) -> None:
        """Speak what the tokens say; return when all sound was delivered."""
        ...

    def processes(self) -> list[int]:
        """Ids of the processes in which the peer works."""
        ...

    def close(self) -> None: ...


class Tokens:
    """A text as a model writes it: each token when it is due, at a constant rate.

    Attributes:
        complete_s: when the last token was there, in seconds from the first one's due time.
    """

    def __init__(self, text: str, per_second: float | None) -> None:
        self._pieces = [text] if per_second is None else _TOKEN.findall(text)
        self._interval = 0.0 if per_second is None else 1 / per_second
        self.began = time.perf_counter()
        self.complete_s = 0.0

    def __iter__(self) -> Iterator[str]:
        for number, piece in enumerate(self._pieces):
            time.sleep(max(0.0, self._due(number)))
            self._note()
            yield piece

    async def __aiter__(self) -> AsyncIterator[str]:
        for number, piece in enumerate(self._pieces):
            await asyncio.sleep(max(0.0, self._due(number)))
            self._note()
            yield piece

    def text(self) -> str:
        """All of it, when it is complete: for peers that take nothing less."""
        return "".join(self)

    def _due(self, number: int) -> float:
        return self.began + number * self._interval - time.perf_counter()

    def _note(self) -> None:
        self.complete_s = time.perf_counter() - self.began


class Listener:
    """Takes the sound as the peer delivers it, and knows when a listener would hear it."""

    def __init__(self, began: float) -> None:
        self._began = began
        self._plays_until = 0.0
        self.samples = 0
        self.first_sound_s: float | None = None
        self.first_heard_s: float | None = None
        self.last_s = 0.0

    def hear(self, samples: NDArray[Any]) -> None:
        """The next samples, mono at 24 kHz: float in -1 to 1, or int16."""
        now = time.perf_counter() - self._began
        if not len(samples):
            return
        floats = samples / 32768 if samples.dtype.kind == "i" else samples
        starts = max(self._plays_until, now)
        if self.first_sound_s is None:
            loud = np.flatnonzero(np.abs(floats) > AUDIBLE)
            if len(loud):
                self.first_sound_s = now
                self.first_heard_s = starts + float(loud[0]) / SAMPLE_RATE
        self._plays_until = starts + len(samples) / SAMPLE_RATE
        self.samples += len(samples)
        self.last_s = now


@dataclass(frozen=True, slots=True)
class Trial:
    """One reply; seconds from the first token.

    Attributes:
        text_complete_s: when the last token was given.
        first_sound_s: when the first audible sample was delivered.
        first_heard_s: when one hears it who plays what is delivered without a pause.
        last_s: when the last sample was delivered.
        audio_s: how much sound there is.
        peak_memory_mb: the most that the peer's processes have held so far.
    """

    text_complete_s: float
    first_sound_s: float
    first_heard_s: float
    last_s: float
    audio_s: float
    peak_memory_mb: float


def trial(side: Side, text: str, tokens_per_second: float | None) -> Trial:
    """Let a peer speak one reply.

    Raises:
        RuntimeError: nothing could be heard.
    """
    tokens = Tokens(text, tokens_per_second)
    listener = Listener(tokens.began)
    side.speak(tokens, listener)
    if listener.first_sound_s is None or listener.first_heard_s is None:
        raise RuntimeError("the peer delivered no audible sample")
    return Trial(
        tokens.complete_s,
        listener.first_sound_s,
        listener.first_heard_s,
        listener.last_s,
        listener.samples / SAMPLE_RATE,
        sum(map(peak_memory_mb, side.processes())),
    )


def run(
    load: Callable[[Setup], Side],
    distribution: str,
    arguments: Sequence[str],
) -> None:
    """A driver's main program.

    Args:
        load: loads the peer so that it takes text.
        distribution: name of the peer's package.
        arguments: those of the command line.
    """
    parser = argparse.ArgumentParser()
    for name in ("model", "voices", "scratch"):
        parser.add_argument(f"--{name}", type=Path, required=True)
    parser.add_argument("--voice", required=True)
    options = parser.parse_args(arguments)
    # What peers print must not come between our lines.
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    side = load(Setup(options.model, options.voices, options.voice, options.scratch))
    try:
        ready = {
            "version": importlib.metadata.version(distribution),
            "onnxruntime": importlib.metadata.version("onnxruntime"),
            "python": platform.python_version(),
        }
        print(json.dumps({"ready": ready}), file=answers, flush=True)
        for line in sys.stdin:
            request = json.loads(line)
            done = trial(side, request["text"], request["tokens_per_second"])
            print(json.dumps(asdict(done)), file=answers, flush=True)
    finally:
        side.close()


def peak_memory_mb(process: int) -> float:
    """The most resident memory a process has had, in MB; on systems that do not tell: has now."""
    try:
        status = Path(f"/proc/{process}/status").read_text()
    except FileNotFoundError:
        command = ["ps", "-o", "rss=", "-p", str(process)]
        told = subprocess.run(command, capture_output=True, check=True, timeout=10)  # noqa: S603
        return int(told.stdout) / 1024
    return next(int(line.split()[1]) for line in status.splitlines() if "VmHWM" in line) / 1024
