"""Which language model the agent uses, and what speaks for it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

LOCAL = "local"


class ModelKind(StrEnum):
    """Where the words come from."""

    EMBEDDED = "embedded"
    SCRIPTED = "scripted"
    BEDROCK = "bedrock"
    OPENAI = "openai"
    OLLAMA = "ollama"

    @property
    def needs_name(self) -> bool:
        """Whether one has to say which model."""
        return self not in (ModelKind.EMBEDDED, ModelKind.SCRIPTED)

    @property
    def calls_tools(self) -> bool:
        """Whether it is of any use to give it tools."""
        return self is not ModelKind.EMBEDDED


@dataclass(frozen=True, slots=True)
class ModelSettings:
    """Which model, and how to reach it.

    Attributes:
        kind: what it is.
        model_id: its name at the service; needed for all but the embedded and the scripted one.
        url: of the service; needed for Ollama elsewhere than on this machine, and for servers that
            speak OpenAI's protocol. None: the service's own.
        region: of Amazon Bedrock; None: as the environment says.
        api_key: of an OpenAI-compatible server; None: as the environment says.
        max_tokens: of a reply.
        connect_s: seconds that connecting to a service may take.
        silence_s: seconds for which a service may write nothing; after that, the reply is over.
        tokens_per_second: of the scripted model.
        script: a file with what the scripted model writes; see ``scripted.read_script``.
    """

    kind: ModelKind = ModelKind.EMBEDDED
    model_id: str | None = None
    url: str | None = None
    region: str | None = None
    api_key: str | None = None
    max_tokens: int = 1024
    connect_s: float = 10.0
    silence_s: float = 60.0
    tokens_per_second: float = 30.0
    script: Path | None = None


@dataclass(frozen=True, slots=True)
class SpeechSettings:
    """What speaks, and how to reach it.

    Attributes:
        where: ``local``, the address of a `speakahead serve` as in ``ws://host:8080``,
            ``sagemaker:ENDPOINT`` or ``polly``.
        api_key: of a `speakahead serve`; None: it asks for none.
        region: of AWS; None: as the environment or the profile says.
        endpoint_url: where the AWS service is served, for private links and stand-ins; None: the
            region's own.
    """

    where: str = LOCAL
    api_key: str | None = None
    region: str | None = None
    endpoint_url: str | None = None
