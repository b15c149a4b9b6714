"""The Polly session without I/O: every text is given out once, whatever is done to it."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from speakahead.audio.pcm import SAMPLE_RATE
from speakahead.backends.polly_session import AHEAD_S, PART_AGE_S, PART_LIMIT, Part, PollySession
from speakahead.backends.polly_voices import VoiceTable
from speakahead.errors import ConnectionFailed
from speakahead.session.events import (
    Append,
    Audio,
    Cancel,
    Close,
    Event,
    Failed,
    Flush,
    SentenceStarted,
    SessionClosed,
    Speak,
    UtteranceCancelled,
    UtteranceCompleted,
)

SENTENCES = ("Yes.", "It is late.", "...", "The fox went out one night, and prayed.", "# Title\n")


def taken(part: Part) -> str:
    said = ""
    while (text := part.take()) is not None:
        said += text.text
    return said


def events_of(session: PollySession) -> list[Event]:
    events = []
    while (event := session.next_event(0.0)) is not None:
        events.append(event)
    return events


def hum(seconds: float) -> np.ndarray[tuple[int], np.dtype[np.float32]]:
    return np.full(round(seconds * SAMPLE_RATE), 0.5, np.float32)


actions = st.one_of(
    st.builds(lambda s: ("append", s), st.sampled_from(SENTENCES)),
    st.just(("flush", "")),
    st.builds(lambda s: ("speak", s), st.sampled_from(SENTENCES)),
    st.builds(lambda n: ("sound", str(n)), st.integers(1, 40)),
    st.just(("finish", "")),
    st.just(("fail", "")),
    st.just(("rest", "")),
    st.just(("cancel", "")),
)


@given(st.lists(actions, max_size=40))
def test_every_utterance_ends_once_and_nothing_follows(steps: list[tuple[str, str]]) -> None:
    session = PollySession(VoiceTable())
    events: list[Event] = []

    def serve() -> None:
        part = session.part
        if part is not None and part.complete:
            taken(part)
            session.sound(part, hum(0.5), 0.0)
            session.finish(part, 0.0)

    for kind, value in steps:
        part = session.part
        match kind:
            case "append":
                session.receive(Append(value + " "), 0.0)
            case "flush":
                session.receive(Flush(), 0.0)
            case "speak":
                session.receive(Speak(value), 0.0)
            case "cancel":
                session.receive(Cancel(played_s=0.2), 0.0)
            case "sound" if part is not None and part.has_text:
                session.sound(part, hum(int(value) / 10), 0.0)
            case "finish":
                serve()
            case "fail" if part is not None and part.has_text:
                session.fail(part, ConnectionFailed("lost"), 0.0)
            case "rest" if part is not None and part.has_text:
                session.rest(part)
        events += events_of(session)
    session.receive(Close(), 0.0)
    while session.part is not None:
        serve()
        events += events_of(session)
    events += events_of(session)

    assert events[-1] == SessionClosed()
    begun: dict[str, int] = {}
    ended: set[str] = set()
    for event in events:
        name = getattr(event, "utterance", None)
        if name is None:
            continue
        if isinstance(event, UtteranceCancelled):
            ended.add(name)  # also of one that was complete, and is being heard
            continue
        assert name not in ended
        if isinstance(event, Audio):
            assert event.offset == begun.get(name, 0)
            begun[name] = event.offset + len(event.samples)
        if isinstance(event, UtteranceCompleted | Failed):
            ended.add(name)
    assert set(begun) <= ended


@given(
    st.lists(st.sampled_from(SENTENCES), min_size=1, max_size=12),
    st.lists(st.floats(0.01, 2.0), max_size=8),
    st.floats(0, 1),
    st.floats(0, 1),
)
def test_more_is_heard_the_longer_it_is_played(
    sentences: list[str], pieces: list[float], first: float, second: float
) -> None:
    text = " ".join(sentences)

    def heard(share: float) -> str:
        session = PollySession(VoiceTable())
        session.receive(Speak(text, utterance="a"), 0.0)
        if (part := session.part) is not None:
            taken(part)
            for seconds in pieces:
                session.sound(part, hum(seconds), 0.0)
            session.finish(part, 0.0)
        events_of(session)
        session.receive(Cancel(utterance="a", played_s=share * sum(pieces)), 0.0)
        (cancelled,) = [e for e in events_of(session) if isinstance(e, UtteranceCancelled)]
        assert cancelled.text_spoken + cancelled.text_remaining == text
        return cancelled.text_spoken

    assert len(heard(min(first, second))) <= len(heard(max(first, second)))


def test_a_part_ends_by_length_and_by_age() -> None:
    session = PollySession(VoiceTable())
    session.receive(Append("Many words, one after the other. " * 200), 0.0)
    first = session.part
    assert first is not None
    assert first.complete
    assert PART_LIMIT <= first.characters < PART_LIMIT + 40
    taken(first)
    session.finish(first, 0.0)
    session.receive(Append("Hello there. "), PART_AGE_S + 1)
    second = session.part
    assert second is not None
    assert second.complete
    assert second is not first


def test_nothing_of_a_very_long_text_is_left_out() -> None:
    session = PollySession(VoiceTable())
    lines = [*["Many words, one after the other."] * 350, *["..."] * 4_000, "The end."]
    text = "\n".join(lines)
    for start in range(0, len(text), 15_000):
        session.receive(Append(text[start : start + 15_000], utterance="a"), 0.0)
    session.receive(Close(), 0.0)
    said, events = "", []
    while (part := session.part) is not None and part.has_text:
        said += taken(part)
        session.sound(part, hum(0.1), 0.0)
        session.finish(part, 0.0)
        events += events_of(session)
    assert said == "Many words, one after the other. " * 350 + "The end. "
    assert isinstance(events[-2], UtteranceCompleted)
    assert events[-1] == SessionClosed()


def test_what_cannot_be_spoken_does_not_stop_what_follows() -> None:
    session = PollySession(VoiceTable())
    session.receive(Speak("...\n" * 4_500 + "The end."), 0.0)
    part = session.part
    assert part is not None
    assert taken(part) == "The end. "


def test_no_part_is_begun_while_much_sound_waits() -> None:
    session = PollySession(VoiceTable())
    session.receive(Speak("One.", utterance="a"), 0.0)
    session.receive(Speak("Two.", utterance="b"), 0.0)
    part = session.part
    assert part is not None
    session.sound(part, hum(AHEAD_S + 1), 0.0)
    session.finish(part, 0.0)
    assert session.part is None
    while not isinstance(session.next_event(0.0), Audio):
        pass
    assert session.part is not None


def test_a_sentence_begins_where_its_share_of_the_text_does() -> None:
    session = PollySession(VoiceTable())
    sentence = "These words are as many as those. "
    session.receive(Speak(sentence * 4), 0.0)
    for utterance in range(2):  # the second is reckoned from the pace of the first
        part = session.part
        assert part is not None
        taken(part)
        for _ in range(80):
            session.sound(part, hum(0.1), 0.0)
        session.finish(part, 0.0)
        starts = [e.offset_s for e in events_of(session) if isinstance(e, SentenceStarted)]
        assert len(starts) == 4
        if utterance == 1:
            assert starts == pytest.approx([0, 2, 4, 6], abs=0.2)
        session.receive(Speak(sentence * 4), 0.0)


def test_what_was_heard_of_a_part_under_way_is_reckoned_from_the_pace_before() -> None:
    session = PollySession(VoiceTable())
    text = "one two three four five six seven eight nine ten eleven twelve words are here."
    for seconds in (8.0, 2.0):
        session.receive(Speak(text, utterance="a"), 0.0)
        part = session.part
        assert part is not None
        taken(part)
        session.sound(part, hum(seconds), 0.0)
        if seconds == 8.0:
            session.finish(part, 0.0)
        events_of(session)
    session.receive(Cancel(played_s=2.0), 0.0)
    assert session.part is None
    first, second = [e for e in events_of(session) if isinstance(e, UtteranceCancelled)]
    assert (first.text_spoken, second.text_spoken) == ("one two three four", "")
    assert second.final


def test_text_is_flushed_when_nothing_follows() -> None:
    session = PollySession(VoiceTable())
    session.receive(Append("One. Two. Three. Fo"), 0.0)
    part = session.part
    assert part is not None
    flushes = []
    while (text := part.take()) is not None:
        flushes.append((text.text, text.flush))
    assert flushes == [("One. ", True), ("Two. ", False), ("Three. ", True)]
