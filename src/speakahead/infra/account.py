"""What is in the account: credentials, stacks, endpoints. Reads only.

The errors of AWS become ours here; their texts are shown where they say what AWS objects to,
because the reader is who asked for it.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

import boto3
from botocore.config import Config
from botocore.exceptions import (
    BotoCoreError,
    ClientError,
    NoCredentialsError,
    NoRegionError,
    ProfileNotFound,
)

from speakahead.infra.errors import AccountUnavailable, DeploymentFailed, NotDeployed

_TIMEOUTS = Config(connect_timeout=10, read_timeout=60, retries={"max_attempts": 5})
_BOOTSTRAP_VERSION = "/cdk-bootstrap/hnb659fds/version"
_GONE = ("REVIEW_IN_PROGRESS", "DELETE_COMPLETE")


@dataclass(frozen=True, slots=True)
class Stack:
    """A CloudFormation stack.

    Attributes:
        name: of the stack.
        status: as CloudFormation says it.
        outputs: by name.
    """

    name: str
    status: str
    outputs: dict[str, str]

    @property
    def good(self) -> bool:
        """Whether it is there and at rest."""
        return self.status in ("CREATE_COMPLETE", "UPDATE_COMPLETE", "IMPORT_COMPLETE")


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A speech endpoint.

    Attributes:
        name: of the endpoint.
        status: ``InService`` when it can be spoken with.
        instances: that it has now.
        instance_type: that they are; None: SageMaker AI does not say.
        failure: why it failed, if it did.
    """

    name: str
    status: str
    instances: int
    instance_type: str | None
    failure: str | None


