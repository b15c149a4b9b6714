"""The one place that decides which engine a model directory gets."""

from __future__ import annotations

from typing import Any

from speakahead.assets import ModelDirectory, Voices
from speakahead.kokoro.engine import Engine
from speakahead.kokoro.whole import WholeEngine


def load_engine(model: ModelDirectory, voices: Voices, *, threads: int) -> Engine[Any]:
    """Load the engine of a model directory."""
    return WholeEngine(model.weights, voices, threads=threads)
