import json
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from speakahead.errors import InvalidRequest, Overloaded, SynthesisFailed, UnknownVoice
from speakahead.protocol import messages
from speakahead.protocol.codec import Incoming, KeptAlive, Opened, Warned
from speakahead.protocol.framing import unpack
from speakahead.protocol.json import RefusedMessage
from speakahead.protocol.messages import SessionLimits, parse_message, parse_server_message
from speakahead.protocol.v2 import V2Codec
from speakahead.session.events import (
    Append,
    Audio,
    AudioFormat,
    Cancel,
    Close,
    Configure,
    Discard,
    Failed,
    Flush,
    Hold,
    Pauses,
    Release,
    SentenceReady,
    SentenceStarted,
    SessionClosed,
    SpokenWord,
    UtteranceCancelled,
    UtteranceCompleted,
    UtteranceStarted,
    VoiceSettings,
)
from speakahead.text.chunker import IncrementalSentenceChunker
from speakahead.text.pronunciations import Pronunciation
from speakahead.text.spans import Span

DEFAULTS = VoiceSettings("af_heart", 1.25, pauses=Pauses(0.5, 0.1, 0.6))
SENTENCE = IncrementalSentenceChunker().feed("Hi there. Y")[0]
LIMITS = SessionLimits(
    max_message_bytes=1,
    max_text=2,
    max_utterance=3,
    max_waiting=4,
    max_utterances=5,
    ahead_s=None,
    send_timeout_s=6,
    idle_timeout_s=7,
    max_session_s=8,
)


def check(settings: VoiceSettings) -> None:
    if settings.voice == "nobody":
        raise UnknownVoice("There is no such voice.")


def decode(*frames: dict[str, Any]) -> Incoming:
    codec = V2Codec(DEFAULTS, check)
    for frame in frames[:-1]:
        codec.decode(json.dumps(frame))
    return codec.decode(json.dumps(frames[-1]))


def encode(codec: V2Codec, *events: Any) -> list[Any]:
    frames = [frame for event in events for frame in codec.encode(event)]
    return [json.loads(f) if isinstance(f, str) else unpack(f) for f in frames]


@pytest.mark.parametrize(
    ("message", "request_"),
    [
        ({"type": "text", "text": "Hi"}, Append("Hi")),
        ({"type": "text", "text": ""}, Append("")),
        ({"type": "text", "text": "Hi", "utterance": "u"}, Append("Hi", None, "u")),
        ({"type": "text", "text": "Hi", "voice": None, "new": {}}, Append("Hi")),
        (
            {"type": "text", "text": "Hi", "speed": 1, "format": "f32le"},
            Append("Hi", VoiceSettings("af_heart", 1.0, None, (), DEFAULTS.pauses, "f32le")),
        ),
        ({"type": "flush"}, Flush()),
        ({"type": "cancel"}, Cancel()),
        ({"type": "cancel", "utterance": "u", "played_ms": 840}, Cancel("u", 0.84)),
        ({"type": "cancel", "played_samples": 12_000}, Cancel(None, 0.5)),
        ({"type": "cancel", "played_ms": 0}, Cancel(None, 0.0)),
        ({"type": "hold"}, Hold()),
        ({"type": "hold", "utterance": "u"}, Hold("u")),
        ({"type": "release", "utterance": "u"}, Release("u")),
        ({"type": "discard", "utterance": "u"}, Discard("u")),
        ({"type": "configure"}, Configure(DEFAULTS)),
        ({"type": "keepalive"}, KeptAlive()),
        ({"type": "close"}, Close()),
    ],
)
@pytest.mark.parametrize("binary", [False, True])
def test_requests(message: dict[str, object], request_: object, binary: bool) -> None:
    frame = json.dumps(message)
    assert V2Codec(DEFAULTS).decode(frame.encode() if binary else frame) == request_


