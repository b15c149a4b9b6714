"""What cannot be deployed is refused before anything is created."""

from pathlib import Path

import pytest

from speakahead.errors import InvalidRequest
from speakahead.infra.errors import SourceMissing
from speakahead.infra.settings import (
    AgentSettings,
    EcrImage,
    Platform,
    SpeechSettings,
    find_source,
)

BEDROCK = "arn:aws:bedrock:us-east-1"
REPOSITORY = "123456789012.dkr.ecr.eu-west-1.amazonaws.com/speech"


@pytest.mark.parametrize(
    "options",
    [
        {"name": "Kokoro"},
        {"name": "a--b"},
        {"name": "-a"},
        {"name": "a" * 41},
        {"name": ""},
        {"instance_type": "g5.xlarge"},
        {"instance_type": "ml.g5g.xlarge"},  # a GPU on ARM64
        {"instances": 0},
        {"instances": 3},  # more than the most
        {"starting_instances": 3},
        {"sessions_per_instance": 0},
        {"first_sound_ms": 0},
        {"startup_timeout_s": 59},
        {"download_timeout_s": 3601},
        {"metrics_period_s": 20},
        {"log_days": 2},
        {"alarm_topic": "alarms"},
    ],
)
def test_an_endpoint_that_cannot_be_is_refused(options: dict[str, object]) -> None:
    with pytest.raises(InvalidRequest):
        SpeechSettings(**options)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "options",
    [
        {"bedrock_model_id": "x"},
        {"bedrock_model_id": "a model"},
        {"endpoint": "No"},
        {"name": "1agent"},
        {"name": "an-agent"},
        {"name": "a" * 49},
    ],
)
def test_an_agent_that_cannot_be_is_refused(options: dict[str, str]) -> None:
    with pytest.raises(InvalidRequest):
        AgentSettings(**{"bedrock_model_id": "amazon.nova-lite-v1:0", **options})


@pytest.mark.parametrize(
    ("instance_type", "gpu", "platform"),
    [
        ("ml.g5.xlarge", True, Platform.AMD64),
        ("ml.g4dn.2xlarge", True, Platform.AMD64),
        ("ml.p4d.24xlarge", True, Platform.AMD64),
        ("ml.c7i.xlarge", False, Platform.AMD64),
        ("ml.c6in.xlarge", False, Platform.AMD64),
        ("ml.c7g.xlarge", False, Platform.ARM64),
        ("ml.m6gd.xlarge", False, Platform.ARM64),
        ("ml.c6gn.xlarge", False, Platform.ARM64),
    ],
)
def test_the_image_goes_with_the_instance(
    instance_type: str, gpu: bool, platform: Platform
) -> None:
    settings = SpeechSettings(instance_type=instance_type)
    assert (settings.gpu, settings.platform) == (gpu, platform)
    assert settings.dockerfile == f"containers/{'cuda' if gpu else 'cpu'}.Dockerfile"


@pytest.mark.parametrize(
    ("name", "model"),
    [
        ("amazon.nova-lite-v1:0", None),
        ("anthropic.claude-haiku-4-5-20251001-v1:0", None),
        ("eu.amazon.nova-lite-v1:0", "amazon.nova-lite-v1:0"),
        ("global.amazon.nova-2-lite-v1:0", "amazon.nova-2-lite-v1:0"),
        (f"{BEDROCK}:123456789012:inference-profile/us.amazon.nova-v1:0", "amazon.nova-v1:0"),
        (f"{BEDROCK}:123456789012:application-inference-profile/abc123", None),
        (f"{BEDROCK}::foundation-model/amazon.nova-pro-v1:0", None),
    ],
)
def test_profiles_are_told_from_models(name: str, model: str | None) -> None:
    assert AgentSettings(name).model_of_profile == model


@pytest.mark.parametrize(
    ("uri", "tag"),
    [
        (f"{REPOSITORY}:1.0", "1.0"),
        (f"{REPOSITORY}@sha256:{'a' * 64}", f"sha256:{'a' * 64}"),
    ],
)
def test_an_image_is_read(uri: str, tag: str) -> None:
    assert EcrImage.parse(uri) == EcrImage(uri, "123456789012", "eu-west-1", "speech", tag)


@pytest.mark.parametrize(
    "uri",
    ["speech:1", "docker.io/speech:1", "123456789012.dkr.ecr.eu-west-1.amazonaws.com/speech", ""],
)
def test_an_image_elsewhere_is_refused(uri: str) -> None:
    with pytest.raises(InvalidRequest, match="Amazon ECR"):
        EcrImage.parse(uri)


def test_the_source_is_this_checkout_or_the_one_that_is_named(tmp_path: Path) -> None:
    root = find_source(None, "containers/cpu.Dockerfile")
    assert (root / "src" / "speakahead").is_dir()
    with pytest.raises(SourceMissing, match="--source"):
        find_source(tmp_path, "containers/cpu.Dockerfile")
    (tmp_path / "containers").mkdir()
    (tmp_path / "containers" / "cpu.Dockerfile").touch()
    (tmp_path / "pyproject.toml").touch()
    assert find_source(tmp_path, "containers/cpu.Dockerfile") == tmp_path.resolve()
