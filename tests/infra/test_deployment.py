"""The real CDK CLI deploys to a server of moto; and what is said when it cannot."""

import os
from collections.abc import Iterator
from pathlib import Path

import boto3
import pytest
from moto import moto_api
from moto.server import ThreadedMotoServer

from speakahead.infra.account import Account, Stack
from speakahead.infra.cdk import CdkCli
from speakahead.infra.deployment import deploy_stack, require_at_rest
from speakahead.infra.errors import DeploymentFailed, NotDeployed, ToolFailed
from tests.infra.conftest import REGION, Written

STAGING = f"cdk-hnb659fds-assets-123456789012-{REGION}"


class Remembered:
    """Steps, as they were shown."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def begin(self, title: str) -> None:
        self.lines.append(title)

    def detail(self, text: str) -> None:
        self.lines.append(text)


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> Iterator[Account]:
    """An account behind a real socket, bootstrapped, so that another process can use it."""
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    _, port = server.get_host_and_port()
    for name in ("AWS_PROFILE", "AWS_REGION"):
        monkeypatch.delenv(name, raising=False)
    # Of all names of this machine, moto knows addresses of templates by this one only.
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://localhost:{port}")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "testing")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "testing")
    account = Account(region=REGION)
    moto_api._internal.models.moto_api_backend.reset()
    try:
        assert not account.is_bootstrapped()
        account.client("ssm").put_parameter(
            Name="/cdk-bootstrap/hnb659fds/version", Type="String", Value="30"
        )
        account.client("s3").create_bucket(
            Bucket=STAGING, CreateBucketConfiguration={"LocationConstraint": REGION}
        )
        yield account
    finally:
        boto3.DEFAULT_SESSION = None
        server.stop()


def test_the_cdk_cli_deploys_the_cache(served: Account, cdk: CdkCli, speech: Written) -> None:
    assert served.is_bootstrapped()
    steps = Remembered()
    assert speech.assembly.cache is not None
    deploy_stack(speech.assembly.cache, speech.assembly, served, cdk, steps)
    found = served.stack(speech.assembly.cache)
    assert found is not None
    assert found.good
    buckets = {entry["Name"] for entry in served.client("s3").list_buckets()["Buckets"]}
    [cache] = buckets - {STAGING}
    assert cache.startswith(speech.assembly.cache)
    assert any("CREATE_COMPLETE" in line for line in steps.lines)
    require_at_rest(served, [speech.assembly.cache, speech.assembly.main])


def test_a_stack_whose_cache_is_missing_fails_and_leaves_nothing(
    served: Account, cdk: CdkCli, agent: Written, speech: Written
) -> None:
    with pytest.raises(DeploymentFailed) as caught:
        deploy_stack(speech.assembly.main, speech.assembly, served, cdk, Remembered())
    assert speech.assembly.main in caught.value.message
    assert "It has left nothing in the account." in caught.value.message


class HalfDone(Account):
    """An account in which a stack got stuck, as CloudFormation would tell."""

    def __init__(self, status: str, left: list[str]) -> None:
        self.profile, self.region = None, REGION
        self._status, self._left = status, left

    def last_event(self, stack: str) -> str:
        return "before"

    def failures(self, stack: str, since: str) -> list[str]:
        assert since == "before"
        return ["Endpoint (AWS::SageMaker::Endpoint): no capacity"]

    def stack(self, name: str) -> Stack | None:
        return Stack(name, self._status, {})

    def leftovers(self, stack: str) -> list[str]:
        return self._left


@pytest.fixture
def failing(node: str, tmp_path: Path) -> CdkCli:
    """A CLI that fails as soon as it is run, after it has said why."""
    script = tmp_path / "node_modules" / "aws-cdk" / "bin" / "cdk"
    script.parent.mkdir(parents=True)
    script.write_text("console.log('some'); console.error('reason'); process.exit(3);")
    return CdkCli(tmp_path)


def test_a_failure_says_what_failed_and_what_is_left(failing: CdkCli, speech: Written) -> None:
    account = HalfDone("ROLLBACK_FAILED", ["kokoro-82m (AWS::SageMaker::Endpoint)"])
    steps = Remembered()
    with pytest.raises(DeploymentFailed) as caught:
        deploy_stack("some-stack", speech.assembly, account, failing, steps)
    assert caught.value.message.splitlines() == [
        "The stack some-stack failed.",
        "What failed:",
        "  - Endpoint (AWS::SageMaker::Endpoint): no capacity",
        "What is left (stack ROLLBACK_FAILED; may cost money):",
        "  - kokoro-82m (AWS::SageMaker::Endpoint)",
        "`destroy` removes it.",
    ]
    assert steps.lines == ["some", "reason"]
    with pytest.raises(DeploymentFailed, match="an empty stack"):
        deploy_stack(
            "some-stack", speech.assembly, HalfDone("ROLLBACK_COMPLETE", []), failing, steps
        )


def test_stacks_that_are_being_changed_are_left_alone() -> None:
    with pytest.raises(NotDeployed, match="UPDATE_IN_PROGRESS"):
        require_at_rest(HalfDone("UPDATE_IN_PROGRESS", []), ["some-stack"])


def test_the_last_lines_of_a_cli_that_fails_are_in_the_error(failing: CdkCli) -> None:
    with pytest.raises(ToolFailed) as caught:
        failing.run(["deploy"], lines=lambda line: None)
    assert caught.value.message == "`cdk deploy` failed.\nsome\nreason"


def test_npm_that_fails_is_a_typed_error(
    node: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    npm = tmp_path / "npm"
    npm.write_text("#!/bin/sh\nexit 1\n")
    npm.chmod(0o755)
    monkeypatch.setenv("PATH", os.pathsep.join([str(tmp_path), str(Path(node).parent)]))
    cli = CdkCli(tmp_path / "home")
    with pytest.raises(ToolFailed, match=r"npm could not fetch aws-cdk 2\."):
        cli.install()
    assert not cli.is_installed()
