"""Typed errors as HTTP answers."""

from __future__ import annotations

import math

from starlette.responses import JSONResponse

from speakahead.errors import (
    InvalidRequest,
    NotReady,
    Overloaded,
    SpeakaheadError,
    TextTooLong,
)


def http_status(error: SpeakaheadError) -> int:
    """The status code that goes with an error."""
    match error:
        case TextTooLong():
            return 413
        case InvalidRequest(code="request_timeout"):
            return 408
        case InvalidRequest():
            return 400
        case Overloaded() | NotReady():
            return 503
        case _:
            return 500


def retry_headers(error: SpeakaheadError) -> dict[str, str]:
    """``Retry-After`` where the error knows how long to wait."""
    if error.retry_after_s is None:
        return {}
    return {"Retry-After": str(max(1, math.ceil(error.retry_after_s)))}


def error_response(error: SpeakaheadError, status: int | None = None) -> JSONResponse:
    """``{"error": {"code", "message", "retryable"}}`` with the fitting status."""
    return JSONResponse(
        {
            "error": {
                "code": error.code,
                "message": error.message,
                "retryable": error.retryable,
            }
        },
        status_code=status or http_status(error),
        headers=retry_headers(error),
    )
