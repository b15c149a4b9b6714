"""What each audio format costs: bytes, delay and words.

Short answers of our own are spoken once; every format gets the same sound, one stream a clip, as
over HTTP. It is decoded again by FFmpeg and heard by the recogniser of
:mod:`speakahead.bench.recognition`.

* ``bytes`` and ``base64_bytes`` are totals over all clips, headers included. ``public_kbit_s`` is
  what others have published for the format, of 24 answers as short as these: quoted, not measured
  here.
* ``first_byte_ms`` is how much sound has to go in until the first bytes come out that are not the
  container's header (that leaves at once); ``first_sound_ms``, until what came out has a sample
  for a listener. Both are the encoder's, a property of the format: no time of synthesis is in them.
* ``encode_ms`` is computing time for a second of sound.
* ``wer`` is a fraction; ``met`` says whether it is at most half a point above that of PCM.

``claims`` says what is wanted of the words and of the bytes, and whether it is so.
"""

from __future__ import annotations

import io
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from speakahead.assets import Voices, locate
from speakahead.audio.codecs import require_av
from speakahead.audio.encoder import open_encoder
from speakahead.audio.formats import FORMATS
from speakahead.audio.pcm import SAMPLE_RATE
from speakahead.bench.claims import Claim
from speakahead.bench.recognition import Recogniser, WordErrors, word_errors
from speakahead.errors import InvalidRequest
from speakahead.kokoro.engine import synthesize
from speakahead.kokoro.loading import load_windowed
from speakahead.text.frontend import FrontEnd

Floats = NDArray[np.float32]

MOST_WORD_ERRORS_ADDED = 0.005
PUBLIC_BYTES = {"pcm": 2_396_400, "mp3": 308_304, "aac": 258_039}
"""Of 24 short answers as s16le, as MP3 of 48 kbit/s and as AAC of 32 kbit/s in fragmented MP4."""
_PUBLIC_S = PUBLIC_BYTES["pcm"] / 2 / SAMPLE_RATE
MOST_BYTES_RATIO = 1.05
"""By the public ones, for as much sound."""

TEXTS = (
    "Your order left our warehouse this morning.",
    "The next bus to the airport is at noon.",
    "I have moved your meeting to Thursday.",
    "Both museums are closed on Mondays.",
    "Would you like a table by the window?",
    "The ticket costs nineteen dollars.",
    "Please tell me the name of your street.",
    "It will be sunny, but rather cold.",
    "Your password was changed last week.",
    "The doctor can see you at half past three.",
    "There are two trains, and both are on time.",
    "I could not find a room with a balcony.",
    "The soup is ready in twenty minutes.",
    "Turn left behind the old church.",
    "We have sent you a message with the code.",
    "Our kitchen is open until ten at night.",
    "Which of the three colours do you prefer?",
    "The battery is almost empty.",
    "Nobody has used this card since June.",
    "My colleague will call you back tomorrow.",
    "The garden is behind the library.",
    "Your parcel is waiting at the post office.",
    "That flight has been cancelled, I am sorry.",
    "Is there anything else that you need?",
)

_PIECE = SAMPLE_RATE // 50
_RAW = {"pcm": "s16le", "pcm_f32le": "f32le", "mulaw": "mulaw", "alaw": "alaw"}


class Transcriber(Protocol):
    """Hears English words; :class:`speakahead.bench.recognition.Recogniser` is one."""

    def transcribe(self, samples: Floats) -> str: ...


@dataclass(frozen=True, slots=True)
class FormatCost:
    """One format; see the module."""

    bytes: int
    base64_bytes: int
    kbit_s: float
    public_kbit_s: float | None
    first_byte_ms: float
    first_sound_ms: float
    encode_ms: float
    wer: float
    word_errors: int
    met: bool


