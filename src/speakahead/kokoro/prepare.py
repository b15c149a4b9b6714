"""From the published export to the parts that streaming needs.

The export computes a whole utterance at once. Preparation cuts it into

``prosody.onnx``
    text and prosody, as exported (int8 stays int8): ``tokens`` int64 [1, n + 2], ``style``
    float32 [1, 256], ``speed`` float32 [1] to ``text`` [1, 512, F], ``f0`` and ``energy``
    [1, 1, 2F], ``style_decoder`` [1, 128] and ``durations`` int64 [n + 2], in frames.
``blocks.onnx``
    decoder blocks: ``text``, ``f0``, ``energy`` with ``scale`` and ``shift`` [B, C, 1] to ``x``
    [B, 512, 2F].
``generator.onnx``
    ``x`` and ``source`` [B, 22, 60U + 1] with ``scale``, ``shift`` and ``wanted`` int64 [2] to
    ``spectrum`` [B, 22, 60 (end - start) + 1 + margins], where ``U`` units of ``x`` are 12.5 ms
    each and ``wanted`` is the range of them that is to be heard
    (see :mod:`speakahead.kokoro.narrowing`).
``exact.onnx``
    blocks and generator over a whole utterance with the true normalisation, and with the sums that
    calibration needs (see :func:`speakahead.kokoro.adain.measure`).
``affine.onnx``
    ``style_decoder`` to ``gamma`` and ``beta`` [1, C, 1] of all normalisations.
``weights.bin``
    float32 weights that the middle three share.
``layout.json``, ``source.npz``
    which channels belong to which normalisation, and the constants of the harmonic source.

A frame is 25 ms (600 samples), a unit half of it.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
from numpy.typing import NDArray
from onnx import helper

from speakahead.errors import ModelCorrupt, ModelNotFound
from speakahead.kokoro.adain import Site, find_sites, fold, measure
from speakahead.kokoro.graph import (
    FLOAT,
    INT64,
    Graph,
    Port,
    convolve_in_two_dimensions,
    dequantize,
)
from speakahead.kokoro.narrowing import narrow
from speakahead.kokoro.source import STEPS_PER_UNIT

FORMAT = 3
"""Raised whenever prepared parts of an earlier version of this module cannot be used."""

Progress = Callable[[str, float], None]
"""Called with the step's name and the share that is done, 0 to 1."""

_DECODER = "/decoder/decoder/"
_GENERATOR = "/decoder/decoder/generator/"
_TEXT = "/encoder/MatMul_1_output_0"
_F0 = "/decoder/decoder/Unsqueeze_output_0"
_ENERGY = "/decoder/decoder/Unsqueeze_1_output_0"
_STYLE = "/decoder/Slice_output_0"
_DURATIONS = "/encoder/Gather_output_0"
_X = "/decoder/decoder/decode.3/Div_4_output_0"
_SOURCE = "/decoder/decoder/generator/Concat_3_output_0"
_LAST_STAGE = "/decoder/decoder/generator/LeakyRelu_1_output_0"
_LAST_STAGE_SOURCE = "/decoder/decoder/generator/noise_convs.1/Conv"
_SPECTRUM = "/decoder/decoder/generator/conv_post/Conv_output_0"
_BASIS = "decoder.decoder.generator.stft.istft.stft.inverse_basis"

_ALIGNMENT = 4096  # memory-mapped weights start on a page
_INLINE_BYTES = 1024  # smaller tensors (shapes, axes) stay in the graph


def prepared_directory(model: Path, cache: Path) -> Path:
    """Where the parts of this export are, or would be: its name has the export's content hash.

    Raises:
        ModelNotFound: there is no such export.
    """
    try:
        with model.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        raise ModelNotFound(
            "The Kokoro model file is missing: fetch it with `speakahead models pull`."
        ) from None
    return cache / f"windowed-v{FORMAT}-{digest[:16]}"


def is_prepared(directory: Path) -> bool:
    """Whether ``directory`` holds a complete set of parts of this version."""
    try:
        layout: Any = json.loads((directory / "layout.json").read_bytes())
    except (OSError, ValueError):
        return False
    return isinstance(layout, dict) and layout.get("format") == FORMAT


def prepare(model: Path, cache: Path, progress: Progress | None = None) -> Path:
    """Make the parts of an export, once; returns their directory.

    The directory appears complete or not at all. Where it is there already, nothing is done.

    Args:
        model: the published export, int8 or float32.
        cache: directory in which the parts' directory is made.
        progress: told about each step.

    Raises:
        ModelNotFound: there is no such export.
        ModelCorrupt: it is not a Kokoro export of a known layout.
    """
    report = progress or (lambda step, share: None)
    report("checking", 0.0)
    target = prepared_directory(model, cache)
    if is_prepared(target):
        report("ready", 1.0)
        return target
    cache.mkdir(parents=True, exist_ok=True)
    work = Path(tempfile.mkdtemp(prefix=".prepare-", dir=cache))
    try:
        _write_parts(model, work, report)
        if target.exists() and not is_prepared(target):
            shutil.rmtree(target)  # left by a version that was interrupted or is older
        try:
            work.rename(target)
        except OSError:
            if not is_prepared(target):  # otherwise another process was faster
                raise
    finally:
        shutil.rmtree(work, ignore_errors=True)
    report("ready", 1.0)
    return target


