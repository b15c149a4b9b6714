"""Speech from an Amazon SageMaker AI endpoint, over its bidirectional stream.

The container behind the endpoint speaks protocol 2; this carries its messages over the runtime's
HTTP/2 API with the real SDK. A session outlives its connection: it is renewed before the
platform's limit of 30 minutes, and resumed when it is lost (see ``backends.resuming``).
"""

from __future__ import annotations

import asyncio
import contextlib
import copy
import logging
import os
import re
from collections import deque
from collections.abc import Coroutine
from typing import Any

from aws_sdk_sagemaker_runtime_http2 import models
from aws_sdk_sagemaker_runtime_http2.client import AsyncSageMakerRuntimeHTTP2Client
from aws_sdk_sagemaker_runtime_http2.config import AsyncSageMakerRuntimeHTTP2Config
from smithy_core.exceptions import CallError
from smithy_http.aio.crt import AWSCRTHTTPClient

from speakahead.backends.credentials import BotocoreCredentials
from speakahead.backends.remote import ConnectionEnded, MessageConnection, RemoteStream
from speakahead.backends.resuming import ResumingStream, Resumption
from speakahead.errors import (
    ConnectionFailed,
    InvalidRequest,
    Overloaded,
    SpeakaheadError,
    Unauthorized,
)
from speakahead.protocol.v1 import ROUTE
from speakahead.session.events import VoiceSettings

_log = logging.getLogger(__name__)

_NAME = re.compile(r"[A-Za-z0-9](-*[A-Za-z0-9]){0,62}")
"""Source: pattern of EndpointName in the API's reference."""

_NORMAL = "1000"
_PARTS_AHEAD = 64
_CLOSE_S = 1.0
_LARGEST = 4 * 1024 * 1024  # bytes of a message

_RENEW_AFTER_S = 25 * 60.0
"""The platform ends a session after 30 minutes."""


class SageMakerBackend:
    """Opens sessions with an endpoint.

    Args:
        endpoint_name: the endpoint.
        region: its region; None: that of the environment or the profile.
        profile: of the AWS configuration files; None: the default one.
        endpoint_url: where the runtime is served, for private links and the local endpoint; None:
            ``AWS_ENDPOINT_URL_SAGEMAKER_RUNTIME_HTTP2``, or the region's.
        target_variant: the production variant that is to answer; None: any.
        timeout_s: for the connection and the server's greeting.
        silence_s: a session in which the server owes an answer, and sends nothing for this long,
            has failed.
        resumption: when connections are renewed, and how hard lost ones are tried again.

    Raises:
        InvalidRequest: the name cannot be one, or there is no region.
    """

    def __init__(
        self,
        endpoint_name: str,
        *,
        region: str | None = None,
        profile: str | None = None,
        endpoint_url: str | None = None,
        target_variant: str | None = None,
        timeout_s: float = 10.0,
        silence_s: float = 30.0,
        resumption: Resumption | None = None,
    ) -> None:
        if not _NAME.fullmatch(endpoint_name):
            raise InvalidRequest("This cannot be the name of a SageMaker endpoint.")
        self._credentials = BotocoreCredentials(profile, timeout_s=timeout_s)
        self._region = region or self._credentials.region() or ""
        if not self._region:
            raise InvalidRequest("No AWS region is set; name one.")
        # The SDK would leave out the port, and the plain one never answers.
        self._url = (
            endpoint_url
            or os.environ.get("AWS_ENDPOINT_URL_SAGEMAKER_RUNTIME_HTTP2")
            or f"https://runtime.sagemaker.{self._region}.{_suffix(self._region)}:8443"
        )
        self._input = models.InvokeEndpointWithBidirectionalStreamInput(
            endpoint_name=endpoint_name,
            target_variant=target_variant,
            model_invocation_path=ROUTE.strip("/"),
            model_query_string="protocol=2",
        )
        self._timeout_s = timeout_s
        self._silence_s = silence_s
        self._resumption = resumption or Resumption(renew_after_s=_RENEW_AFTER_S)
        self._config: AsyncSageMakerRuntimeHTTP2Config | None = None
        self._lock = asyncio.Lock()

    def open(self, settings: VoiceSettings | None = None) -> ResumingStream:
        """A new session, which connects when it is entered."""

        def leg(settings: VoiceSettings) -> RemoteStream:
            return RemoteStream(
                self._connect, settings, timeout_s=self._timeout_s, silence_s=self._silence_s
            )

        return ResumingStream(leg, settings, self._resumption)

    async def aclose(self) -> None:
        """Sessions share nothing that has to be closed."""

    async def _connect(self) -> MessageConnection:
        # The SDK would wait for ever where there are no credentials.
        await self._credentials.get_identity()
        async with self._lock:
            if self._config is None:
                self._config = await AsyncSageMakerRuntimeHTTP2Config.resolve(
                    region=self._region,
                    endpoint_uri=self._url,
                    aws_credentials_identity_resolver=self._credentials,
                    transport=AWSCRTHTTPClient(),  # the default one has no HTTP/2
                )
        # A client of its own for each session, so that none inherits another's dead connection.
        # Copies of the transport share one thread; a client closes the one that it was given.
        config = copy.copy(self._config)
        config.transport = copy.deepcopy(self._config.transport)
        client = AsyncSageMakerRuntimeHTTP2Client(config=config)
        try:
            stream = await client.invoke_endpoint_with_bidirectional_stream(self._input)
        except BaseException as error:
            await _close(client)
            if isinstance(error, Exception):
                raise _typed(error) from None
            raise
        return _SageMakerConnection(client, stream)


