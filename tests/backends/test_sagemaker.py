"""The SageMaker back end: the real SDK client, the local endpoint, and the real server."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator, Iterator

import pytest

from speakahead.backends.resuming import Resumption
from speakahead.backends.sagemaker import SageMakerBackend
from speakahead.emulator import Fault, FaultKind, LocalEndpoint
from speakahead.errors import ConnectionFailed, InvalidRequest, SpeakaheadError, Unauthorized
from speakahead.server.settings import ServerSettings
from speakahead.session.events import (
    Append,
    Audio,
    Cancel,
    Close,
    Event,
    Flush,
    Request,
    SessionClosed,
    Speak,
    UtteranceCancelled,
    UtteranceCompleted,
)
from tests.emulator.trust import certificates
from tests.server.rig import Rig, serving

NAME = "kokoro-82m"
QUICK = Resumption(attempts=3, first_wait_s=0.01, longest_wait_s=0.05)
TRANSIENT = (
    FaultKind.RESET,
    FaultKind.CUT,
    FaultKind.MODEL_STREAM_ERROR,
    FaultKind.INTERNAL_STREAM_FAILURE,
    FaultKind.EARLY_CLOSE,
    FaultKind.EARLY_END,
    FaultKind.STALL,
)


@pytest.fixture(autouse=True, scope="module")
def _account() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AWS_ACCESS_KEY_ID", "AKIAIOSFODNN7EXAMPLE")
        patch.setenv("AWS_SECRET_ACCESS_KEY", "not-a-secret")
        patch.setenv("AWS_EC2_METADATA_DISABLED", "true")
        patch.delenv("AWS_ENDPOINT_URL_SAGEMAKER_RUNTIME_HTTP2", raising=False)
        yield


@contextlib.asynccontextmanager
async def rigged(
    settings: ServerSettings | None = None,
) -> AsyncIterator[tuple[Rig, LocalEndpoint]]:
    async with (
        serving(settings) as rig,
        LocalEndpoint(
            f"http://127.0.0.1:{rig.port}", NAME, certificates=certificates()
        ) as endpoint,
    ):
        yield rig, endpoint


def backend(
    endpoint: LocalEndpoint,
    resumption: Resumption = QUICK,
    *,
    name: str = NAME,
    timeout_s: float = 5.0,
    silence_s: float = 5.0,
) -> SageMakerBackend:
    return SageMakerBackend(
        name,
        region="eu-west-1",
        endpoint_url=endpoint.url,
        resumption=resumption,
        timeout_s=timeout_s,
        silence_s=silence_s,
    )


async def speak(backend: SageMakerBackend, *requests: Request) -> list[Event]:
    async with asyncio.timeout(30), backend.open() as stream:
        for request in (*requests, Close()):
            await stream.send(request)
        return [event async for event in stream]


def samples(events: list[Event], name: str) -> int:
    position = 0
    for event in events:
        if isinstance(event, Audio) and event.utterance == name:
            assert event.offset == position
            position += len(event.samples)
    return position


def completed(events: list[Event]) -> list[str]:
    return [event.utterance for event in events if isinstance(event, UtteranceCompleted)]


def test_three_sentences() -> None:
    async def scenario() -> list[Event]:
        async with rigged() as (_, endpoint):
            return await speak(
                backend(endpoint),
                Append("Hi th", utterance="a"),
                Append("ere. And", utterance="a"),
                Append(" you?", utterance="a"),
                Flush(),
                Speak("Yes.", utterance="b"),
            )

    events = asyncio.run(scenario())
    assert completed(events) == ["a", "b"]
    assert samples(events, "a") > samples(events, "b") > 0
    assert isinstance(events[-1], SessionClosed)


def test_two_hundred_sentences() -> None:
    async def scenario() -> list[Event]:
        async with (
            rigged(ServerSettings(ahead_s=None)) as (_, endpoint),
            asyncio.timeout(60),
            backend(endpoint).open() as stream,
        ):

            async def write() -> None:
                for number in range(200):
                    await stream.send(Append(f"S{number % 7}. ", utterance="a"))
                await stream.send(Close())

            writing = asyncio.create_task(write())
            events = [event async for event in stream]
            await writing
            return events

    events = asyncio.run(scenario())
    assert completed(events) == ["a"]
    captions = [event for event in events if type(event).__name__ == "SentenceStarted"]
    assert len(captions) == 200


@pytest.mark.parametrize("kind", TRANSIENT)
def test_a_fault_in_the_middle_loses_nothing(kind: FaultKind) -> None:
    text = Append("One two. Three four. Five six.", utterance="a")

    async def scenario() -> tuple[list[Event], list[Event]]:
        async with rigged(ServerSettings(ahead_s=None)) as (_, endpoint):
            speech = backend(endpoint, silence_s=1.0)
            calm = await speak(speech, text)
            endpoint.set_faults(Fault(kind, after=9, times=1))
            return calm, await speak(speech, text)

    calm, disturbed = asyncio.run(scenario())
    assert samples(disturbed, "a") == samples(calm, "a")
    assert completed(disturbed) == ["a"]
    assert isinstance(disturbed[-1], SessionClosed)


@pytest.mark.parametrize(
    ("kind", "error", "code"),
    [
        (FaultKind.HANG, ConnectionFailed, "connection_failed"),
        (FaultKind.HTTP_400, InvalidRequest, "endpoint_refused"),
        (FaultKind.HTTP_424, ConnectionFailed, "connection_failed"),
        (FaultKind.HTTP_500, ConnectionFailed, "connection_failed"),
        (FaultKind.HTTP_503, ConnectionFailed, "connection_failed"),
        (FaultKind.STALL, ConnectionFailed, "connection_failed"),
        (FaultKind.RESET, ConnectionFailed, "connection_failed"),
        (FaultKind.EARLY_END, ConnectionFailed, "connection_failed"),
    ],
)
def test_an_endpoint_that_never_works(
    kind: FaultKind, error: type[SpeakaheadError], code: str
) -> None:
    async def scenario() -> None:
        async with rigged() as (_, endpoint):
            endpoint.set_faults(Fault(kind))
            await speak(backend(endpoint, timeout_s=1.0), Speak("Secret words."))

    with pytest.raises(error) as failed:
        asyncio.run(scenario())
    assert failed.value.code == code
    assert "ecret" not in failed.value.message


def test_a_fault_that_comes_again_and_again_is_an_error() -> None:
    async def scenario() -> None:
        async with rigged() as (_, endpoint):
            endpoint.set_faults(Fault(FaultKind.RESET, after=1))
            await speak(backend(endpoint), Speak("One two."))

    with pytest.raises(ConnectionFailed):
        asyncio.run(scenario())


def test_a_session_is_renewed_without_a_seam() -> None:
    async def scenario() -> tuple[list[Event], list[Event], int]:
        async with rigged(ServerSettings(ahead_s=0.3)) as (_, endpoint):
            requests = (Append("Ab. Cd. Ef.", utterance="a"), Speak("Kl.", utterance="b"))
            calm = await speak(backend(endpoint), *requests)
            most = 0

            async def watch() -> None:
                nonlocal most
                while True:
                    most = max(most, endpoint.streams)
                    await asyncio.sleep(0.01)

            watching = asyncio.create_task(watch())
            renewed = await speak(backend(endpoint, Resumption(renew_after_s=1.0)), *requests)
            watching.cancel()
            return calm, renewed, most

    calm, renewed, most = asyncio.run(scenario())
    assert most == 2  # both legs were there at the same time
    for name in ("a", "b"):
        assert samples(renewed, name) == samples(calm, name) > 0
    assert completed(renewed) == ["a", "b"]


def test_interruption() -> None:
    async def scenario() -> list[Event]:
        async with (
            rigged(ServerSettings(ahead_s=0.5)) as (_, endpoint),
            asyncio.timeout(30),
            backend(endpoint).open() as stream,
        ):
            await stream.send(Append("One two three four. Five", utterance="a"))
            events: list[Event] = []
            async for event in stream:
                events.append(event)
                if isinstance(event, Audio) and event.offset == 0:
                    await stream.send(Cancel(played_s=0.2))
                    await stream.send(Close())
            return events

    events = asyncio.run(scenario())
    answer = next(event for event in events if isinstance(event, UtteranceCancelled))
    assert answer.text_spoken + answer.text_remaining == "One two three four. Five"
    assert not any(isinstance(event, Audio) for event in events[events.index(answer) :])


def test_without_credentials_it_fails_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.startswith("AWS_") and name != "AWS_EC2_METADATA_DISABLED":
            monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", os.devnull)
    with pytest.raises(InvalidRequest):
        SageMakerBackend(NAME)

    async def scenario() -> None:
        async with rigged() as (_, endpoint), backend(endpoint).open():
            pass

    with pytest.raises(Unauthorized):
        asyncio.run(scenario())


def test_a_name_that_none_can_have() -> None:
    with pytest.raises(InvalidRequest):
        SageMakerBackend("not a name", region="eu-west-1")
