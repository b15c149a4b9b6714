"""Figures that others have published: quoted, never measured here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

LABEL = "published, not measured here"


@dataclass(frozen=True, slots=True)
class Published:
    """Figures of others.

    Attributes:
        what: what they are, and where they were measured.
        points: the figures in milliseconds by what they depend on.
        source: where they are published.
    """

    what: str
    points: Mapping[int, float]
    source: str

    @property
    def label(self) -> str:
        """How they have to be marked."""
        return f"{self.what} ({self.source}): {LABEL}."


SAMPLE = "aws-samples/sample-kokoro-tts-for-ai-agents"

PUBLIC_LOAD = Published(
    "time to first byte, p95 by sessions, on a GPU (A10G)",
    {1: 65, 5: 286, 10: 568, 20: 1129, 30: 1690, 40: 2245, 50: 2806, 60: 3375},
    SAMPLE,
)

PUBLIC_HOP = Published(
    "first audio of a reply sent whole, 329.3 ms, and by sentences, 156.7 ms: 2.1 times as soon, "
    "five trials each, on a GPU",
    {0: 329.3, 1: 156.7},
    SAMPLE,
)

PUBLIC_AGENT = Published("a deployed agent is heard 3.5 times as soon by sentences", {}, SAMPLE)

QUOTED = (PUBLIC_HOP, PUBLIC_AGENT, PUBLIC_LOAD)
