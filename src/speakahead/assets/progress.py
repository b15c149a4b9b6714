"""What a pull tells its caller while it works, and how a terminal shows it."""

from __future__ import annotations

from types import TracebackType
from typing import Protocol, Self

from rich.console import Console
from rich.progress import (
    BarColumn,
    DownloadColumn,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
)
from rich.progress import Progress as RichProgress


class Progress(Protocol):
    """Receives a pull's progress; called from the pulling thread only."""

    def start(self, total_bytes: int) -> None:
        """The files still to come have this many bytes together, as far as known."""

    def describe(self, activity: str) -> None:
        """What is being done from now on, as a short phrase."""

    def advance(self, count: int) -> None:
        """``count`` more bytes have arrived and are verified or about to be."""


class SilentProgress:
    """Shows nothing."""

    def start(self, total_bytes: int) -> None:
        pass

    def describe(self, activity: str) -> None:
        pass

    def advance(self, count: int) -> None:
        pass


class ConsoleProgress:
    """A progress bar on a terminal; elsewhere one plain line for each activity.

    A context manager: the bar is drawn while it is entered.
    """

    def __init__(self, console: Console | None = None) -> None:
        self._console = console or Console(stderr=True)
        # Package clients report nothing while they download: the spinner and the clock show life.
        self._bar = RichProgress(
            SpinnerColumn(),
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            DownloadColumn(),
            TimeElapsedColumn(),
            console=self._console,
        )
        self._task = self._bar.add_task("Checking what is already there", total=None)
        self._drawn = self._console.is_terminal

    def __enter__(self) -> Self:
        if self._drawn:
            self._bar.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._drawn:
            self._bar.stop()

    def start(self, total_bytes: int) -> None:
        self._bar.update(self._task, total=total_bytes)

    def describe(self, activity: str) -> None:
        self._bar.update(self._task, description=activity)
        if not self._drawn:
            self._console.print(activity, markup=False, highlight=False, soft_wrap=True)

    def advance(self, count: int) -> None:
        self._bar.advance(self._task, count)
