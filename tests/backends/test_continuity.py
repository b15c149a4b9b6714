"""A session over several legs sounds and reads as one over a single leg.

The other side is the real session and the real protocol, with an engine that gives every
character of a sentence its own samples, so that nothing can be lost, doubled or moved unseen.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from speakahead.audio.pcm import SAMPLE_RATE
from speakahead.backends.continuity import Continuity
from speakahead.errors import RemoteError, SynthesisFailed
from speakahead.protocol.client import V2Client
from speakahead.protocol.codec import Opened
from speakahead.protocol.messages import SessionLimits
from speakahead.protocol.v2 import V2Codec
from speakahead.session import Limits, Session
from speakahead.session.events import (
    Append,
    Audio,
    AudioReady,
    Cancel,
    Close,
    Configure,
    Discard,
    Event,
    Failed,
    Flush,
    Hold,
    Pauses,
    Release,
    Request,
    SentenceBegan,
    SentenceDone,
    SentenceStarted,
    Speak,
    SpokenWord,
    UtteranceCancelled,
    UtteranceCompleted,
    UtteranceStarted,
    VoiceSettings,
    Work,
)
from speakahead.session.session import SessionState
from speakahead.text.spans import Span

DEFAULTS = VoiceSettings(pauses=Pauses(sentence=0.002, clause=0.001, line=0.003))
LIMITS = SessionLimits(
    max_message_bytes=1 << 20,
    max_text=20_000,
    max_utterance=200_000,
    max_waiting=100_000,
    max_utterances=1_000,
    send_timeout_s=30,
    idle_timeout_s=300,
    max_session_s=1800,
)
PER_CHARACTER = 24  # a millisecond


def sound(work: Work) -> np.ndarray:
    codes = np.frombuffer(work.sentence.text.encode("utf-32-le"), "<u4") % 30_000 + 1
    pause = np.zeros(round(work.pause_s * SAMPLE_RATE))
    return (np.concatenate([np.repeat(codes, PER_CHARACTER), pause]) / 32767).astype(np.float32)


def words(work: Work) -> tuple[SpokenWord, ...]:
    found, position, text = [], 0, work.sentence.text
    for word in text.split():
        start = text.index(word, position)
        position = start + len(word)
        times = (start * PER_CHARACTER / SAMPLE_RATE, position * PER_CHARACTER / SAMPLE_RATE)
        base = work.sentence.span.start
        found.append(SpokenWord(word, *times, Span(base + start, base + position)))
    return tuple(found)


@dataclass
class Leg:
    """The server's session, the client's protocol, and the wires between them."""

    session: Session = field(
        default_factory=lambda: Session(lambda settings: "en", defaults=DEFAULTS)
    )
    codec: V2Codec = field(default_factory=lambda: V2Codec(DEFAULTS))
    client: V2Client = field(default_factory=lambda: V2Client(DEFAULTS))
    up: deque[str] = field(default_factory=deque)
    down: deque[str | bytes] = field(default_factory=deque)
    results: deque[object] = field(default_factory=deque)

    def __post_init__(self) -> None:
        self.client.greeting()
        for frame in self.codec.encode(Opened("s", LIMITS)):
            self.client.receive(frame)

    def send(self, requests: list[Request]) -> None:
        for request in requests:
            self.up.extend(self.client.encode(request))

    def work(self) -> bool:
        """The server does one thing."""
        if self.up:
            request = self.codec.decode(self.up.popleft())
            if self.session.state is SessionState.OPEN:  # the door passes over what comes later
                self.session.receive(request, 0.0)  # type: ignore[arg-type]
        elif self.results:
            self.session.deliver(self.results.popleft(), 0.0)  # type: ignore[arg-type]
        elif (work := self.session.next_work()) is not None:
            samples = sound(work)
            self.results.append(SentenceBegan(work, words(work)))
            cuts = np.array_split(samples, 3)
            self.results.extend(AudioReady(work, piece) for piece in cuts if len(piece))
            self.results.append(SentenceDone(work))
        else:
            return self._emit()
        self._emit()
        return True

    def _emit(self) -> bool:
        some = False
        while (event := self.session.next_event(0.0)) is not None:
            self.down.extend(self.codec.encode(event))
            some = True
        return some

    def event(self) -> Event | None:
        """The client takes one event."""
        while (event := self.client.next_event()) is None:
            if not self.down:
                return None
            self.client.receive(self.down.popleft())
        return event


class Rig:
    """The client's side: what the pump in ``backends.resuming`` does, without I/O."""

    def __init__(self) -> None:
        self.continuity = Continuity(DEFAULTS)
        self.leg: Leg | None = Leg()
        self.next: Leg | None = None
        self.events: list[Event] = []

    def request(self, request: Request) -> None:
        (self.next or self.leg).send(self.continuity.request(request, 0.0))
        self._settle()

    def work(self, steps: int = 1) -> bool:
        """Both servers work, and the client takes what has come."""
        busy = False
        for _ in range(steps):
            for leg in (self.leg, self.next):
                busy = (leg is not None and leg.work()) or busy
            event = self.leg.event()
            if event is not None:
                busy = True
                self.continuity.observe(event, 0.0)
            busy = self._settle() or busy
        return busy

    def lose(self) -> None:
        """The connection is lost, with all that was under way on it."""
        self.leg, self.next = Leg(), None
        self.leg.send(self.continuity.resume(0.0))
        self._settle()

    def renew(self) -> None:
        if self.next is not None or not self.continuity.settled:
            return
        requests = self.continuity.hand_over()
        if requests is None:
            self.lose()
            return
        self.next = Leg()
        self.leg.send([Flush()])
        self.next.send(requests)

    def _settle(self) -> bool:
        if self.continuity.handed_over:
            self.continuity.handed_over = False
            self.leg, self.next = self.next, None
        some = False
        while (event := self.continuity.next_event()) is not None:
            self.events.append(event)
            some = True
        return some

    def finish(self) -> None:
        for _ in range(100_000):
            if not self.work():
                return
        raise AssertionError("the session never comes to rest")