class Account:
    """An account and region, as a profile of the AWS configuration names them.

    Args:
        profile: None: the default chain of credentials.
        region: None: that of the profile or the environment.

    Raises:
        AccountUnavailable: there is no such profile, or no region.
    """

    def __init__(self, profile: str | None = None, region: str | None = None) -> None:
        with aws_errors():
            self._session = boto3.Session(profile_name=profile, region_name=region)
        self.profile = profile
        chosen = self._session.region_name
        if not chosen:
            raise AccountUnavailable("No region is set: give --region, or set AWS_REGION.")
        self.region: str = chosen

    def client(self, service: str, config: Config | None = None) -> Any:
        """A client of a service, with time-outs."""
        with aws_errors():
            return self._session.client(service, config=_TIMEOUTS.merge(config or Config()))

    def identity(self) -> str:
        """The account's number.

        Raises:
            AccountUnavailable: there are no credentials, or they are not valid.
        """
        with aws_errors():
            return str(self.client("sts").get_caller_identity()["Account"])

    def is_bootstrapped(self) -> bool:
        """Whether the CDK's own resources are in this account and region."""
        ssm = self.client("ssm")
        with aws_errors():
            try:
                ssm.get_parameter(Name=_BOOTSTRAP_VERSION)
            except ssm.exceptions.ParameterNotFound:
                return False
        return True

    def stack(self, name: str) -> Stack | None:
        """A stack; None if there is none of this name."""
        cloudformation = self.client("cloudformation")
        with aws_errors():
            try:
                found = cloudformation.describe_stacks(StackName=name)["Stacks"][0]
            except ClientError as error:
                if "does not exist" in error.response["Error"].get("Message", ""):
                    return None
                raise
        if found["StackStatus"] in _GONE:
            return None
        outputs = {entry["OutputKey"]: entry["OutputValue"] for entry in found.get("Outputs", ())}
        return Stack(name, found["StackStatus"], outputs)

    def require_output(self, stack: str, output: str) -> str:
        """An output of a stack.

        Raises:
            NotDeployed: there is no such stack, or it has no such output.
        """
        found = self.stack(stack)
        if found is None:
            raise NotDeployed(f"There is no stack {stack} in {self.region}; deploy it first.")
        if output not in found.outputs:
            raise NotDeployed(f"The stack {stack} is incomplete ({found.status}); deploy it again.")
        return found.outputs[output]

    def delete_stack(self, name: str, *, poll_s: float, timeout_s: float) -> None:
        """Remove a stack and wait until that has ended, well or not.

        Raises:
            DeploymentFailed: it takes too long.
        """
        cloudformation = self.client("cloudformation")
        with aws_errors():
            cloudformation.delete_stack(StackName=name)
        deadline = time.monotonic() + timeout_s
        pause = threading.Event()
        while (found := self.stack(name)) is not None and found.status == "DELETE_IN_PROGRESS":
            if time.monotonic() > deadline:
                raise DeploymentFailed(f"The stack {name} is still being removed; wait for it.")
            pause.wait(poll_s)

    def delete_log_group(self, name: str) -> None:
        """Remove a log group, if it is there."""
        logs = self.client("logs")
        with aws_errors(), suppress(logs.exceptions.ResourceNotFoundException):
            logs.delete_log_group(logGroupName=name)

    def failures(self, stack: str, since: str) -> list[str]:
        """What went wrong in a stack after the event ``since``, first to last, for people."""
        lines = []
        for event in self._events(stack, since):
            reason = event.get("ResourceStatusReason", "")
            failed = event["ResourceStatus"].endswith("_FAILED")
            if failed and reason and "cancelled" not in reason:
                lines.append(f"{event['LogicalResourceId']} ({event['ResourceType']}): {reason}")
        return lines[::-1]

    def last_event(self, stack: str) -> str:
        """The newest event of a stack; empty if there is none. For ``failures``."""
        cloudformation = self.client("cloudformation")
        with aws_errors():
            try:
                events = cloudformation.describe_stack_events(StackName=stack)["StackEvents"]
            except ClientError:
                return ""
        return str(events[0]["EventId"]) if events else ""

    def _events(self, stack: str, since: str) -> Iterator[dict[str, Any]]:
        """Newest first."""
        pages = self.client("cloudformation").get_paginator("describe_stack_events")
        with aws_errors():
            try:
                for page in pages.paginate(StackName=stack):
                    for event in page["StackEvents"]:
                        if event["EventId"] == since:
                            return
                        yield event
            except ClientError as error:
                if "does not exist" not in error.response["Error"].get("Message", ""):
                    raise

    def leftovers(self, stack: str) -> list[str]:
        """What a stack still has in the account, for people."""
        cloudformation = self.client("cloudformation")
        with aws_errors():
            try:
                found = cloudformation.describe_stack_resources(StackName=stack)["StackResources"]
            except ClientError:
                return []
        return [
            f"{entry.get('PhysicalResourceId') or entry['LogicalResourceId']} "
            f"({entry['ResourceType']})"
            for entry in found
            if entry["ResourceStatus"] != "DELETE_COMPLETE"
        ]

    def endpoint(self, name: str) -> Endpoint | None:
        """A speech endpoint; None if there is none of this name."""
        sagemaker = self.client("sagemaker")
        with aws_errors():
            try:
                found = sagemaker.describe_endpoint(EndpointName=name)
            except ClientError as error:
                if error.response["Error"]["Code"] == "ValidationException":
                    return None
                raise
            try:
                configuration = sagemaker.describe_endpoint_config(
                    EndpointConfigName=found["EndpointConfigName"]
                )
            except ClientError:  # replaced in this moment
                configuration = {}
        variants = found.get("ProductionVariants", [])
        types = [v.get("InstanceType") for v in configuration.get("ProductionVariants", [])]
        return Endpoint(
            name=name,
            status=found["EndpointStatus"],
            instances=sum(v.get("CurrentInstanceCount", 0) for v in variants),
            instance_type=types[0] if types else None,
            failure=found.get("FailureReason"),
        )

    def require_endpoint(self, name: str) -> Endpoint:
        """A speech endpoint that can be spoken with.

        Raises:
            NotDeployed: there is none of this name, or it is not in service.
        """
        found = self.endpoint(name)
        if found is None:
            raise NotDeployed(
                f"There is no speech endpoint {name} in {self.region}; "
                "`speech-infra deploy kokoro-82m` makes one, --endpoint names another."
            )
        if found.status != "InService":
            raise NotDeployed(f"The speech endpoint {name} is not in service: {found.status}.")
        return found

    def scales(self, resource: str) -> bool:
        """Whether application auto scaling looks after a variant of an endpoint."""
        with aws_errors():
            found = self.client("application-autoscaling").describe_scalable_targets(
                ServiceNamespace="sagemaker", ResourceIds=[resource]
            )
        return bool(found["ScalableTargets"])

    def runtime_status(self, runtime_id: str) -> str | None:
        """The state of an AgentCore runtime, ``READY`` when it can be asked; None: it is gone."""
        control = self.client("bedrock-agentcore-control")
        with aws_errors():
            try:
                return str(control.get_agent_runtime(agentRuntimeId=runtime_id)["status"])
            except control.exceptions.ResourceNotFoundException:
                return None

    def alarms(self, prefix: str) -> dict[str, str]:
        """The state of each alarm whose name begins with ``prefix``."""
        with aws_errors():
            found = self.client("cloudwatch").describe_alarms(AlarmNamePrefix=prefix)
        return {alarm["AlarmName"]: alarm["StateValue"] for alarm in found["MetricAlarms"]}


@contextmanager
def aws_errors() -> Iterator[None]:
    """Errors of boto3 become ``AccountUnavailable``.

    Raises:
        AccountUnavailable: what AWS objects to, or that it cannot be reached.
    """
    try:
        yield
    except ProfileNotFound:
        raise AccountUnavailable("There is no such profile in the AWS configuration.") from None
    except NoRegionError:
        raise AccountUnavailable("No region is set: give --region, or set AWS_REGION.") from None
    except NoCredentialsError:
        raise AccountUnavailable(
            "There are no AWS credentials: sign in (`aws sso login`, `aws configure`), or name a "
            "profile with --profile."
        ) from None
    except ClientError as error:
        detail = error.response.get("Error", {})
        raise AccountUnavailable(
            f"AWS refused {error.operation_name}: {detail.get('Code', 'no code')}: "
            f"{detail.get('Message', 'no reason')}"
        ) from None
    except BotoCoreError:
        raise AccountUnavailable(
            "AWS cannot be reached with these credentials: check the network, and whether the "
            "sign-in has expired."
        ) from None
