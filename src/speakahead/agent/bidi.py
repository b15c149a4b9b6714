"""Speaking while the model writes."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from functools import partial

from speakahead.agent.events import AgentEvent
from speakahead.agent.heard import Heard
from speakahead.agent.interruption import Interruption
from speakahead.agent.reply import ReplyStream
from speakahead.agent.request import AgentRequest
from speakahead.agent.speaker import SpeakingAhead
from speakahead.agent.turn import run_turn
from speakahead.backends.interface import SpeechBackend
from speakahead.session.events import VoiceSettings


def run_bidi(
    reply: ReplyStream,
    speech: SpeechBackend,
    request: AgentRequest,
    *,
    settings: VoiceSettings | None = None,
    tools: bool = False,
    heard: Heard | None = None,
    interruption: Interruption | None = None,
) -> AsyncGenerator[AgentEvent]:
    """Answer a request, with sentences spoken while later ones are being written.

    Two tasks work at a time: one reads the model and feeds the speech back end, one reads the back
    end. Both put their events on one bounded queue, so a slow client slows both down.

    Args:
        reply: what the model writes.
        speech: speaks it.
        request: what was asked.
        settings: how it is to be spoken; by default as the request says.
        tools: whether the model may call tools; see ``speaker`` for what is held back then.
        heard: is told what the client gets to hear.
        interruption: lets the listener interrupt.

    The generator's ``aclose`` stops the model and the speech within 500 ms.
    """
    return run_turn(
        reply,
        speech,
        request,
        partial(SpeakingAhead, tools=tools),
        settings=settings or request.settings(VoiceSettings().voice),
        heard=heard or Heard(),
        interruption=interruption or Interruption(),
    )
