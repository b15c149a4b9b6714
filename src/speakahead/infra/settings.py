"""What can be chosen about a deployment, checked before anything is created."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from speakahead.errors import InvalidRequest
from speakahead.infra.errors import SourceMissing

MODEL = "kokoro-82m"
VARIANT = "primary"
"""The endpoint's one production variant."""

_ENDPOINT_NAME = re.compile(r"(?=.{1,40}\Z)[a-z0-9](-?[a-z0-9])*")
_INSTANCE_TYPE = re.compile(r"ml\.(?P<family>[a-z]+\d+[a-z]*)\.[a-z0-9-]+")
_GRAVITON = re.compile(r"[a-z]+\d+g[a-z]*")
_GPU = re.compile(r"(g|p)\d+[a-z]*")
_RUNTIME_NAME = re.compile(r"[a-zA-Z][a-zA-Z0-9_]{0,47}")
_IMAGE = re.compile(
    r"(?P<account>\d{12})\.dkr\.ecr\.(?P<region>[a-z0-9-]+)\.amazonaws\.com(\.cn)?/"
    r"(?P<repository>[a-z0-9._/-]+)(:(?P<tag>[\w.-]+)|@(?P<digest>sha256:[0-9a-f]{64}))"
)
_MODEL_ID = re.compile(r"[A-Za-z0-9.:/_-]{3,2048}")
_PROFILE_ID = re.compile(r"(us|us-gov|eu|apac|ap|au|ca|jp|global)\.(?P<model>.+)")


class Build(StrEnum):
    """Where an image is built."""

    DOCKER = "docker"
    CODEBUILD = "codebuild"


class Platform(StrEnum):
    """The processor that an image is for."""

    AMD64 = "linux/amd64"
    ARM64 = "linux/arm64"


@dataclass(frozen=True, slots=True)
class EcrImage:
    """An image that exists in Amazon ECR.

    Attributes:
        uri: as it is pulled.
        account: twelve digits.
        region: of its repository.
        repository: its name.
        tag: or digest.
    """

    uri: str
    account: str
    region: str
    repository: str
    tag: str

    @classmethod
    def parse(cls, uri: str) -> EcrImage:
        """The image with this address.

        Raises:
            InvalidRequest: SageMaker AI and AgentCore pull from ECR only, by tag or digest.
        """
        match = _IMAGE.fullmatch(uri)
        if match is None:
            raise InvalidRequest(
                "The image must be in Amazon ECR and have a tag or digest: "
                "ACCOUNT.dkr.ecr.REGION.amazonaws.com/REPOSITORY:TAG."
            )
        return cls(
            uri,
            match["account"],
            match["region"],
            match["repository"],
            match["tag"] or match["digest"],
        )


