"""Interruption: what is dropped, and what is said to have been heard."""

from collections import deque

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from speakahead.audio.pcm import SAMPLE_RATE
from speakahead.errors import SynthesisFailed
from speakahead.session import Limits, Session
from speakahead.session.events import (
    Append,
    Audio,
    AudioReady,
    Cancel,
    Close,
    Discard,
    Event,
    Failed,
    Flush,
    Hold,
    Release,
    Request,
    SentenceBegan,
    SentenceDone,
    SentenceFailed,
    SessionClosed,
    Speak,
    SpokenWord,
    UtteranceCancelled,
    UtteranceCompleted,
    UtteranceStarted,
    VoiceSettings,
    Work,
)
from speakahead.text.spans import Span

WORD_S = 0.4
PIECE = np.zeros(round(WORD_S * SAMPLE_RATE), np.float32)


def language_of(settings: VoiceSettings) -> str:
    return "en-us"


def words_of(work: Work) -> tuple[SpokenWord, ...]:
    """The words of a sentence, each of which takes ``WORD_S``."""
    words, position = [], work.sentence.span.start
    for number, word in enumerate(work.sentence.text.split(" ")):
        span = Span(position, position + len(word.rstrip(".")))
        words.append(SpokenWord(word, number * WORD_S, (number + 1) * WORD_S, span))
        position += len(word) + 1
    return tuple(words)


def speak(session: Session, work: Work, now: float) -> None:
    words = words_of(work)
    session.deliver(SentenceBegan(work, words), now)
    for _ in words:
        session.deliver(AudioReady(work, PIECE), now)
    session.deliver(SentenceDone(work), now)


def speak_all(session: Session, now: float = 0.0) -> None:
    while (work := session.next_work()) is not None:
        speak(session, work, now)


def taken(session: Session, now: float = 0.0) -> list[Event]:
    return list(iter(lambda: session.next_event(now), None))


def answers(events: list[Event]) -> list[UtteranceCancelled]:
    return [event for event in events if isinstance(event, UtteranceCancelled)]


TEXT = "One two three. Four five six. Seven eight nine."


def test_sound_that_was_sent_is_told_from_sound_that_was_heard() -> None:
    session = Session(language_of)
    session.receive(Speak(TEXT, utterance="u"), 0.0)
    speak_all(session)
    assert sum(isinstance(e, Audio) for e in taken(session, now=10.0)) == 9
    session.receive(Cancel(), now=10.0 + 4.6 * WORD_S)  # in the middle of "five"
    (answer,) = answers(taken(session))
    assert answer.played_s == pytest.approx(4.6 * WORD_S)
    assert answer.text_spoken == "One two three. Four five"
    assert answer.text_remaining == " six. Seven eight nine."
    assert answer.final


@pytest.mark.parametrize(
    ("played_s", "spoken"),
    [(0.0, ""), (0.1, ""), (0.3, "One"), (0.9, "One two"), (1.2, "One two three."), (99, TEXT)],
)
def test_the_client_knows_best_what_it_has_played(played_s: float, spoken: str) -> None:
    session = Session(language_of)
    session.receive(Speak(TEXT, utterance="u"), 0.0)
    speak_all(session)
    taken(session)
    session.receive(Cancel("u", played_s), now=1000.0)
    (answer,) = answers(taken(session))
    assert answer.text_spoken == spoken
    assert answer.text_spoken + answer.text_remaining == TEXT


def test_nothing_of_a_cancelled_utterance_follows_the_answer() -> None:
    session = Session(language_of, limits=Limits(work_ahead=2))
    session.receive(Speak(TEXT, utterance="u"), 0.0)
    first, second = session.next_work(), session.next_work()
    assert first is not None
    assert second is not None
    session.deliver(SentenceBegan(first, words_of(first)), 0.0)
    session.deliver(AudioReady(first, PIECE), 0.0)
    session.receive(Cancel(), 0.1)
    assert session.withdrawn() == [first, second]
    session.deliver(AudioReady(first, PIECE), 0.2)  # was in flight
    session.deliver(SentenceDone(first), 0.2)
    assert taken(session) == [UtteranceCancelled("u", 0.0, "", TEXT, True)]
    assert session.next_work() is None
    assert session.unsent_samples == 0
    session.receive(Speak("Next.", utterance="n"), 0.3)
    speak_all(session)
    assert any(isinstance(e, UtteranceCompleted) for e in taken(session))


