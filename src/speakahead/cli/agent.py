"""`speakahead agent`: serve a voice agent, or ask it something."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import logging
import socket
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from speakahead.agent.settings import ModelKind, ModelSettings, SpeechSettings
from speakahead.cli import page
from speakahead.cli.extras import needing
from speakahead.errors import InvalidRequest

if TYPE_CHECKING:
    from strands import Agent

    from speakahead.agent.request import AgentRequest
    from speakahead.backends.interface import SpeechBackend
    from speakahead.cli.outputs import Output

agent = typer.Typer(no_args_is_help=True, help="A voice agent that speaks while it writes.")

Kind = Annotated[
    ModelKind | None,
    typer.Option(
        "--model",
        envvar="SPEAKAHEAD_MODEL",
        help="Where the words come from; by default the embedded model.",
    ),
]
ModelId = Annotated[
    str | None,
    typer.Option(
        envvar="SPEAKAHEAD_MODEL_ID",
        help="Name of the model at OpenAI-compatible servers and Ollama.",
    ),
]
BedrockModelId = Annotated[
    str | None,
    typer.Option(
        envvar="SPEAKAHEAD_BEDROCK_MODEL_ID",
        help="A model of Amazon Bedrock; where --model is not given, it is bedrock.",
    ),
]
ModelUrl = Annotated[
    str | None, typer.Option(envvar="SPEAKAHEAD_MODEL_URL", help="Where the model is served.")
]
Silence = Annotated[
    float,
    typer.Option(
        min=1.0,
        envvar="SPEAKAHEAD_MODEL_SILENCE",
        help="Seconds for which a model elsewhere may write nothing before it is given up.",
    ),
]
Region = Annotated[
    str | None,
    typer.Option(envvar="SPEAKAHEAD_REGION", help="Region of AWS; by default the environment's."),
]
Speech = Annotated[
    str,
    typer.Option(
        envvar="SPEAKAHEAD_SPEECH",
        help="What speaks: local, ws://HOST:PORT (a `speakahead serve`), sagemaker:NAME or polly.",
    ),
]
SpeechUrl = Annotated[
    str | None,
    typer.Option(
        envvar="SPEAKAHEAD_SPEECH_URL",
        help="Where SageMaker or Polly is served, for private links and stand-ins.",
    ),
]
ApiKey = Annotated[
    str | None,
    typer.Option(envvar="SPEAKAHEAD_API_KEY", help="Key of the `speakahead serve`, if it asks."),
]
AgentVoice = Annotated[
    str,
    typer.Option(
        "--voice", "-v", envvar="SPEAKAHEAD_VOICE", help="Voice; see `speakahead voices`."
    ),
]
Script = Annotated[
    Path | None,
    typer.Option(envvar="SPEAKAHEAD_SCRIPT", help="JSON file with what the scripted model writes."),
]
Rate = Annotated[
    float,
    typer.Option(
        min=0.1,
        envvar="SPEAKAHEAD_TOKENS_PER_SECOND",
        help="How fast the scripted model writes.",
    ),
]


@agent.command()
def serve(
    model: Kind = None,
    model_id: ModelId = None,
    bedrock_model_id: BedrockModelId = None,
    model_url: ModelUrl = None,
    model_silence: Silence = 60.0,
    region: Region = None,
    speech: Speech = "local",
    speech_url: SpeechUrl = None,
    api_key: ApiKey = None,
    voice: AgentVoice = "af_heart",
    host: Annotated[
        str, typer.Option(envvar="SPEAKAHEAD_HOST", help="Address to listen on.")
    ] = "127.0.0.1",
    port: Annotated[
        int,
        typer.Option(min=0, max=65535, help="Port to listen on."),
    ] = 8080,
    tokens_per_second: Rate = 30.0,
    script: Script = None,
    open_page: Annotated[
        bool,
        typer.Option(
            "--open",
            help="Show the page in the browser, where there is one; on another port if this one "
            "is taken.",
        ),
    ] = False,
) -> None:
    """Serve the agent: a page at /, and Amazon Bedrock AgentCore's /invocations, /ws and /ping."""
    words = _words(
        model,
        model_id,
        bedrock_model_id,
        model_url,
        model_silence,
        region,
        tokens_per_second,
        script,
    )
    sound = SpeechSettings(speech, api_key, region, speech_url)
    with page.bind(host, port, or_another=open_page) as listening:
        asyncio.run(_serve(words, sound, voice, listening, open_page=open_page))


@agent.command()
def ask(
    prompt: Annotated[str, typer.Argument(help="What to ask.")],
    mode: Annotated[str, typer.Option(help="bidi, or batch for comparison.")] = "bidi",
    output: Annotated[
        str | None,
        typer.Option(
            "--output",
            "-o",
            help="A WAV file, or - for standard output; without it nothing is heard.",
        ),
    ] = None,
    model: Kind = None,
    model_id: ModelId = None,
    bedrock_model_id: BedrockModelId = None,
    model_url: ModelUrl = None,
    model_silence: Silence = 60.0,
    region: Region = None,
    speech: Speech = "local",
    speech_url: SpeechUrl = None,
    api_key: ApiKey = None,
    voice: AgentVoice = "af_heart",
    speed: Annotated[float, typer.Option(help="Speed, 0.5 to 2.")] = 1.0,
    tokens_per_second: Rate = 30.0,
    script: Script = None,
) -> None:
    """Ask once: prints the answer as it is written, and when it was first heard."""
    words = _words(
        model,
        model_id,
        bedrock_model_id,
        model_url,
        model_silence,
        region,
        tokens_per_second,
        script,
    )
    sound = SpeechSettings(speech, api_key, region, speech_url)
    request = {"prompt": prompt, "mode": mode, "voice": voice, "speed": speed}
    if not asyncio.run(_ask(words, sound, request, output)):
        raise typer.Exit(1)


