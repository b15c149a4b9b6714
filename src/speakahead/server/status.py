"""Typed errors as HTTP answers and WebSocket close codes."""

from __future__ import annotations

import math

from starlette.responses import JSONResponse

from speakahead.errors import (
    Forbidden,
    InvalidRequest,
    NotReady,
    Overloaded,
    ShuttingDown,
    SpeakaheadError,
    TextTooLong,
    TooManySessions,
    Unauthorized,
)

_POLICY_VIOLATION = 1008
_SERVICE_RESTART = 1012
_TRY_AGAIN_LATER = 1013


def http_status(error: SpeakaheadError) -> int:
    """The status code that goes with an error."""
    match error:
        case TextTooLong():
            return 413
        case InvalidRequest(code="request_timeout"):
            return 408
        case InvalidRequest():
            return 400
        case Unauthorized():
            return 401
        case Forbidden():
            return 403
        case TooManySessions(of_key=True):
            return 429
        case Overloaded() | NotReady():
            return 503
        case _:
            return 500


def close_code(error: SpeakaheadError) -> int:
    """The code to close a WebSocket with whose session is refused for this error."""
    match error:
        case Unauthorized() | Forbidden():
            return _POLICY_VIOLATION
        case ShuttingDown():
            return _SERVICE_RESTART
        case _:
            return _TRY_AGAIN_LATER


def error_headers(error: SpeakaheadError) -> dict[str, str]:
    """``Retry-After`` where the error knows how long to wait; how to authenticate (RFC 6750)."""
    if isinstance(error, Unauthorized):
        return {"WWW-Authenticate": "Bearer"}
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
        headers=error_headers(error),
    )
