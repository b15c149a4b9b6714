"""What `speakahead bench all` measures: one entry of ``SECTIONS`` for each question.

To add one: write ``measure``, which returns a report (``as_dict`` for JSON, ``table`` for people),
and add a line. ``pictures`` and ``claims`` read the result as it is in the JSON file, so that a
page can be made of an old file.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from speakahead.bench import claims, pictures
from speakahead.bench.claims import Claim
from speakahead.bench.figures import MeasurementFailed
from speakahead.bench.pictures import Picture
from speakahead.bench.traced import Door

type Result = Mapping[str, Any]
type Progress = Callable[[float], None]


class Report(Protocol):
    """What a measurement returns."""

    def as_dict(self) -> dict[str, Any]: ...

    def table(self) -> str: ...


@dataclass(frozen=True, slots=True)
class Bench:
    """What a section has to work with.

    Attributes:
        door: the server's application.
        model: model directory; None: the usual one.
        threads: threads of one inference.
        quick: tiny sizes, which show that everything works and say little.
        results: of the sections before, by name.
        progress: told the share that is done, 0 to 1.
    """

    door: Door
    model: Path | None
    threads: int
    quick: bool
    results: Mapping[str, Result] = field(default_factory=dict)
    progress: Progress = lambda share: None

    @property
    def serve_options(self) -> list[str]:
        """Options for server processes."""
        return ["--threads", str(self.threads)]


@dataclass(frozen=True, slots=True)
class Section:
    """One question.

    Attributes:
        name: also that of the command that answers it alone.
        title: for the page.
        about: how it is measured, in a few sentences.
        measure: returns the report.
        claims: what is wanted of the result.
        pictures: of the result.
        command: how to run it alone.
    """

    name: str
    title: str
    about: str
    measure: Callable[[Bench], Report]
    claims: Callable[[Result], list[Claim]] = lambda result: []
    pictures: Callable[[Result], list[Picture]] = lambda result: []

    @property
    def command(self) -> str:
        return f"speakahead bench {self.name}"


# -- measurements ------------------------------------------------------------------------------


def _latency(bench: Bench) -> Report:
    from speakahead.bench.latency import run

    repeats, sentences = (1, 3) if bench.quick else (2, 6)
    return run(bench.model, threads=bench.threads, repeats=repeats, back_to_back=sentences)


def _hop(bench: Bench) -> Report:
    from speakahead.bench.hop import TRANSPORTS, run

    return run(
        transports=TRANSPORTS,
        # `bench hop` has all sizes.
        sizes=(1, 2) if bench.quick else (5,),
        trials=1 if bench.quick else 10,
        model=bench.model,
        serve_options=bench.serve_options,
        progress=bench.progress,
    )


def _attribution(bench: Bench) -> Report:
    from speakahead.bench.attribution import run

    return run(
        bench.door,
        bench.model,
        threads=bench.threads,
        trials=1 if bench.quick else 10,
        progress=bench.progress,
    )


def _load(bench: Bench) -> Report:
    from speakahead.bench.load import ServerOptions, run

    return run(
        (1, 2) if bench.quick else (1, 2, 4, 8, 16),
        seconds=10 if bench.quick else 20,
        rounds=1,
        model=bench.model,
        options=ServerOptions(threads=bench.threads),
        progress=bench.progress,
    )


def _fleet(bench: Bench) -> Report:
    from speakahead.bench.fleet import run

    if "load" not in bench.results:
        raise MeasurementFailed("The simulation needs the measured loads, which failed.")
    return run(
        bench.results["load"]["runs"],
        model=bench.model,
        threads=bench.threads,
        repeats=1,
        seconds=200 if bench.quick else 4000,
        progress=bench.progress,
    )


def _growth(bench: Bench) -> Report:
    from speakahead.bench.growth import LENGTHS, run

    return run(
        (1, 2, 4, 20) if bench.quick else LENGTHS,
        spoken_up_to=4 if bench.quick else 10,
        probes=1 if bench.quick else 5,
        model=bench.model,
        serve_options=bench.serve_options,
        progress=bench.progress,
    )


def _agent(bench: Bench) -> Report:
    from speakahead.bench.agent_race import KINDS, LONG, SHORT, measure

    # `bench agent` has all kinds at all rates.
    return measure(
        kinds={40.0: [SHORT]} if bench.quick else {20.0: [LONG], 40.0: KINDS, 80.0: [LONG]},
        at_once=not bench.quick,
        repeats=1 if bench.quick else 2,
        model=bench.model,
        progress=bench.progress,
    )


def _peers(bench: Bench) -> Report:
    from speakahead.bench.peers.comparison import SHORT_REPLY, measure

    # `bench peers` has a longer reply, and more of it.
    return measure(
        repeats=1 if bench.quick else 2,
        cold_starts=1,
        reply=SHORT_REPLY,
        model=bench.model,
        progress=bench.progress,
    )


SECTIONS: tuple[Section, ...] = (
    Section(
        "hop",
        "The isolated hop",
        "The same reply, complete from the start, in one message to a server that decodes whole "
        "sentences and counted when all its sound is there (whole); sentence by sentence to that "
        "server (sentences); and sentence by sentence to a server as it runs by default (windows). "
        "From the first byte sent to the first sound above -50 dBFS, over an open connection. "
        "`sagemaker` is the real SDK client through the local endpoint.",
        _hop,
        claims.hop,
        pictures.hop,
    ),
    Section(
        "attribution",
        "Where the time goes",
        "A scripted model writes, a client sends its words to the real door over a real WebSocket "
        "and plays what comes back on an ideal loudspeaker. Each stage is timed where it "
        "happens, and no reading is used twice; the whole is what an ear at the loudspeaker says "
        "that knows nothing of them.",
        _attribution,
        claims.attribution,
        pictures.attribution,
    ),
    Section(
        "agent",
        "The agent, in a browser",
        "A scripted model writes replies to the agent's page in headless Chromium; the page "
        "measures the first sample that is heard. Each reply is asked for in both modes, in turn. "
        "Where the text is complete from the start, nothing can be won by waiting less; what "
        "windows still win is seen beside a server that decodes whole sentences.",
        _agent,
        claims.agent,
        pictures.agent,
    ),
    Section(
        "peers",
        "Beside others, on the same weights and voice",
        "Each project in an environment of its own, driven through its own documented interface "
        "with the same text, as a model writes it. Projects that cannot run here are listed with "
        "the reason.",
        _peers,
        claims.peers,
        pictures.peers,
    ),
    Section(
        "load",
        "Conversations under load",
        "Sessions take turns of two to four sentences with pauses of one to three seconds. Two "
        "server processes, one under load at a time, who is first in turn: the deadline scheduler "
        "with windows, and whole sentences first in, first out, which refuses nobody. So beside a "
        "p95 is how many turns were heard of those asked for. The clients share this machine's "
        "cores.",
        _load,
        claims.load,
        pictures.load,
    ),
    Section(
        "fleet",
        "How many instances",
        "The scheduler's rules with measured costs, and the patience of the measured loads above, "
        "in simulated time, beside those loads. An instance is a machine like this one.",
        _fleet,
        claims.fleet,
        pictures.fleet,
    ),
    Section(
        "growth",
        "Growth",
        "One session speaks texts of more and more sentences, and a short utterance between them. "
        "The longest texts are interrupted after their first sound.",
        _growth,
        claims.growth,
        pictures.growth,
    ),
    Section(
        "latency",
        "One sentence, against kokoro-onnx",
        "Both engines in one process, on the same phonemes, int8 weights and voice; their runs "
        "alternate, and who is first changes.",
        _latency,
        claims.latency,
        pictures.latency,
    ),
)
