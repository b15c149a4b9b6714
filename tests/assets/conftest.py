"""Small stand-ins for the real model: the same layout, other sizes and sums."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path

import pytest

from speakahead.assets import Manifest, ModelFile

CONTENT = {
    "model-int8.onnx": b"weights" * 1000,
    "voices/af_heart.bin": b"heart" * 300,
    "voices/af_sky.bin": b"sky" * 300,
    "voices/bm_lewis.bin": b"lewis" * 300,
}


@pytest.fixture
def manifest() -> Manifest:
    files = [
        ModelFile(path, len(data), hashlib.sha256(data).hexdigest())
        for path, data in CONTENT.items()
    ]
    fp32 = ModelFile("model.onnx", None, None)
    return Manifest("small", (files[0], fp32), tuple(files[1:]))


@pytest.fixture
def make_model() -> Callable[[Path], Path]:
    """Writes a whole small model into a directory."""

    def make(directory: Path) -> Path:
        for path, data in CONTENT.items():
            (directory / path).parent.mkdir(parents=True, exist_ok=True)
            (directory / path).write_bytes(data)
        return directory

    return make


@pytest.fixture
def model(tmp_path: Path, make_model: Callable[[Path], Path]) -> Path:
    return make_model(tmp_path / "model")
