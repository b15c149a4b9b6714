"""What is wanted of each section's result, and whether it is so."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from speakahead.bench.attribution import TOLERANCE_MS
from speakahead.bench.fleet import MOST_LATE, WANTED_ON_TIME
from speakahead.bench.growth import MOST_FIRST_SOUND_RATIO, MOST_MEMORY_GROWTH
from speakahead.bench.hop import WANTED_FROM, WANTED_RATIO

type Result = Mapping[str, Any]

RATIOS = ((0.0, 5.0), (3.0, 9.0), (11.0, 14.0))
"""First sound of a sentence from so many seconds on is to come so many times as soon as the peer's:
of about 2, 4 and 13 s."""
MOST_RTF_RATIO = 1.3
LOAD_SESSIONS, LOAD_RATIO = 4, 8.0
"""With so many conversations, p95 of first sound is to come so many times as soon as from FIFO."""
ON_TIME_SESSIONS = (4, 8)
"""With so many, those that are not refused are to be on time."""
MOST_WARM_MB = 600.0


@dataclass(frozen=True, slots=True)
class Claim:
    """Something that is wanted, and whether it is so."""

    what: str
    wanted: str
    measured: str
    met: bool


def latency(result: Result) -> list[Claim]:
    """Sooner than kokoro-onnx, and never late."""
    claims = []
    for each in result["sentences"]:
        wanted = max(ratio for from_s, ratio in RATIOS if each["audio_s"] >= from_s)
        claims.append(
            Claim(
                f"First sound of {each['audio_s']:.1f} s of speech against kokoro-onnx",
                f"at least {wanted:g} times as soon",
                f"{each['first_sound_ms']:,.0f} against {each['peer_first_audio_ms']:,.0f} ms, "
                f"{each['ratio']:.2f} times",
                each["ratio"] >= wanted,
            )
        )
    rtf = max(each["rtf"] / each["peer_rtf"] for each in result["sentences"])
    return [
        *claims,
        Claim(
            "Real-time factor by kokoro-onnx's, of the worst sentence",
            f"at most {MOST_RTF_RATIO:g}",
            f"{rtf:.2f}",
            rtf <= MOST_RTF_RATIO,
        ),
        Claim(
            "Windows in time for a listener, sentence after sentence",
            "all",
            f"{result['windows'] - result['late_windows']} of {result['windows']}, by "
            f"{result['min_slack_ms']:.0f} ms or more",
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
    """Deadlines are sooner than first in, first out; who is spoken to is on time; nobody fails."""
    runs = {(each["sessions"], each["scheduler"]): each for each in result["runs"]}
    claims = []
    for (sessions, scheduler), ours in runs.items():
        if scheduler == "deadline" and (fifo := runs.get((sessions, "fifo"))) is not None:
            claims.append(_sooner(sessions, ours, fifo))
        if scheduler == "deadline" and sessions in ON_TIME_SESSIONS:
            claims.append(
                Claim(
                    f"Late windows, {_conversations(sessions)}",
                    f"at most {MOST_LATE:.0%}",
                    f"{ours['late_share']:.1%} of {ours['frames']}",
                    ours["late_share"] <= MOST_LATE,
                )
            )
    asked, broken_off, errors = (
        sum(each[name] for each in runs.values()) for name in ("asked", "broken_off", "errors")
    )
    codes = sorted({code for each in runs.values() for code in each.get("error_codes", ())})
    return [
        *claims,
        Claim(
            "Turns broken off as overload after they had been heard",
            "none",
            f"{broken_off} of {asked}",
            broken_off == 0,
        ),
        Claim(
            "Turns and sessions that failed, other than as overload",
            "none",
            f"{errors} beside {asked} turns asked for" + (f": {', '.join(codes)}" if codes else ""),
            errors == 0,
        ),
    ]


def _sooner(sessions: int, ours: Result, fifo: Result) -> Claim:
    """Refusals make percentiles look good: as many turns have to be on time."""
    p95, fifo_p95 = (each["first_sound_ms"]["p95"] for each in (ours, fifo))
    ratio, wanted = fifo_p95 / p95, LOAD_RATIO if sessions == LOAD_SESSIONS else 1.0
    on_time, fifo_on_time = ours["on_time_share"], fifo["on_time_share"]
    sooner = f"at least {wanted:g} times as soon" if wanted > 1 else "sooner"
    return Claim(
        f"First sound p95, {_conversations(sessions)}, deadlines against first in, first out",
        f"{sooner}, and no fewer turns within 500 ms",
        f"{_p95(ours)} against {_p95(fifo)}: {ratio:.2f} times; {on_time:.0%} against "
        f"{fifo_on_time:.0%} of turns within 500 ms",
        ratio >= wanted and ratio > 1 and on_time >= fifo_on_time,
    )


def _p95(run: Result) -> str:
    """With what it is of."""
    first = run["first_sound_ms"]
    return f"{first['p95']:,.0f} ms (n {first['n']}; {run['served']} of {run['asked']} turns heard)"


def _conversations(count: int) -> str:
    return "1 conversation" if count == 1 else f"{count} conversations"


def fleet(result: Result) -> list[Claim]:
    """What an instance holds, and what that comes to."""
    claims = []
    for each in result["instances"]:
        most = "at most " if each["at_least"] else ""
        needs = "; ".join(
            f"{most}{n['even']:,} instances for {n['conversations']:,}"
            for n in each.get("needs", [])
        )
        like = "like this machine" if each["speed"] == 1 else f"{each['speed']:g} times as fast"
        claims.append(
            Claim(
                f"Conversations on an instance {like}, simulated, with {WANTED_ON_TIME:.0%} of "
                "first sounds within 500 ms",
                "at least one",
                ("at least " if each["at_least"] else "")
                + f"{each['sessions']}"
                + (f": {needs}" if needs else ""),
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
        Claim(
            "Memory of the warm server",
            f"at most {MOST_WARM_MB:.0f} MB",
            f"{result['warm_memory_mb']:.0f} MB",
            result["warm_memory_mb"] <= MOST_WARM_MB,
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
