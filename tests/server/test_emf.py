"""Metrics that CloudWatch reads from standard output."""

import asyncio
import io
import json
import time
from typing import Any

import httpx
import pytest

from speakahead.backends.observation import UtteranceRecord
from speakahead.server.emf import EmbeddedMetrics, from_environment
from tests.server.rig import serving


def record(**changes: object) -> UtteranceRecord:
    made = UtteranceRecord(
        "s", "u", "af_heart", 10.0, 10.2, 10.25, 10.4, 10.41, 12.0, 2.5, "completed"
    )
    for name, changed in changes.items():
        setattr(made, name, changed)
    return made


def printed(made: UtteranceRecord, **facts: str) -> dict[str, Any]:
    output = io.StringIO()
    EmbeddedMetrics("Speech", "tts", facts, output).utterance_ended(made)
    (line,) = output.getvalue().splitlines()
    document = json.loads(line)
    assert isinstance(document, dict)
    check(document)
    return document


def check(document: dict[str, Any]) -> None:
    """The rules of the format's specification that a document of ours could break."""
    metadata = document["_aws"]
    assert abs(metadata["Timestamp"] / 1000 - time.time()) < 60
    assert isinstance(metadata["Timestamp"], int)
    (definition,) = metadata["CloudWatchMetrics"]
    assert 1 <= len(definition["Namespace"]) <= 1024
    for dimensions in definition["Dimensions"]:
        assert 1 <= len(dimensions) <= 30
        for dimension in dimensions:
            assert 1 <= len(document[dimension]) <= 1024
    for metric in definition["Metrics"]:
        assert isinstance(document[metric["Name"]], int | float)
        assert metric["Unit"] in {"Count", "Milliseconds", "Seconds"}


def test_an_utterance_that_was_spoken() -> None:
    document = printed(record(), engine="cpu")
    assert document["FirstSoundLatency"] == 410
    assert document["AudioDuration"] == 2.5
    assert document["Utterances"] == 1
    assert (document["ServiceName"], document["Outcome"]) == ("tts", "completed")
    assert document["engine"] == "cpu"
    assert document["Stages"] == {
        "sentence": 200,
        "phonemes": 50,
        "first_window": 150,
        "sent": 10,
    }
    assert "Error" not in document


def test_without_sound_there_is_no_latency() -> None:
    document = printed(record(first_sent_at=None, first_window_at=None, audio_s=0.0))
    (definition,) = document["_aws"]["CloudWatchMetrics"]
    assert "FirstSoundLatency" not in document
    assert [metric["Name"] for metric in definition["Metrics"]] == ["Utterances", "AudioDuration"]


@pytest.mark.parametrize(
    ("outcome", "told"),
    [
        ("completed", ("completed", None)),
        ("cancelled", ("cancelled", None)),
        ("abandoned", ("abandoned", None)),
        ("synthesis_failed", ("failed", "synthesis_failed")),
        ("overloaded", ("failed", "overloaded")),
    ],
)
def test_errors_share_a_dimension_and_keep_their_code(
    outcome: str, told: tuple[str, str | None]
) -> None:
    document = printed(record(outcome=outcome))
    assert (document["Outcome"], document.get("Error")) == told


def test_the_clients_words_are_not_printed() -> None:
    document = printed(record(session="my secret", utterance='"}\n', voice="a voice"))
    assert {document[name] for name in ("Session", "Utterance", "Voice")} == {"-"}


def test_off_unless_a_namespace_is_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AWS_EMF_NAMESPACE", raising=False)
    assert from_environment({}) is None
    monkeypatch.setenv("AWS_EMF_NAMESPACE", " ")
    assert from_environment({}) is None


def test_a_server_prints_a_line_for_each_utterance(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("AWS_EMF_NAMESPACE", "Speech")
    monkeypatch.setenv("AWS_EMF_SERVICE_NAME", "tts")

    async def scenario() -> None:
        async with serving() as rig:
            url = f"http://127.0.0.1:{rig.port}/invocations"
            async with httpx.AsyncClient() as client:
                for text in ("Hi.", "This will explode."):
                    await client.post(url, json={"text": text, "format": "pcm"})
            await rig.until_idle()

    asyncio.run(scenario())
    documents = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [one["Outcome"] for one in documents] == ["completed", "failed"]
    assert {one["ServiceName"] for one in documents} == {"tts"}
    assert {(one["engine"], one["engine_requested"]) for one in documents} == {("cpu", "auto")}
    for one in documents:
        check(one)
