"""Fetching a model: resumable, verified, atomic, and safe when two run at once."""

from __future__ import annotations

import errno
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from speakahead.assets.integrity import full_check, recorded_sums
from speakahead.assets.manifest import KOKORO, Manifest, ModelFile
from speakahead.assets.progress import Progress, SilentProgress
from speakahead.assets.sources import Source
from speakahead.assets.staging import Staging
from speakahead.errors import ModelError

LOCK_WAIT_S = 3600.0
"""How long to wait for another pull into the same directory."""


def pull(
    target: Path, source: Source, progress: Progress | None = None, manifest: Manifest = KOKORO
) -> None:
    """Brings a model directory to what a source offers.

    Files that are already there and intact are not fetched again. Every other file appears under
    its name in one step, after its size and sum were found right; a file that lay there before
    stays until then. An interrupted pull leaves only whole files and verified parts, and the next
    one goes on from there. A second pull into the same directory waits for the first.

    Args:
        target: the model directory; made if it does not exist.
        source: where to fetch from.
        progress: who is told how far it is.
        manifest: what the directory should hold.

    Raises:
        ModelNotFound: the source holds no usable model.
        ModelCorrupt: a fetched file is not what it should be; the sentence names it.
        ModelError: the source cannot be reached, or the directory cannot be written.
    """
    progress = progress or SilentProgress()
    files = source.files(manifest)
    if not _wanted(target, files):
        return  # and so a complete directory may well be read-only
    with _plain_errors(target):
        target.mkdir(parents=True, exist_ok=True)
        with _locked(target, progress):
            wanted = _wanted(target, files)
            total = sum(file.size or 0 for file in wanted)
            progress.start(total)
            pinned = [file for file in (*manifest.weights, *manifest.voices) if file.sha256]
            _require_space(target, total)
            with Staging(target, progress, {file.path for file in pinned}) as staging:
                if wanted:  # nothing is left after waiting for another pull
                    source.fetch(wanted, staging)


def _wanted(target: Path, files: Sequence[ModelFile]) -> list[ModelFile]:
    """The files that are absent, damaged, or of which nobody knows whether they are intact."""
    recorded = recorded_sums(target)
    wanted = []
    for file in files:
        sha256 = file.sha256 or recorded.get(file.path)
        known = ModelFile(file.path, file.size, sha256)
        if sha256 is None or full_check(target, known) is not None:
            wanted.append(file)
    return wanted


@contextmanager
def _locked(target: Path, progress: Progress) -> Iterator[None]:
    """Holds the directory's lock; the system frees it even if this process is killed."""
    lock = FileLock(target / ".pull.lock")
    try:
        lock.acquire(timeout=0)
    except Timeout:
        progress.describe("Waiting for another pull into the same directory")
        try:
            lock.acquire(timeout=LOCK_WAIT_S)
        except Timeout:
            raise ModelError(
                f"Another pull into {target} has not ended for {LOCK_WAIT_S / 60:.0f} minutes; "
                "stop it, then pull again."
            ) from None
    try:
        yield
    finally:
        lock.release()


def _require_space(target: Path, total: int) -> None:
    # Parts and the file that they make up lie side by side for a moment.
    needed = 2 * total
    if shutil.disk_usage(target).free < needed:
        raise ModelError(
            f"There is not enough free disk space in {target}: fetching the model needs about "
            f"{max(1, needed // 1_000_000)} MB for a moment."
        )


@contextmanager
def _plain_errors(target: Path) -> Iterator[None]:
    """Turns the system's errors while writing into a sentence that says what to do."""
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            advice = "the disk is full. Free some space, then pull again."
        elif error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
            advice = "this user may not write there. Choose another directory with `--to DIR`."
        else:
            advice = "it cannot be written. Choose another directory with `--to DIR`."
        raise ModelError(f"The model could not be put into {target}: {advice}") from None
