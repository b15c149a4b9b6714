"""Server-sent events: what is written is read, however it is cut; the standard's corner cases."""

import json
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from speakahead.errors import InvalidRequest
from speakahead.protocol.sse import (
    EventTooLarge,
    SseEvent,
    SseReader,
    encode_comment,
    encode_event,
)

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)
LINES = st.text(st.characters(exclude_characters="\r\n\0", exclude_categories=["Cs"]), min_size=1)
LINE_ENDS = st.sampled_from(["\n", "\r", "\r\n"])


def read(stream: bytes, cuts: list[int] | None = None, **options: int) -> list[SseEvent]:
    reader = SseReader(**options)
    edges = [0, *sorted(cut % (len(stream) + 1) for cut in cuts or []), len(stream)]
    return [event for start, end in pairwise(edges) for event in reader.feed(stream[start:end])]


@settings(max_examples=50)
@given(
    st.lists(
        st.tuples(st.dictionaries(st.text(), VALUES), st.none() | LINES, st.none() | LINES),
        max_size=4,
    ),
    st.lists(st.integers(0, 10_000), max_size=12),
)
def test_what_is_written_is_read_however_it_is_cut(
    written: list[tuple[dict[str, Any], str | None, str | None]], cuts: list[int]
) -> None:
    stream = b"".join(encode_event(*each) + encode_comment("on") for each in written)
    events = read(stream, cuts)
    last, expected = "", []
    for data, event, identifier in written:
        last = last if identifier is None else identifier
        expected.append((data, event or "message", last))
    assert [(event.json(), event.event, event.id) for event in events] == expected


@given(
    st.lists(st.tuples(st.lists(LINES, min_size=1), LINE_ENDS), min_size=1, max_size=4),
    st.booleans(),
    st.lists(st.integers(0, 10_000), max_size=12),
)
def test_every_line_end_cut_anywhere(
    written: list[tuple[list[str], str]], bom: bool, cuts: list[int]
) -> None:
    stream = "\ufeff" if bom else ""
    for lines, end in written:
        stream += "".join(f"data: {line}{end}" for line in lines) + end
    assert [event.data for event in read(stream.encode(), cuts)] == [
        "\n".join(lines) for lines, _ in written
    ]
    one_by_one = list(range(len(stream.encode())))
    assert read(stream.encode(), one_by_one) == read(stream.encode())


def test_an_event_leaves_the_reader_with_its_blank_line() -> None:
    reader = SseReader()
    assert reader.feed(b"data: 1\r") == []
    assert reader.feed(b"\n") == [], "the second half of the line end is no blank line"
    assert reader.feed(b"\r") == [SseEvent("1")], "nothing waits for what may follow"
    assert reader.feed(b"\ndata: 2\n\n") == [SseEvent("2")]


def test_a_character_in_two_chunks() -> None:
    reader = SseReader()
    assert reader.feed(b"data: caf\xc3") == []
    assert reader.feed(b"\xa9\n\n") == [SseEvent("café")]


@pytest.mark.parametrize(
    ("stream", "events"),
    [
        # The examples of the standard, section 9.2.6.
        (
            "data: YHOO\ndata: +2\ndata: 10\n\n",
            [SseEvent("YHOO\n+2\n10")],
        ),
        (
            ": test stream\n\ndata: first event\nid: 1\n\ndata:second event\nid\n\n"
            "data:  third event\n\n",
            [
                SseEvent("first event", id="1"),
                SseEvent("second event"),
                SseEvent(" third event"),
            ],
        ),
        ("data\n\ndata\ndata\n\ndata:", [SseEvent(""), SseEvent("\n")]),
        ("data:test\n\ndata: test\n\n", [SseEvent("test"), SseEvent("test")]),
        # Fields.
        ("event: add\ndata: 1\n\ndata: 2\n\n", [SseEvent("1", "add"), SseEvent("2")]),
        ("event: lost\n\ndata: 2\n\n", [SseEvent("2")]),
        ("id: 7\n\ndata: 1\n\n", [SseEvent("1", id="7")]),
        ("id: 7\nid: 8\0\ndata: 1\n\n", [SseEvent("1", id="7")]),
        ("Data: no\ndatum: no\n data: no\ndata: a:b\n\n", [SseEvent("a:b")]),
        ("data: 1\n\n\ufeffdata: 2\n\n", [SseEvent("1")]),
        ("\n\n\r\r\r\n\r\n", []),
    ],
)
def test_the_standard(stream: str, events: list[SseEvent]) -> None:
    data = stream.encode()
    assert read(data) == events
    assert read(data, list(range(len(data)))) == events


def test_retry_is_digits_only() -> None:
    reader = SseReader()
    reader.feed(b"retry: 1500\n\n")
    assert reader.retry_ms == 1500
    for wrong in (b"retry: 1.5\n\n", b"retry: -1\n\n", b"retry:\n\n", "retry: ٣\n\n".encode()):
        reader.feed(wrong)
    assert reader.retry_ms == 1500


def test_bytes_that_are_no_utf8_do_not_stop_the_stream() -> None:
    assert read(b"data: a\xffb\n\ndata: 2\n\n") == [SseEvent("a\ufffdb"), SseEvent("2")]


@pytest.mark.parametrize("stream", [b"data: " + b"x" * 95, b"data: 1234\n" * 11, b":" + b"x" * 100])
def test_an_event_without_end_is_refused(stream: bytes) -> None:
    with pytest.raises(EventTooLarge, match="100 bytes"):
        read(stream, max_event_bytes=100)
    with pytest.raises(EventTooLarge):
        read(stream, list(range(len(stream))), max_event_bytes=100)


def test_the_bound_is_each_events_own() -> None:
    stream = (b"data: " + b"x" * 90 + b"\n\n" + b": still here\n" * 20) * 5
    assert len(read(stream, max_event_bytes=100)) == 5


def test_data_that_are_not_json() -> None:
    for text in ("{", "[" * 100_000, ""):
        with pytest.raises(InvalidRequest) as refused:
            SseEvent(text).json()
        assert refused.value.code == "invalid_json"


@pytest.mark.parametrize("text", ["a\nb", "a\rb", "a\0b"])
def test_nothing_can_be_smuggled_into_a_field(text: str) -> None:
    with pytest.raises(ValueError):
        encode_event({}, event=text)
    with pytest.raises(ValueError):
        encode_event({}, id=text)
    with pytest.raises(ValueError):
        encode_comment(text)
    assert encode_event({"text": text}).count(b"\n") == 2
    with pytest.raises(ValueError):
        encode_event({"number": float("nan")})


def test_the_bytes_on_the_wire() -> None:
    assert (
        encode_event({"a": "é"}, event="x", id="9")
        == 'event: x\nid: 9\ndata: {"a":"é"}\n\n'.encode()
    )
    assert encode_event({"type": "done"}) == b'data: {"type":"done"}\n\n'
    assert json.loads(encode_event({"text": "\ud800"})[6:]) == {"text": "?"}
    assert encode_comment() == b": \n\n"
