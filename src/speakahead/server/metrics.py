"""What Prometheus sees of the server: ``GET /metrics``.

Utterances are observed as they end; what the scheduler and the session registry count themselves is
read when Prometheus asks. Each application has a registry of its own, so that several may run in
one process.
"""

from __future__ import annotations

import math
import platform
from collections.abc import Iterator, Mapping
from importlib.metadata import version
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, Info, ProcessCollector
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.exposition import choose_encoder
from prometheus_client.registry import Collector
from starlette.requests import Request
from starlette.responses import Response

from speakahead.backends.observation import UtteranceRecord
from speakahead.errors import SpeakaheadError
from speakahead.scheduling.scheduler import Scheduler
from speakahead.server.sessions import SessionRegistry

LATENCY_BINS = (
    *(0.05, 0.075, 0.1, 0.125, 0.15, 0.175, 0.2, 0.25, 0.3, 0.4),
    *(0.5, 0.75, 1.0, 1.5, 2.5, 5.0, 10.0),
)
"""Seconds. Fine from 100 to 300 ms, where the first sound lies on a machine that is not full."""

STAGES = ("sentence", "phonemes", "first_window", "sent")
"""Stages of an utterance up to its first sound, in the order of ``UtteranceRecord``'s times."""

_ENDS = ("completed", "cancelled", "abandoned")


