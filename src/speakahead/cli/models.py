"""`speakahead models`: fetch and check the model's files."""

from __future__ import annotations

import sys
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

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


def verify(model: Path | None) -> bool:
    """Check all sums; prints each problem."""
    directory = assets.locate(model).path
    problems = assets.verify(directory)
    for problem in problems:
        print(f"speakahead: {problem}", file=sys.stderr)
    if not problems:
        print(f"{directory}: all files are right.")
    return not problems
