"""Protocol 2 over a real socket; the engine costs nothing and gives 0.5 s for each letter."""

import asyncio
import contextlib
import json
import logging
import random
import re
from collections.abc import AsyncIterator, Callable, Coroutine
from typing import Any

import numpy as np
import pytest
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed

from speakahead.protocol.framing import AudioFrame, unpack
from speakahead.protocol.messages import (
    CancelledMessage,
    CaptionsMessage,
    ErrorMessage,
    ReadyMessage,
    ServerMessage,
    UtteranceCompleteMessage,
    UtteranceStartMessage,
    WarningMessage,
    parse_server_message,
)
from speakahead.protocol.v2 import V2Codec
from speakahead.server.settings import ServerSettings
from tests.server.rig import Rig, serving

LONG = "So many words are in this sentence. " * 20


class Client:
    """A client of protocol 2 that says and reads what a test tells it to."""

    def __init__(self, connection: ClientConnection) -> None:
        self.connection = connection

    async def send(self, kind: str, **fields: object) -> None:
        await self.connection.send(json.dumps({"type": kind, **fields}))

    async def receive(self, seconds: float = 5.0) -> ServerMessage | AudioFrame:
        async with asyncio.timeout(seconds):
            frame = await self.connection.recv()
        return unpack(frame) if isinstance(frame, bytes) else parse_server_message(frame)

    async def expect[M](self, kind: type[M]) -> M:
        """The next message, which must be one of this kind."""
        message = await self.receive()
        assert isinstance(message, kind), message
        return message

    async def until[M](self, kind: type[M]) -> tuple[M, list[ServerMessage | AudioFrame]]:
        """The next message of this kind, and all that came before it."""
        passed: list[ServerMessage | AudioFrame] = []
        while not isinstance(message := await self.receive(), kind):
            passed.append(message)
        return message, passed

    async def silence(self, seconds: float) -> None:
        """Nothing comes for a while."""
        with pytest.raises(TimeoutError):
            await self.receive(seconds)

    async def closed(self) -> int | None:
        """Read to the end; the code that the server closed with."""
        return (await self.rest())[1]

    async def rest(self) -> tuple[list[ServerMessage | AudioFrame], int | None]:
        """All that still comes, and the code that the server closes with."""
        messages: list[ServerMessage | AudioFrame] = []
        with contextlib.suppress(ConnectionClosed):
            while True:
                messages.append(await self.receive())
        return messages, self.connection.close_code


@contextlib.asynccontextmanager
async def session(rig: Rig, query: str = "?protocol=2") -> AsyncIterator[Client]:
    async with connect(rig.socket_url + query, max_size=None) as connection:
        client = Client(connection)
        if query:
            await client.expect(ReadyMessage)
        yield client


def played(
    scenario: Callable[[Rig, Client], Coroutine[Any, Any, None]],
    settings: ServerSettings | None = None,
    query: str = "?protocol=2",
) -> None:
    """Play a scenario with one client, and see that nothing is left of it."""

    async def play() -> None:
        async with serving(settings) as rig:
            async with session(rig, query) as client:
                await scenario(rig, client)
            await rig.until_idle()

    asyncio.run(play())


# -- beginning --------------------------------------------------------------------------------


def test_hello_is_answered_with_what_the_session_accepts() -> None:
    async def scenario(rig: Rig, client: Client) -> None:
        await client.send("hello", protocol=2)
        ready = await client.expect(ReadyMessage)
        assert (ready.protocol, ready.sample_rate, ready.format) == (2, 24_000, "s16le")
        assert ready.session
        limits = ready.limits
        assert (limits.ahead_s, limits.max_session_s, limits.max_text) == (
            2.5,
            7200,
            rig.speech.limits.max_text,
        )

    played(scenario, ServerSettings(ahead_s=2.5), query="")


@pytest.mark.parametrize(
    ("given", "kept"), [("abc-1:2.3", True), ("x" * 64, True), ("x" * 65, False), ("a b", False)]
)
def test_the_platforms_request_id_names_the_session_if_it_is_safe(given: str, kept: bool) -> None:
    async def scenario() -> None:
        headers = {"x-amzn-sagemaker-request-id": given}
        async with (
            serving() as rig,
            connect(rig.socket_url + "?protocol=2", additional_headers=headers) as connection,
        ):
            ready = await Client(connection).expect(ReadyMessage)
            assert (ready.session == given) is kept
            assert 0 < len(ready.session) <= 64

    asyncio.run(scenario())


