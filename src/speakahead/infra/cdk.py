"""The CDK CLI: one fixed version, fetched once by npm, and run on cloud assemblies."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path

from filelock import FileLock

from speakahead.assets import cache_directory
from speakahead.infra.account import Account
from speakahead.infra.errors import ToolFailed, ToolMissing

_LOWEST_NODE = 20
_INSTALL_TIMEOUT_S = 300
_LAST_LINES = 40

Lines = Callable[[str], None]
"""Takes the lines that the CLI writes, as they come."""


def require_node() -> Path:
    """The Node.js here; the CDK's library needs it as well as its CLI does.

    Raises:
        ToolMissing: there is none, or one that is too old.
    """
    how = (
        f"Node.js {_LOWEST_NODE} or newer is needed for the AWS CDK: install it from nodejs.org, "
        "by your package manager, or with `nvm install --lts`"
    )
    node = shutil.which("node")
    if node is None:
        raise ToolMissing(f"{how}; there is none here.")
    try:
        answer = subprocess.run(  # noqa: S603 - found on the user's path
            [node, "--version"], capture_output=True, text=True, timeout=20, check=True
        ).stdout
        major = int(answer.strip().removeprefix("v").partition(".")[0])
    except (OSError, ValueError, subprocess.SubprocessError):
        raise ToolMissing(f"{how}; the one here does not run.") from None
    if major < _LOWEST_NODE:
        raise ToolMissing(f"{how}; the one here is {major}.")
    return Path(node)


def require_docker() -> None:
    """Whether images can be built here.

    Raises:
        ToolMissing: there is no Docker, or it does not run.
    """
    how = "give --build codebuild to build the image in the account, or --image for one that exists"
    docker = shutil.which("docker")
    if docker is None:
        raise ToolMissing(f"There is no Docker here: {how}.")
    try:
        subprocess.run(  # noqa: S603 - found on the user's path
            [docker, "info"], capture_output=True, timeout=30, check=True
        )
    except (OSError, subprocess.SubprocessError):
        raise ToolMissing(f"Docker does not run here: start it, or {how}.") from None


class CdkCli:
    """The CDK CLI.

    Args:
        home: where it is, or is to be, installed; None: in the user's cache.
    """

    def __init__(self, home: Path | None = None) -> None:
        self._package = files("speakahead.infra").joinpath("toolkit/package.json").read_text()
        self.version: str = json.loads(self._package)["dependencies"]["aws-cdk"]
        self._home = home or cache_directory().parent / f"cdk-{self.version}"

    @property
    def _script(self) -> Path:
        return self._home / "node_modules" / "aws-cdk" / "bin" / "cdk"

    def is_installed(self) -> bool:
        """Whether ``install`` has nothing to do."""
        return self._script.is_file()

    def install(self) -> None:
        """Fetch the CLI, if it is not here.

        Raises:
            ToolMissing: there is no Node.js or no npm.
            ToolFailed: npm could not fetch it.
        """
        require_node()
        npm = shutil.which("npm")
        if npm is None:
            raise ToolMissing("npm is needed to fetch the CDK CLI; it comes with Node.js.")
        self._home.mkdir(parents=True, exist_ok=True)
        with FileLock(self._home / ".lock"):
            if self.is_installed():
                return
            (self._home / "package.json").write_text(self._package)
            command = [npm, "install", "--no-package-lock", "--no-audit", "--no-fund", "--silent"]
            try:
                subprocess.run(  # noqa: S603 - found on the user's path
                    command,
                    cwd=self._home,
                    capture_output=True,
                    timeout=_INSTALL_TIMEOUT_S,
                    check=True,
                )
            except (OSError, subprocess.SubprocessError):
                raise ToolFailed(
                    f"npm could not fetch aws-cdk {self.version}: check the network and npm's "
                    f"configuration, or run npm install in {self._home} to see why."
                ) from None
            if not self.is_installed():
                raise ToolFailed(f"npm says it has installed aws-cdk {self.version}, but has not.")

    def run(
        self,
        arguments: list[str],
        *,
        assembly: Path | None = None,
        account: Account | None = None,
        lines: Lines | None = None,
    ) -> None:
        """Run a command, to its end.

        Args:
            arguments: of ``cdk``.
            assembly: that it is about.
            account: whose credentials and region it uses.
            lines: gets what it writes; None: it writes to this process's own output.

        Raises:
            ToolFailed: it ended with an error; the message has the last lines.
        """
        command = [str(require_node()), str(self._script), *arguments]
        if assembly is not None:
            command += ["--app", str(assembly)]
        if account is not None and account.profile is not None:
            command += ["--profile", account.profile]
        process = subprocess.Popen(  # noqa: S603 - our own CLI; no shell reads the arguments
            command,
            stdin=subprocess.DEVNULL,
            stdout=None if lines is None else subprocess.PIPE,
            stderr=None if lines is None else subprocess.STDOUT,
            text=True,
            errors="replace",
            env=_environment(account),
        )
        last: list[str] = []
        try:
            for line in process.stdout or ():
                text = line.rstrip()
                if text and lines is not None:
                    last = [*last[1 - _LAST_LINES :], text]
                    lines(text)
            status = process.wait()
        except BaseException:
            process.terminate()  # the CLI stops; CloudFormation goes on with what it has begun
            process.wait()
            raise
        if status != 0:
            raise ToolFailed("\n".join([f"`cdk {arguments[0]}` failed.", *last]))


def _environment(account: Account | None) -> dict[str, str]:
    environment = {
        **os.environ,
        "CDK_DISABLE_CLI_TELEMETRY": "true",
        "FORCE_COLOR": "0",
        "NODE_NO_WARNINGS": "1",
        "NO_COLOR": "1",
    }
    if account is not None:
        environment |= {"AWS_REGION": account.region, "AWS_DEFAULT_REGION": account.region}
    return environment
