"""kokoro-pi by its server: ``POST /v1/tts``, which takes the whole text and streams its clauses.

`kokoro-pi build` derives faster weights from another export, which it fetches and whose sum it
checks, so they cannot be the weights of this comparison. What is served instead is what its
manifest calls the variant ``upstream``: an export as published, without kokoro-pi's own kernels.
"""

from __future__ import annotations

import json
import os
from typing import Any

from .driving import Setup
from .speech_server import SpeechServer, free_port

DISTRIBUTION = "kokoro-pi"


def load(setup: Setup) -> SpeechServer:
    (setup.scratch / "model.onnx").symlink_to(setup.model)
    (setup.scratch / "voices-v1.0.bin").symlink_to(setup.voices)
    manifest = {
        "kokoro_pi": 1,
        "voice": setup.voice,
        "variant": "upstream",
        "variants": {
            "upstream": {"model": "model.onnx", "custom_ops": [], "backend": "upstream-onnx"}
        },
        "checksums": {},
    }
    (setup.scratch / "models.json").write_text(json.dumps(manifest))
    port = free_port()

    def request(text: str) -> dict[str, Any]:
        return {"text": text, "voice": setup.voice}

    command = ["kokoro-pi", "serve", "--models", str(setup.scratch), "--port", str(port)]
    command += ["--threads", str(os.cpu_count() or 1)]  # as its documentation advises
    return SpeechServer(
        command, environment={}, port=port, health="/healthz", route="/v1/tts", request=request
    )
