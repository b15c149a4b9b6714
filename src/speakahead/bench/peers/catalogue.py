"""Who is compared: pinned versions, and which documented interface is driven.

Versions are those read for the comparison of features; dependencies that a peer leaves open are
resolved when its environment is made, and the report names the version of ONNX Runtime in each.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from speakahead.errors import InvalidRequest


class Takes(StrEnum):
    """What an interface wants before it begins to work."""

    DELTAS = "deltas"
    TEXT = "text"
    """The complete text; of a text that is still being written it gets nothing before its end."""


@dataclass(frozen=True, slots=True)
class Peer:
    """One of those who are compared.

    Attributes:
        name: as in the report; also the name of its environment's folder.
        requirements: for pip; pinned.
        driver: module in ``drivers``; None where no driver can be run, as ``requirements`` need
            what is never installed here.
        takes: what its interface wants.
        interface: which one is driven.
    """

    name: str
    requirements: tuple[str, ...]
    driver: str | None
    takes: Takes
    interface: str


def ourselves() -> Peer:
    """speakahead as ``pip install`` makes it, without extras, from the source tree at hand.

    Raises:
        InvalidRequest: this module is not part of a source tree.
    """
    root = Path(__file__).parents[4]
    if not (root / "pyproject.toml").is_file():
        raise InvalidRequest("Peers are compared from a source tree: run it in a clone.")
    return Peer(
        "speakahead",
        (f"-e {root}", f"-c {root / 'constraints.txt'}"),
        "speakahead",
        Takes.DELTAS,
        "LocalBackend, in process",
    )


KOKORO_ONNX = Peer(
    "kokoro-onnx",
    ("kokoro-onnx==0.6.1",),
    "kokoro_onnx",
    Takes.TEXT,
    "Kokoro.create_stream, in process",
)
FASTKOKORO = Peer(
    "fastkokoro",
    ("fastkokoro[cpu]==0.7.0",),
    "fastkokoro",
    Takes.TEXT,
    "its server, POST /v1/audio/speech with stream",
)
PYKOKORO = Peer(
    "pykokoro",
    ("pykokoro[cpu]==0.10.6", "espeakng-loader==0.2.4"),  # or it needs a system's espeak-ng
    "pykokoro",
    Takes.TEXT,
    "KokoroSynthesizer.synthesize_text, in process",
)
PIPECAT = Peer(
    "pipecat",
    ("pipecat-ai[kokoro]==1.14.0", "kokoro-onnx==0.6.1"),
    "pipecat",
    Takes.DELTAS,
    "KokoroTTSService in a pipeline, LLMTextFrame in",
)
REALTIMETTS = Peer(
    "RealtimeTTS",
    ("realtimetts[kokoro]==0.8.10",),
    None,
    Takes.DELTAS,
    "TextToAudioStream with KokoroEngine",
)
KOKORO_PI = Peer(
    "kokoro-pi",
    ("kokoro-pi==1.2.0",),
    "kokoro_pi",
    Takes.TEXT,
    "its server, POST /v1/tts, variant upstream: its own kernels need another export's weights",
)

PEERS = (KOKORO_ONNX, FASTKOKORO, PYKOKORO, PIPECAT, REALTIMETTS, KOKORO_PI)
