"""The commands, as the scripts run them."""

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from speakahead.cli import agent_infra, speech_infra


@dataclass(frozen=True)
class Done:
    returncode: int
    stdout: str
    stderr: str


Run = Callable[..., Done]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs an entry point as the script does, in this process: loading it takes seconds."""

    def run(main: Callable[[], None], *arguments: str) -> Done:
        monkeypatch.setattr(sys, "argv", ["command", *arguments])
        with pytest.raises(SystemExit) as ended:
            main()
        captured = capsys.readouterr()
        return Done(int(ended.value.code or 0), captured.out, captured.err)

    return run


@pytest.mark.parametrize(
    ("main", "commands"),
    [
        (speech_infra.main, ["deploy", "synth", "diff", "status", "check", "destroy"]),
        (agent_infra.main, ["deploy", "synth", "diff", "status", "invoke", "destroy"]),
    ],
)
def test_the_commands_are_there(main: Callable[[], None], commands: list[str], run: Run) -> None:
    done = run(main, "--help")
    assert done.returncode == 0
    assert all(command in done.stdout for command in commands)


def test_the_agents_templates_are_written(node: str, tmp_path: Path) -> None:
    out = tmp_path / "cdk.out"
    options = ["--bedrock-model-id", "amazon.nova-lite-v1:0", "-o", str(out)]
    # in this process, where the construct library is loaded already
    done = CliRunner().invoke(agent_infra.app, ["synth", *options])
    assert done.exit_code == 0, done.output
    assert done.stdout.splitlines() == [str(out / "speakahead-agent.template.json")]
    assert (out / "speakahead-agent.template.json").is_file()
    assert "Writing the templates" in done.stderr


@pytest.mark.parametrize(
    ("main", "arguments", "says"),
    [
        (speech_infra.main, ["synth", "kokoro-82m", "--name", "No"], "lower-case"),
        (speech_infra.main, ["synth", "kokoro-82m", "--image", "here"], "Amazon ECR"),
        (agent_infra.main, ["synth", "--bedrock-model-id", "a b"], "not the identifier of a model"),
        (agent_infra.main, ["status", "--name", "a-b"], "underscores"),
        (
            agent_infra.main,
            ["synth", "--bedrock-model-id", "amazon.nova", "--source", "/"],
            "--source",
        ),
    ],
)
def test_what_cannot_be_is_one_sentence(
    main: Callable[[], None], arguments: list[str], says: str, run: Run
) -> None:
    done = run(main, *arguments)
    assert done.returncode == 1
    assert says in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_options_and_defaults_are_those_of_the_documentation() -> None:
    """docs/deploy.md has every option of `deploy`, with its default."""
    text = (Path(__file__).parents[2] / "docs" / "deploy.md").read_text()
    rows = [line for line in text.splitlines() if line.startswith("| `--")]
    for app in (speech_infra.app, agent_infra.app):
        group = typer.main.get_command(app)
        deploy = group.commands["deploy"]  # type: ignore[attr-defined]
        for parameter in deploy.params:
            option = parameter.opts[0]
            if not option.startswith("--"):
                continue
            matching = [row for row in rows if f"`{option}`" in row]
            assert matching, f"{option} is not in docs/deploy.md"
            default = parameter.default
            if default is not None and default is not False:
                shown = f"`{getattr(default, 'value', default)}`"
                assert any(shown in row for row in matching), (option, shown)
