"""`speakahead bench`: what needs a model and a progress bar to measure."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console
from rich.progress import Progress

from speakahead.assets import Voices, locate
from speakahead.bench import quality as benchmark
from speakahead.bench.recognition import Recogniser
from speakahead.kokoro.loading import load_windowed
from speakahead.text.frontend import FrontEnd


def quality(
    model: Path | None, threads: int, limit: int | None, save: Path | None
) -> benchmark.Report:
    """Run the quality benchmark with a progress bar on standard error."""
    found = locate(model)
    engine = load_windowed(found, Voices(found.path), threads=threads)
    recogniser = Recogniser()
    with Progress(console=Console(stderr=True)) as bar:
        task = bar.add_task("Listening", total=1.0)
        return benchmark.run(
            engine,
            FrontEnd(),
            recogniser,
            limit=limit,
            save=save,
            progress=lambda share: bar.update(task, completed=share),
        )
