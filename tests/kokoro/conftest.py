"""One prepared model and one engine for all tests of this room: they take seconds to make."""

from pathlib import Path

import pytest

from speakahead.assets import ModelDirectory, Voices, locate
from speakahead.kokoro.prepare import prepare
from speakahead.kokoro.windowed import WindowedEngine


@pytest.fixture(scope="session")
def model() -> ModelDirectory:
    return locate()


@pytest.fixture(scope="session")
def prepared(model: ModelDirectory, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return prepare(model.weights, tmp_path_factory.mktemp("cache"))


@pytest.fixture(scope="session")
def engine(model: ModelDirectory, prepared: Path) -> WindowedEngine:
    return WindowedEngine(prepared, Voices(model.path), threads=2)
