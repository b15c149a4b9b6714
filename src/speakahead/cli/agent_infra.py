"""`agent-infra`: a voice agent on Amazon Bedrock AgentCore."""

from __future__ import annotations

import asyncio
import base64
import binascii
import contextlib
import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from speakahead.cli import infra_console as console
from speakahead.cli.parameters import Speed
from speakahead.errors import ConnectionFailed
from speakahead.infra import names
from speakahead.infra.errors import NotDeployed
from speakahead.infra.settings import MODEL, AgentSettings, Build, EcrImage, find_source

if TYPE_CHECKING:
    from speakahead.infra.assembly import Assembly
    from speakahead.infra.invocation import Invocation

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    help="A voice agent on Amazon Bedrock AgentCore.",
)
main = console.guarded(app, "agent-infra")

_NAME = "speakahead_agent"


class Mode(StrEnum):
    BIDI = "bidi"
    BATCH = "batch"


BedrockModelId = Annotated[
    str, typer.Option(help="Foundation model or inference profile of Amazon Bedrock, or its ARN.")
]
Endpoint = Annotated[str, typer.Option(help="Name of the speech endpoint, in the same region.")]
Name = Annotated[str, typer.Option(help="Name of the agent: letters, digits, underscores.")]
AgentVoice = Annotated[str, typer.Option("--voice", "-v", help="Voice of the agent.")]
LogDays = Annotated[int, typer.Option(help="Days that the logs of its build are kept.")]


def agent_settings(
    bedrock_model_id: BedrockModelId,
    endpoint: Endpoint = MODEL,
    name: Name = _NAME,
    voice: AgentVoice = "af_heart",
    log_days: LogDays = 30,
    image: console.ImageUri = None,
    build: console.BuildWhere = Build.DOCKER,
) -> AgentSettings:
    """The options that say what is deployed."""
    return AgentSettings(
        bedrock_model_id,
        endpoint=endpoint,
        name=name,
        voice=voice,
        log_days=log_days,
        image=EcrImage.parse(image) if image else None,
        build=build,
    )


@app.command()
@console.with_settings(agent_settings)
def deploy(
    settings: AgentSettings,
    source: console.Source = None,
    profile: console.Profile = None,
    region: console.Region = None,
    yes: console.Yes = False,
) -> None:
    """Deploy the agent, or change the one that is there; its speech endpoint must exist."""
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

    require_node()
    account, cdk = Account(profile, region), CdkCli()
    number = account.identity()
    account.require_endpoint(settings.endpoint)
    if settings.image is None and settings.build is Build.DOCKER:
        require_docker()
    ready = account.is_bootstrapped()
    _announce(settings, number, account.region, bootstrapped=ready)
    console.confirm("Deploy?", yes=yes)
    with scratch() as directory, console.ConsoleSteps() as steps:
        prepare_cli(cdk, steps)
        assembly = _synthesise(settings, source, directory, steps)
        require_at_rest(account, assembly.stacks)
        if not ready:
            bootstrap(account, number, cdk, steps)
        build(assembly, account, cdk, steps)
        steps.begin("Creating the agent")
        deploy_stack(assembly.main, assembly, account, cdk, steps)
    found = account.stack(assembly.main)
    console.show_table(f"{settings.name} in {account.region}", dict(found.outputs if found else {}))
    name = "" if settings.name == _NAME else f" --name {settings.name}"
    print(f'Ask it: agent-infra invoke --prompt "Hello"{name} --region {account.region}')


@app.command()
@console.with_settings(agent_settings)
def synth(
    settings: AgentSettings,
    source: console.Source = None,
    output: console.Output = Path("cdk.out"),
) -> None:
    """Write what would be deployed, as CloudFormation templates; needs no account."""
    from speakahead.infra.cdk import require_node

    require_node()
    with console.ConsoleSteps() as steps:
        assembly = _synthesise(settings, source, output, steps)
    for stack in assembly.stacks:
        print(assembly.directory / f"{stack}.template.json")


