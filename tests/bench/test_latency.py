"""The comparison of one sentence: who is rendered when."""

from collections.abc import Callable

from speakahead.bench.latency import Run, race


def test_who_is_first_changes_from_trial_to_trial_for_every_sentence() -> None:
    rendered: list[tuple[str, str]] = []

    def side(name: str, seconds: float) -> Callable[[str], Run]:
        def render(sentence: str) -> Run:
            rendered.append((sentence, name))
            return Run(seconds, seconds, 24_000)

        return render

    sides = [side("ours", 0.1), side("theirs", 0.8)]
    ours, theirs = race(sides, ["one", "two"], 3)
    for sentence in ("one", "two"):
        order = [name for each, name in rendered if each == sentence]
        assert order == ["ours", "theirs", "theirs", "ours", "ours", "theirs"]
    assert [[run.total_s for run in runs] for runs in ours] == [[0.1] * 3] * 2
    assert [[run.total_s for run in runs] for runs in theirs] == [[0.8] * 3] * 2
