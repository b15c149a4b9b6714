"""A pull's private folder, out of which only whole and verified files reach the model directory."""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import IO, Self

from speakahead.assets.integrity import RECORDED_SUMS, full_check, recorded_sums
from speakahead.assets.manifest import ModelFile
from speakahead.assets.progress import Progress
from speakahead.errors import ModelCorrupt

CHUNK_BYTES = 1 << 20
_SCRATCH_PREFIX = "scratch-"


class Staging:
    """Where a source works while it fetches; lies in the model directory, on the same file system.

    A context manager. Parts that have been verified stay here when the block is left by an
    exception, so that the next pull goes on from there; otherwise the folder goes. The caller
    holds the directory's lock.

    Args:
        target: the model directory; it exists.
        progress: is told of every byte that arrives.
        pinned: paths whose sums the manifest holds; the sums of all others are recorded.
    """

    def __init__(self, target: Path, progress: Progress, pinned: Collection[str]) -> None:
        self._target = target
        self._progress = progress
        self._pinned = frozenset(pinned)
        self.path = target / ".partial"
        self.path.mkdir(exist_ok=True)
        # A killed pull cannot tidy up; it left nothing else that is not verified before use.
        for stale in self.path.glob(f"{_SCRATCH_PREFIX}*"):
            shutil.rmtree(stale, ignore_errors=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if kind is None:
            shutil.rmtree(self.path, ignore_errors=True)
        else:
            with suppress(OSError):  # not empty: something worth keeping lies there
                self.path.rmdir()

    def describe(self, activity: str) -> None:
        """Tells the user what is being done."""
        self._progress.describe(activity)

    @contextmanager
    def scratch(self) -> Iterator[Path]:
        """A folder that vanishes at the end of the block."""
        folder = Path(tempfile.mkdtemp(prefix=_SCRATCH_PREFIX, dir=self.path))
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def kept(self, part: ModelFile) -> Path | None:
        """A part that an earlier pull or this one has kept and that is intact, else None."""
        return None if full_check(self.path, part) else self.path / part.path

    def keep(self, part: ModelFile, source: Path) -> Path:
        """Verifies a downloaded part and moves it into the staging folder.

        Raises:
            ModelCorrupt: it is not what it should be.
            OSError: it cannot be moved.
        """
        problem = full_check(source.parent, ModelFile(source.name, part.size, part.sha256))
        if problem is not None:
            raise _damaged(part.path)
        destination = self.path / part.path
        source.replace(destination)
        return destination

    def arrived(self, count: int) -> None:
        """Counts bytes that arrived as parts; ``publish`` counts its own."""
        self._progress.advance(count)

    def publish(self, file: ModelFile, chunks: Iterable[bytes], *, count: bool = True) -> None:
        """Writes a file of the model, verifies it and only then lets it appear under its name.

        Args:
            file: what it must be.
            chunks: its content, read once.
            count: whether its bytes advance the progress; not for parts counted before.

        Raises:
            ModelCorrupt: the content is not what it should be; what lay there before stays.
            OSError: it cannot be written.
        """
        temporary = self.path / f"{file.name}.new"
        digest = hashlib.sha256()
        size = 0
        try:
            with temporary.open("wb") as stream:
                for chunk in chunks:
                    stream.write(chunk)
                    digest.update(chunk)
                    size += len(chunk)
                    if file.size is not None and size > file.size:
                        raise _damaged(file.path)
                    if count:
                        self._progress.advance(len(chunk))
                stream.flush()
                os.fsync(stream.fileno())
            sha256 = digest.hexdigest()
            if size == 0 or (file.size not in (None, size)) or file.sha256 not in (None, sha256):
                raise _damaged(file.path)
            if file.path not in self._pinned:
                self._record(file.path, sha256)
            destination = self._target / file.path
            destination.parent.mkdir(exist_ok=True)
            temporary.replace(destination)
            _sync_folder(destination.parent)
        finally:
            temporary.unlink(missing_ok=True)

    def _record(self, path: str, sha256: str) -> None:
        sums = {**recorded_sums(self._target), path: sha256}
        lines = "".join(f"{value}  {name}\n" for name, value in sorted(sums.items()))
        temporary = self.path / f"{RECORDED_SUMS}.new"
        temporary.write_text(lines, encoding="utf-8")
        temporary.replace(self._target / RECORDED_SUMS)


def chunks_of(path: Path) -> Iterator[bytes]:
    """The content of a file, in pieces of a megabyte.

    Raises:
        OSError: it cannot be read.
    """
    with path.open("rb") as stream:
        yield from read_chunks(stream)


def read_chunks(stream: IO[bytes]) -> Iterator[bytes]:
    """What is left of a stream, in pieces of a megabyte."""
    while chunk := stream.read(CHUNK_BYTES):
        yield chunk


def _sync_folder(folder: Path) -> None:
    """Makes a rename last through a power cut, where the system can do that for folders."""
    if os.name != "posix":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _damaged(path: str) -> ModelCorrupt:
    return ModelCorrupt(
        f"{path}: the size or SHA-256 sum of what was fetched is not that of the published file. "
        "It was not installed; pull again, or use another source."
    )
