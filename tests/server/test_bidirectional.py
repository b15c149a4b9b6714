"""The bidirectional route: a real server process, the real model, a real WebSocket client."""

import json
import time

import numpy as np
import pytest
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from tests.conftest import ROUTE, Server


def test_hello_there(server: Server) -> None:
    with server.session() as client:
        reply = client.speak("Hello there.", request_id="hello")
    assert reply.start == {"type": "synthesis_start", "request_id": "hello"}
    assert reply.end["type"] == "synthesis_complete"
    assert reply.end["request_id"] == "hello"
    assert 1.4 <= reply.seconds <= 1.6
    assert reply.end["total_duration_s"] == pytest.approx(reply.seconds, abs=1e-3)
    assert reply.end["elapsed_s"] > 0
    samples = np.frombuffer(reply.sound, "<i2").astype(np.float32) / 32768
    assert np.abs(samples).max() > 0.2
    assert np.abs(samples[:4800]).max() > 0.01, "the head is not trimmed"


def test_the_session_stays_open_and_closes_on_close(server: Server) -> None:
    with server.session() as client:
        for text in ("Hello there.", "This is a check.", "It has three sentences."):
            assert client.speak(text).end["type"] == "synthesis_complete"
        client.send({"type": "close"})
        with pytest.raises(ConnectionClosed) as closed:
            client.receive()
    assert closed.value.rcvd is not None
    assert closed.value.rcvd.code == 1000


def test_binary_frames_hold_requests_too(server: Server) -> None:
    with server.session() as client:
        client.connection.send(json.dumps({"text": "Hello there."}).encode())
        assert client.reply().seconds > 1


def test_close_right_behind_a_text_loses_nothing(server: Server) -> None:
    with server.session() as client:
        client.send({"text": "Hello there. Good bye."})
        client.send({"type": "close"})
        reply = client.reply()
        assert reply.end["type"] == "synthesis_complete"
        assert reply.seconds > 2
        with pytest.raises(ConnectionClosed):
            client.receive()


def test_deltas_are_chunked_by_the_server(server: Server) -> None:
    with server.session() as client:
        for delta in ("Hel", "lo the", "re. How ", "are you?"):
            client.send({"type": "delta", "text": delta, "request_id": "d"})
        client.send({"type": "flush"})
        reply = client.reply()
    assert reply.end["request_id"] == "d"
    assert reply.seconds > 2.3


def test_the_first_sound_leaves_before_the_third_sentence_has_arrived(server: Server) -> None:
    """A reply of ten sentences; the third is not sent before the first sound is here."""
    numbers = "one two three four five six seven eight nine ten".split()
    words = [f"This is sentence number {number}. ".split(" ") for number in numbers]
    with server.session() as client:
        for word in [word for sentence in words[:2] for word in sentence]:
            client.send({"type": "delta", "text": word + " "})
            time.sleep(1 / 20)
        assert isinstance(client.receive(), dict)  # synthesis_start
        sound = client.receive()
        assert isinstance(sound, bytes)
        total = len(sound)
        for word in [word for sentence in words[2:] for word in sentence]:
            client.send({"type": "delta", "text": word + " "})
        client.send({"type": "flush"})
        while isinstance(message := client.receive(), bytes):
            total += len(message)
    assert message["type"] == "synthesis_complete"
    assert message["total_duration_s"] == pytest.approx(total / 48000, abs=1e-3)
    assert total / 48000 > 15


@pytest.mark.parametrize(
    ("frame", "code"),
    [
        (json.dumps({"text": ""}), "empty_text"),
        (json.dumps({"text": "  \n"}), "empty_text"),
        ("{not json", "invalid_json"),
        ('["text"]', "invalid_request"),
        (json.dumps({"text": 5}), "invalid_request"),
        (json.dumps({"text": "Hi.", "voice": "nobody"}), "unknown_voice"),
        (json.dumps({"text": "Hi.", "voice": "jf_alpha"}), "unsupported_language"),
        (json.dumps({"text": "Hi.", "speed": 0}), "invalid_request"),
        (json.dumps({"text": "Hi.", "speed": 100}), "invalid_request"),
        ('{"text": "Hi.", "speed": NaN}', "invalid_json"),
        (json.dumps({"type": "sing", "text": "Hi."}), "unknown_type"),
        (json.dumps({"text": "Hello. " * 150_000}), "text_too_long"),
        (b"\x00\x01\x02", "invalid_json"),
        (b"\xff\xfe", "invalid_encoding"),
        (b"{", "invalid_json"),
    ],
)
def test_bad_input_gets_a_typed_error_and_the_session_lives(
    server: Server, frame: str | bytes, code: str
) -> None:
    with server.session() as client:
        client.connection.send(frame)
        error = client.receive()
        assert isinstance(error, dict)
        assert (error["type"], error["code"]) == ("error", code)
        assert set(error) == {"type", "request_id", "code", "message", "retryable"}
        assert client.speak("Hello there.").seconds > 1


@pytest.mark.parametrize("text", ["...", "🎉🎉", "---", "“”", "\u200b", "?!", "**"])
def test_what_cannot_be_spoken_is_a_completed_silent_request(server: Server, text: str) -> None:
    with server.session() as client:
        reply = client.speak(text, request_id="quiet")
        assert reply.end["type"] == "synthesis_complete"
        assert reply.sound == b""
        assert reply.end["total_duration_s"] == 0
        assert client.speak("Hello there.").seconds > 1


def test_invalid_utf8_in_a_text_frame_hurts_only_its_own_session(server: Server) -> None:
    from websockets.frames import Frame, Opcode

    with connect(f"ws://127.0.0.1:{server.port}{ROUTE}") as connection:
        with connection.protocol_mutex:
            connection.protocol.writes.append(Frame(Opcode.TEXT, b"\xff\xfe").serialize(mask=True))
            connection.send_data()
        with pytest.raises(ConnectionClosed) as closed:
            connection.recv(timeout=10)
    assert closed.value.rcvd is not None
    assert closed.value.rcvd.code == 1007
    with server.session() as client:
        assert client.speak("Hello there.").seconds > 1


def test_sessions_are_independent(server: Server) -> None:
    with server.session() as one, server.session() as two:
        one.send({"text": "First of all, good morning. It is a fine day.", "request_id": "one"})
        two.send({"text": "Hello there.", "request_id": "two"})
        assert two.reply().end["request_id"] == "two"
        assert one.reply().end["request_id"] == "one"


def test_british_and_spanish_voices(server: Server) -> None:
    with server.session() as client:
        assert client.speak("Good morning.", voice="bf_emma").seconds > 1
        assert client.speak("Buenos días.", voice="ef_dora").seconds > 1
        assert client.speak("Hello.", speed=2.0).end["type"] == "synthesis_complete"


def test_the_log_holds_neither_text_nor_traceback(server: Server) -> None:
    with server.session() as client:
        client.speak("Quixotic marmalade.")
        client.connection.send('{"text": ["quixotic marmalade"]}')
        client.receive()
    log = server.log_text()
    assert "marmalade" not in log.lower()
    assert "Traceback" not in log
