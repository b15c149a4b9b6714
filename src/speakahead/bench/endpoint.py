"""The local SageMaker endpoint as processes of their own, and the real SDK's back ends for them."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from pathlib import Path

from speakahead.backends.interface import SpeechBackend
from speakahead.errors import ConnectionFailed, InvalidRequest

NAME = "kokoro-82m"
_REGION = "us-east-1"
_START_TIMEOUT_S = 30.0

_CREDENTIALS = {"AWS_ACCESS_KEY_ID": "local", "AWS_SECRET_ACCESS_KEY": "local"}
"""The local endpoint looks at the shape of a signature only."""


@contextlib.asynccontextmanager
async def sagemaker_backends(containers: Sequence[str]) -> AsyncIterator[list[SpeechBackend]]:
    """Back ends of the real SDK, each with a local endpoint in front of a container.

    Args:
        containers: addresses of servers, as in ``"http://127.0.0.1:8080"``.

    Raises:
        InvalidRequest: the extra ``aws`` is not installed.
        ConnectionFailed: an endpoint did not start.
    """
    try:
        from speakahead.backends.sagemaker import SageMakerBackend
    except ImportError:
        raise InvalidRequest("The SDK's side needs the extra `aws`: speakahead[aws].") from None
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        authority = Path(folder) / "ca.pem"  # all endpoints of a machine share it
        ports = [
            stack.enter_context(_endpoint_process(container, authority)) for container in containers
        ]
        # The SDK's transport trusts what this variable names when it is first used.
        stack.enter_context(_environment({"SSL_CERT_FILE": str(authority), **_CREDENTIALS}))
        backends: list[SpeechBackend] = [
            SageMakerBackend(NAME, region=_REGION, endpoint_url=f"https://localhost:{port}")
            for port in ports
        ]
        try:
            yield backends
        finally:
            for backend in backends:
                await backend.aclose()


@contextlib.contextmanager
def _endpoint_process(container: str, authority: Path) -> Iterator[int]:
    """Start an endpoint, wait until it listens, and end it afterwards; gives its port."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    options = ["--container", container, "--port", str(port), "--ca-file", str(authority)]
    process = subprocess.Popen(  # noqa: S603
        [sys.executable, "-m", "speakahead", "emulate", "sagemaker", *options],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        _wait_until_listening(process, port)
        yield port
    finally:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _wait_until_listening(process: subprocess.Popen[bytes], port: int) -> None:
    deadline = time.monotonic() + _START_TIMEOUT_S
    while time.monotonic() < deadline and process.poll() is None:
        with (
            contextlib.suppress(OSError),
            socket.create_connection(("127.0.0.1", port), timeout=1),
        ):
            return
        time.sleep(0.1)
    raise ConnectionFailed("The local endpoint did not start.")


@contextlib.contextmanager
def _environment(values: dict[str, str]) -> Iterator[None]:
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
