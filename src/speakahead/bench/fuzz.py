"""Thousands of nonsensical messages against a real server: each is answered, and nothing breaks.

Each message is followed by a probe, a message that is refused in both protocols and whose error
comes back with its name. The answer shows that the server has read on; what came before it is
looked at: it must be what the protocol allows, and hold an error where the message was no JSON
object. A session that ends must end with the close code that its last messages call for.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import random
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed

from speakahead.bench.nonsense import Maker, Nonsense
from speakahead.bench.process import server_process
from speakahead.errors import InvalidRequest
from speakahead.protocol import v1
from speakahead.protocol.framing import unpack
from speakahead.protocol.json import parse_object, validate_tagged
from speakahead.protocol.messages import parse_server_message
from speakahead.protocol.v1 import ROUTE
from speakahead.session import Limits

CODES = frozenset(
    "invalid_json invalid_encoding invalid_request unknown_type unsupported_protocol "
    "unexpected_hello empty_text text_too_long unknown_voice unsupported_language "
    "invalid_pronunciation unknown_utterance not_held already_spoken already_complete overloaded "
    "text_queue_full".split()
)
"""What a client may be told for a message; anything else, as ``internal``, is a finding."""

_NORMAL, _LOST, _NOT_UTF8, _TOO_LARGE = 1000, 1006, 1007, 1009
_QUERIES = ("?protocol=2",) * 6 + ("",) * 4 + ("?protocol=1", "?protocol=3", "?protocol=", "?x=%00")
_V1: TypeAdapter[v1.ServerMessage] = v1.SERVER_MESSAGES
_LARGEST = 4 * 1024 * 1024  # what `speakahead serve` takes
_MOST_FINDINGS = 50
_SHARE_THAT_SPEAKS = 0.2
_SHARE_THAT_CLOSES = 0.3


@dataclass(slots=True)
class Report:
    """What was sent, what came back, and what should not have.

    Attributes:
        messages: how many were sent.
        sessions: over how many connections.
        seconds: how long it took.
        kinds: messages by what was done to them.
        answers: errors by code, other messages by type, frames of sound.
        closes: ends of sessions by close code.
        findings: what should not have happened, each with the message before.
    """

    messages: int = 0
    sessions: int = 0
    seconds: float = 0.0
    kinds: Counter[str] = field(default_factory=Counter)
    answers: Counter[str] = field(default_factory=Counter)
    closes: Counter[int] = field(default_factory=Counter)
    findings: list[str] = field(default_factory=list)

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)

    def table(self) -> str:
        """The report for people."""
        lines = [
            f"{self.messages} messages in {self.sessions} sessions, {self.seconds:.0f} s",
            *(f"  sent: {kind:26}{count:8}" for kind, count in self.kinds.most_common()),
            *(f"  back: {kind:26}{count:8}" for kind, count in self.answers.most_common()),
            *(f"  closed with {code:<20}{count:8}" for code, count in sorted(self.closes.items())),
            f"  findings: {len(self.findings)}",
            *(f"    {finding}" for finding in self.findings),
        ]
        return "\n".join(lines)

    def found(self, what: str, message: Nonsense | None) -> None:
        """Note something that should not have happened."""
        if len(self.findings) < _MOST_FINDINGS:
            sent = "" if message is None else f" after {message.kind}: {message.data[:200]!r}"
            self.findings.append(what + sent)


def run(
    messages: int = 20_000,
    *,
    seed: int = 1,
    model: Path | None = None,
    progress: Callable[[float], None] = lambda share: None,
) -> Report:
    """Fuzz a server of its own.

    Raises:
        ConnectionFailed: the server did not start.
    """
    options = ["--model", str(model)] if model else []
    with tempfile.TemporaryFile() as log, server_process(options, log) as server:
        report = asyncio.run(fuzz(server.url, messages, seed=seed, progress=progress))
        if server.process.poll() is not None:
            report.found("the server has ended", None)
        else:
            _look_for_speech(report, server.url)
        log.seek(0)
        for line in faults_in(log.read().decode()):
            report.found(f"in the log: {line}", None)
    return report


def faults_in(log: str) -> Iterator[str]:
    """Lines of a server's log that tell of a fault of its own."""
    for line in log.splitlines():
        if "Traceback" in line or " ERROR " in line or "Exception" in line:
            yield line


