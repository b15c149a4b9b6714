"""The ASGI application: which door stands at which path."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route, WebSocketRoute

from speakahead.backends.local import LocalBackend
from speakahead.errors import InvalidRequest, SpeakaheadError
from speakahead.protocol.v1 import ROUTE
from speakahead.server import openai, sagemaker
from speakahead.server.settings import ServerSettings
from speakahead.server.status import error_response

_log = logging.getLogger(__name__)

type Loader = Callable[[], Awaitable[LocalBackend]]


@dataclass(slots=True)
class ServerState:
    """What the doors share: the settings, and the back end once it is warm."""

    settings: ServerSettings
    backend: LocalBackend | None = None
    failure: SpeakaheadError | None = field(default=None)


def create_app(
    load: Loader,
    settings: ServerSettings | None = None,
    *,
    on_load_failure: Callable[[], None] = lambda: None,
) -> Starlette:
    """The application; the model is loaded in the background while ``/ping`` answers 503.

    Args:
        load: loads and warms the back end.
        settings: how the doors behave.
        on_load_failure: called when the model cannot be loaded, so that the process can end.
    """
    state = ServerState(settings or ServerSettings())

    async def warm_up() -> None:
        try:
            state.backend = await load()
            _log.info("ready: %d voices", len(state.backend.voices))
        except SpeakaheadError as failure:
            state.failure = failure
            _log.error("the model cannot be loaded: %s", failure.message)
            on_load_failure()
        except Exception:
            _log.exception("the model cannot be loaded")
            on_load_failure()

    @contextlib.asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        warming = asyncio.create_task(warm_up())
        try:
            yield
        finally:
            warming.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await warming
            if state.backend is not None:
                await state.backend.aclose()

    app = Starlette(
        routes=[
            Route("/ping", sagemaker.ping),
            Route("/invocations", sagemaker.invocations, methods=["POST"]),
            WebSocketRoute(ROUTE, sagemaker.bidirectional_stream),
            Route("/v1/audio/speech", openai.speech, methods=["POST"]),
            Route("/v1/audio/voices", openai.voices),
            Route("/v1/models", openai.models),
        ],
        exception_handlers={
            SpeakaheadError: _typed_error,
            HTTPException: _http_error,
            Exception: _unexpected_error,
        },
        lifespan=lifespan,
    )
    app.state.speech = state
    return app


def _in_shape(request: Request, error: SpeakaheadError) -> Response:
    if request.url.path.startswith("/v1/"):
        return openai.error_response(error)
    return error_response(error)


async def _typed_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, SpeakaheadError)
    return _in_shape(request, error)


async def _http_error(request: Request, error: Exception) -> Response:
    """Routing errors (no such path, wrong method) in the same shape as ours."""
    assert isinstance(error, HTTPException)
    code = {404: "not_found", 405: "method_not_allowed"}.get(error.status_code, "http_error")
    response = _in_shape(request, InvalidRequest(str(error.detail), code=code))
    response.status_code = error.status_code
    response.headers.update(error.headers or {})
    return response


async def _unexpected_error(request: Request, error: Exception) -> Response:
    return _in_shape(request, SpeakaheadError("The server failed in an unexpected way."))