def _load(model: Path) -> Graph:
    try:
        return Graph(onnx.load(os.fspath(model)))
    except ModelCorrupt:
        raise
    except Exception:  # protobuf raises several kinds of its own
        raise ModelCorrupt("The Kokoro model file cannot be read as ONNX.") from None


def _write_parts(model: Path, work: Path, report: Progress) -> None:
    report("reading", 0.05)
    whole = _load(model)
    wanted = (_TEXT, _F0, _ENERGY, _STYLE, _DURATIONS, _X, _SOURCE, _SPECTRUM)
    missing = [tensor for tensor in wanted if tensor not in whole.producer]
    token_input = next((n for n in ("tokens", "input_ids") if n in whole.inputs), None)
    if missing or token_input is None or _BASIS not in whole.initializers:
        raise ModelCorrupt("The file is not a Kokoro-82M export of a known layout.")

    report("text and prosody", 0.15)
    prosody = whole.cut(
        [
            Port(token_input, "tokens", INT64, (1, "tokens")),
            Port("style", "style", FLOAT, (1, 256)),
            Port("speed", "speed", FLOAT, (1,)),
        ],
        {
            _TEXT: "text",
            _F0: "f0",
            _ENERGY: "energy",
            _STYLE: "style_decoder",
            _DURATIONS: "durations",
        },
    )
    onnx.save(prosody, os.fspath(work / "prosody.onnx"))
    _write_source(whole, work / "source.npz")

    report("dequantising", 0.3)
    whole.merge_duplicates()
    dequantize(whole)
    _square_by_product(whole)

    report("decoder", 0.5)
    sites = find_sites(whole, _DECODER)
    blocks = [site for site in sites if not site.name.startswith(_GENERATOR)]
    generator = [site for site in sites if site.name.startswith(_GENERATOR)]
    sites = blocks + generator
    affine = _affine_model(whole, sites)
    onnx.save(affine, os.fspath(work / "affine.onnx"))
    channels = _channels(work / "affine.onnx", sites)
    with (work / "weights.bin").open("wb") as file:
        shared = _SharedWeights(file)
        shared.save(_exact_model(whole, sites), work / "exact.onnx")
        report("decoder", 0.7)
        parts = _window_models(whole, blocks, generator, channels)
        for name, part in parts.items():
            shared.save(part, work / name)
    report("writing", 0.95)
    layout = {
        "format": FORMAT,
        "sites": [
            {"name": site.name.removeprefix(_DECODER), "channels": size, "uses": len(site.uses)}
            for site, size in zip(sites, channels, strict=True)
        ],
        "block_sites": len(blocks),
    }
    (work / "layout.json").write_text(json.dumps(layout, indent=1))


def _square_by_product(graph: Graph) -> None:
    """``x ** 2`` becomes ``x * x``, which is several times cheaper than a general power."""
    for node in graph.nodes:
        if node.op_type == "Pow" and node.input[1] in graph.initializers:
            exponent = graph.array(node.input[1])
            if exponent.size == 1 and float(exponent.reshape(())) == 2.0:
                node.op_type = "Mul"
                node.input[1] = node.input[0]
    graph.reindex()


def _affine_model(graph: Graph, sites: list[Site]) -> onnx.ModelProto:
    uses = [use for site in sites for use in site.uses]
    sizes = [f"{use.output}/size" for use in uses]
    nodes = [
        helper.make_node("Concat", [use.gamma for use in uses], ["gamma"], axis=1, name="gamma"),
        helper.make_node("Concat", [use.beta for use in uses], ["beta"], axis=1, name="beta"),
        helper.make_node("Concat", sizes, ["sizes"], axis=0, name="sizes"),
    ]
    nodes += [
        helper.make_node("Shape", [use.gamma], [size], start=1, end=2, name=size)
        for use, size in zip(uses, sizes, strict=True)
    ]
    graph.replace((), nodes)
    model = graph.cut(
        [Port(_STYLE, "style_decoder", FLOAT, (1, 128))],
        {"gamma": "gamma", "beta": "beta", "sizes": "sizes"},
    )
    graph.replace(nodes, ())
    return model


def _channels(affine: Path, sites: list[Site]) -> list[int]:
    """Channels of each site, from one run of the affine part."""
    session = ort.InferenceSession(os.fspath(affine), providers=["CPUExecutionProvider"])
    (sizes,) = session.run(["sizes"], {"style_decoder": np.zeros((1, 128), np.float32)})
    position = iter(int(size) for size in np.asarray(sizes))
    channels = []
    for site in sites:
        own = {next(position) for _ in site.uses}
        if len(own) != 1:
            raise ModelCorrupt("The model's graph is not laid out like a known Kokoro export.")
        channels.append(own.pop())
    return channels


