"""`speakahead bench`: measure what the project claims."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, Any, Protocol

import typer

from speakahead.cli.parameters import Model, Threads

bench = typer.Typer(no_args_is_help=True, help="Measure what the project claims.")

Json = Annotated[bool, typer.Option("--json", help="As JSON.")]


class _Report(Protocol):
    def as_dict(self) -> dict[str, Any]: ...
    def table(self) -> str: ...


def _print(report: _Report, as_json: bool) -> None:
    print(json.dumps(report.as_dict(), indent=1) if as_json else report.table())


@contextlib.contextmanager
def _progress(what: str) -> Iterator[Callable[[float], None]]:
    """A progress bar on standard error; gives what is to be told the share that is done."""
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True)) as bar:
        task = bar.add_task(what, total=1.0)
        yield lambda share: bar.update(task, completed=share)


@bench.command()
def segmentation(
    data: Annotated[Path, typer.Option(help="Directory with *.jsonl test sets.")],
    json_output: Json = False,
) -> None:
    """Sentence segmentation of streamed text: exact matches and split invariance."""
    from speakahead.bench.segmentation import run

    report = run(data)
    _print(report, json_output)


@bench.command()
def latency(
    repeats: Annotated[int, typer.Option(min=1, help="Runs of each sentence and side.")] = 10,
    sentences: Annotated[
        int, typer.Option(min=0, help="Sentences played back to back for the late windows.")
    ] = 200,
    json_output: Json = False,
    model: Model = None,
    threads: Threads = 2,
) -> None:
    """Time to first sound and real-time factor, against kokoro-onnx in the same run."""
    from speakahead.bench.latency import run

    report = run(model, threads=threads, repeats=repeats, back_to_back=sentences)
    _print(report, json_output)


@bench.command()
def quality(
    limit: Annotated[int | None, typer.Option(min=1, help="Only so many of the 80 inputs.")] = None,
    save: Annotated[
        Path | None, typer.Option(help="Directory for the ten worst, as WAV and spectrogram.")
    ] = None,
    json_output: Json = False,
    model: Model = None,
    threads: Threads = 2,
) -> None:
    """Windowed decoding against the fp32 whole: word errors, DNSMOS, PLCMOS, level, joins."""
    from speakahead.assets import Voices, locate
    from speakahead.bench.quality import run
    from speakahead.bench.recognition import Recogniser
    from speakahead.kokoro.loading import load_windowed
    from speakahead.text.frontend import FrontEnd

    found = locate(model)
    engine = load_windowed(found, Voices(found.path), threads=threads)
    with _progress("Listening") as progress:
        report = run(engine, FrontEnd(), Recogniser(), limit=limit, save=save, progress=progress)
    _print(report, json_output)


@bench.command()
def load(
    sessions: Annotated[
        list[int] | None, typer.Option(min=1, help="Sessions at a time; may be repeated.")
    ] = None,
    seconds: Annotated[float, typer.Option(min=1, help="Seconds under each load.")] = 60.0,
    json_output: Json = False,
    model: Model = None,
    threads: Threads = 2,
    workers: Annotated[int, typer.Option(min=1, help="Windows decoded at a time.")] = 1,
) -> None:
    """Conversations against real servers: first sound, late frames, refusals."""
    from speakahead.bench.load import run

    options = ["--threads", str(threads), "--workers", str(workers)]
    report = run(sessions or [1, 4, 8], seconds=seconds, model=model, serve_options=options)
    _print(report, json_output)


@bench.command()
def interruption(
    cancels: Annotated[int, typer.Option(min=1, help="Interruptions.")] = 200,
    background: Annotated[
        int, typer.Option(min=0, help="Sessions that speak at the same time.")
    ] = 2,
    json_output: Json = False,
    model: Model = None,
) -> None:
    """Random interruptions of a real server: stale sound, words, time to the answer."""
    from speakahead.bench.interruption import run
    from speakahead.bench.process import server_process

    options = ["--model", str(model)] if model else []
    with _progress("Interrupting") as progress, server_process(options) as server:
        report = asyncio.run(
            run(server.url, cancels=cancels, background=background, progress=progress)
        )
    _print(report, json_output)


@bench.command()
def soak(
    minutes: Annotated[float, typer.Option(min=0.1, help="How long clients come.")] = 10.0,
    json_output: Json = False,
    model: Model = None,
) -> None:
    """Minutes of random clients against a real server: what piles up, what breaks."""
    from speakahead.bench.soak import run

    with _progress("Soaking") as progress:
        report = run(minutes, model=model, progress=progress)
    _print(report, json_output)


@bench.command()
def formats(
    limit: Annotated[int | None, typer.Option(min=1, help="Only so many of the 24 clips.")] = None,
    voice: Annotated[str, typer.Option(help="Who speaks them.")] = "af_heart",
    json_output: Json = False,
    model: Model = None,
    threads: Threads = 2,
) -> None:
    """Audio formats: bytes, also in base64, delay of the encoder, word errors after decoding."""
    from speakahead.bench.formats import run

    with _progress("Encoding") as progress:
        report = run(model, threads=threads, voice=voice, limit=limit, progress=progress)
    _print(report, json_output)
