"""What speaking ahead is worth in a deployed agent, as a browser hears it.

A scripted model writes replies at a constant rate to the agent's page in headless Chromium; the
agent speaks through a `speakahead serve` in another process, over protocol 2. Each reply is asked
for in mode ``bidi`` and in mode ``batch``, in turn and within one run: everything but the mode is
equal. The page's own time line is read: the first byte of sound, and the first audible sample as
it leaves the output, both from the moment the request is sent.

One group has its text complete from the start. There nothing can be won by waiting less, so the two
modes should be equal; what windowed decoding still wins is seen beside a server that decodes whole
sentences.
"""

from __future__ import annotations

import contextlib
import json
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from speakahead.bench.browser import Heard, agent_process, ask, find_chromium, open_page
from speakahead.bench.figures import Spread, rounded
from speakahead.bench.process import server_process

MODES = ("bidi", "batch")
AT_ONCE = 1e6
"""Tokens per second of a text that is as good as complete from the start."""
_WRITTEN_AT_ONCE = "at once"


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of reply.

    Attributes:
        name: as in the report.
        steps: of the script that the model follows, in the form of `speakahead agent`'s files.
    """

    name: str
    steps: tuple[tuple[dict[str, Any], ...], ...]

    @property
    def text(self) -> str:
        """All that is said."""
        return "".join(part.get("say", "") for step in self.steps for part in step)


SHORT = Kind("short", (({"say": "Yes, the shop is open. It closes at eight."},),))
LONG = Kind(
    "long",
    (
        (
            {
                "say": "A heat pump works like a fridge in reverse. It takes warmth from the cold "
                "air outside, raises its temperature with a compressor, and gives it to the water "
                "of your heating. For every unit of electricity it moves three or four units of "
                "heat. In a well insulated house that is enough even on frosty days."
            },
        ),
    ),
)
TOOL = Kind(
    "tool",
    (
        (
            {"say": "Let me look that up for you."},
            {"call": "order_status", "arguments": {"order_number": "1042"}},
        ),
        (
            {"pause_s": 0.6},
            {"say": " It was shipped on Monday, and it should be with you on Thursday."},
        ),
    ),
)
"""The tool takes 0.4 s, and the model thinks about its result for 0.6 s."""
KINDS = (SHORT, LONG, TOOL)
RATES = (20.0, 40.0, 80.0)
"""Tokens per second."""


@dataclass(frozen=True, slots=True)
class SideReport:
    """One way to answer; milliseconds since the request was sent."""

    first_byte_ms: Spread
    first_audible_ms: Spread
    text_complete_ms: Spread


@dataclass(frozen=True, slots=True)
class Group:
    """One kind of reply at one rate.

    Attributes:
        kind: of reply.
        written: "20 tokens/s", for example, or "at once".
        sides: by name: ``bidi`` and ``batch``; where the text is complete from the start also
            ``whole sentences``, which is ``bidi`` with a server that does not decode in windows.
        values: first audible samples of all trials by side, in their order.
        ratios: median of ``batch`` divided by that of ``bidi``, at the first byte and the first
            audible sample; likewise of ``whole sentences``.
    """

    kind: str
    written: str
    sides: dict[str, SideReport]
    values: dict[str, list[float]]
    ratios: dict[str, float]


@dataclass(frozen=True, slots=True)
class Report:
    groups: list[Group]
    repeats: int
    browser: str

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)

    def table(self) -> str:
        """The report for people."""
        lines = [
            f"{self.browser}; ms from the request: median (least-most) of {self.repeats}",
            f"{'reply':7}{'written':>13}  {'side':16}{'text complete':>14}"
            f"{'first byte':>20}{'first audible':>20}",
        ]
        for group in self.groups:
            lines += [
                f"{group.kind:7}{group.written:>13}  {name:16}{side.text_complete_ms.median:>14.0f}"
                f"{_range(side.first_byte_ms):>20}{_range(side.first_audible_ms):>20}"
                for name, side in group.sides.items()
            ]
            lines.append(
                f"{'':22}" + ", ".join(f"{name} x{r:.2f}" for name, r in group.ratios.items())
            )
        if any(group.written == _WRITTEN_AT_ONCE for group in self.groups):
            lines.append(
                "Where the text is complete from the start nothing is won by waiting less; what is "
                "won there beside whole sentences is the work of windowed decoding."
            )
        return "\n".join(lines)


def _range(spread: Spread) -> str:
    return f"{spread.median:.0f} ({spread.least:.0f}-{spread.most:.0f})"


@dataclass(slots=True)
class _Side:
    """Where one side of a group is asked, and what was heard.

    ``settle`` waits until its server has nothing to do.
    """

    group: str
    name: str
    kind: Kind
    rate: float
    url: str
    mode: str
    settle: Callable[[], None]
    heard: list[Heard] = field(default_factory=list)


def measure(
    *,
    kinds: Mapping[float, Sequence[Kind]] | None = None,
    at_once: bool = True,
    repeats: int = 3,
    model: Path | None = None,
    browser: Path | None = None,
    progress: Callable[[float], None] = lambda share: None,
) -> Report:
    """Race.

    Args:
        kinds: of replies, for each rate in tokens per second; by default all kinds at all
            ``RATES``.
        at_once: also measure the long reply with its text complete from the start.
        repeats: turns of each side, at least 1.
        model: the server's model directory.
        browser: a Chromium; by default the one on the path.
        progress: told the share that is done, 0 to 1.

    Raises:
        InvalidRequest: there is no browser, or the extra `browser` is not installed.
        ConnectionFailed: a server or an agent did not start.
        MeasurementFailed: a turn was not heard.
    """
    chromium = find_chromium(browser)
    options = [] if model is None else ["--model", str(model)]
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        speech = stack.enter_context(server_process(options))
        sides: list[_Side] = []
        for rate, replies in (kinds or dict.fromkeys(RATES, KINDS)).items():
            script = _script(folder / f"{rate}.json", replies, sides=len(MODES))
            url = stack.enter_context(agent_process(script, rate, speech.url))
            sides += [
                _Side(f"{kind.name} {rate}", mode, kind, rate, url, mode, speech.settle)
                for kind in replies
                for mode in MODES
            ]
        if at_once:
            whole = stack.enter_context(server_process([*options, "--scheduler", "fifo"]))
            script = _script(folder / "at-once.json", [LONG], sides=1)
            url = stack.enter_context(agent_process(script, AT_ONCE, speech.url))
            slow = stack.enter_context(agent_process(script, AT_ONCE, whole.url))
            sides += [
                _Side("at once", mode, LONG, AT_ONCE, url, mode, speech.settle) for mode in MODES
            ]
            sides.append(
                _Side("at once", "whole sentences", LONG, AT_ONCE, slow, "bidi", whole.settle)
            )
        with open_page(chromium) as (page, version):
            for turn in range(repeats + 1):  # the first one warms all of them up
                for number, side in enumerate(_in_turn(sides, turn)):
                    heard = ask(page, side.url, side.mode, side.kind.text)
                    side.settle()  # or the next one would wait for this one's last window
                    if turn:
                        side.heard.append(heard)
                    progress((turn + (number + 1) / len(sides)) / (repeats + 1))
    return Report(_groups(sides), repeats, version)


def _in_turn(sides: list[_Side], turn: int) -> list[_Side]:
    """The order of one round: the sides of each group change places every time.

    Groups stay in order, because a script's replies come one after the other.
    """
    names = list(dict.fromkeys(side.group for side in sides))
    ordered: list[_Side] = []
    for name in names:
        group = [side for side in sides if side.group == name]
        ordered += group if turn % 2 == 0 else group[::-1]
    return ordered


def _groups(sides: list[_Side]) -> list[Group]:
    groups = []
    for name in dict.fromkeys(side.group for side in sides):
        members = {side.name: side for side in sides if side.group == name}
        reports = {
            name: SideReport(
                first_byte_ms=Spread.of([h.first_byte_ms for h in side.heard]),
                first_audible_ms=Spread.of([h.first_audible_ms for h in side.heard]),
                text_complete_ms=Spread.of([h.text_complete_ms for h in side.heard]),
            )
            for name, side in members.items()
        }
        values = {
            name: rounded([h.first_audible_ms for h in side.heard])
            for name, side in members.items()
        }
        first = members["bidi"]
        at_once = first.rate == AT_ONCE
        written = _WRITTEN_AT_ONCE if at_once else f"{first.rate:g} tokens/s"
        groups.append(Group(first.kind.name, written, reports, values, _ratios(reports)))
    return groups


def _ratios(reports: dict[str, SideReport]) -> dict[str, float]:
    """How many times longer it takes until something is heard without speaking ahead."""
    ours = reports["bidi"]
    ratios = {}
    for name, report in reports.items():
        if report is ours:
            continue
        byte = report.first_byte_ms.median / ours.first_byte_ms.median
        audible = report.first_audible_ms.median / ours.first_audible_ms.median
        ratios[f"{name}, first byte"] = round(byte, 2)
        ratios[f"{name}, first audible"] = round(audible, 2)
    return ratios


def _script(path: Path, kinds: Sequence[Kind], *, sides: int) -> Path:
    """Each kind's reply as often as there are sides that ask for it in a round."""
    steps = [step for kind in kinds for _ in range(sides) for step in kind.steps]
    path.write_text(json.dumps({"steps": steps}))
    return path
