"""Attribution: the real door and a real WebSocket, in front of an engine that costs nothing."""

import asyncio
import contextlib
import json
import threading
import time
from collections.abc import Iterator
from dataclasses import fields, replace

import numpy as np
import pytest
from numpy.typing import NDArray

from speakahead.bench.attribution import Report, checked, measure
from speakahead.bench.figures import MeasurementFailed, complete
from speakahead.bench.player import Ear, Player
from speakahead.bench.traced import STAGES, Script, Traced, open_rig
from speakahead.cli.proving import door
from speakahead.errors import SynthesisFailed
from speakahead.kokoro.engine import Window
from speakahead.text.phonemes import Phonemes
from tests.server.rig import Engine, Plan, Text, Voices

SCRIPT = Script(wait_s=0.05, words_per_second=100)
REPLIES = ("It is noon. The train has left.", "One sentence only")


class SlowEngine(Engine):
    """Takes a known time for prosody and for a window; the sound begins after 20 ms."""

    def plan(self, *arguments: object, **more: object) -> Plan:
        time.sleep(0.03)
        return super().plan(*arguments, **more)  # type: ignore[arg-type]

    def decode(self, plan: Plan, window: Window) -> NDArray[np.float32]:
        time.sleep(0.05)
        samples = super().decode(plan, window)
        if window.start == 0:
            samples[:480] = 0
        return samples


def report(engine: Engine, text: Text | None = None, **options: object) -> Report:
    work = measure(
        engine,
        text or Text(),
        Voices(),  # type: ignore[arg-type]
        door,
        script=SCRIPT,
        replies=REPLIES,
        **options,  # type: ignore[arg-type]
    )
    return asyncio.run(work)


def test_the_stages_are_those_of_the_engine_and_the_script_and_add_up() -> None:
    told: list[float] = []
    done = report(SlowEngine(), trials=4, progress=told.append)
    assert len(done.trials) == 4
    for trial in done.trials:
        stages = trial.stages
        assert tuple(stages) == STAGES
        assert abs(sum(stages.values()) - trial.whole_ms) <= 5
        assert stages["model_wait"] >= 50
        # A sentence is complete when the next one begins, or the reply has ended: after 30 ms.
        assert stages["model_wait"] + stages["sentence"] >= 79
        assert stages["phonemes"] >= 30
        assert stages["first_window"] >= 50
        assert stages["playback"] >= 20
        for small in ("encoding", "decode", "network", "queue"):
            assert stages[small] >= -1
    assert told == [0.25, 0.5, 0.75, 1.0]


def test_the_report_is_complete_and_beside_other_sessions_too() -> None:
    done = report(Engine(), trials=1, background=[0, 1])
    result = complete(json.loads(json.dumps(done.as_dict())))
    assert list(result["summary"]) == ["0", "1"]
    assert result["summary"]["1"]["trials"] == 1
    assert tuple(result["summary"]["0"]["stages"]) == STAGES
    assert "add up to the whole" in done.table()


@pytest.fixture(scope="module")
def traced() -> Traced:
    """A real trial, in which the machine did not take the processor away between two readings."""
    slow = Script(wait_s=0.05, words_per_second=20)

    async def trial() -> Traced:
        async with open_rig(SlowEngine(), Text(), Voices(), door) as rig:  # type: ignore[arg-type]
            for number in range(5):
                traced = await rig.trial(f"trial-{number}", REPLIES[0], slow)
                with contextlib.suppress(MeasurementFailed):
                    checked(0, traced.stages, traced.whole_s)
                    break
            return traced

    return asyncio.run(trial())


@pytest.mark.parametrize("wrong_s", [0.2, -0.2])
@pytest.mark.parametrize("reading", [field.name for field in fields(Traced)])
def test_any_reading_that_is_wrong_shows(traced: Traced, reading: str, wrong_s: float) -> None:
    checked(0, traced.stages, traced.whole_s)
    wrong = replace(traced, **{reading: getattr(traced, reading) + wrong_s})
    with pytest.raises(MeasurementFailed, match="do not add up"):
        checked(0, wrong.stages, wrong.whole_s)


