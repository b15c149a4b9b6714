"""Voice packs: one style vector per length of the text."""

from __future__ import annotations

import difflib
import hashlib
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from speakahead.assets.integrity import installed_voices
from speakahead.assets.manifest import (
    KOKORO,
    VOICE_BYTES,
    VOICE_SHAPE,
    VOICE_SUFFIX,
    VOICES_FOLDER,
    Manifest,
)
from speakahead.errors import ModelCorrupt, UnknownVoice


class Voices:
    """The voices of one model directory, loaded when first asked for.

    At most ``capacity`` packs (half a megabyte each) stay in memory. Safe to use from several
    threads. The directory is listed once: voices added later need a new object.

    Args:
        directory: the model directory.
        capacity: how many packs to keep, at least 1.
        manifest: where published packs' sums stand.
    """

    def __init__(self, directory: Path, *, capacity: int = 16, manifest: Manifest = KOKORO) -> None:
        if capacity < 1:
            raise ValueError("capacity must be at least 1")
        self._folder = directory / VOICES_FOLDER
        self._names = installed_voices(directory)
        self._sums = {file.name: file.sha256 for file in manifest.voices}
        self._cached = lru_cache(maxsize=capacity)(self._read)

    @property
    def names(self) -> tuple[str, ...]:
        """All names, sorted."""
        return self._names

    def __contains__(self, name: object) -> bool:
        return name in self._names

    def __len__(self) -> int:
        return len(self._names)

    def require(self, name: str) -> None:
        """Checks a name without loading its pack.

        Raises:
            UnknownVoice: there is no such voice; the sentence suggests similar names.
        """
        if name not in self._names:
            raise UnknownVoice(_unknown(name, self._names))

    def load(self, name: str) -> NDArray[np.float32]:
        """The pack of one voice: float32 [510, 1, 256], read-only, row n for n phoneme tokens.

        Raises:
            UnknownVoice: there is no such voice; the sentence suggests similar names.
            ModelCorrupt: the file is damaged or has gone.
        """
        self.require(name)
        return self._cached(name)

    def _read(self, name: str) -> NDArray[np.float32]:
        file = name + VOICE_SUFFIX
        try:
            data = (self._folder / file).read_bytes()
        except OSError:
            raise _corrupt(file) from None
        expected = self._sums.get(file)
        # Half a megabyte hashes in about a millisecond: cheaper than an hour with a damaged voice.
        if len(data) != VOICE_BYTES or (
            expected is not None and hashlib.sha256(data).hexdigest() != expected
        ):
            raise _corrupt(file)
        pack = np.frombuffer(data, dtype="<f4").reshape(VOICE_SHAPE)
        if not np.isfinite(pack).all():
            raise _corrupt(file)
        return pack.astype(np.float32, copy=False)


def _corrupt(file: str) -> ModelCorrupt:
    return ModelCorrupt(
        f"The voice file {VOICES_FOLDER}/{file} is damaged or missing. "
        "Run `speakahead models pull` to repair it."
    )


def _unknown(name: str, names: tuple[str, ...]) -> str:
    """A sentence with near matches; it does not repeat what the caller wrote."""
    wanted = name[:64].lower()
    whole = difflib.get_close_matches(wanted, names, n=3, cutoff=0.6)
    # "heart" or "Heart" should find af_heart: compare without the language and sex prefix too.
    short = {each.partition("_")[2]: each for each in reversed(names)}
    bare = [short[near] for near in difflib.get_close_matches(wanted, short, n=3, cutoff=0.7)]
    near = list(dict.fromkeys([*whole, *bare]))[:3]
    if near:
        return f"There is no such voice. Did you mean {' or '.join(near)}?"
    return f"There is no such voice. There are {len(names)}, among them {', '.join(names[:3])}."
