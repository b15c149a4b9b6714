"""Cutting and rewriting ONNX graphs: the small part of a graph library that preparation needs.

A :class:`Graph` is an ONNX model taken apart into nodes and initializers, so that a part between
two sets of tensors can be cut out as a model of its own. :func:`dequantize` turns the dynamically
quantised operators that ONNX Runtime's quantiser writes back into plain float ones.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import helper, numpy_helper

from speakahead.errors import ModelCorrupt

FLOAT = onnx.TensorProto.FLOAT
INT64 = onnx.TensorProto.INT64
_IR_VERSION = 10


class Port(NamedTuple):
    """An input of a cut: tensor name in the graph, public name, element type and shape.

    A dimension given as text is free.
    """

    tensor: str
    name: str
    element: int
    shape: tuple[int | str, ...]


class Graph:
    """Nodes and initializers of a model, with look-ups that follow the edges."""

    def __init__(self, model: onnx.ModelProto) -> None:
        self.nodes: list[onnx.NodeProto] = list(model.graph.node)
        self.initializers: dict[str, onnx.TensorProto] = {
            tensor.name: tensor for tensor in model.graph.initializer
        }
        self.inputs: tuple[str, ...] = tuple(value.name for value in model.graph.input)
        self.opsets = list(model.opset_import)
        self._lift_constants()
        self.reindex()

    def _lift_constants(self) -> None:
        kept = []
        for node in self.nodes:
            if node.op_type == "Constant" and node.attribute[0].name == "value":
                tensor = onnx.TensorProto()
                tensor.CopyFrom(node.attribute[0].t)
                tensor.name = node.output[0]
                self.initializers[tensor.name] = tensor
            else:
                kept.append(node)
        self.nodes = kept

    def reindex(self) -> None:
        """Bring the look-ups up to date after ``nodes`` was changed."""
        self.producer: dict[str, onnx.NodeProto] = {
            output: node for node in self.nodes for output in node.output if output
        }
        self.consumers: dict[str, list[onnx.NodeProto]] = {}
        for node in self.nodes:
            for name in dict.fromkeys(node.input):
                self.consumers.setdefault(name, []).append(node)

    def array(self, name: str) -> NDArray[np.generic]:
        """The value of an initializer."""
        return numpy_helper.to_array(self.initializers[name])

    def node(self, prefix: str) -> onnx.NodeProto:
        """The one node whose name starts with ``prefix``.

        Raises:
            ModelCorrupt: there are several, or none.
        """
        found = [node for node in self.nodes if node.name.startswith(prefix)]
        if len(found) != 1:
            raise ModelCorrupt("The model's graph is not laid out like a known Kokoro export.")
        return found[0]

    def add_array(self, name: str, value: NDArray[np.generic]) -> str:
        """Add an initializer; returns its name."""
        self.initializers[name] = numpy_helper.from_array(np.ascontiguousarray(value), name)
        return name

    def replace(self, removed: Iterable[onnx.NodeProto], added: Iterable[onnx.NodeProto]) -> None:
        """Remove and add nodes; order does not matter, :meth:`cut` sorts."""
        gone = {id(node) for node in removed}
        self.nodes = [node for node in self.nodes if id(node) not in gone] + list(added)
        self.reindex()

    def only_consumer(self, tensor: str, *op_types: str) -> onnx.NodeProto:
        """The one node that reads ``tensor``, which must be of one of the given kinds.

        Raises:
            ModelCorrupt: there are several, or none, or it is of another kind.
        """
        found = self.consumers.get(tensor, [])
        if len(found) != 1 or found[0].op_type not in op_types:
            raise ModelCorrupt("The model's graph is not laid out like a known Kokoro export.")
        return found[0]

    def merge_duplicates(self) -> None:
        """Merge nodes that compute the same thing (exporters repeat them, optimisers do not)."""
        renamed: dict[str, str] = {}
        seen: dict[tuple[object, ...], onnx.NodeProto] = {}
        kept = []
        for node in self._sorted(self.nodes, set(self.inputs)):
            for i, name in enumerate(node.input):
                node.input[i] = renamed.get(name, name)
            attributes = tuple(sorted(a.SerializeToString() for a in node.attribute))
            key = (node.op_type, node.domain, tuple(node.input), attributes, len(node.output))
            first = seen.setdefault(key, node)
            if first is node:
                kept.append(node)
            else:
                renamed.update(zip(node.output, first.output, strict=True))
        self.nodes = kept
        self.reindex()

    def cut(self, inputs: Sequence[Port], outputs: dict[str, str]) -> onnx.ModelProto:
        """The part of the graph that computes ``outputs`` from ``inputs``, as a model.

        ``outputs`` gives the public name of each tensor. Initializers are shared with this graph,
        not copied into new values.

        Raises:
            ModelCorrupt: an output depends on something that is not among the inputs.
        """
        bound = {port.tensor for port in inputs}
        needed: dict[int, onnx.NodeProto] = {}
        pending = list(outputs)
        seen: set[str] = set()
        while pending:
            name = pending.pop()
            if name in seen or name in bound or name in self.initializers or not name:
                continue
            seen.add(name)
            node = self.producer.get(name)
            if node is None:
                raise ModelCorrupt("The model lacks a tensor that streaming needs.")
            needed[id(node)] = node
            pending.extend(node.input)
        public = {port.tensor: port.name for port in inputs} | outputs
        nodes = []
        for node in self._sorted(needed.values(), bound):
            copy = onnx.NodeProto()
            copy.CopyFrom(node)
            for i, name in enumerate(copy.input):
                copy.input[i] = public.get(name, name)
            for i, name in enumerate(copy.output):
                copy.output[i] = public.get(name, name)
            nodes.append(copy)
        used = {name for node in nodes for name in node.input}
        graph = helper.make_graph(
            nodes,
            "kokoro",
            [helper.make_tensor_value_info(p.name, p.element, p.shape) for p in inputs],
            [helper.make_tensor_value_info(name, FLOAT, None) for name in outputs.values()],
            [tensor for name, tensor in self.initializers.items() if name in used],
        )
        for value in graph.output:
            # Element types differ and shapes are free: ONNX Runtime infers both.
            value.ClearField("type")
        return helper.make_model(graph, opset_imports=self.opsets, ir_version=_IR_VERSION)

    def _sorted(self, nodes: Iterable[onnx.NodeProto], given: set[str]) -> list[onnx.NodeProto]:
        """``nodes`` in an order in which every input is computed before it is read."""
        ready = given | set(self.initializers) | {""}
        waiting = list(nodes)
        ordered: list[onnx.NodeProto] = []
        while waiting:
            late = []
            for node in waiting:
                if all(name in ready for name in node.input):
                    ordered.append(node)
                    ready.update(node.output)
                else:
                    late.append(node)
            if len(late) == len(waiting):
                raise ModelCorrupt("The model's graph has a loop or a missing input.")
            waiting = late
        return ordered


def dequantize(graph: Graph) -> int:
    """Replace dynamically quantised convolutions and products by float ones; returns how many.

    The pattern is that of ONNX Runtime's dynamic quantiser: DynamicQuantizeLinear, then
    ConvInteger (with an optional integer bias) or MatMulInteger, Cast, and Mul by the product of
    both scales. Weights become ``(w - zero point) * scale``, per output channel where they are
    quantised so; the bias is the original float one, from which the integer bias is computed.

    Raises:
        ModelCorrupt: a quantised operator is not laid out so.
    """
    integer = [n for n in graph.nodes if n.op_type in ("ConvInteger", "MatMulInteger")]
    removed: list[onnx.NodeProto] = []
    added: list[onnx.NodeProto] = []
    for node in integer:
        quantizer = graph.producer.get(node.input[0])
        if quantizer is None or quantizer.op_type != "DynamicQuantizeLinear":
            raise ModelCorrupt("The model is quantised in a way that is not known here.")
        follower = graph.only_consumer(node.output[0], "Cast", "Add")
        chain = [node, follower]
        bias = ""
        if follower.op_type == "Add":
            other = next(name for name in follower.input if name != node.output[0])
            bias = _float_bias(graph, other)
            follower = graph.only_consumer(follower.output[0], "Cast")
            chain.append(follower)
        product = graph.only_consumer(follower.output[0], "Mul")
        chain.append(product)
        scales = graph.producer[next(n for n in product.input if n != follower.output[0])]
        scale = next(name for name in scales.input if name != quantizer.output[1])
        is_conv = node.op_type == "ConvInteger"
        weights = _float_weights(graph, node, graph.array(scale), is_conv)
        name = f"{node.input[1]}_float"
        graph.add_array(name, weights)
        plain = helper.make_node(
            "Conv" if is_conv else "MatMul",
            [quantizer.input[0], name, *([bias] if bias else [])],
            [product.output[0]],
            name=f"{node.name}_float",
        )
        plain.attribute.extend(node.attribute)
        removed += chain
        added.append(plain)
    graph.replace(removed, added)
    return len(added)


def _float_weights(
    graph: Graph, node: onnx.NodeProto, scale: NDArray[np.generic], is_conv: bool
) -> NDArray[np.float32]:
    weights = graph.array(node.input[1]).astype(np.float32)
    zero: NDArray[np.float32] = np.zeros((), np.float32)
    if len(node.input) > 3 and node.input[3]:
        zero = graph.array(node.input[3]).astype(np.float32)
    factor = scale.astype(np.float32)
    if is_conv and factor.size > 1:  # Conv weights have the output channel first
        axes = (-1,) + (1,) * (weights.ndim - 1)
        zero, factor = np.broadcast_to(zero.reshape(-1), factor.shape), factor.reshape(axes)
        zero = zero.reshape(axes)
    result: NDArray[np.float32] = ((weights - zero) * factor).astype(np.float32)
    return result


def _float_bias(graph: Graph, integer_bias: str) -> str:
    """Follow an integer bias back to the float initializer that it is computed from."""
    name = integer_bias
    for _ in range(8):  # Reshape, Cast, Floor, Div is the longest chain that is known
        node = graph.producer.get(name)
        if node is None:
            break
        name = str(node.input[0])
        if name in graph.initializers and graph.initializers[name].data_type == FLOAT:
            return name
    raise ModelCorrupt("The model's quantised bias cannot be traced to its float value.")


def convolve_in_two_dimensions(model: onnx.ModelProto) -> None:
    """Give every 1-D convolution of a model a second dimension of size one, in place.

    ONNX Runtime has blocked kernels (NCHWc) for two dimensions only; with them a convolution takes
    about an eighth less time, and its result is the same but for rounding.
    """
    initializers = {tensor.name: tensor for tensor in model.graph.initializer}
    axis = numpy_helper.from_array(np.array([2], np.int64), "two_dimensions/axis")
    nodes: list[onnx.NodeProto] = []
    reshaped: set[str] = set()
    for node in model.graph.node:
        weights = initializers.get(node.input[1]) if node.op_type == "Conv" else None
        if weights is None:
            nodes.append(node)
            continue
        if weights.name not in reshaped:
            reshaped.add(weights.name)
            weights.dims.insert(2, 1)
        source, result = node.input[0], node.output[0]
        flat, wide = f"{result}/wide", f"{source}/wide/{result}"
        nodes.append(helper.make_node("Unsqueeze", [source, axis.name], [wide]))
        conv = helper.make_node("Conv", [wide, *node.input[1:]], [flat], name=node.name)
        conv.attribute.extend(_in_two_dimensions(attribute) for attribute in node.attribute)
        nodes.append(conv)
        nodes.append(helper.make_node("Squeeze", [flat, axis.name], [result]))
    if reshaped:
        model.graph.initializer.append(axis)
        del model.graph.node[:]
        model.graph.node.extend(nodes)


def _in_two_dimensions(attribute: onnx.AttributeProto) -> onnx.AttributeProto:
    if attribute.name in ("kernel_shape", "strides", "dilations"):
        return helper.make_attribute(attribute.name, [1, *attribute.ints])
    if attribute.name == "pads":
        before, after = attribute.ints
        return helper.make_attribute("pads", [0, before, 0, after])
    return attribute