@dataclass(frozen=True, slots=True)
class Report:
    """All formats on the same clips."""

    clips: int
    seconds: float
    words: int
    formats: dict[str, FormatCost]

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "clips": self.clips,
            "seconds": round(self.seconds, 2),
            "words": self.words,
            "formats": {name: asdict(cost) for name, cost in self.formats.items()},
            "claims": [asdict(claim) for claim in self.claims()],
        }

    def claims(self) -> list[Claim]:
        """What is wanted of the words of every format, and of the bytes of those made public."""
        pcm = self.formats["pcm"]
        words = [
            Claim(
                f"{name} word errors, by PCM's",
                f"at most {MOST_WORD_ERRORS_ADDED * 100:g} points more",
                f"{(cost.wer - pcm.wer) * 100:+.2f} points",
                cost.met,
            )
            for name, cost in self.formats.items()
            if cost is not pcm
        ]
        sizes = [
            Claim(
                f"{name} bytes, by the public ones",
                f"at most {MOST_BYTES_RATIO:g} times as many for as much sound",
                f"{cost.kbit_s:.1f} against {cost.public_kbit_s:.1f} kbit/s",
                cost.kbit_s <= cost.public_kbit_s * MOST_BYTES_RATIO,
            )
            for name, cost in self.formats.items()
            if cost.public_kbit_s is not None
        ]
        return words + sizes

    def table(self) -> str:
        """The report for people."""
        lines = [
            f"{'format':<11}{'bytes':>10}{'base64':>10}{'kbit/s':>8}{'public':>8}{'byte ms':>9}"
            f"{'sound ms':>9}{'CPU ms/s':>9}{'WER %':>7}"
        ]
        lines += [
            f"{name:<11}{cost.bytes:>10,}{cost.base64_bytes:>10,}{cost.kbit_s:>8.1f}"
            f"{'-' if cost.public_kbit_s is None else format(cost.public_kbit_s, '.1f'):>8}"
            f"{cost.first_byte_ms:>9.0f}{cost.first_sound_ms:>9.0f}{cost.encode_ms:>9.1f}"
            f"{cost.wer * 100:>7.2f}"
            for name, cost in self.formats.items()
        ]
        missed = [claim.what for claim in self.claims() if not claim.met]
        lines.append(f"Not met: {'; '.join(missed)}." if missed else "All demands are met.")
        return "\n".join(lines)


def run(
    model: Path | None = None,
    *,
    threads: int = 2,
    voice: str = "af_heart",
    limit: int | None = None,
    progress: Callable[[float], None] | None = None,
) -> Report:
    """Speak the texts and measure all formats; some minutes on two cores.

    Args:
        model: directory of the model; found by itself by default.
        threads: threads of one inference.
        voice: an English one.
        limit: only so many of the texts, at least 1.
        progress: told the share that is done, 0 to 1.

    Raises:
        FormatUnavailable: the extra ``formats`` is not installed.
        ModelError: the weights are absent or damaged, or the extra ``bench`` is not installed.
        UnknownVoice: there is no such voice.
    """
    require_av()
    recogniser = Recogniser()
    found = locate(model)
    engine = load_windowed(found, Voices(found.path), threads=threads)
    front_end = FrontEnd()

    def speak(text: str) -> Floats:
        phonemes = front_end.phonemes(text, 0, "en-us")
        return np.concatenate([s for each in phonemes for s in synthesize(engine, each, voice)])

    return measure(speak, recogniser, texts=TEXTS[:limit], progress=progress)


