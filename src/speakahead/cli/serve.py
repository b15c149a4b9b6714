"""`speakahead serve`: the server process."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path

import uvicorn
from starlette.applications import Starlette

from speakahead.assets import locate
from speakahead.backends.local import LocalBackend
from speakahead.errors import ModelError
from speakahead.scheduling.scheduler import Policy
from speakahead.server.app import create_app
from speakahead.server.settings import ServerSettings
from speakahead.session.events import VoiceSettings


class _NoPeerFaults(logging.Filter):
    """Keeps tracebacks about malformed frames out of the log: they are the peer's fault."""

    def filter(self, record: logging.LogRecord) -> bool:
        return record.exc_info is None or not isinstance(record.exc_info[1], UnicodeDecodeError)


def configuration(app: Starlette, settings: ServerSettings, host: str, port: int) -> uvicorn.Config:
    """How uvicorn is to serve the application."""
    return uvicorn.Config(
        app,
        host=host,
        port=port,
        ws="websockets-sansio",
        ws_max_size=settings.max_message,
        # A client whose text waits is not read, and neither are its answers to pings: with a
        # time-out it would be taken for dead. The doors' own time-outs find who is.
        ws_ping_timeout=None,
        access_log=False,
        log_level="info",
        timeout_graceful_shutdown=25,  # the platform kills 30 s after SIGTERM
        server_header=False,
    )


def serve(
    host: str,
    port: int,
    *,
    ahead_s: float | None,
    policy: Policy,
    patience_s: float | None,
    voice: str,
    model: Path | None,
    threads: int,
    workers: int,
) -> None:
    """Serve until SIGTERM or SIGINT.

    With ``Policy.FIFO`` whole sentences are decoded in the order in which they came, as servers
    without windows do: the yardstick of the benchmarks.

    Raises:
        ModelError: there is no model, or it cannot be loaded.
    """
    found = locate(model)  # fails at once, rather than after the port is open
    logging.getLogger("speakahead").setLevel(logging.INFO)
    logging.getLogger("uvicorn.error").addFilter(_NoPeerFaults())
    settings = ServerSettings(voice=VoiceSettings(voice), ahead_s=ahead_s)

    async def load() -> LocalBackend:
        backend = await LocalBackend.load(
            found.path,
            threads=threads,
            workers=workers,
            policy=policy,
            whole=policy is Policy.FIFO,
            patience_s=patience_s,
        )
        backend.language_of(voice)
        return backend

    failed = False

    def stop() -> None:
        nonlocal failed
        failed = True
        server.should_exit = True

    app = create_app(load, settings, on_load_failure=stop)
    server = uvicorn.Server(configuration(app, settings, host, port))
    asyncio.run(server.serve())
    if failed:
        raise ModelError("The model could not be loaded; the log says why.")
