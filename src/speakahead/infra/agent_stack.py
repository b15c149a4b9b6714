"""The voice agent on Amazon Bedrock AgentCore."""

from __future__ import annotations

from aws_cdk import Aws, CfnOutput, Duration, Stack
from aws_cdk import aws_bedrockagentcore as agentcore
from aws_cdk import aws_iam as iam
from constructs import Construct

from speakahead.infra import names, permissions
from speakahead.infra.images import ImageSource
from speakahead.infra.settings import AgentSettings


class AgentStack(Stack):
    """A role, and the runtime that has it.

    The construct library would let the agent issue workload tokens and write anybody's traces and
    logs; this role has only what the agent does: one model, one endpoint, its own logs.

    Args:
        scope: the app.
        settings: what was chosen.
        source: of the image.
    """

    def __init__(
        self,
        scope: Construct,
        settings: AgentSettings,
        *,
        source: ImageSource,
    ) -> None:
        super().__init__(scope, settings.stack, description="speakahead: voice agent")
        image = source.resolve(self)
        role = permissions.role(
            self,
            "Role",
            principal=_runtimes(),
            description="A voice agent: one model, one speech endpoint, its own logs",
            statements=[
                *permissions.invoke_model(settings),
                permissions.invoke_speech(settings.endpoint),
                *permissions.pull_image(image.repository),
                *permissions.agent_logs(settings.name),
                permissions.put_metrics("bedrock-agentcore"),
            ],
        )
        # cfn-lint does not know sagemaker:InvokeEndpointWithBidirectionalStream yet.
        resource = role.node.default_child
        assert isinstance(resource, iam.CfnRole)
        resource.add_metadata("cfn-lint", {"config": {"ignore_checks": ["W3037"]}})
        runtime = agentcore.Runtime(
            self,
            "Runtime",
            runtime_name=settings.name,
            description="A voice agent that speaks while it writes",
            agent_runtime_artifact=agentcore.AgentRuntimeArtifact.from_image_uri(image.uri),
            execution_role=permissions.fixed(self, "RuntimeRole", role),
            protocol_configuration=agentcore.ProtocolType.HTTP,
            lifecycle_configuration=agentcore.LifecycleConfiguration(
                idle_runtime_session_timeout=Duration.minutes(15), max_lifetime=Duration.hours(8)
            ),
            environment_variables={
                "AWS_REGION": Aws.REGION,
                "SPEAKAHEAD_BEDROCK_MODEL_ID": settings.bedrock_model_id,
                "SPEAKAHEAD_SPEECH": f"sagemaker:{settings.endpoint}",
                "SPEAKAHEAD_VOICE": settings.voice,
            },
        )
        CfnOutput(self, names.AGENT_ARN, value=runtime.agent_runtime_arn)
        CfnOutput(self, names.AGENT_ID, value=runtime.agent_runtime_id)
        CfnOutput(self, names.ROLE_ARN, value=role.role_arn)
        CfnOutput(self, names.IMAGE, value=image.uri)


def _runtimes() -> iam.ServicePrincipal:
    """AgentCore, for runtimes of this account and region only."""
    return iam.ServicePrincipal(
        "bedrock-agentcore.amazonaws.com",
        conditions={
            "StringEquals": {"aws:SourceAccount": Aws.ACCOUNT_ID},
            "ArnLike": {
                "aws:SourceArn": f"arn:{Aws.PARTITION}:bedrock-agentcore:{Aws.REGION}:"
                f"{Aws.ACCOUNT_ID}:*"
            },
        },
    )