def outline(events: list[Event]) -> list[tuple[object, ...]]:
    """What a client sees of the events, with pieces of sound joined."""
    seen: list[tuple[object, ...]] = []
    for event in events:
        match event:
            case UtteranceStarted(utterance=name, settings=settings):
                seen.append(("start", name, settings.voice))
            case SentenceStarted(utterance=name, words=said, sentence=sentence):
                spans = [
                    (word.text, round(word.start_s, 3), round(word.end_s, 3), word.span)
                    for word in said
                ]
                seen.append(("sentence", name, sentence.span, spans))
            case Audio(utterance=name, samples=samples, offset=offset):
                if seen[-1][0] == "audio":
                    _, _, start, so_far = seen.pop()
                    assert start + len(so_far) == offset, "a gap, or a piece twice"
                    seen.append(("audio", name, start, [*so_far, *np.round(samples * 32767)]))
                else:
                    seen.append(("audio", name, offset, [*np.round(samples * 32767)]))
            case UtteranceCompleted(utterance=name, duration_s=duration_s):
                seen.append(("complete", name, round(duration_s, 4)))
            case UtteranceCancelled():
                seen.append(("cancelled", event.utterance, event.text_spoken, event.text_remaining))
            case Failed(utterance=name, error=error):
                seen.append(("failed", name, error.code))
    return seen


SENTENCES = st.lists(
    st.sampled_from(
        [
            "Hello there. ",
            'He said "no." ',
            "It costs $3.50! ",
            "Dr. Wu waits (see below). ",
            "\n- one\n- two\n",
            "Well, this one is long, and it goes on, and on, " * 6 + "until it ends. ",
            "Ja? ",
            "no end",
        ]
    ),
    min_size=1,
    max_size=5,
).map("".join)


@st.composite
def scripts(draw: st.DrawFn) -> list[Request]:
    requests: list[Request] = []
    for number in range(draw(st.integers(1, 3))):
        text = draw(SENTENCES)
        name = draw(st.sampled_from([None, f"u{number}"]))
        if draw(st.booleans()):
            requests.append(Configure(VoiceSettings(voice=f"v{number}", pauses=DEFAULTS.pauses)))
        held = draw(st.sampled_from([False, False, True]))
        holds = draw(st.sampled_from([None, name]))
        if held:
            requests.append(Hold(holds))
        if draw(st.booleans()):
            requests.append(Speak(text, None, name))
        else:
            size = draw(st.integers(1, 40))
            requests += [Append(text[i : i + size], None, name) for i in range(0, len(text), size)]
            requests.append(Flush())
        if held:
            requests.append(Release(holds))
    return [*requests, Close()]


