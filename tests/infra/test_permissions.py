"""Every IAM statement of every stack, in full."""

from typing import Any

from tests.infra.conftest import PREFIX, Written, of_type

Statement = dict[str, Any]

ACCOUNT = "${AWS::AccountId}"


def plain(value: Any) -> Any:
    """A template's value with its intrinsic functions written as text."""
    match value:
        case {"Ref": str(name)}:
            return f"${{{name}}}"
        case {"Fn::GetAtt": [str(name), str(attribute)]}:
            return f"${{{name}.{attribute}}}"
        case {"Fn::Join": [str(between), list(parts)]}:
            return between.join(plain(part) for part in parts)
        case {"Fn::Sub": str(text)}:
            return text
        case {"Fn::ImportValue": name}:
            return f"import({plain(name)})"
        case dict():
            return {key: plain(entry) for key, entry in value.items()}
        case list():
            return [plain(entry) for entry in value]
        case _:
            return value


def statements(template: dict[str, Any]) -> dict[str, list[Statement]]:
    """All statements: of roles (trust first), of policies of buckets, and of anything else."""
    found: dict[str, list[Statement]] = {}
    for name, resource in template["Resources"].items():
        properties = resource.get("Properties", {})
        documents = [
            properties.get("AssumeRolePolicyDocument"),
            properties.get("PolicyDocument"),
            properties.get("RepositoryPolicyText"),
            *(policy["PolicyDocument"] for policy in properties.get("Policies", [])),
        ]
        written = [entry for document in documents if document for entry in document["Statement"]]
        if written:
            found[name] = [plain(entry) for entry in written]
        assert "ManagedPolicyArns" not in properties, f"{name} has more than its statements say"
    return found


def one_role(template: dict[str, Any]) -> list[Statement]:
    """The statements of a stack that has one role and no other policy."""
    [written] = statements(template).values()
    return written


def may(
    sid: str, actions: str, *resources: str, condition: dict[str, Any] | None = None
) -> Statement:
    names, places = actions.split(), list(resources)
    statement: Statement = {
        "Sid": sid,
        "Effect": "Allow",
        "Action": names if len(names) > 1 else names[0],
        "Resource": places if len(places) > 1 else places[0],
    }
    return statement | ({"Condition": condition} if condition else {})


def trusted(service: str, condition: dict[str, Any] | None = None) -> Statement:
    statement: Statement = {
        "Effect": "Allow",
        "Action": "sts:AssumeRole",
        "Principal": {"Service": f"{service}.amazonaws.com"},
    }
    return statement | ({"Condition": condition} if condition else {})


def logs(group: str) -> str:
    return f"arn:${{AWS::Partition}}:logs:${{AWS::Region}}:{ACCOUNT}:log-group:{group}"


def pull(repository: str) -> list[Statement]:
    actions = "ecr:BatchCheckLayerAvailability ecr:BatchGetImage ecr:GetDownloadUrlForLayer"
    return [
        may("EcrToken", "ecr:GetAuthorizationToken", "*"),
        may("PullImage", actions, repository),
    ]


def metrics(*namespaces: str) -> Statement:
    names = {"cloudwatch:namespace": list(namespaces)}
    return may(
        "PutMetrics", "cloudwatch:PutMetricData", "*", condition={"StringLikeIfExists": names}
    )


def endpoint_role(name: str, repository: str, bucket: str) -> list[Statement]:
    group = f"/aws/sagemaker/Endpoints/{name}"
    below = {"StringLike": {"s3:prefix": f"{PREFIX}*"}}
    return [
        trusted("sagemaker"),
        may("ReadModel", "s3:GetObject", f"{bucket}/{PREFIX}*"),
        may("ListModel", "s3:ListBucket", bucket, condition=below),
        *pull(repository),
        may(
            "WriteLogs",
            "logs:CreateLogStream logs:DescribeLogStreams logs:PutLogEvents",
            logs(group),
            f"{logs(group)}:log-stream:*",
        ),
        may("MakeLogGroup", "logs:CreateLogGroup", logs(group)),
        metrics("AWS/SageMaker", "/aws/sagemaker/*"),
    ]


ASSETS = (
    f"arn:${{AWS::Partition}}:ecr:${{AWS::Region}}:{ACCOUNT}:repository/"
    f"cdk-hnb659fds-container-assets-{ACCOUNT}-${{AWS::Region}}"
)
RUNTIMES = {
    "StringEquals": {"aws:SourceAccount": ACCOUNT},
    "ArnLike": {
        "aws:SourceArn": f"arn:${{AWS::Partition}}:bedrock-agentcore:${{AWS::Region}}:{ACCOUNT}:*"
    },
}


def agent_role(models: list[Statement], repository: str) -> list[Statement]:
    group = logs("/aws/bedrock-agentcore/runtimes/speakahead_agent-*")
    endpoint = f"arn:${{AWS::Partition}}:sagemaker:${{AWS::Region}}:{ACCOUNT}:endpoint/kokoro-82m"
    return [
        trusted("bedrock-agentcore", RUNTIMES),
        *models,
        may(
            "Speak",
            "sagemaker:InvokeEndpoint sagemaker:InvokeEndpointWithBidirectionalStream",
            endpoint,
        ),
        *pull(repository),
        may("FindLogGroups", "logs:DescribeLogGroups", logs("*")),
        may("MakeLogGroup", "logs:CreateLogGroup logs:DescribeLogStreams", group),
        may("WriteLogs", "logs:CreateLogStream logs:PutLogEvents", f"{group}:log-stream:*"),
        metrics("bedrock-agentcore"),
    ]


