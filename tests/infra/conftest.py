"""Cloud assemblies, written once for all tests, and an account that is not one (moto)."""

import json
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import boto3
import pytest
from moto import mock_aws

from speakahead.infra.account import Account
from speakahead.infra.assembly import Assembly
from speakahead.infra.cdk import CdkCli
from speakahead.infra.settings import AgentSettings, Build, EcrImage, SpeechSettings

REGION = "eu-west-1"
PREFIX = "models/kokoro-82m/0123456789abcdef0123456789abcdef/"
IMAGE = "123456789012.dkr.ecr.eu-west-1.amazonaws.com/speech:1.0"
MODEL_ID = "eu.anthropic.claude-haiku-4-5-20251001-v1:0"


@dataclass(frozen=True)
class Written:
    """An assembly, and its templates by stack."""

    assembly: Assembly

    def template(self, stack: str) -> dict[str, Any]:
        path = self.assembly.directory / f"{stack}.template.json"
        template: dict[str, Any] = json.loads(path.read_text())
        return template

    @property
    def main(self) -> dict[str, Any]:
        return self.template(self.assembly.main)

    @property
    def templates(self) -> list[dict[str, Any]]:
        return [self.template(stack) for stack in self.assembly.stacks]

    def docker_asset(self) -> dict[str, Any]:
        path = self.assembly.directory / f"{self.assembly.main}.assets.json"
        [asset] = json.loads(path.read_text())["dockerImages"].values()
        source: dict[str, Any] = asset["source"]
        return source


def of_type(template: dict[str, Any], type_name: str) -> dict[str, dict[str, Any]]:
    """A template's resources of one type: their properties, by logical name."""
    return {
        name: resource.get("Properties", {})
        for name, resource in template["Resources"].items()
        if resource["Type"] == type_name
    }


def only(template: dict[str, Any], type_name: str) -> dict[str, Any]:
    """The properties of the one resource of a type."""
    [properties] = of_type(template, type_name).values()
    return properties


@pytest.fixture(scope="session")
def node() -> str:
    path = shutil.which("node")
    if path is None:
        pytest.fail("The infrastructure's tests need Node.js 20 or newer, and npm, on the PATH.")
    return path


@pytest.fixture(scope="session")
def cdk(node: str) -> CdkCli:
    """The real CLI, from npm; kept in the user's cache like the model."""
    cli = CdkCli()
    cli.install()
    return cli


# The construct library takes seconds to load: only tests that need it do.


@pytest.fixture(scope="session")
def speech(node: str, tmp_path_factory: pytest.TempPathFactory) -> Written:
    """The endpoint as it is by default: its image is built by Docker."""
    from speakahead.infra.synthesis import synthesise_speech

    directory = tmp_path_factory.mktemp("speech") / "cdk.out"
    return Written(synthesise_speech(SpeechSettings(), directory, model_prefix=PREFIX))


@pytest.fixture(scope="session")
def speech_built(node: str, tmp_path_factory: pytest.TempPathFactory) -> Written:
    """An endpoint on ARM64 without scaling: its image is built by CodeBuild."""
    settings = SpeechSettings(
        name="small",
        instance_type="ml.c7g.xlarge",
        max_instances=1,
        build=Build.CODEBUILD,
        alarm_topic="arn:aws:sns:eu-west-1:123456789012:alarms",
    )
    from speakahead.infra.synthesis import synthesise_speech

    directory = tmp_path_factory.mktemp("built") / "cdk.out"
    return Written(synthesise_speech(settings, directory, model_prefix=PREFIX))


@pytest.fixture(scope="session")
def agent(node: str, tmp_path_factory: pytest.TempPathFactory) -> Written:
    """The agent as it is by default: its image is built by Docker."""
    from speakahead.infra.synthesis import synthesise_agent

    directory = tmp_path_factory.mktemp("agent") / "cdk.out"
    return Written(synthesise_agent(AgentSettings(MODEL_ID), directory))


@pytest.fixture(scope="session")
def agent_existing(node: str, tmp_path_factory: pytest.TempPathFactory) -> Written:
    """An agent with a model of this region and an image that exists."""
    settings = AgentSettings("amazon.nova-lite-v1:0", image=EcrImage.parse(IMAGE))
    from speakahead.infra.synthesis import synthesise_agent

    directory = tmp_path_factory.mktemp("existing") / "cdk.out"
    return Written(synthesise_agent(settings, directory))


@pytest.fixture
def account(monkeypatch: pytest.MonkeyPatch) -> Iterator[Account]:
    """An empty account in this process."""
    for name in ("AWS_PROFILE", "AWS_REGION"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "testing")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "testing")
    monkeypatch.setenv("AWS_DEFAULT_REGION", REGION)
    with mock_aws():
        yield Account(region=REGION)


@pytest.fixture
def endpoint(account: Account) -> str:
    """A speech endpoint in that account."""
    sagemaker = boto3.client("sagemaker", REGION)
    role = "arn:aws:iam::123456789012:role/any"
    sagemaker.create_model(
        ModelName="model", ExecutionRoleArn=role, PrimaryContainer={"Image": IMAGE}
    )
    sagemaker.create_endpoint_config(
        EndpointConfigName="config",
        ProductionVariants=[
            {
                "VariantName": "primary",
                "ModelName": "model",
                "InitialInstanceCount": 1,
                "InstanceType": "ml.g4dn.xlarge",
                "InitialVariantWeight": 1.0,
            }
        ],
    )
    sagemaker.create_endpoint(EndpointName="kokoro-82m", EndpointConfigName="config")
    return "kokoro-82m"