def test_a_version_that_is_not_spoken_is_refused_and_the_session_lives() -> None:
    async def scenario(rig: Rig, client: Client) -> None:
        await client.send("hello", protocol=3)
        error = await client.expect(ErrorMessage)
        assert error.code == "unsupported_protocol"
        assert "1 and 2" in error.message
        await client.send("hello", protocol=2)
        await client.expect(ReadyMessage)
        await client.send("text", text="Hi.")
        await client.send("hello", protocol=2)
        error, _ = await client.until(ErrorMessage)
        assert error.code == "unexpected_hello"
        await client.send("flush")
        await client.until(UtteranceCompleteMessage)

    played(scenario, query="")


def test_greetings_that_are_sent_without_waiting_are_answered_in_order() -> None:
    async def scenario(rig: Rig, client: Client) -> None:
        for fields in ({"protocol": 99}, {}, {"protocol": 2}):
            await client.send("hello", **fields)
        assert (await client.expect(ErrorMessage)).code == "unsupported_protocol"
        assert (await client.expect(ErrorMessage)).code == "invalid_request"
        await client.expect(ReadyMessage)

    for _ in range(5):
        played(scenario, query="")


def test_an_address_with_a_version_that_is_not_spoken() -> None:
    async def scenario() -> None:
        async with serving() as rig, connect(rig.socket_url + "?protocol=7") as connection:
            client = Client(connection)
            assert (await client.expect(ErrorMessage)).code == "unsupported_protocol"
            await client.send("hello", protocol=2)
            await client.expect(ReadyMessage)

    asyncio.run(scenario())


def test_nothing_of_this_is_seen_by_protocol_1() -> None:
    async def scenario() -> list[str]:
        settings = ServerSettings(idle_timeout_s=0.6)
        async with (
            serving(settings) as rig,
            connect(rig.socket_url, max_size=None) as connection,
        ):
            await connection.send('{"text": "Hi.", "request_id": "r"}')
            await connection.send('{"type": "hello", "protocol": 2}')
            frames = []
            with contextlib.suppress(ConnectionClosed):
                while True:
                    frames.append(await asyncio.wait_for(connection.recv(), 5))
        texts = [frame for frame in frames if isinstance(frame, str)]
        sound = [frame for frame in frames if isinstance(frame, bytes)]
        assert len(b"".join(sound)) == 105_600  # 1.5 s and a pause of 0.7 s, without headers
        return texts

    kinds = [json.loads(text) for text in asyncio.run(scenario())]
    assert sorted(kind["type"] for kind in kinds) == [
        "error",
        "error",
        "synthesis_complete",
        "synthesis_start",
    ]
    assert {kind["code"] for kind in kinds if kind["type"] == "error"} == {
        "unexpected_hello",
        "idle_timeout",
    }
    assert all("request_id" in kind for kind in kinds)


# -- speaking ---------------------------------------------------------------------------------


def test_an_utterance_from_its_start_to_its_end() -> None:
    text = "Hi you. Go on."

    async def scenario(rig: Rig, client: Client) -> None:
        for delta in ("Hi y", "ou. Go", " on."):
            await client.send("text", text=delta, utterance="greeting")
        await client.send("flush")
        start = await client.expect(UtteranceStartMessage)
        assert (start.utterance, start.number, start.sample_rate) == ("greeting", 1, 24_000)
        end, passed = await client.until(UtteranceCompleteMessage)
        frames = [part for part in passed if isinstance(part, AudioFrame)]
        assert [frame.sequence for frame in frames] == list(range(len(frames)))
        assert {frame.utterance for frame in frames} == {1}
        position = 0
        for frame in frames:
            assert frame.offset == position
            position += len(frame.samples)
        assert end.duration_ms == pytest.approx(position / 24, abs=0.1)
        words = [
            word for part in passed if isinstance(part, CaptionsMessage) for word in part.words
        ]
        assert [text[slice(*word.span)] for word in words] == ["Hi", "you", "Go", "on"]
        assert [word.start for word in words] == sorted(word.start for word in words)
        # The words of a sentence come before its sound.
        first = next(i for i, part in enumerate(passed) if isinstance(part, AudioFrame))
        assert any(isinstance(part, CaptionsMessage) for part in passed[:first])
        second_sentence = words[2].start * 24_000
        heard = 0
        for part in passed:
            if isinstance(part, AudioFrame):
                heard = part.offset + len(part.samples)
            elif isinstance(part, CaptionsMessage) and part.words[0].span[0] > 0:
                assert heard <= second_sentence + 1

    played(scenario, ServerSettings(ahead_s=None))


