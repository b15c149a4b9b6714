"""A `speakahead serve` process under measurement, and what the system says about it."""

from __future__ import annotations

import contextlib
import json
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from speakahead.errors import ConnectionFailed
from speakahead.protocol.v1 import ROUTE

_START_TIMEOUT_S = 120.0


@dataclass(frozen=True, slots=True)
class Usage:
    """What a process holds: resident memory in MB, threads, open files and sockets."""

    memory_mb: float
    threads: int
    files: int


class ServerProcess:
    """A server on loopback."""

    def __init__(self, process: subprocess.Popen[bytes], port: int) -> None:
        self.process = process
        self.port = port
        self.url = f"http://127.0.0.1:{port}"
        self.route = f"ws://127.0.0.1:{port}{ROUTE}"

    def usage(self) -> Usage | None:
        """What the process holds now; None where the system does not tell (only Linux does)."""
        proc = Path("/proc") / str(self.process.pid)
        try:
            status = (proc / "status").read_text()
            files = len(list((proc / "fd").iterdir()))
        except OSError:
            return None
        fields = dict(line.split(":", 1) for line in status.splitlines())
        memory = int(fields["VmRSS"].split()[0]) / 1024
        return Usage(round(memory, 1), int(fields["Threads"]), files)

    def settle(self) -> None:
        """Speak a word, and wait for it: the server does so when what it was at has ended.

        Raises:
            ConnectionFailed: the server does not answer.
        """
        body = json.dumps({"text": "Yes.", "stream": False}).encode()
        headers = {"content-type": "application/json"}
        request = urllib.request.Request(f"{self.url}/invocations", body, headers)  # noqa: S310
        _read(request, timeout_s=60)

    def metric(self, name: str) -> float:
        """The sum of all samples of a metric.

        Raises:
            ConnectionFailed: the server does not answer.
        """
        lines = _read(f"{self.url}/metrics", timeout_s=10).decode().splitlines()
        values = [line.rsplit(" ", 1) for line in lines if not line.startswith("#")]
        return sum(float(value) for key, value in values if key.split("{")[0] == name)


def _read(request: str | urllib.request.Request, timeout_s: float) -> bytes:
    """The body of the answer.

    Raises:
        ConnectionFailed: there is none.
    """
    try:
        with urllib.request.urlopen(request, timeout=timeout_s) as answer:  # noqa: S310
            body: bytes = answer.read()
    except OSError:
        raise ConnectionFailed("The server process does not answer.") from None
    return body


@contextlib.contextmanager
def server_process(
    options: Sequence[str] = (), log: IO[bytes] | None = None
) -> Iterator[ServerProcess]:
    """Start a server, wait until it is warm, and end it afterwards.

    Raises:
        ConnectionFailed: it did not become ready.
    """
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "speakahead", "serve", "--port", str(port), *options]
    output = subprocess.DEVNULL if log is None else log
    process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT)  # noqa: S603
    try:
        _wait_until_ready(process, port)
        yield ServerProcess(process, port)
    finally:
        process.terminate()
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _wait_until_ready(process: subprocess.Popen[bytes], port: int) -> None:
    deadline = time.monotonic() + _START_TIMEOUT_S
    while time.monotonic() < deadline and process.poll() is None:
        with (
            contextlib.suppress(OSError),
            urllib.request.urlopen(f"http://127.0.0.1:{port}/ping", timeout=5),
        ):
            return
        time.sleep(0.2)
    raise ConnectionFailed("A server process did not become ready.")
