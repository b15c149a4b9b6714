"""JSON from a peer into typed models, with errors that help and give nothing away."""

from __future__ import annotations

from typing import Any

import pydantic_core
from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from speakahead.errors import InvalidRequest


class Message(BaseModel):
    """Base of the messages that a peer may send.

    Strict: a number is not taken for a string, nor "1.0" for a number. Unknown fields are ignored,
    so that newer clients can talk to older servers.
    """

    model_config = ConfigDict(strict=True, extra="ignore", frozen=True, allow_inf_nan=False)


class RefusedMessage(InvalidRequest):
    """A message that is no request.

    Attributes:
        utterance: the one it named, if any.
        text: whether it held a part of an utterance's text.
    """

    def __init__(
        self, cause: InvalidRequest, utterance: str | None = None, *, text: bool = False
    ) -> None:
        super().__init__(cause.message, code=cause.code)
        self.utterance = utterance
        self.text = text


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
        raise _first(invalid) from None


def validate_tagged[T](union: TypeAdapter[T], value: dict[str, Any]) -> T:
    """``value`` as the member of a discriminated union that its tag names.

    Raises:
        InvalidRequest: ``unknown_type``: no member has this tag; else as ``validate``.
    """
    try:
        return union.validate_python(value)
    except ValidationError as invalid:
        raise _first(invalid, tagged=True) from None


_UNKNOWN_TAG = {"union_tag_invalid", "union_tag_not_found"}

_REASONS = {
    "missing": "is missing",
    "string_type": "must be a string",
    "string_too_long": "is too long",
    "string_too_short": "must not be empty",
    "int_type": "must be a whole number",
    "float_type": "must be a number",
    "finite_number": "must be a finite number",
    "bool_type": "must be true or false",
    "tuple_type": "must be a list",
    "too_long": "has too many items",
    "model_type": "must be an object",
    "literal_error": "has a value that is not supported",
    "greater_than_equal": "is too small",
    "less_than_equal": "is too large",
}


def _first(invalid: ValidationError, *, tagged: bool = False) -> InvalidRequest:
    first = invalid.errors(include_input=False, include_url=False, include_context=False)[0]
    kind, location = first["type"], first["loc"]
    if kind in _UNKNOWN_TAG and len(location) == 0:
        return InvalidRequest("The message type is unknown.", code="unknown_type")
    # Only names from our own models and positions in lists reach the location, because unknown
    # fields are ignored and no model has a mapping in it.
    path = location[1:] if tagged else location
    field = "".join(f"[{p}]" if isinstance(p, int) else f".{p}" for p in path).lstrip(".")
    return InvalidRequest(f"The field {field or 'message'!r} {_REASONS.get(kind, 'is not valid')}.")