def test_one_utterance_is_cancelled_and_the_others_are_spoken() -> None:
    session = Session(language_of)
    for name in "abc":
        session.receive(Speak(f"Text {name}.", utterance=name), 0.0)
    session.receive(Cancel("b"), 0.0)
    speak_all(session)
    events = taken(session)
    assert [e.utterance for e in events if isinstance(e, UtteranceCompleted)] == ["a", "c"]
    assert [e.utterance for e in answers(events)] == ["b"]


def test_all_that_was_not_heard_is_answered_for() -> None:
    session = Session(language_of)
    session.receive(Speak("Heard long ago.", utterance="old"), 0.0)
    speak_all(session)
    taken(session, now=0.0)
    session.receive(Speak("One two.", utterance="a"), 50.0)
    speak_all(session)
    taken(session, now=50.0)
    session.receive(Speak("Three four.", utterance="b"), 50.0)
    session.receive(Append("Five", utterance="c"), 50.0)
    session.receive(Cancel(), now=50.0 + 1.2 * WORD_S)
    assert [
        (a.utterance, a.text_spoken, a.text_remaining, a.final) for a in answers(taken(session))
    ] == [
        ("a", "One", " two.", False),
        ("b", "", "Three four.", False),
        ("c", "", "Five", True),
    ]


def test_a_cancel_with_nothing_to_drop_is_answered_too() -> None:
    session = Session(language_of)
    session.receive(Cancel(), 0.0)
    assert taken(session) == [UtteranceCancelled(None, 0.0, "", "", True)]


def test_cancelling_twice_is_harmless_and_an_unknown_name_is_an_error() -> None:
    session = Session(language_of)
    session.receive(Speak(TEXT, utterance="u"), 0.0)
    session.receive(Cancel("u"), 0.0)
    session.receive(Cancel("u"), 0.0)
    session.receive(Cancel("other"), 0.0)
    first, again, unknown = taken(session)
    assert first == UtteranceCancelled("u", 0.0, "", TEXT, True)
    assert again == UtteranceCancelled("u", 0.0, "", "", True)
    assert isinstance(unknown, Failed)
    assert unknown.error.code == "unknown_utterance"


def test_text_that_was_on_its_way_when_its_utterance_was_cancelled_is_ignored() -> None:
    session = Session(language_of)
    session.receive(Append("Half of", utterance="u"), 0.0)
    session.receive(Cancel(), 0.0)
    session.receive(Append(" a reply.", utterance="u"), 0.0)
    session.receive(Flush(), 0.0)
    assert session.next_work() is None
    session.receive(Append("New.", utterance="v"), 0.0)
    session.receive(Flush(), 0.0)
    work = session.next_work()
    assert work is not None
    assert work.utterance == "v"


def test_a_name_may_be_used_again_after_a_cancel() -> None:
    session = Session(language_of)
    session.receive(Speak("One.", utterance="u"), 0.0)
    session.receive(Cancel("u"), 0.0)
    session.receive(Speak("Two.", utterance="u"), 0.0)
    session.receive(Cancel("u"), 0.0)
    assert [a.text_remaining for a in answers(taken(session))] == ["One.", "Two."]


def test_a_delta_of_another_name_completes_the_utterance_before_it() -> None:
    session = Session(language_of)
    session.receive(Append("One", utterance="a"), 0.0)
    session.receive(Append("Two", utterance="b"), 0.0)
    session.receive(Append("Late", utterance="a"), 0.0)
    speak_all(session)
    events = taken(session)
    assert [e.utterance for e in events if isinstance(e, UtteranceCompleted)] == ["a", "b"]
    (late,) = [e for e in events if isinstance(e, Failed)]
    assert late.utterance == "a"


