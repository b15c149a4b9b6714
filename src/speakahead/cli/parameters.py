"""Options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Voice = Annotated[str, typer.Option("--voice", "-v", help="Voice; see `speakahead voices`.")]
Speed = Annotated[float, typer.Option(help="Speed, 0.5 to 2.")]
Model = Annotated[
    Path | None, typer.Option("--model", help="Model directory, if not the usual one.")
]
Threads = Annotated[int, typer.Option(min=1, help="Threads of one inference.")]
