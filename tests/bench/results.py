"""Results as the sections give them, for the page's tests."""

from typing import Any

from speakahead.bench.traced import STAGES


def spread(median: float, n: int = 3) -> dict[str, float]:
    least, most = median * 0.9, median * 1.2
    return {"n": n, "median": median, "p95": median * 1.1, "least": least, "most": most}


def hop(transport: str, sentences: int, ratio: float = 12.0) -> dict[str, Any]:
    medians = {"whole": 160 * ratio, "sentences": 800.0, "windows": 160.0}
    return {
        "transport": transport,
        "sentences": sentences,
        "audio_s": 2.4 * sentences,
        "first_sound": {side: spread(value) for side, value in medians.items()},
        "first_byte": {side: spread(value) for side, value in medians.items()},
        "values": {s: [v * 0.9, v, v * 1.2] for s, v in medians.items()},
        "ratio": ratio,
        "ratios": spread(ratio),
        "sentence_ratio": ratio / 5,
    }


def load(sessions: int, scheduler: str, p95: float) -> dict[str, Any]:
    return {
        "sessions": sessions,
        "scheduler": scheduler,
        "first_sound_ms": {"p50": p95 / 1.5, "p95": p95, "n": 3},
        "first_sounds_ms": [p95 / 2, p95 / 1.5, p95],
        "served": 3,
        "asked": 4,
        "on_time_share": 0.9,
        "frames": 200,
        "late_share": 0.01,
        "refused": 1,
        "broken_off": 0,
        "errors": 0,
        "cost": 0.4,
        "seconds": 20,
        "server": {"patience_s": 5.0, "workers": 1, "threads": 2},
    }


RESULTS: dict[str, dict[str, Any]] = {
    "hop": {"trials": 3, "hops": [hop(t, n) for t in ("websocket", "sagemaker") for n in (1, 5)]},
    "attribution": {
        "summary": {"0": {"most_unaccounted_ms": 0.3}},
        "trials": [
            {"background": n, "stages": dict.fromkeys(STAGES, 40.0), "whole_ms": 360.0}
            for n in (0, 0, 1)
        ],
    },
    "agent": {
        "repeats": 3,
        "groups": [
            {
                "kind": kind,
                "written": written,
                "sides": {
                    side: {"first_byte_ms": spread(ms), "first_audible_ms": spread(ms + 40)}
                    for side, ms in sides.items()
                },
                "ratios": {"first byte": 2.0, "first audible": 1.9},
            }
            for kind, written, sides in (
                ("short", "20 tokens/s", {"bidi": 500.0, "batch": 900.0}),
                ("long", "at once", {"bidi": 300.0, "batch": 290.0, "whole sentences": 900.0}),
            )
        ],
    },
    "peers": {
        "sides": [
            {"name": n, "first_sound_ms": spread(ms), "whole_text_ms": spread(ms / 2)}
            for n, ms in (("speakahead", 600.0), ("another", 2000.0))
        ],
        "absent": [],
    },
    "load": {
        "seconds_each": 20,
        "runs": [
            load(n, s, p)
            for n, fast, slow in ((1, 180.0, 900.0), (4, 400.0, 4000.0))
            for s, p in (("deadline", fast), ("fifo", slow))
        ],
    },
    "fleet": {
        "instances": [
            {
                "speed": speed,
                "sessions": 2,
                "at_least": False,
                "points": [
                    {
                        "sessions": n,
                        "served": 280,
                        "p50_ms": 150.0 * n,
                        "p95_ms": 190.0 * n,
                        "on_time": on_time,
                    }
                    for n, on_time in ((1, 1.0), (2, 0.97), (3, 0.8))
                ],
                "needs": [{"conversations": 10_000, "even": 5_000, "random": 9_000}],
            }
            for speed in (1.0, 2.0)
        ],
        "checks": [
            {
                "sessions": n,
                "turns": {"measured": {"served": 5 * n, "asked": 6 * n}},
                "measured": {"p50_ms": 160.0 * n, "p95_ms": 200.0 * n, "on_time": 0.98},
            }
            for n in (1, 2)
        ],
    },
    "growth": {
        "lengths": [
            {"sentences": 1, "first_sound_ms": 150.0, "memory_mb": 500.0, "sentence_ms": 600.0},
            {"sentences": 5, "first_sound_ms": 155.0, "memory_mb": 505.0, "sentence_ms": 590.0},
            {"sentences": 500, "first_sound_ms": 160.0, "memory_mb": 506.0},
        ],
        "probes": [
            {"age_sentences": age, "first_sound_ms": spread(140.0)} for age in (0, 6, 12, 18)
        ],
        "length_ratio": 1.03,
        "age_ratio": 1.0,
        "memory_growth": 0.01,
        "warm_memory_mb": 500.0,
    },
    "latency": {
        "sentences": [
            {
                "audio_s": s,
                "first_sound_ms": 150.0,
                "peer_first_audio_ms": 150.0 * r,
                "ratio": r,
                "rtf": 0.4,
                "peer_rtf": 0.35,
            }
            for s, r in ((1.5, 5.0), (4.0, 9.0), (13.0, 14.0))
        ],
        "windows": 200,
        "late_windows": 0,
        "min_slack_ms": 29.0,
    },
}
