"""Pictures of results, as SVG. Each takes a section's result as it is in the JSON file."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from speakahead.bench.published import PUBLIC_LOAD
from speakahead.bench.traced import STAGES

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

type Result = Mapping[str, Any]

OURS = "#0b7285"
PLAIN = "#868e96"
MIDDLE = "#f08c00"
_INK = "#212529"
_GRID = "#dee2e6"
_SIDES = {"whole": PLAIN, "sentences": MIDDLE, "windows": OURS}
_SCHEDULERS = {"deadline": OURS, "fifo": PLAIN}
_STAGE_COLOURS = (
    "#ced4da",
    "#adb5bd",
    "#e64980",
    "#f08c00",
    "#74b816",
    "#0b7285",
    "#7048e8",
    "#e8590c",
    "#1c7ed6",
)


@dataclass(frozen=True, slots=True)
class Picture:
    """An SVG document, and what it shows in a sentence."""

    caption: str
    svg: str


def hop(result: Result) -> list[Picture]:
    """Each trial's first sound, by length of the reply."""
    hops = result["hops"]
    transports = list(dict.fromkeys(each["transport"] for each in hops))
    figure, axes = _figure(len(transports), height=3.6)
    for ax, transport in zip(axes, transports, strict=True):
        rows = [each for each in hops if each["transport"] == transport]
        for row, each in enumerate(rows):
            for number, (side, colour) in enumerate(_SIDES.items()):
                place = row + (1 - number) * 0.22
                values = each["values"][side]
                ax.plot(values, [place] * len(values), "|", color=colour, markersize=9, alpha=0.6)
                median = each["first_sound"][side]["median"]
                label = side if row == 0 else None
                ax.plot([median], [place], "o", color=colour, markersize=6, label=label)
            ax.annotate(
                f"{each['ratio']:.1f}×",
                (1.0, row),
                xycoords=("axes fraction", "data"),
                xytext=(6, 0),
                textcoords="offset points",
                va="center",
                color=OURS,
                weight="bold",
            )
        ax.set_xscale("log")
        _plain_numbers(ax, "x")
        ax.set_yticks(range(len(rows)), [_plural(each["sentences"], "sentence") for each in rows])
        ax.set_ylim(len(rows) - 0.5, -0.5)
        ax.set_title(transport, fontsize=10)
        ax.set_xlabel("first sound, ms (log)")
        _legend(ax)
    caption = (
        "Dots are medians, ticks are trials; at the right, how many times sooner windows are heard "
        "than the whole."
    )
    return [Picture(caption, _svg(figure))]


def attribution(result: Result) -> list[Picture]:
    """The time line of each trial, in the colours of its stages."""
    trials = sorted(result["trials"], key=lambda each: (each["background"], each["whole_ms"]))
    figure, (ax,) = _figure(1, height=1.4 + 0.24 * len(trials))
    for row, trial in enumerate(trials):
        start = 0.0
        for stage, colour in zip(STAGES, _STAGE_COLOURS, strict=True):
            length = trial["stages"][stage]
            label = stage.replace("_", " ") if row == 0 else None
            ax.barh(row, length, 0.8, left=start, color=colour, label=label)
            start += length
    beside = [f"beside {t['background']}" if t["background"] else "alone" for t in trials]
    ax.set_yticks(range(len(trials)), beside)
    ax.set_ylim(len(trials) - 0.4, -0.6)
    ax.set_xlabel("ms since the question")
    ax.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False, fontsize=9)
    caption = (
        "Where the time until the first sound goes, trial by trial; beside how many other sessions "
        "is said at the left."
    )
    return [Picture(caption, _svg(figure))]


