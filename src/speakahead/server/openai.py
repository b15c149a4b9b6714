"""OpenAI's speech API: ``POST /v1/audio/speech``, and the lists that its clients ask for."""

from __future__ import annotations

from typing import Literal, get_args

from pydantic import Field
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from speakahead.errors import Forbidden, InvalidRequest, SpeakaheadError, Unauthorized
from speakahead.protocol.json import Message, parse_object, validate
from speakahead.server.speech import SpeechRequest, read_body, ready_backend, speak
from speakahead.server.status import error_headers, http_status
from speakahead.session.events import MAX_SPEED, MIN_SPEED, VoiceSettings

VOICE_ALIASES = {
    "alloy": "af_alloy",
    "ash": "am_michael",
    "ballad": "bm_george",
    "cedar": "am_fenrir",
    "coral": "af_bella",
    "echo": "am_echo",
    "fable": "bm_fable",
    "marin": "af_sarah",
    "nova": "af_nova",
    "onyx": "am_onyx",
    "sage": "af_kore",
    "shimmer": "af_heart",
    "verse": "am_puck",
}
"""OpenAI's voice names, and the Kokoro voice that stands in for each."""

MODELS = ("kokoro", "tts-1", "tts-1-hd", "gpt-4o-mini-tts")
"""Names that clients may send; all mean Kokoro-82M."""


ResponseFormat = Literal["mp3", "opus", "aac", "flac", "wav", "pcm"]
RESPONSE_FORMATS: tuple[str, ...] = get_args(ResponseFormat)
"""What can be asked for; aac comes as fragmented MP4, the first four need the extra ``formats``."""


class VoiceReference(Message):
    id: str


class SpeechBody(Message):
    """Body of ``POST /v1/audio/speech``; unknown fields are ignored.

    ``speed`` may be 0.25 to 4 as OpenAI has it; what Kokoro cannot speak is brought into its
    range. Where ``response_format`` is absent the answer is WAV.
    """

    input: str = Field(min_length=1)
    voice: str | VoiceReference = "alloy"
    response_format: ResponseFormat = "wav"
    speed: float = Field(default=1.0, ge=0.25, le=4.0)
    stream_format: Literal["audio"] = "audio"


async def speech(request: Request) -> Response:
    """Speak ``input``; the sound is streamed from the first window."""
    value = parse_object(await read_body(request))
    asked = value.get("response_format")
    if isinstance(asked, str) and asked not in RESPONSE_FORMATS:
        raise InvalidRequest(
            f"Set response_format to one of {', '.join(RESPONSE_FORMATS)}.",
            code="unsupported_format",
        )
    body = validate(SpeechBody, value)
    name = body.voice.id if isinstance(body.voice, VoiceReference) else body.voice
    settings = VoiceSettings(
        VOICE_ALIASES.get(name, name), min(MAX_SPEED, max(MIN_SPEED, body.speed))
    )
    return await speak(request, SpeechRequest(body.input, settings, body.response_format))


async def voices(request: Request) -> Response:
    """The voices that can be named: ``{"voices": [{"id", "name", "language"}]}``."""
    backend = ready_backend(request)
    return JSONResponse(
        {
            "voices": [
                {"id": name, "name": name, "language": backend.language_of(name)}
                for name in backend.speakable_voices
            ]
        }
    )


async def models(request: Request) -> Response:
    """The model list that some clients ask for before they speak."""
    return JSONResponse(
        {
            "object": "list",
            "data": [
                {"id": name, "object": "model", "created": 0, "owned_by": "speakahead"}
                for name in MODELS
            ],
        }
    )


def error_response(error: SpeakaheadError, status: int | None = None) -> JSONResponse:
    """An error in OpenAI's shape: ``{"error": {"message", "type", "param", "code"}}``."""
    invalid = isinstance(error, InvalidRequest | Unauthorized | Forbidden)
    return JSONResponse(
        {
            "error": {
                "message": error.message,
                "type": "invalid_request_error" if invalid else "server_error",
                "param": None,
                "code": error.code,
            }
        },
        status_code=status or http_status(error),
        headers=error_headers(error),
    )
