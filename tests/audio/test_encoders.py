"""Every format as one stream: nothing at the joins, nothing lost, decoded by FFmpeg."""

import io
import struct
from collections.abc import Callable

import av
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from speakahead.assets import Voices, locate
from speakahead.audio import codecs, ogg
from speakahead.audio.codecs import FormatUnavailable, Resampler
from speakahead.audio.encoder import open_encoder
from speakahead.audio.formats import FORMATS, UnknownFormat
from speakahead.audio.g711 import to_alaw, to_mulaw
from speakahead.audio.pcm import SAMPLE_RATE, S16leReader, to_s16, to_s16le
from speakahead.bench.formats import decode, encoded, latency_ms
from speakahead.errors import IllegalTransition
from speakahead.kokoro.engine import synthesize
from speakahead.kokoro.loading import load_engine
from speakahead.text.frontend import FrontEnd

Floats = NDArray[np.float32]

NAMES = list(FORMATS)
LOSSLESS = ["pcm", "pcm_f32le", "wav", "flac"]
EXACT = [name for name in NAMES if name not in ("mp3", "aac")]
COMPRESSED = ["mp3", "aac", "opus", "webm"]


def tone(seconds: float, hertz: float, level: float = 0.3) -> Floats:
    """Fades in and out within 10 ms, as speech does."""
    t = np.arange(round(seconds * SAMPLE_RATE)) / SAMPLE_RATE
    fade = np.clip(np.minimum(t, t[-1] - t) / 0.01, 0, 1)
    return (level * fade * np.sin(2 * np.pi * hertz * t)).astype(np.float32)


@pytest.fixture(scope="module")
def spoken() -> Floats:
    """A sentence by the engine."""
    model = locate()
    engine = load_engine(model, Voices(model.path), threads=1)
    phonemes = FrontEnd().phonemes("Would you like anything else?", 0, "en-us")
    return np.concatenate([s for each in phonemes for s in synthesize(engine, each, "af_heart")])


@pytest.fixture(scope="module")
def sentences(spoken: Floats) -> list[Floats]:
    """Twenty of awkward lengths: the engine's and tones, in turn."""
    return [
        spoken[: len(spoken) - 7 * number]
        if number % 2
        else tone(0.3 + 0.0137 * number, 200 + 60 * number)
        for number in range(20)
    ]


def stream(name: str, pieces: list[Floats], sample_rate: int | None = None) -> bytes:
    encoder = open_encoder(name, sample_rate)
    return b"".join([*(encoder.encode(piece) for piece in pieces), encoder.finish()])


def delay(name: str) -> int:
    return round(open_encoder(name).delay_s * SAMPLE_RATE)


def jump(sound: Floats, position: int) -> float:
    """The largest step from one sample to the next within 5 ms of a position."""
    return float(np.abs(np.diff(sound[position - 120 : position + 120])).max())


# --- joins ---


@pytest.mark.parametrize("name", NAMES)
def test_twenty_sentences_have_the_length_and_the_joins_of_pcm(
    name: str, sentences: list[Floats]
) -> None:
    pcm = np.concatenate(sentences)
    sound = decode(stream(name, sentences), name)
    assert -2 <= len(sound) - len(pcm) <= 0.06 * SAMPLE_RATE
    if name in EXACT:
        assert len(sound) == pytest.approx(len(pcm), abs=2)
    late = delay(name)
    joins = np.cumsum([len(sentence) for sentence in sentences])[:-1]
    for join in joins:
        noise = 0.05 if name in COMPRESSED else 0.01  # of the coding, which is everywhere
        assert jump(sound, int(join) + late) <= 1.1 * jump(pcm, int(join)) + noise


@pytest.mark.parametrize("name", ["mp3", "aac"])
def test_an_encoder_for_each_sentence_would_be_heard(name: str, sentences: list[Floats]) -> None:
    """The control of the test above: it sees what it is there to see."""
    apart = [decode(stream(name, [sentence]), name) for sentence in sentences]
    assert sum(map(len, apart)) - sum(map(len, sentences)) > 0.06 * SAMPLE_RATE


