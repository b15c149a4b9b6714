"""The Polly back end: the real SDK against a local stand-in for the service."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import numpy as np
import pytest

from speakahead.backends import polly_call
from speakahead.backends.interface import SpeechBackend, SpeechStream
from speakahead.backends.polly import VOICES, PollyBackend, PollyStream, PollyVoice
from speakahead.backends.polly_session import PART_LIMIT, TEXT_LIMIT
from speakahead.emulator.certificate import Certificates
from speakahead.errors import IllegalTransition, InvalidRequest, Unauthorized, UnknownVoice
from speakahead.session.events import (
    Append,
    Audio,
    Cancel,
    Close,
    Configure,
    Discard,
    Event,
    Failed,
    Flush,
    Hold,
    Release,
    Request,
    SentenceReady,
    SentenceStarted,
    SessionClosed,
    Speak,
    UtteranceCancelled,
    UtteranceCompleted,
    UtteranceStarted,
    VoiceSettings,
)
from speakahead.text.pronunciations import Pronunciation
from tests.backends.polly_endpoint import (
    CHARACTER_S,
    PITCH,
    SECRET,
    Fault,
    PollyEndpoint,
    Refusal,
    Thrown,
)


@pytest.fixture(autouse=True)
def _aws(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(Certificates().ca_path))
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    for name in ("AWS_PROFILE", "AWS_DEFAULT_PROFILE", "AWS_SESSION_TOKEN", "AWS_REGION"):
        monkeypatch.delenv(name, raising=False)


@asynccontextmanager
async def polly(
    endpoint: PollyEndpoint, settings: VoiceSettings | None = None, **options: Any
) -> AsyncIterator[PollyStream]:
    async with endpoint.serving():
        options = {"timeout_s": 5.0, **options}
        backend = PollyBackend(region="eu-central-1", endpoint_url=endpoint.url, **options)
        async with backend.open(settings) as stream:
            yield stream
        await backend.aclose()


async def speak(stream: SpeechStream, *requests: Request) -> list[Event]:
    async def push() -> None:
        for request in (*requests, Close()):
            await stream.send(request)

    pushing = asyncio.create_task(push())
    async with asyncio.timeout(20):
        events = [event async for event in stream]
    await pushing
    return events


def spoken(
    *requests: Request, endpoint: PollyEndpoint | None = None, **options: Any
) -> list[Event]:
    """What comes of these requests in a session of their own."""

    async def scenario() -> list[Event]:
        async with polly(endpoint or PollyEndpoint(), **options) as stream:
            return await speak(stream, *requests)

    return asyncio.run(scenario())


def run(scenario: Callable[[], Awaitable[None]]) -> None:
    async def bounded() -> None:
        async with asyncio.timeout(30):
            await scenario()

    asyncio.run(bounded())


async def take(stream: SpeechStream, kind: type[Event]) -> Any:
    """The next event of this kind; those before it are dropped."""
    async for event in stream:
        if isinstance(event, kind):
            return event
    raise AssertionError(f"no {kind.__name__} came")


def sound_of(events: list[Event], utterance: str | None = None) -> np.ndarray[Any, Any]:
    pieces = [
        e.samples for e in events if isinstance(e, Audio) and utterance in (None, e.utterance)
    ]
    return np.concatenate([np.zeros(0, np.float32), *pieces])


def failure(events: list[Event]) -> Any:
    """The error of the only utterance that failed."""
    (failed,) = [event for event in events if isinstance(event, Failed)]
    return failed.error


# -- speaking ---------------------------------------------------------------------------------


def test_an_utterance_from_deltas_to_sound() -> None:
    endpoint = PollyEndpoint()
    events = spoken(
        Append("Hello the", utterance="a"), Append("re. How are"), Append(" you?"),
        endpoint=endpoint,
    )  # fmt: skip
    kinds = [type(event) for event in events if not isinstance(event, Audio | SentenceReady)]
    assert kinds == [
        UtteranceStarted, SentenceStarted, SentenceStarted, UtteranceCompleted, SessionClosed,
    ]  # fmt: skip
    started = [event for event in events if isinstance(event, SentenceStarted)]
    assert [event.sentence.text for event in started] == ["Hello there.", "How are you?"]
    assert all(event.words == () for event in started)
    completed = events[-2]
    assert isinstance(completed, UtteranceCompleted)
    expected = len("Hello there.How are you?") * CHARACTER_S
    assert completed.duration_s == pytest.approx(expected, abs=0.06)
    (call,) = endpoint.calls
    assert call.spoken == "Hello there. How are you? "
    assert call.closed
    names = ("engine", "outputformat", "samplerate", "voiceid", "languagecode")
    assert [call.headers.get(f"x-amzn-{name}") for name in names] == [
        "generative", "pcm", "16000", "Ruth", None,
    ]  # fmt: skip


def test_the_sound_is_that_of_polly_at_our_rate() -> None:
    events = spoken(Speak("One sentence, of some length."))
    pieces = [event for event in events if isinstance(event, Audio)]
    offsets = np.cumsum([0, *(len(piece.samples) for piece in pieces)])
    assert [piece.offset for piece in pieces] == list(offsets[:-1])
    sound = sound_of(events)
    assert sound.dtype == np.float32
    ideal = 0.5 * np.sin(2 * np.pi * PITCH * np.arange(len(sound)) / 24_000)
    assert np.abs(sound[100:-100] - ideal[100:-100]).max() < 0.01


def test_markup_is_not_read_and_respellings_are() -> None:
    endpoint = PollyEndpoint()
    said = (Pronunciation("Kokoro", respelling="coco row"),)
    spoken(
        Speak(
            "# Kokoro\n\nIt **costs** $3.50 👍.\n```\nx = 1\n```",
            VoiceSettings(pronunciations=said),
        ),
        endpoint=endpoint,
    )
    assert endpoint.calls[0].spoken == "Coco row. It costs three dollars and fifty cents. "


def test_speed_is_said_in_ssml() -> None:
    endpoint = PollyEndpoint()
    spoken(Speak("Hello there.", VoiceSettings(speed=1.25)), endpoint=endpoint)
    (text,) = endpoint.calls[0].texts
    assert text["TextType"] == "ssml"
    assert text["Text"] == '<speak><prosody rate="125%">Hello there.</prosody></speak>'


def test_utterances_follow_each_other_on_one_connection() -> None:
    endpoint = PollyEndpoint()
    events = spoken(
        Speak("One.", utterance="a"), Speak("Two.", utterance="b"), Speak("...", utterance="c"),
        Speak("Three.", utterance="d"), endpoint=endpoint,
    )  # fmt: skip
    completed = [e.utterance for e in events if isinstance(e, UtteranceCompleted)]
    assert completed == ["a", "b", "c", "d"]  # c has nothing to say
    assert [call.spoken.strip() for call in endpoint.calls] == ["One.", "Two.", "Three."]
    assert {call.connection for call in endpoint.calls} == {0}
    assert endpoint.most_at_once == 1


def test_the_first_sentence_is_spoken_while_the_second_is_written() -> None:
    async def scenario() -> None:
        endpoint = PollyEndpoint()
        async with polly(endpoint) as stream:
            await stream.send(Append("Hello there. How"))
            await take(stream, Audio)
            assert endpoint.calls[0].spoken == "Hello there. "
            await stream.send(Append(" are you?"))
            await stream.send(Flush())
            await take(stream, UtteranceCompleted)
            assert len(endpoint.calls) == 1

    run(scenario)


def test_a_long_text_goes_in_parts_that_are_within_the_limits() -> None:
    endpoint = PollyEndpoint()
    endpoint.character_s = 0.002
    sentence = "This is one of rather many sentences. "
    unbroken = "| " + "word " * 900 + "|"  # a row of a table is one sentence
    text = sentence * 100 + "\n" + unbroken
    events = spoken(Speak(text), endpoint=endpoint)
    assert sum(isinstance(event, UtteranceCompleted) for event in events) == 1
    assert len(endpoint.calls) >= 3
    assert endpoint.most_at_once == 1
    assert all(len(str(t["Text"])) <= TEXT_LIMIT for call in endpoint.calls for t in call.texts)
    assert all(len(call.spoken) < PART_LIMIT + len(unbroken) for call in endpoint.calls)
    said = " ".join(call.spoken for call in endpoint.calls).split()
    assert len(said) == 700 + 900
    total = sum(len(sound_of([event])) for event in events)
    completed = next(event for event in events if isinstance(event, UtteranceCompleted))
    assert completed.duration_s == total / 24_000
    starts = [event.offset_s for event in events if isinstance(event, SentenceStarted)]
    assert starts == sorted(starts)


def test_a_stream_is_kept_while_text_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(polly_call, "KEEP_ALIVE_S", 0.05)

    async def scenario() -> None:
        endpoint = PollyEndpoint()
        endpoint.idle_s = 0.5
        async with polly(endpoint) as stream:
            await stream.send(Append("Hello there. How "))
            await take(stream, Audio)
            await endpoint.until(lambda: endpoint.calls[0].blanks >= 15)  # longer than idle_s
            await stream.send(Append("are you?"))
            await stream.send(Flush())
            await take(stream, UtteranceCompleted)
            assert len(endpoint.calls) == 1

    run(scenario)


def test_a_long_pause_gives_the_stream_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(polly_call, "KEEP_ALIVE_S", 0.02)
    monkeypatch.setattr(polly_call, "REST_S", 0.1)

    async def scenario() -> None:
        endpoint = PollyEndpoint()
        async with polly(endpoint) as stream:
            await stream.send(Append("Hello there. How ", utterance="a"))
            await endpoint.until(lambda: bool(endpoint.calls) and endpoint.calls[0].closed)
            events = await speak(stream, Append("are you?", utterance="a"))
            assert [call.spoken.strip() for call in endpoint.calls] == [
                "Hello there.", "How are you?",
            ]  # fmt: skip
            completed = next(e for e in events if isinstance(e, UtteranceCompleted))
            assert completed.duration_s == pytest.approx(24 * CHARACTER_S, abs=0.01)

    run(scenario)


# -- interruption and holding back ------------------------------------------------------------

STORY = (
    "A fox went out one night. It prayed for the moon to give it light. It had many miles to go."
)


@pytest.mark.parametrize("share", [0.0, 0.3, 0.65, 1.0])
def test_what_was_heard_is_estimated_from_the_share_that_was_played(share: float) -> None:
    async def scenario() -> None:
        async with polly(PollyEndpoint()) as stream:
            await stream.send(Speak(STORY, utterance="a"))
            completed = await take(stream, UtteranceCompleted)
            await stream.send(Cancel(played_s=share * completed.duration_s))
            cancelled = await take(stream, UtteranceCancelled)
            assert cancelled.utterance == "a"
            assert cancelled.text_spoken + cancelled.text_remaining == STORY
            # The stand-in gives every character the same time, so the estimate is to the word.
            assert len(cancelled.text_spoken) == pytest.approx(share * len(STORY), abs=6)
            assert cancelled.text_remaining[:1] in ("", " ", "A")
            assert (await speak(stream))[-1] == SessionClosed()

    run(scenario)


def test_an_interruption_leaves_the_stream_and_nothing_stale_follows() -> None:
    async def scenario() -> None:
        endpoint = PollyEndpoint()
        async with polly(endpoint) as stream:
            await stream.send(Append("Hello there. How ", utterance="a"))
            await take(stream, Audio)
            await stream.send(Cancel(played_s=0.1))
            await stream.send(Append("Late text. ", utterance="a"))
            cancelled = await take(stream, UtteranceCancelled)
            assert (cancelled.utterance, cancelled.final) == ("a", True)
            events = await speak(stream, Speak("Yes?", utterance="b"))
            assert {e.utterance for e in events if isinstance(e, Audio | UtteranceStarted)} == {"b"}
            await endpoint.until(lambda: endpoint.calls[0].gone)
            assert [call.spoken.strip() for call in endpoint.calls] == ["Hello there.", "Yes?"]

    run(scenario)


def test_an_interruption_before_any_sound() -> None:
    async def scenario() -> None:
        endpoint = PollyEndpoint()
        endpoint.faults = [Fault.SILENT]
        async with polly(endpoint) as stream:
            await stream.send(Speak("Hello there.", utterance="a"))
            await endpoint.until(lambda: bool(endpoint.calls))
            await stream.send(Cancel())
            cancelled = await take(stream, UtteranceCancelled)
            assert (cancelled.text_spoken, cancelled.text_remaining) == ("", "Hello there.")
            await stream.send(Speak("Yes?", utterance="b"))
            assert (await take(stream, UtteranceCompleted)).utterance == "b"

    run(scenario)


def test_a_held_utterance_waits_for_its_release() -> None:
    async def scenario() -> None:
        endpoint = PollyEndpoint()
        async with polly(endpoint) as stream:
            await stream.send(Hold("a"))
            await stream.send(Speak("One.", utterance="a"))
            await stream.send(Speak("Two.", utterance="b"))
            await endpoint.until(lambda: any(call.closed for call in endpoint.calls))
            await take(stream, SentenceReady)
            await take(stream, SentenceReady)
            heard = asyncio.create_task(anext(stream))
            await asyncio.wait({heard}, timeout=0.2)
            assert not heard.done()
            await stream.send(Release("a"))
            assert await heard == UtteranceStarted("a", VoiceSettings())
            events = await speak(stream)
            assert [e.utterance for e in events if isinstance(e, UtteranceCompleted)] == ["a", "b"]

    run(scenario)


def test_what_is_released_is_heard_and_what_is_discarded_is_not() -> None:
    events = spoken(
        Hold("a"), Speak("One.", utterance="a"), Release("a"),
        Hold("b"), Speak("Two.", utterance="b"), Discard("b"),
        Speak("Three.", utterance="c"),
    )  # fmt: skip
    assert [e.utterance for e in events if isinstance(e, UtteranceCompleted)] == ["a", "c"]
    (cancelled,) = [e for e in events if isinstance(e, UtteranceCancelled)]
    assert (cancelled.utterance, cancelled.text_spoken) == ("b", "")
    assert len(sound_of(events, "b")) == 0


# -- voices -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "language", "voice", "header"),
    [
        ("af_heart", None, "Ruth", None),
        ("bm_george", None, "Brian", None),
        ("af_heart:0.6+am_adam:0.4", None, "Ruth", None),
        ("hf_alpha", None, "Kajal", "en-IN"),
        ("Kajal", "hi", "Kajal", "hi-IN"),
        ("Stephen", "en", "Stephen", None),
        ("mine", None, "vc-9a8fa85dd3", None),
        ("short", None, "Joanna", None),
    ],
)
def test_names_of_voices(name: str, language: str | None, voice: str, header: str | None) -> None:
    endpoint = PollyEndpoint()
    spoken(
        Speak("Hello.", VoiceSettings(name, language=language)),
        endpoint=endpoint,
        voices={"mine": PollyVoice("vc-9a8fa85dd3", ("en-US",)), "short": "Joanna"},
    )
    headers = endpoint.calls[0].headers
    assert headers["x-amzn-voiceid"] == voice
    assert headers.get("x-amzn-languagecode") == header


def test_one_voice_can_speak_for_all_of_kokoros() -> None:
    endpoint = PollyEndpoint()
    spoken(Speak("Ciao.", VoiceSettings("if_sara")), endpoint=endpoint, voice="Matthew")
    assert endpoint.calls[0].headers["x-amzn-voiceid"] == "Matthew"


@pytest.mark.parametrize(
    ("settings", "code"),
    [
        (VoiceSettings("nobody"), "unknown_voice"),
        (VoiceSettings("zf_xiaobei"), "unknown_voice"),
        (VoiceSettings("af_heart:x"), "invalid_request"),
        (VoiceSettings("Ruth", language="fr"), "unsupported_language"),
        (
            VoiceSettings(pronunciations=(Pronunciation("Kokoro", phonemes="kˈOkəɹO"),)),
            "invalid_pronunciation",
        ),
    ],
)
def test_what_polly_cannot_speak_is_refused(settings: VoiceSettings, code: str) -> None:
    endpoint = PollyEndpoint()
    events = spoken(Configure(settings), Speak("No.", settings), Speak("Yes."), endpoint=endpoint)
    refused = [event.error.code for event in events if isinstance(event, Failed)]
    assert refused == [code, code]
    assert [call.spoken.strip() for call in endpoint.calls] == ["Yes."]


def test_the_refusal_of_a_voice_says_which_there_are() -> None:
    error = failure(spoken(Speak("No.", VoiceSettings("nobody")), voices={"mine": "Amy"}))
    assert "Ruth" in error.message
    assert "mine" in error.message
    assert "nobody" not in error.message
    with pytest.raises(UnknownVoice):
        PollyBackend(region="eu-central-1", voice="nobody")
    assert all(voice.languages for voice in VOICES.values())


# -- errors -----------------------------------------------------------------------------------


def quota(code: str) -> Thrown:
    members = {"quotaCode": code, "serviceCode": "polly"}
    return Thrown("ServiceQuotaExceededException", members)


@pytest.mark.parametrize(
    ("fault", "code", "retryable", "retry_after_s"),
    [
        (Thrown("ValidationException", {"reason": "other"}), "polly_refused", False, None),
        (Thrown("ThrottlingException"), "overloaded", True, 1.0),
        (quota("concurrent-streams"), "overloaded", True, 1.0),
        (quota("input-stream-timeout"), "session_expired", True, None),
        (quota("input-stream-inbound-event-timeout"), "session_expired", True, None),
        (Thrown("ServiceFailureException"), "synthesis_failed", True, None),
        (Thrown("SomethingNewException"), "connection_failed", True, None),
        (Refusal(400, "ValidationException"), "polly_refused", False, None),
        (Refusal(400, "ThrottlingException"), "overloaded", True, 1.0),
        (Refusal(403, "AccessDeniedException"), "unauthorized", False, None),
        (Refusal(500, "ServiceFailureException"), "synthesis_failed", True, None),
        (Refusal(502, "BadGateway"), "connection_failed", True, None),
        (Fault.RESET, "connection_failed", True, None),
        (Fault.ENDED, "connection_failed", True, None),
        (Fault.CUT, "connection_failed", True, None),
    ],
    ids=str,
)
def test_every_failure_ends_its_utterance_with_a_typed_error(
    fault: Any, code: str, retryable: bool, retry_after_s: float | None
) -> None:
    endpoint = PollyEndpoint()
    endpoint.faults = [fault]
    events = spoken(
        Speak("Hello there.", utterance="a"), Speak("Yes.", utterance="b"), endpoint=endpoint
    )
    error = failure(events)
    assert (error.code, error.retryable, error.retry_after_s) == (code, retryable, retry_after_s)
    assert SECRET not in str(error)
    ended = [e.utterance for e in events if isinstance(e, Failed | UtteranceCompleted)]
    assert ended == ["a", "b"]
    if not isinstance(fault, Refusal):
        assert len(sound_of(events, "a")) > 0  # what came before it was heard


@pytest.mark.parametrize("fault", [Fault.SILENT, Fault.STALLED])
def test_a_polly_that_says_nothing_is_given_up(fault: Fault) -> None:
    endpoint = PollyEndpoint()
    endpoint.faults = [fault]
    events = spoken(Speak("Hello there."), Speak("Yes."), endpoint=endpoint, timeout_s=0.5)
    assert failure(events).code == "connection_failed"
    assert sum(isinstance(event, UtteranceCompleted) for event in events) == 1


def test_a_stream_that_stays_open_after_the_end_is_complete() -> None:
    endpoint = PollyEndpoint()
    endpoint.faults = [Fault.OPEN]
    events = spoken(Speak("Hello there."), Speak("Yes."), endpoint=endpoint)
    assert sum(isinstance(event, UtteranceCompleted) for event in events) == 2


def test_a_connection_that_was_lost_between_utterances_is_made_again() -> None:
    async def scenario() -> None:
        endpoint = PollyEndpoint()
        async with polly(endpoint) as stream:
            await stream.send(Speak("One.", utterance="a"))
            await take(stream, UtteranceCompleted)
            endpoint.drop()
            events = await speak(stream, Speak("Two.", utterance="b"))
            assert not any(isinstance(event, Failed) for event in events)
            assert len(sound_of(events, "b")) == pytest.approx(4 * CHARACTER_S * 24_000, abs=100)

    run(scenario)


def test_nobody_is_there() -> None:
    async def scenario() -> None:
        backend: SpeechBackend = PollyBackend(
            region="eu-central-1", endpoint_url="https://127.0.0.1:9", timeout_s=5.0
        )
        async with backend.open() as stream:
            assert failure(await speak(stream, Speak("Hello."))).code == "connection_failed"

    run(scenario)


def test_missing_credentials_are_told_at_once(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    for name in ("AWS_SHARED_CREDENTIALS_FILE", "AWS_CONFIG_FILE"):
        monkeypatch.setenv(name, str(tmp_path / "none"))

    async def scenario() -> None:
        with pytest.raises(Unauthorized):
            async with PollyBackend(region="eu-central-1").open():
                pass

    run(scenario)
    monkeypatch.delenv("AWS_DEFAULT_REGION", raising=False)
    with pytest.raises(InvalidRequest, match="region"):
        PollyBackend()
    with pytest.raises(InvalidRequest, match="https"):
        PollyBackend(region="eu-central-1", endpoint_url="http://localhost:1")


def test_leaving_in_the_middle_leaves_nothing_behind() -> None:
    async def scenario() -> None:
        endpoint = PollyEndpoint()
        endpoint.pace.clear()
        async with endpoint.serving():
            mine = asyncio.all_tasks()
            backend = PollyBackend(region="eu-central-1", endpoint_url=endpoint.url)
            async with backend.open() as stream:
                await stream.send(Append("Hello there. How ", utterance="a"))
                await endpoint.until(lambda: bool(endpoint.calls and endpoint.calls[0].texts))
                begun = time.monotonic()
            assert time.monotonic() - begun < 5
            with pytest.raises(StopAsyncIteration):
                await anext(stream)
            with pytest.raises(IllegalTransition):
                await stream.send(Append("more"))
            await stream.aclose()
            owners = {
                task.get_coro().__qualname__.partition(".")[0]  # type: ignore[union-attr]
                for task in asyncio.all_tasks() - mine
            }
            # The rest is the stand-in's.
            assert not owners & {"PollyStream", "PollyCall", "AIOHttp2ClientStream"}

    run(scenario)