def undisturbed(script: list[Request]) -> list[tuple[object, ...]]:
    rig = Rig()
    for request in script:
        rig.request(request)
    rig.finish()
    return outline(rig.events)


@settings(max_examples=150)
@given(
    scripts(), st.lists(st.tuples(st.sampled_from(["work", "lose", "renew"]), st.integers(1, 12)))
)
def test_legs_do_not_show(script: list[Request], disturbances: list[tuple[str, int]]) -> None:
    rig = Rig()
    waiting = deque(disturbances)
    for request in script:
        rig.request(request)
        if waiting:
            what, steps = waiting.popleft()
            rig.work(steps)
            if what == "lose":
                rig.lose()
            elif what == "renew":
                rig.renew()
    while waiting:
        what, steps = waiting.popleft()
        rig.work(steps)
        if what == "lose":
            rig.lose()
        elif what == "renew":
            rig.renew()
    rig.finish()
    assert outline(rig.events) == undisturbed(script)


@settings(max_examples=100)
@given(
    SENTENCES,
    st.integers(1, 60),
    st.sampled_from(["work", "lose", "renew"]),
    st.integers(0, 40),
    st.floats(0, 1),
)
def test_an_interruption_is_answered_once_and_to_the_word(
    text: str, before: int, what: str, after: int, share: float
) -> None:
    rig = Rig()
    rig.request(Append(text, None, "u"))
    rig.work(before)
    if what == "lose":
        rig.lose()
    elif what == "renew":
        rig.renew()
    rig.work(after)
    received = sum(len(event.samples) for event in rig.events if isinstance(event, Audio))
    played_s = received * share / SAMPLE_RATE
    rig.request(Cancel(None, played_s))
    rig.request(Append("Next. ", None, "v"))
    rig.request(Close())
    rig.finish()
    answers = [event for event in rig.events if isinstance(event, UtteranceCancelled)]
    assert len(answers) == 1
    assert answers[0].text_spoken + answers[0].text_remaining == text
    heard = undisturbed_heard(text, played_s)
    assert abs(len(answers[0].text_spoken.split()) - heard) <= 1
    position = rig.events.index(answers[0])
    assert not any(
        isinstance(event, Audio) and event.utterance == "u" for event in rig.events[position:]
    )
    assert outline(rig.events)[-1][:2] == ("complete", "v")


def undisturbed_heard(text: str, played_s: float) -> int:
    """How many words were heard, by the undisturbed session's captions."""
    said = [
        word
        for entry in undisturbed([Append(text, None, "u"), Close()])
        if entry[0] == "sentence"
        for word in entry[3]  # type: ignore[attr-defined]
    ]
    return sum((start + end) / 2 < played_s for _, start, end, _ in said)


def test_an_interruption_on_a_leg_that_is_lost_is_answered() -> None:
    rig = Rig()
    rig.request(Append("One two. Three four. Five", None, "u"))
    rig.work(30)
    rig.request(Cancel())
    rig.lose()
    answers = [event for event in rig.events if isinstance(event, UtteranceCancelled)]
    assert [(a.utterance, a.final) for a in answers] == [("u", True)]
    rig.request(Append(" six.", None, "u"))  # it was on its way
    rig.request(Close())
    rig.finish()
    assert not any(isinstance(e, Audio) for e in rig.events[rig.events.index(answers[0]) :])


def test_a_held_utterance_stays_held_on_the_next_leg() -> None:
    rig = Rig()
    rig.request(Hold())
    rig.request(Speak("A claim.", None, "u"))
    rig.work(30)
    rig.lose()
    rig.work(30)
    assert not any(isinstance(event, Audio) for event in rig.events)
    rig.request(Release())
    rig.finish()
    assert ("complete", "u") in [entry[:2] for entry in outline(rig.events)]


