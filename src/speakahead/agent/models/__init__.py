"""Language models for the agent, by configuration."""

from __future__ import annotations

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
    if settings.model_id is None:
        raise InvalidRequest(f"The model {settings.kind} needs the name of a model.")
    match settings.kind:
        case ModelKind.BEDROCK:
            from speakahead.agent.models.bedrock import StoppableBedrockModel

            return StoppableBedrockModel(
                model_id=settings.model_id,
                region_name=settings.region,
                endpoint_url=settings.url,
                max_tokens=settings.max_tokens,
            )
        case ModelKind.OPENAI:
            from strands.models.openai import OpenAIModel

            arguments = {"base_url": settings.url, "api_key": settings.api_key}
            return OpenAIModel(
                client_args={k: v for k, v in arguments.items() if v is not None},
                model_id=settings.model_id,
                params={"max_tokens": settings.max_tokens},
            )
        case ModelKind.OLLAMA:
            from strands.models.ollama import OllamaModel

            return OllamaModel(
                settings.url, model_id=settings.model_id, max_tokens=settings.max_tokens
            )
