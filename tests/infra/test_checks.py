"""The templates before the judges: cdk-nag, cfn-lint, the real CDK CLI."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from aws_cdk import App, Stack, Validations
from aws_cdk import aws_s3 as s3
from cdk_nag import AwsSolutionsChecks

from speakahead.infra.cdk import CdkCli
from tests.infra.conftest import Written

REGIONS = ("us-east-1",)


def lint(*templates: Path) -> list[dict[str, Any]]:
    """What cfn-lint finds."""
    done = subprocess.run(
        [
            *(str(Path(sys.executable).with_name("cfn-lint")), "--format", "json"),
            *("--regions", *REGIONS, "--template", *map(str, templates)),
        ],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode in (0, 4, 8, 12), done.stderr  # a bit for each level of findings
    found: list[dict[str, Any]] = json.loads(done.stdout or "[]")
    return found


@pytest.fixture(scope="session")
def all_written(
    speech: Written, speech_built: Written, agent: Written, agent_existing: Written
) -> list[Written]:
    return [speech, speech_built, agent, agent_existing]


def test_cfn_lint_finds_nothing_but_the_action_that_it_does_not_know(
    all_written: list[Written], agent: Written, tmp_path: Path
) -> None:
    paths = [
        written.assembly.directory / f"{stack}.template.json"
        for written in all_written
        for stack in written.assembly.stacks
    ]
    assert len(paths) == 7
    template = agent.main
    for resource in template["Resources"].values():
        resource.get("Metadata", {}).pop("cfn-lint", None)
    bare = tmp_path / "bare.json"
    bare.write_text(json.dumps(template))
    found = lint(*paths, bare)
    assert {(entry["Rule"]["Id"], entry["Filename"]) for entry in found} == {("W3037", str(bare))}
    assert all("bidirectional" in entry["Message"].lower() for entry in found)


def test_cdk_nag_is_asked_and_what_it_finds_stops_the_synthesis(node: str, tmp_path: Path) -> None:
    app = App(outdir=str(tmp_path / "cdk.out"))
    Validations.of(app).add_plugins(AwsSolutionsChecks(app))
    s3.Bucket(Stack(app, "careless"), "Open")
    with pytest.raises(Exception, match=r"(?i)validation"):
        app.synth()


def acknowledged(written: Written) -> set[tuple[str, str]]:
    """Findings that are accepted: rule, and where."""
    found = set()
    for stack in written.assembly.stacks:
        path = written.assembly.directory / f"{stack}.metadata.json"
        for place, entries in json.loads(path.read_text()).items():
            for entry in entries:
                if isinstance(entry.get("data"), dict):
                    for rule, reason in entry["data"].items():
                        if "AwsSolutions-" in rule:
                            assert len(reason) > 20
                            name = rule.rpartition("AwsSolutions-")[2]
                            found.add((name.partition("[")[0], place.split("/")[2]))
    return found


def test_the_findings_that_are_accepted_are_these(all_written: list[Written]) -> None:
    """All others stop the synthesis."""
    assert set().union(*map(acknowledged, all_written)) == {
        ("IAM5", "Role"),
        ("S1", "Models"),
        ("CB3", "Project"),
        ("CB4", "Project"),
    }


def test_the_cdk_cli_reads_what_was_written(cdk: CdkCli, speech: Written, agent: Written) -> None:
    for written in (speech, agent):
        lines: list[str] = []
        cdk.run(
            ["synth", written.assembly.main, "--exclusively"],
            assembly=written.assembly.directory,
            lines=lines.append,
        )
        assert any("Resources:" in line for line in lines)


def test_the_cli_says_how_to_get_node(tmp_path: Path) -> None:
    done = subprocess.run(
        [
            *(sys.executable, "-c"),
            "from speakahead.cli.speech_infra import main; main()",
            *("synth", "kokoro-82m", "-o", str(tmp_path / "out")),
        ],
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ, "PATH": str(tmp_path)},
    )
    assert done.returncode == 1
    assert "Node.js" in done.stderr
    assert "nodejs.org" in done.stderr
    assert "Traceback" not in done.stderr
