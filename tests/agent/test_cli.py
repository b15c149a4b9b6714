"""`speakahead agent` with the real voice."""

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
import wave
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest
from typer.testing import CliRunner

from speakahead.cli import page
from speakahead.cli.agent import agent
from speakahead.cli.outputs import OutputFailed
from speakahead.errors import InvalidRequest


def test_ask_prints_the_answer_and_writes_its_sound(tmp_path: Path) -> None:
    script, output = tmp_path / "script.json", tmp_path / "answer.wav"
    script.write_text(json.dumps({"steps": [[{"say": "Hello there."}]]}))
    arguments = ["ask", "Hi.", "--model", "scripted", "--script", str(script), "-o", str(output)]
    result = CliRunner().invoke(agent, arguments)
    assert result.exit_code == 0, result.output
    assert "Hello there." in result.stdout
    assert "first_audio_s" in result.stderr
    with wave.open(str(output)) as file:
        assert 0.8 < file.getnframes() / file.getframerate() < 4


def test_ask_finds_a_file_that_cannot_be_written_before_it_loads_anything() -> None:
    arguments = ["ask", "Hi.", "--model", "scripted", "--speech", "ftp://host"]
    result = CliRunner().invoke(agent, [*arguments, "-o", "/nonexistent/x.wav"])
    assert isinstance(result.exception, OutputFailed)
    assert "/nonexistent/x.wav cannot be written" in result.exception.message


def test_an_interrupted_answer_keeps_what_was_spoken(tmp_path: Path) -> None:
    script, output = tmp_path / "script.json", tmp_path / "answer.wav"
    steps = [[{"say": "Hello there. " + "This goes on and on. " * 200}]]
    script.write_text(json.dumps({"steps": steps}))
    arguments = ["--model", "scripted", "--script", str(script), "-o", str(output)]
    process = subprocess.Popen(
        [sys.executable, "-m", "speakahead", "agent", "ask", "Hi.", *arguments],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    deadline = time.monotonic() + 120
    while not output.exists() or output.stat().st_size < 20_000:
        assert process.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    assert process.wait(60) == 130
    assert process.stderr is not None
    assert b"Traceback" not in process.stderr.read()
    with wave.open(str(output)) as file:
        assert 44 + 2 * file.getnframes() == output.stat().st_size


def test_the_sound_alone_is_on_standard_output(tmp_path: Path) -> None:
    script = tmp_path / "script.json"
    script.write_text(json.dumps({"steps": [[{"say": "Hello there."}]]}))
    arguments = ["ask", "Hi.", "--model", "scripted", "--script", str(script), "-o", "-"]
    done = subprocess.run(
        [sys.executable, "-m", "speakahead", "agent", *arguments],
        capture_output=True,
        timeout=120,
        check=True,
    )
    assert done.stdout.startswith(b"RIFF")
    assert b"Hello" not in done.stdout
    assert b"Hello there." in done.stderr


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--model", "bedrock"], "--bedrock-model-id"),
        (["--model", "openai"], "--model-id"),
        (["--model", "scripted", "--mode", "both"], "mode"),
        (["--model", "scripted", "--speech", "ftp://host"], "URL"),
        (["--model", "scripted", "--speech", "somewhere"], "sagemaker:ENDPOINT"),
    ],
)
def test_what_is_wrong_is_said(arguments: list[str], says: str) -> None:
    result = CliRunner().invoke(agent, ["ask", "Hi.", *arguments])
    assert isinstance(result.exception, InvalidRequest)
    assert says in result.exception.message


def test_settings_come_from_the_environment_and_options_go_before() -> None:
    environment = {"SPEAKAHEAD_BEDROCK_MODEL_ID": "some.model", "SPEAKAHEAD_SPEECH": "ftp://host"}
    result = CliRunner().invoke(agent, ["ask", "Hi."], env=environment)
    assert isinstance(result.exception, InvalidRequest)
    assert "URL" in result.exception.message, "Bedrock was chosen, and --speech is wrong"
    options = ["--speech", "elsewhere"]
    result = CliRunner().invoke(agent, ["ask", "Hi.", *options], env=environment)
    assert isinstance(result.exception, InvalidRequest)
    assert "one of" in result.exception.message
    result = CliRunner().invoke(
        agent, ["ask", "Hi.", "--model", "openai"], env={"SPEAKAHEAD_BEDROCK_MODEL_ID": "m"}
    )
    assert isinstance(result.exception, InvalidRequest)
    assert "--model-id" in result.exception.message


def test_pull_says_where_the_language_model_is() -> None:
    result = CliRunner().invoke(agent, ["pull"])
    assert result.exit_code == 0, result.output
    assert "SmolLM2" in result.stdout


@contextlib.contextmanager
def serve(*options: str) -> Iterator[subprocess.Popen[str]]:
    """An agent that never speaks, so that it is there at once; without a window system."""
    command = [sys.executable, "-m", "speakahead", "agent", "serve", "--model", "scripted"]
    hidden = ("DISPLAY", "WAYLAND_DISPLAY")
    process = subprocess.Popen(
        [*command, "--speech", "ws://127.0.0.1:1", *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={name: value for name, value in os.environ.items() if name not in hidden},
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def line_with(process: subprocess.Popen[str], word: str) -> str:
    assert process.stdout is not None
    return next(line for line in process.stdout if word in line)


def test_serve_says_where_the_page_is_and_finds_a_port() -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        taken = other.getsockname()[1]
        with serve("--port", str(taken)) as process:
            assert f"Port {taken} is taken" in line_with(process, "Port")
            assert process.wait(20) == 1
        with serve("--port", str(taken), "--open") as process:
            assert "another" in line_with(process, "taken")
            address = line_with(process, "Ask at").split()[2]
            port = urlsplit(address).port
            assert port != taken
            assert f"-L {port}:127.0.0.1:{port} " in line_with(process, "ssh")
            assert "speakahead" in httpx.get(address).text
            process.send_signal(signal.SIGINT)
            assert process.wait(20) in (130, -signal.SIGINT)


def test_an_address_that_is_not_of_this_machine() -> None:
    with pytest.raises(InvalidRequest, match="--host"):
        page.bind("192.0.2.1", 0)  # reserved for documents


@pytest.mark.parametrize(
    ("host", "address"), [("127.0.0.1", "http://127.0.0.1:"), ("0.0.0.0", "http://localhost:")]
)
def test_the_address_is_one_for_a_browser(host: str, address: str) -> None:
    with page.bind(host, 0) as listening:
        port = listening.getsockname()[1]
        assert page.address_of(listening) == f"{address}{port}/"
