"""``InvokeEndpoint`` and ``InvokeEndpointWithResponseStream``: a POST to the container."""

from __future__ import annotations

import asyncio

from speakahead.emulator.container import Address, ContainerAnswer, post
from speakahead.emulator.events import PayloadPart
from speakahead.emulator.exchange import Exchange
from speakahead.emulator.faults import FaultFired
from speakahead.emulator.refusals import Refused, model_error
from speakahead.emulator.response import EventResponse

_ROUTE = "/invocations"
_MAX_BODY = 25 * 1024 * 1024
_BODY_TIMEOUT_S = 60.0
_ANSWER_TIMEOUT_S = 60.0
_MAX_ORIGINAL_MESSAGE = 1024
_PASSED_ON = ("content-type", "accept", "x-amzn-sagemaker-custom-attributes")


async def invoke(
    exchange: Exchange, address: Address, request_id: str, headers: list[tuple[str, str]]
) -> None:
    """Pass a request on, and the container's whole answer back.

    Args:
        headers: of the answer, besides its content type.

    Raises:
        Refused, ClientGone
    """
    body = await _read_body(exchange)
    async with post(
        address, _ROUTE, _container_headers(exchange, request_id), body, _ANSWER_TIMEOUT_S
    ) as answer:
        await _check(answer)
        whole = await answer.whole(_MAX_BODY)
        content_type = answer.headers.get("content-type", "application/octet-stream")
    length = ("content-length", str(len(whole)))
    await exchange.start(200, [("content-type", content_type), length, *headers])
    await exchange.send(whole)
    await exchange.end()


async def invoke_with_response_stream(
    exchange: Exchange, response: EventResponse, address: Address, request_id: str
) -> None:
    """Pass a request on, and the container's answer back as it comes: a part for each piece.

    Raises:
        Refused, ClientGone
    """
    body = await _read_body(exchange)
    passed_on = _container_headers(exchange, request_id)
    if accept := exchange.headers.get("x-amzn-sagemaker-accept"):
        passed_on["accept"] = accept
    async with post(address, _ROUTE, passed_on, body, _ANSWER_TIMEOUT_S) as answer:
        await _check(answer)
        content_type = answer.headers.get("content-type", "application/octet-stream")
        try:
            await response.start([("x-amzn-sagemaker-content-type", content_type)])
            async for piece in answer.body:
                await response.part(PayloadPart(piece))
            await response.end()
        except FaultFired as fired:
            await response.perform(fired.fault)
        except Refused as broken:  # the answer has begun, so it is told as an event
            await response.model_stream_error("StreamBroken", broken.message)


async def _read_body(exchange: Exchange) -> bytes:
    body = bytearray()
    try:
        async with asyncio.timeout(_BODY_TIMEOUT_S):
            while piece := await exchange.read():
                body += piece
                if len(body) > _MAX_BODY:
                    raise Refused(413, "ValidationError", "The body is larger than 25 MB.")
    except TimeoutError:
        raise Refused(408, "ValidationError", "The body did not arrive in time.") from None
    return bytes(body)


def _container_headers(exchange: Exchange, request_id: str) -> dict[str, str]:
    passed_on = {name: exchange.headers[name] for name in _PASSED_ON if name in exchange.headers}
    return {"X-Amzn-SageMaker-Request-Id": request_id, **passed_on}


async def _check(answer: ContainerAnswer) -> None:
    if not 200 <= answer.status < 300:
        original = (await answer.whole(_MAX_ORIGINAL_MESSAGE)).decode(errors="replace")
        message = f"The container answered with status {answer.status}."
        raise model_error(message, answer.status, original)
