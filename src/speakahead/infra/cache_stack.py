"""The weights cache: models in S3, each below the hash of its content."""

from __future__ import annotations

from aws_cdk import CfnOutput, Duration, RemovalPolicy, Stack
from aws_cdk import aws_s3 as s3
from constructs import Construct

from speakahead.infra import names
from speakahead.infra.findings import acknowledge


class CacheStack(Stack):
    """A private, encrypted, versioned bucket that takes no request without TLS.

    Its objects are put there by ``weights``, and are removed with the stack only if the user
    says so; see ``deployment``.

    Attributes:
        bucket_name: as another stack refers to it.
        bucket_arn: likewise.
    """

    def __init__(self, scope: Construct, name: str) -> None:
        super().__init__(scope, name, description="speakahead: model weights")
        bucket = s3.Bucket(
            self,
            "Models",
            block_public_access=s3.BlockPublicAccess.BLOCK_ALL,
            object_ownership=s3.ObjectOwnership.BUCKET_OWNER_ENFORCED,
            encryption=s3.BucketEncryption.S3_MANAGED,
            enforce_ssl=True,
            minimum_tls_version=1.2,
            versioned=True,
            lifecycle_rules=[
                s3.LifecycleRule(
                    id="Leftovers",
                    abort_incomplete_multipart_upload_after=Duration.days(1),
                    noncurrent_version_expiration=Duration.days(30),
                )
            ],
            removal_policy=RemovalPolicy.DESTROY,
        )
        CfnOutput(self, names.BUCKET, value=bucket.bucket_name)
        self.bucket_name = self.export_value(bucket.bucket_name)
        self.bucket_arn = self.export_value(bucket.bucket_arn)
        acknowledge(
            bucket,
            S1="the weights are public; CloudTrail records who changes the bucket's objects",
        )
