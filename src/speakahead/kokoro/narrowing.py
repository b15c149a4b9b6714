"""The generator's context, given up layer by layer instead of carried to its end.

A window is read with context on both sides, of which every convolution uses up a little. Computed
as exported, all of the context goes through all layers, although most of it is worthless after a
few. Here each step of a residual block reads only what the rest of the way to the wanted units
still needs: what is kept stays the same, for a tenth less work in a small window.

A tensor's *margin* is how many of its time steps it has on both sides of the wanted ones; at the
ends of what is read, and so at those of the utterance, there are fewer.
"""

from __future__ import annotations

import numpy as np
import onnx
from onnx import helper

from speakahead.errors import ModelCorrupt
from speakahead.kokoro.graph import Graph
from speakahead.kokoro.source import STEPS_PER_UNIT

SPECTRUM_MARGIN = 4
"""Steps of the spectrum around the wanted units: the inverse STFT needs two."""

_SCOPE = "/decoder/decoder/generator/"
_SOURCE = f"{_SCOPE}Concat_3_output_0"
_SOURCE_READER = f"{_SCOPE}noise_convs.1/Conv"
_FIRST_INPUT, _FIRST_BLOCKS = f"{_SCOPE}Add_2_output_0", (0, 1, 2)
_SECOND_INPUT, _SECOND_BLOCKS = f"{_SCOPE}Add_5_output_0", (3, 4, 5)
_FIRST_RATE = 10  # steps of the first stage in a unit; the second's are those of the spectrum
_HANDOVER = 20  # margin of what the first stage gives to the second


