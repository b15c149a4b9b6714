"""Speaking when the model has written everything: what ``run_bidi`` is compared with."""

from __future__ import annotations

from collections.abc import AsyncGenerator

from speakahead.agent.events import AgentEvent
from speakahead.agent.heard import Heard
from speakahead.agent.interruption import Interruption
from speakahead.agent.reply import ReplyStream
from speakahead.agent.request import AgentRequest
from speakahead.agent.speaker import SpeakingAtOnce
from speakahead.agent.turn import run_turn
from speakahead.backends.interface import SpeechBackend
from speakahead.session.events import VoiceSettings


def run_batch(
    reply: ReplyStream,
    speech: SpeechBackend,
    request: AgentRequest,
    *,
    settings: VoiceSettings | None = None,
    heard: Heard | None = None,
    interruption: Interruption | None = None,
) -> AsyncGenerator[AgentEvent]:
    """Answer a request as ``run_bidi`` does, but give the speech back end the whole text at once.

    All else is equal: the same back end, which streams its sound, the same events, the same
    encoder. So the difference between the two is what speaking ahead is worth.
    """
    return run_turn(
        reply,
        speech,
        request,
        SpeakingAtOnce,
        settings=settings or request.settings(VoiceSettings().voice),
        heard=heard or Heard(),
        interruption=interruption or Interruption(),
    )
