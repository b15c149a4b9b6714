from __future__ import annotations

from io import StringIO

from rich.console import Console

from speakahead.assets import ConsoleProgress


def show(*, terminal: bool) -> str:
    out = StringIO()
    console = Console(file=out, force_terminal=terminal, width=100, no_color=True)
    with ConsoleProgress(console) as progress:
        progress.start(2_000_000)
        progress.describe("Fetching [voices]")
        progress.advance(1_000_000)
        progress.advance(1_000_000)
    return out.getvalue()


def test_without_a_terminal_each_activity_is_one_plain_line() -> None:
    assert show(terminal=False) == "Fetching [voices]\n"


def test_a_terminal_gets_a_bar_with_sizes() -> None:
    shown = show(terminal=True)
    assert "2.0/2.0 MB" in shown
    assert "Fetching [voices]" in shown