def test_a_discard_on_a_leg_that_is_lost_is_answered() -> None:
    rig = Rig()
    rig.request(Hold())
    rig.request(Speak("A claim.", None, "u"))
    rig.request(Discard())
    rig.lose()
    rig.finish()
    assert outline(rig.events) == [("cancelled", "u", "", "A claim.")]


@pytest.mark.parametrize("code", ["session_expired", "idle_timeout", "shutting_down"])
def test_the_end_of_a_connection_is_not_the_clients_business(code: str) -> None:
    continuity = Continuity()
    continuity.observe(Failed(None, RemoteError("Over.", code=code, retryable=True)), 0.0)
    assert continuity.next_event() is None
    refused = Failed(None, RemoteError("No.", code="unknown_voice", retryable=False))
    continuity.observe(refused, 0.0)
    assert continuity.next_event() is refused


def test_a_refused_utterance_stays_refused() -> None:
    rig = Rig()
    rig.request(Append("One. ", None, "u"))
    error = RemoteError("No.", code="text_too_long", retryable=False)
    rig.continuity.observe(Failed("u", error), 0.0)
    assert rig.continuity.request(Append("two.", None, None), 0.0) == []
    assert rig.continuity.request(Append("two.", None, "u"), 0.0) == []
    assert rig.continuity.request(Append("Three.", None, "v"), 0.0)


def test_what_is_held_by_name_before_its_text_stays_held_on_the_next_leg() -> None:
    rig = Rig()
    rig.request(Hold("u"))
    rig.lose()
    rig.request(Speak("A claim.", None, "u"))
    rig.lose()
    rig.work(30)
    assert not any(isinstance(event, Audio) for event in rig.events)
    rig.request(Release("u"))
    rig.finish()
    assert ("complete", "u") in [entry[:2] for entry in outline(rig.events)]


@pytest.mark.parametrize(
    ("request_", "code"),
    [
        (Hold("u"), "already_spoken"),
        (Release("u"), "not_held"),
        (Cancel("ghost"), "unknown_utterance"),
        (Append("more", None, "u"), "already_complete"),
    ],
)
def test_a_refused_request_ends_no_utterance(request_: Request, code: str) -> None:
    rig = Rig()
    rig.request(Speak("One two. Three four.", None, "u"))
    rig.work(12)
    assert any(isinstance(event, Audio) for event in rig.events)
    rig.request(request_)
    rig.work(3)
    rig.lose()
    rig.finish()
    refused = [event.error.code for event in rig.events if isinstance(event, Failed)]
    assert refused == [code]
    kept = [event for event in rig.events if not isinstance(event, Failed)]
    assert outline(kept) == undisturbed([Speak("One two. Three four.", None, "u")])
    assert rig.continuity.settled
    assert not rig.continuity.pending


def test_an_interruption_names_what_was_heard_on_an_earlier_leg() -> None:
    rig = Rig()
    rig.request(Speak("One two three.", None, "a"))
    rig.finish()
    rig.lose()
    rig.request(Speak("Four five.", None, "b"))
    rig.finish()
    heard_s = 8 * PER_CHARACTER / SAMPLE_RATE  # "One two"
    rig.request(Cancel(None, heard_s))
    rig.finish()
    answers = [event for event in rig.events if isinstance(event, UtteranceCancelled)]
    assert [(a.utterance, a.text_spoken, a.final) for a in answers] == [
        ("a", "One two", False),
        ("b", "", True),
    ]


def test_of_what_waits_behind_another_utterance_nothing_was_heard() -> None:
    rig = Rig()
    rig.request(Speak("One two three. Four five.", None, "a"))
    rig.request(Speak("Six seven.", None, "b"))
    rig.work(12)
    rig.lose()
    rig.work(40)
    rig.request(Cancel(None, 8 * PER_CHARACTER / SAMPLE_RATE))
    rig.finish()
    answers = [event for event in rig.events if isinstance(event, UtteranceCancelled)]
    spoken = {answer.utterance: answer.text_spoken for answer in answers}
    assert (spoken["a"], spoken["b"]) == ("One two", "")
    assert [answer.final for answer in answers].count(True) == 1
    assert answers[-1].final


