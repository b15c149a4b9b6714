"""Random interruptions of a real server: what comes after them, and whether the words are right."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from speakahead.audio.pcm import SAMPLE_RATE
from speakahead.backends.interface import SpeechBackend, SpeechStream
from speakahead.backends.websocket import WebSocketBackend
from speakahead.bench.load import SENTENCES
from speakahead.session.events import (
    Audio,
    Cancel,
    Failed,
    SentenceStarted,
    Speak,
    SpokenWord,
    UtteranceCancelled,
    UtteranceCompleted,
)

_TIMEOUT_S = 60.0
_LONGEST_S = 4.0  # after the first sound


@dataclass(frozen=True, slots=True)
class Report:
    """What was seen.

    Attributes:
        cancels: interruptions while an utterance was being spoken or about to be.
        stale_frames: sound of an interrupted utterance that came after the answer.
        words_off: by how many words the text that was said to have been spoken differs, at most.
        text_lost: answers whose two texts together were not the utterance's text.
        ack_ms: from the interruption to its answer.
        background: sessions that were speaking at the same time.
        refused: turns that the server refused because of the load.
    """

    cancels: int
    stale_frames: int
    words_off: int
    text_lost: int
    ack_ms: dict[str, float]
    background: int
    refused: int

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)

    def table(self) -> str:
        """The report for people."""
        return (
            f"{self.cancels} interruptions beside {self.background} other sessions: "
            f"{self.stale_frames} stale frames, at most {self.words_off} words off, "
            f"{self.text_lost} texts lost; answered after {self.ack_ms['p50']:.0f} ms (median), "
            f"{self.ack_ms['p95']:.0f} ms (p95), {self.ack_ms['max']:.0f} ms (worst); "
            f"{self.refused} turns refused"
        )


@dataclass(slots=True)
class _Tally:
    stale: int = 0
    words_off: int = 0
    text_lost: int = 0
    refused: int = 0
    acks_s: list[float] = field(default_factory=list)


async def run(
    url: str,
    *,
    cancels: int = 200,
    background: int = 2,
    seed: int = 4,
    progress: Callable[[float], None] = lambda share: None,
) -> Report:
    """Interrupt so many utterances of one session, while ``background`` others speak.

    Raises:
        SpeakaheadError: the server cannot be reached or has failed.
    """
    backend = WebSocketBackend(url)
    rng = random.Random(seed)  # noqa: S311  # reproducible, not secret
    tally = _Tally()
    others = [asyncio.create_task(keep_speaking(backend, i)) for i in range(background)]
    try:
        async with backend.open() as stream:
            number = 0
            while len(tally.acks_s) < cancels:
                number += 1
                await _round(stream, f"u{number}", rng, tally)
                progress(len(tally.acks_s) / cancels)
    finally:
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)
    acks = np.array(tally.acks_s) * 1000
    return Report(
        cancels=len(tally.acks_s),
        stale_frames=tally.stale,
        words_off=tally.words_off,
        text_lost=tally.text_lost,
        ack_ms={
            "p50": round(float(np.percentile(acks, 50)), 1),
            "p95": round(float(np.percentile(acks, 95)), 1),
            "max": round(float(acks.max()), 1),
        },
        background=background,
        refused=tally.refused,
    )


async def _round(stream: SpeechStream, name: str, rng: random.Random, tally: _Tally) -> None:
    """Speak, interrupt at a random moment, and read up to the answer and a little further."""
    text = " ".join(rng.sample(SENTENCES, 4))
    await stream.send(Speak(text, utterance=name))
    words: list[SpokenWord] = []
    received = 0
    began: float | None = None
    wait_s = rng.uniform(0.0, _LONGEST_S)
    before_sound = rng.random() < 0.1
    cancelled_at: float | None = None
    played_s = 0.0
    reading = asyncio.ensure_future(anext(stream))
    while True:
        due = 0.0 if before_sound else _TIMEOUT_S
        if began is not None:
            due = began + wait_s - time.monotonic()
        if cancelled_at is None and (due <= 0 or before_sound):
            elapsed = 0.0 if began is None else time.monotonic() - began
            played_s = min(elapsed, received / SAMPLE_RATE)
            cancelled_at = time.monotonic()
            await stream.send(Cancel(name, played_s))
        limit = _TIMEOUT_S if cancelled_at is not None else max(0.001, due)
        done, _ = await asyncio.wait({reading}, timeout=limit)
        if not done:
            continue
        event = reading.result()
        match event:
            case SentenceStarted(utterance=utterance) if utterance == name:
                offset = event.offset_s
                words += [
                    SpokenWord(w.text, w.start_s + offset, w.end_s + offset, w.span)
                    for w in event.words
                ]
            case Audio(utterance=utterance, samples=samples) if utterance == name:
                began = began or time.monotonic()
                received += len(samples)
            case Audio():
                tally.stale += 1
            case UtteranceCancelled():
                assert cancelled_at is not None
                tally.acks_s.append(time.monotonic() - cancelled_at)
                _judge(event, text, words, tally)
                return
            case Failed():
                tally.refused += event.error.code == "overloaded"
                await asyncio.sleep(1.0)
                return
            case UtteranceCompleted() if cancelled_at is None:
                pass  # all was sent, and is still being played
        reading = asyncio.ensure_future(anext(stream))


def _judge(answer: UtteranceCancelled, text: str, words: list[SpokenWord], tally: _Tally) -> None:
    if answer.text_spoken + answer.text_remaining != text:
        tally.text_lost += 1
    heard = sum(word.end_s <= answer.played_s for word in words)
    said = sum(word.span.end <= len(answer.text_spoken) for word in words)
    tally.words_off = max(tally.words_off, abs(said - heard))


async def keep_speaking(backend: SpeechBackend, number: int) -> None:
    """Take turns of three sentences with pauses between, until cancelled."""
    rng = random.Random(f"background {number}")  # noqa: S311
    async with backend.open() as stream:
        while True:
            await stream.send(Speak(" ".join(rng.sample(SENTENCES, 3))))
            began, sent = None, 0
            async for event in stream:
                if isinstance(event, Audio):
                    began = began or time.monotonic()
                    sent += len(event.samples)
                elif isinstance(event, UtteranceCompleted | Failed):
                    break
            rest = (began or time.monotonic()) + sent / SAMPLE_RATE - time.monotonic()
            await asyncio.sleep(max(0.0, rest) + rng.uniform(0.5, 1.5))
