"""Starts servers that are made for tests."""

import contextlib
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from tests.conftest import Server, free_port, wait_until_ready


@contextlib.contextmanager
def server_of(module: str, log: Path, *arguments: str) -> Iterator[Server]:
    """A module of these tests, run with a port and its other arguments; killed in the end."""
    port = free_port()
    with log.open("w") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", f"tests.faults.{module}", str(port), *arguments],
            stdout=output,
            stderr=subprocess.STDOUT,
            text=True,
            cwd=Path(__file__).parents[2],
        )
        server = Server(process, port, log)
        try:
            wait_until_ready(server)
            yield server
        finally:
            process.kill()
            process.wait()
