"""What is wanted of each section's result, and whether it is so."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from speakahead.bench.attribution import TOLERANCE_MS
from speakahead.bench.fleet import WANTED_ON_TIME
from speakahead.bench.growth import MOST_FIRST_SOUND_RATIO, MOST_MEMORY_GROWTH
from speakahead.bench.hop import WANTED_FROM, WANTED_RATIO

type Result = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Claim:
    """Something that is wanted, and whether it is so."""

    what: str
    wanted: str
    measured: str
    met: bool


def latency(result: Result) -> list[Claim]:
    """Sooner than kokoro-onnx, and never late."""
    longest = max(result["sentences"], key=lambda each: each["audio_s"])
    return [
        Claim(
            f"First sound of {longest['audio_s']:.0f} s of speech against kokoro-onnx",
            "sooner",
            f"{longest['first_sound_ms']:.0f} ms, {longest['ratio']:.1f} times as soon",
            longest["ratio"] > 1,
        ),
        Claim(
            "Windows in time for a listener, sentence after sentence",
            "all",
            f"{result['windows'] - result['late_windows']} of {result['windows']}",
            result["late_windows"] == 0,
        ),
    ]


def hop(result: Result) -> list[Claim]:
    """The wanted ratio, from five sentences on."""
    return [
        Claim(
            f"First sound of {hop['sentences']} sentences over {hop['transport']}, whole against "
            "incremental",
            f"at least {WANTED_RATIO:g} times as soon",
            f"{hop['ratio']:.1f} times",
            hop["ratio"] >= WANTED_RATIO,
        )
        for hop in result["hops"]
        if hop["sentences"] >= WANTED_FROM
    ]


def attribution(result: Result) -> list[Claim]:
    """The stages add up."""
    most = max(each["most_unaccounted_ms"] for each in result["summary"].values())
    return [
        Claim(
            "The stages of every trial add up to the whole",
            f"to {TOLERANCE_MS:g} ms",
            f"to {most:.2f} ms",
            most <= TOLERANCE_MS,
        )
    ]


def load(result: Result) -> list[Claim]:
    """Deadlines are sooner than first in, first out."""
    runs = {(each["sessions"], each["scheduler"]): each for each in result["runs"]}
    return [
        Claim(
            f"First sound p95, {'1 conversation' if sessions == 1 else f'{sessions} conversations'}"
            ", deadlines against first in, first out",
            "sooner",
            f"{ours['first_sound_ms']['p95']:,.0f} against {fifo['first_sound_ms']['p95']:,.0f} ms",
            ours["first_sound_ms"]["p95"] < fifo["first_sound_ms"]["p95"],
        )
        for (sessions, scheduler), ours in runs.items()
        if scheduler == "deadline" and (fifo := runs.get((sessions, "fifo"))) is not None
    ]


def fleet(result: Result) -> list[Claim]:
    """What an instance holds, and what that comes to."""
    claims = []
    for each in result["instances"]:
        needs = "; ".join(
            f"{n['even']:,} instances for {n['conversations']:,}" for n in each.get("needs", [])
        )
        like = "like this machine" if each["speed"] == 1 else f"{each['speed']:g} times as fast"
        claims.append(
            Claim(
                f"Conversations on an instance {like}, simulated, with {WANTED_ON_TIME:.0%} of "
                "first sounds within 500 ms",
                "at least one",
                f"{each['sessions']}" + (f": {needs}" if needs else ""),
                each["sessions"] >= 1,
            )
        )
    return claims


def growth(result: Result) -> list[Claim]:
    """Nothing grows."""
    ratio = max(result["length_ratio"], result["age_ratio"])
    return [
        Claim(
            "First sound of long texts and old sessions, by that of short and young ones",
            f"flat: at most {MOST_FIRST_SOUND_RATIO:g}",
            f"{result['length_ratio']:.2f} and {result['age_ratio']:.2f}",
            ratio <= MOST_FIRST_SOUND_RATIO,
        ),
        Claim(
            "Memory of the server after the warm-up",
            f"flat: at most {MOST_MEMORY_GROWTH:.0%} more",
            f"{result['memory_growth']:+.1%}",
            result["memory_growth"] <= MOST_MEMORY_GROWTH,
        ),
    ]


def agent(result: Result) -> list[Claim]:
    """Speaking ahead is heard sooner."""
    return [
        Claim(
            f"First audible sample of a reply ({group['kind']}, {group['written']}), bidi against "
            "batch",
            "sooner",
            f"{bidi:,.0f} against {batch:,.0f} ms",
            bidi < batch,
        )
        for group in result["groups"]
        if group["written"] != "at once"
        for bidi, batch in [
            [group["sides"][side]["first_audible_ms"]["median"] for side in ("bidi", "batch")]
        ]
    ]


def peers(result: Result) -> list[Claim]:
    """Sooner than each of the others."""
    ours, *others = result["sides"]
    return [
        Claim(
            f"First sound of text as it is written, against {other['name']}",
            "sooner",
            f"{ours['first_sound_ms']['median']:,.0f} against "
            f"{other['first_sound_ms']['median']:,.0f} ms",
            ours["first_sound_ms"]["median"] < other["first_sound_ms"]["median"],
        )
        for other in others
    ]