def imported_bucket(template: dict[str, Any]) -> str:
    """The cache's bucket, as the endpoint's stack knows it."""
    [arn] = {
        resource
        for statement in one_role(template)
        if statement.get("Sid") == "ListModel"
        for resource in [statement["Resource"]]
    }
    assert arn.startswith("import(speakahead-")
    return str(arn)


def test_the_endpoint_may_read_one_model_and_one_repository_and_write_its_own_logs(
    speech: Written,
) -> None:
    bucket = imported_bucket(speech.main)
    assert one_role(speech.main) == endpoint_role("kokoro-82m", ASSETS, bucket)


def test_with_codebuild_the_endpoint_may_pull_what_was_built(speech_built: Written) -> None:
    repository = (
        f"arn:${{AWS::Partition}}:ecr:${{AWS::Region}}:{ACCOUNT}:repository/"
        "speakahead/speakahead-small-builder"
    )
    bucket = imported_bucket(speech_built.main)
    assert one_role(speech_built.main) == endpoint_role("small", repository, bucket)


def test_the_cache_denies_requests_without_tls_and_allows_nothing(speech: Written) -> None:
    assert speech.assembly.cache is not None
    template = speech.template(speech.assembly.cache)
    [bucket] = of_type(template, "AWS::S3::Bucket")
    places = [f"${{{bucket}.Arn}}", f"${{{bucket}.Arn}}/*"]
    denied = {
        "Effect": "Deny",
        "Principal": {"AWS": "*"},
        "Action": "s3:*",
        "Resource": places,
    }
    [written] = statements(template).values()
    assert written == [
        denied | {"Condition": {"Bool": {"aws:SecureTransport": "false"}}},
        denied | {"Condition": {"NumericLessThan": {"s3:TlsVersion": 1.2}}},
    ]


def test_the_builder_may_read_its_source_and_push_to_its_repository(speech_built: Written) -> None:
    assert speech_built.assembly.builder is not None
    template = speech_built.template(speech_built.assembly.builder)
    [repository] = of_type(template, "AWS::ECR::Repository")
    written = one_role(template)
    source = written[1]["Resource"]
    assert source.startswith(
        f"arn:${{AWS::Partition}}:s3:::cdk-hnb659fds-assets-{ACCOUNT}-${{AWS::Region}}/"
    )
    assert source.endswith(".zip")
    assert "*" not in source
    group = logs("/speakahead/speakahead-small-builder")
    assert written == [
        trusted("codebuild"),
        may("ReadSource", "s3:GetObject s3:GetObjectVersion", source),
        *pull(f"${{{repository}.Arn}}"),
        may(
            "PushImage",
            "ecr:CompleteLayerUpload ecr:InitiateLayerUpload ecr:PutImage ecr:UploadLayerPart",
            f"${{{repository}.Arn}}",
        ),
        may(
            "WriteLogs",
            "logs:CreateLogStream logs:DescribeLogStreams logs:PutLogEvents",
            group,
            f"{group}:log-stream:*",
        ),
    ]


def test_the_agent_may_use_one_profile_and_one_endpoint(agent: Written) -> None:
    profile = (
        f"arn:${{AWS::Partition}}:bedrock:${{AWS::Region}}:{ACCOUNT}:inference-profile/"
        "eu.anthropic.claude-haiku-4-5-20251001-v1:0"
    )
    behind = (
        "arn:${AWS::Partition}:bedrock:*::foundation-model/anthropic.claude-haiku-4-5-20251001-v1:0"
    )
    action = "bedrock:InvokeModelWithResponseStream"
    by_profile = {"StringEquals": {"bedrock:InferenceProfileArn": profile}}
    models = [
        may("Write", action, profile),
        may("WriteByProfile", action, behind, condition=by_profile),
    ]
    assert one_role(agent.main) == agent_role(models, ASSETS)


def test_the_agent_may_use_one_model_and_an_image_that_exists(agent_existing: Written) -> None:
    model = "arn:${AWS::Partition}:bedrock:${AWS::Region}::foundation-model/amazon.nova-lite-v1:0"
    repository = "arn:${AWS::Partition}:ecr:eu-west-1:123456789012:repository/speech"
    models = [may("Write", "bedrock:InvokeModelWithResponseStream", model)]
    assert one_role(agent_existing.main) == agent_role(models, repository)


def test_no_statement_allows_all_actions_or_more_resources_than_there_must_be(
    speech: Written, speech_built: Written, agent: Written, agent_existing: Written
) -> None:
    without_resources = {"ecr:GetAuthorizationToken", "cloudwatch:PutMetricData"}
    for written in (speech, speech_built, agent, agent_existing):
        for template in written.templates:
            for statement in (s for role in statements(template).values() for s in role):
                if statement["Effect"] == "Deny":
                    continue
                actions = statement["Action"]
                names = {actions} if isinstance(actions, str) else set(actions)
                assert not any("*" in name for name in names), statement
                if statement.get("Resource") == "*":
                    assert names <= without_resources, statement