# -- holding back ---------------------------------------------------------------------------------


def test_a_held_utterance_is_prepared_and_leaves_at_once_when_released() -> None:
    session = Session(language_of)
    session.receive(Hold("claim"), 0.0)
    session.receive(Speak("Before.", utterance="before"), 0.0)
    session.receive(Speak("It has been sent.", utterance="claim"), 0.0)
    session.receive(Speak("After.", utterance="after"), 0.0)
    speak_all(session)
    assert {e.utterance for e in taken(session) if isinstance(e, Audio)} == {"before"}
    assert not session.busy
    session.receive(Release("claim"), 0.0)
    spoken = [e.utterance for e in taken(session) if isinstance(e, Audio)]
    assert list(dict.fromkeys(spoken)) == ["claim", "after"]


@pytest.mark.parametrize("name", ["claim", None])
def test_a_discarded_utterance_is_never_heard(name: str | None) -> None:
    session = Session(language_of)
    session.receive(Hold(), 0.0)
    session.receive(Append("It has been sent.", utterance="claim"), 0.0)
    session.receive(Flush(), 0.0)
    session.receive(Speak("After.", utterance="after"), 0.0)
    speak_all(session)
    session.receive(Discard(name), 0.0)
    events = taken(session)
    assert answers(events) == [UtteranceCancelled("claim", 0.0, "", "It has been sent.", True)]
    assert {e.utterance for e in events if isinstance(e, Audio)} == {"after"}


def test_the_utterance_being_written_can_be_held_until_it_sounds() -> None:
    session = Session(language_of)
    session.receive(Append("First sentence. Second", utterance="u"), 0.0)
    session.receive(Hold(), 0.0)
    speak_all(session)
    assert not [e for e in taken(session) if isinstance(e, Audio)]
    session.receive(Release(), 0.0)
    assert [e for e in taken(session) if isinstance(e, Audio)]
    session.receive(Hold("u"), 0.0)
    (refused,) = taken(session)
    assert isinstance(refused, Failed)
    assert refused.error.code == "already_spoken"


@pytest.mark.parametrize(
    ("request_", "code"),
    [
        (Release("nobody"), "unknown_utterance"),
        (Discard("nobody"), "unknown_utterance"),
        (Release("u"), "not_held"),
        (Discard("u"), "not_held"),
    ],
)
def test_what_is_not_held_cannot_be_released(request_: Request, code: str) -> None:
    session = Session(language_of)
    session.receive(Speak(TEXT, utterance="u"), 0.0)
    session.receive(request_, 0.0)
    (failed,) = [e for e in taken(session) if isinstance(e, Failed)]
    assert failed.error.code == code


def test_what_is_held_at_the_close_is_not_said() -> None:
    session = Session(language_of)
    session.receive(Hold(), 0.0)
    session.receive(Speak("It has been sent.", utterance="claim"), 0.0)
    session.receive(Speak("Goodbye.", utterance="bye"), 0.0)
    session.receive(Close(), 0.0)
    speak_all(session)
    events = taken(session)
    assert {e.utterance for e in events if isinstance(e, Audio)} == {"bye"}
    assert isinstance(events[-1], SessionClosed)


def test_text_behind_a_hold_is_refused_rather_than_left_unread() -> None:
    session = Session(language_of, limits=Limits(max_waiting=40))
    session.receive(Hold(), 0.0)
    for number in range(3):
        session.receive(Speak("One sentence. And another one.", utterance=f"u{number}"), 0.0)
        assert not session.congested
    (refused,) = [e for e in taken(session) if isinstance(e, Failed)]
    assert (refused.utterance, refused.error.code) == ("u2", "text_queue_full")
    session.receive(Release(), 0.0)
    assert session.congested
    speak_all(session)
    assert not session.congested
    ended = [e.utterance for e in taken(session) if isinstance(e, UtteranceCompleted)]
    assert ended == ["u0", "u1"]


