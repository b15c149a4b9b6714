"""Parts and frames, whatever their sequence."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from websockets.frames import Frame, Opcode

from speakahead.emulator.bridge import FramesToParts, PartsToFrames
from speakahead.emulator.events import Completion, DataType, PayloadPart
from speakahead.emulator.refusals import StreamRefused

KINDS = st.sampled_from([DataType.UTF8, DataType.BINARY, None])
PIECES = st.lists(st.binary(max_size=40), min_size=1, max_size=5)
MESSAGES = st.lists(st.tuples(KINDS, PIECES), max_size=8)


def parts_of(messages: list[tuple[DataType | None, list[bytes]]]) -> list[PayloadPart]:
    """All but the last piece of a message are PARTIAL; COMPLETE may be left out."""
    parts = []
    for number, (kind, pieces) in enumerate(messages):
        last = Completion.COMPLETE if number % 2 else None
        parts += [PayloadPart(piece, kind, Completion.PARTIAL) for piece in pieces[:-1]]
        parts.append(PayloadPart(pieces[-1], kind, last))
    return parts


@given(MESSAGES)
def test_one_frame_for_each_part_and_one_message_for_each_complete_one(
    messages: list[tuple[DataType | None, list[bytes]]],
) -> None:
    bridge = PartsToFrames()
    frames = [bridge.frame(part) for part in parts_of(messages)]
    expected = []
    for kind, pieces in messages:
        first = Opcode.TEXT if kind is DataType.UTF8 else Opcode.BINARY
        for number, piece in enumerate(pieces):
            opcode = Opcode.CONT if number else first
            expected.append(Frame(opcode, piece, fin=number == len(pieces) - 1))
    assert frames == expected


@given(MESSAGES)
def test_frames_come_back_as_the_parts_they_were_made_from(
    messages: list[tuple[DataType | None, list[bytes]]],
) -> None:
    out, back = PartsToFrames(), FramesToParts()
    for part in parts_of(messages):
        echoed = back.part(out.frame(part))
        assert echoed.data == part.data
        assert echoed.data_type is (part.data_type or DataType.BINARY)
        assert echoed.completion is (part.completion or Completion.COMPLETE)


def test_a_continuation_without_a_type_has_that_of_its_message() -> None:
    bridge = PartsToFrames()
    bridge.frame(PayloadPart(b"a", DataType.UTF8, Completion.PARTIAL))
    assert bridge.frame(PayloadPart(b"b")) == Frame(Opcode.CONT, b"b", fin=True)


@pytest.mark.parametrize("first", [DataType.UTF8, DataType.BINARY, None])
def test_a_message_cannot_change_its_type(first: DataType | None) -> None:
    bridge = PartsToFrames()
    bridge.frame(PayloadPart(b"a", first, Completion.PARTIAL))
    other = DataType.BINARY if first is DataType.UTF8 else DataType.UTF8
    with pytest.raises(StreamRefused, match="same DataType"):
        bridge.frame(PayloadPart(b"b", other))
