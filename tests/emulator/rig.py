"""The real SDK client, a local endpoint, and a container that does what a test tells it."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any

from aws_sdk_sagemaker_runtime_http2.client import AsyncSageMakerRuntimeHTTP2Client
from aws_sdk_sagemaker_runtime_http2.config import AsyncSageMakerRuntimeHTTP2Config
from aws_sdk_sagemaker_runtime_http2.models import (
    InvokeEndpointWithBidirectionalStreamInput,
    RequestPayloadPart,
    RequestStreamEventPayloadPart,
    ResponsePayloadPart,
)
from smithy_aws_core.identity import AWSCredentialsIdentity
from smithy_http.aio.crt import AWSCRTHTTPClient
from websockets.asyncio.server import ServerConnection, serve
from websockets.exceptions import ConnectionClosed

from speakahead.emulator import LocalEndpoint
from tests.emulator.trust import certificates

type Behaviour = Callable[[ServerConnection], Awaitable[None]]


def scenario(coroutine: Coroutine[Any, Any, None]) -> None:
    """Run to the end, within half a minute."""

    async def bounded() -> None:
        async with asyncio.timeout(90):
            await coroutine

    asyncio.run(bounded())


async def echo(socket: ServerConnection) -> None:
    """Every message comes back as what it came, text or binary."""
    with contextlib.suppress(ConnectionClosed):
        async for message in socket:
            await socket.send(message)


@dataclass
class Container:
    """A container that is running."""

    url: str
    requests: list[Any] = field(default_factory=list)
    ended: asyncio.Event = field(default_factory=asyncio.Event)
    close_code: int | None = None


@contextlib.asynccontextmanager
async def container(behaviour: Behaviour = echo, **options: Any) -> AsyncIterator[Container]:
    async def handle(socket: ServerConnection) -> None:
        running.requests.append(socket.request)
        try:
            await behaviour(socket)
        finally:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(30):
                    await socket.wait_closed()
            running.close_code = socket.close_code
            running.ended.set()

    options = {"ping_interval": None, "close_timeout": 2, **options}
    async with serve(handle, "127.0.0.1", 0, **options) as server:
        port = server.sockets[0].getsockname()[1]
        running = Container(f"http://127.0.0.1:{port}")
        yield running


def endpoint(container: Container | str, **options: Any) -> LocalEndpoint:
    url = container if isinstance(container, str) else container.url
    return LocalEndpoint(url, certificates=certificates(), **options)


class Credentials:
    """Of nobody."""

    async def get_identity(self, *, properties: Any) -> AWSCredentialsIdentity:
        return AWSCredentialsIdentity(access_key_id="local", secret_access_key="local")

    def __deepcopy__(self, memo: Any) -> "Credentials":
        return self


class Stream:
    """A bidirectional stream of the SDK. One task reads; a cancelled read would spoil it."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream
        self._received: asyncio.Queue[ResponsePayloadPart | Exception | None] = asyncio.Queue()
        self._reading = asyncio.create_task(self._read())

    async def _read(self) -> None:
        try:
            _, receiver = await self._stream.await_output()
            while (event := await receiver.receive()) is not None:
                self._received.put_nowait(event.value)
            self._received.put_nowait(None)
        except Exception as error:
            self._received.put_nowait(error)

    async def send(
        self, data: bytes | str, data_type: str | None = None, state: str | None = None
    ) -> None:
        if isinstance(data, str):
            data, data_type = data.encode(), data_type or "UTF8"
        part = RequestPayloadPart(bytes_=data, data_type=data_type, completion_state=state)
        await self._stream.input_stream.send(RequestStreamEventPayloadPart(value=part))

    async def receive(self, timeout_s: float = 60.0) -> ResponsePayloadPart:
        """The next part.

        Raises:
            EOFError: the stream has ended without an error.
            TimeoutError: nothing came.
            Exception: what the SDK raised.
        """
        async with asyncio.timeout(timeout_s):
            item = await self._received.get()
        if item is None:
            raise EOFError
        if isinstance(item, Exception):
            raise item
        return item

    async def end_input(self) -> None:
        await self._stream.input_stream.close()

    async def aclose(self) -> None:
        """End the input and read to the end, if that goes at once."""
        ending = asyncio.create_task(self.end_input())
        await asyncio.wait({ending}, timeout=1)
        if ending.done():
            await asyncio.wait({self._reading}, timeout=1)
        while tasks := {task for task in (ending, self._reading) if not task.done()}:
            # More than once: the SDK's close begins to wait anew when it is cancelled.
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks, timeout=0.1)
        await asyncio.gather(ending, return_exceptions=True)


@contextlib.asynccontextmanager
async def client(endpoint: LocalEndpoint) -> AsyncIterator[AsyncSageMakerRuntimeHTTP2Client]:
    config = await AsyncSageMakerRuntimeHTTP2Config.resolve(
        region="us-east-1",
        endpoint_uri=endpoint.url,
        transport=AWSCRTHTTPClient(),
        aws_credentials_identity_resolver=Credentials(),
    )
    async with AsyncSageMakerRuntimeHTTP2Client(config=config) as sdk:
        yield sdk


@contextlib.asynccontextmanager
async def stream_of(
    sdk: AsyncSageMakerRuntimeHTTP2Client, name: str = "kokoro-82m", **options: Any
) -> AsyncIterator[Stream]:
    request = InvokeEndpointWithBidirectionalStreamInput(endpoint_name=name, **options)
    async with asyncio.timeout(60):
        opened = Stream(await sdk.invoke_endpoint_with_bidirectional_stream(request))
    try:
        yield opened
    finally:
        await opened.aclose()


@contextlib.asynccontextmanager
async def stream(endpoint: LocalEndpoint, **options: Any) -> AsyncIterator[Stream]:
    """A stream on a connection of its own."""
    async with client(endpoint) as sdk, stream_of(sdk, **options) as opened:
        yield opened


async def until(condition: Callable[[], bool], timeout_s: float = 60.0) -> None:
    """Wait until something that other tasks have to bring about is so."""
    async with asyncio.timeout(timeout_s):
        while not condition():  # noqa: ASYNC110
            await asyncio.sleep(0.005)
