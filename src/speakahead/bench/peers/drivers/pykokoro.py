"""pykokoro by ``KokoroSynthesizer.synthesize_text``, for a complete text.

Its word lists would be fetched on first use, so its eSpeak frontend is chosen, which the other
peers use too. Its cache of inferences is off: a reply that is spoken a second time would come out
of it.
"""

from __future__ import annotations

import importlib
import json
import os
from typing import Any

from .driving import Listener, Setup, Tokens

DISTRIBUTION = "pykokoro"


class PyKokoro:
    def __init__(self, setup: Setup) -> None:
        os.environ["XDG_CACHE_HOME"] = str(setup.scratch)
        package: Any = importlib.import_module("pykokoro")
        vocabulary = setup.scratch / "config.json"
        tokens = importlib.import_module("kokorog2p").get_kokoro_vocab()
        vocabulary.write_text(json.dumps({"vocab": tokens}))
        config = package.SynthesisConfig(
            voice=setup.voice,
            generation=package.GenerationConfig(lang="en-us"),
            model_path=setup.model,
            voices_path=setup.voices,
            model_config_path=vocabulary,
            tokenizer_config=package.TokenizerConfig(backend="espeak"),
            long_text_split="sentence",
            inference_cache_enabled=False,
        )
        self._synthesizer = package.KokoroSynthesizer(config)

    def speak(self, tokens: Tokens, listener: Listener) -> None:
        listener.hear(self._synthesizer.synthesize_text(tokens.text()).audio)

    def processes(self) -> list[int]:
        return [os.getpid()]

    def close(self) -> None:
        self._synthesizer.close()


load = PyKokoro