def narrow(graph: Graph, wanted: str, spectrum: str) -> str:
    """Let a generator with folded normalisations compute no more than the units ``wanted`` need.

    ``wanted`` names an input, int64 [2], a range of units counted from the first one of ``x``.
    Nodes that change are replaced by copies, since other parts of the model may share them.

    Returns the name of the narrowed spectrum, which has the margin :data:`SPECTRUM_MARGIN`.

    Raises:
        ModelCorrupt: the graph is not laid out like a known export.
    """
    narrowing = _Narrowing(graph)
    last = SPECTRUM_MARGIN + _radius(graph.producer[spectrum])
    steps = narrowing.range(wanted, _FIRST_RATE, 0, None)
    first = _Stage(narrowing, "first", *steps)
    for number in _FIRST_BLOCKS:
        _narrow_block(first, number, _FIRST_INPUT, _HANDOVER)
    # The second stage's tensors begin where the first one's handover does.
    origin = narrowing.scaled(first.start(_HANDOVER), STEPS_PER_UNIT // _FIRST_RATE, 0)
    second = _Stage(narrowing, "second", *narrowing.range(wanted, STEPS_PER_UNIT, 1, origin))
    handed = narrowing.scaled(first.end(_HANDOVER), STEPS_PER_UNIT // _FIRST_RATE, 1)
    narrowing.slice(_SOURCE, origin, handed, f"{_SOURCE}/narrow", _SOURCE_READER)
    for number in _SECOND_BLOCKS:
        _narrow_block(second, number, _SECOND_INPUT, last)
    kept = f"{spectrum}/narrow"
    second.narrow(spectrum, last, SPECTRUM_MARGIN, kept, None)
    narrowing.apply()
    return kept


def _narrow_block(stage: _Stage, number: int, given: str, margin: int) -> None:
    """Cut what each of a block's three steps reads, so that its result has ``margin``."""
    scope = f"{_SCOPE}resblocks.{number}/"
    graph = stage.narrowing.graph
    used = [
        _radius(graph.node(f"{scope}convs1.{i}/Conv")) + _radius(graph.node(f"{scope}convs2.{i}/"))
        for i in range(3)
    ]
    tensors = [given, *(f"{scope}Add_{i}_output_0" for i in (2, 5, 8))]
    margins = [margin + sum(used[i:]) for i in range(4)]
    for i, tensor in enumerate(tensors):
        has = margins[i - 1] if i else None
        readers = scope if i < 3 else _SCOPE
        stage.narrow(tensor, has, margins[i], f"{scope}narrow.{i}", readers)


def _radius(conv: onnx.NodeProto) -> int:
    """How many steps to each side a convolution of odd size reads."""
    pads = [list(a.ints) for a in conv.attribute if a.name == "pads"]
    if conv.op_type != "Conv" or len(pads) != 1 or len(set(pads[0])) != 1:
        raise ModelCorrupt("The model's graph is not laid out like a known Kokoro export.")
    return int(pads[0][0])


class _Stage:
    """Tensors of one rate, and where the wanted steps are in them."""

    def __init__(self, narrowing: _Narrowing, name: str, start: str, end: str) -> None:
        self.narrowing = narrowing
        self._name, self._start, self._end = name, start, end
        self._starts: dict[int, str] = {}

    def start(self, margin: int) -> str:
        """First step of a tensor with this margin, counted from the stage's own first one."""
        if margin not in self._starts:
            p = f"narrow/{self._name}.{margin}"
            n = self.narrowing
            wide = n.add("Sub", [self._start, n.constant(margin)], f"{p}/wide")
            self._starts[margin] = n.add("Max", [wide, n.constant(0)], f"{p}/start")
        return self._starts[margin]

    def end(self, margin: int) -> str:
        """The step after the last one; it may lie behind what there is."""
        n = self.narrowing
        return n.add("Add", [self._end, n.constant(margin)], f"narrow/{self._name}.{margin}/end")

    def narrow(
        self, tensor: str, has: int | None, margin: int, to: str, reader: str | None
    ) -> None:
        """Cut ``tensor`` from the margin that it ``has`` (None: all of the stage)."""
        start, end = self.start(margin), self.end(margin)
        if has is not None:
            n, own = self.narrowing, self.start(has)
            start = n.add("Sub", [start, own], f"{to}/start")
            end = n.add("Sub", [end, own], f"{to}/end")
        self.narrowing.slice(tensor, start, end, to, reader)


class _Narrowing:
    """Nodes to add to a graph, and changed copies of those that read another tensor now."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self._added: dict[str, onnx.NodeProto] = {}
        self._copies: dict[str, tuple[onnx.NodeProto, onnx.NodeProto]] = {}

    def constant(self, value: int) -> str:
        return self.graph.add_array(f"narrow/constant.{value}", np.array([value], np.int64))

    def add(self, op_type: str, inputs: list[str], output: str) -> str:
        """A node, unless there is one with this output already; returns ``output``."""
        if output not in self._added:
            self._added[output] = helper.make_node(op_type, inputs, [output], name=output)
        return output

    def scaled(self, value: str, factor: int, offset: int) -> str:
        p = f"{value}/{factor}"
        product = self.add("Mul", [value, self.constant(factor)], p)
        return self.add("Add", [product, self.constant(offset)], f"{p}+{offset}")

    def range(self, units: str, rate: int, extra: int, origin: str | None) -> tuple[str, str]:
        """Start and end of a range of units in steps, counted from ``origin``."""
        p = f"narrow/{rate}"
        edges = []
        for edge, offset in (("0", 0), ("1", extra)):
            at = self.graph.add_array(f"{p}/{edge}", np.array([int(edge)], np.int64))
            unit = self.add("Gather", [units, at], f"{p}/unit.{edge}")
            step = self.scaled(unit, rate, offset)
            if origin is not None:
                step = self.add("Sub", [step, origin], f"{p}/step.{edge}")
            edges.append(step)
        return edges[0], edges[1]

    def slice(self, tensor: str, start: str, end: str, to: str, reader: str | None) -> None:
        """Cut ``tensor``; nodes whose names start with ``reader`` read what is cut out."""
        self.add("Slice", [tensor, start, end, self.constant(2)], to)
        if reader is None:
            return
        nodes = [n for n in self.graph.consumers[tensor] if n.name.startswith(reader)]
        if not nodes:
            raise ModelCorrupt("The model's graph is not laid out like a known Kokoro export.")
        for node in nodes:
            copy = onnx.NodeProto()
            copy.CopyFrom(node)
            _, copy = self._copies.setdefault(node.output[0], (node, copy))
            for i, name in enumerate(copy.input):
                if name == tensor:
                    copy.input[i] = to

    def apply(self) -> None:
        removed = [node for node, _ in self._copies.values()]
        copies = [copy for _, copy in self._copies.values()]
        self.graph.replace(removed, [*self._added.values(), *copies])
