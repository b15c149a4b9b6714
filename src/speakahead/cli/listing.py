"""`speakahead voices`."""

from __future__ import annotations

import json
from pathlib import Path

from rich.console import Console
from rich.table import Table

from speakahead.assets import Voices, locate
from speakahead.cli.outputs import to_standard_output
from speakahead.text.g2p.languages import LANGUAGES, language_of_voice

_SEX = {"f": "female", "m": "male"}


def voices(model: Path | None, as_json: bool) -> None:
    """Print the voices of a model, with their languages."""
    languages = {language.tag: language for language in LANGUAGES}
    rows = []
    for name in Voices(locate(model).path).names:
        language = languages[language_of_voice(name)]
        rows.append(
            {
                "name": name,
                "language": language.tag,
                "language_name": language.name,
                "sex": _SEX.get(name[1:2], ""),
                "available": language.available,
            }
        )
    if as_json:
        with to_standard_output():
            print(json.dumps(rows, indent=1))
        return
    table = Table("voice", "language", "", "")
    for row in rows:
        note = "" if row["available"] else "cannot be spoken yet"
        table.add_row(str(row["name"]), str(row["language_name"]), str(row["sex"]), note)
    with to_standard_output():
        Console().print(table)
