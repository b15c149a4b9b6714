"""`speakahead agent`: serve a voice agent, or ask it something."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import os
import sys
import wave
import webbrowser
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from speakahead.agent.settings import ModelKind, ModelSettings
from speakahead.cli.parameters import Voice
from speakahead.errors import InvalidRequest, SpeakaheadError

if TYPE_CHECKING:
    import uvicorn
    from strands import Agent

    from speakahead.backends.interface import SpeechBackend

agent = typer.Typer(no_args_is_help=True, help="A voice agent that speaks while it writes.")

Kind = Annotated[ModelKind, typer.Option("--model", help="Where the words come from.")]
ModelId = Annotated[
    str | None, typer.Option(help="Name of the model at OpenAI-compatible servers and Ollama.")
]
BedrockModelId = Annotated[
    str | None, typer.Option(help="A model of Amazon Bedrock; implies --model bedrock.")
]
ModelUrl = Annotated[str | None, typer.Option(help="Where the model is served.")]
Region = Annotated[str | None, typer.Option(help="Region of Amazon Bedrock.")]
Speech = Annotated[
    str, typer.Option(help="local, or the address of a `speakahead serve`, as in ws://host:8080")
]
Script = Annotated[Path | None, typer.Option(help="JSON file with what the scripted model writes.")]
Rate = Annotated[float, typer.Option(min=0.1, help="How fast the scripted model writes.")]


@agent.command()
def serve(
    model: Kind = ModelKind.EMBEDDED,
    model_id: ModelId = None,
    bedrock_model_id: BedrockModelId = None,
    model_url: ModelUrl = None,
    region: Region = None,
    speech: Speech = "local",
    voice: Voice = "af_heart",
    host: Annotated[
        str, typer.Option(envvar="SPEAKAHEAD_HOST", help="Address to listen on.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port to listen on.")] = 8080,
    tokens_per_second: Rate = 30.0,
    script: Script = None,
    open_page: Annotated[
        bool, typer.Option("--open", help="Show the page in the browser, where there is one.")
    ] = False,
) -> None:
    """Serve the agent: a page at /, and Amazon Bedrock AgentCore's /invocations, /ws and /ping."""
    settings = _settings(
        model, model_id, bedrock_model_id, model_url, region, tokens_per_second, script
    )
    asyncio.run(_serve(settings, speech, voice, host, port, open_page=open_page))


@agent.command()
def ask(
    prompt: Annotated[str, typer.Argument(help="What to ask.")],
    mode: Annotated[str, typer.Option(help="bidi, or batch for comparison.")] = "bidi",
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="A WAV file for the answer.")
    ] = None,
    model: Kind = ModelKind.EMBEDDED,
    model_id: ModelId = None,
    bedrock_model_id: BedrockModelId = None,
    model_url: ModelUrl = None,
    region: Region = None,
    speech: Speech = "local",
    voice: Voice = "af_heart",
    speed: Annotated[float, typer.Option(help="Speed, 0.5 to 2.")] = 1.0,
    tokens_per_second: Rate = 30.0,
    script: Script = None,
) -> None:
    """Ask once: prints the answer as it is written, and when it was first heard."""
    settings = _settings(
        model, model_id, bedrock_model_id, model_url, region, tokens_per_second, script
    )
    request = {"prompt": prompt, "mode": mode, "voice": voice, "speed": speed}
    if not asyncio.run(_ask(settings, speech, request, output)):
        raise typer.Exit(1)


async def _serve(
    settings: ModelSettings, speech: str, voice: str, host: str, port: int, *, open_page: bool
) -> None:
    import uvicorn

    make, backend = await _load(settings, speech)
    from speakahead.agent.app import create_app

    config = uvicorn.Config(
        create_app(
            make, backend, voice=voice, voices=_voices(backend), model=_model_name(settings)
        ),
        host=host,
        port=port,
        ws="websockets-sansio",
        ws_per_message_deflate=False,
        access_log=False,
        log_level="info",
        server_header=False,
        timeout_graceful_shutdown=5,
    )
    server = uvicorn.Server(config)
    showing = asyncio.create_task(_show_page(server, open_it=open_page))
    try:
        await server.serve()
    finally:
        showing.cancel()


async def _show_page(server: uvicorn.Server, *, open_it: bool) -> None:
    """Say where the page is as soon as it is there."""
    while not server.started:  # noqa: ASYNC110 - the server has no event for it
        await asyncio.sleep(0.05)
    host, port = server.servers[0].sockets[0].getsockname()[:2]
    if host in ("0.0.0.0", "::"):  # noqa: S104 - what it listens on, not what a browser opens
        host = "localhost"
    address = f"http://[{host}]:{port}/" if ":" in host else f"http://{host}:{port}/"
    print(f"Ask at {address}", flush=True)
    if open_it and _has_windows():
        await asyncio.to_thread(webbrowser.open, address)


def _has_windows() -> bool:
    """Whether a browser would have a window, rather than take over this terminal."""
    return (
        sys.platform in ("darwin", "win32")
        or "DISPLAY" in os.environ
        or "WAYLAND_DISPLAY" in os.environ
    )


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
    settings: ModelSettings, speech: str, payload: dict[str, object], output: Path | None
) -> bool:
    from speakahead.agent.request import parse_request

    request = parse_request(payload)
    make, backend = await _load(settings, speech)
    from speakahead.agent.conversation import Conversations

    good = True
    sound = bytearray()
    async with (
        Conversations(make, backend) as conversations,
        contextlib.aclosing(conversations.named(None).turn(request)) as events,
    ):
        async for event in events:
            match event["type"]:
                case "text_delta":
                    print(event["text"], end="", flush=True)
                case "audio_chunk":
                    sound += base64.b64decode(event["audio"])
                case "error":
                    good = False
                    print(f"\nspeakahead: {event['message']}", file=sys.stderr)
                case "agent_end":
                    print()
                    for name, value in event["timings"].items():
                        print(f"{name:18} {'-' if value is None else value}", file=sys.stderr)
    if output is not None:
        with wave.open(str(output), "wb") as file:
            file.setnchannels(1)
            file.setsampwidth(2)
            file.setframerate(24_000)
            file.writeframes(bytes(sound))
    return good


def _settings(
    kind: ModelKind,
    model_id: str | None,
    bedrock_model_id: str | None,
    url: str | None,
    region: str | None,
    tokens_per_second: float,
    script: Path | None,
) -> ModelSettings:
    if bedrock_model_id is not None:
        kind, model_id = ModelKind.BEDROCK, bedrock_model_id
    if kind.needs_name and model_id is None:
        option = "--bedrock-model-id" if kind is ModelKind.BEDROCK else "--model-id"
        raise InvalidRequest(f"With --model {kind}, name a model with {option}.")
    return ModelSettings(
        kind,
        model_id=model_id,
        url=url,
        region=region,
        tokens_per_second=tokens_per_second,
        script=script,
    )


async def _load(settings: ModelSettings, speech: str) -> tuple[Callable[[], Agent], SpeechBackend]:
    """What makes agents, and what speaks for them; both loaded at the same time."""
    try:
        from speakahead.agent.app import make_agent
        from speakahead.agent.models import build_model
    except ImportError:
        raise SpeakaheadError(
            "The agent needs more packages: `pip install speakahead[agent]`."
        ) from None
    from speakahead.agent.speech import open_speech

    model, backend = await asyncio.gather(
        asyncio.to_thread(build_model, settings), open_speech(speech)
    )
    return (lambda: make_agent(model, tools=settings.kind.calls_tools)), backend
