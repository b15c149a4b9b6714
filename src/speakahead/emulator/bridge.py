"""Parts of the event stream to WebSocket frames, and back; no I/O.

Source: "Custom Inference Code with Hosting Services" in the SageMaker AI developer guide, on
bidirectional streaming: one frame for each part, never merged and never split.
"""

from __future__ import annotations

from websockets.frames import Frame, Opcode

from speakahead.emulator.events import Completion, DataType, PayloadPart
from speakahead.emulator.refusals import StreamRefused

_OPCODES = {DataType.UTF8: Opcode.TEXT, DataType.BINARY: Opcode.BINARY, None: Opcode.BINARY}
_DATA_TYPES = {Opcode.TEXT: DataType.UTF8, Opcode.BINARY: DataType.BINARY}


class PartsToFrames:
    """The client's parts as frames for the container.

    ``UTF8`` becomes a text frame, ``BINARY`` or no type a binary one. Parts that are ``PARTIAL``
    and the one that completes them are the fragments of one message. Bytes are not looked at: a
    part may end within a character, and text that is no UTF-8 is for the container to refuse.
    """

    def __init__(self) -> None:
        self._message: DataType | None = None
        self._open = False

    def frame(self, part: PayloadPart) -> Frame:
        """The frame for the next part.

        Raises:
            StreamRefused: a message changes its type half-way. A part without a type has that of
                the message it continues.
        """
        opcode = Opcode.CONT if self._open else _OPCODES[part.data_type]
        if self._open and part.data_type not in (None, self._message or DataType.BINARY):
            raise StreamRefused(
                "ValidationException", "All parts of one message have the same DataType."
            )
        if not self._open:
            self._message = part.data_type
        self._open = part.completion is Completion.PARTIAL
        return Frame(opcode, part.data, fin=not self._open)


class FramesToParts:
    """The container's frames as parts for the client: one part for each frame.

    Every fragment of a message has the type of that message; only the last is ``COMPLETE``.
    """

    def __init__(self) -> None:
        self._message = DataType.BINARY

    def part(self, frame: Frame) -> PayloadPart:
        """The part for the next data frame."""
        if frame.opcode is not Opcode.CONT:
            self._message = _DATA_TYPES[frame.opcode]
        completion = Completion.COMPLETE if frame.fin else Completion.PARTIAL
        return PayloadPart(bytes(frame.data), self._message, completion)