def test_settings_change_within_a_session() -> None:
    async def scenario(rig: Rig, client: Client) -> None:
        async def spoken(**fields: object) -> tuple[UtteranceStartMessage, AudioFrame]:
            await client.send("text", text="Hi.", **fields)
            await client.send("flush")
            start = await client.expect(UtteranceStartMessage)
            _, passed = await client.until(UtteranceCompleteMessage)
            return start, next(part for part in passed if isinstance(part, AudioFrame))

        start, first = await spoken(format="f32le")
        assert (start.format, first.format) == ("f32le", "f32le")
        assert first.samples[0] == np.float32(0.5)
        assert (await spoken())[0].format == "s16le"
        await client.send("configure", format="f32le", speed=1.5)
        start, first = await spoken()
        assert (start.number, first.utterance, start.format) == (3, 3, "f32le")
        await client.send("configure", voice="nobody")
        assert (await client.expect(ErrorMessage)).code == "unknown_voice"
        assert (await spoken())[0].format == "f32le"

    played(scenario, ServerSettings(ahead_s=None))


def test_close_finishes_what_was_accepted() -> None:
    async def scenario(rig: Rig, client: Client) -> None:
        await client.send("text", text="Hi")
        await client.send("close")
        await client.until(UtteranceCompleteMessage)
        assert await client.closed() == 1000

    played(scenario)


# -- interruption -----------------------------------------------------------------------------


def test_no_sound_of_a_cancelled_utterance_comes_after_the_answer() -> None:
    async def scenario(rig: Rig, client: Client) -> None:
        await client.send("text", text=LONG, utterance="a")
        await client.send("text", text="Next.", utterance="b")
        await client.until(AudioFrame)
        await client.send("cancel", utterance="a", played_ms=1800)
        cancelled, _ = await client.until(CancelledMessage)
        assert (cancelled.utterance, cancelled.final) == ("a", True)
        assert cancelled.played_ms <= 1800
        assert cancelled.text_spoken + cancelled.text_remaining == LONG
        # "So" lasts to 1.0 s, "many" from 1.5 s to 3.5 s: not half of it was played.
        assert cancelled.text_spoken.strip() == "So"
        await client.send("flush")
        _, passed = await client.until(UtteranceCompleteMessage)
        frames = [part for part in passed if isinstance(part, AudioFrame)]
        assert frames
        assert {frame.utterance for frame in frames} == {2}
        assert frames[0].sequence == frames[0].offset == 0

    played(scenario, ServerSettings(ahead_s=2.0))


def test_interruptions_at_random_moments_leave_no_stale_sound() -> None:
    dice = random.Random(7)
    words = list(re.finditer(r"\w+", LONG))

    async def scenario(rig: Rig, client: Client) -> None:
        for number in range(1, 61):
            name = f"u{number}"
            await client.send("text", text=LONG, utterance=name)
            start = await client.expect(UtteranceStartMessage)
            assert (start.utterance, start.number) == (name, number)
            sequence = 0
            for _ in range(dice.randrange(1, 12)):
                if isinstance(part := await client.receive(), AudioFrame):
                    assert (part.utterance, part.sequence) == (number, sequence)
                    sequence += 1
                    heard_samples = part.offset + dice.randrange(len(part.samples) + 1)
            if not sequence:
                first, _ = await client.until(AudioFrame)
                heard_samples = first.offset
            await client.send("cancel", utterance=name, played_samples=heard_samples)
            cancelled, passed = await client.until(CancelledMessage)
            assert all(p.utterance == number for p in passed if isinstance(p, AudioFrame))
            # A letter lasts half a second, in sentences with a pause of 0.7 s between them.
            sentence, within = divmod(heard_samples / 24_000, 35 * 0.5 + 0.7)
            heard = sum(
                word.start() // 36 < sentence
                or (
                    word.start() // 36 == sentence and (word.start() + word.end()) % 72 / 4 < within
                )
                for word in words
            )
            spoken = len(re.findall(r"\w+", cancelled.text_spoken))
            assert abs(spoken - heard) <= 1
            assert cancelled.text_spoken + cancelled.text_remaining == LONG
        await client.silence(0.2)

    played(scenario, ServerSettings(ahead_s=None))


