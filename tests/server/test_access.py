"""API keys and web origins, at every door."""

import asyncio
import json
import logging
from pathlib import Path

import httpx
import pytest
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed
from websockets.typing import Origin, Subprotocol

from speakahead.cli.serve import API_KEYS_VARIABLE, api_keys
from speakahead.errors import InvalidRequest
from speakahead.server.access import parse_keys, read_keys
from speakahead.server.logs import LogFormat, configure
from speakahead.server.settings import ServerSettings
from tests.server.rig import serving

KEY, OTHER = "correct-horse-battery", "staple-tea-kettle"
LOCKED = ServerSettings(api_keys=(KEY, OTHER))
PAGE = "https://app.example"

DOORS = [
    ("POST", "/invocations"),
    ("POST", "/v1/audio/speech"),
    ("GET", "/v1/audio/voices"),
    ("GET", "/v1/models"),
    ("GET", "/metrics"),
    ("GET", "/openapi.json"),
]
BODY = {"text": "Hi.", "input": "Hi.", "voice": "af_heart"}


async def ask(
    settings: ServerSettings, method: str, path: str, headers: dict[str, str] | None = None
) -> httpx.Response:
    async with (
        serving(settings) as rig,
        httpx.AsyncClient(base_url=f"http://127.0.0.1:{rig.port}") as client,
    ):
        body = BODY if method == "POST" else None
        return await client.request(method, path, headers=headers, json=body)


@pytest.mark.parametrize(("method", "path"), DOORS)
@pytest.mark.parametrize("headers", [{}, {"Authorization": "Bearer wrong-wrong-wrong"}])
def test_every_door_asks_for_a_known_key(method: str, path: str, headers: dict[str, str]) -> None:
    answer = asyncio.run(ask(LOCKED, method, path, headers))
    assert answer.status_code == 401
    assert answer.headers["www-authenticate"] == "Bearer"
    assert answer.json()["error"]["code"] == "unauthorized"
    if path.startswith("/v1/"):
        assert answer.json()["error"]["type"] == "invalid_request_error"


@pytest.mark.parametrize(("method", "path"), DOORS)
def test_every_known_key_opens_every_door(method: str, path: str) -> None:
    async def scenario() -> list[int]:
        async with (
            serving(LOCKED) as rig,
            httpx.AsyncClient(base_url=f"http://127.0.0.1:{rig.port}") as client,
        ):
            body = BODY if method == "POST" else None
            return [
                (
                    await client.request(method, path, json=body, headers=headers, params=params)
                ).status_code
                for headers, params in (
                    ({"Authorization": f"Bearer {KEY}"}, {}),
                    ({"authorization": f"bearer {OTHER}"}, {}),
                    ({}, {"api_key": OTHER}),
                    ({"Authorization": "Basic abc"}, {"api_key": KEY}),
                )
            ]

    assert asyncio.run(scenario()) == [200] * 4


@pytest.mark.parametrize("settings", [ServerSettings(), LOCKED])
def test_ping_asks_for_no_key(settings: ServerSettings) -> None:
    assert asyncio.run(ask(settings, "GET", "/ping")).status_code == 200


def test_without_keys_a_key_is_of_no_concern() -> None:
    answer = asyncio.run(
        ask(ServerSettings(), "POST", "/invocations", {"Authorization": "Bearer x"})
    )
    assert answer.status_code == 200


async def refusal(connection: ClientConnection) -> tuple[str, int]:
    """The code of the error that comes first, and the close code behind it."""
    async with asyncio.timeout(5):
        error = json.loads(await connection.recv())
        with pytest.raises(ConnectionClosed) as closed:
            await connection.recv()
    assert error["type"] == "error"
    assert closed.value.rcvd is not None
    return error["code"], closed.value.rcvd.code


async def speaks(connection: ClientConnection) -> bool:
    async with asyncio.timeout(5):
        await connection.send(json.dumps({"text": "Hi."}))
        return json.loads(await connection.recv())["type"] == "synthesis_start"


def test_a_websocket_without_a_key_is_told_so_and_closed() -> None:
    async def scenario() -> None:
        async with serving(LOCKED) as rig:
            async with connect(rig.socket_url) as connection:
                assert await refusal(connection) == ("unauthorized", 1008)
            async with connect(rig.socket_url + "?api_key=wrong-wrong") as connection:
                assert await refusal(connection) == ("unauthorized", 1008)
            assert rig.speech.scheduler.streams == 0

    asyncio.run(scenario())


def test_a_websocket_brings_its_key_in_any_of_three_places() -> None:
    async def scenario() -> None:
        async with serving(LOCKED) as rig:
            headers = {"Authorization": f"Bearer {KEY}"}
            async with connect(rig.socket_url, additional_headers=headers) as connection:
                assert await speaks(connection)
            async with connect(f"{rig.socket_url}?api_key={KEY}") as connection:
                assert await speaks(connection)
            offered = [Subprotocol("speakahead"), Subprotocol(f"speakahead.key.{OTHER}")]
            async with connect(rig.socket_url, subprotocols=offered) as connection:
                assert connection.subprotocol == "speakahead", "the key is not sent back"
                assert await speaks(connection)

    asyncio.run(scenario())