def test_configure_names_only_what_changes() -> None:
    request = decode(
        {"type": "configure", "speed": 0.8, "pauses": {"line": 1}},
        {
            "type": "configure",
            "voice": "af_heart:0.6+af_bella:0.4",
            "pronunciations": [
                {"word": "Kokoro", "phonemes": "kˈOkəɹO"},
                {"word": "nginx", "respelling": "engine x"},
            ],
        },
        {"type": "text", "text": "Hi", "language": "en-gb"},
    )
    assert isinstance(request, Append)
    assert request.settings == VoiceSettings(
        "af_heart:0.6+af_bella:0.4",
        0.8,
        "en-gb",
        (Pronunciation("Kokoro", "kˈOkəɹO"), Pronunciation("nginx", None, "engine x")),
        Pauses(0.5, 0.1, 1.0),
    )


def test_a_voice_brings_its_own_language() -> None:
    configured = decode(
        {"type": "configure", "language": "en-gb"}, {"type": "configure", "speed": 1}
    )
    assert isinstance(configured, Configure)
    assert configured.settings.language == "en-gb"
    configured = decode(
        {"type": "configure", "language": "en-gb"}, {"type": "configure", "voice": "ef_dora"}
    )
    assert isinstance(configured, Configure)
    assert configured.settings.language is None


def test_settings_of_one_utterance_are_not_those_of_the_next() -> None:
    request = decode({"type": "text", "text": "a", "speed": 2}, {"type": "text", "text": "b"})
    assert request == Append("b")


def test_an_empty_list_takes_pronunciations_away() -> None:
    named = [{"word": "a", "respelling": "ay"}]
    request = decode(
        {"type": "configure", "pronunciations": named},
        {"type": "configure", "pronunciations": []},
    )
    assert request == Configure(DEFAULTS)


def test_settings_that_are_refused_do_not_become_the_sessions() -> None:
    codec = V2Codec(DEFAULTS, check)
    for wrong in ({"voice": "nobody"}, {"speed": 9}, {"pauses": {"line": -1}}):
        with pytest.raises(RefusedMessage):
            codec.decode(json.dumps({"type": "configure", **wrong}))
    assert codec.decode('{"type": "configure"}') == Configure(DEFAULTS)


@pytest.mark.parametrize(
    ("frame", "code", "utterance", "why"),
    [
        ("", "invalid_json", None, None),
        (b"\xff\xfe", "invalid_encoding", None, None),
        ("[1]", "invalid_request", None, "object"),
        ("{}", "unknown_type", None, "send one of text, flush"),
        ('{"type": "sing", "utterance": "u"}', "unknown_type", "u", None),
        ('{"type": ["text"]}', "unknown_type", None, None),
        ('{"type": "ready"}', "unknown_type", None, None),
        ('{"type": "delta", "text": "Protocol 1."}', "unknown_type", None, None),
        ('{"text": "Protocol 1."}', "unknown_type", None, None),
        ('{"type": "hello", "protocol": 2}', "unexpected_hello", None, "first"),
        ('{"type": "text"}', "invalid_request", None, "'text' is missing"),
        ('{"type": "text", "text": 5, "utterance": "u"}', "invalid_request", "u", "string"),
        ('{"type": "text", "text": "a", "utterance": ""}', "invalid_request", None, "empty"),
        ('{"type": "text", "text": "a", "speed": 9}', "invalid_request", None, "0.5 to 2"),
        ('{"type": "text", "text": "a", "format": "mp3"}', "invalid_request", None, "format"),
        ('{"type": "cancel", "played_ms": -1}', "invalid_request", None, "too small"),
        ('{"type": "cancel", "played_ms": 1e300}', "invalid_request", None, "too large"),
        (
            '{"type": "cancel", "played_ms": 1, "played_samples": 1}',
            "invalid_request",
            None,
            "both",
        ),
        ('{"type": "configure", "pauses": {"line": "a"}}', "invalid_request", None, "pauses.line"),
        ('{"type": "configure", "pauses": 1}', "invalid_request", None, "an object"),
        ('{"type": "configure", "voice": "nobody"}', "unknown_voice", None, None),
        (
            '{"type": "configure", "pronunciations": [{"word": "a"}]}',
            "invalid_pronunciation",
            None,
            "either phonemes or a respelling",
        ),
        (
            '{"type": "configure", "pronunciations": [{"word": "a", "phonemes": 1}]}',
            "invalid_request",
            None,
            r"'pronunciations\[0\].phonemes' must be a string",
        ),
    ],
)
def test_bad_messages(
    frame: str | bytes, code: str, utterance: str | None, why: str | None
) -> None:
    with pytest.raises(RefusedMessage, match=why) as refused:
        V2Codec(DEFAULTS, check).decode(frame)
    assert (refused.value.code, refused.value.utterance) == (code, utterance)


