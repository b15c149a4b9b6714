"""The comparison with peers: real environments of tiny packages, real drivers, real processes."""

import asyncio
import json
import os
import sys
import time
import zipfile
from pathlib import Path

import numpy as np
import pytest

from speakahead.bench.figures import MeasurementFailed, complete
from speakahead.bench.peers import comparison
from speakahead.bench.peers.catalogue import KOKORO_ONNX, PEERS, Peer, Takes, ourselves
from speakahead.bench.peers.comparison import measure
from speakahead.bench.peers.drivers.driving import SAMPLE_RATE, Listener, Tokens, trial
from speakahead.bench.peers.environments import Environment, Unavailable, prepare
from speakahead.errors import InvalidRequest

HERE = Environment(Path(sys.executable), packages=1, install_mb=2.0)
"""This process's own environment, in which the `bench` extra has kokoro-onnx."""
SHORT = "Good morning. How are you?"


# -- the token stream and the listener ------------------------------------------------------------


def test_tokens_are_never_early_and_lose_nothing() -> None:
    text = "A model writes this,\nbit by bit."
    tokens = Tokens(text, 200)
    pieces = []
    for number, piece in enumerate(tokens):
        assert time.perf_counter() - tokens.began >= number / 200
        pieces.append(piece)
    assert "".join(pieces) == text
    assert max(len(piece.strip()) for piece in pieces) <= 5
    assert tokens.complete_s >= (len(pieces) - 1) / 200


def test_the_same_tokens_come_asynchronously() -> None:
    async def collect() -> list[str]:
        return [piece async for piece in Tokens("One two three.", 1000)]

    assert asyncio.run(collect()) == list(Tokens("One two three.", 1000))


def test_complete_text_is_one_token() -> None:
    assert list(Tokens("One two three.", None)) == ["One two three."]
    assert Tokens("One two three.", 1000).text() == "One two three."


@pytest.mark.parametrize("kind", [np.float32, np.int16])
def test_first_sound_is_the_first_audible_sample(kind: type) -> None:
    scale = 32767 if kind is np.int16 else 1.0
    quiet = np.full(SAMPLE_RATE, 0.003 * scale).astype(kind)
    loud = np.concatenate([quiet[:2400], np.full(2400, 0.1 * scale).astype(kind)])
    listener = Listener(time.perf_counter())
    listener.hear(quiet)
    assert listener.first_sound_s is None
    listener.hear(loud)
    assert listener.first_sound_s is not None
    assert listener.first_heard_s is not None
    # The quiet second has to be played before, and the loud piece is quiet for another 100 ms.
    assert listener.first_heard_s == pytest.approx(1.1, abs=0.05)
    assert listener.first_heard_s > listener.first_sound_s
    assert listener.samples == len(quiet) + len(loud)


class Mute:
    def speak(self, tokens: Tokens, listener: Listener) -> None:
        listener.hear(np.zeros(len(tokens.text()), np.float32))

    def processes(self) -> list[int]:
        return [os.getpid()]

    def close(self) -> None: ...


def test_silence_is_an_error() -> None:
    with pytest.raises(RuntimeError, match="no audible sample"):
        trial(Mute(), "Hello.", None)


# -- environments ---------------------------------------------------------------------------------


