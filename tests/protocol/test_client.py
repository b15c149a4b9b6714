"""What the client of protocol 2 knows of what the server owes it.

The other side is the real session and the real protocol; messages take any time on the way.
"""

from __future__ import annotations

from collections import deque

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from speakahead.errors import SynthesisFailed, UnknownVoice
from speakahead.protocol.client import V2Client
from speakahead.protocol.codec import Opened
from speakahead.protocol.messages import SessionLimits
from speakahead.protocol.v2 import V2Codec
from speakahead.session import Limits, Session
from speakahead.session.events import (
    Append,
    AudioReady,
    Cancel,
    Close,
    Discard,
    Flush,
    Hold,
    Release,
    Request,
    SentenceBegan,
    SentenceDone,
    SentenceFailed,
    Speak,
    VoiceSettings,
    Work,
)
from speakahead.session.session import SessionState

DEFAULTS = VoiceSettings()
NOBODY = VoiceSettings("nobody")
LIMITS = SessionLimits(
    max_message_bytes=1 << 20,
    max_text=100,
    max_utterance=1_000,
    max_waiting=10_000,
    max_utterances=100,
    send_timeout_s=30,
    idle_timeout_s=300,
    max_session_s=1800,
)


def language(settings: VoiceSettings) -> str:
    if settings.voice == "nobody":
        raise UnknownVoice("There is no such voice.")
    return "en"


class Line:
    """A client, a server, and what is under way between them."""

    def __init__(self) -> None:
        self.session = Session(language, defaults=DEFAULTS, limits=Limits(max_text=100))
        self.codec = V2Codec(DEFAULTS)
        self.client = V2Client(DEFAULTS)
        self.up: deque[str] = deque()
        self.down: deque[str | bytes] = deque()
        self.client.greeting()
        for frame in self.codec.encode(Opened("s", LIMITS)):
            self.client.receive(frame)

    def send(self, *requests: Request) -> None:
        for request in requests:
            self.up.extend(self.client.encode(request))

    def read(self) -> bool:
        """The server takes a message."""
        if not self.up:
            return False
        request = self.codec.decode(self.up.popleft())
        self.session.receive(request, 0.0)  # type: ignore[arg-type]
        return self._emit()

    def work(self) -> bool:
        """The server speaks a sentence."""
        if (work := self.session.next_work()) is None:
            return False
        for result in results(work):
            self.session.deliver(result, 0.0)  # type: ignore[arg-type]
        return self._emit()

    def _emit(self) -> bool:
        while (event := self.session.next_event(0.0)) is not None:
            self.down.extend(self.codec.encode(event))
        return True

    def listen(self) -> bool:
        """The client takes a message."""
        if not self.down:
            return False
        self.client.receive(self.down.popleft())
        return True

    def settle(self) -> None:
        """Everything is done that can be done."""
        while self.read() or self.work() or self.listen():
            pass


def results(work: Work) -> list[object]:
    if "fail" in work.sentence.text:
        return [SentenceFailed(work, SynthesisFailed("It failed."))]
    sound = np.zeros(24, np.float32)
    return [SentenceBegan(work, ()), AudioReady(work, sound), SentenceDone(work)]


def line(*requests: Request) -> Line:
    made = Line()
    made.send(*requests)
    return made


NEXT = (Append("Next.", utterance="n"), Flush())


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ([], NEXT),
        ([Append("Hello. And", utterance="a"), Cancel("a")], NEXT),
        ([Append("Hello. And"), Cancel()], NEXT),
        ([Hold("h"), Cancel()], NEXT),
        ([Hold("h"), Append("Claim.", utterance="h"), Flush(), Cancel()], NEXT),
        ([Hold("h"), Append("Claim.", utterance="h"), Cancel("h")], NEXT),
        ([Hold("h"), Append("Claim.", utterance="h"), Discard("h")], NEXT),
        ([Hold(), Speak("Claim."), Discard()], NEXT),
        ([Hold("h"), Discard("h"), Append("Claim.", utterance="h"), Flush()], NEXT),
        ([Speak("Hello.", NOBODY, "a"), Append("more", utterance="a"), Flush()], NEXT),
        ([Append("Hello.", NOBODY), Append("more"), Flush()], NEXT),
        ([Append("x" * 101), Append("more"), Flush()], NEXT),
        ([Speak("Hello."), Speak("There.", utterance="b")], NEXT),
        ([Cancel("ghost"), Release("ghost"), Discard("ghost")], NEXT),
    ],
)
@pytest.mark.parametrize("pipelined", [False, True])
def test_an_answer_is_owed_until_it_has_come(
    before: list[Request], after: list[Request], pipelined: bool
) -> None:
    made = line(*before)
    if not pipelined:
        made.settle()
        assert not made.client.owed
    made.send(*after)
    assert made.client.owed
    made.settle()
    assert not made.client.owed


