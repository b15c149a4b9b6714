"""`speakahead models`: fetch and check the model's files."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

from speakahead import assets
from speakahead.assets.progress import ConsoleProgress
from speakahead.assets.pull import pull as fetch
from speakahead.assets.sources import source_named


def pull(source: str, target: Path | None) -> None:
    """Fetch the model and say where it lies."""
    directory = assets.target_directory(target)
    with ConsoleProgress() as progress:
        fetch(directory, source_named(source), progress)
    found = assets.open_directory(directory)
    voices = assets.Voices(found.path)
    _prepare(found)
    print(f"The model is in {found.path}: {found.weights.name}, {len(voices)} voices.")


def prepare(model: Path | None) -> None:
    """Prepare the parts of the model in use and say where they lie."""
    print(f"The parts are in {_prepare(assets.locate(model))}.")


def _prepare(model: assets.ModelDirectory) -> Path:
    from speakahead.kokoro.loading import prepare_parts

    bar = Progress(
        TextColumn("Preparing: {task.description}"),
        BarColumn(),
        TimeElapsedColumn(),
        console=Console(stderr=True),
    )
    with bar:
        task = bar.add_task("", total=1.0)
        return prepare_parts(
            model, lambda step, share: bar.update(task, description=step, completed=share)
        )


def calibrate(model: Path | None, names: list[str], target: Path | None, threads: int) -> None:
    """Calibrate voices and say where their files lie."""
    from speakahead.kokoro.loading import calibration_directory, load_windowed

    found = assets.locate(model)
    voices = assets.Voices(found.path)
    for name in names:
        voices.require(name)
    directory = target or calibration_directory()
    engine = load_windowed(found, voices, threads=threads, own=directory)
    chosen = names or list(voices.names)
    with Progress(console=Console(stderr=True)) as bar:
        for name in chosen:
            task = bar.add_task(name, total=1.0)
            engine.calibrate(name, partial(_show, bar, task))
    print(f"{len(chosen)} calibrated: {directory}.")


def _show(bar: Progress, task: TaskID, share: float) -> None:
    bar.update(task, completed=share)


def verify(model: Path | None) -> bool:
    """Check all sums; prints each problem."""
    directory = assets.locate(model).path
    problems = assets.verify(directory)
    for problem in problems:
        print(f"speakahead: {problem}", file=sys.stderr)
    if not problems:
        print(f"{directory}: all files are right.")
    return not problems
