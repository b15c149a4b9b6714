from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import tempfile
import textwrap
import time
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

import pytest

from speakahead.assets import DirectorySource, Manifest, pull, verify
from speakahead.assets.manifest import VOICE_BYTES
from speakahead.errors import ModelCorrupt, ModelError, ModelNotFound

# Pulls with real files in a process of its own. It stops after its second file until a file
# called "go" appears in the control folder, so that a test can do something meanwhile.
PULL = textwrap.dedent("""
    import hashlib, sys, time
    from pathlib import Path
    from speakahead.assets import DirectorySource, Manifest, ModelFile, pull

    source, target, control = map(Path, sys.argv[1:])
    files = [
        ModelFile(
            path.relative_to(source).as_posix(),
            path.stat().st_size,
            hashlib.sha256(path.read_bytes()).hexdigest(),
        )
        for path in sorted(source.rglob("*.*"))
    ]

    class Gate:
        arrived = 0

        def start(self, total_bytes):
            print("start", total_bytes, flush=True)

        def describe(self, activity):
            print("describe", activity, flush=True)

        def advance(self, count):
            self.arrived += 1
            if self.arrived == 3:
                print("blocked", flush=True)
                while not (control / "go").exists():
                    time.sleep(0.01)

    pull(target, DirectorySource(source), Gate(), Manifest("small", (files[0],), tuple(files[1:])))
    print("done", flush=True)
""")


class Counting:
    """Remembers what a pull said."""

    def __init__(self) -> None:
        self.total = -1
        self.arrived = 0
        self.activities: list[str] = []

    def start(self, total_bytes: int) -> None:
        self.total = total_bytes

    def describe(self, activity: str) -> None:
        self.activities.append(activity)

    def advance(self, count: int) -> None:
        self.arrived += count


class Running(NamedTuple):
    process: subprocess.Popen[str]

    def wait_for(self, word: str) -> str:
        """The next line that starts with a word."""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            if line.startswith(word):
                return line.removeprefix(word).strip()
        raise AssertionError(f"the pull ended without saying {word!r}")


@pytest.fixture
def start_pull(model: Path, tmp_path: Path) -> Iterator[Callable[[Path], Running]]:
    started: list[subprocess.Popen[str]] = []

    def start(target: Path) -> Running:
        process = subprocess.Popen(
            [sys.executable, "-c", PULL, str(model), str(target), str(tmp_path)],
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        )
        started.append(process)
        return Running(process)

    yield start
    for process in started:
        process.kill()
        process.communicate()


def visible(directory: Path) -> set[str]:
    """The files that a reader of a model directory would see."""
    return {
        path.relative_to(directory).as_posix()
        for path in directory.rglob("*.*")
        if path.is_file() and not any(part.startswith(".") for part in path.parts)
    }


def test_a_directory_is_copied_whole(model: Path, tmp_path: Path, manifest: Manifest) -> None:
    target = tmp_path / "deep/inside/target"
    progress = Counting()
    pull(target, DirectorySource(model), progress, manifest)
    assert verify(target, manifest) == []
    assert (
        progress.total
        == progress.arrived
        == sum((model / path).stat().st_size for path in visible(model))
    )
    assert not (target / ".partial").exists()


def test_a_second_pull_fetches_nothing(model: Path, tmp_path: Path, manifest: Manifest) -> None:
    target = tmp_path / "target"
    pull(target, DirectorySource(model), None, manifest)
    before = {path: path.stat().st_ino for path in target.rglob("*.bin")}
    progress = Counting()
    pull(target, DirectorySource(model), progress, manifest)
    assert progress.arrived == 0
    assert {path: path.stat().st_ino for path in target.rglob("*.bin")} == before


