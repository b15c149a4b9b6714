"""Spans of utterances, into memory and over the wire."""

import asyncio
import http.server
import threading
import time
from collections.abc import Iterator

import httpx
import pytest
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import StatusCode

from speakahead.backends.observation import UtteranceRecord
from speakahead.server.telemetry import Tracing, from_environment
from tests.server.rig import serving

STAGES = ["sentence", "phonemes", "first_window", "sent"]


def spans_of(record: UtteranceRecord) -> dict[str, ReadableSpan]:
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    tracing = Tracing(provider)
    tracing.utterance_ended(record)
    tracing.close()
    return {span.name: span for span in exporter.get_finished_spans()}


def record(outcome: str = "completed", *, sent: bool = True) -> UtteranceRecord:
    """An utterance that began ten seconds ago."""
    began = time.monotonic() - 10
    return UtteranceRecord(
        "session-1",
        "utterance-1",
        "af_heart",
        began,
        began + 0.1,
        began + 0.15,
        began + 0.3,
        began + 0.31 if sent else None,
        began + 4,
        3.5,
        outcome,
    )


def seconds(span: ReadableSpan) -> float:
    assert span.start_time is not None
    assert span.end_time is not None
    return (span.end_time - span.start_time) / 1e9


def test_a_span_for_each_stage_within_that_of_the_utterance() -> None:
    spans = spans_of(record())
    assert sorted(spans) == sorted(["utterance", *(f"utterance.{stage}" for stage in STAGES)])
    whole = spans["utterance"]
    assert whole.start_time is not None
    assert whole.start_time / 1e9 == pytest.approx(time.time() - 10, abs=1)
    assert seconds(whole) == pytest.approx(4, abs=1e-6)
    lengths = [seconds(spans[f"utterance.{stage}"]) for stage in STAGES]
    assert lengths == pytest.approx([0.1, 0.05, 0.15, 0.01], abs=1e-6)
    previous_end = whole.start_time
    for stage in STAGES:
        child = spans[f"utterance.{stage}"]
        assert child.parent is not None
        assert whole.context is not None
        assert child.parent.span_id == whole.context.span_id
        assert child.start_time == previous_end
        assert child.end_time is not None
        previous_end = child.end_time
    assert whole.attributes is not None
    assert whole.attributes["speakahead.session"] == "session-1"
    assert whole.attributes["speakahead.outcome"] == "completed"
    assert whole.attributes["speakahead.audio_s"] == 3.5
    assert whole.status.status_code is StatusCode.UNSET


def test_an_utterance_that_fails_early_has_the_stages_it_went_through() -> None:
    spans = spans_of(record("synthesis_failed", sent=False))
    assert "utterance.first_window" in spans
    assert "utterance.sent" not in spans
    assert spans["utterance"].status.status_code is StatusCode.ERROR
    assert spans["utterance"].status.description == "synthesis_failed"


def test_a_cancelled_utterance_is_no_error() -> None:
    assert spans_of(record("cancelled"))["utterance"].status.status_code is StatusCode.UNSET


@pytest.fixture
def collector(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[tuple[str, bytes]]]:
    """An OTLP endpoint, named in the environment; what it was sent."""
    received: list[tuple[str, bytes]] = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            received.append((self.path, body))
            self.send_response(200)
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", f"http://127.0.0.1:{server.server_port}")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_COMPRESSION", "none")
    yield received
    server.shutdown()
    server.server_close()


def test_a_server_exports_what_it_has_spoken(collector: list[tuple[str, bytes]]) -> None:
    async def scenario() -> None:
        async with (
            serving() as rig,
            httpx.AsyncClient(base_url=f"http://127.0.0.1:{rig.port}") as client,
        ):
            answer = await client.post("/invocations", json={"text": "Marmalade."})
            assert answer.status_code == 200

    asyncio.run(scenario())
    paths, bodies = zip(*collector, strict=True)
    sent = b"".join(bodies)
    assert set(paths) == {"/v1/traces"}
    assert b"utterance.first_window" in sent
    assert b"speakahead.outcome" in sent
    assert b"armalade" not in sent


def test_nothing_is_traced_unless_the_environment_says_where_to(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("OTEL_EXPORTER_OTLP_ENDPOINT", raising=False)
    monkeypatch.delenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", raising=False)
    assert from_environment() is None


def test_a_collector_that_is_away_does_not_hold_up_the_shutdown(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:9")
    tracing = from_environment()
    assert tracing is not None
    tracing.utterance_ended(record())
    began_at = time.monotonic()
    tracing.close()
    assert time.monotonic() - began_at < 4
