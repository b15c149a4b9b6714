"""The HTTP doors: a real server process and the real model."""

import io
import json
import time
import wave

import av
import httpx
import numpy as np
import openai
import pytest

from speakahead.audio.formats import FORMATS
from speakahead.server.openai import VOICE_ALIASES
from tests.conftest import Server

TIMEOUT = httpx.Timeout(90)


@pytest.fixture
def client(server: Server) -> httpx.Client:
    return httpx.Client(base_url=server.url, timeout=TIMEOUT)


def samples(sound: bytes) -> np.ndarray:
    return np.frombuffer(sound, "<i2")


def test_ping_has_an_empty_body(client: httpx.Client) -> None:
    answer = client.get("/ping")
    assert (answer.status_code, answer.content) == (200, b"")


def test_invocations_streams_wav(client: httpx.Client) -> None:
    with client.stream("POST", "/invocations", json={"text": "Hello there."}) as answer:
        assert answer.status_code == 200
        assert answer.headers["content-type"] == "audio/wav"
        assert "content-length" not in answer.headers
        data = answer.read()
    assert data[4:8] == b"\xff\xff\xff\xff"
    assert 1.4 <= (len(data) - 44) / 48000 <= 1.6


def test_invocations_sends_the_first_sentence_before_the_last_is_spoken(
    client: httpx.Client,
) -> None:
    body = {"text": "Hello there. " * 8, "format": "pcm"}
    with client.stream("POST", "/invocations", json=body) as answer:
        arrivals = [(time.monotonic(), len(piece)) for piece in answer.iter_raw()]
    total = sum(size for _, size in arrivals)
    halfway = next(i for i in range(len(arrivals)) if sum(s for _, s in arrivals[:i]) > total / 2)
    assert halfway > 2, "the sound came in one piece"
    assert arrivals[-1][0] - arrivals[0][0] > 0.5


def test_invocations_whole(client: httpx.Client) -> None:
    body = {"text": "Hello there.", "stream": False}
    answer = client.post("/invocations", json=body)
    with wave.open(io.BytesIO(answer.content)) as file:
        seconds = file.getnframes() / file.getframerate()
    assert float(answer.headers["x-audio-duration"]) == pytest.approx(seconds, abs=2e-3)
    pcm = client.post("/invocations", json={**body, "format": "pcm"})
    assert pcm.content == answer.content[44:]
    assert pcm.headers["content-type"].startswith("audio/pcm")


@pytest.mark.parametrize(
    ("content", "status", "code"),
    [
        (b"", 400, "invalid_json"),
        (b"{", 400, "invalid_json"),
        (b"[1]", 400, "invalid_request"),
        (b"\xff\xfe", 400, "invalid_encoding"),
        (b"{}", 400, "invalid_request"),
        (b'{"text": ""}', 400, "empty_text"),
        (b'{"text": 1}', 400, "invalid_request"),
        (b'{"text": "a", "format": "midi"}', 400, "invalid_request"),
        (b'{"text": "a", "stream": "yes"}', 400, "invalid_request"),
        (b'{"text": "a", "voice": "nobody"}', 400, "unknown_voice"),
        (b'{"text": "a", "voice": "zf_xiaoxiao"}', 400, "unsupported_language"),
        (b'{"text": "a", "speed": 0}', 400, "invalid_request"),
        (b'{"text": "a", "speed": NaN}', 400, "invalid_json"),
        (b'{"text": "a", "speed": 100}', 400, "invalid_request"),
        (json.dumps({"text": "a " * 500_000}).encode(), 413, "text_too_long"),
        (json.dumps({"text": "a " * 5_000_000}).encode(), 413, "text_too_long"),
    ],
)
def test_invocations_answers_bad_input_with_a_typed_error(
    client: httpx.Client, content: bytes, status: int, code: str
) -> None:
    answer = client.post("/invocations", content=content)
    assert (answer.status_code, answer.json()["error"]["code"]) == (status, code)
    assert set(answer.json()["error"]) == {"code", "message", "retryable"}


@pytest.mark.parametrize("text", ["...", "🎉", "---"])
def test_nothing_speakable_is_an_empty_sound(client: httpx.Client, text: str) -> None:
    answer = client.post("/invocations", json={"text": text})
    assert answer.status_code == 200
    assert len(answer.content) == 44


def test_unknown_paths_and_methods(client: httpx.Client) -> None:
    assert client.get("/nowhere").json()["error"]["code"] == "not_found"
    assert client.get("/invocations").json()["error"]["code"] == "method_not_allowed"


def test_the_openai_client(server: Server) -> None:
    client = openai.OpenAI(base_url=f"{server.url}/v1", api_key="unused", max_retries=0)
    with client.audio.speech.with_streaming_response.create(
        model="tts-1", voice="alloy", input="Hello there.", response_format="pcm", speed=1.0
    ) as answer:
        sound = answer.read()
    assert 1 < len(sound) / 48000 < 2.5
    assert np.abs(samples(sound)).max() > 3000
    whole = client.audio.speech.create(
        model="tts-1", voice="af_heart", input="Hello there.", response_format="wav"
    )
    assert whole.content[:4] == b"RIFF"
    with pytest.raises(openai.BadRequestError) as refused:
        client.audio.speech.create(model="tts-1", voice="nobody", input="Hi.")
    assert refused.value.code == "unknown_voice"
    assert next(model.id for model in client.models.list()) == "kokoro"


def test_openai_speech_ignores_unknown_fields_and_takes_voice_objects(
    client: httpx.Client,
) -> None:
    body = {"input": "Hi there.", "voice": {"id": "bm_fable"}, "instructions": "x", "new": 1}
    assert client.post("/v1/audio/speech", json=body).status_code == 200


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({"voice": "alloy"}, "invalid_request"),
        ({"input": "", "voice": "alloy"}, "invalid_request"),
        ({"input": "a", "response_format": "midi"}, "unsupported_format"),
        ({"input": "a", "speed": 5}, "invalid_request"),
        ({"input": "a", "voice": 7}, "invalid_request"),
    ],
)
def test_openai_speech_answers_bad_input_in_its_own_shape(
    client: httpx.Client, body: dict[str, object], code: str
) -> None:
    answer = client.post("/v1/audio/speech", json=body)
    assert answer.status_code == 400
    error = answer.json()["error"]
    assert (error["code"], error["type"]) == (code, "invalid_request_error")


def test_voices_are_listed_with_ids_and_every_alias_exists(client: httpx.Client) -> None:
    voices = client.get("/v1/audio/voices").json()["voices"]
    ids = {voice["id"] for voice in voices}
    assert {"af_heart", "bf_emma", "ff_siwis", "hf_alpha"} <= ids
    assert set(VOICE_ALIASES.values()) <= ids
    assert all(voice["name"] and voice["language"] for voice in voices)


@pytest.mark.parametrize("name", ["mp3", "opus", "aac", "flac"])
def test_sound_in_the_usual_formats(client: httpx.Client, name: str) -> None:
    text = {"input": "Hello there.", "voice": "shimmer"}
    plain = client.post("/v1/audio/speech", json={**text, "response_format": "pcm"})
    answer = client.post("/v1/audio/speech", json={**text, "response_format": name})
    assert answer.status_code == 200
    assert answer.headers["content-type"] == FORMATS[name].media_type
    with av.open(io.BytesIO(answer.content)) as container:
        frames = list(container.decode(audio=0))
    seconds = sum(frame.samples / frame.sample_rate for frame in frames)
    assert seconds == pytest.approx(len(plain.content) / 48000, abs=0.06)