BOOK = "This is a sentence of a long text, which is read aloud. " * 540
"""More characters than a server takes in one message."""


@pytest.mark.parametrize("steps", [0, 30])
@pytest.mark.parametrize("what", ["lose", "renew"])
def test_a_long_utterance_goes_on_whole(what: str, steps: int) -> None:
    assert len(BOOK) > LIMITS.max_text == Limits().max_text
    script: list[Request] = [
        *(Append(BOOK[i : i + 50], None, "book") for i in range(0, len(BOOK), 50)),
        Flush(),
        Close(),
    ]
    rig = Rig()
    for request in script[:-1]:
        rig.request(request)
    while rig.leg is not None and rig.leg.up:
        rig.work()
    rig.work(steps)
    getattr(rig, what)()
    rig.request(script[-1])
    rig.finish()
    assert outline(rig.events) == undisturbed(script)


def test_only_the_first_piece_brings_settings_and_what_came() -> None:
    continuity = Continuity(DEFAULTS)
    for start in range(0, len(BOOK), 50):
        continuity.request(Append(BOOK[start : start + 50], None, "book"), 0.0)
    continuity.observe(UtteranceStarted("book", DEFAULTS), 0.0)
    first, *others = continuity.resume(0.0)
    assert isinstance(first, Append)
    assert (first.settings, first.skip) == (DEFAULTS, 0)
    assert others
    for other in others:
        assert isinstance(other, Append)
        assert (other.settings, other.skip, other.utterance) == (None, None, "book")


SLOW = VoiceSettings(speed=0.5)


@pytest.mark.parametrize("name", [None, "u"])
@pytest.mark.parametrize("later", [None, "u"])
def test_settings_of_a_first_delta_without_text_count(name: str | None, later: str | None) -> None:
    continuity = Continuity(DEFAULTS)
    assert continuity.request(Append("", SLOW, name), 0.0) == []
    assert continuity.request(Append("", None, name), 0.0) == []
    (sent,) = continuity.request(Append("Hi.", None, later), 0.0)
    assert isinstance(sent, Append)
    same = later in (None, name)
    assert sent.settings == (SLOW if same else DEFAULTS)
    if name is not None:
        assert sent.utterance == name
    (more,) = continuity.request(Append(" And", None, sent.utterance), 0.0)
    assert isinstance(more, Append)
    assert more.settings is None


@pytest.mark.parametrize(
    "request_",
    [Flush(), Append("", None, "v"), Speak("Yes.")],
)
def test_what_was_opened_without_text_can_be_given_up(request_: Request) -> None:
    continuity = Continuity(DEFAULTS)
    continuity.request(Append("", SLOW, "u"), 0.0)
    continuity.request(request_, 0.0)
    (sent,) = continuity.request(Append("Hi.", None, "u"), 0.0)
    assert isinstance(sent, Append)
    assert sent.settings == DEFAULTS


@pytest.mark.parametrize("begun", [Append("", SLOW, "u"), Hold("u")])
@pytest.mark.parametrize("drop", [Cancel(), Cancel("u")])
def test_what_was_given_up_before_its_text_came_is_not_said(begun: Request, drop: Request) -> None:
    continuity = Continuity(DEFAULTS)
    for request in (begun, drop):
        continuity.request(request, 0.0)
    assert continuity.request(Append("Hi.", None, "u"), 0.0) == []
    (sent,) = continuity.request(Append("Next."), 0.0)
    assert isinstance(sent, Append)
    assert sent.settings == DEFAULTS


@pytest.mark.parametrize("name", [None, "u"])
def test_what_follows_an_interruption_is_not_part_of_what_failed(name: str | None) -> None:
    continuity = Continuity(DEFAULTS)
    (sent,) = continuity.request(Append("Hi. And", None, name), 0.0)
    assert isinstance(sent, Append)
    continuity.observe(Failed(sent.utterance, SynthesisFailed("")), 0.0)
    assert continuity.request(Append(" more"), 0.0) == []
    continuity.request(Cancel(), 0.0)
    assert continuity.request(Append("Next."), 0.0)
