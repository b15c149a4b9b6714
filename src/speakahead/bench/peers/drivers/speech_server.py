"""A peer that is driven by its HTTP server: one POST a reply, s16le at 24 kHz in its body.

The client is the standard library's, in this process; the server is a process of its own, and the
one whose memory counts.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from .driving import Listener, Tokens

_START_TIMEOUT_S = 120.0
_REQUEST_TIMEOUT_S = 120.0
_STOP_TIMEOUT_S = 10.0


def free_port() -> int:
    """A port of the loopback interface that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class SpeechServer:
    """A server that speaks complete texts.

    Args:
        command: starts it; the first part is a program of this environment.
        environment: variables that it is given besides ours.
        port: where it listens.
        health: a path that answers with status 200 when it is ready.
        route: where it speaks.
        request: a text as the JSON that the route takes.
    """

    def __init__(
        self,
        command: Sequence[str],
        *,
        environment: Mapping[str, str],
        port: int,
        health: str,
        route: str,
        request: Callable[[str], dict[str, Any]],
    ) -> None:
        self._port, self._route, self._request = port, route, request
        program = str(Path(sys.executable).with_name(command[0]))
        self._process = subprocess.Popen(  # noqa: S603
            [program, *command[1:]], env=os.environ | environment, stdout=sys.stderr
        )
        try:
            self._wait(health)
        except BaseException:
            self.close()
            raise

    def _connect(self, timeout_s: float) -> http.client.HTTPConnection:
        return http.client.HTTPConnection("127.0.0.1", self._port, timeout=timeout_s)

    def _wait(self, health: str) -> None:
        deadline = time.monotonic() + _START_TIMEOUT_S
        while time.monotonic() < deadline and self._process.poll() is None:
            with (
                contextlib.suppress(OSError),
                contextlib.closing(self._connect(5.0)) as connection,
            ):
                connection.request("GET", health)
                if connection.getresponse().status == http.client.OK:
                    return
            time.sleep(0.05)
        raise RuntimeError("the server did not become ready")

    def speak(self, tokens: Tokens, listener: Listener) -> None:
        request = json.dumps(self._request(tokens.text()))
        with contextlib.closing(self._connect(_REQUEST_TIMEOUT_S)) as connection:
            connection.request("POST", self._route, request, {"content-type": "application/json"})
            response = connection.getresponse()
            if response.status != http.client.OK:
                raise RuntimeError(f"the server answered with status {response.status}")
            rest = b""
            while data := response.read1(65_536):
                data = rest + data
                whole = len(data) & ~1
                listener.hear(np.frombuffer(data[:whole], "<i2"))
                rest = data[whole:]

    def processes(self) -> list[int]:
        return [self._process.pid]

    def close(self) -> None:
        self._process.terminate()
        try:
            self._process.wait(_STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
