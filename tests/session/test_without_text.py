"""Utterances that have a name, settings or an error, but no text yet, or no text any more."""

import json

import pytest

from speakahead.errors import SynthesisFailed
from speakahead.protocol.codec import Codec
from speakahead.protocol.json import RefusedMessage
from speakahead.protocol.v1 import V1Codec
from speakahead.protocol.v2 import V2Codec
from speakahead.session import Limits, Session
from speakahead.session.events import (
    Append,
    Cancel,
    Discard,
    Event,
    Failed,
    Flush,
    Hold,
    Release,
    Request,
    SentenceFailed,
    UtteranceCancelled,
    UtteranceStarted,
    VoiceSettings,
)
from tests.session.test_interruption import answers, speak_all, taken
from tests.session.test_session import language_of

CLAIM = (Append("Your flight leaves at nine.", utterance="claim"), Flush())
NEXT = (Append("Next."), Flush())


def after(*requests: Request, limits: Limits | None = None) -> Session:
    session = Session(language_of, limits=limits)
    for request in requests:
        session.receive(request, 0.0)
    return session


def spoken(session: Session) -> list[str]:
    """Texts that are spoken, whether or not they may leave."""
    texts = []
    while (work := session.next_work()) is not None:
        texts.append(work.sentence.text)
        session.deliver(SentenceFailed(work, SynthesisFailed("")), 0.0)
    return texts


def errors(events: list[Event]) -> list[tuple[str | None, str]]:
    return [(e.utterance, e.error.code) for e in events if isinstance(e, Failed)]


# -- held before their text comes -------------------------------------------------------------


@pytest.mark.parametrize("drop", [Discard("claim"), Discard(), Cancel("claim"), Cancel()])
def test_an_announced_claim_that_was_called_off_is_not_said_when_its_text_comes(
    drop: Request,
) -> None:
    session = after(Hold("claim"), drop)
    [answer] = taken(session)
    assert isinstance(answer, UtteranceCancelled)
    for request in (*CLAIM, *NEXT):
        session.receive(request, 1.0)
    assert spoken(session) == ["Next."]
    assert "claim" not in [utterance for utterance, _ in errors(taken(session))]


def test_an_interruption_forgets_that_the_next_utterance_was_to_be_held() -> None:
    session = after(Hold(), Cancel(), *NEXT)
    speak_all(session)
    assert any(isinstance(event, UtteranceStarted) for event in taken(session))


def test_a_claim_that_is_still_being_heard_cannot_be_held() -> None:
    session = after(*CLAIM)
    speak_all(session)
    taken(session)
    session.receive(Hold("claim"), 0.5)
    session.receive(Discard("claim"), 0.5)
    assert errors(taken(session, 0.5)) == [
        ("claim", "already_spoken"),
        ("claim", "unknown_utterance"),
    ]
    session.receive(Hold("claim"), 60.0)  # a new one of the name
    assert errors(taken(session, 60.0)) == []


# -- failed while they were being written -----------------------------------------------------


def failed(name: str | None) -> Session:
    """A session in which an utterance failed before all of its text came."""
    session = after(Append("Hello there. More", utterance=name))
    assert spoken(session) == ["Hello there."]
    taken(session)
    return session


@pytest.mark.parametrize("name", [None, "a"])
def test_what_follows_an_interruption_is_not_part_of_what_failed_before(name: str | None) -> None:
    session = failed(name)
    session.receive(Cancel(), 1.0)
    assert len(answers(taken(session, 1.0))) == 1
    if name is not None:
        session.receive(Append(" text.", utterance=name), 1.0)  # was on its way
    for request in NEXT:
        session.receive(request, 2.0)
    assert spoken(session) == ["Next."]


@pytest.mark.parametrize("name", [None, "a"])
def test_nor_of_what_was_refused_before(name: str | None) -> None:
    session = after(Append("Hello ", VoiceSettings("nobody"), name), Cancel())
    assert errors(taken(session)) == [(name, "unknown_voice")]
    if name is not None:
        session.receive(Append("there.", utterance=name), 1.0)  # was on its way
    for request in NEXT:
        session.receive(request, 2.0)
    assert spoken(session) == ["Next."]


def test_what_failed_is_not_held_in_place_of_the_next() -> None:
    session = failed("a")
    session.receive(Hold(), 1.0)
    for request in CLAIM:
        session.receive(request, 1.0)
    speak_all(session)
    assert not any(isinstance(event, UtteranceStarted) for event in taken(session))
    session.receive(Release("claim"), 2.0)
    assert any(isinstance(event, UtteranceStarted) for event in taken(session))


def test_what_failed_behind_a_hold_does_not_block_its_release() -> None:
    limits = Limits(max_text=50)
    session = after(Hold("claim"), *CLAIM, limits=limits)
    for request in (Append("Too"), Append("x" * 51), Hold(), *NEXT, Release()):
        session.receive(request, 0.0)
    speak_all(session)
    taken(session)
    assert session.pending_events == 0


