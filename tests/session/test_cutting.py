"""Text that waits is cut into sentences only as far as it is needed."""

from collections import deque

import pytest
from hypothesis import given
from hypothesis import strategies as st

from speakahead.session import Session
from speakahead.session.events import (
    Append,
    AudioReady,
    Cancel,
    Close,
    Event,
    Flush,
    Request,
    SentenceDone,
    SentenceReady,
    Speak,
    UtteranceCancelled,
    UtteranceCompleted,
    Work,
)
from tests.session.test_session import SOUND, new_session, taken, work_off

LONG = "Every word of it counts. " * 800  # 20,000 characters


def test_only_what_is_needed_next_is_cut() -> None:
    session = new_session(cut_ahead=1000)
    session.receive(Speak(LONG, utterance="long"), 0.0)
    ready = [event for event in taken(session) if isinstance(event, SentenceReady)]
    assert 1000 <= sum(len(event.sentence.text) for event in ready) < 3000
    works = work_off(session)
    assert " ".join(work.sentence.text for work in works) == LONG.strip()
    events = taken(session)
    assert isinstance(events[-1], UtteranceCompleted)


def test_uncut_text_counts_as_waiting() -> None:
    session = new_session(cut_ahead=100, max_waiting=30_000)
    session.receive(Speak(LONG), 0.0)
    assert not session.congested
    session.receive(Speak(LONG), 0.0)
    assert session.congested
    assert session.coming > 38_000
    work_off(session)
    assert not session.congested
    assert session.coming == 0


def test_uncut_text_is_in_the_answer_to_an_interruption() -> None:
    session = new_session(cut_ahead=100)
    for _ in range(5000):
        session.receive(Append("Oh no. ", utterance="u"), 0.0)
    session.receive(Speak(LONG, utterance="v"), 0.0)
    session.receive(Cancel(), 0.0)
    answers = [event for event in taken(session) if isinstance(event, UtteranceCancelled)]
    assert [answer.text_remaining for answer in answers] == ["Oh no. " * 5000, LONG]
    assert session.coming == 0
    session.receive(Speak("Good.", utterance="next"), 0.0)
    assert [work.sentence.text for work in work_off(session)] == ["Good."]


def test_a_block_of_code_longer_than_what_is_cut_ahead_holds_nothing_up() -> None:
    session = new_session(cut_ahead=20)
    code = "```\n" + "x = 1\n" * 2000 + "```\n"
    session.receive(Speak(f"Look:\n{code}That is it. Good.", utterance="u"), 0.0)
    spoken = [work.sentence.text for work in work_off(session)]
    assert spoken == ["Look:", "That is it.", "Good."]
    assert isinstance(taken(session)[-1], UtteranceCompleted)


@pytest.mark.parametrize("last", ["No end", "An end. ", ""])
def test_the_end_of_the_text_comes_while_it_is_uncut(last: str) -> None:
    session = new_session(cut_ahead=10)
    session.receive(Append("One is here. " * 300 + last, utterance="a"), 0.0)
    session.receive(Flush(), 0.0)
    session.receive(Append("Two.", utterance="b"), 0.0)
    session.receive(Close(), 0.0)
    works = work_off(session)
    assert [work.utterance for work in works[-2:]] == ["a", "b"]
    assert len(works) == 301 + bool(last)
    ended = [e.utterance for e in taken(session) if isinstance(e, UtteranceCompleted)]
    assert ended == ["a", "b"]


requests = st.one_of(
    st.builds(
        Speak,
        st.sampled_from(["One. Two. Three.", "No end", "A\nb\nc", "x" * 50]),
        utterance=st.sampled_from("ab"),
    ),
    st.builds(Append, st.sampled_from(["He", "llo there. How", "Yes! " * 9, "```\nx\n```\n", ""])),
    st.just(Flush()),
    st.builds(Cancel, st.sampled_from([None, "a"])),
)


def play(session: Session, incoming: list[Request | int]) -> tuple[list[Work], list[Event]]:
    """What is spoken, and the ends, when the engine works off some sentences now and then."""
    spoken: list[Work] = []
    events: list[Event] = []
    under_way: deque[Work] = deque()
    for step in [*incoming, Close(), 1000]:
        if not isinstance(step, int):
            session.receive(step, 0.0)
            for work in session.withdrawn():
                under_way.remove(work)
            continue
        for _ in range(step):
            while (next_work := session.next_work()) is not None:
                under_way.append(next_work)
            if under_way:
                session.deliver(AudioReady(under_way[0], SOUND), 0.0)
                session.deliver(SentenceDone(under_way[0]), 0.0)
                spoken.append(under_way.popleft())
    events += taken(session)
    return spoken, [e for e in events if not isinstance(e, SentenceReady)]


@given(st.lists(st.one_of(requests, st.integers(1, 4)), max_size=25), st.integers(1, 40))
def test_how_far_ahead_text_is_cut_makes_no_difference(
    incoming: list[Request | int], cut_ahead: int
) -> None:
    spoken, events = play(new_session(), incoming)
    spoken_late, events_late = play(new_session(cut_ahead=cut_ahead), incoming)
    assert [(w.utterance, w.sentence) for w in spoken_late] == [
        (w.utterance, w.sentence) for w in spoken
    ]
    assert [repr(event) for event in events_late] == [repr(event) for event in events]
