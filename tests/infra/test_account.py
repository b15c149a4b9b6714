"""What is read from an account, and the account's part of the commands; the account is moto's."""

import json
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError
from typer.testing import CliRunner

from speakahead.assets import ModelDirectory
from speakahead.cli import agent_infra, speech_infra
from speakahead.errors import SpeakaheadError
from speakahead.infra.account import Account
from speakahead.infra.builder import build_image
from speakahead.infra.deployment import destroy_stack
from speakahead.infra.errors import AccountUnavailable, DeploymentFailed, NotDeployed
from speakahead.infra.weights import ModelFiles, empty, model_files, upload
from tests.infra.conftest import PREFIX, REGION, Written


class Silent:
    """Shows nothing."""

    def begin(self, title: str) -> None:
        pass

    def detail(self, text: str) -> None:
        pass


def create_stack(name: str, resources: dict[str, object], outputs: dict[str, object]) -> None:
    template = {"Resources": resources, "Outputs": outputs}
    boto3.client("cloudformation", REGION).create_stack(
        StackName=name, TemplateBody=json.dumps(template)
    )


BUCKET = {"Models": {"Type": "AWS::S3::Bucket", "Properties": {"BucketName": "models"}}}


def test_a_stack_has_outputs_or_is_not_there(account: Account) -> None:
    assert account.stack("nobody") is None
    create_stack("some", BUCKET, {"Bucket": {"Value": {"Ref": "Models"}}})
    found = account.stack("some")
    assert found is not None
    assert found.good
    assert found.outputs == {"Bucket": "models"}
    assert account.require_output("some", "Bucket") == "models"
    with pytest.raises(NotDeployed, match="deploy it first"):
        account.require_output("nobody", "Bucket")
    with pytest.raises(NotDeployed, match="incomplete"):
        account.require_output("some", "Other")


def test_an_endpoint_is_in_service_or_not_there(account: Account, endpoint: str) -> None:
    found = account.require_endpoint(endpoint)
    assert (found.status, found.instance_type) == ("InService", "ml.g4dn.xlarge")
    assert account.endpoint("other") is None
    with pytest.raises(NotDeployed, match="speech-infra deploy"):
        account.require_endpoint("other")


