"""What speaks for the agent, by configuration."""

from __future__ import annotations

from speakahead.backends.interface import SpeechBackend
from speakahead.backends.local import LocalBackend
from speakahead.backends.websocket import WebSocketBackend

LOCAL = "local"


async def open_speech(where: str = LOCAL) -> SpeechBackend:
    """The back end that ``where`` names: ``local``, or the address of a `speakahead serve`.

    Raises:
        InvalidRequest: it is no address.
        ModelError: there is no model here.
    """
    if where == LOCAL:
        return await LocalBackend.load()
    return WebSocketBackend(where)