@pytest.mark.parametrize("name", NAMES)
def test_the_sound_is_in_its_place_and_the_tail_is_there(name: str, spoken: Floats) -> None:
    ending = tone(0.05, 440)[:-300]  # ends at full level
    original = np.concatenate([spoken, ending])
    sound = decode(stream(name, [original]), name)[delay(name) :]
    assert len(sound) >= len(original) - 2
    sound = sound[: len(original)]
    tail = len(original) - 600
    assert np.abs(sound[tail:]).max() > 0.7 * np.abs(original[tail:]).max()

    def correlation(lag: int) -> float:
        a, b = original[4000:-4000], sound[4000 + lag : len(sound) - 4000 + lag]
        return float(a @ b[: len(a)] / np.sqrt((a @ a) * (b @ b)))

    best = max(range(-200, 200), key=correlation)
    assert abs(best) <= 10, "0.4 ms"
    assert correlation(best) > (0.9 if name in COMPRESSED else 0.97)


@pytest.mark.parametrize("name", LOSSLESS)
def test_lossless_formats_have_every_sample(name: str, sentences: list[Floats]) -> None:
    pcm = np.concatenate(sentences)
    sound = decode(stream(name, sentences), name)
    np.testing.assert_allclose(sound, pcm, atol=1e-9 if name == "pcm_f32le" else 1e-4)


@pytest.mark.parametrize("name", NAMES)
def test_one_header_at_the_start(name: str, sentences: list[Floats]) -> None:
    data = stream(name, sentences)
    marks = {
        "wav": b"RIFF",
        "flac": b"fLaC",
        "aac": b"moov",
        "opus": b"OpusHead",
        "webm": b"\x1a\x45\xdf\xa3",
    }
    if name in marks:
        assert data.count(marks[name]) == 1
        assert data.index(marks[name]) < 64
        header = open_encoder(name).encode(np.zeros(0, np.float32))
        assert data.startswith(header), "it leaves before any sound"


# --- pieces ---


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("other_rate", [False, True])
@settings(max_examples=12)
@given(cuts=st.lists(st.integers(0, 9_999), max_size=20))
def test_any_cut_into_pieces_gives_the_same_stream(
    name: str, other_rate: bool, cuts: list[int]
) -> None:
    sound = np.concatenate([tone(0.2, 300), tone(0.2166, 500)])[:9_999]
    rate = 16_000 if other_rate else None
    edges = sorted(cuts)
    assert stream(name, np.split(sound, edges), rate) == stream(name, [sound], rate)


@given(st.binary(max_size=64), st.lists(st.integers(0, 64), max_size=8))
def test_an_odd_number_of_bytes_never_breaks_a_sample(data: bytes, cuts: list[int]) -> None:
    edges = [0, *sorted(min(cut, len(data)) for cut in cuts), len(data)]
    reader = S16leReader()
    pieces = [reader.feed(data[edges[i] : edges[i + 1]]) for i in range(len(edges) - 1)]
    whole = np.frombuffer(data[: len(data) & ~1], "<i2")
    assert to_s16le(np.concatenate(pieces)) == np.maximum(whole, -32767).tobytes()


@pytest.mark.parametrize("name", NAMES)
def test_the_end_of_a_stream(name: str) -> None:
    encoder = open_encoder(name)
    header = encoder.encode(np.zeros(0, np.float32))
    assert encoder.encode(np.zeros(0, np.float32)) == b"", "the header is sent once"
    assert header + encoder.encode(tone(0.1, 300)) + encoder.finish()
    assert encoder.finish() == b""
    with pytest.raises(IllegalTransition):
        encoder.encode(tone(0.1, 300))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("rate", [None, 48_000])