def _copy(graph: Graph) -> Graph:
    """A graph with its own nodes and the same initializers."""
    copy = Graph(onnx.ModelProto())
    copy.inputs, copy.opsets = graph.inputs, graph.opsets
    copy.initializers = dict(graph.initializers)
    copy.nodes = list(graph.nodes)
    copy.reindex()
    return copy


def _exact_model(graph: Graph, sites: list[Site]) -> onnx.ModelProto:
    exact = _copy(graph)
    measure(exact, sites, "class_weights", "mean", "square")
    return exact.cut(
        [
            *_block_ports(1),
            Port(_SOURCE, "source", FLOAT, (1, 22, "steps")),
            Port(_STYLE, "style_decoder", FLOAT, (1, 128)),
            Port("class_weights", "class_weights", FLOAT, (1, "classes", "frames")),
        ],
        {_SPECTRUM: "spectrum", "mean": "mean", "square": "square"},
    )


def _block_ports(batch: int | str) -> list[Port]:
    return [
        Port(_TEXT, "text", FLOAT, (batch, 512, "frames")),
        Port(_F0, "f0", FLOAT, (batch, 1, "units")),
        Port(_ENERGY, "energy", FLOAT, (batch, 1, "units")),
    ]


def _window_models(
    graph: Graph, blocks: list[Site], generator: list[Site], channels: list[int]
) -> dict[str, onnx.ModelProto]:
    affine = [
        Port("scale", "scale", FLOAT, ("batch", "channels", 1)),
        Port("shift", "shift", FLOAT, ("batch", "channels", 1)),
    ]
    by_site = dict(zip([s.name for s in blocks + generator], channels, strict=True))

    def folded(sites: list[Site]) -> Graph:
        part = _copy(graph)
        sizes = [by_site[site.name] for site in sites for _ in site.uses]
        fold(part, sites, sizes, "scale", "shift")
        return part

    windowed = folded(generator)
    spectrum = narrow(windowed, "wanted", _SPECTRUM)
    ports = [
        Port(_X, "x", FLOAT, ("batch", 512, "units")),
        Port(_SOURCE, "source", FLOAT, ("batch", 22, "steps")),
        Port("wanted", "wanted", INT64, (2,)),
    ]
    return {
        "blocks.onnx": folded(blocks).cut([*_block_ports("batch"), *affine], {_X: "x"}),
        "generator.onnx": windowed.cut([*ports, *affine], {spectrum: "spectrum"}),
    }


class _SharedWeights:
    """One file of weights for several models: each tensor is written once."""

    def __init__(self, file: Any) -> None:
        self._file = file
        self._places: dict[str, tuple[int, int]] = {}

    def save(self, model: onnx.ModelProto, path: Path) -> None:
        convolve_in_two_dimensions(model)
        for tensor in model.graph.initializer:
            if not tensor.raw_data or len(tensor.raw_data) < _INLINE_BYTES:
                continue
            place = self._places.get(tensor.name)
            if place is None:
                self._file.write(b"\0" * (-self._file.tell() % _ALIGNMENT))
                place = (self._file.tell(), len(tensor.raw_data))
                self._file.write(tensor.raw_data)
                self._places[tensor.name] = place
            tensor.ClearField("raw_data")
            tensor.data_location = onnx.TensorProto.EXTERNAL
            for key, value in zip(("offset", "length"), place, strict=True):
                tensor.external_data.add(key=key, value=str(value))
            tensor.external_data.add(key="location", value="weights.bin")
        self._file.flush()
        path.write_bytes(model.SerializeToString())


def _write_source(graph: Graph, path: Path) -> None:
    """The harmonic source's constants; see :mod:`speakahead.kokoro.source`."""
    linear = graph.producer["/decoder/decoder/generator/m_source/l_linear/MatMul_output_0"]
    np.savez(
        path,
        linear=graph.array(linear.input[1]).reshape(-1),
        bias=graph.array("decoder.decoder.generator.m_source.l_linear.bias"),
        basis=graph.array(_BASIS)[:, 0, :],
        silence=_silent_step(graph),
    )


def _silent_step(graph: Graph) -> NDArray[np.float32]:
    """What the export's source is in the middle of an unvoiced stretch: float32 [22]."""
    part = graph.cut([Port(_F0, "f0", FLOAT, (1, 1, "units"))], {_SOURCE: "source"})
    session = ort.InferenceSession(part.SerializeToString(), providers=["CPUExecutionProvider"])
    units = 8
    (source,) = session.run(["source"], {"f0": np.zeros((1, 1, units), np.float32)})
    step: NDArray[np.float32] = np.asarray(source)[0, :, units // 2 * STEPS_PER_UNIT]
    return step
