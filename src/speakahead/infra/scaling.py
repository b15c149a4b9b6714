"""When an endpoint gets more instances, and when somebody should look at it."""

from __future__ import annotations

from aws_cdk import Duration
from aws_cdk import aws_applicationautoscaling as autoscaling
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_cloudwatch_actions as cloudwatch_actions
from aws_cdk import aws_sns as sns
from constructs import Construct

from speakahead.infra import names
from speakahead.infra.settings import VARIANT, SpeechSettings

METRICS_NAMESPACE = "speakahead"
"""Of what the container says itself, in lines that CloudWatch Logs turns into metrics."""

_MINUTE = Duration.minutes(1)

SESSIONS_METRIC = "SageMakerVariantConcurrentRequestsPerModelHighResolution"

MAX_FAILED_SHARE = 0.01
"""Share of sessions that may fail to open before the alarm rings."""

MAX_BROKEN_SHARE = 0.05
"""Share of sessions that may be cut: more than above, for a container that drains cuts some."""


class EndpointScaling(Construct):
    """Target tracking on the sessions that are open, which is known every ten seconds.

    A session holds its share of an instance as long as it is open, spoken or silent; invocations
    a minute would say nothing. Scaling in is slow, because it ends the sessions of an instance
    (they are told, and open another one).
    """

    def __init__(self, scope: Construct, id: str, settings: SpeechSettings) -> None:
        super().__init__(scope, id)
        resource = f"endpoint/{settings.name}/variant/{VARIANT}"
        dimension = "sagemaker:variant:DesiredInstanceCount"
        # Without a role the service uses its own, which may scale and nothing else.
        target = autoscaling.CfnScalableTarget(
            self,
            "Target",
            service_namespace="sagemaker",
            scalable_dimension=dimension,
            resource_id=resource,
            min_capacity=settings.instances,
            max_capacity=settings.max_instances,
        )
        policy = autoscaling.CfnScalingPolicy
        policy(
            self,
            "Policy",
            policy_name=f"{settings.name}-sessions",
            policy_type="TargetTrackingScaling",
            scaling_target_id=target.ref,
            target_tracking_scaling_policy_configuration=(
                policy.TargetTrackingScalingPolicyConfigurationProperty(
                    target_value=settings.sessions_per_instance,
                    predefined_metric_specification=policy.PredefinedMetricSpecificationProperty(
                        predefined_metric_type=SESSIONS_METRIC
                    ),
                    scale_out_cooldown=60,
                    scale_in_cooldown=900,
                )
            ),
        )


class EndpointAlarms(Construct):
    """Four alarms; missing data mean that nobody is speaking, which is fine.

    What the platform calls the first chunk of a session is the server's greeting; the first sound
    of an utterance is measured by the server itself.

    Attributes:
        of_failures: those that undo a deployment. Latency does not: a fleet that has just started
            is slow for other reasons than its version.
    """

    def __init__(self, scope: Construct, id: str, settings: SpeechSettings) -> None:
        super().__init__(scope, id)
        self._name = settings.name
        limit = settings.first_sound_ms
        sound = cloudwatch.Metric(
            namespace=METRICS_NAMESPACE,
            metric_name="FirstSoundLatency",
            dimensions_map={"ServiceName": settings.name},
            statistic="p95",
            period=_MINUTE,
        )
        of_latency = [
            self._alarm(
                "FirstSound",
                sound,
                limit,
                f"The first sound of an utterance comes after more than {limit} ms (p95).",
            ),
            self._alarm(
                "FirstChunk",
                self._metric("FirstChunkLatency", "p95"),
                limit * 1000,  # the metric is in microseconds
                f"A session's first chunk comes after more than {limit} ms (p95).",
            ),
        ]
        self.of_failures = [
            self._alarm(
                "ServerErrors",
                self._metric("Invocation5XXErrors", "Average"),
                MAX_FAILED_SHARE,
                "Sessions fail to open.",
            ),
            self._alarm(
                "MidStream",
                self._metric("MidStreamErrors", "Average"),
                MAX_BROKEN_SHARE,
                "Sessions break while they are open.",
            ),
        ]
        if settings.alarm_topic is not None:
            topic = sns.Topic.from_topic_arn(self, "Topic", settings.alarm_topic)
            for alarm in (*of_latency, *self.of_failures):
                alarm.add_alarm_action(cloudwatch_actions.SnsAction(topic))
                alarm.add_ok_action(cloudwatch_actions.SnsAction(topic))

    def _metric(self, name: str, statistic: str) -> cloudwatch.Metric:
        return cloudwatch.Metric(
            namespace="AWS/SageMaker",
            metric_name=name,
            dimensions_map={"EndpointName": self._name, "VariantName": VARIANT},
            statistic=statistic,
            period=_MINUTE,
        )

    def _alarm(
        self, id: str, metric: cloudwatch.Metric, threshold: float, text: str
    ) -> cloudwatch.Alarm:
        return cloudwatch.Alarm(
            self,
            id,
            alarm_name=f"{names.alarms(self._name)}{id}",
            alarm_description=text,
            metric=metric,
            threshold=threshold,
            comparison_operator=cloudwatch.ComparisonOperator.GREATER_THAN_THRESHOLD,
            evaluation_periods=5,
            datapoints_to_alarm=3,
            treat_missing_data=cloudwatch.TreatMissingData.NOT_BREACHING,
        )