# -- out --------------------------------------------------------------------------------------


def test_sound_belongs_to_an_utterance() -> None:
    codec = V2Codec(DEFAULTS)
    half = np.full(3, 0.5, np.float32)
    start, first, second, other_start, other = encode(
        codec,
        UtteranceStarted("a", VoiceSettings()),
        Audio("a", half, 0),
        Audio("a", half, 3),
        UtteranceStarted("b", VoiceSettings(format=AudioFormat.F32LE)),
        Audio("b", half, 0),
    )
    assert start == {
        "type": "utterance_start",
        "utterance": "a",
        "number": 1,
        "format": "s16le",
        "sample_rate": 24_000,
    }
    assert (other_start["number"], other_start["format"]) == (2, "f32le")
    assert [(f.utterance, f.sequence, f.offset) for f in (first, second, other)] == [
        (1, 0, 0),
        (1, 1, 3),
        (2, 0, 0),
    ]
    assert len(second.sound) == 6
    assert other.samples.tolist() == half.tolist()


def test_captions_count_from_the_utterances_first_sample() -> None:
    words = (SpokenWord("Hi", 0.05, 0.3, Span(0, 2)), SpokenWord("there", 0.3, 0.7, Span(3, 8)))
    assert encode(V2Codec(DEFAULTS), SentenceStarted("u", SENTENCE, 2.5, words)) == [
        {
            "type": "captions",
            "utterance": "u",
            "sentence": SENTENCE.index,
            "span": list(SENTENCE.span),
            "boundary": SENTENCE.boundary.value,
            "words": [
                {"text": "Hi", "start": 2.55, "end": 2.8, "span": [0, 2]},
                {"text": "there", "start": 2.8, "end": 3.2, "span": [3, 8]},
            ],
        }
    ]


def test_events_without_a_message() -> None:
    silent = (SentenceReady("u", SENTENCE), SentenceStarted("u", SENTENCE, 0, ()), SessionClosed())
    assert encode(V2Codec(DEFAULTS), *silent) == []


@pytest.mark.parametrize(
    ("event", "message"),
    [
        (
            UtteranceCompleted("u", 1.23456, 0.5),
            {
                "type": "utterance_complete",
                "utterance": "u",
                "duration_ms": 1234.6,
                "elapsed_ms": 500.0,
            },
        ),
        (
            UtteranceCancelled("u", 0.84, "Hi ", "there.", final=True),
            {
                "type": "cancelled",
                "utterance": "u",
                "played_ms": 840.0,
                "text_spoken": "Hi ",
                "text_remaining": "there.",
                "final": True,
            },
        ),
        (
            UtteranceCancelled(None, 0.0, "", "", final=True),
            {
                "type": "cancelled",
                "played_ms": 0.0,
                "text_spoken": "",
                "text_remaining": "",
                "final": True,
            },
        ),
        (
            Failed("u", SynthesisFailed("No.")),
            {
                "type": "error",
                "utterance": "u",
                "code": "synthesis_failed",
                "message": "No.",
                "retryable": True,
            },
        ),
        (
            Failed(None, Overloaded("Full.", retry_after_s=1.5)),
            {
                "type": "error",
                "code": "overloaded",
                "message": "Full.",
                "retryable": True,
                "retry_after_ms": 1500.0,
            },
        ),
        (
            Warned("idle_soon", "Say so."),
            {"type": "warning", "code": "idle_soon", "message": "Say so."},
        ),
    ],
)
def test_messages_out(event: Any, message: dict[str, object]) -> None:
    codec = V2Codec(DEFAULTS)
    assert encode(codec, event) == [message]
    (frame,) = codec.encode(event)
    assert parse_server_message(frame).to_json() == frame


