"""How the benchmarks show what they do, and what came of it."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterator
from typing import Annotated, Any, Protocol

import typer

Json = Annotated[bool, typer.Option("--json", help="As JSON.")]


class Report(Protocol):
    """What a benchmark returns."""

    def as_dict(self) -> dict[str, Any]: ...
    def table(self) -> str: ...


def print_report(report: Report, as_json: bool) -> None:
    """On standard output, for people or for programs."""
    print(json.dumps(report.as_dict(), indent=1) if as_json else report.table())


@contextlib.contextmanager
def progress_bar(what: str) -> Iterator[Callable[[float], None]]:
    """A progress bar on standard error; gives what is to be told the share that is done."""
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True)) as bar:
        task = bar.add_task(what, total=1.0)
        yield lambda share: bar.update(task, completed=share)
