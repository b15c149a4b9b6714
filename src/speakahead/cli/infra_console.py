"""What `speech-infra` and `agent-infra` have in common: options, steps and errors."""

from __future__ import annotations

import functools
import inspect
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Annotated, Self

import typer
from rich.console import Console
from rich.status import Status
from rich.table import Table
from rich.text import Text

from speakahead.errors import SpeakaheadError
from speakahead.infra.settings import Build

Profile = Annotated[
    str | None,
    typer.Option(envvar="AWS_PROFILE", help="Profile of the AWS configuration."),
]
Region = Annotated[
    str | None,
    typer.Option(
        envvar=["AWS_REGION", "AWS_DEFAULT_REGION"], help="AWS region; else the profile's."
    ),
]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask before acting.")]
BuildWhere = Annotated[
    Build, typer.Option("--build", help="docker builds the image here, codebuild in the account.")
]
ImageUri = Annotated[
    str | None, typer.Option("--image", help="An image in Amazon ECR, instead of building one.")
]
Source = Annotated[
    Path | None,
    typer.Option(help="Checkout that images are built from; else the one this runs from."),
]
Output = Annotated[Path, typer.Option("--output", "-o", help="Directory for the cloud assembly.")]


class ConsoleSteps:
    """Long steps: a spinner with the time on a terminal, plain lines elsewhere.

    A context manager; a step ends with the next one, or with it. On standard error, so that a
    command's result can be piped.
    """

    def __init__(self, console: Console | None = None) -> None:
        self._console = console or Console(stderr=True)
        self._title = ""
        self._began_at = 0.0
        self._status: Status | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._end(good=kind is None)

    def begin(self, title: str) -> None:
        """A step begins, and the one before has ended."""
        self._end(good=True)
        self._title, self._began_at = title, time.monotonic()
        if self._console.is_terminal:
            self._status = self._console.status(title)
            self._status.start()
        else:
            self._print(f"{title} ...")

    def detail(self, text: str) -> None:
        """What is being done in it."""
        if self._status is None:
            self._print(f"  {text}")
            return
        room = max(20, self._console.width - len(self._title) - 20)
        seconds = int(time.monotonic() - self._began_at)
        line = text if len(text) <= room else text[: room - 1] + "…"
        clock = f"{seconds // 60}:{seconds % 60:02}"
        self._status.update(Text.assemble(f"{self._title} {clock} ", (line, "dim")))

    def _end(self, *, good: bool) -> None:
        if not self._title:
            return
        if self._status is not None:
            self._status.stop()
            self._status = None
        seconds = time.monotonic() - self._began_at
        self._print(f"{'✓' if good else '✗'} {self._title} ({seconds:.0f} s)")
        self._title = ""

    def _print(self, text: str) -> None:
        self._console.print(text, markup=False, highlight=False, soft_wrap=True)


def show_table(title: str, rows: dict[str, object], *, to_error: bool = False) -> None:
    """Two columns, for people."""
    table = Table(title=title, title_justify="left", show_header=False, box=None)
    table.add_column(style="bold")
    table.add_column(overflow="fold")
    for name, value in rows.items():
        table.add_row(Text(name), Text(str(value)))
    Console(stderr=to_error).print(table)


Command = Callable[..., None]


def with_settings[S](build: Callable[..., S]) -> Callable[[Command], Command]:
    """Give a command the options of ``build`` as well; it gets what that returns, as ``settings``.

    So that commands that are about the same settings have the same options.
    """

    def decorate(command: Command) -> Command:
        building = inspect.signature(build, eval_str=True)
        acting = inspect.signature(command, eval_str=True)
        own = [entry for entry in acting.parameters.values() if entry.name != "settings"]

        @functools.wraps(command)
        def run(**options: object) -> None:
            given = {name: options.pop(name) for name in building.parameters}
            command(settings=build(**given), **options)

        parameters = [*building.parameters.values(), *own]
        run.__signature__ = acting.replace(parameters=parameters)  # type: ignore[attr-defined]
        run.__annotations__ = {entry.name: entry.annotation for entry in parameters}
        del run.__wrapped__  # whose signature it no longer has
        return run

    return decorate


def confirm(question: str, *, yes: bool) -> None:
    """Go on only if the user says so.

    Raises:
        typer.Exit: they do not, or cannot be asked.
    """
    if yes:
        return
    if not sys.stdin.isatty():
        print("There is nobody to ask; give --yes to go on.", file=sys.stderr)
        raise typer.Exit(1)
    if not typer.confirm(question, err=True):
        raise typer.Exit(1)


def guarded(app: typer.Typer, name: str) -> Callable[[], None]:
    """The entry point of ``app``: a typed error is what it says, on standard error, and exit 1."""

    def main() -> None:
        try:
            app()
        except SpeakaheadError as error:
            print(f"{name}: {error.message}", file=sys.stderr)
            sys.exit(1)
        except ModuleNotFoundError as error:
            if (error.name or "").partition(".")[0] == "speakahead":
                raise
            print(
                f"{name}: this needs more packages: pip install 'speakahead[infra]'.",
                file=sys.stderr,
            )
            sys.exit(1)
        except KeyboardInterrupt:
            print(
                f"{name}: stopped. CloudFormation goes on with what it has begun: see `status`.",
                file=sys.stderr,
            )
            sys.exit(130)

    return main