def test_ready_tells_the_limits_and_the_format() -> None:
    codec = V2Codec(DEFAULTS)
    (ready,) = encode(codec, Opened("s", LIMITS))
    limits = ready.pop("limits")
    assert ready == {
        "type": "ready",
        "protocol": 2,
        "session": "s",
        "sample_rate": 24_000,
        "format": "s16le",
    }
    assert "ahead_s" not in limits
    assert limits["max_waiting"] == 4


# -- both directions --------------------------------------------------------------------------


@pytest.mark.parametrize(
    "message",
    [
        messages.HelloMessage(protocol=2),
        messages.TextMessage(text="Hi", pronunciations=[{"word": "a", "phonemes": "A"}]),  # type: ignore[arg-type]
        messages.FlushMessage(),
        messages.CancelMessage(utterance="u", played_ms=5),
        messages.HoldMessage(),
        messages.ReleaseMessage(),
        messages.DiscardMessage(),
        messages.ConfigureMessage(pauses=messages.PausesField(line=1)),
        messages.KeepaliveMessage(),
        messages.CloseMessage(),
        messages.ReadyMessage(session="s", sample_rate=24_000, format="s16le", limits=LIMITS),
        messages.CaptionsMessage(
            utterance="u",
            sentence=3,
            span=(0, 2),
            boundary="line",
            words=(messages.CaptionWord(text="a", start=0, end=1, span=(0, 1)),),
        ),
    ],
)
def test_a_message_survives(message: messages.AnyMessage) -> None:
    assert parse_message(message.to_json()) == message
    assert parse_message(message.to_json().encode()) == message


def test_a_client_can_tell_what_it_does_not_know() -> None:
    with pytest.raises(InvalidRequest) as unknown:
        parse_server_message('{"type": "visemes"}')
    assert unknown.value.code == "unknown_type"
    assert parse_server_message('{"type": "warning", "code": "c", "message": "m", "new": 1}')


CODES = {
    "invalid_pronunciation",
    "invalid_json",
    "invalid_encoding",
    "invalid_request",
    "unknown_type",
    "unexpected_hello",
}


def outcome(frame: str | bytes) -> str:
    try:
        request = V2Codec(DEFAULTS).decode(frame)
    except RefusedMessage as refused:
        return refused.code
    settings = getattr(request, "settings", None)
    played = getattr(request, "played_s", None)
    sound = (settings is None or math.isfinite(settings.speed)) and (
        played is None or math.isfinite(played)
    )
    return "request" if sound else "endless"


@given(st.binary(max_size=200) | st.text(max_size=200))
def test_any_frame_is_a_request_or_a_typed_error(frame: str | bytes) -> None:
    assert outcome(frame) in {"request", *CODES}


_KINDS = "hello text flush cancel hold release discard configure keepalive close ready".split()
_FIELDS = (
    "text utterance voice speed language format pronunciations pauses played_ms played_samples "
    "protocol other"
).split()
json_values = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["word", "phonemes", "respelling", "line", "x"]), inner)
    ),
    max_leaves=5,
)


@given(
    st.sampled_from(_KINDS) | json_values,
    st.dictionaries(st.sampled_from(_FIELDS), json_values),
)
def test_any_object_is_a_request_or_a_typed_error(kind: Any, fields: dict[str, Any]) -> None:
    assert outcome(json.dumps({"type": kind, **fields})) in {"request", *CODES}