def test_cancel_of_everything_and_of_nothing() -> None:
    async def scenario(rig: Rig, client: Client) -> None:
        await client.send("cancel")
        nothing = await client.expect(CancelledMessage)
        assert (nothing.utterance, nothing.final, nothing.text_spoken) == (None, True, "")
        await client.send("text", text="One. " * 10, utterance="a")
        await client.send("text", text="Two. " * 10, utterance="b")
        await client.until(AudioFrame)
        await client.send("cancel")
        answers = []
        while not answers or not answers[-1].final:
            answer, _ = await client.until(CancelledMessage)
            answers.append(answer)
        assert {answer.utterance for answer in answers} == {"a", "b"}
        await client.silence(0.3)
        await client.send("cancel", utterance="never heard of")
        assert (await client.expect(ErrorMessage)).code == "unknown_utterance"

    played(scenario, ServerSettings(ahead_s=2.0))


# -- holding back -----------------------------------------------------------------------------


def test_what_is_held_is_prepared_and_leaves_when_released() -> None:
    async def scenario(rig: Rig, client: Client) -> None:
        await client.send("hold", utterance="claim")
        await client.send("text", text="Hi.", utterance="claim")
        await client.send("flush")
        await rig.until_speaking()
        await client.silence(0.2)
        await client.send("release", utterance="claim")
        start = await client.expect(UtteranceStartMessage)
        assert start.utterance == "claim"
        _, passed = await client.until(UtteranceCompleteMessage)
        assert any(isinstance(part, AudioFrame) for part in passed)

    played(scenario)


def test_what_is_discarded_is_never_heard() -> None:
    async def scenario(rig: Rig, client: Client) -> None:
        await client.send("hold")
        await client.send("text", text="It costs nothing.", utterance="claim")
        await client.send("flush")
        await rig.until_speaking()
        await client.send("discard", utterance="claim")
        dropped = await client.expect(CancelledMessage)
        assert (dropped.utterance, dropped.text_spoken) == ("claim", "")
        assert dropped.text_remaining == "It costs nothing."
        await client.send("text", text="Hi.")
        await client.send("flush")
        start = await client.expect(UtteranceStartMessage)
        assert start.utterance != "claim"
        await client.until(UtteranceCompleteMessage)

    played(scenario)


# -- limits -----------------------------------------------------------------------------------


def test_an_idle_session_is_warned_and_a_keepalive_keeps_it() -> None:
    async def scenario(rig: Rig, client: Client) -> None:
        warning = await client.expect(WarningMessage)
        assert warning.code == "idle_soon"
        for _ in range(6):
            await client.send("keepalive")
            await client.silence(0.15)
        assert (await client.expect(WarningMessage)).code == "idle_soon"
        assert (await client.expect(ErrorMessage)).code == "idle_timeout"
        assert await client.closed() == 1000

    played(scenario, ServerSettings(idle_timeout_s=0.6))


def test_a_session_ends_when_it_is_too_old() -> None:
    async def scenario(rig: Rig, client: Client) -> None:
        await client.send("text", text=LONG)
        warning, _ = await client.until(WarningMessage)
        assert warning.code == "session_ending"
        error, _ = await client.until(ErrorMessage)
        assert (error.code, error.retryable) == ("session_expired", True)
        assert await client.closed() == 1000

    played(scenario, ServerSettings(max_session_s=0.8, session_warning_s=0.5, ahead_s=1.0))


def test_text_that_is_not_spoken_yet_holds_up_its_producer() -> None:
    async def scenario(rig: Rig, client: Client) -> None:
        sent = 0

        async def produce() -> None:
            nonlocal sent
            for number in range(3000):
                await client.send("text", text="Words. " * 1000, utterance=f"u{number}")
                sent += 1

        producing = asyncio.create_task(produce())
        await asyncio.sleep(1.0)
        early = sent
        await asyncio.sleep(0.3)
        assert early == sent < 3000
        producing.cancel()
        client.connection.transport.abort()

    played(scenario, ServerSettings(ahead_s=1.0))


@pytest.mark.parametrize(
    ("frame", "code"),
    [
        ("{", "invalid_json"),
        (b"\xa5S\x02\x01", "invalid_encoding"),
        ("[]", "invalid_request"),
        ('{"text": "Protocol 1."}', "unknown_type"),
        ('{"type": "sing"}', "unknown_type"),
        ('{"type": "text", "text": "%s"}' % ("a" * 30_000), "text_too_long"),
        ('{"type": "text", "text": "Hi", "language": "tlh"}', "unsupported_language"),
        ('{"type": "release", "utterance": "none"}', "unknown_utterance"),
    ],
)
def test_a_bad_message_gets_a_typed_error_and_the_session_lives(
    frame: str | bytes, code: str
) -> None:
    async def scenario(rig: Rig, client: Client) -> None:
        await client.connection.send(frame)
        assert (await client.expect(ErrorMessage)).code == code
        await client.send("text", text="Hi.", utterance="next")
        await client.send("flush")
        await client.until(UtteranceCompleteMessage)

    played(scenario)


