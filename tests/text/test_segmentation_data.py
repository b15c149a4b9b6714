"""Labelled texts as agents write them, and the benchmark that reads such files."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from speakahead.bench.segmentation import random_pieces, run
from speakahead.errors import InvalidRequest
from speakahead.text.chunker import IncrementalSentenceChunker

DATA = Path(__file__).parents[1] / "data" / "segmentation"


def _cases() -> list[dict[str, Any]]:
    lines = (DATA / "agent_replies.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


@pytest.mark.parametrize("case", _cases(), ids=lambda case: case["id"])
def test_agent_reply(case: dict[str, Any]) -> None:
    chunker = IncrementalSentenceChunker(case["lang"], soft_limit=None)
    units = chunker.feed(case["text"]) + chunker.flush()
    assert [unit.text for unit in units] == case["sentences"]


def test_report_counts_and_groups(tmp_path: Path) -> None:
    rows = [
        {"id": "a", "lang": "en", "text": "One. Two.", "sentences": ["One.", "Two."]},
        {"id": "b", "lang": "en", "text": "One. Two.", "sentences": ["One. Two."]},
        {"id": "c", "lang": "fr", "text": "Un  !\tDeux.", "sentences": ["Un !", "Deux."]},
    ]
    path = tmp_path / "small.jsonl"
    path.write_text("\n".join(json.dumps(row) for row in rows) + "\n\n", encoding="utf-8")
    report = run(tmp_path, splits=5)
    result = report.as_dict()["files"]["small.jsonl"]
    assert {k: result[k] for k in ("cases", "exact", "exact_share", "split_invariant")} == {
        "cases": 3,
        "exact": 2,
        "exact_share": 0.6667,
        "split_invariant": 3,
    }
    assert result["groups"]["en"]["exact"] == 1
    assert result["groups"]["fr"]["exact"] == 1
    assert result["inexact"] == ["b"]
    assert "small.jsonl" in report.table()
    assert "66.7%" in report.table()


def test_report_sets_apart_what_is_not_verbatim_or_not_pursued(tmp_path: Path) -> None:
    rows = [
        {"id": "en-golden-001", "verbatim": True, "text": "A b. C d.", "sentences": ["A b. C d."]},
        {
            "id": "en-golden-052",
            "verbatim": True,
            "text": "A b.C d.",
            "sentences": ["A b.", "C d."],
        },
        {"id": "en-golden-055", "verbatim": False, "text": "A\nb.", "sentences": ["A b."]},
    ]
    lines = [json.dumps({"lang": "en", "set": "golden", **row}) for row in rows]
    (tmp_path / "golden.jsonl").write_text("\n".join(lines), encoding="utf-8")
    groups = run(tmp_path, splits=1).files["golden.jsonl"].groups
    assert {name: tally.cases for name, tally in groups.items()} == {
        "golden en": 3,
        "verbatim": 2,
        "pursued golden en": 1,
    }


@pytest.mark.parametrize("line", ["{", "[]", "1", '{"text": "a", "lang": "en"}', '{"text": 1}'])
def test_a_line_of_another_form_is_reported_by_number(tmp_path: Path, line: str) -> None:
    good = json.dumps({"lang": "en", "text": "A.", "sentences": ["A."]})
    (tmp_path / "bad.jsonl").write_text(f"{good}\n{line}\n", encoding="utf-8")
    with pytest.raises(InvalidRequest, match=r"Line 2 of bad\.jsonl"):
        run(tmp_path)


def test_a_folder_without_data_is_reported(tmp_path: Path) -> None:
    with pytest.raises(InvalidRequest, match=r"no \.jsonl files"):
        run(tmp_path)


def test_random_pieces_lose_nothing() -> None:
    for seed in range(20):
        assert "".join(random_pieces("Some text. More.", random.Random(seed))) == "Some text. More."
