"""`speakahead bench all` and `bench page`: everything in one run, and its page."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from speakahead.cli.parameters import Model, Threads
from speakahead.cli.reports import Json, print_report, progress_bar

if TYPE_CHECKING:
    import uvicorn

    from speakahead.backends.local import LocalBackend


def everything(
    only: Annotated[
        list[str] | None, typer.Option(help="Only this section; may be repeated.")
    ] = None,
    quick: Annotated[bool, typer.Option(help="Tiny sizes: does everything work?")] = False,
    output: Annotated[Path, typer.Option(help="Folder for the results.")] = Path("bench/results"),
    json_output: Json = False,
    model: Model = None,
    threads: Threads = 2,
) -> None:
    """Everything that the project claims: a result file, a page with pictures, and the table."""
    from speakahead.bench import proof
    from speakahead.bench.sections import Bench

    sections = proof.chosen(only or [])
    done = proof.run(
        Bench(door, model, threads, quick), output, sections=sections, watch=progress_bar
    )
    print_report(done, json_output)
    if not json_output:
        print(f"Results: {done.result_file}\nPage:    {done.page_file}")
    if done.failed:
        raise typer.Exit(1)


def page(
    results: Annotated[Path, typer.Argument(help="A result file of `bench all`.")],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="The page; beside the results if none.")
    ] = None,
) -> None:
    """The report page of a result file, again."""
    from speakahead.bench import page as pages
    from speakahead.bench import proof
    from speakahead.bench.sections import SECTIONS

    target = output or results.with_suffix(".html")
    target.write_text(pages.render(proof.read(results), SECTIONS), encoding="utf-8")
    print(target)


def door(backend: LocalBackend, port: int) -> uvicorn.Config:
    """The server as `speakahead serve` runs it, for a back end that is loaded."""
    from speakahead.cli.serve import configuration
    from speakahead.server.app import create_app
    from speakahead.server.settings import ServerSettings

    async def load() -> LocalBackend:
        return backend

    settings = ServerSettings()
    config = configuration(create_app(load, settings), settings, "127.0.0.1", port)
    logging.getLogger("uvicorn.error").setLevel(logging.WARNING)  # it would draw over the progress
    return config
