"""Adaptive instance normalisation in a graph: found, and its statistics made inputs.

Kokoro's decoder normalises every channel over the *whole utterance* before a scale and a shift
from the voice's style are applied (AdaIN, Huang and Belongie 2017)::

    y = gamma * (x - E[x]) / sqrt(E[x^2] - E[x]^2 + eps) + beta

That mean over time is the only thing which ties a sample to the far end of its sentence. Where
the statistics are known beforehand, all of it is one scale and one shift per channel, and a
window of the utterance can be decoded alone.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import onnx
from onnx import helper

from speakahead.errors import ModelCorrupt
from speakahead.kokoro.graph import Graph

EPSILON = 1e-5
"""Added to the variance, as in the model's own instance normalisation."""


@dataclass(frozen=True, slots=True)
class Use:
    """One scaled and shifted use of a normalised tensor."""

    gamma: str
    beta: str
    output: str
    nodes: tuple[onnx.NodeProto, ...]


@dataclass(frozen=True, slots=True)
class Site:
    """One normalised tensor: ``uses`` are several where blocks share their input."""

    name: str
    x: str
    normalized: str
    nodes: tuple[onnx.NodeProto, ...]
    uses: tuple[Use, ...]


def find_sites(graph: Graph, scope: str) -> list[Site]:
    """All AdaIN sites whose nodes' names start with ``scope``, in the graph's order.

    Raises:
        ModelCorrupt: there is none.
    """
    sites = []
    for node in graph.nodes:
        if node.op_type == "ReduceMean" and node.name.startswith(scope):
            site = _site_at(graph, node)
            if site is not None:
                sites.append(site)
    if not sites:
        raise ModelCorrupt("The model has no instance normalisation that is known here.")
    return sites


def _site_at(graph: Graph, mean: onnx.NodeProto) -> Site | None:
    x = mean.input[0]
    centred = _next(graph, mean.output[0], "Sub")
    if centred is None or list(centred.input) != [x, mean.output[0]]:
        return None
    squared = _next(graph, centred.output[0], "Mul", "Pow")
    variance = squared and _next(graph, squared.output[0], "ReduceMean")
    padded = variance and _next(graph, variance.output[0], "Add")
    deviation = padded and _next(graph, padded.output[0], "Sqrt")
    divided = deviation and _next(graph, deviation.output[0], "Div")
    if squared is None or variance is None or padded is None:
        return None
    if deviation is None or divided is None:
        return None
    uses = []
    for scaled in graph.consumers.get(divided.output[0], []):
        shifted = graph.only_consumer(scaled.output[0], "Add")
        gamma = next(name for name in scaled.input if name != divided.output[0])
        beta = next(name for name in shifted.input if name != scaled.output[0])
        uses.append(Use(gamma, beta, shifted.output[0], (scaled, shifted)))
    nodes = (mean, centred, squared, variance, padded, deviation, divided)
    return Site(mean.name.rpartition("/")[0], x, divided.output[0], nodes, tuple(uses))


def _next(graph: Graph, tensor: str, *op_types: str) -> onnx.NodeProto | None:
    return next((n for n in graph.consumers.get(tensor, []) if n.op_type in op_types), None)


def fold(graph: Graph, sites: list[Site], channels: list[int], scale: str, shift: str) -> None:
    """Replace the sites by ``x * a + b``, with all ``a`` and all ``b`` from two packed inputs.

    ``channels`` gives the channels of each *use*, in order; ``scale`` and ``shift`` are the names
    of the packed tensors, float32 [batch, sum of channels, 1].
    """
    removed: list[onnx.NodeProto] = []
    added: list[onnx.NodeProto] = []
    names = [f"{use.output}/folded" for site in sites for use in site.uses]
    sizes = graph.add_array(f"{scale}/sizes", np.array(channels, np.int64))
    for packed, letter in ((scale, "a"), (shift, "b")):
        pieces = [f"{name}_{letter}" for name in names]
        added.append(
            helper.make_node("Split", [packed, sizes], pieces, axis=1, name=f"{packed}/split")
        )
    position = iter(names)
    for site in sites:
        removed += site.nodes
        for use in site.uses:
            name = next(position)
            removed += use.nodes
            added += (
                helper.make_node("Mul", [site.x, f"{name}_a"], [name], name=name),
                helper.make_node("Add", [name, f"{name}_b"], [use.output], name=f"{name}_add"),
            )
    graph.replace(removed, added)


def measure(graph: Graph, sites: list[Site], weights: str, mean: str, square: str) -> None:
    """Add outputs with each site's weighted sums of ``x`` and ``x * x`` over time.

    ``weights`` names an input, float32 [1, K, frames], with frames at the decoder's frame rate;
    at sites of a higher rate each weight is held. The outputs ``mean`` and ``square``, float32
    [1, sum of the sites' channels, K], are sums of ``weight * value`` divided by the *number of
    time steps*, so that with weights that add up to one at every frame, summing over K gives E[x]
    and E[x^2].
    """
    added: list[onnx.NodeProto] = []
    outputs: dict[str, list[str]] = {mean: [], square: []}
    head = "measure/head"
    added.append(helper.make_node("Shape", [weights], [head], end=2, name=head))
    for site in sites:
        p = f"{site.name}/measure"
        added += (
            helper.make_node("Shape", [site.x], [f"{p}/t"], start=2, end=3, name=f"{p}/t"),
            helper.make_node("Concat", [head, f"{p}/t"], [f"{p}/size"], axis=0, name=f"{p}/size"),
            helper.make_node(
                "Resize",
                [weights, "", "", f"{p}/size"],
                [f"{p}/w"],
                mode="nearest",
                coordinate_transformation_mode="asymmetric",
                nearest_mode="floor",
                name=f"{p}/w",
            ),
            helper.make_node("Transpose", [f"{p}/w"], [f"{p}/wt"], perm=[0, 2, 1], name=f"{p}/wt"),
            helper.make_node("Cast", [f"{p}/t"], [f"{p}/n"], to=1, name=f"{p}/n"),
            helper.make_node("Div", [f"{p}/wt", f"{p}/n"], [f"{p}/wn"], name=f"{p}/wn"),
            helper.make_node("MatMul", [site.x, f"{p}/wn"], [f"{p}/m"], name=f"{p}/m"),
            helper.make_node("Mul", [site.x, site.x], [f"{p}/xx"], name=f"{p}/xx"),
            helper.make_node("MatMul", [f"{p}/xx", f"{p}/wn"], [f"{p}/s"], name=f"{p}/s"),
        )
        outputs[mean].append(f"{p}/m")
        outputs[square].append(f"{p}/s")
    for name, pieces in outputs.items():
        added.append(helper.make_node("Concat", pieces, [name], axis=1, name=name))
    graph.replace((), added)
