"""Lines that worker threads log, and lines that their results cause, name the request."""

import asyncio
import json

import httpx
from websockets.asyncio.client import connect

from speakahead.server.logs import LogFormat
from tests.conftest import ROUTE
from tests.server.rig import serving
from tests.server.test_logs import lines, logging_as

HEADER = "X-Amzn-SageMaker-Request-Id"


def test_a_fault_in_a_worker_thread_names_its_request() -> None:
    async def scenario() -> None:
        async with serving() as rig, httpx.AsyncClient() as client:
            url = f"http://127.0.0.1:{rig.port}/invocations"

            async def post(name: str, text: str) -> None:
                await client.post(url, json={"text": text}, headers={HEADER: name})

            await asyncio.gather(post("one", "This will explode."), post("two", "Hello."))

    with logging_as(LogFormat.JSON) as written:
        asyncio.run(scenario())
    faults = [
        line for line in lines(written) if line["logger"] == "speakahead.scheduling.scheduler"
    ]
    assert faults
    assert {line.get("request") for line in faults} == {"one"}
    outcomes = {
        line["session"]: (line.get("request"), line["outcome"])
        for line in lines(written)
        if line.get("event") == "utterance"
    }
    assert outcomes["two"] == ("two", "completed")
    assert outcomes["one"][0] == "one"


def test_what_fails_in_a_session_names_the_session() -> None:
    """The utterance ends by a result from a worker thread, with no task of the session at work."""

    async def scenario() -> None:
        async with serving() as rig:
            address = f"ws://127.0.0.1:{rig.port}{ROUTE}"
            async with connect(address, additional_headers={HEADER: "talk"}) as socket:
                await socket.send(json.dumps({"text": "This will explode. And this is said."}))
                async with asyncio.timeout(10):
                    async for frame in socket:
                        if isinstance(frame, str) and '"error"' in frame:
                            break

    with logging_as(LogFormat.JSON) as written:
        asyncio.run(scenario())
    ours = [line for line in lines(written) if str(line["logger"]).startswith("speakahead.")]
    told = [line for line in ours if line.get("event") == "utterance" or "fail" in str(line)]
    assert len(told) >= 2
    assert {line.get("request") for line in told} == {"talk"}
