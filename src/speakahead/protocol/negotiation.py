"""Which protocol a session speaks: said by the client, in the query string or first message.

A client that says nothing speaks protocol 1. ``hello{"protocol": 2}`` as the first message, or
``?protocol=2`` in the address, chooses protocol 2. A hello that asks for a version that is not
spoken here is refused, and leaves the choice open.
"""

from __future__ import annotations

from collections.abc import Callable

from speakahead.errors import InvalidRequest
from speakahead.protocol.codec import Codec, Frame, Greeted, Incoming, KeptAlive, Outgoing
from speakahead.protocol.json import RefusedMessage, parse_object, validate
from speakahead.protocol.messages import HelloMessage
from speakahead.protocol.v1 import V1Codec
from speakahead.protocol.v2 import V2Codec
from speakahead.session.events import VoiceSettings

VERSIONS = (1, 2)
"""The protocols that are spoken."""

_DEFAULT = 1


class Negotiation:
    """A codec that becomes that of the protocol which the client chooses.

    Args:
        settings: of utterances that name none.
        check: raises an ``InvalidRequest`` for settings that cannot be spoken.

    Attributes:
        protocol: the protocol that is spoken; until the client has chosen, the default.
    """

    def __init__(
        self,
        settings: VoiceSettings,
        check: Callable[[VoiceSettings], object] = lambda settings: None,
    ) -> None:
        self.protocol = _DEFAULT
        self._first = True
        self._chosen = False
        self._codecs: dict[int, Codec] = {1: V1Codec(settings), 2: V2Codec(settings, check)}

    def choose_by_query(self, value: str) -> Greeted:
        """Take the protocol that the address names, as in ``?protocol=2``.

        Raises:
            InvalidRequest: ``unsupported_protocol``.
        """
        known = {str(version): version for version in VERSIONS}
        return self._choose(known.get(value, 0))

    @property
    def choosing(self) -> bool:
        """Whether the next message may still be the greeting."""
        return self._first

    def decode(self, frame: Frame) -> Incoming:
        """What the client means by one frame; see ``Codec``."""
        if self._first:
            try:
                greeting = self._hello(frame)
            except InvalidRequest as refused:
                raise RefusedMessage(refused) from None
            if greeting is not None:
                return greeting
            self._first = False
        return self._codecs[self.protocol].decode(frame)

    def encode(self, event: Outgoing) -> list[Frame]:
        """The frames that tell the client of an event; see ``Codec``."""
        return self._codecs[self.protocol].encode(event)

    def _hello(self, frame: Frame) -> Incoming | None:
        try:
            value = parse_object(frame)
        except InvalidRequest:
            return None  # the codec says what is wrong with it
        if value.get("type") != "hello":
            return None
        hello = validate(HelloMessage, value)
        if not self._chosen:
            greeting: Incoming = self._choose(hello.protocol)
        elif hello.protocol == self.protocol:
            greeting = KeptAlive()  # says again what the address said, and is answered already
        else:
            raise InvalidRequest(
                f"The address has already chosen protocol {self.protocol}.", code="unexpected_hello"
            )
        self._first = False
        return greeting

    def _choose(self, protocol: int) -> Greeted:
        if protocol not in VERSIONS:
            spoken = " and ".join(str(version) for version in VERSIONS)
            raise InvalidRequest(
                f"This protocol is not spoken here; protocols {spoken} are.",
                code="unsupported_protocol",
            )
        self.protocol = protocol
        self._chosen = True
        return Greeted(protocol)
