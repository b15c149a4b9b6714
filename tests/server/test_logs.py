"""Log lines: their shape, their ids, and what is never in them."""

import asyncio
import contextlib
import io
import json
import logging
import re
from collections.abc import Iterator

import httpx
import pytest

from speakahead.backends.observation import UtteranceRecord
from speakahead.server.logs import LogFormat, UtteranceLog, configure, log_event, safe_id
from speakahead.server.settings import ServerSettings
from tests.server.rig import Rig, serving


@contextlib.contextmanager
def logging_as(log_format: LogFormat) -> Iterator[io.StringIO]:
    """The process's log as `speakahead serve` configures it, into a string."""
    root, ours = logging.getLogger(), logging.getLogger("speakahead")
    before, level, our_level = root.handlers[:], root.level, ours.level
    root.handlers.clear()
    configure(log_format)
    (handler,) = root.handlers
    assert isinstance(handler, logging.StreamHandler)
    written = io.StringIO()
    handler.setStream(written)
    try:
        yield written
    finally:
        root.handlers[:] = before
        root.setLevel(level)
        ours.setLevel(our_level)


async def post(rig: Rig, body: dict[str, object], **headers: str) -> httpx.Response:
    async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{rig.port}") as client:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return await client.post("/invocations", json=body, headers=named)


def lines(written: io.StringIO) -> list[dict[str, object]]:
    return [json.loads(line) for line in written.getvalue().splitlines()]


def test_json_is_one_object_a_line_with_the_id_of_its_request() -> None:
    async def scenario() -> tuple[str, str]:
        async with serving() as rig:
            one, two = await asyncio.gather(
                post(rig, {"text": "Hi."}, x_request_id="one"),
                post(rig, {"text": ""}, x_amzn_sagemaker_request_id="two", x_request_id="other"),
            )
            return one.headers["x-request-id"], two.headers["x-request-id"]

    with logging_as(LogFormat.JSON) as written:
        assert asyncio.run(scenario()) == ("one", "two")
    logged = lines(written)
    assert all({"time", "level", "logger"} <= set(line) for line in logged)
    assert all(
        re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", str(line["time"]))
        for line in logged
    )
    requests = {line["request"]: line for line in logged if line.get("event") == "request"}
    assert requests["one"]["status"] == 200
    assert requests["two"]["status"] == 400
    assert requests["one"]["path"] == "/invocations"
    (utterance,) = [line for line in logged if line.get("event") == "utterance"]
    assert (utterance["session"], utterance["outcome"]) == ("one", "completed")
    assert isinstance(utterance["first_sound_s"], float)


def test_text_has_the_same_fields() -> None:
    async def scenario() -> None:
        async with serving() as rig:
            await post(rig, {"text": "Hi."}, x_request_id="one")

    with logging_as(LogFormat.TEXT) as written:
        asyncio.run(scenario())
    assert re.search(
        r"^\S+Z INFO speakahead.server.logs: request method=POST path=/invocations status=200 "
        r"seconds=\S+ request=one$",
        written.getvalue(),
        re.MULTILINE,
    )


@pytest.mark.parametrize("given", ["", "x" * 65, "two words", "a/b", 'a"b', "a=b"])
def test_an_odd_id_is_replaced(given: str) -> None:
    async def scenario() -> str:
        async with serving() as rig:
            return (await post(rig, {"text": "Hi."}, x_request_id=given)).headers["x-request-id"]

    answered = asyncio.run(scenario())
    assert re.fullmatch(r"[0-9a-f]{32}", answered)


def test_what_is_polled_is_logged_only_if_the_answer_is_odd() -> None:
    async def scenario() -> None:
        async with (
            serving(ServerSettings(api_keys=("a-secret-key",))) as rig,
            httpx.AsyncClient(base_url=f"http://127.0.0.1:{rig.port}") as client,
        ):
            assert (await client.get("/ping")).status_code == 200
            assert (await client.get("/metrics?api_key=a-secret-key")).status_code == 200
            assert (await client.get("/metrics")).status_code == 401
            rig.speech.scheduler.close()
            assert (await client.get("/ping")).status_code == 503

    with logging_as(LogFormat.JSON) as written:
        asyncio.run(scenario())
    requests = [line for line in lines(written) if line.get("event") == "request"]
    assert [(line["path"], line["status"]) for line in requests] == [("/metrics", 401)]


def test_what_the_client_says_is_in_no_line() -> None:
    async def scenario() -> None:
        async with serving() as rig:
            await post(rig, {"text": "This marmalade will explode."})
            await post(rig, {"text": "Marmalade.", "voice": "marmalade"})
            async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{rig.port}") as client:
                await client.get("/marmalade?marmalade=marmalade")
                await client.post("/invocations?api_key=marmalade", content=b"marmalade")

    with logging_as(LogFormat.TEXT) as written:
        asyncio.run(scenario())
    assert "path=/invocations" in written.getvalue()
    assert "marmalade" not in written.getvalue().lower()


@pytest.mark.parametrize("log_format", list(LogFormat))
def test_an_exception_is_logged_by_place_and_not_by_text(log_format: LogFormat) -> None:
    log = logging.getLogger("speakahead.test")
    with logging_as(log_format) as written:
        try:
            int("marmalade")
        except ValueError:
            log.exception("it failed")
    assert "ValueError" in written.getvalue()
    assert "test_logs.py" in written.getvalue()
    assert "invalid literal" not in written.getvalue()
    if log_format is LogFormat.JSON:
        assert len(lines(written)) == 1


def test_an_utterance_s_id_is_the_client_s_and_logged_only_if_it_looks_like_one() -> None:
    ended = UtteranceRecord("s-1", "two\nlines", "af_heart", 1.0, outcome="cancelled")
    with logging_as(LogFormat.JSON) as written:
        UtteranceLog().utterance_ended(ended)

    (line,) = lines(written)
    assert (line["session"], line["utterance"], line["outcome"]) == ("s-1", "-", "cancelled")
    assert "first_sound_s" not in line, "it was never heard"


def test_safe_ids() -> None:
    assert safe_id("a.b_c-D:9+") == "a.b_c-D:9+"
    assert safe_id("a\n") == safe_id("") == safe_id("é") == "-"


def test_fields_that_are_none_are_left_out() -> None:
    with logging_as(LogFormat.JSON) as written:
        log_event(logging.getLogger("speakahead.test"), "tested", one=1, two=None)
    (line,) = lines(written)
    assert line["event"] == "tested"
    assert line["one"] == 1
    assert "two" not in line
