"""Nonsense into a session, without a socket: requests or typed errors, and events that encode."""

import json
import random
from collections import Counter

from speakahead.bench.nonsense import Maker
from speakahead.protocol.codec import Greeted, KeptAlive, Opened, Outgoing
from speakahead.protocol.framing import unpack
from speakahead.protocol.json import RefusedMessage, validate_tagged
from speakahead.protocol.messages import SessionLimits, parse_server_message
from speakahead.protocol.negotiation import Negotiation
from speakahead.protocol.v1 import SERVER_MESSAGES
from speakahead.session import Session, SessionState
from speakahead.session.events import AudioReady, Close, SentenceDone, VoiceSettings
from tests.session.test_session import SOUND, language_of

SESSIONS = 300
LIMITS = SessionLimits(
    max_message_bytes=1,
    max_text=1,
    max_utterance=1,
    max_waiting=1,
    max_utterances=1,
    send_timeout_s=1.0,
    idle_timeout_s=1.0,
    max_session_s=1.0,
)


def test_whatever_comes_in_what_goes_out_is_in_the_protocol() -> None:
    seen: Counter[str] = Counter()
    for seed in range(SESSIONS):
        rng = random.Random(seed)
        talk = Talk(rng, seen)
        maker = Maker(rng, largest=50_000, longest=20_000)
        for _ in range(rng.randint(1, 20)):
            message = maker.message()
            if message.is_text or not message.text:
                talk.hear(message.data.decode() if message.text else message.data)
        talk.end()
    for kind in ("ready", "utterance_start", "utterance_complete", "cancelled", "synthesis_start"):
        assert seen[kind], f"nothing led to {kind}"
    assert seen["refused"] > SESSIONS


class Talk:
    """One session, whose engine works at random moments."""

    def __init__(self, rng: random.Random, seen: Counter[str]) -> None:
        self.rng = rng
        self.seen = seen
        self.codec = Negotiation(VoiceSettings())
        if rng.random() < 0.6:
            self.codec.choose_by_query("2")
            self.tell(Opened("s", LIMITS))
        self.session = Session(language_of)
        self.now = 0.0

    def hear(self, frame: str | bytes) -> None:
        self.now += 0.1
        try:
            request = self.codec.decode(frame)
        except RefusedMessage as refused:
            self.seen["refused"] += 1
            self.session.refuse(refused, self.now, refused.utterance, text=refused.text)
        else:
            if isinstance(request, Greeted):
                self.tell(Opened("s", LIMITS))
            elif not isinstance(request, KeptAlive):
                self.session.receive(request, self.now)
        self.session.withdrawn()
        if self.rng.random() < 0.5:
            self.work()
        self.speak()

    def work(self) -> None:
        if (work := self.session.next_work()) is not None:
            self.session.deliver(AudioReady(work, SOUND), self.now)
            self.session.deliver(SentenceDone(work), self.now)

    def speak(self) -> None:
        while (event := self.session.next_event(self.now)) is not None:
            self.tell(event)

    def tell(self, event: Outgoing) -> None:
        for frame in self.codec.encode(event):
            if isinstance(frame, str):
                message = json.loads(frame)
                self.seen[message["type"]] += 1
                if self.codec.protocol == 2:
                    parse_server_message(frame)
                else:
                    validate_tagged(SERVER_MESSAGES, message)
            elif self.codec.protocol == 2:
                assert unpack(frame).samples.size

    def end(self) -> None:
        self.session.receive(Close(), self.now)
        while (work := self.session.next_work()) is not None:
            self.session.deliver(SentenceDone(work), self.now)
            self.speak()
        self.speak()
        assert self.session.state is SessionState.CLOSED
