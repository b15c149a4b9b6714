"""The session alone: no model, no clock, no thread."""

from collections import deque

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from speakahead.audio.pcm import SAMPLE_RATE
from speakahead.errors import IllegalTransition, SynthesisFailed, UnknownVoice
from speakahead.session import Limits, Session, SessionState
from speakahead.session.events import (
    Append,
    Audio,
    AudioReady,
    Close,
    Event,
    Failed,
    Flush,
    Pauses,
    Request,
    SentenceBegan,
    SentenceDone,
    SentenceFailed,
    SentenceReady,
    SentenceStarted,
    SessionClosed,
    Speak,
    UtteranceCompleted,
    UtteranceStarted,
    VoiceSettings,
    Work,
)

SOUND = np.zeros(SAMPLE_RATE // 10, np.float32)


def language_of(settings: VoiceSettings) -> str:
    if settings.voice == "nobody":
        raise UnknownVoice("There is no such voice.")
    return "en-us"


def new_session(**limits: int) -> Session:
    return Session(language_of, limits=Limits(**limits))


def work_off(session: Session, now: float = 1.0) -> list[Work]:
    """Play the engine until there is nothing more to do."""
    done: list[Work] = []
    under_way: deque[Work] = deque()
    while True:
        while (work := session.next_work()) is not None:
            under_way.append(work)
        if not under_way:
            return done
        work = under_way.popleft()
        session.deliver(SentenceBegan(work), now)
        session.deliver(AudioReady(work, SOUND), now)
        session.deliver(SentenceDone(work), now)
        done.append(work)


def taken(session: Session, now: float = 1.0) -> list[Event]:
    """Take all events that may leave."""
    return list(iter(lambda: session.next_event(now), None))


def kinds(events: list[Event]) -> list[str]:
    return [type(event).__name__ for event in events]


def test_a_text_becomes_one_utterance() -> None:
    session = new_session()
    session.receive(Speak("Hello there. How are you?", utterance="a"), now=10.0)
    works = work_off(session, now=12.5)
    assert [w.sentence.text for w in works] == ["Hello there.", "How are you?"]
    events = taken(session)
    assert kinds(events) == [
        "SentenceReady",
        "SentenceReady",
        "UtteranceStarted",
        "SentenceStarted",
        "Audio",
        "SentenceStarted",
        "Audio",
        "UtteranceCompleted",
    ]
    assert events[-1] == UtteranceCompleted("a", duration_s=0.2, elapsed_s=2.5)
    second = events[5]
    assert isinstance(second, SentenceStarted)
    assert second.offset_s == pytest.approx(0.1)
    assert session.state is SessionState.OPEN


def test_a_sentence_is_work_while_the_next_is_still_being_written() -> None:
    session = new_session()
    for delta in ["Hel", "lo the", "re. H"]:
        session.receive(Append(delta), now=0.0)
    work = session.next_work()
    assert work is not None
    assert work.sentence.text == "Hello there."
    assert session.next_work() is None
    session.receive(Append("ow are you"), now=0.0)
    assert session.next_work() is None
    session.receive(Flush(), now=0.0)
    following = session.next_work()
    assert following is not None
    assert following.sentence.text == "How are you"


def test_an_utterance_of_deltas_is_complete_only_after_the_flush() -> None:
    session = new_session()
    session.receive(Append("Hello there. ", utterance="d"), now=0.0)
    session.receive(Append("Now "), now=0.0)
    work_off(session)
    assert UtteranceCompleted not in map(type, taken(session))
    session.receive(Flush(), now=0.0)
    work_off(session)
    completed = taken(session)[-1]
    assert isinstance(completed, UtteranceCompleted)
    assert completed.utterance == "d"


def test_a_text_ends_the_utterance_that_was_being_written() -> None:
    session = new_session()
    session.receive(Append("First part", utterance="one"), now=0.0)
    session.receive(Speak("Second.", utterance="two"), now=0.0)
    works = work_off(session)
    assert [(w.utterance, w.sentence.text) for w in works] == [
        ("one", "First part"),
        ("two", "Second."),
    ]


def test_work_of_a_later_utterance_waits_for_the_text_of_the_earlier() -> None:
    session = new_session(work_ahead=8)
    session.receive(Speak("One. Two.", utterance="a"), now=0.0)
    session.receive(Speak("Three.", utterance="b"), now=0.0)
    assert [w.utterance for w in work_off(session)] == ["a", "a", "b"]
    started = [e.utterance for e in taken(session) if isinstance(e, UtteranceStarted)]
    assert started == ["a", "b"]


def test_flush_without_text_does_nothing() -> None:
    session = new_session()
    session.receive(Flush(), now=0.0)
    session.receive(Append(""), now=0.0)
    session.receive(Flush(), now=0.0)
    assert taken(session) == []
    assert not session.busy


def test_only_white_space_in_deltas_is_a_silent_utterance() -> None:
    session = new_session()
    session.receive(Append("  \n ", utterance="quiet"), now=0.0)
    session.receive(Flush(), now=1.0)
    assert taken(session) == [
        UtteranceStarted("quiet", VoiceSettings()),
        UtteranceCompleted("quiet", duration_s=0.0, elapsed_s=1.0),
    ]


@pytest.mark.parametrize(
    ("request_", "code"),
    [
        (Speak("  "), "empty_text"),
        (Speak("x" * 1001), "text_too_long"),
        (Append("x" * 1001), "text_too_long"),
        (Speak("Hi.", VoiceSettings(voice="nobody")), "unknown_voice"),
        (Append("Hi.", VoiceSettings(voice="nobody")), "unknown_voice"),
    ],
)
def test_a_request_that_cannot_be_served_is_refused_and_the_session_lives(
    request_: Request, code: str
) -> None:
    session = new_session(max_text=1000)
    session.receive(request_, now=0.0)
    (failed,) = taken(session)
    assert isinstance(failed, Failed)
    assert failed.error.code == code
    session.receive(Speak("Still here."), now=0.0)
    assert len(work_off(session)) == 1


def test_an_utterance_that_is_refused_at_its_first_delta_is_dropped_up_to_its_end() -> None:
    session = new_session()
    session.receive(Append("Half of", VoiceSettings("nobody"), "lost"), now=0.0)
    session.receive(Append(" a reply."), now=0.0)
    session.receive(Flush(), now=0.0)
    assert [type(e) for e in taken(session)] == [Failed]
    session.receive(Append("Next."), now=0.0)
    session.receive(Flush(), now=0.0)
    assert [w.sentence.text for w in work_off(session)] == ["Next."]


def test_an_utterance_with_a_hole_in_it_fails_once() -> None:
    session = new_session(max_text=20)
    session.receive(Append("Beginning", utterance="u"), now=0.0)
    session.receive(Append("x" * 21), now=0.0)
    session.receive(Append(" and the end."), now=0.0)
    session.receive(Flush(), now=0.0)
    assert work_off(session) == []
    (failed,) = taken(session)
    assert isinstance(failed, Failed)
    assert (failed.utterance, failed.error.code) == ("u", "text_too_long")


def test_a_message_that_is_no_request_ends_the_utterance_that_it_names() -> None:
    session = new_session()
    session.receive(Append("Beginning", utterance="u"), now=0.0)
    session.refuse(UnknownVoice("No."), 0.0, "another")
    session.refuse(UnknownVoice("No."), 0.0, "u")
    session.receive(Flush(), now=0.0)
    assert work_off(session) == []
    assert [e.utterance for e in taken(session) if isinstance(e, Failed)] == ["another", "u"]


def test_a_refused_text_leaves_the_utterance_being_written_alone() -> None:
    session = new_session()
    session.receive(Append("One", utterance="u"), now=0.0)
    session.receive(Speak("Two.", VoiceSettings("nobody")), now=0.0)
    session.receive(Append(" more."), now=0.0)
    session.receive(Flush(), now=0.0)
    assert [w.sentence.text for w in work_off(session)] == ["One more."]


def test_a_failed_sentence_ends_its_utterance_and_no_other() -> None:
    session = new_session()
    session.receive(Speak("One. Two. Three.", utterance="bad"), now=0.0)
    session.receive(Speak("Four.", utterance="good"), now=0.0)
    first, second = session.next_work(), session.next_work()
    assert first is not None
    assert second is not None
    session.deliver(SentenceFailed(first, SynthesisFailed("No.")), now=0.0)
    assert session.withdrawn() == [second]
    session.deliver(AudioReady(second, SOUND), now=0.0)  # was under way: nobody wants it now
    session.deliver(SentenceDone(second), now=0.0)
    works = work_off(session)
    assert [w.sentence.text for w in works] == ["Four."]
    ends = [e for e in taken(session) if isinstance(e, Failed | UtteranceCompleted | Audio)]
    assert kinds(ends) == ["Failed", "Audio", "UtteranceCompleted"]


def test_close_finishes_what_was_accepted() -> None:
    session = new_session()
    session.receive(Append("One. And two"), now=0.0)
    session.receive(Close(), now=0.0)
    assert session.state is SessionState.CLOSING
    assert [w.sentence.text for w in work_off(session)] == ["One.", "And two"]
    assert taken(session)[-1] == SessionClosed()
    assert session.state is SessionState.CLOSED


def test_no_request_after_close() -> None:
    session = new_session()
    session.receive(Close(), now=0.0)
    with pytest.raises(IllegalTransition):
        session.receive(Speak("Late."), now=0.0)


def test_results_must_come_in_the_order_of_the_work() -> None:
    session = new_session()
    session.receive(Speak("One. Two."), now=0.0)
    first, second = session.next_work(), session.next_work()
    assert first is not None
    assert second is not None
    with pytest.raises(IllegalTransition):
        session.deliver(SentenceDone(second), now=0.0)


def test_an_abandoned_session_gives_nothing_more() -> None:
    session = new_session()
    session.receive(Speak("One. Two."), now=0.0)
    work = session.next_work()
    assert work is not None
    session.abandon(now=0.0)
    session.deliver(AudioReady(work, SOUND), now=0.0)
    assert taken(session) == []
    assert session.next_work() is None


def test_the_session_is_congested_until_work_is_done() -> None:
    session = new_session(max_waiting=30)
    session.receive(Speak("One is here. Two is here. Three is here. Four is here."), now=0.0)
    assert session.congested
    work_off(session)
    assert not session.congested


def test_many_waiting_utterances_are_congestion_too() -> None:
    session = new_session(max_utterances=3)
    for _ in range(4):
        session.receive(Speak("Hi."), now=0.0)
    assert session.congested


def test_the_pause_depends_on_how_the_sentence_ended() -> None:
    session = Session(language_of, pauses=Pauses(sentence=1.0, clause=2.0, line=3.0))
    session.receive(Speak("# Title\nOne. Two"), now=0.0)
    assert [w.pause_s for w in work_off(session)] == [3.0, 1.0, 1.0]


def test_a_block_of_code_is_not_read_aloud() -> None:
    session = new_session()
    session.receive(Speak("Run this:\n```sh\nmake demo\n```\nThen listen."), now=0.0)
    assert [w.sentence.text for w in work_off(session)] == ["Run this:", "Then listen."]


def test_utterances_without_a_name_get_different_ones() -> None:
    session = Session(language_of, name="s")
    session.receive(Speak("One."), now=0.0)
    session.receive(Speak("Two."), now=0.0)
    assert [w.utterance for w in work_off(session)] == ["s-1", "s-2"]


@pytest.mark.parametrize("speed", [0.0, -1.0, 0.49, 2.01, 100.0, float("nan"), float("inf")])
def test_a_speed_out_of_range_is_refused(speed: float) -> None:
    with pytest.raises(Exception, match="speed must be"):
        VoiceSettings(speed=speed)


requests = st.one_of(
    st.builds(Speak, st.sampled_from(["One. Two.", "Three", " ", "Dr. Who. Yes!\nNo."])),
    st.builds(Append, st.sampled_from(["", "He", "llo. ", "A b c", "!\n", " "])),
    st.just(Flush()),
)


@given(st.lists(requests, max_size=30), st.data())
def test_every_utterance_ends_exactly_once_and_in_order(
    incoming: list[Request], data: st.DataObject
) -> None:
    session = new_session()
    events: list[Event] = []
    under_way: deque[Work] = deque()
    for request in [*incoming, Close()]:
        session.receive(request, now=0.0)
        for _ in range(data.draw(st.integers(0, 3))):
            if (work := session.next_work()) is not None:
                under_way.append(work)
            if under_way and data.draw(st.booleans()):
                work = under_way.popleft()
                if data.draw(st.integers(0, 9)) == 0:
                    session.deliver(SentenceFailed(work, SynthesisFailed("No.")), 0.0)
                else:
                    session.deliver(AudioReady(work, SOUND), 0.0)
                    session.deliver(SentenceDone(work), 0.0)
        events += taken(session)
    while (work := session.next_work()) is not None or under_way:
        if work is not None:
            under_way.append(work)
        if under_way:
            session.deliver(SentenceDone(under_way.popleft()), 0.0)
    events += taken(session)

    assert events[-1] == SessionClosed()
    accepted = list(dict.fromkeys(e.utterance for e in events if isinstance(e, SentenceReady)))
    ended = [
        e.utterance
        for e in events
        if isinstance(e, UtteranceCompleted) or (isinstance(e, Failed) and e.utterance)
    ]
    assert len(ended) == len(set(ended))
    assert [u for u in ended if u in set(accepted)] == accepted
    for utterance in accepted:
        own = [e for e in events if getattr(e, "utterance", None) == utterance]
        sounding = [i for i, e in enumerate(own) if isinstance(e, Audio)]
        started = [i for i, e in enumerate(own) if isinstance(e, UtteranceStarted)]
        end = next(i for i, e in enumerate(own) if isinstance(e, UtteranceCompleted | Failed))
        assert all(started[0] < i < end for i in sounding)


def test_text_that_is_only_being_written_does_not_make_a_session_busy() -> None:
    session = new_session()
    session.receive(Append("Hello the"), now=0.0)
    assert not session.busy
    session.receive(Append("re. How"), now=0.0)
    assert session.busy
    work_off(session)
    assert not session.busy
    session.receive(Flush(), now=1.0)
    assert session.busy
    work_off(session)
    assert not session.busy


def test_what_is_written_is_expected_to_be_as_long_as_what_was_written_before() -> None:
    session = new_session()
    session.receive(Append("Hello. "), 0.0)
    work_off(session)
    assert 90 <= session.coming <= 110  # nothing is known yet: a sentence or two
    for _ in range(4):
        session.receive(Append("A reply of some length. " * 20), 0.0)
        session.receive(Flush(), 0.0)
    work_off(session)
    session.receive(Append("Hello. "), 0.0)
    work_off(session)
    assert 350 <= session.coming <= 480


def test_work_says_whether_its_utterance_has_begun() -> None:
    session = new_session()
    session.receive(Append("One. Two. Three"), 0.0)
    assert not work_off(session)[0].begun
    session.receive(Append(" is more. And"), 0.0)
    assert [work.begun for work in work_off(session)] == [True]
