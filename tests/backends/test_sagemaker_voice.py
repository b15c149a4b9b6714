"""The whole way with the real model: SDK client, local endpoint, server process, Kokoro."""

from __future__ import annotations

import asyncio

import numpy as np
import pytest
from numpy.typing import NDArray

from speakahead.backends.resuming import Resumption
from speakahead.backends.sagemaker import SageMakerBackend
from speakahead.emulator import LocalEndpoint
from speakahead.session.events import Append, Audio, Close, Flush, Speak, UtteranceCompleted
from tests.conftest import Server, run_server
from tests.emulator.trust import certificates

TEXT = "The first is here. It has a second one. And a third."
ONE_STEP = 1 / 32768


async def speak(
    endpoint: LocalEndpoint, resumption: Resumption
) -> tuple[NDArray[np.float32], list[str]]:
    backend = SageMakerBackend(
        endpoint.name, region="eu-west-1", endpoint_url=endpoint.url, resumption=resumption
    )
    sound: list[NDArray[np.float32]] = []
    completed: list[str] = []
    async with asyncio.timeout(120), backend.open() as stream:
        # The last words come late, so that a sentence is half written when the session is renewed.
        await stream.send(Append(TEXT[:32], utterance="a"))

        async def write() -> None:
            await asyncio.sleep(2.0)
            await stream.send(Append(TEXT[32:], utterance="a"))
            await stream.send(Flush())
            await stream.send(Speak("That is all.", utterance="b"))
            await stream.send(Close())

        writing = asyncio.create_task(write())
        async for event in stream:
            if isinstance(event, Audio):
                sound.append(event.samples)
            elif isinstance(event, UtteranceCompleted):
                completed.append(event.utterance)
        await writing
    return np.concatenate(sound), completed


def test_a_renewal_cannot_be_heard(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIAIOSFODNN7EXAMPLE")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "not-a-secret")
    log = tmp_path_factory.mktemp("server") / "server.log"

    async def scenario(server: Server) -> None:
        most = 0
        async with LocalEndpoint(server.url, certificates=certificates()) as endpoint:
            calm, ends = await speak(endpoint, Resumption(renew_after_s=600.0))

            async def watch() -> None:
                nonlocal most
                while True:
                    most = max(most, endpoint.streams)
                    await asyncio.sleep(0.02)

            watching = asyncio.create_task(watch())
            renewed, renewed_ends = await speak(endpoint, Resumption(renew_after_s=1.5))
            watching.cancel()
        assert most == 2
        assert ends == renewed_ends == ["a", "b"]
        assert len(calm) == len(renewed)
        # How a sentence is cut into windows depends on the listener's lead; that is rounding.
        assert float(np.abs(calm - renewed).max()) <= 1.01 * ONE_STEP

    with run_server(log) as server:
        asyncio.run(scenario(server))