def test_late_answers_are_not_booked_against_what_came_after() -> None:
    made = line(Append("One.", utterance="a"), Append("Two.", utterance="b"), Cancel(), *NEXT)
    while made.read():
        pass
    for _ in range(2):
        assert made.client.owed
        made.listen()
    assert made.client.owed
    made.settle()
    assert not made.client.owed


def test_what_is_held_is_not_owed_nor_what_is_behind() -> None:
    made = line(Hold("h"), Speak("Claim.", utterance="h"), Speak("Behind."))
    assert not made.client.owed
    made.settle()
    assert not made.client.owed
    made.send(Release("h"))
    assert made.client.owed
    made.settle()
    assert not made.client.owed


def test_a_hold_that_comes_too_late_holds_nothing() -> None:
    made = line(Append("Hello. And so", utterance="a"))
    made.read()
    made.work()
    made.send(Hold("a"), Flush())
    made.settle()
    assert not made.client.owed
    made.send(*NEXT)
    assert made.client.owed


def test_what_is_held_and_fails_holds_nothing() -> None:
    made = line(Hold("h"), Speak("fail", utterance="h"))
    made.settle()
    made.send(*NEXT)
    assert made.client.owed


def test_what_comes_before_a_hold_is_owed() -> None:
    made = line(Speak("First."), Hold("h"), Speak("Claim.", utterance="h"))
    assert made.client.owed
    made.settle()
    assert not made.client.owed


def test_an_interruption_is_owed_an_answer_also_of_what_is_held() -> None:
    made = line(Hold("h"), Append("Claim.", utterance="h"), Flush(), Append("Behind"))
    made.settle()
    made.send(Cancel())
    assert made.client.owed


def test_what_is_being_written_is_not_owed() -> None:
    made = line(Append("Hello. And so"))
    made.settle()
    assert not made.client.owed


def test_at_the_end_what_is_held_is_owed_its_answer() -> None:
    made = line(Hold("h"), Append("Claim.", utterance="h"), Close())
    assert made.client.owed
    made.settle()
    assert not made.client.owed
    assert made.session.state is SessionState.CLOSED


NAMES = st.sampled_from([None, "a", "b", "c"])
REQUESTS = st.one_of(
    st.builds(
        Append,
        st.sampled_from(["", "Hello. ", "Well", "it fails. ", "y" * 101]),
        st.sampled_from([None, None, None, NOBODY]),
        NAMES,
    ),
    st.just(Flush()),
    st.builds(Speak, st.sampled_from(["Yes.", "fail"]), st.none(), NAMES),
    st.builds(Cancel, NAMES),
    st.builds(Hold, NAMES),
    st.builds(Release, NAMES),
    st.builds(Discard, NAMES),
)
STEPS = st.sampled_from(["read", "work", "listen", "settle"])


@settings(max_examples=150, derandomize=True)
@given(st.lists(st.tuples(REQUESTS, st.lists(STEPS, max_size=4)), max_size=25))
def test_a_server_that_is_well_owes_nothing_when_all_is_done(
    script: list[tuple[Request, list[str]]],
) -> None:
    made = Line()
    for request, steps in script:
        made.send(request)
        for step in steps:
            getattr(made, step)()
            if step == "settle":
                assert not made.client.owed
    made.settle()
    assert not made.client.owed
    made.send(Flush(), Release())
    made.settle()
    assert not made.client.owed
    made.send(Speak("Last.", utterance="last"))
    assert made.client.owed  # so that a dead one is found


@settings(max_examples=200)
@given(
    st.lists(
        st.tuples(
            st.sampled_from([True, False, False]),
            st.sampled_from([None, True]),
            st.lists(st.sampled_from(["read", "work", "listen"]), max_size=4),
        ),
        min_size=1,
        max_size=6,
    ),
    st.lists(st.sampled_from(["read", "work", "listen"]), max_size=30),
)
def test_the_first_utterance_that_is_complete_and_not_held_is_owed(
    utterances: list[tuple[bool, bool | None, list[str]]], steps: list[str]
) -> None:
    """Until the client has its end, whatever is behind it."""
    made = Line()
    waiting: list[bool] = []  # of those whose end has not come: whether they are held

    def step(what: str) -> None:
        getattr(made, what)()
        while (event := made.client.next_event()) is not None:
            if type(event).__name__ == "UtteranceCompleted":
                waiting.pop(0)
        assert made.client.owed == bool(waiting and not waiting[0])

    for number, (held, named, between) in enumerate(utterances):
        name = f"u{number}" if named else None
        if held:
            made.send(Hold(name))
        made.send(Speak("Hello. There.", utterance=name))
        waiting.append(held)
        for what in between:
            step(what)
    for what in steps:
        step(what)
