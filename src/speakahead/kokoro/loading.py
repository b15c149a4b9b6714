"""The one place that decides which engine a model directory gets."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from speakahead.assets import ModelDirectory, Voices, cache_directory
from speakahead.kokoro.calibration import Calibrations
from speakahead.kokoro.engine import Engine
from speakahead.kokoro.parts import Backend
from speakahead.kokoro.prepare import is_prepared, prepare, prepared_directory
from speakahead.kokoro.whole import WholeEngine
from speakahead.kokoro.windowed import WindowedEngine

_log = logging.getLogger(__name__)

_PREPARED = "prepared"


def load_engine(
    model: ModelDirectory,
    voices: Voices,
    *,
    threads: int,
    whole: bool = False,
    backend: Backend = Backend.AUTO,
) -> Engine[Any]:
    """Load the engine of a model directory.

    Args:
        model: where the weights lie. Parts that are not prepared yet are prepared first, which
            takes some seconds; nothing is downloaded.
        voices: the voice packs.
        threads: threads of one inference.
        whole: decode whole sentences with the published export (the yardstick).
        backend: what decodes the windows.

    Raises:
        ModelError: the weights are absent or damaged.
    """
    if whole:
        return WholeEngine(model.weights, voices, threads=threads)
    return load_windowed(model, voices, threads=threads, backend=backend)


def load_windowed(
    model: ModelDirectory,
    voices: Voices,
    *,
    threads: int,
    own: Path | None = None,
    backend: Backend = Backend.AUTO,
) -> WindowedEngine:
    """Load the windowed engine of a model directory; see ``load_engine``.

    ``own`` is where calibrations that did not come with the package are kept.
    """
    parts = find_prepared(model)
    if parts is None:
        _log.warning("preparing the model; `speakahead models prepare` does this beforehand")
        parts = prepare_parts(model)
    calibrations = Calibrations(own or calibration_directory())
    return WindowedEngine(
        parts, voices, threads=threads, backend=backend, calibrations=calibrations
    )


def calibration_directory() -> Path:
    """Where the calibrations of a user's own voices are kept."""
    return cache_directory() / "calibration"


def find_prepared(model: ModelDirectory) -> Path | None:
    """The prepared parts of a model, beside its weights or in the user's cache."""
    beside, cached = _caches(model)
    parts = prepared_directory(model.weights, beside)  # reads all of the weights for their sum
    candidates = (parts, cached / parts.name)
    return next((directory for directory in candidates if is_prepared(directory)), None)


def prepare_parts(
    model: ModelDirectory, progress: Callable[[str, float], None] | None = None
) -> Path:
    """Prepare a model's parts beside its weights, or in the cache where that is read-only."""
    beside, cached = _caches(model)
    cache = beside if os.access(model.path, os.W_OK) else cached
    return prepare(model.weights, cache, progress)


def _caches(model: ModelDirectory) -> tuple[Path, Path]:
    return model.path / _PREPARED, cache_directory() / _PREPARED