def load(result: Result) -> list[Picture]:
    """First sound by number of sessions, and its distributions."""
    runs = result["runs"]
    figure, (left, right) = _figure(2)
    for scheduler, colour in _SCHEDULERS.items():
        rows = [each for each in runs if each["scheduler"] == scheduler]
        if not rows:
            continue
        sessions = [each["sessions"] for each in rows]
        for name, style in (("p95", "-"), ("p50", ":")):
            values = [each["first_sound_ms"][name] for each in rows]
            label = f"{scheduler} {name}"
            left.plot(sessions, values, style, marker="o", color=colour, label=label)
        share = [each["on_time_share"] * 100 for each in rows]
        right.plot(sessions, share, "-", marker="o", color=colour, label=scheduler)
    counts, public = zip(*PUBLIC_LOAD.points.items(), strict=True)
    left.plot(counts, public, "--", color=_INK, linewidth=1, label="public sample p95*")
    left.axhline(500, color=_GRID, linewidth=1, zorder=0)
    sessions = sorted({each["sessions"] for each in runs})
    _counts(left, sorted({*sessions, 30, 60}))
    _counts(right, sessions)
    for ax in (left, right):
        ax.set_xlabel("sessions")
    left.set_yscale("log")
    _plain_numbers(left, "y")
    left.set_ylabel("first sound, ms (log)")
    right.set_ylabel("turns heard within 500 ms, %")
    right.set_ylim(0, 105)
    _legend(left)
    _legend(right)
    lines = Picture(
        "First sound of conversations under load, refused turns not counted at the left, but at "
        f"the right. A p95 is of {_between([each['first_sound_ms']['n'] for each in runs])} turns. "
        f"*{PUBLIC_LOAD.label}",
        _svg(figure),
    )
    return [lines, _distributions(runs)]


def _distributions(runs: Sequence[Result]) -> Picture:
    sessions = list(dict.fromkeys(each["sessions"] for each in runs))
    figure, axes = _figure(len(sessions), height=2.6)
    for ax, count in zip(axes, sessions, strict=True):
        for each in runs:
            if each["sessions"] == count:
                values = each["first_sounds_ms"]
                shares = [100 * (n + 1) / len(values) for n in range(len(values))]
                colour = _SCHEDULERS[each["scheduler"]]
                ax.step(values, shares, where="post", color=colour, label=each["scheduler"])
        ax.set_xscale("log")
        _plain_numbers(ax, "x", few=True)
        ax.set_ylim(0, 102)
        ax.set_title(_plural(count, "session"), fontsize=10)
        ax.set_xlabel("ms (log)")
    axes[0].set_ylabel("% of turns heard")
    _legend(axes[0], columns=2)
    return Picture("The same, as distributions.", _svg(figure))


def fleet(result: Result) -> list[Picture]:
    """The simulation beside the measurement."""
    from matplotlib.ticker import MaxNLocator

    figure, (left, right) = _figure(2)
    points, checks = result["instances"][0]["points"], result["checks"]
    sessions = [each["sessions"] for each in points]
    left.plot(sessions, [p["p95_ms"] for p in points], "-", color=OURS, label="p95 simulated")
    left.plot(sessions, [p["p50_ms"] for p in points], ":", color=OURS, label="p50 simulated")
    counts = [each["sessions"] for each in checks]
    for name, marker in (("p95_ms", "o"), ("p50_ms", "s")):
        values = [each["measured"][name] for each in checks]
        left.plot(counts, values, marker, color=MIDDLE, label=f"{name[:3]} measured")
    left.set_ylabel("first sound, ms")
    right.plot(sessions, [p["on_time"] * 100 for p in points], "-", color=OURS, label="simulated")
    measured = [each["measured"]["on_time"] * 100 for each in checks]
    right.plot(counts, measured, "o", color=MIDDLE, label="measured")
    right.axhline(95, color=_GRID, linewidth=1, zorder=0)
    for style, each in zip(("--", ":"), result["instances"][1:], strict=False):
        shares = [point["on_time"] * 100 for point in each["points"]]
        counts = [point["sessions"] for point in each["points"]]
        right.plot(counts, shares, style, color=PLAIN, label=f"{each['speed']:g} times as fast")
    right.set_ylabel("turns heard within 500 ms, %")
    right.set_ylim(0, 105)
    for ax in (left, right):
        ax.set_xlabel("conversations on one instance")
        ax.xaxis.set_major_locator(MaxNLocator(integer=True))
        _legend(ax, columns=2)
    turns = (
        _between([each["served"] for each in points]),
        _between([each["turns"]["measured"]["served"] for each in checks]),
    )
    caption = "One instance, simulated and measured; a p95 is of {} and of {} turns heard."
    return [Picture(caption.format(*turns), _svg(figure))]


