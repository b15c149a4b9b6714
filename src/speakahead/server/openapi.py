"""The HTTP doors as an OpenAPI 3.1 document: ``GET /openapi.json``."""

from __future__ import annotations

from functools import cache
from importlib.metadata import version
from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import models_json_schema
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from speakahead.server import openai, sagemaker
from speakahead.server.speech import MEDIA_TYPES

_ERROR = {
    "type": "object",
    "required": ["code", "message", "retryable"],
    "properties": {
        "code": {"type": "string", "description": "Stable, for programs."},
        "message": {"type": "string", "description": "A sentence for people."},
        "retryable": {"type": "boolean"},
    },
}
_OPENAI_ERROR = {
    "type": "object",
    "required": ["message", "type", "param", "code"],
    "properties": {
        "message": {"type": "string"},
        "type": {"enum": ["invalid_request_error", "server_error"]},
        "param": {"type": "null"},
        "code": {"type": "string"},
    },
}

_REFUSALS = {
    "400": "The request cannot be served as it is.",
    "408": "The body did not come in time.",
    "413": "The text or the body is too long.",
}
_COMMON = {
    "401": "No API key, or one that is not known.",
    "403": "Pages of this origin may not use the server.",
    "500": "The engine failed.",
    "503": "Not ready, overloaded or shutting down; `Retry-After` says when to try again.",
}
_KEY_LIMIT = {"429": "This API key has as many sessions as it may."}


@cache
def document() -> dict[str, Any]:
    """The document; its schemas come from the models that the doors validate with."""
    _, schemas = models_json_schema(
        [(sagemaker.Invocation, "validation"), (openai.SpeechBody, "validation")],
        ref_template="#/components/schemas/{model}",
    )
    components: dict[str, Any] = schemas["$defs"]
    components["Error"] = _envelope(_ERROR)
    components["OpenAIError"] = _envelope(_OPENAI_ERROR)
    ours, theirs = "Error", "OpenAIError"
    return {
        "openapi": "3.1.0",
        "info": {"title": "speakahead", "version": version("speakahead")},
        "security": [{}, {"key": []}],
        "paths": {
            "/ping": {
                "get": {
                    "summary": "Whether the model is loaded, warm and being worked with.",
                    "security": [],
                    "responses": {
                        "200": {"description": "It is."},
                        **_errors({"503": "It is not, or the server is shutting down."}, ours),
                    },
                }
            },
            "/invocations": {
                "post": _speech("Speak a text.", sagemaker.Invocation, ours),
            },
            "/v1/audio/speech": {
                "post": _speech("OpenAI's speech API.", openai.SpeechBody, theirs),
            },
            "/v1/audio/voices": {"get": _list("The voices that can be named.", theirs)},
            "/v1/models": {"get": _list("OpenAI's list of models.", theirs)},
            "/metrics": {
                "get": {
                    "summary": "Metrics for Prometheus.",
                    "responses": {
                        "200": _content("The metrics.", "text/plain", {"type": "string"}),
                        **_errors({"401": _COMMON["401"], "403": _COMMON["403"]}, ours),
                    },
                }
            },
        },
        "components": {
            "schemas": components,
            "securitySchemes": {"key": {"type": "http", "scheme": "bearer"}},
        },
    }


async def document_page(request: Request) -> Response:
    """``GET /openapi.json``."""
    return JSONResponse(document())


def _speech(summary: str, body: type[BaseModel], error: str) -> dict[str, Any]:
    sound = {
        media_type.partition(";")[0]: {"schema": {"type": "string", "format": "binary"}}
        for media_type in MEDIA_TYPES.values()
    }
    return {
        "summary": summary,
        "requestBody": {
            "required": True,
            "content": {
                "application/json": {"schema": {"$ref": f"#/components/schemas/{body.__name__}"}}
            },
        },
        "responses": {
            "200": {"description": "The sound, from the first window on.", "content": sound},
            **_errors({**_REFUSALS, **_COMMON, **_KEY_LIMIT}, error),
        },
    }


def _list(summary: str, error: str) -> dict[str, Any]:
    return {
        "summary": summary,
        "responses": {
            "200": _content("The list.", "application/json", {"type": "object"}),
            **_errors(_COMMON, error),
        },
    }


def _errors(descriptions: dict[str, str], schema: str) -> dict[str, Any]:
    reference = {"$ref": f"#/components/schemas/{schema}"}
    return {
        status: _content(description, "application/json", reference)
        for status, description in descriptions.items()
    }


def _content(description: str, media_type: str, schema: dict[str, Any]) -> dict[str, Any]:
    return {"description": description, "content": {media_type: {"schema": schema}}}


def _envelope(error: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "required": ["error"], "properties": {"error": error}}
