"""Runs a builder stack's project, where its image is not there yet."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from botocore.exceptions import ClientError

from speakahead.infra import names
from speakahead.infra.account import Account, aws_errors
from speakahead.infra.errors import DeploymentFailed

_POLL_S = 5.0
_TIMEOUT_S = 3600.0


def build_image(
    account: Account,
    stack: str,
    progress: Callable[[str], None] | None = None,
    *,
    poll_s: float = _POLL_S,
    timeout_s: float = _TIMEOUT_S,
) -> bool:
    """Build the image of a builder's stack; returns whether there was anything to do.

    Args:
        account: that the stack is in.
        stack: its name.
        progress: told about each phase.
        poll_s: how often CodeBuild is asked.
        timeout_s: for the whole build.

    Raises:
        NotDeployed: there is no such stack.
        DeploymentFailed: the build failed, or takes too long.
    """
    project = account.require_output(stack, names.PROJECT)
    repository = account.require_output(stack, names.REPOSITORY).partition("/")[2]
    tag = account.require_output(stack, names.TAG)
    if _exists(account, repository, tag):
        return False
    codebuild = account.client("codebuild")
    with aws_errors():
        build_id = codebuild.start_build(projectName=project)["build"]["id"]
    report = progress or (lambda phase: None)
    deadline = time.monotonic() + timeout_s
    pause = threading.Event()
    while True:
        with aws_errors():
            build = codebuild.batch_get_builds(ids=[build_id])["builds"][0]
        if build["buildStatus"] != "IN_PROGRESS":
            break
        report(str(build.get("currentPhase", "QUEUED")).lower().replace("_", " "))
        if time.monotonic() > deadline:
            raise DeploymentFailed(f"The build {build_id} takes too long; it is still running.")
        pause.wait(poll_s)
    if build["buildStatus"] != "SUCCEEDED":
        raise DeploymentFailed(_why(build_id, build))
    return True


def _why(build_id: str, build: dict[str, object]) -> str:
    phases = build.get("phases")
    failed = [
        str(phase.get("phaseType", "")).lower().replace("_", " ")
        for phase in (phases if isinstance(phases, list) else [])
        if phase.get("phaseStatus") == "FAILED"
    ]
    where = f" in {failed[0]}" if failed else ""
    logs = build.get("logs")
    link = logs.get("deepLink") if isinstance(logs, dict) else None
    return f"The build {build_id} failed{where}. Its log: {link or 'in the CodeBuild console'}."


def _exists(account: Account, repository: str, tag: str) -> bool:
    with aws_errors():
        try:
            account.client("ecr").describe_images(
                repositoryName=repository, imageIds=[{"imageTag": tag}]
            )
        except ClientError as error:
            if error.response["Error"]["Code"] == "ImageNotFoundException":
                return False
            raise
    return True
