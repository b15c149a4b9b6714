"""fastkokoro by its server: ``POST /v1/audio/speech`` with ``stream``, for a complete text."""

from __future__ import annotations

from typing import Any

from .driving import Setup
from .speech_server import SpeechServer, free_port

DISTRIBUTION = "fastkokoro"


def load(setup: Setup) -> SpeechServer:
    port = free_port()

    def request(text: str) -> dict[str, Any]:
        return {
            "model": "kokoro",
            "input": text,
            "voice": setup.voice,
            "response_format": "pcm",
            "stream": True,
        }

    return SpeechServer(
        ["fastkokoro"],
        environment={
            "FASTKOKORO_MODEL_PATH": str(setup.model),
            "FASTKOKORO_VOICES_PATH": str(setup.voices),
            "FASTKOKORO_CACHE_DIR": str(setup.scratch),
            "FASTKOKORO_HOST": "127.0.0.1",
            "FASTKOKORO_PORT": str(port),
        },
        port=port,
        health="/health",
        route="/v1/audio/speech",
        request=request,
    )