def wheel(folder: Path, name: str, requires: str = "") -> str:
    """A package of 0.2 MB; gives a requirement for it."""
    path = folder / f"{name}-1.0-py3-none-any.whl"
    about = f"{name}-1.0.dist-info"
    metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n"
    metadata += f"Requires-Dist: {requires}\n" if requires else ""
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(f"{name}.py", f"GREETING = {'hello' * 40_000!r}\n")
        archive.writestr(f"{about}/METADATA", metadata)
        archive.writestr(
            f"{about}/WHEEL",
            "Wheel-Version: 1.0\nGenerator: a test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        )
        archive.writestr(f"{about}/RECORD", "")
    return f"{name} @ {path.as_uri()}"


def peer(*requirements: str, driver: str | None = "kokoro_onnx", name: str = "tiny") -> Peer:
    return Peer(name, requirements, driver, Takes.TEXT, "none")


@pytest.fixture
def offline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An index without packages, and only wheels of this test beside it."""
    index = tmp_path / "index"
    index.mkdir()
    monkeypatch.setenv("UV_NO_CONFIG", "1")
    monkeypatch.setenv("UV_DEFAULT_INDEX", index.as_uri())
    monkeypatch.setenv("UV_FIND_LINKS", str(tmp_path))
    monkeypatch.delenv("UV_INDEX", raising=False)
    monkeypatch.delenv("UV_EXTRA_INDEX_URL", raising=False)


@pytest.mark.usefixtures("offline")
def test_an_environment_is_made_once(tmp_path: Path) -> None:
    tiny = peer(wheel(tmp_path, "tiny_peer"))
    made = prepare(tiny, tmp_path / "peers")
    assert made.packages == 1
    assert made.install_mb == 0.2
    assert (tmp_path / "peers" / "tiny").is_dir()
    marker = tmp_path / "peers" / "tiny" / "marker"
    marker.touch()
    assert prepare(tiny, tmp_path / "peers") == made
    assert marker.exists()
    other = peer(wheel(tmp_path, "other_peer"))  # the same name, but other requirements
    prepare(other, tmp_path / "peers")
    assert not marker.exists()


@pytest.mark.usefixtures("offline")
def test_torch_is_never_installed(tmp_path: Path) -> None:
    wheel(tmp_path, "torch")
    with pytest.raises(Unavailable, match=r"needs torch 1\.0 and 1 more"):
        prepare(peer(wheel(tmp_path, "heavy_peer", requires="torch>=1")), tmp_path / "peers")
    assert not (tmp_path / "peers" / "tiny").exists()


@pytest.mark.usefixtures("offline")
def test_a_peer_that_cannot_be_installed_says_so(tmp_path: Path) -> None:
    with pytest.raises(Unavailable, match="finds no way to install missing_peer"):
        prepare(peer(wheel(tmp_path, "missing_peer", requires="nowhere-to-be-found")), tmp_path)
    assert "nowhere-to-be-found" in (tmp_path / "tiny.log").read_text()


@pytest.mark.usefixtures("offline")
def test_a_peer_without_a_driver_is_not_measured(tmp_path: Path) -> None:
    with pytest.raises(Unavailable, match="no driver"):
        prepare(peer(wheel(tmp_path, "shy_peer"), driver=None), tmp_path)


def test_without_uv_it_says_how_to_get_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(InvalidRequest, match="pip install uv") as error:
        prepare(peer("anything"), tmp_path)
    assert error.value.code == "uv_missing"


def test_all_versions_are_pinned() -> None:
    for each in PEERS:
        assert all("==" in requirement for requirement in each.requirements)
        drivers = Path(comparison.__file__).parent / "drivers"
        assert each.driver is None or (drivers / f"{each.driver}.py").is_file()
    assert ourselves().requirements[0].startswith("-e ")


# -- the comparison -------------------------------------------------------------------------------


def stand_in(folder: Path, audio_s: float) -> Environment:
    """A peer's process that answers at once, and claims to have spoken for so long."""
    spoken = {
        "text_complete_s": 1.0,
        "first_sound_s": 2.0,
        "first_heard_s": 2.5,
        "last_s": 3.0,
        "audio_s": audio_s,
        "peak_memory_mb": 100.0,
    }
    ready = {"ready": {"version": "9.9", "onnxruntime": "1.0", "python": "3.12"}}
    script = folder / "stand-in"
    script.write_text(
        f"#!{sys.executable}\nimport sys\n"
        f"print({json.dumps(json.dumps(ready))}, flush=True)\n"
        f"for line in sys.stdin: print({json.dumps(json.dumps(spoken))}, flush=True)\n"
    )
    script.chmod(0o755)
    return Environment(script, packages=3, install_mb=1.0)


def install(monkeypatch: pytest.MonkeyPatch, environments: dict[str, Environment | None]) -> None:
    """Peers that are not named are in this process's environment; None: not available."""

    def prepared(each: Peer, directory: Path | None = None) -> Environment:
        environment = environments.get(each.name, HERE)
        if environment is None:
            raise Unavailable("It runs on other machines only.")
        return environment

    monkeypatch.setattr(comparison, "prepare", prepared)


def test_real_sides_and_those_who_cannot(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    quick = Peer("quick", ("quick==1",), "kokoro_onnx", Takes.TEXT, "none")
    terse = Peer("terse", ("terse==1",), "kokoro_onnx", Takes.TEXT, "none")
    broken = Peer("broken", ("broken==1",), "there_is_no_such_driver", Takes.TEXT, "none")
    away = Peer("away", ("away==1",), None, Takes.TEXT, "none")
    (tmp_path / "terse").mkdir()
    install(
        monkeypatch,
        {
            "quick": stand_in(tmp_path, 1.7),
            "terse": stand_in(tmp_path / "terse", 0.2),
            "away": None,
        },
    )
    told: list[float] = []
    report = measure(
        peers=(KOKORO_ONNX, quick, terse, broken, away),
        repeats=1,
        cold_starts=1,
        tokens_per_second=20.0,
        reply=SHORT,
        directory=tmp_path,
        progress=told.append,
    )
    assert [side.name for side in report.sides] == ["speakahead", "kokoro-onnx", "quick"]
    ours, theirs, _ = report.sides
    for side in ours, theirs:
        assert 1 < side.audio_s < 4
        assert side.peak_memory_mb > 100
        assert side.cold_start_ms.median > side.whole_text_ms.median > 0
        assert side.heard_ms.median >= side.first_sound_ms.median
        assert side.rtf.median > 0
        assert side.onnxruntime
    # A complete text is needed there; here, the first sentence is enough.
    assert theirs.after_text_ms.median > 0
    assert ours.after_text_ms.median < theirs.after_text_ms.median
    assert theirs.slower["first sound"] == pytest.approx(
        theirs.first_sound_ms.median / ours.first_sound_ms.median, abs=0.01
    )
    reasons = {each.name: each.reason for each in report.absent}
    assert set(reasons) == {"terse", "broken", "away"}
    assert "0.2 s" in reasons["terse"]
    assert "did not load" in reasons["broken"]
    assert reasons["away"] == "It runs on other machines only."
    assert told[-1] <= 1
    assert told == sorted(told)
    figures = complete(json.loads(json.dumps(report.as_dict())))
    assert set(figures["sides"][0]["slower"].values()) == {1.0}
    assert set(figures["sides"][1]["slower"]) == {
        "first sound",
        "whole text",
        "rtf",
        "cold start",
        "memory",
        "size",
    }
    table = report.table()
    assert "kokoro-onnx beside speakahead: first sound x" in table
    assert "not measured: away. It runs on other machines only." in table


def test_speakahead_itself_must_be_measured(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    install(monkeypatch, {"speakahead": None})
    with pytest.raises(MeasurementFailed, match="speakahead itself"):
        measure(peers=(), repeats=1, cold_starts=1, directory=tmp_path)