async def fuzz(
    url: str,
    messages: int,
    *,
    seed: int = 1,
    sessions: int = 8,
    timeout_s: float = 20.0,
    progress: Callable[[float], None] = lambda share: None,
) -> Report:
    """Send so many messages, over some sessions at a time.

    Args:
        url: the server's, as ``http://host:port``.
        messages: how many.
        seed: of chance; what a session is sent depends on it alone.
        sessions: how many at a time.
        timeout_s: how long an answer may take.
        progress: is told the share that is done.
    """
    report = Report()
    began = time.monotonic()
    seeds = iter(range(seed * 1_000_000, (seed + 1) * 1_000_000))

    async def client() -> None:
        while report.messages < messages:
            session = _Session(url, next(seeds), report, messages, timeout_s)
            await session.run()
            progress(report.messages / messages)

    await asyncio.gather(*(client() for _ in range(sessions)))
    report.seconds = round(time.monotonic() - began, 1)
    return report


def _look_for_speech(report: Report, url: str) -> None:
    async def speaks() -> bool:
        async with connect(_address(url, ""), max_size=None, compression=None) as connection:
            await connection.send('{"text": "Still here."}')
            async with asyncio.timeout(30):
                return any([isinstance(await connection.recv(), bytes) for _ in range(2)])

    if not asyncio.run(speaks()):
        report.found("the server does not speak any more", None)


def _address(url: str, query: str) -> str:
    return f"{url.replace('http', 'ws', 1)}{ROUTE}{query}"


