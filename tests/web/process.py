"""The agent as a process of its own, whose model looks up its reply by the question.

``python -m tests.web.process PORT real|plain|late``: Kokoro; a constant tone that costs nothing; or
the same, but late in the first half second of each sentence.
"""

import asyncio
import sys
import time
from collections.abc import AsyncGenerator
from typing import Any

import numpy as np
import uvicorn
from numpy.typing import NDArray
from strands.types.content import Messages
from strands.types.streaming import StreamEvent

from speakahead.agent.app import create_app, make_agent
from speakahead.agent.models.scripted import Pause, Say, ScriptedModel, Step
from speakahead.audio.pcm import SAMPLE_RATE
from speakahead.backends.local import LocalBackend
from speakahead.kokoro.engine import Window
from speakahead.text.phonemes import Phonemes
from tests.agent.rig import Engine, speech_backend
from tests.server.rig import Plan

SHORT = "The sky is blue. It costs $3.50."
QUESTION = "What is special about you?"
ANSWER = (
    "Speech can begin long before a reply is complete. The first sentence is spoken while the "
    "next ones are written. So you hear me after a moment, however much I have to say."
)
LONG = "Here comes one more sentence. " * 40
REPLIES: dict[str, tuple[Step, float]] = {
    "short": ((Say(SHORT),), 5.0),
    "in step": ((Say(SHORT),), 100.0),
    "at once": ((Say(SHORT),), 1000.0),
    "a sentence": ((Say("This is one sentence, and it is just long enough for us."),), 1000.0),
    "long": ((Say(LONG),), 60.0),
    "spread out": ((Say("Here is a line.\n\n\n\n\n" * 30),), 1000.0),
    "slow": ((Say("This is first. And"), Pause(3.0), Say(" this is last.")), 100.0),
    QUESTION: ((Say(ANSWER),), 10.0),
}
"""Question: reply, and tokens per second."""


class Plain(Engine):
    """Whole sentences: whatever else the machine does, the listener has sound for a second."""

    def plan(self, phonemes: Phonemes, voice: str, speed: float, ahead_s: float = 0.0) -> Plan:
        plan = super().plan(phonemes, voice, speed, ahead_s)
        return Plan((Window(0, plan.samples),), plan.words)


class Late(Engine):
    """Windows of 0.1 s, of which the first five take 0.18 s each; then it is quick."""

    def plan(self, phonemes: Phonemes, voice: str, speed: float, ahead_s: float = 0.0) -> Plan:
        plan = super().plan(phonemes, voice, speed, ahead_s)
        size = SAMPLE_RATE // 10
        starts = range(0, plan.samples, size)
        windows = tuple(Window(start, min(start + size, plan.samples)) for start in starts)
        return Plan(windows, plan.words)

    def decode(self, plan: Plan, window: Window) -> NDArray[np.float32]:
        if window.start < SAMPLE_RATE // 2:
            time.sleep(0.18)
        return super().decode(plan, window)


ENGINES: dict[str, type[Engine]] = {"plain": Plain, "late": Late}


class Lookup(ScriptedModel):
    """Writes the reply to the question; to "in step" its second sentence only after a sound.

    So it is certain, however busy the machine is, that speech comes before the text is complete.
    """

    def __init__(self, speech: LocalBackend) -> None:
        super().__init__()
        self._speech = speech

    async def _sound(self) -> None:
        windows = self._speech.scheduler.counters.windows
        async with asyncio.timeout(60):
            while self._speech.scheduler.counters.windows < windows + 2:  # noqa: ASYNC110
                await asyncio.sleep(0.02)

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
            if question == "in step" and " cost" in str(event):
                await self._sound()
            yield event


def _answer_in(messages: Messages) -> str:
    """What the model gets to see of the answer before; brackets, so that nothing is hidden."""
    texts = [m["content"][0]["text"] for m in messages if m["role"] == "assistant"]
    return f"[{texts[-1]}]" if texts else "nothing"


async def serve(port: int, engine: str) -> None:
    if engine == "real":
        speech = await LocalBackend.load()
    else:
        speech = speech_backend(ENGINES[engine]())
    app = create_app(
        lambda: make_agent(Lookup(speech), tools=False),
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
