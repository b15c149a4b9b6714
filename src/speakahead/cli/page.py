"""Where the agent's page is, and how it gets into a browser."""

from __future__ import annotations

import asyncio
import errno
import os
import socket
import sys
import webbrowser
from typing import TYPE_CHECKING

from speakahead.errors import InvalidRequest

if TYPE_CHECKING:
    import uvicorn


def bind(host: str, port: int, *, or_another: bool = False) -> socket.socket:
    """A socket that has the address, and does not listen yet.

    Args:
        host: name or address of this machine.
        port: 0: a free one.
        or_another: take a free port where this one is taken, and say so.

    Raises:
        InvalidRequest: the port is taken, or the address is none of this machine's.
    """
    try:
        return _bound(host, port)
    except OSError as error:
        if error.errno != errno.EADDRINUSE:
            raise InvalidRequest(
                f"The agent cannot listen on {host}, port {port}; choose others with --host and "
                "--port."
            ) from None
    if not or_another:
        raise InvalidRequest(f"Port {port} is taken; choose another one with --port.")
    print(f"Port {port} is taken, so another one is used.", file=sys.stderr)
    return bind(host, 0)


def _bound(host: str, port: int) -> socket.socket:
    [(family, kind, protocol, _, address), *_] = socket.getaddrinfo(
        host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
    )
    listening = socket.socket(family, kind, protocol)
    try:
        if os.name == "posix":  # elsewhere it would share the port with another process
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(address)
    except OSError:
        listening.close()
        raise
    return listening


def address_of(listening: socket.socket) -> str:
    """What to type into a browser of this machine."""
    host, port = listening.getsockname()[:2]
    if host in ("0.0.0.0", "::"):  # noqa: S104 - what it listens on, not what a browser opens
        host = "localhost"
    return f"http://[{host}]:{port}/" if ":" in host else f"http://{host}:{port}/"


async def show(server: uvicorn.Server, listening: socket.socket, *, open_it: bool) -> None:
    """Say where the page is as soon as it is there, and open it where there are windows."""
    while not server.started:  # noqa: ASYNC110 - the server has no event for it
        await asyncio.sleep(0.05)
    address = address_of(listening)
    print(f"Ask at {address} (Ctrl-C ends the agent)", flush=True)
    if not open_it:
        return
    if not (_has_windows() and await asyncio.to_thread(webbrowser.open, address)):
        port = listening.getsockname()[1]
        print(
            "No browser can be opened from here. On a machine that has one, run\n"
            f"  ssh -L {port}:127.0.0.1:{port} THIS-MACHINE\n"
            "and open the address there.",
            flush=True,
        )


def _has_windows() -> bool:
    """Whether a browser would have a window, rather than take over this terminal."""
    return (
        sys.platform in ("darwin", "win32")
        or "DISPLAY" in os.environ
        or "WAYLAND_DISPLAY" in os.environ
    )
