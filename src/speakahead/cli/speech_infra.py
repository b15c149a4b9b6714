"""`speech-infra`: a speech endpoint on Amazon SageMaker AI."""

from __future__ import annotations

import asyncio
import dataclasses
import logging
from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from speakahead.cli import infra_console as console
from speakahead.infra import names
from speakahead.infra.errors import NotDeployed
from speakahead.infra.settings import MODEL, VARIANT, Build, EcrImage, SpeechSettings, find_source

if TYPE_CHECKING:
    from speakahead.infra.account import Account
    from speakahead.infra.assembly import Assembly
    from speakahead.infra.weights import ModelFiles

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    help="A speech endpoint on Amazon SageMaker AI.",
)
main = console.guarded(app, "speech-infra")

_DEFAULT = SpeechSettings()


class Models(StrEnum):
    KOKORO = MODEL


Which = Annotated[Models, typer.Argument(help="What is served.")]
Name = Annotated[str, typer.Option(help="Name of the endpoint.")]
InstanceType = Annotated[
    str, typer.Option(help="Type of the instances; with a GPU (g, p), the CUDA image is used.")
]
Instances = Annotated[int, typer.Option(min=1, help="Instances at the start, and at least.")]
MaxInstances = Annotated[
    int, typer.Option(min=1, help="Instances at most; as many as --instances: no scaling.")
]
Sessions = Annotated[
    int, typer.Option(min=1, help="Open sessions an instance is to have; beyond, it scales out.")
]
FirstSound = Annotated[
    int, typer.Option(min=1, help="Alarm when the first sound (p95) takes more milliseconds.")
]
Startup = Annotated[
    int, typer.Option(min=60, max=3600, help="Seconds for the container's first healthy ping.")
]
Download = Annotated[
    int, typer.Option(min=60, max=3600, help="Seconds for the model's way to the instance.")
]
MetricsPeriod = Annotated[
    int, typer.Option(help="Seconds between two looks at the container's /metrics.")
]
LogDays = Annotated[int, typer.Option(help="Days that logs are kept.")]
AlarmTopic = Annotated[str | None, typer.Option(help="ARN of an SNS topic for alarms.")]
ModelDirectory = Annotated[
    Path | None, typer.Option("--model", help="Model directory, if not the usual one.")
]


def speech_settings(
    model: Which = Models.KOKORO,
    name: Name = _DEFAULT.name,
    instance_type: InstanceType = _DEFAULT.instance_type,
    instances: Instances = _DEFAULT.instances,
    max_instances: MaxInstances = _DEFAULT.max_instances,
    sessions_per_instance: Sessions = _DEFAULT.sessions_per_instance,
    first_sound_ms: FirstSound = _DEFAULT.first_sound_ms,
    startup_timeout: Startup = _DEFAULT.startup_timeout_s,
    download_timeout: Download = _DEFAULT.download_timeout_s,
    metrics_period: MetricsPeriod = _DEFAULT.metrics_period_s,
    log_days: LogDays = _DEFAULT.log_days,
    alarm_topic: AlarmTopic = None,
    image: console.ImageUri = None,
    build: console.BuildWhere = Build.DOCKER,
) -> SpeechSettings:
    """The options that say what is deployed."""
    return SpeechSettings(
        name=name,
        instance_type=instance_type,
        instances=instances,
        max_instances=max_instances,
        sessions_per_instance=sessions_per_instance,
        first_sound_ms=first_sound_ms,
        startup_timeout_s=startup_timeout,
        download_timeout_s=download_timeout,
        metrics_period_s=metrics_period,
        log_days=log_days,
        alarm_topic=alarm_topic,
        image=EcrImage.parse(image) if image else None,
        build=build,
    )


@app.command()
@console.with_settings(speech_settings)
def deploy(
    settings: SpeechSettings,
    source: console.Source = None,
    model_directory: ModelDirectory = None,
    profile: console.Profile = None,
    region: console.Region = None,
    yes: console.Yes = False,
) -> None:
    """Deploy the endpoint, or change the one that is there."""
    from speakahead.infra.account import Account
    from speakahead.infra.cdk import CdkCli, require_docker, require_node
    from speakahead.infra.deployment import (
        bootstrap,
        build,
        deploy_stack,
        prepare_cli,
        require_at_rest,
        scratch,
    )
    from speakahead.infra.weights import upload

    require_node()
    account, cdk = Account(profile, region), CdkCli()
    number = account.identity()
    if settings.image is None and settings.build is Build.DOCKER:
        require_docker()
    settings = _for_what_runs(settings, account)
    ready = account.is_bootstrapped()
    _announce(settings, number, account.region, bootstrapped=ready)
    console.confirm("Deploy?", yes=yes)
    with scratch() as directory, console.ConsoleSteps() as steps:
        prepare_cli(cdk, steps)
        files = _model_files(steps, model_directory)
        assembly = _synthesise(settings, source, files, directory, steps)
        require_at_rest(account, assembly.stacks)
        if not ready:
            bootstrap(account, number, cdk, steps)
        assert assembly.cache is not None
        steps.begin("Creating the weights cache")
        deploy_stack(assembly.cache, assembly, account, cdk, steps)
        steps.begin(f"Sending the model ({files.size / 1e6:,.0f} MB, once for each content)")
        bucket = account.require_output(assembly.cache, names.BUCKET)
        upload(account, bucket, files, _share(files.size, steps.detail))
        build(assembly, account, cdk, steps)
        steps.begin("Creating the endpoint (about ten minutes, or twenty for a change)")
        deploy_stack(assembly.main, assembly, account, cdk, steps)
    found = account.stack(assembly.main)
    console.show_table(f"{settings.name} in {account.region}", dict(found.outputs if found else {}))
    print(f"Check it: speech-infra check --name {settings.name} --region {account.region}")


