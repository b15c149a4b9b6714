"""What cdk-nag finds and is meant to be so, each with its reason beside the resource."""

from __future__ import annotations

from typing import Any

from aws_cdk import Acknowledgment, Validations
from constructs import IConstruct


def acknowledge(resource: IConstruct, **reasons: str) -> None:
    """Accept findings of the AwsSolutions pack on one resource, by the ends of their names."""
    for rule, reason in reasons.items():
        Validations.of(resource).acknowledge(
            Acknowledgment(id=f"AwsSolutions-{rule}", reason=reason)
        )


def acknowledge_wildcard(role: IConstruct, arn: Any, reason: str) -> None:
    """Accept one wildcard in a role's policy (IAM5), and no other.

    Args:
        role: that has it.
        arn: the resource with the wildcard, resolved.
        reason: why.
    """
    assert reason, "a wildcard needs a reason"
    acknowledge(role, **{f"IAM5[Resource::{_flat(arn)}]": reason})


def _flat(value: Any) -> str:
    """A resolved value as cdk-nag writes it in the names of findings."""
    match value:
        case str():
            return value.replace("${", "<").replace("}", ">")
        case {"Fn::Join": [str(between), list(parts)]}:
            return between.join(map(_flat, parts))
        case {"Fn::GetAtt": [name, attribute]}:
            return f"<{_flat(name)}.{_flat(attribute)}>"
        case {"Fn::ImportValue": name}:
            return _flat(name)
        case {"Ref": name}:
            return f"<{_flat(name)}>"
        case _:
            raise TypeError("cdk-nag has no name for this value")