def test_a_damaged_file_is_repaired_and_no_other_touched(
    model: Path, tmp_path: Path, manifest: Manifest
) -> None:
    target = tmp_path / "target"
    pull(target, DirectorySource(model), None, manifest)
    untouched = (target / "model-int8.onnx").stat().st_ino
    (target / "voices/af_sky.bin").write_bytes(b"SKY" * 300)
    progress = Counting()
    pull(target, DirectorySource(model), progress, manifest)
    assert verify(target, manifest) == []
    assert progress.arrived == 900
    assert (target / "model-int8.onnx").stat().st_ino == untouched


@pytest.mark.parametrize("content", [b"SKY" * 300, b"sky" * 299, b"sky" * 301, b""])
def test_a_wrong_file_is_named_and_never_installed(
    model: Path, tmp_path: Path, manifest: Manifest, content: bytes
) -> None:
    (model / "voices/af_sky.bin").write_bytes(content)
    target = tmp_path / "target"
    with pytest.raises(ModelCorrupt, match=r"voices/af_sky\.bin"):
        pull(target, DirectorySource(model), None, manifest)
    assert visible(target) == {"model-int8.onnx", "voices/af_heart.bin"}
    assert not (target / ".partial").exists()


def test_a_wrong_file_does_not_replace_a_damaged_one_either(
    model: Path, tmp_path: Path, manifest: Manifest
) -> None:
    (model / "model-int8.onnx").write_bytes(b"wrong" * 1400)
    with pytest.raises(ModelCorrupt):
        pull(model, DirectorySource(model), None, manifest)
    assert (model / "model-int8.onnx").read_bytes() == b"wrong" * 1400


def test_a_directory_without_a_model_is_refused(tmp_path: Path, manifest: Manifest) -> None:
    with pytest.raises(ModelNotFound, match=r"model-int8\.onnx or model\.onnx"):
        pull(tmp_path / "target", DirectorySource(tmp_path), None, manifest)
    assert not (tmp_path / "target").exists()


def test_own_files_come_along_and_their_sums_are_recorded(
    model: Path, tmp_path: Path, manifest: Manifest
) -> None:
    (model / "model.onnx").write_bytes(b"32-bit export")
    (model / "voices/xx_mine.bin").write_bytes(bytes(VOICE_BYTES))
    target = tmp_path / "target"
    pull(target, DirectorySource(model), None, manifest)
    assert verify(target, manifest) == []
    (target / "voices/xx_mine.bin").write_bytes(bytes(VOICE_BYTES - 1) + b"x")
    (target / "model.onnx").write_bytes(b"32-bit EXPORT")
    assert [problem.path for problem in verify(target, manifest)] == [
        "model.onnx",
        "voices/xx_mine.bin",
    ]
    pull(target, DirectorySource(model), None, manifest)
    assert verify(target, manifest) == []
    assert (target / "model.onnx").read_bytes() == b"32-bit export"


def test_a_recorded_sum_travels_with_a_directory(
    model: Path, tmp_path: Path, manifest: Manifest
) -> None:
    (model / "model.onnx").write_bytes(b"32-bit export")
    pull(tmp_path / "first", DirectorySource(model), None, manifest)
    (tmp_path / "first/model.onnx").write_bytes(b"32-bit EXPORT")
    with pytest.raises(ModelCorrupt, match=r"model\.onnx"):
        pull(tmp_path / "second", DirectorySource(tmp_path / "first"), None, manifest)


def test_a_killed_pull_leaves_only_whole_files_and_the_next_goes_on(
    start_pull: Callable[[Path], Running], model: Path, tmp_path: Path, manifest: Manifest
) -> None:
    target = tmp_path / "target"
    running = start_pull(target)
    running.wait_for("blocked")
    running.process.send_signal(signal.SIGKILL)
    running.process.wait()
    arrived = {"model-int8.onnx", "voices/af_heart.bin"}
    assert visible(target) == arrived
    assert all((target / path).read_bytes() == (model / path).read_bytes() for path in arrived)
    progress = Counting()
    pull(target, DirectorySource(model), progress, manifest)
    assert progress.total == sum((model / path).stat().st_size for path in visible(model) - arrived)
    assert verify(target, manifest) == []
    assert not (target / ".partial").exists()


