"""The in-process back end with the real model."""

import asyncio
from collections.abc import Iterator

import numpy as np
import pytest

from speakahead.backends.local import LocalBackend
from speakahead.errors import IllegalTransition, UnknownVoice, UnsupportedLanguage
from speakahead.session import Limits
from speakahead.session.events import (
    Audio,
    Event,
    Failed,
    SentenceReady,
    SentenceStarted,
    SessionClosed,
    Speak,
    UtteranceCompleted,
    VoiceSettings,
)


@pytest.fixture(scope="module")
def speech() -> Iterator[LocalBackend]:
    """One loaded model: a back end belongs to no event loop, only its streams do."""
    backend = asyncio.run(LocalBackend.load())
    yield backend
    asyncio.run(backend.aclose())


LONG = "These are rather many words, which make one sentence that is as long as this test needs. "


async def events_of(
    speech: LocalBackend, *deltas: str, settings: VoiceSettings | None = None
) -> list[Event]:
    async with speech.open(settings) as stream:
        for delta in deltas:
            await stream.push_text(delta)
        await stream.end_input()
        return [event async for event in stream]


@pytest.fixture(scope="module")
def events(speech: LocalBackend) -> list[Event]:
    return asyncio.run(events_of(speech, "Hello the", "re. It costs $3.50, Dr. Wh", "o."))


def test_a_session_ends_with_its_close(events: list[Event]) -> None:
    assert events[-1] == SessionClosed()
    completed = events[-2]
    assert isinstance(completed, UtteranceCompleted)
    samples = sum(len(e.samples) for e in events if isinstance(e, Audio))
    assert completed.duration_s == pytest.approx(samples / 24000)
    assert samples / 24000 > 3


def test_sentences_are_ready_before_they_are_spoken(events: list[Event]) -> None:
    ready = [e.sentence for e in events if isinstance(e, SentenceReady)]
    started = [e.sentence for e in events if isinstance(e, SentenceStarted)]
    assert [s.text for s in ready] == ["Hello there.", "It costs $3.50, Dr. Who."]
    assert started == ready


def test_word_timings_name_the_source(events: list[Event]) -> None:
    source = "Hello there. It costs $3.50, Dr. Who."
    first, second = [e for e in events if isinstance(e, SentenceStarted)]
    assert [source[w.span.start : w.span.end] for w in first.words] == ["Hello", "there"]
    spans = [source[w.span.start : w.span.end] for w in second.words]
    assert spans == ["It", "costs", "$3.50", "Dr.", "Who"]
    for words in (first.words, second.words):
        times = [t for w in words for t in (w.start_s, w.end_s)]
        assert times == sorted(times)
        assert times[0] >= 0
        assert all(w.end_s - w.start_s > 0.03 for w in words)
    assert second.offset_s > first.words[-1].end_s


def test_words_are_heard_when_the_timings_say_so(events: list[Event]) -> None:
    sound = np.concatenate([e.samples for e in events if isinstance(e, Audio)])
    for event in events:
        if isinstance(event, SentenceStarted):
            begin = event.offset_s + event.words[0].start_s
            before = sound[round((begin - 0.06) * 24000) : round((begin - 0.03) * 24000)]
            inside = sound[round(begin * 24000) : round((begin + 0.2) * 24000)]
            assert np.abs(inside).max() > 5 * np.abs(before).max(initial=0.0)


def test_misuse() -> None:
    async def scenario() -> None:
        async with await LocalBackend.load() as speech:
            with pytest.raises(UnknownVoice, match="af_heart"):
                speech.language_of("heart")
            with pytest.raises(UnsupportedLanguage):
                speech.language_of("jf_alpha")
            assert "jf_alpha" not in speech.speakable_voices
            stream = speech.open()
            await stream.end_input()
            assert [e async for e in stream] == [SessionClosed()]
            with pytest.raises(IllegalTransition):
                await stream.push_text("Late.")
            stream = speech.open()
            await stream.send(Speak("Hi.", VoiceSettings("nobody")))
            assert isinstance(await anext(stream), Failed)
            await stream.aclose()
            await stream.aclose()
            with pytest.raises(StopAsyncIteration):
                await anext(stream)
            assert speech.scheduler.streams == 0

    asyncio.run(scenario())


def test_a_producer_that_is_too_fast_is_made_to_wait(
    speech: LocalBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(speech, "limits", Limits(max_waiting=100_000))

    async def scenario() -> None:
        async with speech.open() as stream:
            pushed = 0

            async def push() -> None:
                nonlocal pushed
                for _ in range(6000):
                    await stream.push_text("This is one of very many sentences. ")
                    pushed += 1

            pushing = asyncio.create_task(push())
            async for event in stream:
                if isinstance(event, Audio):
                    break
            assert 0 < pushed < 4000
            pushing.cancel()

    asyncio.run(scenario())


def test_input_can_be_ended_before_anything_is_read(
    speech: LocalBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(speech, "limits", Limits(max_waiting=100_000))

    async def scenario() -> int:
        async with speech.open() as stream:
            for _ in range(6):
                await stream.push_text(LONG * 200)  # more than may wait
            async with asyncio.timeout(5):
                await stream.end_input()
            async for event in stream:
                if isinstance(event, Audio):
                    return len(event.samples)
            return 0

    assert asyncio.run(scenario()) > 0


def test_a_mix_of_voices_is_spoken(speech: LocalBackend) -> None:
    events = asyncio.run(
        events_of(speech, "Hello there.", settings=VoiceSettings("af_heart:0.6+af_bella:0.4"))
    )
    assert sum(len(e.samples) for e in events if isinstance(e, Audio)) > 24000


def test_closing_the_back_end_ends_its_streams() -> None:
    async def scenario() -> None:
        speech = await LocalBackend.load()
        stream = speech.open()
        reading = asyncio.create_task(anext(stream, None))
        await asyncio.sleep(0)
        await speech.aclose()
        async with asyncio.timeout(5):
            assert await reading is None

    asyncio.run(scenario())
