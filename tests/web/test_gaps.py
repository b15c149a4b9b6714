"""Where the sound stopped: was it the model that was late, or the speech?"""

from typing import Any

import pytest

from tests.web.conftest import AgentProcess, Open

pytestmark = pytest.mark.browser

# A record is told what happens at these times (ms); the clock is the test's.
REPLAY = """async ([mode, steps, done]) => {
    const { Record } = await import("/static/record.js");
    const real = performance.now;
    let now = 0;
    performance.now = () => now;
    try {
        const record = new Record({ mode });
        record.begin();
        const counts = [];
        for (const [at, name, value] of steps) {
            now = at;
            if (name === "wrote") record.wrote(value);
            else if (name === "sentence") record.sentence(value);
            else record[name]({ position: value, at });
            counts.push(record.count("underrun"));
        }
        if (done !== null) record.server = { model_done_s: done / 1000 };
        record.end("end");
        counts.push(record.count("underrun"));
        return [record.gaps.map((gap) => gap.kind).join(), counts];
    } finally {
        performance.now = real;
    }
}"""

FIRST = "This is first."
SECOND = " This is second."
THIRD = " This is third."


def caption(start: int, end: int, start_s: float, length_s: float = 1.0) -> dict[str, Any]:
    words = [{"start_s": start_s, "end_s": start_s + length_s}]
    return {"start": start, "end": end, "start_s": start_s, "words": words}


ONE = caption(0, 14, 0.0)
TWO = caption(15, 30, 1.5)
STOP = [1600, "waiting", 1.5], [4100, "playing", 1.5]
"""After the first sentence and its pause, which began 0.1 s after the request."""
Step = list[Any]


def case(*steps: Step, mode: str = "bidi", done: float | None = None) -> Any:
    return mode, sorted(steps, key=lambda step: step[0]), done


WAITS = {
    "written late": case(
        [0, "wrote", FIRST + " This"],
        [50, "sentence", ONE],
        [4000, "wrote", " is second. And"],
        [4050, "sentence", TWO],
        *STOP,
    ),
    "written late, and the times of its words are wrong": case(
        [0, "wrote", FIRST + " This"],
        [50, "sentence", ONE],
        [4000, "wrote", " is second. And"],
        [4050, "sentence", caption(15, 30, 0.8)],
        *STOP,
    ),
    "not known when the sound goes on": case(
        [0, "wrote", FIRST + " This"],
        [50, "sentence", ONE],
        [4000, "wrote", " is second. And"],
        [4150, "sentence", TWO],
        *STOP,
    ),
    "a full stop, and nothing yet that shows what it means": case(
        [0, "wrote", FIRST + SECOND],
        [50, "sentence", ONE],
        [4000, "wrote", THIRD],
        [4050, "sentence", TWO],
        *STOP,
    ),
    "the last sentence, before the model says that it was the last": case(
        [0, "wrote", FIRST + SECOND],
        [50, "sentence", ONE],
        [4050, "sentence", TWO],
        *STOP,
        done=4000,
    ),
    "only the end of the pause is left": case(
        [0, "wrote", FIRST],
        [50, "sentence", ONE],
        *STOP,
        done=4000,
    ),
}
UNDERRUNS = {
    "inside a sentence": case(
        [0, "wrote", FIRST + " This"],
        [50, "sentence", ONE],
        [600, "waiting", 0.5],
        [700, "playing", 0.5],
    ),
    "written early": case(
        [0, "wrote", FIRST + SECOND + " And"],
        [50, "sentence", ONE],
        [4050, "sentence", TWO],
        *STOP,
    ),
    "written early, and known when the sound stopped": case(
        [0, "wrote", FIRST + SECOND + " And"],
        [50, "sentence", ONE],
        [60, "sentence", TWO],
        *STOP,
    ),
    "written early, and known after the sound goes on": case(
        [0, "wrote", FIRST + SECOND + " And"],
        [50, "sentence", ONE],
        [4200, "sentence", TWO],
        *STOP,
    ),
    "the last sentence, long complete": case(
        [0, "wrote", FIRST + SECOND],
        [50, "sentence", ONE],
        [4050, "sentence", TWO],
        *STOP,
        done=100,
    ),
    "all was written before": case(
        [0, "wrote", FIRST + SECOND],
        [50, "sentence", ONE],
        [4050, "sentence", TWO],
        *STOP,
        mode="batch",
    ),
}


def test_waits_for_the_model(plain: AgentProcess, open_page: Open) -> None:
    """They are counted as underruns at no time."""
    page = open_page(plain).page
    judged = {name: page.evaluate(REPLAY, steps) for name, steps in WAITS.items()}
    kinds = {name: kind for name, (kind, _) in judged.items()}
    assert kinds == dict.fromkeys(WAITS, "waiting_for_text")
    assert {name: max(counts) for name, (_, counts) in judged.items()} == dict.fromkeys(WAITS, 0)


def test_underruns(plain: AgentProcess, open_page: Open) -> None:
    page = open_page(plain).page
    judged = {name: page.evaluate(REPLAY, steps)[0] for name, steps in UNDERRUNS.items()}
    assert judged == dict.fromkeys(UNDERRUNS, "underrun")
