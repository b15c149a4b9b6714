"""A model that follows a script: for tests, and for benchmarks that must be fair."""

from __future__ import annotations

import asyncio
import json
import re
import threading
import time
import uuid
from collections.abc import AsyncGenerator, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, ConfigDict, Field
from strands.models.model import Model
from strands.types.content import Messages, SystemContentBlock
from strands.types.streaming import StreamEvent
from strands.types.tools import ToolChoice, ToolSpec

from speakahead.errors import InvalidRequest
from speakahead.protocol.json import Message, parse_object, validate

T = TypeVar("T", bound=BaseModel)

_TOKEN = re.compile(r"\s*\S{1,5}|\s+")
"""Pieces about as long as a language model's tokens: at most five characters and a space."""
_POLL_S = 0.02


@dataclass(frozen=True, slots=True)
class Say:
    """Text, written at the model's rate."""

    text: str


@dataclass(frozen=True, slots=True)
class Pause:
    """The model writes nothing for a while."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call; the rest of the step follows it without knowing its result."""

    tool: str
    arguments: dict[str, Any] = field(default_factory=dict)


Step = Sequence[Say | Pause | Call]

DEMO_SCRIPT: Sequence[Step] = (
    (
        Say(
            "Speech can begin long before a reply is complete. As soon as the first sentence "
            "exists, it is spoken, and the next ones are written meanwhile. So you hear me after "
            "a moment, however much I have to say. And when you interrupt me, I know which words "
            "you heard."
        ),
    ),
)


class _Script(Message):
    """The form of a script in a file."""

    class Part(Message):
        model_config = ConfigDict(extra="forbid")  # a name that is misspelt would say nothing

        say: str | None = None
        pause_s: Annotated[float, Field(ge=0)] | None = None
        call: str | None = None
        arguments: dict[str, Any] = Field(default_factory=dict)

    steps: Annotated[list[list[Part]], Field(min_length=1)]


def read_script(path: Path) -> list[Step]:
    """The steps in a JSON file::

        {"steps": [[{"say": "Let me check."}, {"call": "order_status",
                                               "arguments": {"order_number": "1042"}}],
                   [{"pause_s": 0.5}, {"say": "It comes on Thursday."}]]}

    Raises:
        InvalidRequest: it cannot be read, or has another form.
    """
    try:
        content = path.read_bytes()
    except OSError:
        raise InvalidRequest("The script cannot be read.") from None
    try:
        script = validate(_Script, parse_object(content))
    except InvalidRequest as invalid:
        raise InvalidRequest(invalid.message.replace("message", "script")) from None
    return [[step for part in parts for step in _steps_of(part)] for parts in script.steps]


def _steps_of(part: _Script.Part) -> Iterator[Say | Pause | Call]:
    if part.pause_s is not None:
        yield Pause(part.pause_s)
    if part.say is not None:
        yield Say(part.say)
    if part.call is not None:
        yield Call(part.call, part.arguments)


class ScriptedModel(Model):
    """Writes its steps one after the other, one for each call, and begins again after the last.

    Args:
        steps: what it writes. After one with a tool call Strands runs the tools and asks again.
        tokens_per_second: rate at which it writes; infinity: at once.
        first_token_s: how long it thinks before each step.

    Attributes:
        requests: the messages that it was given, one list for each call.
        written: how many tokens it has written in all.
    """

    def __init__(
        self,
        steps: Sequence[Step] = DEMO_SCRIPT,
        *,
        tokens_per_second: float = 30.0,
        first_token_s: float = 0.0,
    ) -> None:
        self._steps = steps
        self._rate = tokens_per_second
        self._first_token_s = first_token_s
        self.requests: list[Messages] = []
        self.written = 0

    def update_config(self, **model_config: Any) -> None:
        raise NotImplementedError("A script has no settings.")

    def get_config(self) -> dict[str, Any]:
        return {"model_id": "scripted"}

    def structured_output(
        self,
        output_model: type[T],
        prompt: Messages,
        system_prompt: str | None = None,
        **kwargs: Any,
    ) -> AsyncGenerator[dict[str, T | Any], None]:
        raise NotImplementedError("A script has only text and tool calls.")

    async def stream(
        self,
        messages: Messages,
        tool_specs: list[ToolSpec] | None = None,
        system_prompt: str | None = None,
        *,
        tool_choice: ToolChoice | None = None,
        system_prompt_content: list[SystemContentBlock] | None = None,
        invocation_state: dict[str, Any] | None = None,
        cancel_signal: threading.Event | None = None,
        **kwargs: Any,
    ) -> AsyncGenerator[StreamEvent, None]:
        step = self._steps[len(self.requests) % len(self._steps)]
        self.requests.append([{"role": m["role"], "content": m["content"]} for m in messages])
        due = time.monotonic() + self._first_token_s
        called = False
        yield {"messageStart": {"role": "assistant"}}
        for part in step:
            match part:
                case Say(text=text):
                    yield {"contentBlockStart": {"start": {}}}
                    for token in _TOKEN.findall(text):
                        await _until(due, cancel_signal)
                        due += 1 / self._rate
                        if cancel_signal is not None and cancel_signal.is_set():
                            return
                        self.written += 1
                        yield {"contentBlockDelta": {"delta": {"text": token}}}
                    yield {"contentBlockStop": {}}
                case Pause(seconds=seconds):
                    due += seconds
                    await _until(due, cancel_signal)
                case Call(tool=tool, arguments=arguments):
                    called = True
                    await _until(due, cancel_signal)
                    use_id = f"call-{uuid.uuid4().hex}"
                    yield {
                        "contentBlockStart": {
                            "start": {"toolUse": {"name": tool, "toolUseId": use_id}}
                        }
                    }
                    yield {
                        "contentBlockDelta": {
                            "delta": {"toolUse": {"input": json.dumps(arguments)}}
                        }
                    }
                    yield {"contentBlockStop": {}}
        yield {"messageStop": {"stopReason": "tool_use" if called else "end_turn"}}


async def _until(due: float, cancel_signal: threading.Event | None) -> None:
    """Wait until it is time, or the model is to stop."""
    while (left := due - time.monotonic()) > 0:
        if cancel_signal is not None and cancel_signal.is_set():
            return
        await asyncio.sleep(min(left, _POLL_S))