@app.command()
@console.with_settings(speech_settings)
def synth(
    settings: SpeechSettings,
    source: console.Source = None,
    model_directory: ModelDirectory = None,
    output: console.Output = Path("cdk.out"),
) -> None:
    """Write what would be deployed, as CloudFormation templates; needs no account."""
    from speakahead.infra.cdk import require_node

    require_node()
    with console.ConsoleSteps() as steps:
        files = _model_files(steps, model_directory)
        assembly = _synthesise(settings, source, files, output, steps)
    for stack in assembly.stacks:
        print(assembly.directory / f"{stack}.template.json")


@app.command()
@console.with_settings(speech_settings)
def diff(
    settings: SpeechSettings,
    source: console.Source = None,
    model_directory: ModelDirectory = None,
    profile: console.Profile = None,
    region: console.Region = None,
) -> None:
    """Show what `deploy` with the same options would change."""
    from speakahead.infra.account import Account
    from speakahead.infra.cdk import CdkCli, require_node
    from speakahead.infra.deployment import prepare_cli, scratch

    require_node()
    account, cdk = Account(profile, region), CdkCli()
    account.identity()
    settings = _for_what_runs(settings, account)
    with scratch() as directory:
        with console.ConsoleSteps() as steps:
            prepare_cli(cdk, steps)
            files = _model_files(steps, model_directory)
            assembly = _synthesise(settings, source, files, directory, steps)
        cdk.run(["diff", *assembly.stacks], assembly=assembly.directory, account=account)


@app.command()
def status(
    name: Name = _DEFAULT.name,
    profile: console.Profile = None,
    region: console.Region = None,
) -> None:
    """Show the endpoint, its stacks and its alarms."""
    from speakahead.infra.account import Account

    stack_name = SpeechSettings(name=name).stack
    account = Account(profile, region)
    rows: dict[str, object] = {}
    for stack in (names.cache_stack(stack_name), names.builder_stack(stack_name), stack_name):
        found = account.stack(stack)
        if found is not None:
            rows[stack] = found.status
            rows |= {f"  {key}": value for key, value in found.outputs.items()}
    endpoint = account.endpoint(name)
    if endpoint is not None:
        rows[f"endpoint {name}"] = endpoint.status
        rows["  instances"] = f"{endpoint.instances} x {endpoint.instance_type or 'unknown'}"
        if endpoint.failure:
            rows["  failure"] = endpoint.failure
    rows |= {f"alarm {key}": value for key, value in account.alarms(names.alarms(name)).items()}
    if not rows:
        raise NotDeployed(f"Nothing of {name} is in {account.region}.")
    console.show_table(f"{name} in {account.region}", rows)
    if endpoint is None or endpoint.status != "InService":
        raise typer.Exit(1)


@app.command()
def check(
    name: Name = _DEFAULT.name,
    timeout: Annotated[float, typer.Option(min=1, help="Seconds to wait for each answer.")] = 30.0,
    profile: console.Profile = None,
    region: console.Region = None,
    endpoint_url: Annotated[
        str | None,
        typer.Option(
            envvar="AWS_ENDPOINT_URL_SAGEMAKER_RUNTIME_HTTP2",
            help="Where the runtime is served, if not by AWS; see `speakahead emulate`.",
        ),
    ] = None,
) -> None:
    """Speak three sentences over the runtime's HTTP/2 stream."""
    from speakahead.backends.sagemaker import SageMakerBackend
    from speakahead.cli.backend_check import check_backend

    async def run() -> bool:
        backend = SageMakerBackend(
            name, region=region, profile=profile, endpoint_url=endpoint_url, timeout_s=timeout
        )
        return await check_backend(backend, timeout)

    # The SDK leaves tasks of streams that were refused unawaited, which asyncio would print.
    logging.getLogger("asyncio").setLevel(logging.CRITICAL)
    if not asyncio.run(run()):
        raise typer.Exit(1)


