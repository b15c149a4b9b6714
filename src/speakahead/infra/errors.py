"""What can go wrong between here and an account."""

from __future__ import annotations

from speakahead.errors import SpeakaheadError


class InfrastructureError(SpeakaheadError):
    """Base of this package's errors."""

    code = "infrastructure"


class ToolMissing(InfrastructureError):
    """Node.js, npm or Docker is needed and not here."""

    code = "tool_missing"


class ToolFailed(InfrastructureError):
    """npm or the CDK CLI ended with an error."""

    code = "tool_failed"


class SourceMissing(InfrastructureError):
    """The repository that images are built from is not here."""

    code = "source_missing"


class AccountUnavailable(InfrastructureError):
    """No credentials, no region, or AWS refused."""

    code = "account_unavailable"


class NotDeployed(InfrastructureError):
    """What a command needs does not exist in the account, or is not ready."""

    code = "not_deployed"


class DeploymentFailed(InfrastructureError):
    """A deployment, a build or a removal did not succeed; the message says what is left."""

    code = "deployment_failed"