def test_mutated_messages_do_no_harm(caplog: pytest.LogCaptureFixture) -> None:
    dice = random.Random(4)
    seeds = [
        b'{"type": "text", "text": "Hi. Go on.", "utterance": "u", "speed": 1.5}',
        b'{"type": "cancel", "utterance": "u", "played_ms": 10}',
        b'{"type": "hold"}',
        b'{"type": "release"}',
        b'{"type": "discard", "utterance": "u"}',
        b'{"type": "configure", "pauses": {"line": 1}, "pronunciations": []}',
        b'{"type": "flush"}',
    ]

    def mutated() -> bytes:
        frame = bytearray(dice.choice(seeds))
        for _ in range(dice.choice([0, 0, 1, 1, 3])):
            position = dice.randrange(len(frame))
            frame[position : position + dice.randrange(3)] = dice.randbytes(dice.randrange(3))
        return bytes(frame)

    async def scenario(rig: Rig, client: Client) -> None:
        async def flood() -> None:
            for _ in range(600):
                await client.connection.send(mutated())
            await client.send("release")
            await client.send("configure", speed=1)
            await client.send("cancel")
            await client.send("text", text="Hi.", utterance="last")
            await client.send("close")

        flooding = asyncio.create_task(flood())
        messages, code = await client.rest()
        await flooding
        done = [m.utterance for m in messages if isinstance(m, UtteranceCompleteMessage)]
        assert (code, done[-1]) == (1000, "last")

    played(scenario, ServerSettings(ahead_s=None))
    assert [r for r in caplog.records if r.levelno >= logging.WARNING] == []


def test_a_message_that_is_too_long_ends_the_connection() -> None:
    async def scenario(rig: Rig, client: Client) -> None:
        await client.send("text", text="a" * 2000)
        assert await client.closed() == 1009

    played(scenario, ServerSettings(max_message=1000))


# -- ends -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "said",
    [
        [],
        [{"type": "text", "text": "Hi"}],
        [{"type": "text", "text": LONG}],
        [{"type": "hold"}, {"type": "text", "text": LONG}, {"type": "flush"}],
        [{"type": "text", "text": LONG}, {"type": "cancel"}],
        [{"type": "text", "text": LONG}, {"type": "close"}],
    ],
)
def test_a_client_may_vanish_at_any_time(
    said: list[dict[str, str]], caplog: pytest.LogCaptureFixture
) -> None:
    async def scenario(rig: Rig, client: Client) -> None:
        for message in said:
            await client.connection.send(json.dumps(message))
        if said:
            await asyncio.sleep(0.1)
        client.connection.transport.abort()
        await rig.until_idle()

    played(scenario, ServerSettings(ahead_s=1.0))
    assert [r for r in caplog.records if r.levelno >= logging.WARNING] == []


def test_a_client_is_told_that_the_server_shuts_down() -> None:
    async def scenario(rig: Rig, client: Client) -> None:
        await client.send("text", text="Hi.")
        await client.send("flush")
        await rig.until_speaking()
        app: Any = rig.server.config.app
        app.state.speech.drain.begin()
        messages, code = await client.rest()
        assert code == 1012
        warnings = [m.code for m in messages if isinstance(m, WarningMessage)]
        assert warnings == ["shutting_down"]
        assert any(isinstance(m, UtteranceCompleteMessage) for m in messages)

    played(scenario, ServerSettings(ahead_s=1.0))


def test_a_fault_of_ours_closes_with_1011_and_logs_no_words(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(self: V2Codec, event: object) -> None:
        raise RuntimeError("secret words")

    async def scenario(rig: Rig, client: Client) -> None:
        monkeypatch.setattr(V2Codec, "encode", fail)
        await client.send("text", text="Hi.")
        await client.send("flush")
        assert await client.closed() == 1011

    played(scenario)
    assert "RuntimeError" in caplog.text
    assert "secret" not in caplog.text.replace('raise RuntimeError("secret words")', "")
