"""How many sessions there may be, how old they may get, and connections that nobody reads."""

import asyncio
import json
import socket

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed

from speakahead.backends.local import LocalBackend
from speakahead.cli.serve import configuration
from speakahead.errors import ShuttingDown, SpeakaheadError, TooManySessions
from speakahead.server.access import Key
from speakahead.server.app import create_app
from speakahead.server.drain import DrainingServer
from speakahead.server.sessions import SessionRegistry
from speakahead.server.settings import ServerSettings
from tests.conftest import free_port
from tests.server.rig import Rig, backend, serving, until

LONG = "So many words. " * 200
ONE, TWO = "key-number-one", "key-number-two"


async def ask(rig: Rig, key: str | None = None) -> httpx.Response:
    headers = {} if key is None else {"Authorization": f"Bearer {key}"}
    async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{rig.port}") as client:
        return await client.post("/invocations", json={"text": "Hi."}, headers=headers)


def test_one_session_too_many_waits_outside() -> None:
    async def scenario() -> None:
        async with serving(ServerSettings(max_sessions=1)) as rig:
            exchange = await rig.post({"text": LONG})
            await rig.until_speaking()
            refused = await ask(rig)
            assert refused.status_code == 503
            assert refused.json()["error"]["code"] == "too_many_sessions"
            assert refused.json()["error"]["retryable"] is True
            assert int(refused.headers["retry-after"]) >= 1
            async with connect(rig.socket_url) as connection:
                error = json.loads(await connection.recv())
                assert error["code"] == "too_many_sessions"
                with pytest.raises(ConnectionClosed) as closed:
                    await connection.recv()
            assert closed.value.rcvd is not None
            assert closed.value.rcvd.code == 1013
            exchange.leave()
            await rig.until_idle()
            assert (await ask(rig)).status_code == 200

    asyncio.run(scenario())


def test_a_websocket_holds_its_place_until_it_is_closed() -> None:
    async def scenario() -> None:
        async with serving(ServerSettings(max_sessions=1)) as rig:
            async with connect(rig.socket_url) as connection:
                await connection.send(json.dumps({"text": "Hi."}))
                await connection.recv()
                assert (await ask(rig)).status_code == 503
            await rig.until_idle()
            assert (await ask(rig)).status_code == 200

    asyncio.run(scenario())


def test_each_key_has_its_own_places() -> None:
    async def scenario() -> None:
        settings = ServerSettings(api_keys=(ONE, TWO), max_sessions_per_key=1)
        async with (
            serving(settings) as rig,
            connect(f"{rig.socket_url}?api_key={ONE}") as connection,
        ):
            await connection.send(json.dumps({"text": "Hi."}))
            await connection.recv()
            refused = await ask(rig, ONE)
            assert refused.status_code == 429
            assert refused.json()["error"]["code"] == "too_many_sessions"
            assert int(refused.headers["retry-after"]) >= 1
            assert (await ask(rig, TWO)).status_code == 200

    asyncio.run(scenario())


def test_a_request_that_is_refused_takes_no_place() -> None:
    async def scenario() -> None:
        async with (
            serving(ServerSettings(max_sessions=1)) as rig,
            httpx.AsyncClient(base_url=f"http://127.0.0.1:{rig.port}") as client,
        ):
            for _ in range(5):
                assert (await client.post("/invocations", content=b"{")).status_code == 400
                answer = await client.post("/invocations", json={"text": "This will explode."})
                assert answer.status_code == 500
            assert (await ask(rig)).status_code == 200

    asyncio.run(scenario())


def test_an_old_session_is_closed() -> None:
    async def scenario() -> dict[str, object]:
        settings = ServerSettings(max_session_s=0.4, session_warning_s=0.1)
        async with serving(settings) as rig, connect(rig.socket_url) as connection:
            async with asyncio.timeout(5):
                error = json.loads(await connection.recv())
                with pytest.raises(ConnectionClosed):
                    await connection.recv()
            await rig.until_idle()
            return error

    assert asyncio.run(scenario())["code"] == "session_expired"


@given(
    st.lists(
        st.tuples(st.sampled_from([None, Key(1), Key(2)]), st.booleans()), min_size=1, max_size=40
    )
)
def test_no_limit_is_ever_passed_and_every_place_is_given_back(
    moves: list[tuple[Key | None, bool]],
) -> None:
    refused: list[SpeakaheadError] = []
    sessions = SessionRegistry(4, 2, on_refused=refused.append)
    held: list[tuple[Key | None, object]] = []
    turned_away = 0
    for key, leaves in moves:
        if leaves and held:
            _, place = held.pop(0)
            place.__exit__(None, None, None)  # type: ignore[attr-defined]
            continue
        full = len(held) == 4
        full_for_key = key is not None and [k for k, _ in held].count(key) == 2
        place = sessions.admit(key)
        if full or full_for_key:
            with pytest.raises(TooManySessions) as error:
                place.__enter__()
            assert error.value.of_key is not full
            turned_away += 1
        else:
            place.__enter__()
            held.append((key, place))
        assert sessions.open == len(held)
    assert len(refused) == turned_away
    for _, place in held:
        place.__exit__(None, None, None)  # type: ignore[attr-defined]
    assert sessions.open == 0


def test_a_closed_registry_admits_nobody_and_keeps_who_is_in() -> None:
    sessions = SessionRegistry(4)
    with sessions.admit():
        sessions.close()
        with pytest.raises(ShuttingDown), sessions.admit():
            pass
        assert sessions.open == 1
    assert sessions.open == 0


@pytest.mark.skipif(not hasattr(socket, "TCP_USER_TIMEOUT"), reason="not an option of this system")
def test_a_connection_that_nobody_reads_does_not_outlive_its_speech_for_long() -> None:
    """Its client reads nothing, so what is buffered for it can never be sent."""

    async def scenario() -> None:
        speech = backend()

        async def load() -> LocalBackend:
            return speech

        settings = ServerSettings(send_timeout_s=0.3)
        app = create_app(load, settings)
        config = configuration(app, settings, "127.0.0.1", free_port())
        server = DrainingServer(config, app.state.speech.drain, reader_timeout_s=1.0)
        running = asyncio.create_task(server._serve())
        await until(lambda: server.started)
        rig = Rig(config.port, speech, server)
        exchange = await rig.post({"text": LONG * 3})
        await rig.until_idle(8)
        assert server.server_state.connections, "the connection went before its speech did"
        await until(lambda: not server.server_state.connections, 10)
        exchange.leave()
        server.should_exit = True
        await running

    asyncio.run(scenario())