@pytest.mark.parametrize("stage", ["model_wait", "sentence", "phonemes", "first_window"])
def test_a_stage_that_is_missing_shows(traced: Traced, stage: str) -> None:
    with pytest.raises(MeasurementFailed, match="do not add up"):
        checked(0, {**traced.stages, stage: 0.0}, traced.whole_s)


class LazyPieces(list[Phonemes]):
    """Takes its time when the scheduler looks into it, which is in no stage."""

    def __iter__(self) -> Iterator[Phonemes]:
        time.sleep(0.05)
        return super().__iter__()


class LazyText(Text):
    def phonemes(self, *arguments: object, **more: object) -> list[Phonemes]:
        return LazyPieces(super().phonemes(*arguments, **more))  # type: ignore[arg-type]


def test_time_that_is_in_no_stage_shows() -> None:
    with pytest.raises(MeasurementFailed, match=r"do not add up: 5\d\.\d ms"):
        report(SlowEngine(), LazyText(), trials=1)


def test_one_trial_in_ten_is_repeated_and_counted() -> None:
    class LazyOnce(LazyText):
        asked = 0

        def phonemes(self, *arguments: object, **more: object) -> list[Phonemes]:
            self.asked += 1
            lazy = self.asked == 3  # the second trial's first sentence, after the warm-up's
            return super().phonemes(*arguments, **more) if lazy else Text().phonemes(*arguments)  # type: ignore[arg-type]

    done = report(SlowEngine(), LazyOnce(), trials=10)
    assert done.repeated == 1
    assert len(done.trials) == 10
    assert "1 that did not were repeated" in done.table()


def test_stages_may_be_off_by_5_ms() -> None:
    stages = dict.fromkeys(STAGES, 0.1)
    assert checked(0, stages, 0.904).unaccounted_ms == pytest.approx(4, abs=0.01)
    with pytest.raises(MeasurementFailed, match=r" 6\.0 ms"):
        checked(0, stages, 0.906)
    with pytest.raises(MeasurementFailed, match=r"-6\.0 ms"):
        checked(0, stages, 0.894)


def test_a_stage_that_ends_before_it_begins_is_an_error() -> None:
    stages = {**dict.fromkeys(STAGES, 0.1), "queue": -0.1}
    with pytest.raises(MeasurementFailed, match="queue"):
        checked(0, stages, 0.7)


class FailingEngine(Engine):
    def plan(self, *arguments: object, **more: object) -> Plan:
        raise SynthesisFailed("No.")


def test_a_reply_that_fails_is_one_typed_error() -> None:
    with pytest.raises(MeasurementFailed, match="synthesis_failed"):
        report(FailingEngine(), trials=1)


def test_the_ear_hears_the_first_loud_sample_when_the_player_has_come_to_it() -> None:
    ear = Ear()
    ear.ask()
    player = Player(ear, period_s=0.01)
    sound = np.zeros(4800, np.float32)
    sound[2400:] = 0.2
    player.push(sound[:1200])
    player.push(sound[1200:])
    player.run()
    assert player.pushed_at is not None
    assert player.played_at is not None
    assert player.lead_s == pytest.approx(0.1)
    assert ear.whole_s is not None
    assert ear.whole_s >= 0.1


def test_the_ear_hears_a_gap_that_is_not_in_the_sound() -> None:
    ear = Ear()
    ear.ask()
    player = Player(ear, period_s=0.01)
    player.push(np.zeros(120, np.float32))
    playing = threading.Thread(target=player.run)
    playing.start()
    time.sleep(0.06)
    player.push(np.full(240, 0.2, np.float32))
    playing.join(5)
    assert player.lead_s == pytest.approx(0.005)
    assert ear.whole_s is not None
    assert ear.whole_s >= 0.03


def test_a_player_that_is_stopped_has_heard_nothing() -> None:
    ear = Ear()
    ear.ask()
    player = Player(ear)
    playing = threading.Thread(target=player.run)
    playing.start()
    player.stop()
    playing.join(5)
    assert not playing.is_alive()
    assert ear.whole_s is None