@dataclass(frozen=True, slots=True)
class SpeechSettings:
    """A speech endpoint.

    Attributes:
        name: of the endpoint; also part of the stacks' names.
        instance_type: of SageMaker AI, as in ``ml.g5.xlarge``. Types with a GPU get the CUDA
            image, Graviton types an ARM64 one.
        instances: that it never has fewer of.
        max_instances: that it scales out to; the same as ``instances``: it does not scale.
        starting_instances: that a change begins with, where the endpoint has grown; None: as few as
            there may be.
        sessions_per_instance: open sessions an instance is meant to have; beyond, it scales out.
        first_sound_ms: the alarms' limit on the 95th percentile of the time to the first sound.
        startup_timeout_s: for the container's first healthy ``/ping``, 60 to 3600.
        download_timeout_s: for the model's way from S3 to the instance, 60 to 3600.
        metrics_period_s: how often ``/metrics`` is scraped: 10, 30, 60, 120, 180, 240 or 300.
        log_days: that logs are kept.
        alarm_topic: ARN of an SNS topic that is told about alarms.
        image: one that exists already, instead of building it.
        build: where it is built otherwise.
    """

    name: str = MODEL
    instance_type: str = "ml.g5.xlarge"
    instances: int = 1
    max_instances: int = 2
    starting_instances: int | None = None
    sessions_per_instance: int = 8
    first_sound_ms: int = 500
    startup_timeout_s: int = 600
    download_timeout_s: int = 600
    metrics_period_s: int = 60
    log_days: int = 30
    alarm_topic: str | None = None
    image: EcrImage | None = None
    build: Build = Build.DOCKER

    def __post_init__(self) -> None:
        if not _ENDPOINT_NAME.fullmatch(self.name):
            raise InvalidRequest(
                "The name may have lower-case letters, digits and single hyphens, at most 40."
            )
        if _INSTANCE_TYPE.fullmatch(self.instance_type) is None:
            raise InvalidRequest("The instance type must look like ml.g5.xlarge.")
        if self.gpu and self.platform is Platform.ARM64:
            raise InvalidRequest("There is no image for GPUs on ARM64; choose another type.")
        if not 1 <= self.instances <= self.max_instances:
            raise InvalidRequest("There must be at least 1 instance, and no more than the most.")
        starting = self.starting_instances
        if starting is not None and not self.instances <= starting <= self.max_instances:
            raise InvalidRequest("A change begins with a number of instances that there may be.")
        if self.sessions_per_instance < 1 or self.first_sound_ms < 1:
            raise InvalidRequest("Sessions per instance and the latency limit start at 1.")
        for seconds in (self.startup_timeout_s, self.download_timeout_s):
            if not 60 <= seconds <= 3600:
                raise InvalidRequest("A time-out of SageMaker AI is 60 to 3600 seconds.")
        if self.metrics_period_s not in (10, 30, 60, 120, 180, 240, 300):
            raise InvalidRequest("Metrics come every 10, 30, 60, 120, 180, 240 or 300 seconds.")
        if self.log_days not in LOG_DAYS:
            raise InvalidRequest(f"Logs are kept for one of {', '.join(map(str, LOG_DAYS))} days.")
        if self.alarm_topic is not None and not self.alarm_topic.startswith("arn:"):
            raise InvalidRequest("The topic for alarms must be an ARN.")

    @property
    def gpu(self) -> bool:
        """Whether the instances have an NVIDIA GPU."""
        return _GPU.fullmatch(self._family) is not None

    @property
    def platform(self) -> Platform:
        """What the instances' processors run."""
        return Platform.ARM64 if _GRAVITON.fullmatch(self._family) else Platform.AMD64

    @property
    def dockerfile(self) -> str:
        """Path of the image's Dockerfile in the repository."""
        return "containers/cuda.Dockerfile" if self.gpu else "containers/cpu.Dockerfile"

    @property
    def stack(self) -> str:
        """Name of the endpoint's stack; the others begin with it."""
        return f"speakahead-{self.name}"

    @property
    def _family(self) -> str:
        match = _INSTANCE_TYPE.fullmatch(self.instance_type)
        return match["family"] if match else ""


LOG_DAYS = (1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365)


@dataclass(frozen=True, slots=True)
class AgentSettings:
    """A voice agent.

    Attributes:
        bedrock_model_id: a foundation model, an inference profile, or the ARN of either.
        endpoint: name of the speech endpoint, in the same account and region.
        name: of the AgentCore runtime: letters, digits and underscores.
        voice: that it speaks with.
        log_days: that logs of its build are kept.
        image: one that exists already (ARM64), instead of building it.
        build: where it is built otherwise.
    """

    bedrock_model_id: str
    endpoint: str = MODEL
    name: str = "speakahead_agent"
    voice: str = "af_heart"
    log_days: int = 30
    image: EcrImage | None = None
    build: Build = Build.DOCKER

    dockerfile = "containers/agent.Dockerfile"
    platform = Platform.ARM64  # the only one that AgentCore runs

    def __post_init__(self) -> None:
        if not _MODEL_ID.fullmatch(self.bedrock_model_id):
            raise InvalidRequest("That is not the identifier of a model of Amazon Bedrock.")
        if not _ENDPOINT_NAME.fullmatch(self.endpoint):
            raise InvalidRequest("That is not the name of a speech endpoint.")
        if not _RUNTIME_NAME.fullmatch(self.name):
            raise InvalidRequest(
                "The agent's name begins with a letter and has letters, digits and underscores, "
                "at most 48."
            )

    @property
    def stack(self) -> str:
        """Name of the agent's stack; the builder's begins with it."""
        return self.name.replace("_", "-")

    @property
    def model_of_profile(self) -> str | None:
        """The foundation model behind a cross-region inference profile; None: it is no such."""
        name = self.bedrock_model_id.rpartition("inference-profile/")[2]
        match = _PROFILE_ID.fullmatch(name)
        return match["model"] if match else None


def find_source(explicit: Path | None, dockerfile: str) -> Path:
    """The repository that an image is built from: ``explicit``, else the one this package is in,
    else the current directory.

    Raises:
        SourceMissing: there is no such Dockerfile.
    """
    here = Path(__file__).resolve()
    candidates = [explicit] if explicit else [*here.parents[3:4], Path.cwd()]
    for directory in candidates:
        if (directory / dockerfile).is_file() and (directory / "pyproject.toml").is_file():
            return directory.resolve()
    raise SourceMissing(
        f"There is no {dockerfile} here. Images are built from the repository: run this in a "
        "checkout, name one with --source, or give an image that exists with --image."
    )
