from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from speakahead.assets import Voices, locate
from speakahead.assets.manifest import VOICE_BYTES
from speakahead.errors import ModelCorrupt, UnknownVoice


@pytest.fixture(scope="module")
def voices() -> Voices:
    return Voices(locate().path)


@pytest.fixture
def own(tmp_path: Path) -> Path:
    """A directory with three voices of the user's own, each filled with one number."""
    (tmp_path / "voices").mkdir()
    for number, name in enumerate(("xx_one", "xx_two", "xx_three"), start=1):
        pack = np.full(VOICE_BYTES // 4, number, dtype="<f4")
        (tmp_path / f"voices/{name}.bin").write_bytes(pack.tobytes())
    return tmp_path


def test_all_published_voices_load(voices: Voices) -> None:
    assert len(voices) == 54
    assert list(voices.names) == sorted(voices.names)
    for name in voices.names:
        pack = voices.load(name)
        assert pack.shape == (510, 1, 256)
        assert pack.dtype == np.float32


def test_voices_differ_and_their_rows_depend_on_length(voices: Voices) -> None:
    heart = voices.load("af_heart")
    assert not np.array_equal(heart, voices.load("bm_lewis"))
    assert not np.array_equal(heart[0], heart[100])


def test_a_pack_cannot_be_changed_by_one_user_for_all(voices: Voices) -> None:
    with pytest.raises(ValueError, match="read-only"):
        voices.load("af_heart")[0, 0, 0] = 1.0


@pytest.mark.parametrize(
    ("asked", "suggested"),
    [
        ("af_hart", "af_heart"),
        ("AF_HEART", "af_heart"),
        ("heart", "af_heart"),
        ("Lewis", "bm_lewis"),
        ("af-bella", "af_bella"),
    ],
)
def test_similar_names_are_suggested(voices: Voices, asked: str, suggested: str) -> None:
    assert asked not in voices
    with pytest.raises(UnknownVoice, match=suggested) as caught:
        voices.load(asked)
    assert caught.value.code == "unknown_voice"


@pytest.mark.parametrize("asked", ["", "qqqqqq", "../af_heart", "af_heart.bin/..", "x" * 100_000])
def test_a_strange_name_is_not_repeated(voices: Voices, asked: str) -> None:
    with pytest.raises(UnknownVoice) as caught:
        voices.require(asked)
    assert len(caught.value.message) < 200
    assert not asked or asked not in caught.value.message


def test_the_cache_is_bounded(own: Path) -> None:
    voices = Voices(own, capacity=2)
    first = voices.load("xx_one")
    voices.load("xx_two")
    assert voices.load("xx_one") is first
    voices.load("xx_three")
    (own / "voices/xx_two.bin").unlink()
    assert voices.load("xx_one") is first
    with pytest.raises(ModelCorrupt):  # it was put out of the cache, and its file has gone
        voices.load("xx_two")


def test_own_voices_are_read_as_they_are(own: Path) -> None:
    assert Voices(own).names == ("xx_one", "xx_three", "xx_two")
    assert np.all(Voices(own).load("xx_two") == 2.0)


@pytest.mark.parametrize("damage", ["short", "nan"])
def test_a_damaged_voice_names_its_file(own: Path, damage: str) -> None:
    file = own / "voices/xx_one.bin"
    data = file.read_bytes()
    file.write_bytes(data[:-4] if damage == "short" else data[:-4] + b"\xff\xff\xff\x7f")
    with pytest.raises(ModelCorrupt, match=r"voices/xx_one\.bin"):
        Voices(own).load("xx_one")


def test_a_published_name_must_have_the_published_sum(own: Path) -> None:
    (own / "voices/xx_one.bin").rename(own / "voices/af_heart.bin")
    with pytest.raises(ModelCorrupt, match=r"af_heart\.bin"):
        Voices(own).load("af_heart")


def test_a_directory_without_voices_has_none(tmp_path: Path) -> None:
    voices = Voices(tmp_path)
    assert voices.names == ()
    with pytest.raises(UnknownVoice):
        voices.load("af_heart")


def test_a_cache_of_nothing_is_refused(own: Path) -> None:
    with pytest.raises(ValueError, match="capacity"):
        Voices(own, capacity=0)
