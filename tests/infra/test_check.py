"""`speech-infra check`: AWS's own client, the local endpoint, a real server, the real model."""

import asyncio
import os
import sys
from pathlib import Path

from speakahead.cli.check import SENTENCES
from speakahead.emulator import Fault, LocalEndpoint
from speakahead.emulator.certificate import Certificates
from tests.conftest import Server


async def check(endpoint: LocalEndpoint, name: str, *options: str) -> tuple[int, str]:
    """Run the command in a process of its own, which trusts the endpoint's certificate."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", "from speakahead.cli.speech_infra import main; main()"),
        *("check", "--name", name, "--region", "eu-west-1", "--endpoint-url", endpoint.url),
        *options,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        env={
            **{key: value for key, value in os.environ.items() if key != "AWS_PROFILE"},
            "SSL_CERT_FILE": str(endpoint.ca_path),
            "AWS_ACCESS_KEY_ID": "testing",
            "AWS_SECRET_ACCESS_KEY": "testing",
        },
    )
    output, _ = await asyncio.wait_for(process.communicate(), 90)
    assert process.returncode is not None
    return process.returncode, output.decode()


async def run(server: Server, directory: Path, name: str, *faults: Fault) -> tuple[int, str]:
    certificates = Certificates(directory)
    async with LocalEndpoint(server.url, faults=faults, certificates=certificates) as endpoint:
        return await check(endpoint, name, "--timeout", "60")


def test_three_sentences_over_http_2(server: Server, tmp_path: Path) -> None:
    status, output = asyncio.run(run(server, tmp_path, "kokoro-82m"))
    assert status == 0, output
    lines = output.splitlines()
    assert [line.split("  ")[0].strip() for line in lines[:3]] == list(SENTENCES)
    assert lines[3] == "OK"


def test_an_endpoint_that_is_not_there_is_one_sentence(server: Server, tmp_path: Path) -> None:
    status, output = asyncio.run(run(server, tmp_path, "other"))
    assert status == 1
    assert output.startswith("FAILED: ")
    assert "Traceback" not in output