def test_two_pulls_at_once_share_the_work(
    start_pull: Callable[[Path], Running], tmp_path: Path, manifest: Manifest
) -> None:
    target = tmp_path / "target"
    first = start_pull(target)
    first.wait_for("blocked")
    second = start_pull(target)
    assert second.wait_for("describe").startswith("Waiting for another pull")
    (tmp_path / "go").touch()
    first.wait_for("done")
    assert second.wait_for("start") == "0"
    second.wait_for("done")
    assert first.process.wait() == second.process.wait() == 0
    assert verify(target, manifest) == []


def test_waiting_for_a_pull_that_never_ends_is_given_up(
    start_pull: Callable[[Path], Running],
    model: Path,
    tmp_path: Path,
    manifest: Manifest,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(import_module("speakahead.assets.pull"), "LOCK_WAIT_S", 0.1)
    start_pull(tmp_path / "target").wait_for("blocked")
    began = time.monotonic()
    with pytest.raises(ModelError, match="Another pull"):
        pull(tmp_path / "target", DirectorySource(model), None, manifest)
    assert time.monotonic() - began < 5


def test_a_target_that_may_not_be_written_is_a_plain_sentence(
    make_model: Callable[[Path], Path], manifest: Manifest
) -> None:
    with tempfile.TemporaryDirectory() as name:  # other users may not enter pytest's own folders
        root = Path(name)
        root.chmod(0o755)
        model = make_model(root / "model")
        target = root / "target"
        target.mkdir()
        target.chmod(0o555)
        child = os.fork()
        if child == 0:
            try:
                if os.geteuid() == 0:  # root may write anywhere
                    os.setuid(65534)
                pull(target, DirectorySource(model), None, manifest)
            except ModelError as error:
                os._exit(7 if "may not write there" in error.message else 8)
            finally:
                os._exit(9)
        _, status = os.waitpid(child, 0)
        assert os.waitstatus_to_exitcode(status) == 7
        assert list(target.iterdir()) == []


def test_a_complete_directory_may_be_read_only(
    model: Path, manifest: Manifest, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*arguments: object, **options: object) -> None:
        raise PermissionError(errno.EACCES, "refused")

    monkeypatch.setattr(Path, "mkdir", refuse)
    pull(model, DirectorySource(model), None, manifest)
    assert not (model / ".pull.lock").exists()


def test_a_target_below_a_file_is_a_plain_sentence(
    model: Path, tmp_path: Path, manifest: Manifest
) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(ModelError, match="--to DIR"):
        pull(tmp_path / "file/target", DirectorySource(model), None, manifest)


def test_too_little_space_is_noticed_before_anything_is_fetched(
    model: Path, tmp_path: Path, manifest: Manifest, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Full(NamedTuple):
        free: int = 5000

    monkeypatch.setattr("shutil.disk_usage", lambda path: Full())
    progress = Counting()
    with pytest.raises(ModelError, match="disk space"):
        pull(tmp_path / "target", DirectorySource(model), progress, manifest)
    assert progress.arrived == 0


def test_a_disk_that_fills_up_is_a_plain_sentence(
    model: Path, tmp_path: Path, manifest: Manifest, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(ModelError, match="disk is full") as caught:
        pull(tmp_path / "target", DirectorySource(model), None, manifest)
    assert "device" not in caught.value.message
    assert visible(tmp_path / "target") == set()
    assert not (tmp_path / "target/.partial").exists()


def test_an_unreadable_source_file_is_named(
    model: Path, tmp_path: Path, manifest: Manifest, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(path: Path) -> Iterator[bytes]:
        yield b"sky"
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr("speakahead.assets.sources.chunks_of", broken)
    with pytest.raises(ModelError, match=r"model-int8\.onnx.*cannot be read"):
        pull(tmp_path / "target", DirectorySource(model), None, manifest)
