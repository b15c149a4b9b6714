"""Faults that the endpoint shows on demand: what can go wrong between a client and AWS."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from speakahead.errors import InvalidRequest


class FaultKind(StrEnum):
    """What goes wrong. The first group replaces the answer, the second ends an open stream."""

    HANG = "hang"  # no answer at all
    HTTP_400 = "http-400"
    HTTP_424 = "http-424"
    HTTP_500 = "http-500"
    HTTP_503 = "http-503"

    STALL = "stall"  # nothing more is read or sent
    RESET = "reset"  # RST_STREAM
    CUT = "cut"  # the TCP connection breaks
    MODEL_STREAM_ERROR = "model-stream-error"
    INTERNAL_STREAM_FAILURE = "internal-stream-failure"
    EARLY_CLOSE = "early-close"  # as if the container had closed with 1000
    EARLY_END = "early-end"  # END_STREAM, and no word why

    SLOW_READS = "slow-reads"  # the client's parts are taken with pauses in between


REQUEST_FAULTS = frozenset(kind for kind in FaultKind if kind is FaultKind.HANG or "http-" in kind)
"""Those that replace the answer."""


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault.

    Attributes:
        kind: what goes wrong.
        after: for those that replace the answer, how many requests are served before; for
            ``SLOW_READS``, how many parts of the client's are read at full speed; for the others,
            how many parts the client gets first, 0 or more.
        times: how many requests it happens to at most; None for all. One request counts even if
            it ends before its fault.
        delay_s: the pause of ``SLOW_READS`` before each part, in seconds.
    """

    kind: FaultKind
    after: int = 0
    times: int | None = None
    delay_s: float = 1.0

    @classmethod
    def parse(cls, text: str) -> Fault:
        """``NAME[:AFTER[:TIMES]]``, as in ``reset:3`` or ``http-503:0:2``.

        Raises:
            InvalidRequest: it is not like that.
        """
        name, *numbers = text.split(":")
        if name not in list(FaultKind):
            raise InvalidRequest(f"There is no such fault; there are {', '.join(FaultKind)}.")
        if len(numbers) > 2 or not all(part.isascii() and part.isdigit() for part in numbers):
            raise InvalidRequest("A fault is written NAME[:AFTER[:TIMES]], as in reset:3:1.")
        after, times = (*map(int, numbers), *(None, None))[:2]
        return cls(FaultKind(name), after or 0, times)


class FaultFired(Exception):
    """A fault's moment has come."""

    def __init__(self, fault: Fault) -> None:
        super().__init__(fault.kind)
        self.fault = fault


@dataclass(slots=True)
class RequestFaults:
    """The faults of one request."""

    replacement: Fault | None
    within: tuple[Fault, ...]

    def answered(self, parts: int) -> None:
        """Say that so many parts have been sent to the client.

        Raises:
            FaultFired: this is the moment of one of the faults.
        """
        for fault in self.within:
            if fault.kind is not FaultKind.SLOW_READS and fault.after <= parts:
                raise FaultFired(fault)

    def pause_s(self, parts: int) -> float:
        """How long to wait before the next part is read, after so many; in seconds."""
        pauses = (
            fault.delay_s
            for fault in self.within
            if fault.kind is FaultKind.SLOW_READS and fault.after <= parts
        )
        return max(pauses, default=0.0)


class FaultPlan:
    """The faults of an endpoint; says which of them the next request meets."""

    def __init__(self, faults: tuple[Fault, ...] = ()) -> None:
        self.set(faults)

    def set(self, faults: tuple[Fault, ...]) -> None:
        """Replace all faults, for requests that are still to come; counting begins anew."""
        self._counts = [(fault, [0]) for fault in faults]

    def next_request(self) -> RequestFaults:
        """The faults of the request that has just come; at most one replaces its answer."""
        replacement: Fault | None = None
        within: list[Fault] = []
        for fault, count in self._counts:
            number, count[0] = count[0], count[0] + 1
            first = fault.after if fault.kind in REQUEST_FAULTS else 0
            if number < first or (fault.times is not None and number >= first + fault.times):
                continue
            if fault.kind in REQUEST_FAULTS:
                replacement = replacement or fault
            else:
                within.append(fault)
        return RequestFaults(replacement, tuple(within))
