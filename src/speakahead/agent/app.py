"""The agent behind Amazon Bedrock AgentCore's contract: ``/invocations``, ``/ping`` and ``/ws``.

The page on which one can ask it is at ``/``.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Sequence
from typing import Any

from bedrock_agentcore.runtime import BedrockAgentCoreApp
from bedrock_agentcore.runtime.context import RequestContext
from starlette.applications import Starlette
from starlette.responses import JSONResponse, Response
from starlette.types import Receive, Scope, Send
from strands import Agent
from strands.models.model import Model

from speakahead.agent.conversation import Conversations
from speakahead.agent.door import WebSocketDoor
from speakahead.agent.events import AgentEvent
from speakahead.agent.request import parse_request
from speakahead.agent.tools import TOOLS
from speakahead.agent.turn import error_event
from speakahead.backends.interface import SpeechBackend
from speakahead.errors import SpeakaheadError
from speakahead.protocol.sse import MEDIA_TYPE, encode_event
from speakahead.web.routes import Menu, page_routes

SYSTEM_PROMPT = (
    "You are a friendly voice assistant. Everything you write is spoken aloud, so answer in a few "
    "short sentences of plain English, without lists, headings, code or emoji. Before you call a "
    "tool, say in one short sentence that you are looking it up."
)


def make_agent(model: Model, *, tools: bool, system_prompt: str = SYSTEM_PROMPT) -> Agent:
    """An agent for one conversation."""
    return Agent(
        model=model,
        system_prompt=system_prompt,
        tools=list(TOOLS) if tools else [],
        callback_handler=None,
    )


def create_app(
    agent: Callable[[], Agent],
    speech: SpeechBackend,
    *,
    voice: str = "af_heart",
    voices: Sequence[str] = (),
    model: str = "",
) -> BedrockAgentCoreApp:
    """The application.

    Args:
        agent: makes the agent of a new conversation.
        speech: speaks for all of them; is closed when the application ends.
        voice: of the agent, where a request names none.
        voices: those that the page offers.
        model: what the page says about the model.
    """

    @contextlib.contextmanager
    def busy() -> Iterator[None]:
        """The runtime must not take a process that is speaking for an idle one."""
        task = app.add_async_task("turn")
        try:
            yield
        finally:
            app.complete_async_task(task)

    conversations = Conversations(agent, speech, voice=voice, busy=busy)

    @contextlib.asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        async with conversations:
            yield

    app = BedrockAgentCoreApp(lifespan=lifespan)

    @app.entrypoint
    async def invoke(payload: Any, context: RequestContext) -> Response:
        # The SDK runs this on a loop of its own, and only the response on the server's.
        try:
            request = parse_request(payload)
            request.encoder()  # refused before the answer begins
        except SpeakaheadError as error:
            return JSONResponse(error_event(error), status_code=400)
        session = context.session_id or request.session_id
        return EventStream(lambda: conversations.named(session).turn(request))

    @app.websocket
    async def talk(websocket: Any, context: RequestContext) -> None:
        await WebSocketDoor(websocket, conversations, context.session_id).run()

    app.router.routes += page_routes(Menu(tuple(voices), voice, model))
    return app


class EventStream(Response):
    """Events as SSE, one ``data:`` line each, until the client leaves.

    A generator that is given to the SDK is not stopped when its client leaves, and a streaming
    response may notice only when it has something to send. This one looks all the time.
    """

    media_type = MEDIA_TYPE

    def __init__(self, events: Callable[[], AsyncGenerator[AgentEvent]]) -> None:
        super().__init__(headers={"cache-control": "no-cache", "x-accel-buffering": "no"})
        del self.headers["content-length"]
        self._events = events

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        sending = asyncio.create_task(self._send_all(send))
        leaving = asyncio.create_task(_left(receive))
        try:
            await asyncio.wait({sending, leaving}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            leaving.cancel()
            if not sending.done():
                sending.cancel()
            await asyncio.gather(sending, leaving, return_exceptions=True)
        if not sending.cancelled() and (error := sending.exception()) is not None:
            raise error

    async def _send_all(self, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
        async with contextlib.aclosing(self._events()) as events:
            async for event in events:
                body = encode_event(event)
                await send({"type": "http.response.body", "body": body, "more_body": True})
        await send({"type": "http.response.body", "body": b""})


async def _left(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
