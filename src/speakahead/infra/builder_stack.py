"""Builds an image in the account, where there is no Docker at hand.

The stack has the repository's source as an asset, an ECR repository and a CodeBuild project that
turns the one into an image in the other. Deploying it builds nothing: see ``builder``.
"""

from __future__ import annotations

from pathlib import Path

from aws_cdk import CfnOutput, IgnoreMode, RemovalPolicy, Stack
from aws_cdk import aws_codebuild as codebuild
from aws_cdk import aws_ecr as ecr
from aws_cdk import aws_iam as iam
from aws_cdk import aws_logs as logs
from aws_cdk import aws_s3_assets as s3_assets
from constructs import Construct

from speakahead.infra import names, permissions
from speakahead.infra.findings import acknowledge
from speakahead.infra.images import NOT_SOURCE
from speakahead.infra.settings import Platform

_KEPT_IMAGES = 5


class BuilderStack(Stack):
    """Source, repository and project of one image.

    Args:
        scope: the app.
        name: of the stack.
        source: the repository to build from.
        dockerfile: path in it.
        platform: that the image is for; the project runs on the same.
        log_days: that logs of builds are kept.

    Attributes:
        tag: of the image: says what it is made from, and with which Dockerfile.
    """

    def __init__(
        self,
        scope: Construct,
        name: str,
        *,
        source: Path,
        dockerfile: str,
        platform: Platform,
        log_days: int,
    ) -> None:
        super().__init__(scope, name, description="speakahead: builds a container image")
        asset = s3_assets.Asset(
            self,
            "Source",
            path=str(source),
            exclude=list(NOT_SOURCE),
            ignore_mode=IgnoreMode.DOCKER,
        )
        repository = ecr.Repository(
            self,
            "Repository",
            repository_name=names.repository(name),
            image_scan_on_push=True,
            image_tag_mutability=ecr.TagMutability.IMMUTABLE,
            lifecycle_rules=[ecr.LifecycleRule(max_image_count=_KEPT_IMAGES)],
            removal_policy=RemovalPolicy.DESTROY,
            empty_on_delete=True,
        )
        group = f"/speakahead/{name}"
        log_group = logs.LogGroup(
            self,
            "Logs",
            log_group_name=group,
            retention=RETENTION[log_days],
            removal_policy=RemovalPolicy.DESTROY,
        )
        role = permissions.role(
            self,
            "Role",
            principal=iam.ServicePrincipal("codebuild.amazonaws.com"),
            description="Builds one image of speakahead",
            statements=[
                permissions.read_object(
                    f"arn:{self.partition}:s3:::{asset.s3_bucket_name}", asset.s3_object_key
                ),
                *permissions.pull_image(repository),
                permissions.push_image(repository),
                *permissions.write_logs(group, create=False),
            ],
        )
        arm = platform is Platform.ARM64
        kind = f"{Path(dockerfile).stem}-{platform.name.lower()}"
        self.tag = f"{asset.asset_hash[:32]}-{kind}"
        project = codebuild.Project(
            self,
            "Project",
            role=permissions.fixed(self, "ProjectRole", role),
            grant_report_group_permissions=False,
            source=codebuild.Source.s3(bucket=asset.bucket, path=asset.s3_object_key),
            environment=codebuild.BuildEnvironment(
                build_image=(
                    codebuild.LinuxArmBuildImage.AMAZON_LINUX_2023_STANDARD_3_0
                    if arm
                    else codebuild.LinuxBuildImage.AMAZON_LINUX_2023_5
                ),
                compute_type=codebuild.ComputeType.LARGE if arm else codebuild.ComputeType.MEDIUM,
                privileged=True,
            ),
            build_spec=codebuild.BuildSpec.from_object(_build_spec(dockerfile)),
            environment_variables={
                "IMAGE": codebuild.BuildEnvironmentVariable(value=repository.repository_uri),
                "TAG": codebuild.BuildEnvironmentVariable(value=self.tag),
            },
            logging=codebuild.LoggingOptions(
                cloud_watch=codebuild.CloudWatchLoggingOptions(log_group=log_group)
            ),
        )
        CfnOutput(self, names.PROJECT, value=project.project_name)
        CfnOutput(self, names.REPOSITORY, value=repository.repository_uri)
        CfnOutput(self, names.TAG, value=self.tag)
        acknowledge(
            project,
            CB3="docker build needs privileged mode; the project builds this source and no other",
            CB4="the project has no artifacts; the image is encrypted by ECR",
        )


def _build_spec(dockerfile: str) -> dict[str, object]:
    return {
        "version": "0.2",
        "phases": {
            "pre_build": {
                "commands": [
                    'aws ecr get-login-password --region "$AWS_DEFAULT_REGION" | '
                    'docker login --username AWS --password-stdin "${IMAGE%%/*}"'
                ]
            },
            "build": {"commands": [f'docker build -f {dockerfile} -t "$IMAGE:$TAG" .']},
            "post_build": {
                "commands": [
                    # also runs after a build that failed
                    'test "$CODEBUILD_BUILD_SUCCEEDING" = 1 && docker push "$IMAGE:$TAG"'
                ]
            },
        },
    }


RETENTION = {
    1: logs.RetentionDays.ONE_DAY,
    3: logs.RetentionDays.THREE_DAYS,
    5: logs.RetentionDays.FIVE_DAYS,
    7: logs.RetentionDays.ONE_WEEK,
    14: logs.RetentionDays.TWO_WEEKS,
    30: logs.RetentionDays.ONE_MONTH,
    60: logs.RetentionDays.TWO_MONTHS,
    90: logs.RetentionDays.THREE_MONTHS,
    120: logs.RetentionDays.FOUR_MONTHS,
    150: logs.RetentionDays.FIVE_MONTHS,
    180: logs.RetentionDays.SIX_MONTHS,
    365: logs.RetentionDays.ONE_YEAR,
}