class _SageMakerConnection:
    """One bidirectional stream; see ``MessageConnection``.

    One task reads all the time, because a read that is cancelled spoils the SDK's stream.
    """

    def __init__(self, client: AsyncSageMakerRuntimeHTTP2Client, stream: Any) -> None:
        self._client = client
        self._stream = stream
        self._messages: deque[str | bytes] = deque()
        self._room = asyncio.Semaphore(_PARTS_AHEAD)
        self._arrived = asyncio.Event()
        self._end: Exception | None = None
        self._gone = asyncio.Event()
        self._reading = asyncio.create_task(self._read())
        self._closing: asyncio.Task[None] | None = None

    async def send(self, frame: str) -> None:
        part = models.RequestPayloadPart(
            bytes_=frame.encode(), data_type="UTF8", completion_state="COMPLETE"
        )
        event = models.RequestStreamEventPayloadPart(value=part)
        try:
            sent = await self._unless_gone(self._stream.input_stream.send(event))
        except Exception as error:
            _log.debug("the stream takes nothing more: %s", type(error).__name__)
            sent = False
        if not sent:
            raise ConnectionFailed("The endpoint has closed the connection.")

    async def receive(self) -> str | bytes:
        while not self._messages:
            if self._end is not None:
                raise self._end
            self._arrived.clear()
            await self._arrived.wait()
        self._room.release()
        return self._messages.popleft()

    async def aclose(self) -> None:
        if self._closing is None:
            self._closing = asyncio.create_task(self._close())
        await asyncio.shield(self._closing)

    async def _close(self) -> None:
        self._gone.set()
        # Not with a time-out: where the peer does not read, the SDK answers it by waiting again.
        ending = asyncio.create_task(self._stream.input_stream.close())
        ending.add_done_callback(lambda task: task.cancelled() or task.exception())
        await asyncio.wait({ending}, timeout=_CLOSE_S)
        # The client complains of a stream that ends after it.
        await asyncio.wait({self._reading}, timeout=_CLOSE_S)
        self._reading.cancel()
        await asyncio.gather(self._reading, return_exceptions=True)
        await _close(self._client)

    async def _unless_gone(self, work: Coroutine[Any, Any, None]) -> bool:
        """Do work that a dead peer would block for ever; whether it was done."""
        working = asyncio.create_task(work)
        gone = asyncio.create_task(self._gone.wait())
        try:
            await asyncio.wait({working, gone}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            gone.cancel()
            if not working.done():
                working.cancel()
        if not working.done():
            return False
        working.result()
        return True

    async def _read(self) -> None:
        try:
            _, receiver = await self._stream.await_output()
            if receiver is None:
                raise ConnectionFailed("The endpoint has opened no stream.")
            message = _Assembly()
            while (event := await receiver.receive()) is not None:
                if isinstance(event, models.ResponseStreamEventPayloadPart):
                    whole = message.add(event.value)
                    if whole is not None:
                        await self._room.acquire()
                        self._messages.append(whole)
                        self._arrived.set()
            self._end = ConnectionEnded(proper=False)  # it proves nothing
        except models.ModelStreamError as error:
            # The platform's word for: the container has closed its socket.
            self._end = ConnectionEnded(proper=error.error_code == _NORMAL)
        except models.InternalStreamFailure:
            self._end = ConnectionEnded(proper=False)
        except asyncio.CancelledError:
            self._end = ConnectionEnded(proper=False)
            raise
        except Exception as error:
            self._end = _typed(error)
        finally:
            self._gone.set()
            self._arrived.set()


async def _close(client: AsyncSageMakerRuntimeHTTP2Client) -> None:
    with contextlib.suppress(Exception):
        async with asyncio.timeout(_CLOSE_S):
            await client.close()


class _Assembly:
    """Parts to whole messages."""

    def __init__(self) -> None:
        self._pieces: list[bytes] = []
        self._text = False

    def add(self, part: models.ResponsePayloadPart) -> str | bytes | None:
        """Take a part; the message that it completes."""
        if not self._pieces:
            self._text = part.data_type == "UTF8"
        self._pieces.append(part.bytes_ or b"")
        if sum(map(len, self._pieces)) > _LARGEST:
            raise ConnectionFailed("The endpoint sent a message that is too long.")
        if part.completion_state == "PARTIAL":
            return None
        whole = b"".join(self._pieces)
        self._pieces = []
        return whole.decode("utf-8", "replace") if self._text else whole


def _suffix(region: str) -> str:
    return "amazonaws.com.cn" if region.startswith("cn-") else "amazonaws.com"


def _typed(error: Exception) -> SpeakaheadError:
    """Our error for one of the SDK's; its words are not ours to repeat."""
    match error:
        case SpeakaheadError():
            return error
        case models.InputValidationError():
            return InvalidRequest(
                "SageMaker refused the request; look at the endpoint's name, region and variant.",
                code="endpoint_refused",
            )
        case models.ModelError():
            return ConnectionFailed("The endpoint's container could not be reached, or refused.")
        case CallError(is_throttling_error=True):
            return Overloaded("SageMaker takes no more requests at the moment.")
        case models.ServiceUnavailableError() | models.InternalServerError():
            return ConnectionFailed("SageMaker is not available at the moment.")
        case CallError() if error.response_metadata.http_status_code in (401, 403):
            return Unauthorized("These AWS credentials may not use the endpoint.")
        case _:
            _log.debug("the endpoint cannot be reached: %s", type(error).__name__)
            return ConnectionFailed("The endpoint cannot be reached.")
