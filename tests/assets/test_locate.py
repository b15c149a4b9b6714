from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pathlib import Path

import pytest

from speakahead.assets import Manifest, cache_directory, locate, open_directory, target_directory
from speakahead.errors import ModelCorrupt, ModelNotFound


@pytest.fixture
def places(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, make_model: Callable[[Path], Path]
) -> dict[str, Path]:
    """A model in each of the places where one is looked for."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("SPEAKAHEAD_MODEL_DIR", str(tmp_path / "variable"))
    # By name, because the package exports a function that is called like the module.
    module = import_module("speakahead.assets.locate")
    monkeypatch.setattr(module, "CONTAINER_DIRECTORY", make_model(tmp_path / "container"))
    return {
        "explicit": make_model(tmp_path / "explicit"),
        "variable": make_model(tmp_path / "variable"),
        "container": tmp_path / "container",
        "cache": make_model(tmp_path / "cache/speakahead/small"),
    }


def test_the_nearest_wish_wins(
    places: dict[str, Path], manifest: Manifest, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert locate(places["explicit"], manifest).path == places["explicit"]
    assert locate(None, manifest).path == places["variable"]
    monkeypatch.delenv("SPEAKAHEAD_MODEL_DIR")
    assert locate(None, manifest).path == places["container"]
    (places["container"] / "model-int8.onnx").unlink()
    assert locate(None, manifest).path == places["cache"]


def test_a_named_directory_without_a_model_is_not_passed_over(
    places: dict[str, Path], manifest: Manifest, tmp_path: Path
) -> None:
    with pytest.raises(ModelNotFound, match="speakahead models pull"):
        locate(tmp_path / "empty", manifest)
    (places["variable"] / "model-int8.onnx").unlink()
    with pytest.raises(ModelNotFound, match="variable"):
        locate(None, manifest)


def test_truncated_weights_are_noticed_without_reading_them(
    model: Path, manifest: Manifest
) -> None:
    with (model / "model-int8.onnx").open("r+b") as stream:
        stream.truncate(100)
    with pytest.raises(ModelCorrupt, match=r"model-int8\.onnx has the wrong size"):
        open_directory(model, manifest)


def test_a_model_without_voices_is_none(model: Path, manifest: Manifest) -> None:
    for voice in (model / "voices").iterdir():
        voice.unlink()
    with pytest.raises(ModelNotFound, match="voice"):
        open_directory(model, manifest)


def test_the_eight_bit_export_is_preferred(model: Path, manifest: Manifest) -> None:
    (model / "model.onnx").write_bytes(b"32-bit")
    assert open_directory(model, manifest).weights == model / "model-int8.onnx"
    (model / "model-int8.onnx").unlink()
    assert open_directory(model, manifest).weights == model / "model.onnx"


def test_a_relative_cache_home_is_ignored(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", "somewhere")
    assert cache_directory() == tmp_path / ".cache/speakahead/kokoro-82m-v1.0"


def test_a_user_without_a_home_is_told_what_to_set(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_home() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "home", no_home)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    with pytest.raises(ModelNotFound, match="SPEAKAHEAD_MODEL_DIR"):
        cache_directory()


def test_a_pull_goes_where_locate_will_look(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("SPEAKAHEAD_MODEL_DIR", raising=False)
    assert target_directory() == cache_directory()
    monkeypatch.setenv("SPEAKAHEAD_MODEL_DIR", str(tmp_path / "other"))
    assert target_directory() == tmp_path / "other"
    assert target_directory(tmp_path / "explicit") == tmp_path / "explicit"
