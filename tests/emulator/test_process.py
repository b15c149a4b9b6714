"""The command, in front of a real server with the real model, for the real SDK client."""

import contextlib
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from typer.testing import CliRunner

from speakahead.cli.emulate import emulate
from speakahead.errors import InvalidRequest
from tests.conftest import Server, free_port


@dataclass
class Emulator:
    process: subprocess.Popen[str]
    url: str
    said: str


@contextlib.contextmanager
def emulator(container: str, *options: str) -> Iterator[Emulator]:
    command = [sys.executable, "-m", "speakahead", "emulate", "sagemaker", "--container", container]
    process = subprocess.Popen(
        [*command, "--port", str(free_port()), *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    try:
        said = ""
        while "AWS_ENDPOINT_URL_SAGEMAKER_RUNTIME=" not in said:
            line = process.stdout.readline()
            assert line, process.stderr and process.stderr.read()
            said += line
        found = re.search(r"AWS_ENDPOINT_URL_SAGEMAKER_RUNTIME_HTTP2=(\S+)", said)
        assert found is not None
        yield Emulator(process, found[1], said)
    finally:
        process.kill()
        process.communicate()


TALK = """
import asyncio, json, sys
from tests.emulator.rig import stream

class Local:
    url = sys.argv[1]

async def main():
    for data_type in ("UTF8", None):
        await session(data_type)

async def session(data_type):
    async with asyncio.timeout(60), stream(Local, model_query_string="protocol=1") as s:
        for text in ("The kettle is on.", "The bread is ready.", "Now we can eat."):
            await s.send(json.dumps({"text": text}).encode(), data_type)
            kinds, sound = [], 0
            while not kinds or kinds[-1] != "synthesis_complete":
                part = await s.receive(60)
                if part.data_type == "BINARY":
                    sound += len(part.bytes_)
                else:
                    kinds.append(json.loads(part.bytes_)["type"])
            assert kinds == ["synthesis_start", "synthesis_complete"], kinds
            assert sound > 24000, sound
        await s.send('{"type": "close"}')
        try:
            await s.receive(60)
        except Exception as error:
            print(type(error).__name__, getattr(error, "error_code", None))

asyncio.run(main())
"""
"""What a client does that knows nothing but what the command printed."""


def test_three_sentences_through_the_command(server: Server, tmp_path: Path) -> None:
    authority = tmp_path / "ca.pem"
    with emulator(server.url, "--ca-file", str(authority)) as running:
        assert f"SSL_CERT_FILE={authority}" in running.said
        done = subprocess.run(
            [sys.executable, "-c", TALK, running.url],
            env={"SSL_CERT_FILE": str(authority), "PATH": "", "AWS_EC2_METADATA_DISABLED": "true"},
            cwd=Path(__file__).parents[2],
            capture_output=True,
            text=True,
            timeout=90,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        assert done.stdout.split() == ["ModelStreamError", "1000"] * 2
        running.process.send_signal(signal.SIGTERM)
        assert running.process.wait(20) == 0
        assert "Traceback" not in (running.process.communicate()[1] or "")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--fault", "nonsense"), "model-stream-error"),
        (("--container", "localhost"), "http://127.0.0.1:8080"),
        (("--endpoint-name", "a b"), "hyphens"),
        (("--ca-file", "/nowhere/ca.pem"), "cannot be written"),
    ],
)
def test_a_wrong_option_is_a_sentence(options: tuple[str, ...], words: str) -> None:
    done = CliRunner().invoke(emulate, ["sagemaker", *options])
    assert isinstance(done.exception, InvalidRequest)
    assert words in done.exception.message
