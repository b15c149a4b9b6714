"""Every IAM statement that a deployment has, in one place.

Roles get them as inline policies: they are created with the role, in one piece, so that nothing
that uses the role can start before it may do its work.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from aws_cdk import Aws, Stack
from aws_cdk import aws_ecr as ecr
from aws_cdk import aws_iam as iam
from constructs import Construct

from speakahead.infra.findings import acknowledge_wildcard
from speakahead.infra.settings import AgentSettings


@dataclass(frozen=True, slots=True)
class Statement:
    """Something that is allowed.

    Attributes:
        sid: what it is for.
        actions: none with a wildcard.
        resources: their ARNs.
        conditions: by operator.
        because: why there is a wildcard in a resource; needed if there is one.
    """

    sid: str
    actions: Sequence[str]
    resources: Sequence[str]
    conditions: dict[str, dict[str, object]] | None = None
    because: str = ""


_NO_RESOURCE = "the action has no resources"
_OWN_LOGS = "logs of this runtime, whose identifier is not known before"


def role(
    scope: Stack,
    id: str,
    *,
    principal: iam.IPrincipal,
    description: str,
    statements: Sequence[Statement],
) -> iam.Role:
    """A role that may do what ``statements`` say, and nothing else."""
    document = iam.PolicyDocument(
        statements=[
            iam.PolicyStatement(
                sid=one.sid,
                actions=list(one.actions),
                resources=list(one.resources),
                conditions=one.conditions,
            )
            for one in statements
        ]
    )
    made = iam.Role(
        scope,
        id,
        assumed_by=principal,
        description=description,
        inline_policies={"Permissions": document},
    )
    for one in statements:
        for resource in one.resources:
            if "*" in resource:
                acknowledge_wildcard(made, scope.resolve(resource), one.because)
    return made


def fixed(scope: Construct, id: str, role: iam.Role) -> iam.IRole:
    """The same role for constructs that would grant it more of their own accord."""
    return iam.Role.from_role_arn(scope, id, role.role_arn, mutable=False)


def pull_image(repository: ecr.IRepository) -> list[Statement]:
    """Pull images of one repository."""
    return [
        Statement("EcrToken", ["ecr:GetAuthorizationToken"], ["*"], because=_NO_RESOURCE),
        Statement(
            "PullImage",
            [
                "ecr:BatchCheckLayerAvailability",
                "ecr:BatchGetImage",
                "ecr:GetDownloadUrlForLayer",
            ],
            [repository.repository_arn],
        ),
    ]


def push_image(repository: ecr.IRepository) -> Statement:
    """Push images to one repository."""
    return Statement(
        "PushImage",
        [
            "ecr:CompleteLayerUpload",
            "ecr:InitiateLayerUpload",
            "ecr:PutImage",
            "ecr:UploadLayerPart",
        ],
        [repository.repository_arn],
    )


def read_prefix(bucket_arn: str, prefix: str) -> list[Statement]:
    """List and read the objects below ``prefix``, which ends with a slash."""
    return [
        Statement(
            "ReadModel",
            ["s3:GetObject"],
            [f"{bucket_arn}/{prefix}*"],
            because="the objects of one model, below the hash of its content",
        ),
        Statement(
            "ListModel",
            ["s3:ListBucket"],
            [bucket_arn],
            {"StringLike": {"s3:prefix": f"{prefix}*"}},
        ),
    ]


def read_object(bucket_arn: str, key: str) -> Statement:
    """Read one object."""
    return Statement("ReadSource", ["s3:GetObject", "s3:GetObjectVersion"], [f"{bucket_arn}/{key}"])


def write_logs(log_group: str, *, create: bool) -> list[Statement]:
    """Write the streams of one log group; ``create``: also make the group."""
    arn = f"arn:{Aws.PARTITION}:logs:{Aws.REGION}:{Aws.ACCOUNT_ID}:log-group:{log_group}"
    statements = [
        Statement(
            "WriteLogs",
            ["logs:CreateLogStream", "logs:DescribeLogStreams", "logs:PutLogEvents"],
            [arn, f"{arn}:log-stream:*"],
            because="streams of one log group, whose names the service chooses",
        )
    ]
    if create:
        statements.append(Statement("MakeLogGroup", ["logs:CreateLogGroup"], [arn]))
    return statements


def put_metrics(*namespaces: str) -> Statement:
    """Publish metrics; those that say a namespace must say one of these.

    Metrics that are scraped from ``/metrics`` are published over OTLP, which has no namespaces.
    """
    return Statement(
        "PutMetrics",
        ["cloudwatch:PutMetricData"],
        ["*"],
        {"StringLikeIfExists": {"cloudwatch:namespace": list(namespaces)}},
        because=_NO_RESOURCE,
    )


def invoke_speech(endpoint: str) -> Statement:
    """Speak with one endpoint.

    The reference lists ``InvokeEndpoint`` for all ways to invoke; public code for bidirectional
    streams also grants an action of its own.
    """
    return Statement(
        "Speak",
        ["sagemaker:InvokeEndpoint", "sagemaker:InvokeEndpointWithBidirectionalStream"],
        [f"arn:{Aws.PARTITION}:sagemaker:{Aws.REGION}:{Aws.ACCOUNT_ID}:endpoint/{endpoint}"],
    )


def invoke_model(settings: AgentSettings) -> list[Statement]:
    """Stream replies of one model of Amazon Bedrock.

    A cross-region inference profile passes a request on to the same foundation model in other
    regions. That is allowed only by way of this profile, so the regions need not be listed.
    """
    action = ["bedrock:InvokeModelWithResponseStream"]
    name = settings.bedrock_model_id
    bedrock = f"arn:{Aws.PARTITION}:bedrock"
    model = settings.model_of_profile
    if "application-inference-profile/" in name:
        profile, models = name, f"{bedrock}:*::foundation-model/*"
    elif model is not None:
        home = f"{bedrock}:{Aws.REGION}:{Aws.ACCOUNT_ID}"
        profile = name if name.startswith("arn:") else f"{home}:inference-profile/{name}"
        models = f"{bedrock}:*::foundation-model/{model}"
    elif name.startswith("arn:"):
        return [Statement("Write", action, [name])]
    else:
        return [Statement("Write", action, [f"{bedrock}:{Aws.REGION}::foundation-model/{name}"])]
    return [
        Statement("Write", action, [profile]),
        Statement(
            "WriteByProfile",
            action,
            [models],
            {"StringEquals": {"bedrock:InferenceProfileArn": profile}},
            because="regions of one inference profile, by way of that profile only",
        ),
    ]


def agent_logs(runtime: str) -> list[Statement]:
    """The logs of one AgentCore runtime, which has an identifier of its own after its name."""
    arn = f"arn:{Aws.PARTITION}:logs:{Aws.REGION}:{Aws.ACCOUNT_ID}:log-group"
    group = f"{arn}:/aws/bedrock-agentcore/runtimes/{runtime}-*"
    return [
        Statement(
            "FindLogGroups",
            ["logs:DescribeLogGroups"],
            [f"{arn}:*"],
            because="the runtime lists groups to find its own, and sees no more than their names",
        ),
        Statement(
            "MakeLogGroup",
            ["logs:CreateLogGroup", "logs:DescribeLogStreams"],
            [group],
            because=_OWN_LOGS,
        ),
        Statement(
            "WriteLogs",
            ["logs:CreateLogStream", "logs:PutLogEvents"],
            [f"{group}:log-stream:*"],
            because=_OWN_LOGS,
        ),
    ]
