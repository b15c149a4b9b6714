from __future__ import annotations

from pathlib import Path

from speakahead.assets import Fault, Manifest, Problem, locate, verify
from speakahead.assets.manifest import VOICE_BYTES


def test_the_installed_model_is_the_published_one() -> None:
    assert verify(locate().path) == []


def test_an_intact_directory_has_no_problems(model: Path, manifest: Manifest) -> None:
    assert verify(model, manifest) == []


def test_every_damaged_file_is_named_with_its_fault(model: Path, manifest: Manifest) -> None:
    weights = model / "model-int8.onnx"
    data = bytearray(weights.read_bytes())
    data[1234] ^= 1
    weights.write_bytes(data)
    (model / "voices/af_heart.bin").write_bytes(b"short")
    (model / "voices/bm_lewis.bin").unlink()
    assert verify(model, manifest) == [
        Problem("model-int8.onnx", Fault.WRONG_SUM),
        Problem("voices/af_heart.bin", Fault.WRONG_SIZE),
        Problem("voices/bm_lewis.bin", Fault.MISSING),
    ]
    assert str(verify(model, manifest)[2]) == "voices/bm_lewis.bin is missing"


def test_a_slim_directory_is_fine_when_completeness_is_not_asked_for(
    model: Path, manifest: Manifest
) -> None:
    (model / "voices/bm_lewis.bin").unlink()
    assert verify(model, manifest, complete=False) == []
    for voice in (model / "voices").iterdir():
        voice.unlink()
    (model / "model-int8.onnx").unlink()
    assert verify(model, manifest, complete=False) == [
        Problem("model-int8.onnx", Fault.MISSING),
        Problem("voices/*.bin", Fault.MISSING),
    ]


def test_a_directory_that_does_not_exist_lacks_everything(
    tmp_path: Path, manifest: Manifest
) -> None:
    assert {problem.fault for problem in verify(tmp_path / "none", manifest)} == {Fault.MISSING}


def test_the_other_export_is_enough(model: Path, manifest: Manifest) -> None:
    (model / "model-int8.onnx").rename(model / "model.onnx")
    assert verify(model, manifest) == []
    (model / "model.onnx").write_bytes(b"")
    assert verify(model, manifest) == [Problem("model.onnx", Fault.WRONG_SIZE)]


def test_an_own_voice_needs_only_the_right_size(model: Path, manifest: Manifest) -> None:
    own = model / "voices/xx_mine.bin"
    own.write_bytes(bytes(VOICE_BYTES))
    assert verify(model, manifest) == []
    own.write_bytes(bytes(7))
    assert verify(model, manifest) == [Problem("voices/xx_mine.bin", Fault.WRONG_SIZE)]


def test_recorded_sums_are_checked(model: Path, manifest: Manifest) -> None:
    (model / "model.onnx").write_bytes(b"other export")
    (model / "SHA256SUMS").write_text(f"{'0' * 64}  model.onnx\n")
    assert verify(model, manifest) == [Problem("model.onnx", Fault.WRONG_SUM)]
