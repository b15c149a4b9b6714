"""Names that are agreed on between what is created and what looks for it later.

They are apart from the stacks because the construct library takes seconds to load.
"""

from __future__ import annotations

# outputs of stacks
BUCKET = "BucketName"
PROJECT = "ProjectName"
REPOSITORY = "RepositoryUri"
TAG = "ImageTag"
ENDPOINT = "EndpointName"
ENDPOINT_ARN = "EndpointArn"
RUNTIME_URL = "RuntimeUrl"
LOG_GROUP = "LogGroup"
MODEL_PREFIX = "ModelPrefix"
IMAGE = "ImageUri"
AGENT_ARN = "RuntimeArn"
AGENT_ID = "RuntimeId"
ROLE_ARN = "RoleArn"


def cache_stack(stack: str) -> str:
    """The weights cache's stack that goes with an endpoint's."""
    return f"{stack}-cache"


def builder_stack(stack: str) -> str:
    """The builder's stack that goes with an endpoint's or an agent's."""
    return f"{stack}-builder"


def repository(builder: str) -> str:
    """The ECR repository of a builder's stack."""
    return f"speakahead/{builder}"


def alarms(endpoint: str) -> str:
    """What the names of an endpoint's alarms begin with."""
    return f"speakahead-{endpoint}-"


def log_group(endpoint: str) -> str:
    """Where SageMaker AI writes what an endpoint's containers print."""
    return f"/aws/sagemaker/Endpoints/{endpoint}"
