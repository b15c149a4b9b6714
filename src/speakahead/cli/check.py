"""`speakahead check`: does a deployment speak? Three sentences in one session."""

from __future__ import annotations

import json
import time

from websockets.exceptions import InvalidHandshake, WebSocketException
from websockets.sync.client import ClientConnection, connect

from speakahead.audio.pcm import SAMPLE_RATE
from speakahead.backends.websocket import session_url
from speakahead.errors import ConnectionFailed, SpeakaheadError

SENTENCES = (
    "Hello there.",
    "This is a post deployment check.",
    "It has three sentences.",
)


def check(url: str, timeout_s: float, api_key: str | None = None) -> bool:
    """Speak the three sentences over the bidirectional route and print what came back."""
    try:
        with connect(
            session_url(url),
            additional_headers={"Authorization": f"Bearer {api_key}"} if api_key else None,
            open_timeout=timeout_s,
            close_timeout=timeout_s,
            max_size=None,
        ) as socket:
            for number, sentence in enumerate(SENTENCES, 1):
                _check_sentence(socket, f"check-{number}", sentence, timeout_s)
            socket.send(json.dumps({"type": "close"}))
    except SpeakaheadError as failure:
        print(f"FAILED: {failure.message}")
        return False
    except InvalidHandshake:
        print("FAILED: the server refused the WebSocket.")
        return False
    except (OSError, TimeoutError):
        print("FAILED: the server cannot be reached.")
        return False
    except WebSocketException:
        print("FAILED: the server closed the connection.")
        return False
    print("OK")
    return True


def _check_sentence(
    socket: ClientConnection, request_id: str, sentence: str, timeout_s: float
) -> None:
    sent_at = time.monotonic()
    socket.send(json.dumps({"text": sentence, "request_id": request_id}))
    sound = bytearray()
    first_s: float | None = None
    while True:
        try:
            frame = socket.recv(timeout=timeout_s)
        except TimeoutError:
            raise ConnectionFailed(f"no answer within {timeout_s:g} s.") from None
        if isinstance(frame, bytes):
            first_s = first_s or time.monotonic() - sent_at
            sound += frame
            continue
        try:
            message = json.loads(frame)
            kind = message["type"]
            if kind == "error":
                raise ConnectionFailed(
                    f"the server answered {message['code']}: {message['message']}"
                )
        except (ValueError, LookupError, TypeError):
            raise ConnectionFailed("the server does not speak this protocol.") from None
        if kind == "synthesis_complete":
            break
    if not any(sound):
        raise ConnectionFailed("the sound is silent.")
    print(
        f"{sentence:34} {len(sound):8,} bytes  {len(sound) / 2 / SAMPLE_RATE:6.3f} s  "
        f"first byte after {(first_s or 0) * 1000:5.0f} ms"
    )