def growth(result: Result) -> list[Picture]:
    """First sound, time and memory against length and age."""
    figure, (first, time, memory) = _figure(3, height=2.9)
    lengths, probes = result["lengths"], result["probes"]
    sentences = [each["sentences"] for each in lengths]
    values = [each["first_sound_ms"] for each in lengths]
    first.plot(sentences, values, "o-", color=OURS, label="of a text so long")
    ages = [max(1, each["age_sentences"]) for each in probes]
    medians = [each["first_sound_ms"]["median"] for each in probes]
    first.plot(ages, medians, "s:", color=MIDDLE, label="of a short one, so late")
    first.set_ylabel("first sound, ms")
    first.set_ylim(0, 1.35 * max(*values, *medians))
    _legend(first, columns=1)
    spoken = [each for each in lengths if "sentence_ms" in each]
    costs = [each["sentence_ms"] for each in spoken]
    time.plot([each["sentences"] for each in spoken], costs, "o-", color=OURS)
    time.set_ylabel("ms a sentence")
    time.set_ylim(0, 1.2 * max(costs))
    memory.plot(sentences, [each["memory_mb"] for each in lengths], "o-", color=OURS)
    memory.set_ylabel("memory of the server, MB")
    memory.set_ylim(0, 1.2 * max(each["memory_mb"] for each in lengths))
    for ax in (first, time, memory):
        ax.set_xscale("log")
        _plain_numbers(ax, "x", few=True)
        ax.set_xlabel("sentences")
    return [Picture("What happens as texts get longer and a session gets older.", _svg(figure))]


def latency(result: Result) -> list[Picture]:
    """First sound by length of the sentence, beside kokoro-onnx."""
    rows = result["sentences"]
    figure, (ax,) = _figure(1, height=2.8)
    names = (("peer_first_audio_ms", PLAIN, "kokoro-onnx"), ("first_sound_ms", OURS, "speakahead"))
    for number, (name, colour, label) in enumerate(names):
        places = [row + (number - 0.5) * 0.36 for row in range(len(rows))]
        ax.barh(places, [each[name] for each in rows], 0.34, color=colour, label=label)
    for row, each in enumerate(rows):
        ax.annotate(
            f"{each['ratio']:.1f}×",
            (each["peer_first_audio_ms"], row),
            xytext=(6, 0),
            textcoords="offset points",
            va="center",
            weight="bold",
            color=OURS,
        )
    ax.set_yticks(range(len(rows)), [f"{each['audio_s']:.1f} s of sound" for each in rows])
    ax.invert_yaxis()
    ax.set_xlabel("first sound, ms")
    _legend(ax)
    return [Picture("One sentence, on the same weights and voice.", _svg(figure))]


