"""What Prometheus sees."""

import asyncio
import threading
from collections.abc import Iterable

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families

from speakahead.backends.observation import UtteranceRecord
from speakahead.errors import SpeakaheadError, UnknownVoice
from speakahead.scheduling.jobs import Job
from speakahead.scheduling.scheduler import Scheduler
from speakahead.server.metrics import LATENCY_BINS, STAGES, Metrics, stages
from speakahead.server.settings import ServerSettings
from speakahead.text.phonemes import Phonemes
from tests.server.rig import Engine, Plan, Rig, Text, serving

type Samples = dict[tuple[str, frozenset[tuple[str, str]]], float]


def parse(page: str) -> Samples:
    return {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(page)
        for sample in family.samples
    }


def value(samples: Samples, name: str, **labels: str) -> float:
    return samples[f"speakahead_{name}", frozenset(labels.items())]


async def scrape(rig: Rig) -> Samples:
    async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{rig.port}") as client:
        answer = await client.get("/metrics")
    assert answer.headers["content-type"].startswith("text/plain; version=")
    return parse(answer.text)


async def post(rig: Rig, texts: Iterable[str]) -> list[int]:
    async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{rig.port}") as client:
        return [
            (await client.post("/invocations", json={"text": text, "format": "pcm"})).status_code
            for text in texts
        ]


def record(**changes: object) -> UtteranceRecord:
    made = UtteranceRecord(
        "s", "u", "af_heart", 10.0, 10.2, 10.25, 10.4, 10.41, 12.0, 2.5, "completed"
    )
    for name, changed in changes.items():
        setattr(made, name, changed)
    return made


def test_a_server_that_has_spoken() -> None:
    async def scenario() -> Samples:
        async with serving() as rig:
            assert await post(rig, ["Hi.", "This will explode.", ""]) == [200, 500, 400]
            await rig.until_idle()
            return await scrape(rig)

    samples = asyncio.run(scenario())
    assert value(samples, "utterances_total", outcome="completed") == 1
    assert value(samples, "utterances_total", outcome="failed") == 1
    assert value(samples, "utterances_total", outcome="cancelled") == 0
    assert value(samples, "errors_total", code="synthesis_failed", where="utterance") == 1
    assert value(samples, "errors_total", code="synthesis_failed", where="request") == 1
    assert value(samples, "errors_total", code="empty_text", where="request") == 1
    assert value(samples, "first_sound_seconds_count") == 1
    assert 0 < value(samples, "first_sound_seconds_sum") < 5
    for stage in STAGES:
        assert value(samples, "stage_seconds_count", stage=stage) >= 1
    assert value(samples, "windows_total") == 4  # one a character, and the pause
    assert value(samples, "late_windows_total") == 0
    assert value(samples, "audio_seconds_total") > 1
    assert value(samples, "real_time_factor") > 0
    assert value(samples, "sentences_failed_total") == 1
    assert value(samples, "sessions") == value(samples, "streams") == 0
    assert value(samples, "streams_waiting") == value(samples, "sentences_queued") == 0


def test_what_is_going_on_now() -> None:
    async def scenario() -> tuple[Samples, Samples]:
        async with serving(ServerSettings(max_sessions=1)) as rig:
            exchange = await rig.post({"text": "So many words. " * 200})
            await rig.until_speaking()
            assert await post(rig, ["Hi."]) == [503]
            during = await scrape(rig)
            exchange.leave()
            await rig.until_idle()
            return during, await scrape(rig)

    during, after = asyncio.run(scenario())
    assert value(during, "sessions") == value(during, "streams") == 1
    assert value(during, "sessions_refused_total", code="too_many_sessions") == 1
    assert value(after, "sessions") == value(after, "streams") == 0
    assert value(after, "utterances_total", outcome="abandoned") == 1