class _Session:
    """One connection, and what is known of it."""

    def __init__(
        self, url: str, seed: int, report: Report, messages: int, timeout_s: float
    ) -> None:
        self._rng = random.Random(seed)  # noqa: S311
        self._url = _address(url, self._rng.choice(_QUERIES))
        self._report = report
        self._messages = messages
        self._timeout_s = timeout_s
        self._second = "protocol=2" in self._url
        self._expected: dict[int, int] = {}  # the next sequence number of each utterance
        self._closing = False
        self._probes = 0

    async def run(self) -> None:
        """Send messages until there are enough of them or the session ends."""
        self._report.sessions += 1
        last: Nonsense | None = None
        maker = Maker(self._rng, _LARGEST, Limits().max_text)
        try:
            async with connect(
                self._url, max_size=None, compression=None, close_timeout=1, ping_interval=None
            ) as connection:
                for _ in range(self._rng.randint(1, 40)):
                    if self._report.messages >= self._messages:
                        break
                    last = maker.message()
                    self._report.messages += 1
                    self._report.kinds[last.kind] += 1
                    await self._send(connection, last)
                    if not await self._probed(connection, last):
                        break
                else:
                    last = None
                    if self._second and self._rng.random() < _SHARE_THAT_SPEAKS:
                        await self._speak(connection)
                    if self._rng.random() < _SHARE_THAT_CLOSES:
                        await self._close(connection)
        except ConnectionClosed as closed:
            self._closed(closed, last)
        except TimeoutError:
            self._report.found("no answer", last)

    async def _send(self, connection: ClientConnection, message: Nonsense) -> None:
        if not message.cuts:
            await connection.send(message.data, text=message.text)
            return
        cuts = sorted(self._rng.randint(0, len(message.data)) for _ in range(message.cuts))
        bounds = [0, *cuts, len(message.data)]
        pieces = [message.data[i:j] for i, j in itertools.pairwise(bounds)]
        await connection.send(pieces, text=message.text)

    async def _probed(self, connection: ClientConnection, message: Nonsense) -> bool:
        """Whether the session still answers; what came before its answer is looked at."""
        self._probes += 1
        name = f"probe-{self._probes}"
        probe = {"type": "text", "text": 0, "utterance": name, "request_id": name}
        await connection.send(json.dumps(probe))
        errors = 0
        while True:
            async with asyncio.timeout(self._timeout_s):
                frame = await connection.recv()
            answer = self._looked_at(frame, message)
            if answer is None:
                continue
            if name in (answer.get("utterance"), answer.get("request_id")):
                break
            errors += answer.get("type") == "error"
        if not errors and not message.is_object:
            self._report.found("no error", message)
        return True

    def _looked_at(self, frame: str | bytes, message: Nonsense | None) -> dict[str, Any] | None:
        """The message in a frame, if it holds one; sound is only checked."""
        if isinstance(frame, bytes):
            self._report.answers["(sound)"] += 1
            if self._second:
                self._check_sound(frame, message)
            return None
        answer = parse_object(frame)
        self._second = self._second or answer.get("type") == "ready"
        try:
            if self._second:
                parse_server_message(frame)
            else:
                validate_tagged(_V1, answer)
        except InvalidRequest as invalid:
            self._report.found(f"an answer that is none ({invalid.message})", message)
        code = answer.get("code") if answer.get("type") == "error" else None
        self._report.answers[f"error {code}" if code else str(answer["type"])] += 1
        if code is not None and code not in CODES:
            self._report.found(f"the error {code}", message)
        if answer.get("type") == "utterance_start":
            self._expected[answer["number"]] = 0
        return answer

    def _check_sound(self, frame: bytes, message: Nonsense | None) -> None:
        try:
            sound = unpack(frame)
        except InvalidRequest:
            self._report.found("sound without a header", message)
            return
        if sound.sequence != self._expected.get(sound.utterance):
            self._report.found("sound out of order", message)
        self._expected[sound.utterance] = sound.sequence + 1

    async def _speak(self, connection: ClientConnection) -> None:
        """Drop everything, and have something spoken."""
        for message in (
            {"type": "cancel"},
            {"type": "discard"},  # forgets what was to be held, too
            {"type": "text", "text": "Good.", "utterance": "good"},
            {"type": "flush"},
        ):
            await connection.send(json.dumps(message))
        async with asyncio.timeout(self._timeout_s * 3):
            while True:
                answer = self._looked_at(await connection.recv(), None)
                if answer is not None and answer.get("utterance") == "good":
                    if answer["type"] == "utterance_complete":
                        return
                    if answer["type"] == "error":
                        if answer["code"] != "overloaded":
                            self._report.found("does not speak any more", None)
                        return

    async def _close(self, connection: ClientConnection) -> None:
        """End the session as a client should, and see it end."""
        if self._second:
            await connection.send('{"type": "cancel"}')
        self._closing = True
        await connection.send('{"type": "close"}')
        async with asyncio.timeout(self._timeout_s * 3):
            while True:
                frame = await connection.recv()
                if isinstance(frame, bytes) and not self._second:
                    return  # without an interruption it may go on for long
                self._looked_at(frame, None)

    def _closed(self, closed: ConnectionClosed, message: Nonsense | None) -> None:
        code = closed.rcvd.code if closed.rcvd is not None else _LOST
        self._report.closes[code] += 1
        if self._closing:
            expected = code == _NORMAL
        elif message is None:
            expected = False
        elif len(message.data) > _LARGEST:
            # What is still on its way when the server closes may cost us its last words.
            expected = code in (_TOO_LARGE, _LOST)
        else:
            is_damaged = message.text and not message.is_text
            expected = is_damaged and code in (_NOT_UTF8, _LOST)
        if not expected:
            self._report.found(f"closed with {code}", message)
