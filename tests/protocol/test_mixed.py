import itertools
import json

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from speakahead.errors import InvalidRequest
from speakahead.protocol.mixed import MixedReader, read_chunk
from speakahead.protocol.v1 import (
    CompleteMessage,
    ErrorMessage,
    ServerMessage,
    StartMessage,
)

START = StartMessage(request_id="r")
COMPLETE = CompleteMessage(request_id="r", total_duration_s=1.5, elapsed_s=0.25)
ERROR = ErrorMessage(request_id=None, code="overloaded", message="Too {much}.", retryable=True)


def wire(message: ServerMessage) -> bytes:
    return json.dumps(message.model_dump()).encode()


@pytest.mark.parametrize("message", [START, COMPLETE, ERROR])
def test_a_whole_message_is_control(message: ServerMessage) -> None:
    assert read_chunk(wire(message)) == message
    assert read_chunk(b" \n" + json.dumps(message.model_dump(), indent=2).encode()) == message


@pytest.mark.parametrize(
    "sound",
    [
        b"",
        b"{",
        b"{\x00\x01\x7b",
        b"{}{}",
        b"{}",
        b"1234",
        b"-1.5",
        b"null",
        b'"hello there"',
        b"[1, 2]",
        b'["type"]',
        b'{"a": 1}',
        b'{"type": 5}',
        b'{"type": ["error"]}',
        b'{"type": "sound"}',
        b'{"type": "delta", "text": "a client\'s message"}',
        wire(START) + b"\x00\x01",
        b"\x00\x00" + wire(START),
        wire(START)[:-1],
        wire(START) + wire(COMPLETE),
    ],
)
def test_every_other_chunk_is_sound(sound: bytes) -> None:
    assert read_chunk(sound) is sound


def test_a_damaged_message_is_an_error_and_not_noise() -> None:
    with pytest.raises(InvalidRequest, match="request_id"):
        read_chunk(b'{"type": "synthesis_start"}')


# -- a stream that was cut anywhere -----------------------------------------------------------

_TRAPS = [b"{", b"{}", b'{"', b'{"type"', b'{"type": "synthesis_complete', b'{"a": 1}', b'"', b"}}"]

sounds = (
    st.lists(st.sampled_from(_TRAPS) | st.binary(max_size=12), max_size=6)
    .map(b"".join)
    .map(lambda sound: sound + b"\0" * (len(sound) % 2))
)
streams = st.lists(st.sampled_from([START, COMPLETE, ERROR]) | sounds, max_size=8)


def normal(parts: list[ServerMessage | bytes]) -> list[ServerMessage | bytes]:
    """Parts with neighbouring pieces of sound joined: where these were cut is not known."""
    joined: list[ServerMessage | bytes] = []
    for part in parts:
        if isinstance(part, bytes) and joined and isinstance(joined[-1], bytes):
            joined[-1] += part
        elif part != b"":
            joined.append(part)
    return joined


@given(streams, st.lists(st.integers(0, 400)))
def test_cuts_and_joins_change_nothing(parts: list[ServerMessage | bytes], cuts: list[int]) -> None:
    stream = b"".join(part if isinstance(part, bytes) else wire(part) for part in parts)
    assume(b'synthesis_complete"}' not in stream)  # a whole message within the sound, and damaged
    edges = [0, *sorted(min(cut, len(stream)) for cut in cuts), len(stream)]
    reader = MixedReader()
    read: list[ServerMessage | bytes] = []
    for begin, end in itertools.pairwise(edges):
        got = reader.feed(stream[begin:end])
        assert all(len(part) % 2 == 0 for part in got if isinstance(part, bytes))
        read += got
    read.append(reader.finish())
    assert normal(read) == normal(parts)


def test_a_message_is_not_kept_waiting() -> None:
    reader = MixedReader()
    assert reader.feed(wire(START)) == [START]
    assert reader.feed(b'{"' + wire(COMPLETE)) == [b'{"', COMPLETE]
    assert reader.feed(wire(COMPLETE)[:20]) == []
    assert reader.feed(wire(COMPLETE)[20:]) == [COMPLETE]


def test_sound_is_not_kept_waiting() -> None:
    reader = MixedReader()
    assert reader.feed(b"\x01\x02\x03\x04") == [b"\x01\x02\x03\x04"]
    assert reader.feed(b"\x01\x02\x03") == [b"\x01\x02"]
    assert reader.feed(b"\x04{\xff") == [b"\x03\x04{\xff"]
    assert sum(len(part) for part in reader.feed(b'{"' + b"a" * 10_000)) > 5_900  # type: ignore[arg-type]


def test_a_message_within_a_sample_is_sound() -> None:
    reader = MixedReader()
    read = [*reader.feed(b"\x00" + wire(START) + b"\x00"), reader.finish()]
    assert all(isinstance(part, bytes) for part in read)


def test_half_a_sample_at_the_end_is_dropped() -> None:
    reader = MixedReader()
    assert reader.feed(b"\x01\x02\x03") == [b"\x01\x02"]
    assert reader.finish() == b""
