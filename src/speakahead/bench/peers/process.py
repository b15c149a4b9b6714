"""A driver that runs in its peer's environment, seen from the process that compares."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import subprocess
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from speakahead.bench.peers import drivers
from speakahead.bench.peers.catalogue import Peer
from speakahead.bench.peers.drivers.driving import Setup, Trial
from speakahead.bench.peers.environments import Environment, Unavailable

_START_TIMEOUT_S = 300.0
_TRIAL_TIMEOUT_S = 300.0
_STOP_TIMEOUT_S = 20.0


@dataclass(frozen=True, slots=True)
class Cold:
    """A start from nothing to sound, with the files in the system's page cache.

    Attributes:
        ready_s: from the start of the process until the peer took text.
        first_sound_s: from the start of the process to the first audible sample of a short text.
    """

    ready_s: float
    first_sound_s: float


class DriverProcess:
    """One driver; loads its peer when it is made.

    Args:
        peer: has a driver.
        environment: where it is installed.
        setup: model and voice; ``scratch`` must be a folder of this process alone.
        log: what the driver and the peer print.

    Raises:
        Unavailable: the peer did not become ready.
    """

    def __init__(self, peer: Peer, environment: Environment, setup: Setup, log: Path) -> None:
        self._name = peer.name
        self._log = log.open("ab")
        main = Path(drivers.__file__).with_name("__main__.py")
        command = [str(environment.python), "-P", str(main), str(peer.driver)]
        command += ["--model", str(setup.model), "--voices", str(setup.voices)]
        command += ["--voice", setup.voice, "--scratch", str(setup.scratch)]
        own = {
            "PYTHONPATH": "",
            "PYTHONNOUSERSITE": "1",
            "HF_HUB_OFFLINE": "1",  # nothing is fetched while we measure
        }
        self.began = time.perf_counter()
        self._process = subprocess.Popen(  # noqa: S603
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            env=os.environ | own,
            text=True,
            encoding="utf-8",
        )
        self._answers: queue.Queue[str | None] = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()
        try:
            self.about: dict[str, str] = self._answer(_START_TIMEOUT_S, "did not load")["ready"]
        except BaseException:
            self.close()
            raise
        self.ready_s = time.perf_counter() - self.began

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._answers.put(line)
        self._answers.put(None)

    def _answer(self, timeout_s: float, otherwise: str) -> Any:
        try:
            line = self._answers.get(timeout=timeout_s)
        except queue.Empty:
            raise Unavailable(f"It {otherwise} within {timeout_s:.0f} s.") from None
        if line is None:
            raise Unavailable(f"It {otherwise}: its process ended with an error.")
        return json.loads(line)

    def trial(self, text: str, tokens_per_second: float | None) -> Trial:
        """Speak one reply; None: the text is complete from the start.

        Raises:
            Unavailable: it could not.
        """
        request = json.dumps({"text": text, "tokens_per_second": tokens_per_second})
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(request + "\n")
            self._process.stdin.flush()
        except OSError:
            raise Unavailable("Its process ended before it was to speak.") from None
        return Trial(**self._answer(_TRIAL_TIMEOUT_S, "did not speak"))

    def cold(self, text: str) -> Cold:
        """How long the start took, if this is called at once; speaks ``text``."""
        waited = time.perf_counter() - self.began
        return Cold(self.ready_s, waited + self.trial(text, None).first_sound_s)

    def close(self) -> None:
        """End the process: by the end of its input, or else by force."""
        assert self._process.stdin is not None
        with contextlib.suppress(OSError):
            self._process.stdin.close()
        try:
            self._process.wait(_STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._log.close()


def scratch(setup: Setup, name: str) -> Setup:
    """The same setup with an empty folder for a new process."""
    folder = Path(tempfile.mkdtemp(prefix=f"{name}-", dir=setup.scratch))
    return Setup(setup.model, setup.voices, setup.voice, folder)