@app.command()
@console.with_settings(agent_settings)
def diff(
    settings: AgentSettings,
    source: console.Source = None,
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
    with scratch() as directory:
        with console.ConsoleSteps() as steps:
            prepare_cli(cdk, steps)
            assembly = _synthesise(settings, source, directory, steps)
        cdk.run(["diff", *assembly.stacks], assembly=assembly.directory, account=account)


@app.command()
def status(
    name: Name = _NAME,
    profile: console.Profile = None,
    region: console.Region = None,
) -> None:
    """Show the agent and its stacks."""
    from speakahead.infra.account import Account

    main_stack = _stack(name)
    account = Account(profile, region)
    rows: dict[str, object] = {}
    runtime = None
    for stack in (names.builder_stack(main_stack), main_stack):
        found = account.stack(stack)
        if found is not None:
            rows[stack] = found.status
            rows |= {f"  {key}": value for key, value in found.outputs.items()}
            runtime = found.outputs.get(names.AGENT_ID, runtime)
    if not rows:
        raise NotDeployed(f"Nothing of {name} is in {account.region}.")
    state = account.runtime_status(runtime) if runtime else None
    rows[f"runtime {name}"] = state or "is not there"
    console.show_table(f"{name} in {account.region}", rows)
    if state != "READY":
        raise typer.Exit(1)


@app.command()
def invoke(
    prompt: Annotated[str, typer.Option(help="What to ask.")],
    mode: Annotated[
        Mode, typer.Option(help="bidi speaks while it writes; batch when all is written.")
    ] = Mode.BIDI,
    output: Annotated[
        str | None,
        typer.Option("--output", "-o", help="A WAV file for the sound; else it is played."),
    ] = None,
    silent: Annotated[bool, typer.Option("--silent", help="Only print the text.")] = False,
    voice: Annotated[
        str | None, typer.Option("--voice", "-v", help="Voice; else the agent's own.")
    ] = None,
    speed: Speed = 1.0,
    session_id: Annotated[
        str | None, typer.Option(help="Of an earlier conversation, to go on with it.")
    ] = None,
    name: Name = _NAME,
    profile: console.Profile = None,
    region: console.Region = None,
) -> None:
    """Ask the agent: prints its answer as it is written, and plays or saves the sound."""
    from speakahead.infra.account import Account
    from speakahead.infra.invocation import Invocation

    stack = _stack(name)
    account = Account(profile, region)
    arn = account.require_output(stack, names.AGENT_ARN)
    request: dict[str, Any] = {"prompt": prompt, "mode": mode.value, "speed": speed}
    if voice is not None:
        request["voice"] = voice
    invocation = Invocation(account, arn, request, session_id)
    if not asyncio.run(_hear(invocation, output, silent=silent)):
        raise typer.Exit(1)


@app.command()
def destroy(
    name: Name = _NAME,
    profile: console.Profile = None,
    region: console.Region = None,
    yes: console.Yes = False,
) -> None:
    """Remove the agent; its speech endpoint stays."""
    from speakahead.infra.account import Account
    from speakahead.infra.deployment import destroy_stack, require_at_rest

    stack = _stack(name)
    account = Account(profile, region)
    doomed = (stack, names.builder_stack(stack))
    present = [one for one in doomed if account.stack(one) is not None]
    if not present:
        raise NotDeployed(f"Nothing of {name} is in {account.region}.")
    require_at_rest(account, present)
    console.show_table("To be removed", dict.fromkeys(present, account.region), to_error=True)
    console.confirm("Remove them?", yes=yes)
    with console.ConsoleSteps() as steps:
        for one in present:
            destroy_stack(one, account, steps)


def _stack(name: str) -> str:
    """Name of the stack of an agent with this name, which is checked."""
    return AgentSettings("any.model", name=name).stack


def _announce(settings: AgentSettings, number: str, region: str, *, bootstrapped: bool) -> None:
    rows: dict[str, object] = {
        "agent": settings.name,
        "account": f"{number}, {region}",
        "model": settings.bedrock_model_id,
        "speech": f"endpoint {settings.endpoint}, voice {settings.voice}",
        "image": settings.image.uri if settings.image else f"built with {settings.build}",
        "costs": "processor and memory of sessions, and the model's tokens; see docs/deploy.md",
    }
    if not bootstrapped:
        rows["besides"] = "the CDK's own resources (stack CDKToolkit), once for account and region"
    console.show_table("To be deployed", rows, to_error=True)


def _synthesise(
    settings: AgentSettings, source: Path | None, directory: Path, steps: console.ConsoleSteps
) -> Assembly:
    if settings.image is None:
        find_source(source, settings.dockerfile)  # before the library takes seconds to load
    from speakahead.infra.synthesis import synthesise_agent

    steps.begin("Writing the templates")
    return synthesise_agent(settings, directory, source=source)


async def _hear(invocation: Invocation, target: str | None, *, silent: bool) -> bool:
    """Print and play an answer; whether nothing went wrong in it."""
    from speakahead.audio.pcm import S16leReader
    from speakahead.cli.outputs import open_output

    output = None if silent else open_output(target)
    samples = S16leReader()
    good = True
    try:
        async with contextlib.aclosing(invocation.events()) as events:
            async for event in events:
                match event:
                    case {"type": "text_delta", "text": str(text)}:
                        print(text, end="", flush=True)
                    case {"type": "audio_chunk", "audio": str(audio)} if output is not None:
                        await output.write(samples.feed(_decoded(audio)))
                    case {"type": "error", "message": str(message)}:
                        good = False
                        print(f"\nagent-infra: {message}", file=sys.stderr)
                    case {"type": "agent_end", "timings": dict(timings)}:
                        print()
                        for key, value in timings.items():
                            print(f"{key:18} {'-' if value is None else value}", file=sys.stderr)
                        print(f"session            {invocation.session_id}", file=sys.stderr)
                    case _:
                        pass
    finally:
        if output is not None:
            await output.close()
    return good


def _decoded(audio: str) -> bytes:
    try:
        return base64.b64decode(audio, validate=True)
    except binascii.Error:
        raise ConnectionFailed("The agent's answer is not one of speakahead's.") from None