@agent.command()
def pull() -> None:
    """Fetch the embedded language model (98 MB), verified; `serve` and `ask` do it when needed."""
    from speakahead.agent.models.embedded import fetch
    from speakahead.assets import ConsoleProgress

    with ConsoleProgress() as progress:
        weights = fetch(progress)
    print(f"The language model is in {weights.parent}: {weights.name}.")


async def _serve(
    words: ModelSettings,
    sound: SpeechSettings,
    voice: str,
    listening: socket.socket,
    *,
    open_page: bool,
) -> None:
    import uvicorn

    print("Loading the language model and the voice ...", file=sys.stderr, flush=True)
    make, backend = await _load(words, sound)
    from speakahead.agent.app import create_app

    app = create_app(make, backend, voice=voice, voices=_voices(backend), model=_model_name(words))
    sdk = logging.getLogger("bedrock_agentcore.app")
    sdk.propagate = False  # it writes its lines itself
    if open_page:
        sdk.setLevel(logging.WARNING)  # they are not for people
    config = uvicorn.Config(
        app,
        ws="websockets-sansio",
        ws_per_message_deflate=False,
        access_log=False,
        log_level="warning",
        server_header=False,
        timeout_graceful_shutdown=5,
    )
    server = uvicorn.Server(config)
    showing = asyncio.create_task(page.show(server, listening, open_it=open_page))
    try:
        await server.serve(sockets=[listening])
    finally:
        showing.cancel()


def _voices(backend: SpeechBackend) -> tuple[str, ...]:
    """Those that the page offers; a server elsewhere does not tell which it has."""
    from speakahead.backends.local import LocalBackend

    return backend.speakable_voices if isinstance(backend, LocalBackend) else ()


def _model_name(settings: ModelSettings) -> str:
    match settings.kind:
        case ModelKind.EMBEDDED:
            return "SmolLM2-135M on this machine"
        case ModelKind.SCRIPTED:
            return "a script"
        case _:
            return settings.model_id or str(settings.kind)


async def _ask(
    words: ModelSettings,
    sound: SpeechSettings,
    payload: dict[str, object],
    target: str | None,
) -> bool:
    from speakahead.agent.request import parse_request
    from speakahead.cli.outputs import open_output

    request = parse_request(payload)
    output = None if target is None else open_output(target)
    try:
        make, backend = await _load(words, sound)
        return await _answer(make, backend, request, output, quiet=target == "-")
    finally:
        if output is not None:
            await output.close()


async def _answer(
    make: Callable[[], Agent],
    backend: SpeechBackend,
    request: AgentRequest,
    output: Output | None,
    *,
    quiet: bool,
) -> bool:
    """``quiet``: standard output is for the sound."""
    from speakahead.agent.conversation import Conversations
    from speakahead.audio.pcm import from_s16le

    good = True
    paper = sys.stderr if quiet else sys.stdout
    async with (
        Conversations(make, backend) as conversations,
        contextlib.aclosing(conversations.named(None).turn(request)) as events,
    ):
        async for event in events:
            match event["type"]:
                case "text_delta":
                    print(event["text"], end="", flush=True, file=paper)
                case "audio_chunk":
                    if output is not None:
                        await output.write(from_s16le(base64.b64decode(event["audio"])))
                case "error":
                    good = False
                    print(f"\nspeakahead: {event['message']}", file=sys.stderr)
                case "agent_end":
                    print(file=paper)
                    for name, value in event["timings"].items():
                        print(f"{name:18} {'-' if value is None else value}", file=sys.stderr)
    return good


def _words(
    kind: ModelKind | None,
    model_id: str | None,
    bedrock_model_id: str | None,
    url: str | None,
    silence_s: float,
    region: str | None,
    tokens_per_second: float,
    script: Path | None,
) -> ModelSettings:
    if kind is None:
        kind = ModelKind.EMBEDDED if bedrock_model_id is None else ModelKind.BEDROCK
    if kind is ModelKind.BEDROCK:
        model_id = bedrock_model_id or model_id
    if kind.needs_name and model_id is None:
        option = "--bedrock-model-id" if kind is ModelKind.BEDROCK else "--model-id"
        raise InvalidRequest(f"With --model {kind}, name a model with {option}.")
    return ModelSettings(
        kind,
        model_id=model_id,
        url=url,
        silence_s=silence_s,
        region=region,
        tokens_per_second=tokens_per_second,
        script=script,
    )


async def _load(
    words: ModelSettings, sound: SpeechSettings
) -> tuple[Callable[[], Agent], SpeechBackend]:
    """What makes agents, and what speaks for them; both loaded at the same time."""
    with needing("The agent", "agent"):
        from speakahead.agent.app import make_agent
        from speakahead.agent.models import build_model
        from speakahead.agent.models.embedded import fetch, weights_path
        from speakahead.agent.speech import open_speech
    from speakahead.assets import ConsoleProgress

    if words.kind is ModelKind.EMBEDDED and not weights_path().exists():
        with ConsoleProgress() as progress:
            await asyncio.to_thread(fetch, progress)
    model, backend = await asyncio.gather(asyncio.to_thread(build_model, words), open_speech(sound))
    return (lambda: make_agent(model, tools=words.kind.calls_tools)), backend
