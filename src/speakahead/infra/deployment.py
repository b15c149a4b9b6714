"""Assemblies into the account, and out of it again; says what failed and what is left."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

from speakahead.infra.account import Account
from speakahead.infra.assembly import Assembly
from speakahead.infra.builder import build_image
from speakahead.infra.cdk import CdkCli
from speakahead.infra.errors import DeploymentFailed, NotDeployed, ToolFailed


class Steps(Protocol):
    """Shows long steps; see ``cli.infra_console``."""

    def begin(self, title: str) -> None:
        """A step begins, and the one before has ended."""

    def detail(self, text: str) -> None:
        """What is being done in it."""


@contextmanager
def scratch() -> Iterator[Path]:
    """A directory for an assembly that nobody asked to keep."""
    with tempfile.TemporaryDirectory(prefix="speakahead-cdk-") as name:
        yield Path(name) / "cdk.out"


def prepare_cli(cdk: CdkCli, steps: Steps) -> None:
    """Fetch the CDK CLI, if it is not here.

    Raises:
        ToolMissing: there is no Node.js.
        ToolFailed: it cannot be fetched.
    """
    if not cdk.is_installed():
        steps.begin(f"Fetching the AWS CDK CLI {cdk.version} (once)")
        cdk.install()


def bootstrap(account: Account, number: str, cdk: CdkCli, steps: Steps) -> None:
    """Make the resources that the CDK itself needs in an account and region.

    Raises:
        DeploymentFailed: it did not succeed.
    """
    steps.begin("Bootstrapping the CDK in this account and region (once)")
    try:
        cdk.run(
            ["bootstrap", f"aws://{number}/{account.region}"], account=account, lines=steps.detail
        )
    except ToolFailed as failure:
        raise _failed("CDKToolkit", "", account, failure) from None


def deploy_stack(
    name: str, assembly: Assembly, account: Account, cdk: CdkCli, steps: Steps
) -> None:
    """Deploy one stack of an assembly, not those that it depends on.

    Raises:
        DeploymentFailed: it did not succeed; the message says what failed and what is left.
    """
    since = account.last_event(name)
    arguments = ["deploy", name, "--exclusively", "--require-approval", "never"]
    arguments += ["--progress", "events"]
    try:
        cdk.run(arguments, assembly=assembly.directory, account=account, lines=steps.detail)
    except ToolFailed as failure:
        raise _failed(name, since, account, failure) from None


def build(assembly: Assembly, account: Account, cdk: CdkCli, steps: Steps) -> None:
    """Deploy an assembly's builder, if it has one, and build its image, if it is not there.

    Raises:
        DeploymentFailed: the stack or the build failed.
    """
    if assembly.builder is None:
        return
    steps.begin("Sending the source to the builder")
    deploy_stack(assembly.builder, assembly, account, cdk, steps)
    steps.begin("Building the image with CodeBuild")
    build_image(account, assembly.builder, steps.detail)


def destroy_stack(
    name: str, account: Account, steps: Steps, *, poll_s: float = 5.0, timeout_s: float = 3600.0
) -> bool:
    """Remove a stack; returns whether there was one.

    Raises:
        DeploymentFailed: it could not be removed; the message says what is left.
    """
    if account.stack(name) is None:
        return False
    steps.begin(f"Removing {name}")
    since = account.last_event(name)
    account.delete_stack(name, poll_s=poll_s, timeout_s=timeout_s)
    found = account.stack(name)
    if found is not None:
        raise _failed(name, since, account, None)
    return True


def require_at_rest(account: Account, names: list[str]) -> None:
    """Refuse to touch stacks that are being changed already.

    Raises:
        NotDeployed: one of them is.
    """
    for name in names:
        found = account.stack(name)
        if found is not None and found.status.endswith("_IN_PROGRESS"):
            raise NotDeployed(
                f"The stack {name} is being changed ({found.status}); wait until that is over."
            )


def _failed(
    name: str, since: str, account: Account, failure: ToolFailed | None
) -> DeploymentFailed:
    """What failed, and what it has left: from CloudFormation if it got that far."""
    reasons = account.failures(name, since)
    lines = [f"The stack {name} failed."]
    if reasons:
        lines += ["What failed:", *(f"  - {reason}" for reason in reasons[:10])]
    elif failure is not None:
        lines += [failure.message]
    found = account.stack(name)
    left = account.leftovers(name) if found is not None else []
    if found is None:
        lines.append("It has left nothing in the account.")
    elif left:
        lines += [
            f"What is left (stack {found.status}; may cost money):",
            *(f"  - {resource}" for resource in left),
            "`destroy` removes it.",
        ]
    else:
        lines.append(f"It has left an empty stack ({found.status}); `destroy` removes it.")
    return DeploymentFailed("\n".join(lines))
