"""The seam between a door and the protocols: frames to requests, events to frames."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from speakahead.errors import InvalidRequest
from speakahead.protocol.messages import SessionLimits
from speakahead.session.events import Event, Request

type Frame = str | bytes
"""What a WebSocket carries: str in a text frame, bytes in a binary one."""


@dataclass(frozen=True, slots=True)
class Greeted:
    """The client has chosen the protocol; it is to be answered with ``Opened``."""

    protocol: int


@dataclass(frozen=True, slots=True)
class KeptAlive:
    """The client is still there; nothing else is meant."""


@dataclass(frozen=True, slots=True)
class Opened:
    """The session is open, and this is what it accepts."""

    session: str
    limits: SessionLimits


@dataclass(frozen=True, slots=True)
class Warned:
    """The client should know this in time; nothing has failed.

    ``code`` is a stable identifier for programs, ``message`` a sentence for people.
    """

    code: str
    message: str


type Incoming = Request | Greeted | KeptAlive
type Outgoing = Event | Opened | Warned


class Codec(Protocol):
    """One session's protocol. Has state: each session has its own."""

    def decode(self, frame: Frame) -> Incoming:
        """What a client means by one frame.

        Raises:
            RefusedMessage: the frame is no message of this protocol, or out of place.
        """
        ...

    def encode(self, event: Outgoing) -> list[Frame]:
        """The frames that tell a client of an event; none where the protocol has no word for it."""
        ...


def unexpected_hello() -> InvalidRequest:
    """The error for a ``hello`` that is not the first message."""
    return InvalidRequest("A hello must be the first message.", code="unexpected_hello")