def test_the_queues_of_the_scheduler() -> None:
    """One stream is being decoded, with a sentence behind it; another waits to be admitted."""
    engine = Blocked()
    scheduler: Scheduler[Plan] = Scheduler(engine, Text(), patience_s=None)
    metrics = Metrics()
    metrics.watch_scheduler(scheduler)
    try:
        speaking, waiting = scheduler.open(), scheduler.open()
        speaking.submit(job("A" * 100))
        assert engine.entered.wait(5)
        speaking.submit(job("B" * 100))
        waiting.submit(job("C" * 100))
        samples = parse(metrics.exposition("")[0].decode())
    finally:
        engine.go_on.set()
        scheduler.close()
    assert value(samples, "streams") == 2
    assert value(samples, "streams_waiting") == 1
    assert value(samples, "sentences_queued") == 3
    assert ("speakahead_real_time_factor", frozenset()) not in samples, "nothing was decoded yet"


class Blocked(Engine):
    """Decodes nothing until it is let."""

    def __init__(self) -> None:
        super().__init__()
        self.entered, self.go_on = threading.Event(), threading.Event()

    def plan(self, phonemes: Phonemes, voice: str, speed: float, ahead_s: float = 0.0) -> Plan:
        self.entered.set()
        self.go_on.wait(10)
        return super().plan(phonemes, voice, speed, ahead_s)


class Silent:
    """A listener that does not care."""

    def began(self, words: object) -> None: ...
    def audio(self, samples: object) -> None: ...
    def done(self) -> None: ...
    def failed(self, error: SpeakaheadError) -> None: ...


def job(text: str) -> Job:
    return Job(text, 0, "en-us", "af_heart", 1.0, 0.0, Silent())


def test_the_bins_are_ours() -> None:
    metrics = Metrics()
    metrics.utterance_ended(record())
    samples = parse(metrics.exposition("")[0].decode())
    edges = {
        float(dict(labels)["le"])
        for name, labels in samples
        if name == "speakahead_first_sound_seconds_bucket"
    }
    assert edges == {*LATENCY_BINS, float("inf")}
    assert value(samples, "first_sound_seconds_bucket", le="0.4") == 0  # it took 0.41 s
    assert value(samples, "first_sound_seconds_bucket", le="0.5") == 1


def test_stages_follow_one_another_as_far_as_the_utterance_got() -> None:
    assert stages(record()) == {
        "sentence": (10.0, 10.2),
        "phonemes": (10.2, 10.25),
        "first_window": (10.25, 10.4),
        "sent": (10.4, 10.41),
    }
    cancelled = record(first_window_at=None, first_sent_at=None, outcome="cancelled")
    assert list(stages(cancelled)) == ["sentence", "phonemes"]
    assert stages(record(sentence_at=None)) == {}


@pytest.mark.parametrize(
    ("outcome", "counted"),
    [
        ("completed", "completed"),
        ("cancelled", "cancelled"),
        ("abandoned", "abandoned"),
        ("overloaded", "failed"),
    ],
)
def test_outcomes(outcome: str, counted: str) -> None:
    metrics = Metrics()
    metrics.utterance_ended(record(outcome=outcome))
    samples = parse(metrics.exposition("")[0].decode())
    assert value(samples, "utterances_total", outcome=counted) == 1
    errors = [labels for name, labels in samples if name == "speakahead_errors_total"]
    assert errors == (
        [] if counted == outcome else [{("code", "overloaded"), ("where", "utterance")}]
    )


def test_two_servers_in_one_process_do_not_share_their_counts() -> None:
    one, two = Metrics(), Metrics()
    one.request_refused(UnknownVoice("No."))
    assert b"unknown_voice" in one.exposition("")[0]
    assert b"unknown_voice" not in two.exposition("")[0]


def test_openmetrics_for_those_who_ask_for_it() -> None:
    metrics = Metrics()
    metrics.describe({"model": "kokoro", "precision": "fp32"})
    page, media_type = metrics.exposition("application/openmetrics-text; version=1.0.0")
    assert media_type.startswith("application/openmetrics-text")
    assert page.endswith(b"# EOF\n")
    assert b'precision="fp32"' in page
