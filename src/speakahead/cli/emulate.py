"""`speakahead emulate`: stand-ins on this machine for services of AWS."""

from __future__ import annotations

import asyncio
import logging
import shutil
import signal
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from speakahead.cli.extras import needing
from speakahead.errors import InvalidRequest

if TYPE_CHECKING:
    from speakahead.emulator import LocalEndpoint

emulate = typer.Typer(no_args_is_help=True, help="Stand-ins on this machine for services of AWS.")


@emulate.callback()
def group() -> None:
    """Stand-ins on this machine for services of AWS."""


@emulate.command()
def sagemaker(
    container: Annotated[
        str, typer.Option(help="Base URL of the container.")
    ] = "http://127.0.0.1:8080",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port to listen on.")] = 8443,
    endpoint_name: Annotated[str, typer.Option(help="The endpoint's name.")] = "kokoro-82m",
    session_limit: Annotated[
        float, typer.Option(min=0.1, help="Seconds after which a stream is ended.")
    ] = 1800.0,
    ping_interval: Annotated[
        float, typer.Option(min=0.1, help="Seconds between pings of the container.")
    ] = 60.0,
    fault: Annotated[
        list[str] | None,
        typer.Option(help="NAME[:AFTER[:TIMES]]; may be repeated. A wrong name lists them all."),
    ] = None,
    ca_file: Annotated[
        Path | None, typer.Option(help="Where to copy the certificate that clients must trust.")
    ] = None,
) -> None:
    """A SageMaker AI endpoint in front of a container on this machine, for the real SDK client."""
    with needing("The stand-in", "aws"):
        from speakahead.emulator import Fault, LocalEndpoint

    endpoint = LocalEndpoint(
        container,
        endpoint_name,
        port=port,
        faults=[Fault.parse(text) for text in fault or ()],
        session_limit_s=session_limit,
        ping_interval_s=ping_interval,
    )
    logging.getLogger("speakahead.emulator").setLevel(logging.INFO)
    asyncio.run(_run(endpoint, container, _copied(endpoint.ca_path, ca_file)))


def _copied(certificate: Path, target: Path | None) -> Path:
    if target is None:
        return certificate
    try:
        shutil.copyfile(certificate, target)
    except OSError:
        raise InvalidRequest(f"The certificate cannot be written to {target}.") from None
    return target.absolute()


async def _run(endpoint: LocalEndpoint, container: str, certificate: Path) -> None:
    """Serve until SIGINT or SIGTERM."""
    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stopped.set)
    async with endpoint:
        print(
            f"The endpoint {endpoint.name} is at {endpoint.url}, in front of {container}.\n"
            "Clients need, before they start:\n"
            "\n"
            f"export SSL_CERT_FILE={certificate}\n"
            f"export AWS_ENDPOINT_URL_SAGEMAKER_RUNTIME_HTTP2={endpoint.url}\n"
            "export AWS_REGION=us-east-1 AWS_ACCESS_KEY_ID=local AWS_SECRET_ACCESS_KEY=local\n"
            "\n"
            "and boto3, for requests without a bidirectional stream:\n"
            "\n"
            f"export AWS_CA_BUNDLE={certificate}\n"
            f"export AWS_ENDPOINT_URL_SAGEMAKER_RUNTIME={endpoint.url}\n",
            flush=True,
        )
        await stopped.wait()
