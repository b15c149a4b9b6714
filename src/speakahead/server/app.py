"""The ASGI application: which door stands at which path."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route, WebSocketRoute

from speakahead.backends.local import LocalBackend
from speakahead.backends.observation import Observer, UtteranceRecord
from speakahead.errors import InvalidRequest, SpeakaheadError, describe_fault
from speakahead.kokoro.parts import Backend
from speakahead.protocol.v1 import ROUTE
from speakahead.server import bidirectional, emf, openai, openapi, sagemaker, telemetry
from speakahead.server.access import AccessRules, RequireKey
from speakahead.server.drain import Drain
from speakahead.server.logs import REQUEST_ID_HEADERS, RequestLog, UtteranceLog
from speakahead.server.metrics import Metrics, metrics_page
from speakahead.server.sessions import Admission, SessionRegistry
from speakahead.server.settings import ServerSettings
from speakahead.server.status import error_response

_log = logging.getLogger(__name__)

ALTERNATIVE_ROUTE = "/v1/speak"
"""Where endpoints of others have their sessions; a caller names it as ModelInvocationPath."""

_POLLED = frozenset({"/ping", "/metrics"})

type Loader = Callable[[], Awaitable[LocalBackend]]


@dataclass(slots=True)
class ServerState:
    """What the doors share; ``backend`` once it is warm."""

    settings: ServerSettings
    access: AccessRules
    sessions: SessionRegistry
    drain: Drain
    metrics: Metrics
    backend: LocalBackend | None = None
    failure: SpeakaheadError | None = field(default=None)

    @classmethod
    def of(cls, settings: ServerSettings) -> ServerState:
        """The state of an application with these settings."""
        metrics = Metrics()
        sessions = SessionRegistry(
            settings.max_sessions,
            settings.max_sessions_per_key,
            on_refused=metrics.session_refused,
        )
        metrics.watch_sessions(sessions)
        access = AccessRules(settings.api_keys, settings.cors_origins)
        return cls(settings, access, sessions, Drain(sessions, settings.drain_s), metrics)


def create_app(
    load: Loader,
    settings: ServerSettings | None = None,
    *,
    on_load_failure: Callable[[], None] = lambda: None,
    model: Mapping[str, str] | None = None,
    engine: Backend = Backend.AUTO,
) -> Starlette:
    """The application; the model is loaded in the background while ``/ping`` answers 503.

    Args:
        load: loads and warms the back end.
        settings: how the doors behave.
        on_load_failure: called when the model cannot be loaded, so that the process can end.
        model: what the metrics are to say about the model.
        engine: the engine that was asked for; metrics and logs tell if it is another one.
    """
    settings = settings or ServerSettings()
    state = ServerState.of(settings)
    facts = {**(model or {}), "engine_requested": engine.value}
    state.metrics.describe(facts)

    async def warm_up(observers: list[Observer]) -> None:
        try:
            backend = await load()
            _describe_engine(state.metrics, facts, backend, engine)
            if (embedded := emf.from_environment(facts)) is not None:
                observers.append(embedded)
            backend.observer = _Observers(observers)
            state.metrics.watch_scheduler(backend.scheduler)
            state.backend = backend
            _log.info("ready: %d voices", len(backend.voices))
        except SpeakaheadError as failure:
            state.failure = failure
            _log.error("the model cannot be loaded: %s", failure.message)
            on_load_failure()
        except Exception:
            _log.exception("the model cannot be loaded")
            on_load_failure()

    @contextlib.asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        tracing = telemetry.from_environment()
        observers: list[Observer] = [state.metrics, UtteranceLog()]
        if tracing is not None:
            observers.append(tracing)
        warming = asyncio.create_task(warm_up(observers))
        try:
            yield
        finally:
            warming.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await warming
            if state.backend is not None:
                await state.backend.aclose()
            if tracing is not None:
                await asyncio.to_thread(tracing.close)

    known = [Middleware(RequireKey)]
    speaking = [*known, Middleware(Admission)]
    app = Starlette(
        routes=[
            Route("/ping", sagemaker.ping),
            Route("/invocations", sagemaker.invocations, methods=["POST"], middleware=speaking),
            WebSocketRoute(ROUTE, bidirectional.bidirectional_stream),
            WebSocketRoute(ALTERNATIVE_ROUTE, bidirectional.bidirectional_stream),
            Route("/v1/audio/speech", openai.speech, methods=["POST"], middleware=speaking),
            Route("/v1/audio/voices", openai.voices, middleware=known),
            Route("/v1/models", openai.models, middleware=known),
            Route("/metrics", metrics_page, middleware=known),
            Route("/openapi.json", openapi.document_page, middleware=known),
        ],
        middleware=[Middleware(RequestLog, quiet_paths=_POLLED), *_cross_origin(settings)],
        exception_handlers={
            SpeakaheadError: _typed_error,
            HTTPException: _http_error,
            Exception: _unexpected_error,
        },
        lifespan=lifespan,
    )
    app.state.speech = state
    return app


def _describe_engine(
    metrics: Metrics, facts: dict[str, str], backend: LocalBackend, asked: Backend
) -> None:
    """Say in metrics and logs what decodes, now that it is known."""
    facts |= {"engine": backend.engine.value, "precision": backend.precision}
    metrics.describe(facts)
    if asked not in (Backend.AUTO, backend.engine):
        metrics.fell_back()
        _log.warning("the engine %s did not start: %s decodes instead", asked, backend.engine)
    _log.info("windows are decoded by %s in %s", backend.engine, backend.precision)


class _Observers:
    """Tells all of them; a fault in one is no fault of the session."""

    def __init__(self, observers: list[Observer]) -> None:
        self._observers = observers

    def utterance_ended(self, record: UtteranceRecord) -> None:
        for observer in self._observers:
            try:
                observer.utterance_ended(record)
            except Exception as error:
                _log.error("an observer failed: %s", describe_fault(error))


def _cross_origin(settings: ServerSettings) -> list[Middleware]:
    if not settings.cors_origins:
        return []
    options: dict[str, Any] = {
        "allow_origins": settings.cors_origins,
        "allow_methods": ("GET", "POST"),
        "allow_headers": ("Authorization", "Content-Type", REQUEST_ID_HEADERS[-1]),
        "expose_headers": (REQUEST_ID_HEADERS[-1], "X-Audio-Duration", "Retry-After"),
    }
    return [Middleware(CORSMiddleware, **options)]


def _in_shape(request: Request, error: SpeakaheadError) -> Response:
    request.app.state.speech.metrics.request_refused(error)
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
