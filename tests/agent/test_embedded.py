"""The embedded model, the real one, with a small context so that it is soon full."""

import asyncio
import contextlib
import sys
import time
from collections.abc import AsyncGenerator
from types import FrameType
from typing import Any, Literal

import pytest
from strands import Agent
from strands.types.content import Messages

from speakahead.agent.app import make_agent
from speakahead.agent.conversation import Conversations
from speakahead.agent.models.embedded import EmbeddedModel, fetch
from speakahead.agent.request import AgentRequest
from tests.agent.rig import Events, of, skip_to, speech_backend, text

CONTEXT = 320
LONG = "the weather in a big old town " * 100


@pytest.fixture(scope="module")
def embedded() -> EmbeddedModel:
    return EmbeddedModel(fetch(), max_tokens=60)


@pytest.fixture(scope="module")
def narrow() -> EmbeddedModel:
    return EmbeddedModel(fetch(), max_tokens=40, context=CONTEXT)


async def converse(agent: Agent, *prompts: str) -> list[Events]:
    """What each question is answered; all of it is heard."""
    async with Conversations(lambda: agent, speech_backend()) as conversations:
        conversation = conversations.named("s")
        answers: list[Events] = []
        for prompt in prompts:
            turn = conversation.turn(AgentRequest(prompt=prompt, played_s=1e3 if answers else None))
            answers.append([dict(event) async for event in turn])
        return answers


def asked(agent: Agent) -> list[str]:
    """The questions that the agent remembers."""
    return [m["content"][0]["text"] for m in agent.messages if m["role"] == "user"]


async def went_on_s() -> float:
    """Seconds of computing that this process goes on for, whatever else the machine does."""
    began = before = time.process_time()
    while True:
        await asyncio.sleep(0.25)
        now = time.process_time()
        if now - before < 0.01:
            return now - began
        before = now


def writing() -> bool:
    """Whether a thread is in llama.cpp for the model."""
    for frame in sys._current_frames().values():
        caller: FrameType | None = frame
        while caller is not None:
            if caller.f_code.co_qualname == "EmbeddedModel.stream.<locals>.write":
                return True
            caller = caller.f_back
    return False


def test_it_answers_without_a_network(embedded: EmbeddedModel) -> None:
    agent = make_agent(embedded, tools=False)
    [events] = asyncio.run(converse(agent, "Good morning."))
    assert len(text(events).split()) > 3
    assert len(of(events, "text_delta")) > 3, "it is streamed"
    assert of(events, "audio_chunk")
    assert agent.messages[-1]["content"] == [{"text": text(events)}]


@pytest.mark.parametrize("deltas", [0, 20])
def test_leaving_stops_it(embedded: EmbeddedModel, deltas: int) -> None:
    """Before its first token, while it reads a question for some ten seconds, and afterwards."""

    async def scenario() -> tuple[float, float]:
        agent = make_agent(embedded, tools=False)
        async with Conversations(lambda: agent, speech_backend()) as conversations:
            prompt = "Tell me a long story." if deltas else LONG
            turn = conversations.named("s").turn(AgentRequest(prompt=prompt))
            await skip_to(turn, "agent_start")
            for _ in range(deltas):
                await skip_to(turn, "text_delta")
            if not deltas:
                await asyncio.sleep(0.5)
            assert writing()
            leaving = time.monotonic()
            await turn.aclose()
            return time.monotonic() - leaving, await went_on_s()

    closing_s, computing_s = asyncio.run(scenario())
    assert closing_s < 0.5
    assert computing_s < 0.5, "so long at most, if the machine has nothing else to do"
    assert not writing()


def test_a_stream_is_closed_when_its_thread_has_ended(embedded: EmbeddedModel) -> None:
    async def scenario() -> None:
        question: Messages = [{"role": "user", "content": [{"text": LONG}]}]
        pieces: AsyncGenerator[Any] = embedded.stream(question)
        await anext(pieces)
        await anext(pieces)
        reading = asyncio.create_task(anext(pieces))  # the first of the text
        await asyncio.sleep(0.5)
        assert writing()
        reading.cancel()
        await asyncio.wait({reading})
        assert not writing()
        assert not embedded._lock.locked()

    asyncio.run(scenario())


def test_a_long_conversation_goes_on(narrow: EmbeddedModel) -> None:
    agent = make_agent(narrow, tools=False)
    questions = [f"What about {thing}? I mean {LONG[:300]}." for thing in ("snow", "ice", "rain")]
    answers = asyncio.run(converse(agent, *questions))
    assert [of(events, "error") for events in answers] == [[]] * 3
    assert all(text(events) for events in answers)
    assert 0 < len(asked(agent)) < 3, "the oldest part is forgotten"
    assert asked(agent)[-1] == questions[-1]


def test_what_is_left_of_a_conversation_is_not_read_again(embedded: EmbeddedModel) -> None:
    def said(number: int) -> str:
        return " ".join(f"{number * 17 * place}" for place in range(12))

    def messages(*numbers: int) -> Messages:
        roles: list[Literal["user", "assistant"]] = ["user", "assistant"]
        return [
            {"role": roles[place % 2], "content": [{"text": said(number)}]}
            for place, number in enumerate(numbers)
        ]

    async def computing_s(messages: Messages) -> float:
        """Until the first of the text."""
        began = time.process_time()
        async with contextlib.aclosing(embedded.stream(messages, None, "Be kind.")) as pieces:
            async for piece in pieces:
                if "contentBlockDelta" in piece:
                    break
        return time.process_time() - began

    async def scenario() -> None:
        whole_s = await computing_s(messages(1, 2, 3, 4, 5))
        assert await computing_s(messages(3, 4, 5)) < whole_s / 4

    asyncio.run(scenario())


def test_a_question_that_is_too_long_is_refused_alone(narrow: EmbeddedModel) -> None:
    agent = make_agent(narrow, tools=False)
    first, refused, last = asyncio.run(converse(agent, "What is rain?", LONG, "What is snow?"))
    [error] = of(refused, "error")
    assert error["code"] == "text_too_long"
    assert error["message"] == "The question is too long for this model."
    assert not error["retryable"]
    assert refused[-1]["stop_reason"] == "error"
    assert text(first)
    assert text(last)
    assert asked(agent) == ["What is rain?", "What is snow?"], "nothing else was forgotten for it"