def test_no_key_is_in_the_log(capsys: pytest.CaptureFixture[str]) -> None:
    async def scenario() -> None:
        async with serving(LOCKED) as rig:
            async with connect(f"{rig.socket_url}?api_key={KEY}") as connection:
                assert await speaks(connection)
            async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{rig.port}") as client:
                await client.post(f"/invocations?api_key={KEY}", json=BODY)
                await client.get(f"/nowhere/{KEY}")

    root = logging.getLogger()
    before = root.handlers[:]
    configure(LogFormat.TEXT)
    try:
        asyncio.run(scenario())
    finally:
        root.handlers[:] = before
    written = capsys.readouterr().err
    assert "request" in written, "nothing was logged at all"
    assert KEY not in written
    assert KEY not in repr(LOCKED)


def test_a_page_of_another_origin_may_not_spend_the_machine_s_time() -> None:
    settings = ServerSettings(cors_origins=(PAGE,))

    async def scenario() -> None:
        async with serving(settings) as rig:
            own = f"http://127.0.0.1:{rig.port}"
            async with httpx.AsyncClient(base_url=own) as client:
                statuses = {
                    origin: await client.post("/invocations", json=BODY, headers={"Origin": origin})
                    for origin in (PAGE, own, "https://evil.example", "null")
                }
                assert [answer.status_code for answer in statuses.values()] == [200, 200, 403, 403]
                assert statuses[PAGE].headers["access-control-allow-origin"] == PAGE
                assert statuses["null"].json()["error"]["code"] == "forbidden"
            async with connect(rig.socket_url, origin=Origin("https://evil.example")) as connection:
                assert await refusal(connection) == ("forbidden", 1008)
            for origin in (Origin(PAGE), None):
                async with connect(rig.socket_url, origin=origin) as connection:
                    assert await speaks(connection)

    asyncio.run(scenario())


def test_a_preflight_needs_no_key() -> None:
    settings = ServerSettings(api_keys=(KEY,), cors_origins=(PAGE,))
    headers = {
        "Origin": PAGE,
        "Access-Control-Request-Method": "POST",
        "Access-Control-Request-Headers": "authorization, content-type",
    }
    answer = asyncio.run(ask(settings, "OPTIONS", "/invocations", headers))
    assert answer.status_code == 200
    assert answer.headers["access-control-allow-origin"] == PAGE
    assert "authorization" in answer.headers["access-control-allow-headers"].lower()


def test_without_a_list_there_are_no_cross_origin_headers() -> None:
    answer = asyncio.run(ask(ServerSettings(), "POST", "/invocations", {"Origin": PAGE}))
    assert answer.status_code == 200
    assert "access-control-allow-origin" not in answer.headers


@pytest.mark.parametrize(
    ("listed", "keys"),
    [
        ("", ()),
        (" , \n", ()),
        ("first-key-1, second-key", ("first-key-1", "second-key")),
        ("# a comment\nfirst-key-1\r\n\nsecond-key\n", ("first-key-1", "second-key")),
    ],
)
def test_keys_are_listed_by_commas_and_lines(listed: str, keys: tuple[str, ...]) -> None:
    assert parse_keys(listed) == keys


@pytest.mark.parametrize("listed", ["short", "with space in it", "ünsuitable-key", "k" * 513])
def test_a_malformed_key_is_refused_and_not_repeated(listed: str) -> None:
    with pytest.raises(InvalidRequest) as refused:
        parse_keys(f"good-key-1,{listed}")
    assert "number 2" in refused.value.message
    assert listed not in refused.value.message


def test_a_file_without_keys_does_not_open_the_server(tmp_path: Path) -> None:
    file = tmp_path / "keys"
    with pytest.raises(InvalidRequest, match="cannot be read"):
        read_keys(file)
    file.write_text("# none yet\n")
    with pytest.raises(InvalidRequest, match="holds none"):
        read_keys(file)
    file.write_text(f"{KEY}\n")
    assert read_keys(file) == (KEY,)


def test_the_keys_of_the_environment_and_of_a_file_all_count(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    file = tmp_path / "keys"
    file.write_text(OTHER)
    monkeypatch.delenv(API_KEYS_VARIABLE, raising=False)
    assert api_keys(None) == ()
    assert api_keys(file) == (OTHER,)
    monkeypatch.setenv(API_KEYS_VARIABLE, KEY)
    assert api_keys(file) == (KEY, OTHER)
    monkeypatch.setenv(API_KEYS_VARIABLE, " , ")
    with pytest.raises(InvalidRequest, match="holds no key"):
        api_keys(file)
