"""Asks a deployed agent: one request to AgentCore, and the events of its answer as they come."""

from __future__ import annotations

import asyncio
import json
import uuid
from collections.abc import AsyncGenerator, Iterator, Mapping
from typing import Any

from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from speakahead.errors import ConnectionFailed, RemoteError
from speakahead.infra.account import Account, aws_errors
from speakahead.protocol.sse import MEDIA_TYPE, SseReader

_SILENCE_S = 120
"""The longest that an answer may be silent: a new session's container has to start first."""


class Invocation:
    """One request, and its answer.

    Args:
        account: that the runtime is in.
        runtime_arn: of the agent.
        request: see ``agent.request.AgentRequest``.
        session_id: of an earlier conversation, at least 33 characters; None: a new one.
    """

    def __init__(
        self,
        account: Account,
        runtime_arn: str,
        request: Mapping[str, Any],
        session_id: str | None = None,
    ) -> None:
        # No retries: an answer that has begun would be asked for, and paid for, again.
        config = Config(read_timeout=_SILENCE_S, retries={"total_max_attempts": 1})
        self._client = account.client("bedrock-agentcore", config)
        self._runtime_arn = runtime_arn
        self._payload = json.dumps(request).encode()
        self.session_id = session_id or f"speakahead-{uuid.uuid4().hex}"

    async def events(self) -> AsyncGenerator[dict[str, Any]]:
        """The events of the turn; see ``agent.events``.

        Raises:
            AccountUnavailable: AWS refused.
            RemoteError: the agent refused, with its own code.
            ConnectionFailed: the answer is none, or has broken off.
        """
        answer = await asyncio.to_thread(self._ask)
        body = answer["response"]
        try:
            if not str(answer.get("contentType", "")).startswith(MEDIA_TYPE):
                raise _refusal(await asyncio.to_thread(body.read))
            reader, ended = SseReader(), False
            chunks = body.iter_chunks(chunk_size=4096)
            while (chunk := await asyncio.to_thread(_next, chunks)) is not None:
                for event in reader.feed(chunk):
                    value = event.json()
                    if not isinstance(value, dict) or not isinstance(value.get("type"), str):
                        raise ConnectionFailed("The agent's answer is not one of speakahead's.")
                    ended = value["type"] == "agent_end"
                    yield value
            if not ended:
                raise ConnectionFailed("The agent's answer has broken off.")
        finally:
            body.close()

    def _ask(self) -> dict[str, Any]:
        with aws_errors():
            try:
                answer: dict[str, Any] = self._client.invoke_agent_runtime(
                    agentRuntimeArn=self._runtime_arn,
                    runtimeSessionId=self.session_id,
                    contentType="application/json",
                    accept=MEDIA_TYPE,
                    payload=self._payload,
                )
            except ClientError as error:
                if error.response["Error"].get("Code") == "RuntimeClientError":
                    raise ConnectionFailed(
                        "The agent's container did not answer; its log group says why."
                    ) from None
                raise
        return answer


def _next(chunks: Iterator[bytes]) -> bytes | None:
    """The next chunk; None at the end."""
    try:
        return next(chunks, None)
    except BotoCoreError:
        raise ConnectionFailed("The agent's answer has broken off.") from None


def _refusal(body: bytes) -> RemoteError | ConnectionFailed:
    """What an agent says that refuses a request: one ``error`` event as JSON."""
    try:
        event = json.loads(body)
        return RemoteError(
            str(event["message"]), code=str(event["code"]), retryable=bool(event["retryable"])
        )
    except (ValueError, LookupError, TypeError):
        return ConnectionFailed("The agent's answer is not one of speakahead's.")
