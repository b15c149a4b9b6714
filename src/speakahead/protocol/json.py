"""JSON from a peer into typed models, with errors that help and give nothing away."""

from __future__ import annotations

from typing import Any

import pydantic_core
from pydantic import BaseModel, ConfigDict, ValidationError

from speakahead.errors import InvalidRequest


class Message(BaseModel):
    """Base of the messages that a peer may send.

    Strict: a number is not taken for a string, nor "1.0" for a number. Unknown fields are ignored,
    so that newer clients can talk to older servers.
    """

    model_config = ConfigDict(strict=True, extra="ignore", frozen=True, allow_inf_nan=False)


def parse_object(raw: str | bytes) -> dict[str, Any]:
    """The JSON object in ``raw``.

    Raises:
        InvalidRequest: ``invalid_encoding``, ``invalid_json`` or ``invalid_request`` (JSON, but
            not an object).
    """
    if isinstance(raw, bytes):
        try:
            raw = raw.decode("utf-8")
        except UnicodeDecodeError:
            raise InvalidRequest(
                "The message is not valid UTF-8; send JSON in UTF-8.", code="invalid_encoding"
            ) from None
    try:
        value = pydantic_core.from_json(raw, allow_inf_nan=False)
    except ValueError:
        raise InvalidRequest("The message is not valid JSON.", code="invalid_json") from None
    if not isinstance(value, dict):
        raise InvalidRequest("The message must be a JSON object.")
    return value


def validate[M: BaseModel](model: type[M], value: dict[str, Any]) -> M:
    """``value`` as a ``model``.

    Raises:
        InvalidRequest: names the first field that is wrong and what it should be.
    """
    try:
        return model.model_validate(value)
    except ValidationError as invalid:
        first = invalid.errors(include_input=False, include_url=False, include_context=False)[0]
        raise InvalidRequest(_sentence(first["loc"], first["type"])) from None


_REASONS = {
    "missing": "is missing",
    "string_type": "must be a string",
    "string_too_long": "is too long",
    "string_too_short": "must not be empty",
    "float_type": "must be a number",
    "finite_number": "must be a finite number",
    "bool_type": "must be true or false",
    "literal_error": "has a value that is not supported",
    "greater_than_equal": "is too small",
    "less_than_equal": "is too large",
}


def _sentence(location: tuple[int | str, ...], kind: str) -> str:
    # Only names from our own models reach the location, because unknown fields are ignored.
    field = str(location[0]) if location else "message"
    return f"The field {field!r} {_REASONS.get(kind, 'is not valid')}."
