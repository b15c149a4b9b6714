"""Is a model directory what it should be? A quick look before serving, a full check on demand."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from speakahead.assets.manifest import (
    KOKORO,
    VOICE_BYTES,
    VOICE_SUFFIX,
    VOICES_FOLDER,
    Manifest,
    ModelFile,
)
from speakahead.errors import ModelError

RECORDED_SUMS = "SHA256SUMS"


class Fault(StrEnum):
    """What is wrong with a file."""

    MISSING = "is missing"
    WRONG_SIZE = "has the wrong size"
    WRONG_SUM = "has the wrong SHA-256 sum"
    UNREADABLE = "cannot be read"


@dataclass(frozen=True, slots=True)
class Problem:
    """One fault of one file. ``str()`` gives a clause such as ``model.onnx is missing``."""

    path: str
    fault: Fault

    def __str__(self) -> str:
        return f"{self.path} {self.fault}"


def sha256_of(path: Path) -> str:
    """The SHA-256 sum of a file, in lower-case hexadecimal.

    Raises:
        OSError: the file cannot be read.
    """
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def quick_check(directory: Path, file: ModelFile) -> Problem | None:
    """Whether the file exists and has its size: cheap enough for every start."""
    path = directory / file.path
    try:
        if not path.is_file():
            return Problem(file.path, Fault.MISSING)
        size = path.stat().st_size
    except OSError:
        return Problem(file.path, Fault.UNREADABLE)
    if size == 0 or (file.size is not None and size != file.size):
        return Problem(file.path, Fault.WRONG_SIZE)
    return None


def full_check(directory: Path, file: ModelFile) -> Problem | None:
    """Like ``quick_check``, and reads the whole file to compare its sum, if one is known."""
    problem = quick_check(directory, file)
    if problem is not None or file.sha256 is None:
        return problem
    try:
        matches = sha256_of(directory / file.path) == file.sha256
    except OSError:
        return Problem(file.path, Fault.UNREADABLE)
    return None if matches else Problem(file.path, Fault.WRONG_SUM)


def installed_weights(directory: Path, manifest: Manifest = KOKORO) -> tuple[ModelFile, ...]:
    """The exports that lie in a directory, best first; their content is not looked at."""
    return tuple(file for file in manifest.weights if (directory / file.path).is_file())


def installed_voices(directory: Path) -> tuple[str, ...]:
    """Names of the voice packs in a model directory, sorted; the user's own packs count too."""
    try:
        files = [
            path.stem
            for path in (directory / VOICES_FOLDER).iterdir()
            if path.suffix == VOICE_SUFFIX and not path.name.startswith(".") and path.is_file()
        ]
    except OSError:
        return ()
    return tuple(sorted(files))


def verify(directory: Path, manifest: Manifest = KOKORO, *, complete: bool = True) -> list[Problem]:
    """Reads every file of a model directory and compares it with its published sum.

    Files that no manifest pins are compared with the sum that was recorded when they were pulled;
    voice packs of the user's own must only have the right size.

    Args:
        directory: the model directory.
        manifest: what it should hold.
        complete: whether a published voice pack that is absent counts as a problem. One export
            and one voice are needed in any case.

    Returns:
        The problems, in the order of the manifest; empty when all is well.
    """
    problems: list[Problem] = []
    recorded = recorded_sums(directory)
    weights = installed_weights(directory, manifest)
    if not weights:
        problems.append(Problem(manifest.weights[0].path, Fault.MISSING))
    names = installed_voices(directory)
    if not names:
        problems.append(Problem(f"{VOICES_FOLDER}/*{VOICE_SUFFIX}", Fault.MISSING))
    published = {file.path: file for file in manifest.voices}
    present = {f"{VOICES_FOLDER}/{name}{VOICE_SUFFIX}" for name in names}
    own = sorted(present - published.keys())
    voices = [file for file in manifest.voices if names and (complete or file.path in present)]
    voices += [ModelFile(path, VOICE_BYTES, None) for path in own]
    for file in (*weights, *voices):
        sha256 = file.sha256 or recorded.get(file.path)
        problem = full_check(directory, ModelFile(file.path, file.size, sha256))
        if problem is not None:
            problems.append(problem)
    return problems


def recorded_sums(directory: Path) -> dict[str, str]:
    """Sums recorded at pull time, by path; empty when nothing was recorded.

    The file has the format of the ``sha256sum`` program, so that ``sha256sum -c`` reads it too.

    Raises:
        ModelError: the record is there but cannot be read.
    """
    try:
        text = (directory / RECORDED_SUMS).read_text(encoding="utf-8")
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except (OSError, UnicodeDecodeError):
        raise ModelError(
            f"{RECORDED_SUMS} in the model directory cannot be read; delete it and pull again."
        ) from None
    rows = (line.partition("  ") for line in text.splitlines())
    return {path: sha256 for sha256, _, path in rows if path}
