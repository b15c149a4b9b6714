"""Preparation: complete, repeatable, from both kinds of export, and typed when it cannot be."""

from pathlib import Path

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx import TensorProto, helper, numpy_helper

from speakahead.assets import ModelDirectory
from speakahead.errors import ModelCorrupt, ModelNotFound
from speakahead.kokoro.graph import FLOAT, Graph, Port, dequantize
from speakahead.kokoro.parts import Parts
from speakahead.kokoro.prepare import is_prepared, prepare, prepared_directory

PARTS = {
    "prosody.onnx",
    "blocks.onnx",
    "generator.onnx",
    "exact.onnx",
    "affine.onnx",
    "weights.bin",
    "layout.json",
    "source.npz",
}


def run(model: onnx.ModelProto, **inputs: np.ndarray) -> np.ndarray:
    session = ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    return np.asarray(session.run(None, inputs)[0])


def test_the_directory_is_complete_and_nothing_is_left_behind(prepared: Path) -> None:
    assert {f.name for f in prepared.iterdir()} == PARTS
    assert is_prepared(prepared)
    assert [p.name for p in prepared.parent.iterdir()] == [prepared.name]


def test_a_second_run_does_nothing(model: ModelDirectory, prepared: Path) -> None:
    before = (prepared / "weights.bin").stat().st_mtime_ns
    steps: list[tuple[str, float]] = []
    again = prepare(model.weights, prepared.parent, lambda *step: steps.append(step))
    assert again == prepared
    assert (prepared / "weights.bin").stat().st_mtime_ns == before
    assert steps[-1] == ("ready", 1.0)
    assert len(steps) == 2


def test_another_version_is_not_used(prepared: Path, tmp_path: Path) -> None:
    (tmp_path / "layout.json").write_text('{"format": 0}')
    assert not is_prepared(tmp_path)
    assert not is_prepared(tmp_path / "nowhere")
    with pytest.raises(ModelCorrupt, match="models prepare"):
        Parts(tmp_path, threads=1)


def test_a_missing_export_is_told(tmp_path: Path) -> None:
    with pytest.raises(ModelNotFound, match="models pull"):
        prepare(tmp_path / "absent.onnx", tmp_path)


def test_a_damaged_export_leaves_nothing(tmp_path: Path) -> None:
    broken = tmp_path / "model.onnx"
    broken.write_bytes(b"\xff\xfe not a model")
    cache = tmp_path / "cache"
    with pytest.raises(ModelCorrupt):
        prepare(broken, cache)
    assert list(cache.iterdir()) == []


def test_another_model_is_refused(tmp_path: Path) -> None:
    node = helper.make_node("Identity", ["tokens"], ["audio"])
    value = helper.make_tensor_value_info
    graph = helper.make_graph(
        [node],
        "other",
        [value("tokens", FLOAT, [1])],
        [value("audio", FLOAT, [1])],
    )
    path = tmp_path / "other.onnx"
    onnx.save(helper.make_model(graph), path)
    with pytest.raises(ModelCorrupt, match="known layout"):
        prepare(path, tmp_path / "cache")


def test_a_float_export_gives_the_same_layout(
    model: ModelDirectory, prepared: Path, tmp_path: Path
) -> None:
    original = onnx.load(str(model.weights))
    graph = Graph(original)
    dequantize(graph)
    used = {name for node in graph.nodes for name in node.input}
    floats = helper.make_model(
        helper.make_graph(
            graph._sorted(graph.nodes, set(graph.inputs)),
            "float",
            list(original.graph.input),
            list(original.graph.output),
            [t for name, t in graph.initializers.items() if name in used],
        ),
        opset_imports=original.opset_import,
        ir_version=original.ir_version,
    )
    export = tmp_path / "model.onnx"
    onnx.save(floats, export)
    parts = prepare(export, tmp_path / "cache")
    assert parts.name == prepared_directory(export, tmp_path / "cache").name
    assert parts.name != prepared.name
    assert (parts / "layout.json").read_text() == (prepared / "layout.json").read_text()
    assert (parts / "weights.bin").stat().st_size == (prepared / "weights.bin").stat().st_size


def test_dequantised_products_are_the_quantised_ones() -> None:
    """The pattern of the dynamic quantiser by hand: a convolution with an integer bias."""
    rng = np.random.default_rng(0)
    arrays = {
        "w": rng.integers(0, 255, (4, 3, 3)).astype(np.uint8),
        "wz": np.array(128, np.uint8),
        "ws": np.array(0.004, np.float32),
        "bias": rng.normal(size=4).astype(np.float32),
        "shape": np.array([1, -1, 1], np.int64),
    }
    n = helper.make_node
    nodes = [
        n("DynamicQuantizeLinear", ["x"], ["xq", "xs", "xz"]),
        n("ConvInteger", ["xq", "w", "xz", "wz"], ["c"], pads=[1, 1]),
        n("Mul", ["xs", "ws"], ["s"]),
        n("Div", ["bias", "s"], ["b0"]),
        n("Floor", ["b0"], ["b1"]),
        n("Cast", ["b1"], ["b2"], to=TensorProto.INT32),
        n("Reshape", ["b2", "shape"], ["b3"]),
        n("Add", ["c", "b3"], ["cb"]),
        n("Cast", ["cb"], ["cf"], to=FLOAT),
        n("Mul", ["cf", "s"], ["y"]),
    ]
    model = helper.make_model(
        helper.make_graph(
            nodes,
            "quantised",
            [helper.make_tensor_value_info("x", FLOAT, [1, 3, "t"])],
            [helper.make_tensor_value_info("y", FLOAT, None)],
            [numpy_helper.from_array(a, name) for name, a in arrays.items()],
        ),
        opset_imports=[helper.make_opsetid("", 20)],
        ir_version=10,
    )
    x = rng.normal(size=(1, 3, 12)).astype(np.float32)
    expected = run(model, x=x)
    graph = Graph(model)
    assert dequantize(graph) == 1
    plain = graph.cut([Port("x", "x", FLOAT, (1, 3, "t"))], {"y": "y"})
    assert {node.op_type for node in plain.graph.node} == {"Conv"}
    assert np.abs(run(plain, x=x) - expected).max() < 0.02 * np.abs(expected).max()


def test_quantised_operators_of_another_kind_are_refused() -> None:
    nodes = [helper.make_node("MatMulInteger", ["x", "w"], ["y"])]
    model = helper.make_model(
        helper.make_graph(
            nodes,
            "other",
            [helper.make_tensor_value_info("x", TensorProto.UINT8, [1, 3])],
            [helper.make_tensor_value_info("y", TensorProto.INT32, None)],
            [numpy_helper.from_array(np.ones((3, 2), np.uint8), "w")],
        )
    )
    with pytest.raises(ModelCorrupt):
        dequantize(Graph(model))
