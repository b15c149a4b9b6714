"""Window graphs in OpenVINO, in bf16 where the CPU computes in it (extra ``openvino``).

OpenVINO compiles a graph for each shape, which takes a good part of a second: so it gets the
shapes of :data:`speakahead.kokoro.windows.UNIT_BUCKETS`,
and compiles them when the engine warms up. The range of
wanted units becomes a constant, without which the shapes inside the generator would not be fixed.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
import threading
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from speakahead.kokoro.parts import Backend, BackendUnavailable, FixedParts


@cache
def _core() -> Any:
    """OpenVINO's core, or None where the extra is not installed."""
    if importlib.util.find_spec("openvino") is None:
        return None
    # Importing OpenVINO reports that to its makers from a forked process; without this module of
    # theirs it goes on silently.
    sys.modules.setdefault("openvino_telemetry", None)  # type: ignore[arg-type]
    return importlib.import_module("openvino").Core()


def has_bf16() -> bool:
    """Whether OpenVINO is installed and this CPU has instructions for bf16."""
    core = _core()
    return core is not None and "BF16" in core.get_property("CPU", "OPTIMIZATION_CAPABILITIES")


def load(directory: Path, threads: int) -> FixedParts:
    """Blocks and generator of a prepared model.

    Raises:
        BackendUnavailable: OpenVINO is not installed.
    """
    if _core() is None:
        raise BackendUnavailable("the extra `openvino` is not installed")
    precision = "bf16" if has_bf16() else "f32"
    return FixedParts(
        Backend.OPENVINO,
        OpenVinoPart(directory / "blocks.onnx", threads=threads, precision=precision),
        OpenVinoPart(directory / "generator.onnx", threads=threads, precision=precision),
    )


class OpenVinoPart:
    """A part that is compiled for each shape when it first comes. Calls may overlap."""

    def __init__(self, path: Path, *, threads: int, precision: str) -> None:
        """``precision`` is that of the arithmetic, ``"f32"`` or ``"bf16"``."""
        self._path = path
        self._settings = {
            "INFERENCE_PRECISION_HINT": precision,
            "INFERENCE_NUM_THREADS": str(threads),
            "NUM_STREAMS": "1",
            "PERFORMANCE_HINT": "LATENCY",
            "ENABLE_CPU_PINNING": "NO",  # other inferences share the cores
        }
        self._lock = threading.Lock()
        self._compiled: dict[tuple[object, ...], tuple[Any, list[Any]]] = {}

    def __call__(self, **inputs: NDArray[Any]) -> list[NDArray[Any]]:
        wanted = inputs.pop("wanted", None)
        shapes = tuple((name, value.shape) for name, value in sorted(inputs.items()))
        key = (shapes, None if wanted is None else tuple(wanted.tolist()))
        with self._lock:
            if key not in self._compiled:
                self._compiled[key] = (self._compile(dict(shapes), wanted), [])
            compiled, idle = self._compiled[key]
            request = idle.pop() if idle else compiled.create_infer_request()
        # Shared inputs are read in place; the outputs are the request's own, hence copied.
        results = request.infer(inputs, share_inputs=True)
        outputs = [np.array(results[port]) for port in compiled.outputs]
        with self._lock:
            idle.append(request)
        return outputs

    def _compile(self, shapes: dict[str, Any], wanted: NDArray[np.int64] | None) -> Any:
        core = _core()
        model = core.read_model(self._path)
        if wanted is not None:
            parameter = model.input("wanted").get_node()
            constant = importlib.import_module("openvino.opset13").constant(wanted)
            for reader in parameter.output(0).get_target_inputs():
                reader.replace_source_output(constant.output(0))
            model.remove_parameter(parameter)
        model.reshape({name: list(shape) for name, shape in shapes.items()})
        return core.compile_model(model, "CPU", self._settings)
