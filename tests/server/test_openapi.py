"""The OpenAPI document, and that the doors keep to it whatever they are sent."""

import asyncio
import threading
from collections.abc import Iterator

import httpx
import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from schemathesis import Case
from schemathesis.checks import not_a_server_error
from schemathesis.schemas import APIOperation
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from speakahead.server.openai import RESPONSE_FORMATS
from speakahead.server.openapi import document
from speakahead.server.settings import ServerSettings
from tests.server.rig import serving

OPERATIONS = [
    operation.ok() for operation in schemathesis.openapi.from_dict(document()).get_all_operations()
]
CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
]


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    """A server on a thread of its own, whose engine costs nothing."""
    started = threading.Event()
    port = 0
    loop = asyncio.new_event_loop()
    stopping = asyncio.Event()

    async def run() -> None:
        nonlocal port
        async with serving(ServerSettings()) as rig:
            port = rig.port
            started.set()
            await stopping.wait()

    thread = threading.Thread(target=loop.run_until_complete, args=(run(),))
    thread.start()
    assert started.wait(10)
    yield f"http://127.0.0.1:{port}"
    loop.call_soon_threadsafe(stopping.set)
    thread.join()
    loop.close()


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: operation.label)
def test_every_answer_is_in_the_document_and_none_is_a_fault(
    operation: APIOperation, url: str
) -> None:
    @given(case=operation.as_strategy())
    @settings(max_examples=25, suppress_health_check=list(HealthCheck), derandomize=True)
    def check(case: Case) -> None:
        case.validate_response(case.call(base_url=url, timeout=10), checks=CHECKS)

    check()


def test_the_document_is_served_and_names_every_http_door(url: str) -> None:
    served = httpx.get(url + "/openapi.json").json()
    assert served == document()
    for path, operations in served["paths"].items():
        for method in operations:
            assert httpx.request(method, url + path, json={}).status_code not in (404, 405)


def test_the_bodies_are_those_that_the_doors_validate() -> None:
    schemas = document()["components"]["schemas"]
    assert schemas["Invocation"]["required"] == ["text"]
    assert schemas["SpeechBody"]["properties"]["response_format"]["enum"] == list(RESPONSE_FORMATS)
    for name in ("Invocation", "SpeechBody"):
        for field in schemas[name]["properties"].values():
            assert "$ref" not in field or field["$ref"].rsplit("/", 1)[1] in schemas
