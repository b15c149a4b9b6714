"""Where the time goes: every stage between a question and the first sound that is heard.

A scripted model writes a reply, word by word; a client sends it over a real WebSocket to the real
door and plays the answer. Model, client, door and engine run in one process, and each stage is
measured where it happens:

==================  ===========================================================================
model_wait          the question is put, until the model writes its first word
sentence            until the word is written that completes the first sentence
network             that word's way to the door, and the first sound's way back
queue               waiting for the engine, and handing over between threads
phonemes            spoken form, phonemes and prosody of the first sentence
first_window        decoding the first window
encoding            samples to the frame that leaves
decode              the frame to samples
playback            until the first sample above -50 dBFS is played by an ideal loudspeaker
==================  ===========================================================================

Whoever does the work of a stage times it; waits (network, queue, and that of the sound for the
loudspeaker) run from one hand-over to the next. No reading is used twice and no stage is a
remainder, so a wrong reading shows, and time that is in no stage, or in two. The whole is what an
ear at the loudspeaker says, on a thread of its own; it knows when the question was put, and of no
stage. In every trial the stages must add up to it, to 5 ms. One in ten (one at least) may be
repeated, and is counted: on a shared machine the processor may be taken away between two readings.

A sum cannot show where two stages meet: were both readings of a hand-over at the wrong place, the
one stage would have the other's time. Frames are therefore known by what is in them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from speakahead.assets import Voices, locate
from speakahead.bench.figures import MeasurementFailed, Spread
from speakahead.bench.interruption import keep_speaking
from speakahead.bench.traced import STAGES, Door, Script, open_rig
from speakahead.kokoro.engine import Engine
from speakahead.kokoro.loading import load_engine
from speakahead.scheduling.jobs import PhonemeSource
from speakahead.text.frontend import FrontEnd
from speakahead.text.g2p.languages import warm

TOLERANCE_MS = 5.0
REPLIES = (
    "Yes, of course. Your parcel has left our warehouse and is on its way to you.",
    "Let me have a look at that. The train that you booked leaves from platform nine.",
    "I have found three hotels near the station. The first of them has a room for tonight.",
    "The museum that you asked about is open every day but Monday. Tickets are twelve dollars.",
)

_SLACK_S = 0.001


@dataclass(frozen=True, slots=True)
class Trial:
    """One reply; milliseconds. ``background``: how many other sessions spoke at the same time.

    ``whole_ms`` is the time from the question to the first sound heard, as the ear says;
    ``unaccounted_ms`` is what the stages leave of it, negative where they claim more than it.
    """

    background: int
    stages: dict[str, float]
    whole_ms: float
    unaccounted_ms: float


@dataclass(frozen=True, slots=True)
class Report:
    """All trials, and how many were repeated because their stages did not add up."""

    trials: list[Trial]
    script: Script
    repeated: int = 0

    def as_dict(self) -> dict[str, Any]:
        return {
            "script": asdict(self.script),
            "tolerance_ms": TOLERANCE_MS,
            "repeated": self.repeated,
            "summary": {
                str(background): {
                    "trials": len(trials),
                    "stages": {
                        stage: Spread.of([t.stages[stage] for t in trials], digits=2).as_dict()
                        for stage in STAGES
                    },
                    "whole": Spread.of([t.whole_ms for t in trials]).as_dict(),
                    "most_unaccounted_ms": max(abs(t.unaccounted_ms) for t in trials),
                }
                for background, trials in self._groups().items()
            },
            "trials": [asdict(trial) for trial in self.trials],
        }

    def table(self) -> str:
        """The report for people."""
        groups = self._groups()
        lines = [
            f"model: first word after {self.script.wait_s * 1000:.0f} ms, then "
            f"{self.script.words_per_second:g} words a second; medians in ms (least-most)",
            f"{'stage':<14}" + "".join(f"{f'{n} other sessions':>28}" for n in groups),
        ]
        for stage in (*STAGES, "whole"):
            cells = []
            for trials in groups.values():
                values = [t.whole_ms if stage == "whole" else t.stages[stage] for t in trials]
                spread = Spread.of(values)
                cells.append(f"{spread.median:,.1f} ({spread.least:,.1f}-{spread.most:,.1f})")
            lines.append(f"{stage:<14}" + "".join(f"{cell:>28}" for cell in cells))
        most = max(abs(trial.unaccounted_ms) for trial in self.trials)
        lines.append(
            f"{len(self.trials)} trials: the stages add up to the whole to {most:.2f} ms "
            f"(wanted: {TOLERANCE_MS:g} ms); {self.repeated} that did not were repeated"
        )
        return "\n".join(lines)

    def _groups(self) -> dict[int, list[Trial]]:
        groups: dict[int, list[Trial]] = {}
        for trial in self.trials:
            groups.setdefault(trial.background, []).append(trial)
        return groups


def run(
    door: Door,
    model: Path | None = None,
    *,
    threads: int = 2,
    trials: int = 10,
    background: Sequence[int] = (0, 1),
    script: Script | None = None,
    progress: Callable[[float], None] = lambda share: None,
) -> Report:
    """Measure with the model.

    Args:
        door: the server's application; the layers above have it.
        model: model directory; found by itself by default.
        threads: threads of one inference.
        trials: for each number of other sessions.
        background: numbers of other sessions that speak at the same time.
        script: how the model writes.
        progress: told the share that is done, 0 to 1.

    Raises:
        ModelError: there is no model.
        MeasurementFailed: see ``measure``.
    """
    found = locate(model)
    voices = Voices(found.path)
    warm("en-us")
    engine = load_engine(found, voices, threads=threads)
    engine.warm()
    return asyncio.run(
        measure(
            engine,
            FrontEnd(),
            voices,
            door,
            trials=trials,
            background=background,
            script=script or Script(),
            progress=progress,
        )
    )


async def measure(
    engine: Engine[Any],
    text: PhonemeSource,
    voices: Voices,
    door: Door,
    *,
    trials: int,
    background: Sequence[int] = (0,),
    script: Script,
    replies: Sequence[str] = REPLIES,
    progress: Callable[[float], None] = lambda share: None,
) -> Report:
    """Measure with any engine, which is warm; see ``run``.

    Raises:
        MeasurementFailed: the stages of more than one trial, and than one in ten, do not add up, or
            one was not seen.
    """
    done: list[Trial] = []
    repeated, most = 0, max(1, trials * len(background) // 10)
    async with open_rig(engine, text, voices, door) as rig:
        for others in background:
            speaking = [asyncio.create_task(keep_speaking(rig.backend, n)) for n in range(others)]
            try:
                await rig.trial("warm-up", replies[0], script)
                number = 0
                while number < trials:
                    name = f"trial-{others}-{number}-{repeated}"
                    traced = await rig.trial(name, replies[number % len(replies)], script)
                    try:
                        done.append(checked(others, traced.stages, traced.whole_s))
                    except MeasurementFailed:
                        repeated += 1
                        if repeated > most:
                            raise
                        continue
                    number += 1
                    progress(len(done) / (trials * len(background)))
            finally:
                for task in speaking:
                    task.cancel()
                await asyncio.gather(*speaking, return_exceptions=True)
    return Report(done, script, repeated)


def checked(background: int, stages: Mapping[str, float], whole_s: float) -> Trial:
    """A trial, if its stages, in seconds, add up to the whole.

    Raises:
        MeasurementFailed: they do not, or one of them ends before it begins.
    """
    unaccounted_ms = (whole_s - sum(stages.values())) * 1000
    if abs(unaccounted_ms) > TOLERANCE_MS:
        raise MeasurementFailed(
            f"The stages of a trial do not add up: {unaccounted_ms:.1f} ms of the whole are "
            "unaccounted for."
        )
    for stage, seconds in stages.items():
        if seconds < -_SLACK_S:
            raise MeasurementFailed(f"A stage ended before it began: {stage}.")
    return Trial(
        background,
        {stage: round(seconds * 1000, 3) for stage, seconds in stages.items()},
        round(whole_s * 1000, 3),
        round(unaccounted_ms, 3),
    )