def test_a_stream_without_sound_is_only_its_header(name: str, rate: int | None) -> None:
    header = open_encoder(name, rate).encode(np.zeros(0, np.float32))
    assert open_encoder(name, rate).finish() == header
    if name in ("wav", "flac", "aac"):  # FFmpeg does not open the others without any sound
        assert len(decode(header, name)) == 0


@pytest.mark.parametrize("name", EXACT)
@pytest.mark.parametrize("samples", [1, 479, 480, 481, 960, 24_000])
def test_the_last_sample_is_the_last(name: str, samples: int) -> None:
    sound = decode(stream(name, [tone(1.1, 440)[:samples]]), name)
    # FFmpeg cannot take off both ends of one WebM packet, which 13 ms fit into.
    tolerance = 480 if name == "webm" and samples < 324 else 3
    assert len(sound) == pytest.approx(samples, abs=tolerance)


@pytest.mark.parametrize("name", NAMES)
def test_values_out_of_range_are_clipped(name: str) -> None:
    loud = tone(0.2, 300, level=3.0)
    loud[1000] = np.nan
    loud[1001:1003] = [np.inf, -np.inf]
    sound = decode(stream(name, [loud]), name)
    assert np.isfinite(sound).all()
    assert np.abs(sound).max() < 1.6, "overshoot of a codec, but no wrap"
    # A cast without a bound would turn the flat tops over.
    middle = loud[2000:2400]
    flat = sound[2000 + delay(name) : 2400 + delay(name)][np.abs(middle) > 2.5]
    assert (np.sign(flat) == np.sign(middle[np.abs(middle) > 2.5])).all()


# --- early ---


@pytest.mark.parametrize(
    ("name", "byte_ms", "sound_ms"),
    [
        ("pcm", 1, 1),
        ("pcm_f32le", 1, 1),
        ("wav", 1, 1),
        ("flac", 20, 20),
        ("mulaw", 6, 6),
        ("alaw", 6, 6),
        ("mp3", 72, 96),
        ("aac", 128, 128),
        ("opus", 20, 20),
        ("webm", 20, 20),
    ],
)
def test_the_first_bytes_leave_early(name: str, byte_ms: float, sound_ms: float) -> None:
    first_byte, first_sound = latency_ms(name)
    assert first_byte <= byte_ms
    assert first_sound <= sound_ms


@pytest.mark.parametrize("name", NAMES)
def test_no_more_sound_is_held_back_than_is_said(name: str) -> None:
    encoder = open_encoder(name)
    sound = tone(1.5, 300)
    data = b""
    for end in range(240, len(sound) + 1, 240):
        data += encoder.encode(sound[end - 240 : end])
        if end > SAMPLE_RATE // 2 and end % 2160 == 0:
            ready = len(decode(data, name)) - delay(name)
            assert end - ready <= encoder.held_s * SAMPLE_RATE + 1
    assert encoder.held_s < 0.3


# --- rates ---


@pytest.mark.parametrize("name", NAMES)
def test_every_rate_of_a_format(name: str) -> None:
    rates = FORMATS[name].sample_rates or (8_000, 11_025, 12_345, 16_000, 22_050, 44_100, 48_000)
    original = np.concatenate([np.zeros(2_400, np.float32), tone(0.5, 700)])
    for rate in rates:
        data = stream(name, [original], rate)
        late = round(open_encoder(name, rate).delay_s * SAMPLE_RATE)
        sound = decode(data, name, rate)[late:]
        frame = {"mp3": 1152, "aac": 1024}.get(name, 0) * SAMPLE_RATE / rate
        assert -4 <= len(sound) - len(original) <= frame + 4, rate
        spectrum = np.abs(np.fft.rfft(sound[4_000:12_000]))
        assert np.argmax(spectrum) * SAMPLE_RATE / 8_000 == pytest.approx(700, abs=3), rate
        level = np.sqrt(np.mean(sound[4_000:12_000] ** 2))
        assert level == pytest.approx(0.3 / np.sqrt(2), rel=0.15), rate


