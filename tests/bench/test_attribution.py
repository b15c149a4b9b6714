"""Attribution: the real door and a real WebSocket, in front of an engine that costs nothing."""

import asyncio
import json
import time

import numpy as np
import pytest
from numpy.typing import NDArray

from speakahead.bench.attribution import Report, checked, measure
from speakahead.bench.figures import MeasurementFailed, complete
from speakahead.bench.player import Player
from speakahead.bench.traced import STAGES, Script, Traced
from speakahead.cli.proving import door
from speakahead.errors import SynthesisFailed
from speakahead.kokoro.engine import Window
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


def report(engine: Engine, **options: object) -> Report:
    work = measure(
        engine,
        Text(),  # type: ignore[arg-type]
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


def test_stages_that_do_not_add_up_are_an_error() -> None:
    stages = dict.fromkeys(STAGES, 0.1)
    assert checked(0, Traced(stages, 0.904)).unaccounted_ms == pytest.approx(4, abs=0.01)
    with pytest.raises(MeasurementFailed, match=r"6\.0 ms"):
        checked(0, Traced(stages, 0.906))
    with pytest.raises(MeasurementFailed, match=r"-6\.0 ms"):
        checked(0, Traced(stages, 0.894))


def test_a_stage_that_ends_before_it_begins_is_an_error() -> None:
    stages = {**dict.fromkeys(STAGES, 0.1), "queue": -0.1}
    with pytest.raises(MeasurementFailed, match="queue"):
        checked(0, Traced(stages, 0.7))


class FailingEngine(Engine):
    def plan(self, *arguments: object, **more: object) -> Plan:
        raise SynthesisFailed("No.")


def test_a_reply_that_fails_is_one_typed_error() -> None:
    with pytest.raises(MeasurementFailed, match="synthesis_failed"):
        report(FailingEngine(), trials=1)


def test_the_player_hears_the_first_loud_sample() -> None:
    async def play() -> tuple[float, float]:
        player = Player(period_s=0.01)
        sound = np.zeros(4800, np.float32)
        sound[2400:] = 0.2
        began = time.monotonic()
        playing = asyncio.create_task(player.run())
        player.push(sound[:1200])
        player.push(sound[1200:])
        await asyncio.wait_for(playing, 5)
        assert player.heard.is_set()
        assert player.heard_at is not None
        return began, player.heard_at

    began, heard_at = asyncio.run(play())
    assert heard_at - began >= 0.1
