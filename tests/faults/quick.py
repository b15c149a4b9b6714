"""The real server as a process; its engine costs nothing. Arguments: port, seconds to drain."""

import asyncio
import sys

from speakahead.backends.local import LocalBackend
from speakahead.cli.serve import configuration
from speakahead.server import logs
from speakahead.server.app import create_app
from speakahead.server.drain import DrainingServer
from speakahead.server.settings import ServerSettings
from tests.server.rig import backend


async def load() -> LocalBackend:
    return backend()


def main(port: int, drain_s: float) -> None:
    logs.configure(logs.LogFormat.TEXT)
    settings = ServerSettings(send_timeout_s=5.0, drain_s=drain_s)
    app = create_app(load, settings)
    config = configuration(app, settings, "127.0.0.1", port)
    server = DrainingServer(config, app.state.speech.drain, reader_timeout_s=5.0)
    asyncio.run(server.serve())


if __name__ == "__main__":
    main(int(sys.argv[1]), float(sys.argv[2]))