def test_what_a_lower_rate_cannot_hold_is_filtered_out() -> None:
    kept = decode(encoded("pcm", tone(0.5, 3_000), 8_000), "pcm", 8_000)
    gone = decode(encoded("pcm", tone(0.5, 5_000), 8_000), "pcm", 8_000)
    middle = slice(2_000, 10_000)
    assert np.abs(kept[middle]).max() == pytest.approx(0.3, rel=0.02)
    assert np.abs(gone[middle]).max() < 0.3 * 10 ** (-50 / 20), "no mirror image"


def test_the_resampler_is_in_time() -> None:
    resampler = Resampler(48_000)
    sound = tone(0.5, 300)
    out = np.concatenate([resampler.feed(sound), resampler.finish()])
    assert len(out) == 2 * len(sound)
    np.testing.assert_allclose(out[::2], sound, atol=0.01)
    assert len(Resampler(8_000).finish()) == 0


# --- requests ---


@pytest.mark.parametrize(
    ("name", "sample_rate", "bit_rate", "message"),
    [
        ("ogg", None, None, "pcm, "),
        ("pcm", 7_999, None, "8000"),
        ("pcm", 48_001, None, "48000"),
        ("opus", 44_100, None, "24000"),
        ("mp3", 23_999, None, "22050"),
        ("aac", 96_000, None, "48000"),
        ("wav", None, 64_000, "cannot be chosen"),
        ("mp3", None, 7_999, "8000"),
        ("mp3", None, 320_001, "320000"),
        ("opus", None, 1_000_000, "256000"),
    ],
)
def test_what_a_format_cannot_do_is_refused(
    name: str, sample_rate: int | None, bit_rate: int | None, message: str
) -> None:
    with pytest.raises(UnknownFormat, match=message):
        open_encoder(name, sample_rate, bit_rate)


@pytest.mark.parametrize(("name", "low", "high"), [(n, 24_000, 64_000) for n in COMPRESSED])
def test_the_bit_rate_is_what_was_asked_for(name: str, low: int, high: int, spoken: Floats) -> None:
    def kbit(rate: int) -> float:
        encoder = open_encoder(name, bit_rate=rate)
        assert encoder.bit_rate == rate
        return len(encoder.encode(spoken) + encoder.finish()) * 8 / (len(spoken) / SAMPLE_RATE)

    assert kbit(high) > 1.5 * kbit(low)
    assert kbit(high) < 1.5 * high


def test_without_the_extra_only_what_needs_it_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(codecs.importlib.util, "find_spec", lambda name: None)
    for name in ("pcm", "pcm_f32le", "wav"):
        assert open_encoder(name).encode(tone(0.1, 300))
        with pytest.raises(FormatUnavailable, match=r"speakahead\[formats\]"):
            open_encoder(name, 16_000)
    for name in ("mp3", "aac", "opus", "webm", "flac", "mulaw", "alaw"):
        with pytest.raises(FormatUnavailable, match="formats"):
            open_encoder(name)


def test_media_types() -> None:
    assert open_encoder("mp3").media_type == "audio/mpeg"
    assert open_encoder("pcm", 16_000).media_type == "audio/pcm; rate=16000; channels=1"
    assert open_encoder("mulaw").media_type == "audio/PCMU; rate=8000; channels=1"
    assert open_encoder("aac").media_type == 'audio/mp4; codecs="mp4a.40.2"'


# --- what the containers are made of ---


@pytest.mark.parametrize(("name", "encode"), [("mulaw", to_mulaw), ("alaw", to_alaw)])
def test_g711_takes_the_nearest_level(name: str, encode: Callable[[Floats], bytes]) -> None:
    values = np.arange(-32767, 32768, dtype=np.float32) / 32767
    levels = decode_raw(bytes(range(256)), name)
    wanted = to_s16(values).astype(int)
    nearest = np.abs(levels[:, None] - wanted[None, ::7]).min(axis=0)
    got = decode_raw(encode(values), name)
    np.testing.assert_array_equal(np.abs(got - wanted)[::7], nearest)
    assert (np.diff(got) >= 0).all()


