"""What the stacks create."""

from pathlib import Path
from typing import Any

import pytest

from speakahead.infra.scaling import SESSIONS_METRIC
from speakahead.infra.settings import EcrImage, SpeechSettings
from speakahead.infra.synthesis import synthesise_speech
from tests.infra.conftest import IMAGE, MODEL_ID, PREFIX, Written, of_type, only
from tests.infra.test_permissions import plain


def types(template: dict[str, Any]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for resource in template["Resources"].values():
        counts[resource["Type"]] = counts.get(resource["Type"], 0) + 1
    return counts


def test_the_endpoint_stack_has_these_resources_and_no_others(speech: Written) -> None:
    assert types(speech.main) == {
        "AWS::ApplicationAutoScaling::ScalableTarget": 1,
        "AWS::ApplicationAutoScaling::ScalingPolicy": 1,
        "AWS::CloudWatch::Alarm": 4,
        "AWS::IAM::Role": 1,
        "AWS::Logs::LogGroup": 1,
        "AWS::SageMaker::Endpoint": 1,
        "AWS::SageMaker::EndpointConfig": 1,
        "AWS::SageMaker::Model": 1,
    }
    assert speech.assembly.stacks == ["speakahead-kokoro-82m-cache", "speakahead-kokoro-82m"]


def test_the_model_is_read_unpacked_from_the_cache_and_has_no_network(speech: Written) -> None:
    model = only(speech.main, "AWS::SageMaker::Model")
    container = model["PrimaryContainer"]
    data = container["ModelDataSource"]["S3DataSource"]
    assert data["CompressionType"] == "None"
    assert data["S3DataType"] == "S3Prefix"
    assert plain(data["S3Uri"]).endswith(f"/{PREFIX}")
    assert model["EnableNetworkIsolation"] is True
    assert container["Environment"] == {
        "AWS_EMF_NAMESPACE": "speakahead",
        "AWS_EMF_SERVICE_NAME": "kokoro-82m",
    }


def test_the_variant_is_a_gpu_with_a_new_enough_driver(speech: Written) -> None:
    configuration = only(speech.main, "AWS::SageMaker::EndpointConfig")
    [variant] = configuration["ProductionVariants"]
    assert variant["InstanceType"] == "ml.g5.xlarge"
    assert variant["InitialInstanceCount"] == 1
    assert variant["InferenceAmiVersion"] == "al2023-ami-sagemaker-inference-gpu-4-1"
    assert variant["ContainerStartupHealthCheckTimeoutInSeconds"] == 600
    assert variant["ModelDataDownloadTimeoutInSeconds"] == 600
    assert variant["RoutingConfig"] == {"RoutingStrategy": "LEAST_OUTSTANDING_REQUESTS"}
    assert configuration["MetricsConfig"] == {
        "EnableDetailedObservability": True,
        "MetricPublishFrequencyInSeconds": 60,
    }
    assert "DataCaptureConfig" not in configuration


def test_the_endpoint_goes_back_if_sessions_fail(speech: Written) -> None:
    endpoint = only(speech.main, "AWS::SageMaker::Endpoint")
    assert endpoint["EndpointName"] == "kokoro-82m"
    deployment = endpoint["DeploymentConfig"]
    policy = deployment["BlueGreenUpdatePolicy"]
    assert policy["TrafficRoutingConfiguration"]["Type"] == "ALL_AT_ONCE"
    alarms = of_type(speech.main, "AWS::CloudWatch::Alarm")
    undoing = {
        alarms[alarm["AlarmName"]["Ref"]]["MetricName"]
        for alarm in deployment["AutoRollbackConfiguration"]["Alarms"]
    }
    assert undoing == {"Invocation5XXErrors", "MidStreamErrors"}


def test_the_endpoint_scales_on_open_sessions_at_high_resolution(speech: Written) -> None:
    target = only(speech.main, "AWS::ApplicationAutoScaling::ScalableTarget")
    assert target["ResourceId"] == "endpoint/kokoro-82m/variant/primary"
    assert target["ScalableDimension"] == "sagemaker:variant:DesiredInstanceCount"
    assert (target["MinCapacity"], target["MaxCapacity"]) == (1, 2)
    assert "RoleARN" not in target  # the service's own
    policy = only(speech.main, "AWS::ApplicationAutoScaling::ScalingPolicy")
    tracking = policy["TargetTrackingScalingPolicyConfiguration"]
    assert tracking["TargetValue"] == 8
    metric = tracking["PredefinedMetricSpecification"]["PredefinedMetricType"]
    assert metric == SESSIONS_METRIC
    resources = speech.main["Resources"]
    [name] = of_type(speech.main, "AWS::SageMaker::Endpoint")
    [scalable] = of_type(speech.main, "AWS::ApplicationAutoScaling::ScalableTarget")
    assert name in resources[scalable]["DependsOn"]


def test_the_alarms_watch_latency_and_broken_sessions(speech: Written) -> None:
    alarms = of_type(speech.main, "AWS::CloudWatch::Alarm").values()
    seen = {
        (alarm["Namespace"], alarm["MetricName"]): (
            alarm["Threshold"],
            alarm.get("ExtendedStatistic") or alarm.get("Statistic"),
            {entry["Name"]: entry["Value"] for entry in alarm["Dimensions"]},
        )
        for alarm in alarms
    }
    variant = {"EndpointName": "kokoro-82m", "VariantName": "primary"}
    assert seen == {
        ("speakahead", "FirstSoundLatency"): (500, "p95", {"ServiceName": "kokoro-82m"}),
        ("AWS/SageMaker", "FirstChunkLatency"): (500_000, "p95", variant),
        ("AWS/SageMaker", "Invocation5XXErrors"): (0.01, "Average", variant),
        ("AWS/SageMaker", "MidStreamErrors"): (0.05, "Average", variant),
    }
    assert all(alarm["TreatMissingData"] == "notBreaching" for alarm in alarms)
    assert not any("AlarmActions" in alarm for alarm in alarms)


def test_what_is_asked_for_is_what_there_is(speech_built: Written) -> None:
    template = speech_built.main
    assert not of_type(template, "AWS::ApplicationAutoScaling::ScalableTarget")
    [variant] = only(template, "AWS::SageMaker::EndpointConfig")["ProductionVariants"]
    assert variant["InstanceType"] == "ml.c7g.xlarge"
    assert "InferenceAmiVersion" not in variant
    for alarm in of_type(template, "AWS::CloudWatch::Alarm").values():
        assert alarm["AlarmActions"] == ["arn:aws:sns:eu-west-1:123456789012:alarms"]
        assert alarm["OKActions"] == alarm["AlarmActions"]
    assert speech_built.assembly.stacks == [
        "speakahead-small-cache",
        "speakahead-small-builder",
        "speakahead-small",
    ]


def test_the_cache_is_private_encrypted_and_versioned(speech: Written) -> None:
    assert speech.assembly.cache is not None
    template = speech.template(speech.assembly.cache)
    bucket = only(template, "AWS::S3::Bucket")
    assert all(bucket["PublicAccessBlockConfiguration"].values())
    assert len(bucket["PublicAccessBlockConfiguration"]) == 4
    [rule] = bucket["BucketEncryption"]["ServerSideEncryptionConfiguration"]
    assert rule["ServerSideEncryptionByDefault"]["SSEAlgorithm"] == "AES256"
    assert bucket["VersioningConfiguration"] == {"Status": "Enabled"}
    [leftovers] = bucket["LifecycleConfiguration"]["Rules"]
    assert leftovers["AbortIncompleteMultipartUpload"] == {"DaysAfterInitiation": 1}
    assert leftovers["NoncurrentVersionExpiration"] == {"NoncurrentDays": 30}


def test_the_builder_builds_for_the_endpoints_processor(speech_built: Written) -> None:
    assert speech_built.assembly.builder is not None
    template = speech_built.template(speech_built.assembly.builder)
    project = only(template, "AWS::CodeBuild::Project")
    assert project["Environment"]["Type"] == "ARM_CONTAINER"
    assert project["Environment"]["PrivilegedMode"] is True
    variables = {
        entry["Name"]: entry["Value"] for entry in project["Environment"]["EnvironmentVariables"]
    }
    assert variables["TAG"].endswith("-cpu-arm64")
    assert "containers/cpu.Dockerfile" in project["Source"]["BuildSpec"]
    image = plain(only(speech_built.main, "AWS::SageMaker::Model")["PrimaryContainer"]["Image"])
    assert image.endswith(f"/speakahead/speakahead-small-builder:{variables['TAG']}")
    assert only(template, "AWS::ECR::Repository")["ImageTagMutability"] == "IMMUTABLE"


@pytest.mark.parametrize(
    ("fixture", "dockerfile", "platform"),
    [
        ("speech", "containers/cuda.Dockerfile", "linux/amd64"),
        ("agent", "containers/agent.Dockerfile", "linux/arm64"),
    ],
)
def test_docker_builds_the_source_and_nothing_else(
    fixture: str, dockerfile: str, platform: str, request: pytest.FixtureRequest
) -> None:
    written: Written = request.getfixturevalue(fixture)
    asset = written.docker_asset()
    assert (asset["dockerFile"], asset["platform"]) == (dockerfile, platform)
    root = written.assembly.directory / asset["directory"]
    assert (root / dockerfile).is_file()
    assert (root / "src/speakahead/cli/main.py").is_file()
    assert {path.name for path in root.iterdir()} <= {
        *(".dockerignore", "containers", "src"),
        *("LICENSE", "README.md", "pyproject.toml", "constraints.txt"),
    }
    assert not list(root.rglob("__pycache__"))


def test_the_agent_knows_its_model_its_endpoint_and_its_region(agent: Written) -> None:
    runtime = only(agent.main, "AWS::BedrockAgentCore::Runtime")
    assert runtime["AgentRuntimeName"] == "speakahead_agent"
    assert runtime["ProtocolConfiguration"] == "HTTP"
    assert runtime["NetworkConfiguration"] == {"NetworkMode": "PUBLIC"}
    assert runtime["EnvironmentVariables"] == {
        "AWS_REGION": {"Ref": "AWS::Region"},
        "SPEAKAHEAD_BEDROCK_MODEL_ID": MODEL_ID,
        "SPEAKAHEAD_SPEECH": "sagemaker:kokoro-82m",
        "SPEAKAHEAD_VOICE": "af_heart",
    }
    assert types(agent.main) == {"AWS::BedrockAgentCore::Runtime": 1, "AWS::IAM::Role": 1}


def test_an_existing_image_is_used_as_it_is(
    node: str, agent_existing: Written, tmp_path: Path
) -> None:
    runtime = only(agent_existing.main, "AWS::BedrockAgentCore::Runtime")
    artifact = runtime["AgentRuntimeArtifact"]["ContainerConfiguration"]
    assert artifact == {"ContainerUri": IMAGE}
    settings = SpeechSettings(image=EcrImage.parse(IMAGE), starting_instances=2)
    assembly = synthesise_speech(settings, tmp_path / "cdk.out", model_prefix=PREFIX)
    template = Written(assembly).main
    assert only(template, "AWS::SageMaker::Model")["PrimaryContainer"]["Image"] == IMAGE
    [variant] = only(template, "AWS::SageMaker::EndpointConfig")["ProductionVariants"]
    assert variant["InitialInstanceCount"] == 2
