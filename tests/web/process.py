"""The agent as a process of its own, whose model looks up its reply by the question.

``python -m tests.web.process PORT real|plain``: Kokoro, or a constant tone that costs nothing.
"""

import asyncio
import sys
from collections.abc import AsyncGenerator
from typing import Any

import uvicorn
from strands.types.content import Messages
from strands.types.streaming import StreamEvent

from speakahead.agent.app import create_app, make_agent
from speakahead.agent.models.scripted import Pause, Say, ScriptedModel, Step
from speakahead.backends.local import LocalBackend
from tests.agent.rig import speech_backend

SHORT = "The sky is blue. It costs $3.50."
QUESTION = "What is special about you?"
ANSWER = (
    "Speech can begin long before a reply is complete. The first sentence is spoken while the "
    "next ones are written. So you hear me after a moment, however much I have to say."
)
LONG = "Here comes one more sentence. " * 40
REPLIES: dict[str, tuple[Step, float]] = {
    "short": ((Say(SHORT),), 5.0),
    "unhurried": ((Say(SHORT),), 2.5),
    "long": ((Say(LONG),), 60.0),
    "slow": ((Say("This is first. And"), Pause(3.0), Say(" this is last.")), 100.0),
    QUESTION: ((Say(ANSWER),), 10.0),
}
"""Question: reply, and tokens per second."""


class Lookup(ScriptedModel):
    async def stream(
        self, messages: Messages, *args: Any, **kwargs: Any
    ) -> AsyncGenerator[StreamEvent, None]:
        question = messages[-1]["content"][0]["text"].split("\n")[-1]
        if question == "history":
            step: Step = (Say(f"Heard: {_answer_in(messages)}"),)
            rate = 1000.0
        else:
            step, rate = REPLIES[question]
        async for event in ScriptedModel((step,), tokens_per_second=rate).stream(messages):
            yield event


def _answer_in(messages: Messages) -> str:
    """What the model gets to see of the answer before; brackets, so that nothing is hidden."""
    texts = [m["content"][0]["text"] for m in messages if m["role"] == "assistant"]
    return f"[{texts[-1]}]" if texts else "nothing"


async def serve(port: int, engine: str) -> None:
    speech = await LocalBackend.load() if engine == "real" else speech_backend()
    app = create_app(
        lambda: make_agent(Lookup(), tools=False),
        speech,
        voices=("af_heart", "am_michael") if engine == "real" else (),
        model="A script",
    )
    config = uvicorn.Config(
        app, port=port, ws="websockets-sansio", ws_per_message_deflate=False, log_level="warning"
    )
    await uvicorn.Server(config).serve()


if __name__ == "__main__":
    asyncio.run(serve(int(sys.argv[1]), sys.argv[2]))