def test_errors_of_aws_are_typed_and_say_what_to_do(
    account: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(AccountUnavailable, match="no such profile"):
        Account(profile="nobody")
    monkeypatch.delenv("AWS_DEFAULT_REGION")
    with pytest.raises(AccountUnavailable, match="--region"):
        Account()
    with pytest.raises(AccountUnavailable, match="NoSuchBucket"):
        empty(account, "nowhere")


def test_a_stack_is_removed_and_removing_it_again_does_nothing(account: Account) -> None:
    create_stack("some", BUCKET, {})
    assert destroy_stack("some", account, Silent(), poll_s=0.01)
    assert account.stack("some") is None
    assert not destroy_stack("some", account, Silent(), poll_s=0.01)


# -- weights ----------------------------------------------------------------------------------


@pytest.fixture
def model(tmp_path: Path) -> ModelFiles:
    (tmp_path / "voices").mkdir()
    (tmp_path / "voices" / "af_heart.bin").write_bytes(b"voice")
    (tmp_path / "voices" / ".partial.bin").write_bytes(b"no voice")
    (tmp_path / "model-int8.onnx").write_bytes(b"weights")
    parts = tmp_path / "prepared" / "windowed-v3-0123"
    parts.mkdir(parents=True)
    (parts / "weights.bin").write_bytes(b"parts")
    (tmp_path / "prepared" / "windowed-v2-0123").mkdir()
    return model_files("some", ModelDirectory(tmp_path, tmp_path / "model-int8.onnx"), parts)


def objects(bucket: str) -> dict[str, bytes]:
    s3 = boto3.resource("s3", REGION)
    return {entry.key: entry.get()["Body"].read() for entry in s3.Bucket(bucket).objects.all()}


def test_a_model_is_sent_once_and_later_what_is_missing(
    account: Account, model: ModelFiles
) -> None:
    s3 = boto3.client("s3", REGION)
    s3.create_bucket(Bucket="models", CreateBucketConfiguration={"LocationConstraint": "eu-west-1"})
    s3.put_bucket_versioning(Bucket="models", VersioningConfiguration={"Status": "Enabled"})
    arrived: list[int] = []
    assert upload(account, "models", model, arrived.append) == model.size == 17
    assert sum(arrived) == model.size
    assert objects("models") == {
        f"{model.prefix}model-int8.onnx": b"weights",
        f"{model.prefix}voices/af_heart.bin": b"voice",
        f"{model.prefix}prepared/windowed-v3-0123/weights.bin": b"parts",
    }
    assert upload(account, "models", model) == 0
    s3.put_object(Bucket="models", Key=f"{model.prefix}voices/af_heart.bin", Body=b"vo")
    arrived.clear()
    assert upload(account, "models", model, arrived.append) == len(b"voice")
    assert sum(arrived) == model.size
    assert empty(account, "models") == 5  # three objects, one of them in three versions
    assert objects("models") == {}
    s3.delete_bucket(Bucket="models")  # would be refused if anything were left


def test_the_prefix_is_the_content(tmp_path: Path, model: ModelFiles) -> None:
    assert model.prefix.startswith("models/some/")
    assert model.prefix.endswith("/")
    weights = tmp_path / "model-int8.onnx"
    parts = tmp_path / "prepared" / "windowed-v3-0123"
    again = model_files("some", ModelDirectory(tmp_path, weights), parts)
    assert again.prefix == model.prefix
    (parts / "weights.bin").write_bytes(b"other")
    changed = model_files("some", ModelDirectory(tmp_path, weights), parts)
    assert changed.prefix != model.prefix
    weights.unlink()
    with pytest.raises(DeploymentFailed, match="models verify"):
        model_files("some", ModelDirectory(tmp_path, weights), parts)


def test_a_bucket_that_is_not_there_is_a_typed_error(account: Account, model: ModelFiles) -> None:
    with pytest.raises(SpeakaheadError):
        upload(account, "nowhere", model)


# -- builder ----------------------------------------------------------------------------------


def test_an_image_is_built_unless_it_is_there(account: Account) -> None:
    repository = boto3.client("ecr", REGION).create_repository(repositoryName="speakahead/some")
    boto3.client("codebuild", REGION).create_project(
        name="project",
        source={"type": "S3", "location": "bucket/source.zip"},
        artifacts={"type": "NO_ARTIFACTS"},
        environment={
            "type": "ARM_CONTAINER",
            "image": "aws/codebuild/amazonlinux2-aarch64-standard:3.0",
            "computeType": "BUILD_GENERAL1_LARGE",
        },
        serviceRole="arn:aws:iam::123456789012:role/service-role/builder",
    )
    uri = repository["repository"]["repositoryUri"]
    create_stack(
        "builder",
        BUCKET,
        {
            "ProjectName": {"Value": "project"},
            "RepositoryUri": {"Value": uri},
            "ImageTag": {"Value": "abc-cpu-arm64"},
        },
    )
    assert build_image(account, "builder", poll_s=0.01)
    boto3.client("ecr", REGION).put_image(
        repositoryName="speakahead/some",
        imageManifest=json.dumps({"schemaVersion": 2, "config": {"digest": "sha256:0"}}),
        imageManifestMediaType="application/vnd.docker.distribution.manifest.v2+json",
        imageTag="abc-cpu-arm64",
    )
    assert not build_image(account, "builder", poll_s=0.01)
    with pytest.raises(NotDeployed):
        build_image(account, "nobody")


class FailedBuild(Account):
    """An account whose CodeBuild fails, as it would tell."""

    def __init__(self) -> None:
        self.profile, self.region = None, REGION

    def require_output(self, stack: str, output: str) -> str:
        return "any/any"

    def client(self, service: str, config: object = None) -> Any:
        return self

    def describe_images(self, **arguments: object) -> None:
        error = {"Error": {"Code": "ImageNotFoundException", "Message": ""}}
        raise ClientError(error, "DescribeImages")

    def start_build(self, **arguments: object) -> Any:
        return {"build": {"id": "project:1"}}

    def batch_get_builds(self, **arguments: object) -> Any:
        phases = [
            {"phaseType": "PRE_BUILD", "phaseStatus": "SUCCEEDED"},
            {"phaseType": "BUILD", "phaseStatus": "FAILED"},
        ]
        logs = {"deepLink": "https://console/log"}
        return {"builds": [{"buildStatus": "FAILED", "phases": phases, "logs": logs}]}


def test_a_build_that_fails_says_where_and_where_to_look() -> None:
    with pytest.raises(DeploymentFailed) as caught:
        build_image(FailedBuild(), "builder", poll_s=0.01)
    assert caught.value.message == (
        "The build project:1 failed in build. Its log: https://console/log."
    )


# -- commands ---------------------------------------------------------------------------------


def test_an_agent_without_its_endpoint_is_refused(account: Account) -> None:
    result = CliRunner().invoke(
        agent_infra.app,
        ["deploy", "--bedrock-model-id", "amazon.nova-lite-v1:0", "--region", REGION, "--yes"],
    )
    assert isinstance(result.exception, NotDeployed)
    assert "no speech endpoint kokoro-82m in eu-west-1" in result.exception.message
    assert "speech-infra deploy" in result.exception.message


def test_the_type_of_instances_that_scale_is_not_changed(account: Account, endpoint: str) -> None:
    boto3.client("application-autoscaling", REGION).register_scalable_target(
        ServiceNamespace="sagemaker",
        ResourceId=f"endpoint/{endpoint}/variant/primary",
        ScalableDimension="sagemaker:variant:DesiredInstanceCount",
        MinCapacity=1,
        MaxCapacity=2,
    )
    image = f"123456789012.dkr.ecr.{REGION}.amazonaws.com/speech:1"
    run = ["deploy", "kokoro-82m", "--image", image, "--region", REGION]
    result = CliRunner().invoke(speech_infra.app, [*run, "--yes"])
    assert isinstance(result.exception, NotDeployed)
    assert "ml.g4dn.xlarge" in result.exception.message
    assert "--max-instances" in result.exception.message
    # the same type is no problem: it gets as far as the question
    result = CliRunner().invoke(speech_infra.app, [*run, "--instance-type", "ml.g4dn.xlarge"])
    assert "nobody to ask" in result.stderr


def test_nobody_is_asked_without_a_terminal(account: Account, endpoint: str) -> None:
    result = CliRunner().invoke(
        agent_infra.app,
        [
            *("deploy", "--bedrock-model-id", "amazon.nova-lite-v1:0", "--region", REGION),
            *("--image", f"123456789012.dkr.ecr.{REGION}.amazonaws.com/agent:1"),
        ],
    )
    assert result.exit_code == 1
    assert "--yes" in result.stderr
    assert account.stack("speakahead-agent") is None


def test_status_shows_the_endpoint(account: Account, endpoint: str) -> None:
    result = CliRunner().invoke(speech_infra.app, ["status", "--region", REGION])
    assert result.exit_code == 0, result.output
    assert "InService" in result.stdout
    result = CliRunner().invoke(speech_infra.app, ["status", "--name", "other", "--region", REGION])
    assert isinstance(result.exception, NotDeployed)


def test_destroy_keeps_the_cache_unless_told(account: Account) -> None:
    output: dict[str, object] = {"BucketName": {"Value": {"Ref": "Models"}}}
    create_stack("speakahead-kokoro-82m-cache", BUCKET, output)
    boto3.client("s3", REGION).put_object(Bucket="models", Key="models/x", Body=b"x")
    queue = {"Any": {"Type": "AWS::S3::Bucket", "Properties": {"BucketName": "other"}}}
    create_stack("speakahead-kokoro-82m", queue, {})
    run = ["destroy", "--region", REGION, "--yes"]
    result = CliRunner().invoke(speech_infra.app, run)
    assert result.exit_code == 0, result.output
    assert "is kept" in result.stdout
    assert account.stack("speakahead-kokoro-82m") is None
    assert objects("models") == {"models/x": b"x"}
    result = CliRunner().invoke(speech_infra.app, [*run, "--cache"])
    assert result.exit_code == 0, result.output
    assert account.stack("speakahead-kokoro-82m-cache") is None
    result = CliRunner().invoke(speech_infra.app, run)
    assert isinstance(result.exception, NotDeployed)


# -- the endpoint's stack, as far as moto goes ------------------------------------------------

SUPPORTED = {
    "AWS::IAM::Role",
    "AWS::Logs::LogGroup",
    "AWS::SageMaker::Model",
    "AWS::SageMaker::EndpointConfig",
    "AWS::SageMaker::Endpoint",
}


def test_the_endpoint_is_in_service_in_an_account_of_moto(
    speech: Written, account: Account
) -> None:
    text = json.dumps(speech.main)
    assert speech.assembly.cache is not None
    cache = speech.template(speech.assembly.cache)
    [exported] = [o for o in cache["Outputs"].values() if "Export" in o and "Ref" in o["Value"]]
    create_stack(
        "cache",
        {"Models": {"Type": "AWS::S3::Bucket", "Properties": {"BucketName": "models"}}},
        {
            name: {
                "Value": {"Ref": "Models"}
                if "Ref" in output["Value"]
                else {"Fn::GetAtt": ["Models", "Arn"]},
                "Export": output["Export"],
            }
            for name, output in cache["Outputs"].items()
            if "Export" in output
        },
    )
    assert exported
    template = json.loads(text.replace("ml.g5.xlarge", "ml.g4dn.xlarge"))  # moto's list is old
    template["Resources"] = {
        name: {key: value for key, value in resource.items() if key != "DependsOn"}
        for name, resource in template["Resources"].items()
        if resource["Type"] in SUPPORTED
    }
    for resource in template["Resources"].values():
        if resource["Type"] == "AWS::SageMaker::Endpoint":
            del resource["Properties"]["DeploymentConfig"]  # its alarms are not there
    boto3.client("ssm", REGION).put_parameter(
        Name="/cdk-bootstrap/hnb659fds/version", Type="String", Value="21"
    )
    assert account.is_bootstrapped()
    boto3.client("cloudformation", REGION).create_stack(
        StackName=speech.assembly.main,
        TemplateBody=json.dumps(template),
        Capabilities=["CAPABILITY_IAM"],
    )
    found = account.stack(speech.assembly.main)
    assert found is not None
    assert found.good
    assert found.outputs["EndpointName"] == "kokoro-82m"
    assert found.outputs["ModelPrefix"] == PREFIX
    sagemaker = boto3.client("sagemaker", REGION)
    [made] = sagemaker.list_endpoints()["Endpoints"]
    assert made["EndpointStatus"] == "InService"
    described = sagemaker.describe_endpoint(EndpointName=made["EndpointName"])
    [variant] = described["ProductionVariants"]
    assert variant["VariantName"] == "primary"
    [model] = sagemaker.list_models()["Models"]
    role = sagemaker.describe_model(ModelName=model["ModelName"])["ExecutionRoleArn"]
    name = role.rpartition("/")[2]
    policies = boto3.client("iam").list_role_policies(RoleName=name)["PolicyNames"]
    assert policies == ["Permissions"]
