"""Where does a model lie? Looks at disks only: nothing is ever downloaded here."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from speakahead.assets.integrity import installed_voices, installed_weights, quick_check
from speakahead.assets.manifest import KOKORO, Manifest
from speakahead.errors import ModelCorrupt, ModelNotFound

MODEL_DIR_VARIABLE = "SPEAKAHEAD_MODEL_DIR"
CONTAINER_DIR_VARIABLE = "SM_MODEL_DIR"
"""Where the platform has put the model; SageMaker's own containers use the variable too."""
CONTAINER_DIRECTORY = Path("/opt/ml/model")

_HOW_TO_GET = "Run `speakahead models pull` to fetch it, or name a directory that holds it."


@dataclass(frozen=True, slots=True)
class ModelDirectory:
    """A directory that holds a model and at least one voice.

    Attributes:
        path: the directory.
        weights: the ONNX file to load; the 8-bit export where there are several.
    """

    path: Path
    weights: Path


def cache_directory(manifest: Manifest = KOKORO) -> Path:
    """This user's own model directory; it need not exist.

    ``$XDG_CACHE_HOME/speakahead/<model>``, by default below ``~/.cache``. A relative
    ``XDG_CACHE_HOME`` is ignored, as the XDG base directory specification asks.

    Raises:
        ModelNotFound: this user has no home directory.
    """
    configured = os.environ.get("XDG_CACHE_HOME", "")
    base = Path(configured)
    if not base.is_absolute():
        try:
            base = Path.home() / ".cache"
        except RuntimeError:
            raise ModelNotFound(
                f"This user has no home directory; set {MODEL_DIR_VARIABLE} to the directory "
                "that holds the model."
            ) from None
    return base / "speakahead" / manifest.name


def container_directory() -> Path:
    """Where Amazon SageMaker AI puts the unpacked model of an endpoint: ``/opt/ml/model``."""
    value = os.environ.get(CONTAINER_DIR_VARIABLE)
    return Path(value) if value else CONTAINER_DIRECTORY


def target_directory(explicit: Path | None = None) -> Path:
    """Where a pull puts its files: ``explicit``, else ``SPEAKAHEAD_MODEL_DIR``, else the cache."""
    return explicit or _configured() or cache_directory()


def open_directory(path: Path, manifest: Manifest = KOKORO) -> ModelDirectory:
    """Takes a directory as a model after a quick look (names and sizes, no sums).

    Raises:
        ModelNotFound: it holds no weights or no voice.
        ModelCorrupt: the weights have the wrong size.
    """
    weights = installed_weights(path, manifest)
    if not weights:
        raise ModelNotFound(f"There is no model in {path}. {_HOW_TO_GET}")
    problem = quick_check(path, weights[0])
    if problem is not None:
        raise ModelCorrupt(f"In {path}, {problem}. Run `speakahead models pull` to repair it.")
    if not installed_voices(path):
        raise ModelNotFound(f"There is no voice in {path / 'voices'}. {_HOW_TO_GET}")
    return ModelDirectory(path, path / weights[0].path)


def locate(explicit: Path | None = None, manifest: Manifest = KOKORO) -> ModelDirectory:
    """Finds the model to use.

    The first of these that applies decides: ``explicit``; the environment variable
    ``SPEAKAHEAD_MODEL_DIR``; ``container_directory()`` if a model lies there; this user's cache. A
    directory that somebody named is never passed over in silence: if it is unusable, that is an
    error even if another place holds a good model.

    Raises:
        ModelNotFound: no model lies there.
        ModelCorrupt: a file has the wrong size.
    """
    named = explicit or _configured()
    if named is not None:
        return open_directory(named, manifest)
    if installed_weights(given := container_directory(), manifest):
        return open_directory(given, manifest)
    return open_directory(cache_directory(manifest), manifest)


def _configured() -> Path | None:
    value = os.environ.get(MODEL_DIR_VARIABLE)
    return Path(value) if value else None
