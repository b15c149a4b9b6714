"""Language models for the agent, by configuration."""

from __future__ import annotations

import os

from strands.models.model import Model

from speakahead.agent.settings import ModelKind, ModelSettings
from speakahead.assets import Progress
from speakahead.errors import InvalidRequest

__all__ = ["ModelKind", "ModelSettings", "build_model"]


def build_model(settings: ModelSettings, progress: Progress | None = None) -> Model:
    """The model, ready to write. Slow for the embedded one, which may have to be fetched.

    Raises:
        InvalidRequest: a setting is missing.
        ModelError: the embedded model cannot be had.
    """
    match settings.kind:
        case ModelKind.SCRIPTED:
            from speakahead.agent.models.scripted import DEMO_SCRIPT, ScriptedModel, read_script

            steps = DEMO_SCRIPT if settings.script is None else read_script(settings.script)
            return ScriptedModel(steps, tokens_per_second=settings.tokens_per_second)
        case ModelKind.EMBEDDED:
            from speakahead.agent.models.embedded import EmbeddedModel, fetch

            return EmbeddedModel(fetch(progress), max_tokens=min(settings.max_tokens, 320))
    from speakahead.agent.models.watched import WatchedModel

    return WatchedModel(_at_service(settings), silence_s=settings.silence_s)


def _at_service(settings: ModelSettings) -> Model:
    """A model elsewhere. Its client gives up a little after ``WatchedModel``, for good order."""
    if settings.model_id is None:
        raise InvalidRequest(f"The model {settings.kind} needs the name of a model.")
    read_s = settings.silence_s * 1.25
    if settings.kind is ModelKind.BEDROCK:
        from botocore.config import Config

        from speakahead.agent.models.bedrock import StoppableBedrockModel

        return StoppableBedrockModel(
            model_id=settings.model_id,
            region_name=settings.region,
            endpoint_url=settings.url,
            boto_client_config=Config(
                connect_timeout=settings.connect_s,
                read_timeout=read_s,
                # A second attempt would be paid for when nobody waits for it any more.
                retries={"total_max_attempts": 1},
            ),
            max_tokens=settings.max_tokens,
        )
    if settings.kind is ModelKind.OPENAI:
        from openai import Timeout
        from strands.models.openai import OpenAIModel

        key = settings.api_key or os.environ.get("OPENAI_API_KEY")
        if key is None and settings.url is None:
            raise InvalidRequest(
                "OpenAI needs a key: set OPENAI_API_KEY, or name a server's address."
            )
        arguments = {
            "base_url": settings.url,
            "api_key": key or "none",  # a server of one's own asks for none, but the client does
            "timeout": Timeout(read_s, connect=settings.connect_s),
            "max_retries": 1,
        }
        return OpenAIModel(
            client_args={k: v for k, v in arguments.items() if v is not None},
            model_id=settings.model_id,
            params={"max_tokens": settings.max_tokens},
        )
    from strands.models.ollama import OllamaModel

    return OllamaModel(
        settings.url,
        ollama_client_args={"timeout": (settings.connect_s, read_s, read_s, settings.connect_s)},
        model_id=settings.model_id,
        max_tokens=settings.max_tokens,
    )
