"""`containers/pin`, in a copy of the folder, with a registry's answer in place of a registry."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.containers.dockerfile import FILES, ROOT, Dockerfile

NEWER = "sha256:" + "0123456789abcdef" * 4


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "containers"
    made.mkdir()
    for path in (*FILES, ROOT / "containers" / "pin"):
        shutil.copy(path, made)
    return made


def pin(folder: Path, mode: str, answer: str) -> subprocess.CompletedProcess[str]:
    """Run it while `docker buildx imagetools inspect TAG --format …` prints ``answer``."""
    programs = folder.parent / "programs"
    programs.mkdir(exist_ok=True)
    docker = programs / "docker"
    docker.write_text(
        f'#!/bin/sh\n[ "$1 $2 $3" = "buildx imagetools inspect" ] && echo "{answer}"\n'
    )
    docker.chmod(0o755)
    return subprocess.run(
        [folder / "pin", mode],
        env={**os.environ, "PATH": f"{programs}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )


def bases(folder: Path) -> set[str]:
    return {Dockerfile.read(path).arguments["BASE"] for path in folder.glob("*.Dockerfile")}


def test_what_is_up_to_date_stays(folder: Path) -> None:
    (before,) = bases(folder)
    done = pin(folder, "check", before.partition("@")[2])
    assert done.returncode == 0
    assert "up to date" in done.stdout


def test_a_newer_digest_is_told_and_written_on_request_only(folder: Path) -> None:
    (before,) = bases(folder)
    tag = before.partition("@")[0]
    told = pin(folder, "check", NEWER)
    assert told.returncode == 1
    assert NEWER in told.stdout
    assert bases(folder) == {before}
    assert pin(folder, "renew", NEWER).returncode == 0
    assert bases(folder) == {f"{tag}@{NEWER}"}
    assert pin(folder, "check", NEWER).returncode == 0


@pytest.mark.parametrize("answer", ["", "sha256:abc", "not found"])
def test_what_is_no_digest_is_not_written(folder: Path, answer: str) -> None:
    before = bases(folder)
    done = pin(folder, "renew", answer)
    assert done.returncode == 1
    assert bases(folder) == before


def test_it_says_how_it_is_used(folder: Path) -> None:
    done = pin(folder, "", NEWER)
    assert done.returncode == 2
    assert re.search("check.*renew", done.stderr, re.DOTALL)
