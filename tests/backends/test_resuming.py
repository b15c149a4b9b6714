"""Sessions that outlive their connections, over real sockets that are cut at any moment."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field

import pytest

from speakahead.backends.resuming import ResumingStream, Resumption
from speakahead.backends.websocket import WebSocketBackend
from speakahead.errors import ConnectionFailed, IllegalTransition, RemoteError
from speakahead.server.settings import ServerSettings
from speakahead.session.events import (
    Append,
    Audio,
    Close,
    Event,
    Flush,
    SessionClosed,
    Speak,
    UtteranceCompleted,
)
from tests.server.rig import WINDOW, Rig, serving

QUICK = Resumption(first_wait_s=0.01, longest_wait_s=0.05)


@dataclass
class Wire:
    """A relay in front of the server, which can be cut."""

    port: int = 0
    connections: int = 0
    refusing: bool = False
    _open: set[asyncio.StreamWriter] = field(default_factory=set)

    def cut(self) -> None:
        for writer in self._open:
            writer.transport.abort()
        self._open.clear()

    async def serve(self, target: int) -> asyncio.Server:
        async def relay(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            if self.refusing:
                writer.transport.abort()
                return
            self.connections += 1
            there, back = await asyncio.open_connection("127.0.0.1", target)
            self._open |= {writer, back}
            await asyncio.gather(_pour(reader, back), _pour(there, writer))

        server = await asyncio.start_server(relay, "127.0.0.1", 0)
        self.port = server.sockets[0].getsockname()[1]
        return server


async def _pour(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
    with contextlib.suppress(OSError):
        writer.close()


@contextlib.asynccontextmanager
async def rigged(
    settings: ServerSettings | None = None,
) -> AsyncIterator[tuple[Rig, Wire]]:
    async with serving(settings) as rig:
        wire = Wire()
        server = await wire.serve(rig.port)
        try:
            yield rig, wire
        finally:
            wire.cut()
            server.close()


def session(wire: Wire, resumption: Resumption = QUICK) -> ResumingStream:
    backend = WebSocketBackend(f"ws://127.0.0.1:{wire.port}", resumption=resumption, timeout_s=5)
    stream = backend.open()
    assert isinstance(stream, ResumingStream)
    return stream


async def listen(
    stream: ResumingStream, disturb: Callable[[Event, int], None] = lambda event, n: None
) -> list[Event]:
    events: list[Event] = []
    async with asyncio.timeout(20):
        async for event in stream:
            events.append(event)
            disturb(event, len(events))
    return events


def samples(events: list[Event], name: str) -> int:
    """Samples of an utterance, each of which came once and in order."""
    position = 0
    for event in events:
        if isinstance(event, Audio) and event.utterance == name:
            assert event.offset == position
            position += len(event.samples)
    return position


def completed(events: list[Event]) -> list[str]:
    return [event.utterance for event in events if isinstance(event, UtteranceCompleted)]


@pytest.mark.parametrize("every", [3, 5])
def test_nothing_is_lost_when_connections_are_cut(every: int) -> None:
    async def scenario() -> tuple[list[Event], list[Event], int]:
        async with rigged(ServerSettings(ahead_s=1.0)) as (_, wire):
            outcomes = []
            for cutting in (False, True):
                async with session(wire) as stream:
                    await stream.send(Append("Hi. Go", utterance="a"))
                    await stream.send(Append(" on. No!", utterance="a"))
                    await stream.send(Speak("Up.", utterance="b"))
                    await stream.send(Close())

                    def disturb(event: Event, count: int, cutting: bool = cutting) -> None:
                        if cutting and isinstance(event, Audio) and count % every == 0:
                            wire.cut()

                    outcomes.append(await listen(stream, disturb))
            return outcomes[0], outcomes[1], wire.connections

    calm, cut, connections = asyncio.run(scenario())
    assert connections > 2
    for name in ("a", "b"):
        assert samples(cut, name) == samples(calm, name) > 0
    assert completed(cut) == completed(calm) == ["a", "b"]
    assert isinstance(cut[-1], SessionClosed)


def test_a_connection_is_renewed_while_it_speaks() -> None:
    async def scenario() -> tuple[list[Event], int]:
        async with (
            rigged(ServerSettings(ahead_s=0.2)) as (_, wire),
            session(wire, Resumption(renew_after_s=0.3)) as stream,
        ):
            await stream.send(Append("Ab. Cd. Ef. G", utterance="a"))
            await asyncio.sleep(0.5)
            await stream.send(Append("h. Ij.", utterance="a"))
            await stream.send(Flush())
            await stream.send(Close())
            return await listen(stream), wire.connections

    events, connections = asyncio.run(scenario())
    assert connections >= 2
    # Fifteen characters in five sentences, and a pause after each.
    assert samples(events, "a") > 15 * WINDOW
    assert completed(events) == ["a"]


def test_a_server_that_lets_sessions_live_for_seconds() -> None:
    async def scenario() -> tuple[list[Event], int]:
        settings = ServerSettings(ahead_s=0.5, max_session_s=3.0, session_warning_s=0.2)
        async with rigged(settings) as (_, wire), session(wire) as stream:
            await stream.send(Speak("Abcd. Efgh. Ijk.", utterance="a"))
            await stream.send(Close())
            return await listen(stream), wire.connections

    events, connections = asyncio.run(scenario())
    assert connections >= 2
    assert completed(events) == ["a"]


def test_an_idle_session_comes_back_when_it_is_needed() -> None:
    async def scenario() -> tuple[list[Event], int]:
        settings = ServerSettings(idle_timeout_s=0.2)
        async with rigged(settings) as (rig, wire), session(wire) as stream:
            listening = asyncio.create_task(listen(stream))
            await rig.until_idle()
            assert wire.connections == 1
            await stream.send(Speak("Yes.", utterance="a"))
            await stream.send(Close())
            return await listening, wire.connections

    events, connections = asyncio.run(scenario())
    assert connections == 2
    assert completed(events) == ["a"]


def test_a_server_that_stays_away_is_an_error() -> None:
    async def scenario() -> None:
        async with rigged() as (_, wire), session(wire) as stream:
            await stream.send(Append("One two three. Four", utterance="a"))
            wire.refusing = True
            wire.cut()
            await listen(stream)

    with pytest.raises(ConnectionFailed):
        asyncio.run(scenario())


def test_a_refused_session_is_not_tried_again() -> None:
    async def scenario() -> int:
        settings = ServerSettings(api_keys=("right",))
        async with rigged(settings) as (_, wire):
            with pytest.raises(RemoteError) as refused:
                async with session(wire):
                    pass
            assert refused.value.code == "unauthorized"
            return wire.connections

    assert asyncio.run(scenario()) == 1


def test_misuse() -> None:
    async def scenario() -> None:
        async with rigged() as (_, wire), session(wire) as stream:
            await stream.send(Close())
            with pytest.raises(IllegalTransition):
                await stream.send(Speak("Late."))
            assert completed(await listen(stream)) == []
        with pytest.raises(IllegalTransition):
            await stream.send(Speak("Later."))

    asyncio.run(scenario())


def test_waits_grow_and_are_never_shorter_than_advised() -> None:
    resumption = Resumption(first_wait_s=1.0, longest_wait_s=4.0)
    assert resumption.wait_s(0) == 0.0
    for attempt, full in ((1, 1.0), (2, 2.0), (3, 4.0), (9, 4.0)):
        waits = [resumption.wait_s(attempt) for _ in range(50)]
        assert min(waits) >= full / 2
        assert max(waits) <= full
        assert len(set(waits)) > 10
    assert resumption.wait_s(1, advised_s=9.0) == 9.0
