"""A model at a service that may hang."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from typing import Any

from strands.models.model import Model
from strands.types.content import Messages
from strands.types.streaming import StreamEvent

from speakahead.errors import ConnectionFailed


class WatchedModel(Model):
    """Gives up a model that writes nothing for too long.

    Args:
        model: writes.
        silence_s: how long it may write nothing: before its first piece, and between two.

    ``stream`` raises, beside what the model's own does:
        ConnectionFailed: it was silent for too long.
    """

    def __init__(self, model: Model, *, silence_s: float) -> None:
        self._model = model
        self._silence_s = silence_s

    @property
    def config(self) -> Any:
        """The model's; Strands looks here for its name."""
        return self._model.get_config()

    @property
    def stateful(self) -> bool:
        return self._model.stateful

    def update_config(self, **model_config: Any) -> None:
        self._model.update_config(**model_config)

    def get_config(self) -> Any:
        return self._model.get_config()

    def structured_output(self, *arguments: Any, **options: Any) -> Any:
        return self._model.structured_output(*arguments, **options)

    async def stream(
        self, messages: Messages, *arguments: Any, **options: Any
    ) -> AsyncGenerator[StreamEvent, None]:
        pieces = aiter(self._model.stream(messages, *arguments, **options))
        try:
            while True:
                async with asyncio.timeout(self._silence_s):
                    piece = await anext(pieces)
                yield piece
        except StopAsyncIteration:
            return
        except TimeoutError:
            raise ConnectionFailed(
                f"The model has written nothing for {self._silence_s:g} seconds; try again, or "
                "let it be silent for longer."
            ) from None
        finally:
            if isinstance(pieces, AsyncGenerator):
                await pieces.aclose()
