"""The real server in a process of its own, whose engine can be made to fail from outside.

``SIGUSR1`` lets the next window of a long sentence raise; ``SIGUSR2`` kills the worker thread
within it. Argument: the port.
"""

import asyncio
import ctypes
import signal
import sys
import threading
from typing import Any

from speakahead.backends.local import LocalBackend
from speakahead.cli.serve import configuration
from speakahead.server import logs
from speakahead.server.app import create_app
from speakahead.server.drain import DrainingServer
from speakahead.server.settings import ServerSettings

SEND_TIMEOUT_S = 2.0
_SHORT = 6


class FaultyEngine:
    """The real engine, except for one window."""

    def __init__(self, engine: Any) -> None:
        self._engine = engine
        self.fault: str | None = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._engine, name)

    def decode(self, plan: Any, window: Any) -> Any:
        fault = None
        if len(plan.words) > _SHORT:  # a bystander says less
            fault, self.fault = self.fault, None
        if fault == "raise":
            raise RuntimeError(" ".join(("the words", "to be spoken")))
        if fault == "kill":
            thread = ctypes.c_ulong(threading.get_ident())
            ctypes.pythonapi.PyThreadState_SetAsyncExc(thread, ctypes.py_object(SystemExit))
        return self._engine.decode(plan, window)


async def load() -> LocalBackend:
    backend = await LocalBackend.load(patience_s=None)
    engine = FaultyEngine(backend.scheduler._engine)
    backend.scheduler._engine = engine  # type: ignore[assignment]

    def break_next(number: int, frame: object) -> None:
        engine.fault = "raise" if number == signal.SIGUSR1 else "kill"

    for number in (signal.SIGUSR1, signal.SIGUSR2):
        signal.signal(number, break_next)
    return backend


def main(port: int) -> None:
    logs.configure(logs.LogFormat.TEXT)
    settings = ServerSettings(ahead_s=None, send_timeout_s=SEND_TIMEOUT_S, max_sessions=600)
    app = create_app(load, settings)
    server = DrainingServer(
        configuration(app, settings, "127.0.0.1", port),
        app.state.speech.drain,
        reader_timeout_s=SEND_TIMEOUT_S,
    )
    asyncio.run(server.serve())


if __name__ == "__main__":
    main(int(sys.argv[1]))
