"""`speakahead serve`: the server process."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
from pathlib import Path

import uvicorn
from starlette.applications import Starlette

from speakahead.assets import ModelDirectory, locate
from speakahead.assets.locate import container_directory
from speakahead.assets.manifest import KOKORO
from speakahead.backends.local import LocalBackend
from speakahead.errors import InvalidRequest, ModelError
from speakahead.kokoro.parts import Backend
from speakahead.scheduling.scheduler import Policy
from speakahead.server import logs
from speakahead.server.access import parse_keys, read_keys
from speakahead.server.app import create_app
from speakahead.server.drain import DrainingServer
from speakahead.server.settings import ServerSettings

_log = logging.getLogger(__name__)

API_KEYS_VARIABLE = "SPEAKAHEAD_API_KEYS"


def api_keys(file: Path | None) -> tuple[str, ...]:
    """The API keys of a file, and those that ``SPEAKAHEAD_API_KEYS`` lists with commas between.

    Raises:
        InvalidRequest: the file or the variable holds no key, or a malformed one.
    """
    listed = os.environ.get(API_KEYS_VARIABLE, "")
    keys = parse_keys(listed)
    if listed and not keys:  # a slip must not open the server to everybody
        raise InvalidRequest(f"{API_KEYS_VARIABLE} is set but holds no key.")
    return keys if file is None else (*keys, *read_keys(file))


def configuration(app: Starlette, settings: ServerSettings, host: str, port: int) -> uvicorn.Config:
    """How uvicorn is to serve the application."""
    return uvicorn.Config(
        app,
        host=host,
        port=port,
        ws="websockets-sansio",
        ws_max_size=settings.max_message,
        # Sound hardly shrinks, but its compression costs time that speech could use.
        ws_per_message_deflate=False,
        # A client whose text waits is not read, and neither are its answers to pings: with a
        # time-out it would be taken for dead. The doors' own time-outs find who is.
        ws_ping_timeout=None,
        access_log=False,  # we have our own, see server.logs
        log_config=None,
        log_level="info",
        server_header=False,
    )


def serve(
    host: str,
    port: int,
    settings: ServerSettings,
    *,
    policy: Policy,
    patience_s: float | None,
    model: Path | None,
    threads: int,
    workers: int,
    engine: Backend = Backend.AUTO,
    log_format: logs.LogFormat = logs.LogFormat.TEXT,
) -> None:
    """Serve until SIGTERM or SIGINT, and until what was accepted by then has been spoken.

    With ``Policy.FIFO`` whole sentences are decoded in the order in which they came, as servers
    without windows do: the yardstick of the benchmarks.

    Raises:
        ModelError: there is no model, or it cannot be loaded.
    """
    found = locate(model)  # fails at once, rather than after the port is open
    logs.configure(log_format)
    _say_which(found)
    failed = abandoned = False

    async def load() -> LocalBackend:
        nonlocal abandoned
        try:
            backend = await LocalBackend.load(
                found.path,
                threads=threads,
                workers=workers,
                policy=policy,
                whole=policy is Policy.FIFO,
                patience_s=patience_s,
                engine=engine,
            )
        except asyncio.CancelledError:
            abandoned = True
            raise
        backend.language_of(settings.voice.voice)
        return backend

    def stop() -> None:
        nonlocal failed
        failed = True
        server.should_exit = True

    async def run() -> None:
        status = 0
        try:
            await server.serve()
        except SystemExit as ended:  # uvicorn's way to say that it cannot listen
            if not abandoned:
                raise
            status = ended.code if isinstance(ended.code, int) else 1
        if abandoned:
            # The thread that loads the model cannot be stopped, and would be waited for.
            logging.shutdown()
            os._exit(status)

    about = {"model": KOKORO.name, "weights": found.weights.stem}
    app = create_app(load, settings, on_load_failure=stop, model=about, engine=engine)
    server = DrainingServer(
        configuration(app, settings, host, port),
        app.state.speech.drain,
        reader_timeout_s=settings.send_timeout_s,
    )
    asyncio.run(run())
    if failed:
        raise ModelError("The model could not be loaded; the log says why.")


def _say_which(found: ModelDirectory) -> None:
    """Log where the model comes from, and if the platform has put something else in its place."""
    given = container_directory()
    if found.path != given:
        with contextlib.suppress(OSError):
            if any(given.iterdir()):
                _log.warning("what lies in %s is not a model of Kokoro, and is not used", given)
    _log.info("the model is %s", found.path / found.weights.name)
