"""`speakahead agent` with the real voice."""

import json
import wave
from pathlib import Path

import pytest
from typer.testing import CliRunner

from speakahead.cli.agent import agent
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


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--model", "bedrock"], "--bedrock-model-id"),
        (["--model", "openai"], "--model-id"),
        (["--model", "scripted", "--mode", "both"], "mode"),
        (["--model", "scripted", "--speech", "ftp://host"], "URL"),
    ],
)
def test_what_is_wrong_is_said(arguments: list[str], says: str) -> None:
    result = CliRunner().invoke(agent, ["ask", "Hi.", *arguments])
    assert isinstance(result.exception, InvalidRequest)
    assert says in result.exception.message
