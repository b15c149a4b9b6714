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
    """What runs the window graphs; text and prosody always run on the CPU."""

    CPU = "cpu"
    CUDA = "cuda"


class Part(Protocol):
    """A prepared graph: named arrays in, its outputs in order."""

    def __call__(self, **inputs: NDArray[Any]) -> list[NDArray[Any]]: ...


class OnnxPart:
    """A part in ONNX Runtime. Calls from several threads may overlap."""

    def __init__(
        self, path: Path, outputs: list[str], *, threads: int, backend: Backend = Backend.CPU
    ) -> None:
        """Load the part.

        Raises:
            ModelCorrupt: ONNX Runtime cannot load it.
        """
        options = ort.SessionOptions()
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        options.log_severity_level = 3
        # Spinning threads take the cores from the ones that have work, and the next window waits.
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        providers = ["CPUExecutionProvider"]
        if backend is Backend.CUDA:
            providers.insert(0, "CUDAExecutionProvider")
        try:
            self._session = ort.InferenceSession(os.fspath(path), options, providers=providers)
        except Exception:  # ONNX Runtime's exceptions share no public base
            raise ModelCorrupt(
                "A prepared part of the model cannot be loaded: run `speakahead models prepare`."
            ) from None
        self._outputs = outputs

    def __call__(self, **inputs: NDArray[Any]) -> list[NDArray[Any]]:
        return [np.asarray(output) for output in self._session.run(self._outputs, inputs)]


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
    """All parts of one prepared model."""

    def __init__(self, directory: Path, *, threads: int, backend: Backend = Backend.CPU) -> None:
        """Load the parts that windowed decoding needs.

        Args:
            directory: what :func:`speakahead.kokoro.prepare.prepare` returned.
            threads: threads of one inference on the CPU.
            backend: what runs the windows.

        Raises:
            ModelCorrupt: the directory is incomplete, or of another version.
        """
        if not is_prepared(directory):
            raise ModelCorrupt("The model is not prepared: run `speakahead models prepare`.")
        self._directory = directory
        self._threads = threads
        self._exact: OnnxPart | None = None
        self.sites = Sites.load(directory)
        self.source = SourceConstants.load(directory / "source.npz")
        self.prosody: Part = OnnxPart(
            directory / "prosody.onnx",
            ["text", "f0", "energy", "style_decoder", "durations"],
            threads=threads,
        )
        self.affine: Part = OnnxPart(directory / "affine.onnx", ["gamma", "beta"], threads=1)
        self.blocks: Part = OnnxPart(
            directory / "blocks.onnx", ["x"], threads=threads, backend=backend
        )
        self.generator: Part = OnnxPart(
            directory / "generator.onnx", ["spectrum"], threads=threads, backend=backend
        )

    @property
    def exact(self) -> Part:
        """The whole-utterance part; loaded when first used, since few sessions need it."""
        if self._exact is None:
            self._exact = OnnxPart(
                self._directory / "exact.onnx",
                ["spectrum", "mean", "square"],
                threads=self._threads,
            )
        return self._exact