class Metrics:
    """An observer of utterances, and the registry that is scraped."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry(auto_describe=False)
        ProcessCollector(registry=self.registry)
        self._first_sound = Histogram(
            "speakahead_first_sound_seconds",
            "From an utterance's first text to its first sound, as taken by the door.",
            buckets=LATENCY_BINS,
            registry=self.registry,
        )
        self._stages = Histogram(
            "speakahead_stage_seconds",
            "Stages of an utterance: its first sentence is complete, has phonemes and prosody, its "
            "first window is decoded, that sound is taken by the door.",
            ["stage"],
            buckets=(0.001, 0.005, 0.01, 0.025, *LATENCY_BINS),
            registry=self.registry,
        )
        self._utterances = Counter(
            "speakahead_utterances",
            "Utterances that have ended.",
            ["outcome"],
            registry=self.registry,
        )
        self._errors = Counter(
            "speakahead_errors",
            "Errors that clients were told. where: request (refused) or utterance (ended).",
            ["code", "where"],
            registry=self.registry,
        )
        self._refused = Counter(
            "speakahead_sessions_refused",
            "Sessions that were not admitted.",
            ["code"],
            registry=self.registry,
        )
        self._info = Info(
            "speakahead", "Versions, the model, and what decodes it.", registry=self.registry
        )
        self._fallback = Gauge(
            "speakahead_engine_fallback",
            "1 if the engine that was asked for could not start, so that the CPU decodes.",
            registry=self.registry,
        )
        self._facts: dict[str, str] = {}
        for outcome in _ENDS:  # so that rates begin at 0 rather than with the first event
            self._utterances.labels(outcome)
        for stage in STAGES:
            self._stages.labels(stage)

    def utterance_ended(self, record: UtteranceRecord) -> None:
        """Count an utterance and the stages that it went through."""
        if record.first_sent_at is not None:
            self._first_sound.observe(record.first_sent_at - record.requested_at)
        for stage, (began_at, ended_at) in stages(record).items():
            self._stages.labels(stage).observe(ended_at - began_at)
        outcome = outcome_of(record)
        self._utterances.labels(outcome).inc()
        if outcome == "failed":
            self._errors.labels(record.outcome, "utterance").inc()

    def request_refused(self, error: SpeakaheadError) -> None:
        """Count an error that a request was answered with."""
        self._errors.labels(error.code, "request").inc()

    def session_refused(self, error: SpeakaheadError) -> None:
        """Count a session that was not admitted."""
        self._refused.labels(error.code).inc()

    def describe(self, facts: Mapping[str, str]) -> None:
        """Show this too (``model``, ``precision``, …) in ``speakahead_info``."""
        self._facts |= facts
        self._info.info(
            {"version": version("speakahead"), "python": platform.python_version(), **self._facts}
        )

    def fell_back(self) -> None:
        """Tell that the CPU decodes because the engine that was asked for did not start."""
        self._fallback.set(1)

    def watch_sessions(self, sessions: SessionRegistry) -> None:
        """Read the number of sessions from here."""
        self.registry.register(_Sessions(sessions))

    def watch_scheduler(self, scheduler: Scheduler[Any]) -> None:
        """Read counters and queues from here."""
        self.registry.register(_Scheduling(scheduler))

    def exposition(self, accept: str) -> tuple[bytes, str]:
        """The metrics and their media type, in the text format or in OpenMetrics."""
        encode, media_type = choose_encoder(accept)
        return encode(self.registry), media_type


def outcome_of(record: UtteranceRecord) -> str:
    """``completed``, ``cancelled``, ``abandoned`` or, whatever the error was, ``failed``."""
    return record.outcome if record.outcome in _ENDS else "failed"


def stages(record: UtteranceRecord) -> dict[str, tuple[float, float]]:
    """When the stages that an utterance went through began and ended, by ``STAGES``."""
    times = (
        record.requested_at,
        record.sentence_at,
        record.phonemes_at,
        record.first_window_at,
        record.first_sent_at,
    )
    passed: dict[str, tuple[float, float]] = {}
    for stage, began_at, ended_at in zip(STAGES, times, times[1:], strict=False):
        if began_at is None or ended_at is None:
            break
        passed[stage] = (began_at, max(began_at, ended_at))
    return passed


async def metrics_page(request: Request) -> Response:
    """``GET /metrics``."""
    metrics: Metrics = request.app.state.speech.metrics
    body, media_type = metrics.exposition(request.headers.get("accept", ""))
    return Response(body, headers={"Content-Type": media_type})


class _Sessions(Collector):
    def __init__(self, sessions: SessionRegistry) -> None:
        self._sessions = sessions

    def collect(self) -> Iterator[Metric]:
        yield GaugeMetricFamily(
            "speakahead_sessions", "WebSockets and HTTP requests for speech.", self._sessions.open
        )


class _Scheduling(Collector):
    def __init__(self, scheduler: Scheduler[Any]) -> None:
        self._scheduler = scheduler

    def collect(self) -> Iterator[Metric]:
        counters = self._scheduler.counters
        for name, text, total in (
            ("windows", "Windows decoded.", counters.windows),
            (
                "late_windows",
                "Windows that came after their listener ran dry.",
                counters.late_windows,
            ),
            ("decoding_seconds", "Time that workers were busy.", counters.busy_s),
            ("audio_seconds", "Sound decoded.", counters.audio_s),
            ("utterances_refused", "Utterances refused as overload.", counters.refused),
            ("sentences_failed", "Sentences that the engine failed on.", counters.failures),
        ):
            yield CounterMetricFamily(f"speakahead_{name}", text, total)
        yield GaugeMetricFamily("speakahead_streams", "Streams open.", self._scheduler.streams)
        scheduler = self._scheduler
        yield GaugeMetricFamily(
            "speakahead_streams_waiting",
            "Streams whose utterance waits for admission.",
            scheduler.waiting,
        )
        yield GaugeMetricFamily(
            "speakahead_sentences_queued", "Sentences not yet decoded.", scheduler.queued
        )
        if counters.audio_s > 0:
            yield GaugeMetricFamily(
                "speakahead_real_time_factor",
                "Worker time for a second of sound, since the start.",
                counters.busy_s / counters.audio_s,
            )
        if math.isfinite(counters.min_slack_s):
            yield GaugeMetricFamily(
                "speakahead_min_slack_seconds",
                "The closest that a window came to being late since the start.",
                counters.min_slack_s,
            )
