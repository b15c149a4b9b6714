"""The speech endpoint on Amazon SageMaker AI."""

from __future__ import annotations

from aws_cdk import Aws, CfnOutput, RemovalPolicy, Stack
from aws_cdk import aws_iam as iam
from aws_cdk import aws_logs as logs
from aws_cdk import aws_sagemaker as sagemaker
from constructs import Construct

from speakahead.infra import names, permissions
from speakahead.infra.builder_stack import RETENTION
from speakahead.infra.cache_stack import CacheStack
from speakahead.infra.images import ImageSource
from speakahead.infra.scaling import METRICS_NAMESPACE, EndpointAlarms, EndpointScaling
from speakahead.infra.settings import VARIANT, SpeechSettings

_GPU_AMI = "al2023-ami-sagemaker-inference-gpu-4-1"
"""Driver 580, for CUDA 13, which the image brings; by default g5 would get driver 470.

Source: ``InferenceAmiVersion`` of ProductionVariant in the API's reference."""

_BAKING_S = 600
_DEPLOYMENT_S = 7200


class SpeechStack(Stack):
    """Role, model, endpoint configuration, endpoint, scaling and alarms.

    Model and configuration have generated names, so that a change replaces them and the endpoint,
    whose name stays, goes over to the new ones: blue/green, and back again if an alarm rings.

    Args:
        scope: the app.
        settings: what was chosen.
        cache: the weights cache.
        model_prefix: of the model in it, with a slash at the end.
        source: of the image.
    """

    def __init__(
        self,
        scope: Construct,
        settings: SpeechSettings,
        *,
        cache: CacheStack,
        model_prefix: str,
        source: ImageSource,
    ) -> None:
        super().__init__(scope, settings.stack, description="speakahead: speech endpoint")
        self.add_stack_dependency(cache)
        image = source.resolve(self)
        log_group = names.log_group(settings.name)
        logs_of_endpoint = logs.LogGroup(
            self,
            "Logs",
            log_group_name=log_group,
            retention=RETENTION[settings.log_days],
            removal_policy=RemovalPolicy.DESTROY,
        )
        # No condition on the source account: the service does not promise to send it for models.
        role = permissions.role(
            self,
            "Role",
            principal=iam.ServicePrincipal("sagemaker.amazonaws.com"),
            description="Starts the speech endpoint and writes its logs and metrics",
            statements=[
                *permissions.read_prefix(cache.bucket_arn, model_prefix),
                *permissions.pull_image(image.repository),
                *permissions.write_logs(log_group, create=True),
                permissions.put_metrics("AWS/SageMaker", "/aws/sagemaker/*"),
            ],
        )
        model_data = f"s3://{cache.bucket_name}/{model_prefix}"
        model = _model(self, settings, role, image.uri, model_data)
        configuration = _configuration(self, settings, model)
        alarms = EndpointAlarms(self, "Alarms", settings)
        endpoint = _endpoint(self, settings, configuration, alarms)
        endpoint.node.add_dependency(logs_of_endpoint)  # or the service makes it first
        if settings.max_instances > settings.instances:
            EndpointScaling(self, "Scaling", settings).node.add_dependency(endpoint)
        CfnOutput(self, names.ENDPOINT, value=settings.name)
        CfnOutput(
            self,
            names.ENDPOINT_ARN,
            value=f"arn:{Aws.PARTITION}:sagemaker:{Aws.REGION}:{Aws.ACCOUNT_ID}:"
            f"endpoint/{settings.name}",
        )
        CfnOutput(
            self,
            names.RUNTIME_URL,
            value=f"https://runtime.sagemaker.{Aws.REGION}.{Aws.URL_SUFFIX}:8443/endpoints/"
            f"{settings.name}/invocations-bidirectional-stream",
        )
        CfnOutput(self, names.LOG_GROUP, value=log_group)
        CfnOutput(self, names.MODEL_PREFIX, value=model_prefix)
        CfnOutput(self, names.IMAGE, value=image.uri)


def _model(
    scope: Stack, settings: SpeechSettings, role: iam.Role, image: str, model_data: str
) -> sagemaker.CfnModel:
    return sagemaker.CfnModel(
        scope,
        "Model",
        execution_role_arn=role.role_arn,
        enable_network_isolation=True,  # nothing is downloaded while serving
        primary_container=sagemaker.CfnModel.ContainerDefinitionProperty(
            image=image,
            environment={
                "AWS_EMF_NAMESPACE": METRICS_NAMESPACE,
                "AWS_EMF_SERVICE_NAME": settings.name,
            },
            model_data_source=sagemaker.CfnModel.ModelDataSourceProperty(
                s3_data_source=sagemaker.CfnModel.S3DataSourceProperty(
                    compression_type="None", s3_data_type="S3Prefix", s3_uri=model_data
                )
            ),
        ),
    )


def _configuration(
    scope: Stack, settings: SpeechSettings, model: sagemaker.CfnModel
) -> sagemaker.CfnEndpointConfig:
    variant = sagemaker.CfnEndpointConfig.ProductionVariantProperty(
        variant_name=VARIANT,
        model_name=model.attr_model_name,
        instance_type=settings.instance_type,
        initial_instance_count=settings.starting_instances or settings.instances,
        initial_variant_weight=1,
        container_startup_health_check_timeout_in_seconds=settings.startup_timeout_s,
        model_data_download_timeout_in_seconds=settings.download_timeout_s,
        inference_ami_version=_GPU_AMI if settings.gpu else None,
        routing_config=sagemaker.CfnEndpointConfig.RoutingConfigProperty(
            # sessions are long and unequal; chance would pile them up
            routing_strategy="LEAST_OUTSTANDING_REQUESTS"
        ),
    )
    # There is no data capture: what is said to the endpoint is stored nowhere.
    return sagemaker.CfnEndpointConfig(
        scope,
        "Configuration",
        production_variants=[variant],
        metrics_config=sagemaker.CfnEndpointConfig.MetricsConfigProperty(
            enable_detailed_observability=True,
            metric_publish_frequency_in_seconds=settings.metrics_period_s,
        ),
    )


def _endpoint(
    scope: Stack,
    settings: SpeechSettings,
    configuration: sagemaker.CfnEndpointConfig,
    alarms: EndpointAlarms,
) -> sagemaker.CfnEndpoint:
    return sagemaker.CfnEndpoint(
        scope,
        "Endpoint",
        endpoint_name=settings.name,
        endpoint_config_name=configuration.attr_endpoint_config_name,
        deployment_config=sagemaker.CfnEndpoint.DeploymentConfigProperty(
            # A canary or a rolling update takes a part of the fleet, and there may be one instance.
            blue_green_update_policy=sagemaker.CfnEndpoint.BlueGreenUpdatePolicyProperty(
                traffic_routing_configuration=sagemaker.CfnEndpoint.TrafficRoutingConfigProperty(
                    type="ALL_AT_ONCE", wait_interval_in_seconds=_BAKING_S
                ),
                termination_wait_in_seconds=_BAKING_S,
                maximum_execution_timeout_in_seconds=_DEPLOYMENT_S,
            ),
            auto_rollback_configuration=sagemaker.CfnEndpoint.AutoRollbackConfigProperty(
                alarms=[
                    sagemaker.CfnEndpoint.AlarmProperty(alarm_name=alarm.alarm_name)
                    for alarm in alarms.of_failures
                ]
            ),
        ),
    )