@app.command()
def destroy(
    name: Name = _DEFAULT.name,
    cache: Annotated[
        bool, typer.Option("--cache", help="Also remove the weights cache with the models in it.")
    ] = False,
    profile: console.Profile = None,
    region: console.Region = None,
    yes: console.Yes = False,
) -> None:
    """Remove the endpoint; the weights cache stays, unless --cache is given."""
    from speakahead.infra.account import Account
    from speakahead.infra.deployment import destroy_stack, require_at_rest
    from speakahead.infra.weights import empty

    stack = SpeechSettings(name=name).stack
    account = Account(profile, region)
    doomed = [stack, names.builder_stack(stack), *([names.cache_stack(stack)] if cache else [])]
    present = [one for one in doomed if account.stack(one) is not None]
    if not present:
        raise NotDeployed(f"Nothing of {name} is in {account.region}.")
    require_at_rest(account, present)
    console.show_table("To be removed", dict.fromkeys(present, account.region), to_error=True)
    console.confirm("Remove them?", yes=yes)
    with console.ConsoleSteps() as steps:
        for one in present:
            if one == names.cache_stack(stack):
                found = account.stack(one)
                bucket = found.outputs.get(names.BUCKET) if found else None
                if bucket is not None:  # or it was never created
                    steps.begin("Emptying the weights cache")
                    empty(account, bucket)
            destroy_stack(one, account, steps)
        # The service may have made it again for the containers' last words.
        account.delete_log_group(names.log_group(name))
    kept = account.stack(names.cache_stack(stack))
    if kept is not None:
        print(f"The weights cache {kept.name} is kept; --cache removes it as well.")


def _for_what_runs(settings: SpeechSettings, account: Account) -> SpeechSettings:
    """Settings that the endpoint that is there can be changed to.

    A change makes a new fleet; it begins with as many instances as the old one has grown to.

    Raises:
        NotDeployed: SageMaker AI would refuse the change.
    """
    there = account.endpoint(settings.name)
    if there is None or there.status != "InService":
        return settings
    if there.instance_type not in (None, settings.instance_type) and account.scales(
        f"endpoint/{settings.name}/variant/{VARIANT}"
    ):
        raise NotDeployed(
            f"The endpoint runs on {there.instance_type} and scales by itself; SageMaker AI does "
            "not change the type of such an endpoint. Deploy it as it is with --max-instances "
            "equal to --instances first, which ends the scaling; then change the type."
        )
    grown = min(max(settings.instances, there.instances), settings.max_instances)
    return dataclasses.replace(settings, starting_instances=grown)


def _announce(settings: SpeechSettings, number: str, region: str, *, bootstrapped: bool) -> None:
    rows: dict[str, object] = {
        "endpoint": settings.name,
        "account": f"{number}, {region}",
        "instances": f"{settings.instances} to {settings.max_instances} x {settings.instance_type}",
        "image": settings.image.uri if settings.image else f"built with {settings.build}",
        "costs": "the instances, by the second, from the start until `destroy`; see docs/deploy.md",
    }
    if not bootstrapped:
        rows["besides"] = "the CDK's own resources (stack CDKToolkit), once for account and region"
    console.show_table("To be deployed", rows, to_error=True)


def _model_files(steps: console.ConsoleSteps, directory: Path | None) -> ModelFiles:
    from speakahead import assets
    from speakahead.infra.weights import model_files
    from speakahead.kokoro.loading import find_prepared, prepare_parts

    steps.begin("Reading the model")
    found = assets.locate(directory)
    parts = find_prepared(found)
    if parts is None:
        steps.begin("Preparing the model")
        parts = prepare_parts(found, lambda step, share: steps.detail(f"{step}, {share:.0%}"))
    return model_files(MODEL, found, parts)


def _synthesise(
    settings: SpeechSettings,
    source: Path | None,
    files: ModelFiles,
    directory: Path,
    steps: console.ConsoleSteps,
) -> Assembly:
    if settings.image is None:
        find_source(source, settings.dockerfile)  # before the library takes seconds to load
    from speakahead.infra.synthesis import synthesise_speech

    steps.begin("Writing the templates")
    return synthesise_speech(settings, directory, model_prefix=files.prefix, source=source)


def _share(total: int, report: Callable[[str], None]) -> Callable[[int], None]:
    """Says it at every twentieth."""
    done, said = 0, -1

    def progress(count: int) -> None:
        nonlocal done, said
        done += count
        percent = 100 * done // max(1, total)
        if percent // 5 != said // 5:
            said = percent
            report(f"{percent} %")

    return progress
