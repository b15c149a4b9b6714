"""OpenTelemetry: a span for each utterance, with a child for each stage up to the first sound.

Needs the extra ``telemetry`` and is off unless the standard variable
``OTEL_EXPORTER_OTLP_ENDPOINT`` (or ``OTEL_EXPORTER_OTLP_TRACES_ENDPOINT``) says where spans go. All
``OTEL_*`` variables of the OpenTelemetry SDK count. No text is in a span.
"""

from __future__ import annotations

import logging
import os
import time
from importlib.metadata import version
from typing import TYPE_CHECKING

from speakahead.backends.observation import UtteranceRecord
from speakahead.server.logs import safe_id
from speakahead.server.metrics import stages

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import TracerProvider

_log = logging.getLogger(__name__)

_ENDPOINTS = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
_GOOD_ENDS = ("completed", "cancelled", "abandoned")


class Tracing:
    """An observer that makes spans of utterances."""

    def __init__(self, provider: TracerProvider) -> None:
        """Args: provider: of the OpenTelemetry SDK; it is shut down by ``close``."""
        self._provider = provider
        self._tracer = provider.get_tracer("speakahead", version("speakahead"))

    def utterance_ended(self, record: UtteranceRecord) -> None:
        """Make the spans of an utterance, with the times of its record."""
        from opentelemetry.trace import Status, StatusCode, set_span_in_context

        # The record has monotonic times, a span wall times: the clocks are related now, so a
        # clock that is set during an utterance shifts its spans, and never bends them.
        offset_s = time.time() - time.monotonic()

        def wall_ns(at_s: float) -> int:
            return round((at_s + offset_s) * 1e9)

        ended_at = record.ended_at if record.ended_at is not None else time.monotonic()
        span = self._tracer.start_span(
            "utterance",
            start_time=wall_ns(record.requested_at),
            attributes={
                "speakahead.session": safe_id(record.session),
                "speakahead.utterance": safe_id(record.utterance),
                "speakahead.voice": safe_id(record.voice),
                "speakahead.outcome": record.outcome,
                "speakahead.audio_s": record.audio_s,
            },
        )
        if record.outcome not in _GOOD_ENDS:
            span.set_status(Status(StatusCode.ERROR, record.outcome))
        within = set_span_in_context(span)
        for stage, (began_at, stage_ended_at) in stages(record).items():
            child = self._tracer.start_span(
                f"utterance.{stage}", context=within, start_time=wall_ns(began_at)
            )
            child.end(wall_ns(stage_ended_at))
        span.end(wall_ns(max(ended_at, record.requested_at)))

    def close(self) -> None:
        """Export what is left, and end the exporter's thread. Blocks for some seconds at most."""
        self._provider.shutdown()


def from_environment() -> Tracing | None:
    """Tracing as the environment asks for it; None where it does not, or the extra is absent."""
    if not any(os.environ.get(name) for name in _ENDPOINTS):
        return None
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import SERVICE_NAME, Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    except ImportError:
        _log.warning("no traces: install speakahead[telemetry]")
        return None
    named = os.environ.get("OTEL_SERVICE_NAME") or "speakahead"
    provider = TracerProvider(
        resource=Resource.create({SERVICE_NAME: named}), shutdown_on_exit=False
    )
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(timeout=3)))
    return Tracing(provider)