def measure(
    speak: Callable[[str], Floats],
    recogniser: Transcriber,
    *,
    texts: Sequence[str] = TEXTS,
    progress: Callable[[float], None] | None = None,
) -> Report:
    """Measure all formats.

    Args:
        speak: a text as float32 [n] at 24 kHz.
        recogniser: what hears the clips.
        texts: at least one.
        progress: told the share that is done, 0 to 1.

    Raises:
        InvalidRequest: there are no texts.
        FormatUnavailable: the extra ``formats`` is not installed.
    """
    if not texts:
        raise InvalidRequest("The benchmark of formats needs at least one text.")
    require_av()
    clips = [speak(text) for text in texts]
    seconds = sum(map(len, clips)) / SAMPLE_RATE
    heard: dict[bytes, str] = {}  # lossless formats give the same sound, which is heard once
    costs: dict[str, FormatCost] = {}
    words = 0
    for number, name in enumerate(FORMATS):
        sizes, spent, errors = [], 0.0, WordErrors(0, 0)
        for place, (text, clip) in enumerate(zip(texts, clips, strict=True)):
            if progress is not None:
                progress((number + place / len(texts)) / len(FORMATS))
            started = time.perf_counter()
            data = encoded(name, clip)
            spent += time.perf_counter() - started
            sizes.append(len(data))
            sound = decode(data, name)
            key = sound.tobytes()
            if key not in heard:
                heard[key] = recogniser.transcribe(sound)
            errors += word_errors(text, heard[key])
        first_byte, first_sound = latency_ms(name)
        words = errors.words
        base = costs["pcm"].wer if costs else errors.rate
        costs[name] = FormatCost(
            bytes=sum(sizes),
            base64_bytes=sum(-(-size // 3) * 4 for size in sizes),
            kbit_s=_kbit_s(sum(sizes), seconds),
            public_kbit_s=(
                _kbit_s(PUBLIC_BYTES[name], _PUBLIC_S) if name in PUBLIC_BYTES else None
            ),
            first_byte_ms=round(first_byte, 1),
            first_sound_ms=round(first_sound, 1),
            encode_ms=round(spent / seconds * 1000, 2),
            wer=round(errors.rate, 4),
            word_errors=errors.errors,
            met=errors.rate - base <= MOST_WORD_ERRORS_ADDED,
        )
    if progress is not None:
        progress(1.0)
    return Report(len(clips), seconds, words, costs)


def _kbit_s(size: int, seconds: float) -> float:
    return round(size * 8 / seconds / 1000, 2)


def encoded(name: str, samples: Floats, sample_rate: int | None = None) -> bytes:
    """All of a stream in one format, fed in pieces of 20 ms."""
    encoder = open_encoder(name, sample_rate)
    pieces = [
        encoder.encode(samples[start : start + _PIECE]) for start in range(0, len(samples), _PIECE)
    ]
    return b"".join(pieces) + encoder.finish()


def decode(data: bytes, name: str, sample_rate: int | None = None) -> Floats:
    """What FFmpeg makes of a stream, at its start or whole: float32 [n] at 24 kHz.

    Args:
        name: the stream's format.
        sample_rate: what it was encoded with; the format's own by default. Formats with a header
            are believed what it says.
    """
    import av

    options = {}
    if name in _RAW:
        rate = FORMATS[name].sample_rate if sample_rate is None else sample_rate
        options = {"sample_rate": str(rate), "ch_layout": "mono"}
    resampler = av.AudioResampler(format="flt", layout="mono", rate=SAMPLE_RATE)
    pieces: list[NDArray[Any]] = [np.zeros(0, np.float32)]
    source = io.BytesIO(data)
    with av.open(source, "r", format=_RAW.get(name), options=options) as container:
        for frame in [*container.decode(audio=0), None]:
            pieces += [out.to_ndarray().reshape(-1) for out in resampler.resample(frame)]
    return np.concatenate(pieces).astype(np.float32)


def latency_ms(name: str) -> tuple[float, float]:
    """Sound that goes in, in milliseconds, until a byte comes out; and until a sample does."""
    encoder = open_encoder(name)
    tone = (0.3 * np.sin(np.arange(SAMPLE_RATE) * 0.2)).astype(np.float32)
    data = encoder.encode(tone[:0])
    step = SAMPLE_RATE // 1000
    first_byte: float | None = None
    for end in range(step, len(tone) + 1, step):
        piece = encoder.encode(tone[end - step : end])
        if not piece:
            continue
        data += piece
        fed = end * 1000 / SAMPLE_RATE
        first_byte = fed if first_byte is None else first_byte
        if len(_start_of_sound(data, name, encoder.delay_s)):
            return first_byte, fed
    raise AssertionError("no encoder needs a second of sound")


def _start_of_sound(data: bytes, name: str, delay_s: float) -> Floats:
    import av

    try:
        decoded = decode(data, name)
    except (av.FFmpegError, IndexError):  # too little to find the stream in
        return np.zeros(0, np.float32)
    return decoded[round(delay_s * SAMPLE_RATE) :]
