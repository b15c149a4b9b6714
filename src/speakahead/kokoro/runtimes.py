"""Which runtime decodes the windows: chosen by name, or by measurement at start-up."""

from __future__ import annotations

import logging
import time
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime as ort
from numpy.typing import NDArray

from speakahead.kokoro import openvino_parts
from speakahead.kokoro.parts import (
    Backend,
    BackendUnavailable,
    FixedParts,
    OnnxPart,
    Part,
    Parts,
    Sites,
)
from speakahead.kokoro.source import STEPS_PER_UNIT
from speakahead.kokoro.windows import (
    FRAME_BUCKETS,
    LATER_SIZE,
    UNIT_BUCKETS,
    UNIT_CONTEXT,
    UNITS_PER_FRAME,
)

_log = logging.getLogger(__name__)

_TIMED_RUNS = 3
_CUDA = "CUDAExecutionProvider"


def choose(backend: Backend, parts: Parts, directory: Path, *, threads: int) -> FixedParts | None:
    """The parts of a backend; None for the CPU, which needs no further ones.

    A backend that cannot start is replaced by the CPU, with a warning in the log.

    Args:
        backend: which one. ``AUTO`` takes OpenVINO where the CPU has bf16 and a window is decoded
            sooner with it than with ONNX Runtime, and the CPU otherwise.
        parts: the CPU's parts.
        directory: what :func:`speakahead.kokoro.prepare.prepare` returned.
        threads: threads of one inference on the CPU.
    """
    if backend is Backend.CPU or (backend is Backend.AUTO and not openvino_parts.has_bf16()):
        return None
    try:
        load = _cuda if backend is Backend.CUDA else openvino_parts.load
        found = load(directory, threads)
        inputs = _generator_inputs(parts.sites, LATER_SIZE)
        _try(found, inputs)
    except BackendUnavailable as error:
        _log.warning("windows run on the CPU: %s", error)
        return None
    if backend is Backend.AUTO and not _is_faster(found.generator, parts.generator, inputs):
        return None
    return found


def run_buckets(fixed: FixedParts, sites: Sites) -> None:
    """Run every shape that a window can need of ``fixed``, so that none is new to a listener."""
    for frames in FRAME_BUCKETS:
        fixed.blocks(**_block_inputs(sites, frames))
    for units in UNIT_BUCKETS:
        fixed.generator(**_generator_inputs(sites, units))


def precision_of(backend: Backend) -> str:
    """What the windows of a backend that has started are computed in on this machine."""
    bf16 = backend is Backend.OPENVINO and openvino_parts.has_bf16()
    return "bfloat16" if bf16 else "float32"


def _cuda(directory: Path, threads: int) -> FixedParts:
    if _CUDA not in ort.get_available_providers():
        raise BackendUnavailable("CUDA needs the package onnxruntime-gpu and a GPU")
    # Shapes repeat, so that the exhaustive search for each convolution's algorithm pays.
    device = (_CUDA, {"cudnn_conv_algo_search": "EXHAUSTIVE", "cudnn_conv_use_max_workspace": "1"})
    return FixedParts(
        Backend.CUDA,
        OnnxPart(directory / "blocks.onnx", ["x"], threads=threads, device=device),
        OnnxPart(directory / "generator.onnx", ["spectrum"], threads=threads, device=device),
    )


def _generator_inputs(sites: Sites, size: int) -> dict[str, NDArray[Any]]:
    """Inputs of a window of ``size`` units; the values do not matter."""
    units = size + 2 * UNIT_CONTEXT
    return {
        "x": _noise(1, 512, units),
        "source": _noise(1, 22, units * STEPS_PER_UNIT + 1),
        **_normalisation(len(sites.uses) - sites.block_uses),
        "wanted": np.array([UNIT_CONTEXT, UNIT_CONTEXT + size], np.int64),
    }


def _block_inputs(sites: Sites, frames: int) -> dict[str, NDArray[Any]]:
    """Inputs of a chunk that reads so many frames; the values do not matter."""
    return {
        "text": _noise(1, 512, frames),
        "f0": _noise(1, 1, frames * UNITS_PER_FRAME),
        "energy": _noise(1, 1, frames * UNITS_PER_FRAME),
        **_normalisation(sites.block_uses),
    }


def _noise(*shape: int) -> NDArray[np.float32]:
    return np.random.default_rng(0).normal(size=shape).astype(np.float32)


def _normalisation(uses: int) -> dict[str, NDArray[Any]]:
    return {
        "scale": np.full((1, uses, 1), 0.5, np.float32),
        "shift": np.zeros((1, uses, 1), np.float32),
    }


def _try(found: FixedParts, inputs: dict[str, NDArray[Any]]) -> None:
    try:
        found.generator(**inputs)
    except Exception:  # the runtimes' exceptions share no public base
        raise BackendUnavailable(f"{found.backend} fails on this machine") from None


def _is_faster(candidate: Part, usual: Part, inputs: dict[str, NDArray[Any]]) -> bool:
    def seconds(part: Part) -> float:
        start = time.perf_counter()
        part(**inputs)
        return time.perf_counter() - start

    seconds(usual)
    pairs = [(seconds(candidate), seconds(usual)) for _ in range(_TIMED_RUNS)]
    return min(theirs for theirs, _ in pairs) < min(ours for _, ours in pairs)
