"""What a client asks a voice agent for."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from speakahead.agent.events import Mode
from speakahead.audio.encoder import Encoder, open_encoder
from speakahead.protocol.json import Message, validate
from speakahead.session.events import MAX_SPEED, MIN_SPEED, VoiceSettings

MAX_PROMPT = 20_000
MAX_PIECES = 20_000
MAX_REPLAY_S = 600.0


class Piece(Message):
    """Text of a reply that is known already, and when the model wrote it.

    Attributes:
        at_s: seconds from the beginning of the turn.
        text: what was written then.
    """

    at_s: Annotated[float, Field(ge=0, le=MAX_REPLAY_S)]
    text: Annotated[str, Field(min_length=1, max_length=MAX_PROMPT)]


class AgentRequest(Message):
    """One turn of a conversation.

    Attributes:
        prompt: what the user said.
        mode: ``bidi`` speaks sentences while later ones are written; ``batch`` waits for the whole
            text.
        voice: None: the agent's own.
        format: of the sound; see ``audio.formats``.
        sample_rate: of the sound, in Hz; None: the format's own.
        speed: 0.5 to 2.
        session_id: of an earlier turn's conversation; None: a new one.
        played_s: seconds of the previous turn's sound that were heard, where this request
            interrupts it; None: what a client that plays without a pause has played by now.
        replay: a reply to speak instead of asking the model, written at the same times as when it
            was a reply; so two modes can be compared with the same words. The conversation does
            not remember it.
    """

    prompt: Annotated[str, Field(min_length=1, max_length=MAX_PROMPT)]
    mode: Mode = "bidi"
    voice: Annotated[str, Field(min_length=1, max_length=128)] | None = None
    format: Annotated[str, Field(min_length=1, max_length=32)] = "pcm"
    sample_rate: int | None = None
    speed: Annotated[float, Field(ge=MIN_SPEED, le=MAX_SPEED)] = 1.0
    session_id: Annotated[str, Field(min_length=1, max_length=256)] | None = None
    played_s: Annotated[float, Field(ge=0, le=86_400)] | None = None
    replay: Annotated[list[Piece], Field(min_length=1, max_length=MAX_PIECES)] | None = None

    def encoder(self) -> Encoder:
        """An encoder for the sound.

        Raises:
            InvalidRequest: the format cannot be had, or not with this sample rate.
        """
        return open_encoder(self.format, self.sample_rate)

    def settings(self, voice: str) -> VoiceSettings:
        """How the reply is to be spoken; ``voice`` is the agent's own."""
        return VoiceSettings(self.voice or voice, self.speed)


def parse_request(payload: object) -> AgentRequest:
    """The request in a decoded JSON value.

    Raises:
        InvalidRequest: names the first field that is wrong.
    """
    value: dict[str, Any] = payload if isinstance(payload, dict) else {}
    return validate(AgentRequest, value)
