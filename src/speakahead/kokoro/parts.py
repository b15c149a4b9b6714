"""The prepared parts as callables, behind one small seam for other runtimes and devices."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import onnxruntime as ort
from numpy.typing import NDArray

from speakahead.errors import ModelCorrupt
from speakahead.kokoro.prepare import is_prepared
from speakahead.kokoro.source import SourceConstants

Floats = NDArray[np.float32]


class Backend(StrEnum):
    """What runs the window graphs; text and prosody always run on the CPU in ONNX Runtime."""

    AUTO = "auto"
    """OpenVINO where it is installed, the CPU has bf16 and it measures faster; else the CPU."""
    CPU = "cpu"
    OPENVINO = "openvino"
    CUDA = "cuda"


class BackendUnavailable(Exception):
    """A backend cannot start on this machine; the message says why."""


class Part(Protocol):
    """A prepared graph: named arrays in, its outputs in order."""

    def __call__(self, **inputs: NDArray[Any]) -> list[NDArray[Any]]: ...


def session_options(threads: int) -> ort.SessionOptions:
    """Options of Kokoro's sessions: windows and the whole utterance run under the same ones."""
    options = ort.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    # Threads that spin for their next piece take the cores from those that have work. Without,
    # windows took 1 % longer on a quiet machine, and a fifth less on a busy one.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    return options


class OnnxPart:
    """A part in ONNX Runtime. Calls from several threads may overlap."""

    def __init__(
        self,
        path: Path,
        outputs: list[str],
        *,
        threads: int,
        device: tuple[str, dict[str, str]] | None = None,
    ) -> None:
        """Load the part.

        Args:
            path: the graph.
            outputs: which of its outputs a call returns.
            threads: threads of one inference on the CPU.
            device: an execution provider to prefer to the CPU's, and its options.

        Raises:
            ModelCorrupt: ONNX Runtime cannot load it.
            BackendUnavailable: the device's provider does not start.
        """
        options = session_options(threads)
        providers: list[Any] = ["CPUExecutionProvider"]
        if device is not None:
            providers.insert(0, device)
        try:
            self._session = ort.InferenceSession(os.fspath(path), options, providers=providers)
        except Exception:  # ONNX Runtime's exceptions share no public base
            if device is not None:
                raise BackendUnavailable(f"{device[0]} does not start") from None
            raise ModelCorrupt(
                "A prepared part of the model cannot be loaded: run `speakahead models prepare`."
            ) from None
        # ONNX Runtime falls back to the CPU on its own, with no more than a line on stderr.
        if device is not None and device[0] not in self._session.get_providers():
            raise BackendUnavailable(f"{device[0]} does not start")
        self._outputs = outputs

    def __call__(self, **inputs: NDArray[Any]) -> list[NDArray[Any]]:
        return [np.asarray(output) for output in self._session.run(self._outputs, inputs)]


@dataclass(frozen=True, slots=True)
class FixedParts:
    """Blocks and generator of a runtime that compiles or searches anew for every shape.

    They are called with the sizes of :data:`speakahead.kokoro.windows.UNIT_BUCKETS` and
    ``FRAME_BUCKETS`` only.
    """

    backend: Backend
    blocks: Part
    generator: Part


@dataclass(frozen=True, slots=True)
class Sites:
    """Which channels belong to which normalisation.

    Attributes:
        channels: channels of all sites, those of the blocks first.
        uses: for each channel of all uses, its index among ``channels``.
        block_uses: how many of ``uses`` are the blocks'.
    """

    channels: int
    uses: NDArray[np.int64]
    block_uses: int

    @classmethod
    def load(cls, directory: Path) -> Sites:
        layout: Any = json.loads((directory / "layout.json").read_bytes())
        uses: list[NDArray[np.int64]] = []
        start = 0
        block_uses = 0
        for number, site in enumerate(layout["sites"]):
            own = np.arange(start, start + site["channels"])
            uses += [own] * site["uses"]
            start += site["channels"]
            if number < layout["block_sites"]:
                block_uses += site["channels"] * site["uses"]
        return cls(start, np.concatenate(uses), block_uses)


class Parts:
    """All parts of one prepared model.

    Attributes:
        prosody, affine: see :mod:`speakahead.kokoro.prepare`.
        blocks, generator: the window graphs on the CPU, for windows of any shape.
    """

    def __init__(self, directory: Path, *, threads: int) -> None:
        """Load the parts that windowed decoding needs.

        Args:
            directory: what :func:`speakahead.kokoro.prepare.prepare` returned.
            threads: threads of one inference on the CPU.

        Raises:
            ModelCorrupt: the directory is incomplete, or of another version.
        """
        if not is_prepared(directory):
            raise ModelCorrupt("The model is not prepared: run `speakahead models prepare`.")
        self._directory = directory
        self._threads = threads
        self._exact: Part | None = None
        self.sites = Sites.load(directory)
        self.source = SourceConstants.load(directory / "source.npz")
        self.prosody: Part = OnnxPart(
            directory / "prosody.onnx",
            ["text", "f0", "energy", "style_decoder", "durations"],
            threads=threads,
        )
        self.affine: Part = OnnxPart(directory / "affine.onnx", ["gamma", "beta"], threads=1)
        self.blocks: Part = OnnxPart(directory / "blocks.onnx", ["x"], threads=threads)
        self.generator: Part = OnnxPart(directory / "generator.onnx", ["spectrum"], threads=threads)

    @property
    def exact(self) -> Part:
        """The whole-utterance part; loaded when first used, since few sessions need it."""
        if self._exact is None:
            self._exact = self.load_exact(self._threads)
        return self._exact

    def load_exact(self, threads: int) -> Part:
        """One more whole-utterance part, with its own number of threads."""
        return OnnxPart(
            self._directory / "exact.onnx", ["spectrum", "mean", "square"], threads=threads
        )
