"""Errors as the runtime API answers them: before a stream is open, and within one."""

from __future__ import annotations

import json
from dataclasses import dataclass, field


@dataclass(eq=False)
class Refused(Exception):
    """The request is answered with an HTTP error.

    Attributes:
        status: HTTP status, 400 to 599.
        kind: name of the error's shape, sent as ``x-amzn-errortype``.
        message: a sentence for people.
        fields: the shape's other members.
    """

    status: int
    kind: str
    message: str
    fields: dict[str, str | int] = field(default_factory=dict)

    @property
    def headers(self) -> list[tuple[str, str]]:
        return [("content-type", "application/json"), ("x-amzn-errortype", self.kind)]

    @property
    def body(self) -> bytes:
        return json.dumps({"Message": self.message, **self.fields}).encode()


@dataclass(eq=False)
class StreamRefused(Exception):
    """What the client sent within an open stream is malformed.

    The API has no event for that, so it is told as the event-stream format tells errors outside a
    service's model: with ``:error-code`` and ``:error-message``.
    """

    code: str
    message: str


def model_error(message: str, status: int | None = None, original: str = "") -> Refused:
    """424: the container could not be reached, or refused.

    Args:
        status: what the container answered; None when it did not answer.
        original: the beginning of the container's own text.
    """
    fields: dict[str, str | int] = {"OriginalMessage": original}
    if status is not None:
        fields["OriginalStatusCode"] = status
    return Refused(424, "ModelError", message, fields)