@pytest.mark.parametrize("name", [None, "u"])
def test_sound_of_an_utterance_that_has_failed_is_dropped_too(name: str | None) -> None:
    session = Session(language_of)
    session.receive(Speak("One two. Three four.", utterance="u"), 0.0)
    first, second = session.next_work(), session.next_work()
    assert first is not None
    assert second is not None
    speak(session, first, 0.0)
    session.deliver(SentenceFailed(second, SynthesisFailed("No.")), 0.0)
    session.receive(Cancel(name), 1.0)
    assert session.unsent_samples == 0
    events = taken(session, 1.0)
    assert not [event for event in events if isinstance(event, Audio | UtteranceStarted)]
    ends = [event.error.code for event in events if isinstance(event, Failed)]
    assert ends.count("synthesis_failed") == 1


def test_the_record_tells_the_stages() -> None:
    session = Session(language_of, name="s")
    session.receive(Append("One two. Th", utterance="u"), 1.0)
    work = session.next_work()
    assert work is not None
    session.deliver(SentenceBegan(work, words_of(work)), 2.0)
    session.deliver(AudioReady(work, PIECE), 3.0)
    taken(session, now=4.0)
    assert session.records() == []
    session.receive(Cancel(), 5.0)
    (record,) = session.records()
    assert (record.session, record.utterance, record.outcome) == ("s", "u", "cancelled")
    stages = (record.requested_at, record.sentence_at, record.phonemes_at)
    assert stages == (1.0, 1.0, 2.0)
    assert (record.first_window_at, record.first_sent_at, record.ended_at) == (3.0, 4.0, 5.0)
    assert record.audio_s == pytest.approx(WORD_S)
    assert session.records() == []


# -- any order of anything ------------------------------------------------------------------------

names = st.sampled_from(["a", "b", None])
steps = st.one_of(
    st.builds(Speak, st.sampled_from(["One two. Three.", "Four"]), utterance=names),
    st.builds(Append, st.sampled_from(["He", "llo there. ", "Yes!\n"]), utterance=names),
    st.just(Flush()),
    st.builds(Cancel, names, st.sampled_from([None, 0.0, 0.5, 3.0])),
    st.builds(Hold, names),
    st.builds(Release, names),
    st.builds(Discard, names),
    st.sampled_from(["work", "audio", "done", "take"]),
)


@given(st.lists(steps, max_size=60))
def test_the_session_keeps_its_promises(incoming: list[Request | str]) -> None:
    session = Session(language_of)
    under_way: deque[Work] = deque()
    events: list[Event] = []
    now = 0.0

    def settle() -> None:
        for work in session.withdrawn():
            under_way.remove(work)

    for step in incoming:
        now += 0.1
        if step == "work":
            if (work := session.next_work()) is not None:
                under_way.append(work)
        elif step in ("audio", "done"):
            if under_way and step == "audio":
                session.deliver(AudioReady(under_way[0], PIECE), now)
            elif under_way:
                session.deliver(SentenceDone(under_way.popleft()), now)
        elif step == "take":
            event = session.next_event(now)
            events += [] if event is None else [event]
        else:
            assert not isinstance(step, str)
            session.receive(step, now)
            settle()
            if isinstance(step, Cancel) and step.utterance is None:
                head = []
                while not head or not (isinstance(head[-1], UtteranceCancelled) and head[-1].final):
                    event = session.next_event(now)
                    assert isinstance(event, UtteranceCancelled | Failed)
                    head.append(event)
                events += head
                # Nothing that was accepted before is left.
                assert session.unsent_samples == 0
                assert session.next_work() is None
    session.receive(Close(), now)
    settle()
    while under_way or (work := session.next_work()) is not None:
        if not under_way:
            assert work is not None
            under_way.append(work)
        session.deliver(SentenceDone(under_way.popleft()), now)
    events += taken(session, now)
    assert events[-1] == SessionClosed()
    assert session.next_event(now) is None
    assert session.unsent_samples == 0
    for answer in answers(events):
        assert answer.played_s >= 0