def decode_raw(data: bytes, name: str) -> NDArray[np.int64]:
    options = {"sample_rate": "8000", "ch_layout": "mono"}
    with av.open(io.BytesIO(data), format=name, options=options) as container:
        pieces = [frame.to_ndarray().reshape(-1) for frame in container.decode(audio=0)]
    return np.concatenate(pieces).astype(int)


def test_ogg_pages_have_the_sums_that_ffmpeg_writes() -> None:
    target = io.BytesIO()
    with av.open(target, "w", format="ogg") as container:
        track = container.add_stream("libopus", rate=24_000, layout="mono")
        frame = av.AudioFrame.from_ndarray(tone(0.02, 440)[None], format="flt", layout="mono")
        frame.sample_rate = 24_000
        container.mux(track.encode(frame))
        container.mux(track.encode(None))
    pages = split_pages(target.getvalue())
    assert len(pages) >= 3
    for page in [*pages, *split_pages(stream("opus", [tone(0.3, 440)]))]:
        stated = struct.unpack_from("<I", page, 22)[0]
        blank = bytearray(page)
        blank[22:26] = bytes(4)
        assert ogg._checksum(blank) == stated


def split_pages(data: bytes) -> list[bytes]:
    pages = []
    while data:
        assert data[:4] == b"OggS"
        count = data[26]
        length = 27 + count + sum(data[27 : 27 + count])
        pages.append(data[:length])
        data = data[length:]
    return pages


def test_ogg_pages_are_a_sequence_with_one_start_and_one_end() -> None:
    pages = split_pages(stream("opus", [tone(0.3, 440)]))
    assert [struct.unpack_from("<I", page, 18)[0] for page in pages] == list(range(len(pages)))
    assert [page[5] for page in pages] == [2, *[0] * (len(pages) - 2), 4]
    positions = [struct.unpack_from("<q", page, 6)[0] for page in pages]
    assert positions == sorted(positions)
    assert positions[-1] == 312 + 2 * round(0.3 * SAMPLE_RATE)


def boxes(data: bytes) -> list[tuple[str, bytes]]:
    found = []
    while data:
        length = struct.unpack_from(">I", data)[0]
        found.append((data[4:8].decode(), data[8:length]))
        data = data[length:]
    return found


def test_mp4_fragments_follow_one_another_and_the_first_is_short() -> None:
    data = stream("aac", [tone(1.0, 440)])
    top = boxes(data)
    assert [kind for kind, _ in top[:2]] == ["ftyp", "moov"]
    assert {kind for kind, _ in top[2::2]} == {"moof"}
    assert {kind for kind, _ in top[3::2]} == {"mdat"}
    expected, counts = 0, []
    for number, (_, moof) in enumerate(top[2::2], 1):
        (_, mfhd), (_, traf) = boxes(moof)
        assert struct.unpack(">II", mfhd) == (0, number)
        (_, _), (_, tfdt), (_, trun) = boxes(traf)
        assert struct.unpack_from(">Q", tfdt, 4)[0] == expected
        count, offset = struct.unpack_from(">II", trun, 4)
        assert offset == len(moof) + 16
        counts.append(count)
        expected += count * 1024
    assert counts[0] == 2
    assert set(counts[1:-1]) == {4}
    *_, last = [struct.unpack_from(">I", trun, at)[0] for at in range(12, len(trun), 8)]
    assert expected - 1024 + last == 1024 + SAMPLE_RATE, "browsers end with the last sample"


def test_webm_starts_a_cluster_a_second() -> None:
    data = stream("webm", [tone(3.0, 440)])
    assert data.count(b"\x1f\x43\xb6\x75") == 4
