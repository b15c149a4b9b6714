"""The agent behind Amazon Bedrock AgentCore's contract: ``/invocations``, ``/ping`` and ``/ws``.

The page on which one can ask it is at ``/``.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from typing import Any

from bedrock_agentcore.runtime import BedrockAgentCoreApp
from bedrock_agentcore.runtime.context import RequestContext
from starlette.applications import Starlette
from starlette.responses import JSONResponse, Response
from starlette.types import Receive, Scope, Send
from strands import Agent, ModelRetryStrategy
from strands.models.model import Model

from speakahead.agent.conversation import Conversation, Conversations
from speakahead.agent.door import SEND_TIMEOUT_S, WebSocketDoor
from speakahead.agent.events import AgentEvent, error_event
from speakahead.agent.interruption import Interruption
from speakahead.agent.request import AgentRequest, parse_request
from speakahead.agent.tools import TOOLS
from speakahead.backends.interface import SpeechBackend
from speakahead.errors import SpeakaheadError, describe_fault
from speakahead.protocol.sse import MEDIA_TYPE, encode_event
from speakahead.web.routes import Menu, page_routes

log = logging.getLogger(__name__)

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
        # By default it would ask a busy service again for two minutes, while somebody listens.
        retry_strategy=ModelRetryStrategy(max_attempts=2, initial_delay=1),
    )


def create_app(
    agent: Callable[[], Agent],
    speech: SpeechBackend,
    *,
    voice: str = "af_heart",
    voices: Sequence[str] = (),
    model: str = "",
    send_timeout_s: float = SEND_TIMEOUT_S,
) -> BedrockAgentCoreApp:
    """The application.

    Args:
        agent: makes the agent of a new conversation.
        speech: speaks for all of them; is closed when the application ends.
        voice: of the agent, where a request names none.
        voices: those that the page offers.
        model: what the page says about the model.
        send_timeout_s: how long a client may take none of what it is sent before it counts as one
            that has left.
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
        return EventStream(lambda: conversations.named(session), request, send_timeout_s)

    @app.websocket
    async def talk(websocket: Any, context: RequestContext) -> None:
        session = context.session_id
        await WebSocketDoor(websocket, conversations, session, send_timeout_s).run()

    app.router.routes += page_routes(Menu(tuple(voices), voice, model))
    return app


class EventStream(Response):
    """A turn's events as SSE, one ``data:`` line each, until the client leaves.

    A generator that is given to the SDK is not stopped when its client leaves, and a streaming
    response may notice only when it has something to send. This one looks all the time. A client
    that takes nothing for a while has left, too.

    Args:
        conversation: gives the conversation, on the server's loop.
        request: what was asked.
        send_timeout_s: how long the client may take none of what it is sent.
    """

    media_type = MEDIA_TYPE

    def __init__(
        self,
        conversation: Callable[[], Conversation],
        request: AgentRequest,
        send_timeout_s: float = SEND_TIMEOUT_S,
    ) -> None:
        super().__init__(headers={"cache-control": "no-cache", "x-accel-buffering": "no"})
        del self.headers["content-length"]
        self._conversation = conversation
        self._request = request
        self._send_timeout_s = send_timeout_s

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        conversation = self._conversation()
        interruption = Interruption()
        sending = asyncio.create_task(self._send_all(conversation, interruption, send))
        leaving = asyncio.create_task(_left(receive))
        stuck = asyncio.create_task(interruption.stuck.wait())
        tasks = {sending, leaving, stuck}
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            if not sending.done() or sending.exception() is not None:
                # Though the turn may have ended, the client did not get the end of it.
                conversation.interrupt(of=interruption)
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)
        fault = None if sending.cancelled() else sending.exception()
        if fault is not None and not isinstance(fault, TimeoutError):
            # Not raised: the server would log its text, too.
            log.error("an answer failed: %s", describe_fault(fault))

    async def _send_all(
        self, conversation: Conversation, interruption: Interruption, send: Send
    ) -> None:
        async def put(message: dict[str, Any]) -> None:
            async with asyncio.timeout(self._send_timeout_s):
                await send(message)

        async def put_event(event: AgentEvent) -> None:
            body = encode_event(event)
            await put({"type": "http.response.body", "body": body, "more_body": True})

        await put({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
        try:
            async with contextlib.aclosing(conversation.turn(self._request, interruption)) as turn:
                async for event in turn:
                    await put_event(event)
        except SpeakaheadError as error:
            await put_event(error_event(error))
        await put({"type": "http.response.body", "body": b""})


async def _left(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
