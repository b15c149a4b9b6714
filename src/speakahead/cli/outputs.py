"""Where sound and results go: a WAV file, standard output, or the sound device."""

from __future__ import annotations

import asyncio
import contextlib
import os
import queue
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, Protocol

import numpy as np
from numpy.typing import NDArray

from speakahead.audio import wav
from speakahead.audio.pcm import SAMPLE_RATE, to_s16le
from speakahead.errors import SpeakaheadError

_STANDARD_OUTPUT = "Standard output"


class OutputFailed(SpeakaheadError):
    code = "output_failed"


class Output(Protocol):
    """Takes sound as it comes: float32 [n] at 24 kHz."""

    async def write(self, samples: NDArray[np.float32]) -> None: ...
    async def close(self) -> None: ...


def open_output(target: str | None) -> Output:
    """The output for ``-o``: None plays, "-" is standard output, else a WAV file.

    Raises:
        OutputFailed: the file cannot be written, or there is nothing to play on.
    """
    if target is None:
        return Loudspeaker()
    if target == "-":
        if sys.stdout.isatty():
            raise OutputFailed("Standard output is a terminal; redirect it, or use -o FILE.")
        return WavFile(sys.stdout.buffer, _STANDARD_OUTPUT)
    with _reported(target):
        return WavFile(Path(target).open("wb"), target)


@contextlib.contextmanager
def to_standard_output() -> Iterator[None]:
    """Around what prints a result: all of it has been written, or that it was not is an error.

    Raises:
        OutputFailed: the disk is full, for example.
    """
    try:
        with _reported(_STANDARD_OUTPUT):
            yield
            sys.stdout.flush()
    except OutputFailed:
        drop_standard_output()
        raise


def drop_standard_output() -> None:
    """Keep the interpreter from complaining, at exit, of what could not be written."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


@contextlib.contextmanager
def _reported(name: str) -> Iterator[None]:
    """What the system says as an error of ours; but a reader may leave without one."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        raise OutputFailed(f"{name} cannot be written: {error.strerror}.") from None


class WavFile:
    """A WAV file or stream; a file gets its true length when it is closed."""

    def __init__(self, file: BinaryIO, name: str) -> None:
        self._file = file
        self._name = name
        self._bytes = 0
        self._write(wav.header())

    async def write(self, samples: NDArray[np.float32]) -> None:
        data = to_s16le(samples)
        self._bytes += len(data)
        self._write(data)

    async def close(self) -> None:
        if self._file is sys.stdout.buffer:
            return  # not ours to rewind: it may have been opened to append
        if self._file.closed:
            return  # it could not be written
        if self._file.seekable():
            self._file.seek(0)
            self._write(wav.header(self._bytes))
        with _reported(self._name):
            self._file.close()

    def _write(self, data: bytes) -> None:
        try:
            with _reported(self._name):
                self._file.write(data)
                self._file.flush()
        except OutputFailed:
            if self._file is sys.stdout.buffer:
                drop_standard_output()
            else:
                with contextlib.suppress(OSError):  # what is buffered fails again
                    self._file.close()
            raise


class Loudspeaker:
    """The default sound device, fed by a thread; ``close`` waits until all has been played."""

    def __init__(self) -> None:
        try:
            import sounddevice

            self._device = sounddevice.OutputStream(
                samplerate=SAMPLE_RATE, channels=1, dtype="float32", latency="low"
            )
            self._device.start()
        except (OSError, ImportError) as error:
            # OSError: the PortAudio library is absent. Its own errors are no OSError.
            raise _no_device() from error
        except Exception as error:
            if type(error).__name__ != "PortAudioError":
                raise
            raise _no_device() from error
        self._pieces: queue.Queue[NDArray[np.float32] | None] = queue.Queue(maxsize=64)
        self._thread = threading.Thread(target=self._play, name="loudspeaker", daemon=True)
        self._thread.start()

    def _play(self) -> None:
        while (piece := self._pieces.get()) is not None:
            self._device.write(piece.reshape(-1, 1))

    async def write(self, samples: NDArray[np.float32]) -> None:
        await asyncio.to_thread(self._pieces.put, samples)

    async def close(self) -> None:
        await asyncio.to_thread(self._pieces.put, None)
        await asyncio.to_thread(self._thread.join)
        self._device.stop()
        self._device.close()


def _no_device() -> OutputFailed:
    return OutputFailed("There is no sound device here; write to a file with -o FILE or -o -.")