def agent(result: Result) -> list[Picture]:
    """First audible sample in the browser, by kind of reply and side."""
    groups = result["groups"]
    figure, (ax,) = _figure(1, height=1.6 + 0.42 * len(groups))
    shown: set[str] = set()
    for row, group in enumerate(groups):
        for number, (side, report) in enumerate(group["sides"].items()):
            place = row + (number - (len(group["sides"]) - 1) / 2) * 0.22
            colour = {"bidi": OURS, "batch": PLAIN}.get(side, MIDDLE)
            label = None if side in shown else side
            shown.add(side)
            heard = report["first_audible_ms"]
            ax.plot([heard["least"], heard["most"]], [place] * 2, "-", color=colour, alpha=0.4)
            ax.plot([heard["median"]], [place], "o", color=colour, markersize=6, label=label)
    ax.set_yticks(range(len(groups)), [f"{g['kind']}, {g['written']}" for g in groups])
    ax.set_ylim(len(groups) - 0.5, -0.5)
    ax.set_xlabel("ms from the request to the first audible sample (median, least to most)")
    _legend(ax)
    caption = "The agent in the browser, speaking ahead (bidi) and not (batch)."
    return [Picture(caption, _svg(figure))]


def peers(result: Result) -> list[Picture]:
    """First sound of each project, for text that is being written and for complete text."""
    sides = result["sides"]
    figure, (left, right) = _figure(2, height=1.6 + 0.36 * len(sides))
    for ax, name, label in (
        (left, "first_sound_ms", "text as it is written"),
        (right, "whole_text_ms", "text complete from the start"),
    ):
        for row, side in enumerate(sides):
            spread = side[name]
            ax.barh(row, spread["median"], 0.6, color=PLAIN if row else OURS)
            ax.plot([spread["least"], spread["most"]], [row] * 2, "-", color=_INK, linewidth=1)
        ax.set_yticks(range(len(sides)), [side["name"] for side in sides])
        ax.invert_yaxis()
        ax.set_title(label, fontsize=10)
        ax.set_xlabel("first sound, ms")
    return [Picture("The same weights, voice and text; bars are medians.", _svg(figure))]


# -- small things ------------------------------------------------------------------------------


def _figure(count: int, *, height: float = 3.2) -> tuple[Figure, list[Axes]]:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9.2, height), layout="constrained")
    axes = list(figure.subplots(1, count, squeeze=False)[0])
    for ax in axes:
        ax.grid(True, color=_GRID, linewidth=0.6)
        ax.set_axisbelow(True)
        ax.tick_params(colors=_INK, labelsize=9)
        for side in ("top", "right"):
            ax.spines[side].set_visible(False)
        for side in ("left", "bottom"):
            ax.spines[side].set_color(_GRID)
    return figure, axes


def _plain_numbers(ax: Axes, which: str, *, few: bool = False) -> None:
    """Numbers rather than powers on a logarithmic axis."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    axis = ax.xaxis if which == "x" else ax.yaxis
    axis.set_major_locator(LogLocator(10, subs=(1.0,) if few else (1.0, 2.0, 5.0), numticks=20))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
    axis.set_minor_formatter(NullFormatter())


def _counts(ax: Axes, counts: Sequence[int]) -> None:
    """A logarithmic axis with these numbers on it."""
    from matplotlib.ticker import NullLocator

    ax.set_xscale("log")
    ax.set_xticks(counts, [f"{count:,}" for count in counts])
    ax.xaxis.set_minor_locator(NullLocator())


def _legend(ax: Axes, columns: int = 3) -> None:
    """Below the axes, where it hides nothing."""
    ax.legend(
        loc="upper center",
        bbox_to_anchor=(0.5, -0.22),
        ncols=columns,
        frameon=False,
        fontsize=9,
        handlelength=1.6,
        columnspacing=1.2,
    )


def _between(counts: Sequence[int]) -> str:
    """As in "12 to 40"."""
    least, most = min(counts), max(counts)
    return f"{least:,}" if least == most else f"{least:,} to {most:,}"


def _plural(count: int, noun: str) -> str:
    return f"{count} {noun}" + ("" if count == 1 else "s")


def _svg(figure: Figure) -> str:
    import matplotlib

    # Text stays text, and the same figures give the same file.
    with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": "speakahead"}):
        file = io.StringIO()
        figure.savefig(file, format="svg", metadata={"Creator": None, "Date": None})
    return file.getvalue()
