"""`speakahead bench`: measure what the project claims."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Annotated

import typer

from speakahead.cli import proving
from speakahead.cli.parameters import Model, Threads
from speakahead.cli.reports import Json, print_report, progress_bar

bench = typer.Typer(no_args_is_help=True, help="Measure what the project claims.")


@bench.command()
def segmentation(
    data: Annotated[Path, typer.Option(help="Directory with *.jsonl test sets.")],
    json_output: Json = False,
) -> None:
    """Sentence segmentation of streamed text: exact matches and split invariance."""
    from speakahead.bench.segmentation import run

    report = run(data)
    print_report(report, json_output)


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
    print_report(report, json_output)


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
    with progress_bar("Listening") as progress:
        report = run(engine, FrontEnd(), Recogniser(), limit=limit, save=save, progress=progress)
    print_report(report, json_output)


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
    patience: Annotated[
        float, typer.Option(min=0, help="Seconds that an utterance waits before it is refused.")
    ] = 5.0,
) -> None:
    """Conversations against real servers: first sound, gaps, refusals."""
    from speakahead.bench.load import ServerOptions, run

    with progress_bar("Conversing") as progress:
        report = run(
            sessions or [1, 2, 4, 8, 16],
            seconds=seconds,
            model=model,
            options=ServerOptions(patience, workers, threads),
            progress=progress,
        )
    print_report(report, json_output)


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
    with progress_bar("Interrupting") as progress, server_process(options) as server:
        report = asyncio.run(
            run(server.url, cancels=cancels, background=background, progress=progress)
        )
    print_report(report, json_output)


@bench.command()
def soak(
    minutes: Annotated[float, typer.Option(min=0.1, help="How long clients come.")] = 10.0,
    json_output: Json = False,
    model: Model = None,
) -> None:
    """Minutes of random clients against a real server: what piles up, what breaks."""
    from speakahead.bench.soak import run

    with progress_bar("Soaking") as progress:
        report = run(minutes, model=model, progress=progress)
    print_report(report, json_output)


@bench.command()
def fuzz(
    messages: Annotated[int, typer.Option(min=1, help="How many.")] = 20_000,
    seed: Annotated[int, typer.Option(help="The same seed sends the same messages.")] = 1,
    json_output: Json = False,
    model: Model = None,
) -> None:
    """Nonsensical messages against a real server: is each answered, does anything break."""
    from speakahead.bench.fuzz import run

    with progress_bar("Fuzzing") as progress:
        report = run(messages, seed=seed, model=model, progress=progress)
    print_report(report, json_output)


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

    with progress_bar("Encoding") as progress:
        report = run(model, threads=threads, voice=voice, limit=limit, progress=progress)
    print_report(report, json_output)


@bench.command()
def hop(
    transport: Annotated[
        list[str] | None, typer.Option(help="websocket, sagemaker; may be repeated. Both if none.")
    ] = None,
    sentences: Annotated[
        list[int] | None, typer.Option(min=1, max=8, help="Length of the reply; may be repeated.")
    ] = None,
    trials: Annotated[int, typer.Option(min=1, help="Trials of each side and length.")] = 10,
    json_output: Json = False,
    model: Model = None,
    threads: Threads = 2,
) -> None:
    """The same reply sent whole, and sentence by sentence: first sound at the client."""
    from speakahead.bench.hop import SIZES, TRANSPORTS, run

    with progress_bar("Speaking") as progress:
        report = run(
            transports=transport or TRANSPORTS,
            sizes=sentences or SIZES,
            trials=trials,
            model=model,
            serve_options=["--threads", str(threads)],
            progress=progress,
        )
    print_report(report, json_output)


@bench.command()
def attribution(
    trials: Annotated[int, typer.Option(min=1, help="Trials beside so many sessions.")] = 10,
    background: Annotated[
        list[int] | None,
        typer.Option(min=0, help="Sessions that speak at the same time; may be repeated."),
    ] = None,
    wait: Annotated[float, typer.Option(min=0, help="Seconds to the model's first word.")] = 0.25,
    rate: Annotated[float, typer.Option(min=0.1, help="Words a second that it writes.")] = 20.0,
    json_output: Json = False,
    model: Model = None,
    threads: Threads = 2,
) -> None:
    """Where the time from a question to the first sound goes; the stages add up to the whole."""
    from speakahead.bench.attribution import run
    from speakahead.bench.traced import Script

    with progress_bar("Asking") as progress:
        report = run(
            proving.door,
            model,
            threads=threads,
            trials=trials,
            background=background or [0, 1],
            script=Script(wait, rate),
            progress=progress,
        )
    print_report(report, json_output)


@bench.command()
def growth(
    sentences: Annotated[
        list[int] | None, typer.Option(min=1, help="Length of a text; twice or more, rising.")
    ] = None,
    spoken_up_to: Annotated[
        int, typer.Option(min=1, help="Longer texts are interrupted after their first sound.")
    ] = 50,
    probes: Annotated[int, typer.Option(min=1, help="Short utterances at each age.")] = 5,
    json_output: Json = False,
    model: Model = None,
    threads: Threads = 2,
) -> None:
    """Time and memory against the length of a text and the age of a session."""
    from speakahead.bench.growth import LENGTHS, run

    with progress_bar("Speaking") as progress:
        report = run(
            sentences or LENGTHS,
            spoken_up_to=spoken_up_to,
            probes=probes,
            model=model,
            serve_options=["--threads", str(threads)],
            progress=progress,
        )
    print_report(report, json_output)


@bench.command()
def fleet(
    measured: Annotated[
        Path | None,
        typer.Option(help="Loads: what `bench load --json` or `bench all` wrote. Else measured."),
    ] = None,
    conversations: Annotated[
        list[int] | None, typer.Option(min=1, help="Conversations at a time; may be repeated.")
    ] = None,
    json_output: Json = False,
    model: Model = None,
    threads: Threads = 2,
) -> None:
    """How many instances many conversations need: measured costs, simulated scheduling."""
    from speakahead.bench import load as loads
    from speakahead.bench import proof
    from speakahead.bench.fleet import CONVERSATIONS, run

    if measured is not None:
        runs = proof.read_loads(measured)
    else:
        with progress_bar("Conversing") as progress:
            runs = loads.run(
                [1, 2, 4, 8],
                schedulers=["deadline"],
                model=model,
                options=loads.ServerOptions(threads=threads),
                progress=progress,
            ).as_dict()["runs"]
    with progress_bar("Decoding") as progress:
        report = run(
            runs,
            model=model,
            threads=threads,
            conversations=conversations or CONVERSATIONS,
            progress=progress,
        )
    print_report(report, json_output)


@bench.command()
def agent(
    rate: Annotated[
        list[float] | None, typer.Option(min=1, help="Tokens a second; may be repeated.")
    ] = None,
    repeats: Annotated[int, typer.Option(min=1, help="Turns of each side.")] = 3,
    browser: Annotated[Path | None, typer.Option(help="A Chromium, if not the usual one.")] = None,
    json_output: Json = False,
    model: Model = None,
) -> None:
    """The agent's page in a browser: speaking ahead against batch, at the first audible sample."""
    from speakahead.bench.agent_race import KINDS, RATES, measure

    with progress_bar("Racing") as progress:
        report = measure(
            kinds=dict.fromkeys(rate or RATES, KINDS),
            repeats=repeats,
            model=model,
            browser=browser,
            progress=progress,
        )
    print_report(report, json_output)


@bench.command()
def peers(
    rate: Annotated[float, typer.Option(min=1, help="Tokens a second.")] = 40.0,
    repeats: Annotated[int, typer.Option(min=1, help="Replies of each kind and side.")] = 5,
    cold_starts: Annotated[int, typer.Option(min=1, help="Starts of each side.")] = 5,
    json_output: Json = False,
    model: Model = None,
) -> None:
    """Other projects on the same weights and voice, each in an environment of its own."""
    from speakahead.bench.peers.comparison import measure

    with progress_bar("Comparing") as progress:
        report = measure(
            tokens_per_second=rate,
            repeats=repeats,
            cold_starts=cold_starts,
            model=model,
            progress=progress,
        )
    print_report(report, json_output)


bench.command(name="all")(proving.everything)
bench.command()(proving.page)
