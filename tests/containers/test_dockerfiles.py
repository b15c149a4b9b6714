"""The Dockerfiles keep the platforms' contracts and our own rules; nothing is built here."""

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import typer

from tests.containers.dockerfile import FILES, ROOT, Dockerfile

SPEECH = [path for path in FILES if path.name != "agent.Dockerfile"]
BIDIRECTIONAL = "com.amazonaws.sagemaker.capabilities.bidirectional-streaming"
SETTINGS_OF_OTHERS = {
    "PATH",
    "PYTHONUNBUFFERED",
    "XDG_CACHE_HOME",
    "ORT_DISABLE_TELEMETRY",
    "LD_LIBRARY_PATH",
    "NVIDIA_VISIBLE_DEVICES",
    "NVIDIA_DRIVER_CAPABILITIES",
}


def name_of(path: Path) -> str:
    return path.stem


@pytest.fixture(params=FILES, ids=name_of)
def dockerfile(request: pytest.FixtureRequest) -> Dockerfile:
    return Dockerfile.read(request.param)


def test_all_three_are_here() -> None:
    assert [path.name for path in FILES] == [
        "agent.Dockerfile",
        "cpu.Dockerfile",
        "cuda.Dockerfile",
    ]


def test_hadolint_has_nothing_to_say() -> None:
    hadolint = Path(sys.executable).with_name("hadolint")
    done = subprocess.run(
        [hadolint, "--no-color", "--failure-threshold", "style", *map(str, FILES)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, ""), done.stdout + done.stderr


def test_bases_are_pinned_by_version_and_digest(dockerfile: Dockerfile) -> None:
    pinned = r"python:3\.12\.\d+-slim-bookworm@sha256:[0-9a-f]{64}"
    assert re.fullmatch(pinned, dockerfile.arguments["BASE"])
    names: set[str | None] = set()
    for stage in dockerfile.stages:
        assert stage.base == "${BASE}" or stage.base in names
        names.add(stage.name)


def test_all_have_the_same_base() -> None:
    assert len({Dockerfile.read(path).arguments["BASE"] for path in FILES}) == 1


def test_packages_are_pinned_by_hash_and_isolated_builds_fetch_none(dockerfile: Dockerfile) -> None:
    commands = [
        command
        for stage in dockerfile.stages
        for run in stage.all("RUN")
        for command in run.text.split("&&")
    ]
    fetching = [command.split() for command in commands if "-m pip " in command]
    assert fetching
    for command in fetching:
        assert {"--require-hashes", "--no-index"} & set(command), command
        assert "--no-deps" in command
        if "wheel" in command:
            assert "--no-build-isolation" in command
    for command in commands:
        assert not re.search(r"\b(curl|wget|apt-get|apt|npm|git)\b", command), command


def test_nothing_is_added_from_an_address_and_no_shell_is_needed(dockerfile: Dockerfile) -> None:
    for stage in dockerfile.stages:
        assert not stage.all("ADD")
        assert not stage.all("SHELL")
    assert not dockerfile.image.all("RUN")
    for name in ("ENTRYPOINT", "CMD", "HEALTHCHECK"):
        assert all(one.exec_form for one in dockerfile.image.all(name)), name
    assert dockerfile.image.only("EXPOSE").text == "8080"


def test_what_is_copied_exists_and_reaches_the_builder(dockerfile: Dockerfile) -> None:
    stages = {stage.name for stage in dockerfile.stages}
    allowed = {
        line.removeprefix("!")
        for line in (ROOT / ".dockerignore").read_text().splitlines()
        if line.startswith("!")
    }
    for stage in dockerfile.stages:
        for copy in stage.all("COPY"):
            *sources, _ = copy.words
            if "from" in copy.flags:
                assert copy.flags["from"] in stages
                continue
            for source in sources:
                assert (ROOT / source).exists(), source
                parents = {source, *map(str, Path(source).parents)}
                assert parents & allowed, f"{source} is kept from the builder"


def test_the_builder_gets_nothing_else() -> None:
    lines = (ROOT / ".dockerignore").read_text().splitlines()
    rules = [line for line in lines if line and not line.startswith("#")]
    assert rules[0] == "*"


def test_the_runtime_reports_to_nobody(dockerfile: Dockerfile) -> None:
    """ONNX Runtime does by default, and leaves an identifier of the machine in its cache."""
    running = [stage for stage in dockerfile.stages if stage.name != "build"]
    assert {stage.environment.get("ORT_DISABLE_TELEMETRY") for stage in running} == {"1"}


@pytest.mark.parametrize("path", SPEECH, ids=name_of)
def test_speech_keeps_the_contract_of_sagemaker(path: Path) -> None:
    image = Dockerfile.read(path).image
    assert image.labels[BIDIRECTIONAL] == "true"
    assert image.only("ENTRYPOINT").words == ["/opt/venv/bin/speakahead"]
    assert image.only("CMD").words == ["serve"]  # and so does the platform call it
    assert image.environment["SPEAKAHEAD_HOST"] == "0.0.0.0"
    assert not image.all("USER")  # the platform mounts as root
    assert not image.all("VOLUME")


def test_the_agent_keeps_the_contract_of_agentcore() -> None:
    image = Dockerfile.read(ROOT / "containers" / "agent.Dockerfile").image
    assert image.only("ENTRYPOINT").words == ["/opt/venv/bin/speakahead", "agent", "serve"]
    assert not image.all("CMD")
    assert image.environment["SPEAKAHEAD_HOST"] == "0.0.0.0"
    user, _, group = image.only("USER").text.partition(":")
    assert int(user) > 0
    assert int(group) > 0


def test_the_cuda_image_is_the_other_one_with_cuda() -> None:
    cpu, cuda = (Dockerfile.read(path) for path in SPEECH)
    added = cuda.image.environment.keys() - cpu.image.environment.keys()
    assert added == {
        "SPEAKAHEAD_ENGINE",
        "LD_LIBRARY_PATH",
        "NVIDIA_VISIBLE_DEVICES",
        "NVIDIA_DRIVER_CAPABILITIES",
    }
    assert cuda.image.environment["SPEAKAHEAD_ENGINE"] == "cuda"
    for one, other in zip(cpu.stages, cuda.stages, strict=True):
        theirs = [i for i in other.instructions if i.name != "ENV"]
        ours = [i for i in one.instructions if i.name != "ENV"]
        assert [i.text.replace("cpu.txt", "cuda.txt") for i in ours] == [i.text for i in theirs]


def variables(command: Any) -> set[str]:
    """What a command and those below it read from the environment."""
    own: set[str] = set()
    for parameter in command.params:
        names = parameter.envvar or ()
        own |= {names} if isinstance(names, str) else set(names)
    return own.union(*(variables(one) for one in getattr(command, "commands", {}).values()))


def test_the_variables_that_images_set_are_read(dockerfile: Dockerfile) -> None:
    from speakahead.cli.main import app

    known = variables(typer.main.get_command(app))
    assert "SPEAKAHEAD_ENGINE" in known
    assert dockerfile.image.environment.keys() - SETTINGS_OF_OTHERS <= known
