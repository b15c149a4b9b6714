"""A virtual environment for each peer, made by uv and kept in the cache.

``~/.cache/speakahead/peers/<name>`` holds the environment and ``<name>.log`` what uv said. An
environment is made once for each set of requirements and each Python.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from filelock import FileLock

from speakahead.assets.locate import cache_directory
from speakahead.bench.peers.catalogue import Peer
from speakahead.errors import InvalidRequest

_NEVER = ("torch",)
"""Packages that are never installed, whatever asks for them."""
_RESOLVE_TIMEOUT_S = 180.0
_INSTALL_TIMEOUT_S = 1800.0
"""Some peers have dependencies that are compiled here."""
_STAMP = "speakahead-peer.json"


class Unavailable(Exception):
    """A peer cannot be measured here; the text says why, for the report."""


@dataclass(frozen=True, slots=True)
class Environment:
    """An installed peer.

    Attributes:
        python: its interpreter.
        packages: how many are installed.
        install_mb: size of all their files, in millions of bytes; weights are not among them.
    """

    python: Path
    packages: int
    install_mb: float


def peers_directory() -> Path:
    """Where environments are kept."""
    return cache_directory().parent / "peers"


def prepare(peer: Peer, directory: Path | None = None) -> Environment:
    """The peer's environment, which is made if there is none; that takes up to some minutes.

    Args:
        directory: where environments are kept; by default this user's cache.

    Raises:
        Unavailable: the peer cannot be installed here, or not without what is never installed.
        InvalidRequest: there is no uv.
    """
    folder = (directory or peers_directory()) / peer.name
    folder.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(folder.with_suffix(".lock")):
        wanted = _wanted(peer)
        stamp = folder / _STAMP
        if not stamp.is_file() or json.loads(stamp.read_text()) != wanted:
            log = folder.with_suffix(".log")
            log.unlink(missing_ok=True)
            resolved = _resolve(peer, log)
            shutil.rmtree(folder, ignore_errors=True)
            _install(peer, folder, resolved, log)
            stamp.write_text(json.dumps(wanted))
    if peer.driver is None:
        raise Unavailable("It can be installed here, but there is no driver for it.")
    packages = next(folder.glob("lib/python*/site-packages"), folder / "Lib" / "site-packages")
    return Environment(
        _python(folder),
        len(list(packages.glob("*.dist-info"))),
        round((_size(packages) + _size_of_sources(peer)) / 1e6, 1),
    )


def _wanted(peer: Peer) -> dict[str, Any]:
    """What the environment depends on; of a source tree, what its packaging says."""
    sources = [Path(kind_and_path[3:]) for kind_and_path in _local(peer)]
    files = [path / "pyproject.toml" if path.is_dir() else path for path in sources]
    return {
        "requirements": list(peer.requirements),
        "python": platform.python_version(),
        "files": [hashlib.sha256(file.read_bytes()).hexdigest() for file in files],
    }


def _local(peer: Peer) -> list[str]:
    return [r for r in peer.requirements if r.startswith(("-e ", "-c "))]


def _python(folder: Path) -> Path:
    return folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def _resolve(peer: Peer, log: Path) -> str:
    """All packages with their versions, as a requirements file.

    Raises:
        Unavailable: there is no solution for this machine, or one that is not wanted.
    """
    asked = "\n".join(peer.requirements)
    told = _uv(
        ["pip", "compile", "-", "--no-header", "--no-annotate", "--python", sys.executable],
        log,
        _RESOLVE_TIMEOUT_S,
        asked,
    )
    names = " ".join(peer.requirements)
    if told is None:
        raise Unavailable(f"`uv pip compile` finds no way to install {names} on {_machine()}.")
    versions = dict(re.findall(r"^([\w.-]+)==([^\s;]+)", told, re.MULTILINE))
    packages = [line for line in told.splitlines() if re.match(r"\w", line)]
    for never in _NEVER:
        if never in versions:
            raise Unavailable(
                f"{names} needs {never} {versions[never]} and {len(packages) - 1} more packages; "
                f"{never} is not installed for this comparison."
            )
    return told


def _install(peer: Peer, folder: Path, resolved: str, log: Path) -> None:
    made = _uv(["venv", "--python", sys.executable, str(folder)], log, _RESOLVE_TIMEOUT_S)
    command = ["pip", "install", "--python", str(_python(folder)), "--requirement", "-"]
    if made is None or _uv(command, log, _INSTALL_TIMEOUT_S, resolved) is None:
        shutil.rmtree(folder, ignore_errors=True)
        names = " ".join(peer.requirements)
        raise Unavailable(f"`uv pip install` of {names} fails on {_machine()}.")


def _uv(arguments: Sequence[str], log: Path, timeout_s: float, stdin: str = "") -> str | None:
    """What uv answers; None if it fails. What it reports goes to the log."""
    beside = Path(sys.executable).with_name("uv")
    uv = str(beside) if beside.is_file() else shutil.which("uv")
    if uv is None:
        raise InvalidRequest(
            "The comparison makes its environments with uv, which is not installed: "
            "`pip install uv`.",
            code="uv_missing",
        )
    # An active environment must not be taken for the one that is meant.
    clean = {key: value for key, value in os.environ.items() if key != "VIRTUAL_ENV"}
    with log.open("a", encoding="utf-8") as report:
        try:
            done = subprocess.run(  # noqa: S603
                [uv, *arguments],
                input=stdin,
                stdout=subprocess.PIPE,
                stderr=report,
                text=True,
                env=clean,
                timeout=timeout_s,
            )
        except subprocess.TimeoutExpired:
            report.write(f"uv {arguments[0]} took more than {timeout_s:.0f} s\n")
            return None
    return done.stdout if done.returncode == 0 else None


def _machine() -> str:
    return f"{platform.system()} {platform.machine()} with Python {platform.python_version()}"


def _size(folder: Path) -> int:
    return sum(path.lstat().st_size for path in folder.rglob("*") if path.is_file())


def _size_of_sources(peer: Peer) -> int:
    """An editable installation has its modules elsewhere."""
    return sum(_size(Path(each[3:]) / "src") for each in _local(peer) if each.startswith("-e "))
