"""Calibration of voices that came without one, while nobody is being spoken to."""

from __future__ import annotations

import logging
import os
import queue
import sys
import threading
from collections.abc import Callable
from typing import Protocol

from speakahead.errors import SpeakaheadError

_log = logging.getLogger(__name__)

_POLL_S = 0.25
_LOWEST_PRIORITY = 19


class Calibratable(Protocol):
    """What is needed of :class:`speakahead.kokoro.windowed.WindowedEngine`."""

    on_uncalibrated: Callable[[str], None] | None

    def calibrate(
        self, voice: str, progress: Callable[[float], None] | None = None, *, alone: bool = False
    ) -> object: ...


class _Stopped(Exception):
    """Leaves a calibration between two phrases."""


class BackgroundCalibrator:
    """One thread of low priority that calibrates voices when they are first used.

    Until it has, such a voice is decoded whole, which is exact but late. The thread computes only
    while the engine is idle, asked before each phrase: a phrase takes up to a few seconds of one
    core. A voice whose calibration fails is not tried again.
    """

    def __init__(
        self, engine: Calibratable, idle: Callable[[], bool], *, poll_s: float = _POLL_S
    ) -> None:
        """Start to listen for uncalibrated voices.

        Args:
            engine: its ``on_uncalibrated`` becomes :meth:`request`.
            idle: whether nothing is waiting to be decoded; called from the calibrator's thread.
            poll_s: how often ``idle`` is asked while it is false.
        """
        self._engine = engine
        self._idle = idle
        self._poll_s = poll_s
        self._stopping = threading.Event()
        self._requests: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._known: set[str] = set()
        self._thread: threading.Thread | None = None
        engine.on_uncalibrated = self.request

    def request(self, voice: str) -> None:
        """Calibrate a voice when there is time; returns at once. A second request is ignored."""
        with self._lock:
            if voice in self._known or self._stopping.is_set():
                return
            self._known.add(voice)
            self._requests.put(voice)
            if self._thread is None:  # most servers never need it
                self._thread = threading.Thread(
                    target=self._run, name="speakahead-calibration", daemon=True
                )
                self._thread.start()

    def stop(self, timeout_s: float | None = None) -> bool:
        """Stop before the next phrase and wait for it; returns whether the thread has ended."""
        with self._lock:
            self._stopping.set()
            thread = self._thread
        self._requests.put(None)
        if thread is None:
            return True
        thread.join(timeout_s)
        return not thread.is_alive()

    def _run(self) -> None:
        _lower_priority()
        while (voice := self._requests.get()) is not None and not self._stopping.is_set():
            try:
                self._engine.calibrate(voice, lambda _: self._wait(), alone=True)
            except _Stopped:
                return
            except SpeakaheadError as error:
                _log.warning("the voice %s could not be calibrated: %s", voice, error.message)
            except OSError:
                _log.warning("the calibration of %s could not be kept on disk", voice)
            except Exception:
                _log.exception("the voice %s could not be calibrated", voice)
            else:
                _log.info("the voice %s is calibrated", voice)

    def _wait(self) -> None:
        while not self._idle():
            if self._stopping.wait(self._poll_s):
                break
        if self._stopping.is_set():
            raise _Stopped


def _lower_priority() -> None:
    """Let every other thread go first, where threads have priorities of their own (Linux)."""
    if sys.platform == "linux":
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _LOWEST_PRIORITY)
