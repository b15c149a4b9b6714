import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from speakahead.errors import Overloaded
from speakahead.protocol import v1
from speakahead.protocol.json import RefusedMessage
from speakahead.session.events import (
    Append,
    Audio,
    Close,
    Failed,
    Flush,
    SentenceReady,
    Speak,
    UtteranceCompleted,
    UtteranceStarted,
    VoiceSettings,
)
from speakahead.text.chunker import IncrementalSentenceChunker

DEFAULTS = VoiceSettings("af_heart", 1.25)


@pytest.mark.parametrize(
    ("message", "request_"),
    [
        ({"text": "Hi."}, Speak("Hi.", DEFAULTS)),
        ({"type": "text", "text": "Hi."}, Speak("Hi.", DEFAULTS)),
        (
            {"text": "Hi.", "voice": "bf_emma", "speed": 0.9, "request_id": "r"},
            Speak("Hi.", VoiceSettings("bf_emma", 0.9), "r"),
        ),
        ({"text": "Hi.", "speed": 1}, Speak("Hi.", VoiceSettings("af_heart", 1.0))),
        ({"text": "Hi.", "voice": None, "speed": None}, Speak("Hi.", DEFAULTS)),
        ({"text": "Hi.", "request_timestamp": 5, "new": {}}, Speak("Hi.", DEFAULTS)),
        ({"type": "delta", "text": "H"}, Append("H", DEFAULTS)),
        ({"type": "flush"}, Flush()),
        ({"type": "close"}, Close()),
    ],
)
@pytest.mark.parametrize("binary", [False, True])
def test_requests_in_text_and_binary_frames(
    message: dict[str, object], request_: object, binary: bool
) -> None:
    frame = json.dumps(message)
    assert v1.decode(frame.encode() if binary else frame, DEFAULTS) == request_


@pytest.mark.parametrize(
    ("frame", "code", "request_id"),
    [
        ("", "invalid_json", None),
        ("{", "invalid_json", None),
        ("[" * 100_000, "invalid_json", None),
        ('{"text": NaN}', "invalid_json", None),
        ('{"text": "a", "speed": Infinity}', "invalid_json", None),
        (b"\xff\xfe\x00", "invalid_encoding", None),
        ("[]", "invalid_request", None),
        ("7", "invalid_request", None),
        ("null", "invalid_request", None),
        ("{}", "invalid_request", None),
        ('{"text": 5, "request_id": "r"}', "invalid_request", "r"),
        ('{"text": "a", "speed": "1"}', "invalid_request", None),
        ('{"text": "a", "speed": true}', "invalid_request", None),
        ('{"text": "a", "speed": 0}', "invalid_request", None),
        ('{"text": "a", "speed": 100}', "invalid_request", None),
        ('{"text": "a", "speed": 1e999}', "invalid_request", None),
        ('{"text": "a", "voice": ""}', "invalid_request", None),
        ('{"text": "a", "request_id": 7}', "invalid_request", None),
        ('{"text": "a", "request_id": "%s"}' % ("x" * 200), "invalid_request", None),
        ('{"type": "sing", "request_id": "r"}', "unknown_type", "r"),
        ('{"type": 5}', "unknown_type", None),
        ('{"type": null, "text": "a"}', "unknown_type", None),
        ('{"type": "delta"}', "invalid_request", None),
    ],
)
def test_bad_frames_get_a_typed_error(
    frame: str | bytes, code: str, request_id: str | None
) -> None:
    with pytest.raises(RefusedMessage) as refused:
        v1.decode(frame, DEFAULTS)
    assert (refused.value.code, refused.value.utterance) == (code, request_id)


def test_an_error_names_the_field_and_not_the_words() -> None:
    with pytest.raises(RefusedMessage) as refused:
        v1.decode('{"text": ["my secret"], "voice": "af_heart"}', DEFAULTS)
    assert "'text'" in refused.value.message
    assert "secret" not in refused.value.message


CODES = {"invalid_json", "invalid_encoding", "invalid_request", "unknown_type"}


def outcome(frame: str | bytes) -> str:
    try:
        request = v1.decode(frame, DEFAULTS)
    except RefusedMessage as refused:
        return refused.code
    settings = getattr(request, "settings", None)
    return "request" if settings is None or math.isfinite(settings.speed) else "endless speed"


@given(st.binary(max_size=200) | st.text(max_size=200))
def test_any_frame_is_a_request_or_a_typed_error(frame: str | bytes) -> None:
    assert outcome(frame) in {"request", *CODES}


json_values = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=5,
)


@given(
    st.dictionaries(
        st.sampled_from(["type", "text", "voice", "speed", "request_id", "other"]),
        json_values | st.sampled_from(["text", "delta", "flush", "close"]),
    )
)
def test_any_json_object_is_a_request_or_a_typed_error(message: dict[str, object]) -> None:
    assert outcome(json.dumps(message)) in {"request", *CODES}


def test_events_out() -> None:
    sentence = IncrementalSentenceChunker().feed("Hi there. Y")[0]
    assert v1.encode(Audio("u", np.array([0.5, -1], np.float32))) == b"\x00\x40\x01\x80"
    assert json.loads(v1.encode(UtteranceStarted("u", DEFAULTS)) or "") == {
        "type": "synthesis_start",
        "request_id": "u",
    }
    assert json.loads(v1.encode(UtteranceCompleted("u", 1.23456, 0.5)) or "") == {
        "type": "synthesis_complete",
        "request_id": "u",
        "total_duration_s": 1.2346,
        "elapsed_s": 0.5,
    }
    assert json.loads(v1.encode(Failed(None, Overloaded("Too much."))) or "") == {
        "type": "error",
        "request_id": None,
        "code": "overloaded",
        "message": "Too much.",
        "retryable": True,
    }
    assert v1.encode(SentenceReady("u", sentence)) is None
