"""Does a speech back end speak? The three sentences of `check`, in one session."""

from __future__ import annotations

import asyncio
import time

from speakahead.audio.pcm import SAMPLE_RATE
from speakahead.backends.interface import SpeechBackend, SpeechStream
from speakahead.cli.check import SENTENCES
from speakahead.errors import ConnectionFailed, SpeakaheadError
from speakahead.session.events import Audio, Close, Failed, SessionClosed, Speak, UtteranceCompleted


async def check_backend(backend: SpeechBackend, timeout_s: float) -> bool:
    """Speak the three sentences and print what came back; whether all is well.

    Args:
        backend: is closed at the end.
        timeout_s: for each sentence.
    """
    try:
        async with backend.open() as stream:
            for number, sentence in enumerate(SENTENCES, 1):
                try:
                    async with asyncio.timeout(timeout_s):
                        await _check_sentence(stream, f"check-{number}", sentence)
                except TimeoutError:
                    raise ConnectionFailed(f"no answer within {timeout_s:g} s.") from None
            await stream.send(Close())
    except SpeakaheadError as failure:
        print(f"FAILED: {failure.message}")
        return False
    finally:
        await backend.aclose()
    print("OK")
    return True


async def _check_sentence(stream: SpeechStream, utterance: str, sentence: str) -> None:
    sent_at = time.monotonic()
    await stream.send(Speak(sentence, utterance=utterance))
    first_s: float | None = None
    samples = 0
    loudest = 0.0
    while True:
        try:
            event = await anext(stream)
        except StopAsyncIteration:
            raise ConnectionFailed("the session ended early.") from None
        match event:
            case Audio():
                if first_s is None:
                    first_s = time.monotonic() - sent_at
                samples += event.samples.size
                loudest = max(loudest, float(abs(event.samples).max(initial=0.0)))
            case Failed():
                raise event.error
            case SessionClosed():
                raise ConnectionFailed("the session ended early.")
            case UtteranceCompleted():
                break
            case _:
                pass
    if first_s is None or loudest == 0.0:
        raise ConnectionFailed("the sound is silent.")
    print(
        f"{sentence:34} {samples / SAMPLE_RATE:6.3f} s  first sound after {first_s * 1000:5.0f} ms"
    )