# -- refused at their first text --------------------------------------------------------------


def say(session: Session, codec: Codec, *messages: dict[str, object]) -> None:
    for message in messages:
        try:
            request = codec.decode(json.dumps(message))
        except RefusedMessage as refused:
            session.refuse(refused, 0.0, refused.utterance, text=refused.text)
        else:
            session.receive(request, 0.0)  # type: ignore[arg-type]


FLUSH = {"type": "flush"}


@pytest.mark.parametrize("codec", [V1Codec, V2Codec])
@pytest.mark.parametrize("named", [False, True])
def test_an_utterance_whose_beginning_is_no_message_is_not_spoken_without_it(
    codec: type[V1Codec | V2Codec], named: bool
) -> None:
    kind, key = ("delta", "request_id") if codec is V1Codec else ("text", "utterance")
    name = {key: "b"} if named else {}
    session = after()
    say(
        session,
        codec(VoiceSettings()),
        {"type": kind, "text": "Do not ", "speed": 300.0, **name},
        {"type": kind, "text": "press the button.", **name},
        {"type": kind, "text": " Never."},
        FLUSH,
        {"type": kind, "text": "Next."},
        FLUSH,
    )
    assert spoken(session) == ["Next."]
    assert errors(taken(session))[0] == ("b" if named else None, "invalid_request")


@pytest.mark.parametrize("named", [False, True])
def test_nor_is_one_in_which_a_message_is_missing(named: bool) -> None:
    name = {"utterance": "b"} if named else {}
    session = after()
    say(
        session,
        V2Codec(VoiceSettings()),
        {"type": "text", "text": "Please do", **name},
        {"type": "text", "text": 5, **name},
        {"type": "text", "text": " press the button."},
        FLUSH,
    )
    assert spoken(session) == []
    assert [code for _, code in errors(taken(session))] == ["invalid_request"]


def test_a_refused_message_leaves_others_alone() -> None:
    """Text that was on its way when its utterance was cancelled, or what is no text."""
    session = after(Append("Gone. ", utterance="a"), Cancel("a"), Append("One", utterance="b"))
    say(
        session,
        V2Codec(VoiceSettings()),
        {"type": "text", "text": 5, "utterance": "a"},
        {"type": "cancel", "played_ms": -5},
        {"type": "text", "text": " two."},
        FLUSH,
    )
    assert spoken(session) == ["One two."]


def test_where_there_is_no_room_no_other_utterance_fails_and_none_is_spoken_in_part() -> None:
    limits = Limits(max_text=100, max_waiting=50)
    session = after(Hold("h"), Append("x" * 40, utterance="h"), Flush(), limits=limits)
    for request in (
        Append("Short. ", utterance="g"),
        Append("This sentence is somewhat longer. And so ", utterance="g"),
        Append("This begins ", utterance="b"),
        Discard("h"),
        Append("and this ends.", utterance="b"),
        Flush(),
    ):
        session.receive(request, 0.0)
    assert errors(taken(session)) == [("b", "text_queue_full")]
    assert "".join(spoken(session)).startswith("Short.")


# -- begun by a delta without text ------------------------------------------------------------

EMMA = VoiceSettings("bf_emma")


@pytest.mark.parametrize("name", [None, "a"])
@pytest.mark.parametrize("again", [False, True])
def test_settings_of_an_empty_first_delta_count(name: str | None, again: bool) -> None:
    session = after(Append("", EMMA, name, skip=7))
    if again:
        session.receive(Append("", utterance=name), 0.0)
    session.receive(Append("Hi there.", utterance=name), 0.0)
    work = session.next_work()
    session.receive(Flush(), 0.0)
    work = work or session.next_work()
    assert work is not None
    assert work.settings == EMMA
    assert work.begun, "the client has some of it"
    assert name in (None, work.utterance)


@pytest.mark.parametrize(
    "between",
    [
        (Flush(),),
        (Cancel(),),
        (Cancel("a"),),
        (Append("Other.", utterance="b"), Flush()),
    ],
)
def test_but_not_of_another_utterance(between: tuple[Request, ...]) -> None:
    session = after(Append("", EMMA, "a"), *between, Append("Hi."), Flush())
    voices = []
    while (work := session.next_work()) is not None:
        voices.append(work.settings.voice)
        session.deliver(SentenceFailed(work, SynthesisFailed("")), 0.0)
    assert set(voices) == {VoiceSettings().voice}


def test_an_empty_first_delta_is_refused_like_any_other() -> None:
    session = after(Append("", VoiceSettings("nobody"), "a"), Append("Hi.", utterance="a"), Flush())
    assert spoken(session) == []
    assert errors(taken(session)) == [("a", "unknown_voice")]
