"""Container images: built here by Docker, in the account by CodeBuild, or there already."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from aws_cdk import Aws, IgnoreMode
from aws_cdk import aws_ecr as ecr
from aws_cdk import aws_ecr_assets as ecr_assets
from constructs import Construct

from speakahead.infra import names
from speakahead.infra.settings import EcrImage, Platform

NOT_SOURCE = (
    ".git",
    ".venv",
    ".ci",
    "**/__pycache__",
    "**/.*_cache",
    ".hypothesis",
    "**/node_modules",
    "cdk.out",
    "docs",
    "tests",
    "bench",
    "**/*.onnx",
    "**/*.wav",
)
"""Never part of an image, whatever .dockerignore says; a test does not build a new image."""


@dataclass(frozen=True, slots=True)
class Image:
    """An image, and the repository that one must be allowed to pull it from."""

    uri: str
    repository: ecr.IRepository


@dataclass(frozen=True, slots=True)
class ImageSource:
    """Where an image comes from; the first of these that is there counts.

    Attributes:
        existing: in Amazon ECR.
        built: name of the builder's stack, and tag; see ``builder_stack``.
        source: repository to build from with the Docker of this machine.
        dockerfile: path in it.
        platform: to build for.
    """

    existing: EcrImage | None
    built: tuple[str, str] | None
    source: Path | None
    dockerfile: str
    platform: Platform

    def resolve(self, scope: Construct) -> Image:
        """The image as a stack refers to it; an asset of this stack if Docker builds it."""
        if self.existing is not None:
            return _existing(scope, self.existing)
        if self.built is not None:
            stack, tag = self.built
            repository = ecr.Repository.from_repository_name(
                scope, "Repository", names.repository(stack)
            )
            return Image(repository.repository_uri_for_tag(tag), repository)
        assert self.source is not None
        asset = ecr_assets.DockerImageAsset(
            scope,
            "Image",
            directory=str(self.source),
            file=self.dockerfile,
            platform=ecr_assets.Platform.custom(self.platform.value),
            # .dockerignore leaves out the Dockerfile, which Docker does not mind, but the CDK does.
            exclude=[*NOT_SOURCE, f"!{self.dockerfile}"],
            ignore_mode=IgnoreMode.DOCKER,
        )
        return Image(asset.image_uri, asset.repository)


def _existing(scope: Construct, image: EcrImage) -> Image:
    name = image.repository
    repository = ecr.Repository.from_repository_attributes(
        scope,
        "Repository",
        repository_name=name,
        repository_arn=f"arn:{Aws.PARTITION}:ecr:{image.region}:{image.account}:repository/{name}",
    )
    return Image(image.uri, repository)
