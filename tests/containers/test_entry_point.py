"""The image's entry point as a process: its own environment and nothing else of this machine's."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families
from websockets.sync.client import connect

from speakahead.assets import cache_directory
from tests.conftest import ROUTE, Client, free_port
from tests.containers.dockerfile import ROOT, Dockerfile

REQUEST_ID = "X-Amzn-SageMaker-Request-Id"
PING_TIMEOUT_S = 2.0  # the platform's
STARTED_WITHIN_S = 480.0  # likewise
KILLED_AFTER_S = 30.0  # likewise
VOICES = ("af_heart", "bf_emma")


@dataclass
class Container:
    """A process that was started as the platform starts the image."""

    process: subprocess.Popen[bytes]
    port: int
    folder: Path

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @contextlib.contextmanager
    def session(self, route: str = ROUTE, **headers: str) -> Iterator[Client]:
        address = f"ws://127.0.0.1:{self.port}{route}"
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        with connect(address, max_size=None, additional_headers=named) as connection:
            yield Client(connection)

    def log(self) -> list[dict[str, Any]]:
        """What it has logged; every line is JSON, from the first to the last."""
        return [json.loads(line) for line in (self.folder / "stderr").read_text().splitlines()]

    def printed(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in (self.folder / "stdout").read_text().splitlines()]

    def metric(self, name: str) -> tuple[dict[str, str], float]:
        """The labels and the value of a metric's only sample."""
        page = httpx.get(f"{self.url}/metrics", timeout=5).text
        families = text_string_to_metric_families(page)
        (found,) = [one for family in families for one in family.samples if one.name == name]
        return found.labels, found.value


@contextlib.contextmanager
def started(folder: Path, model: Path, **settings: str) -> Iterator[Container]:
    """`docker run IMAGE serve`, as far as it goes without Docker."""
    image = Dockerfile.read(ROOT / "containers" / "cpu.Dockerfile").image
    (entry,) = image.only("ENTRYPOINT").words
    command = Path(sys.executable).with_name(Path(entry).name)
    cache = folder / "cache"
    built_in = cache / "speakahead" / cache_directory().name
    built_in.parent.mkdir(parents=True)
    built_in.symlink_to(cache_directory())
    port = free_port()
    environment = {
        **image.environment,
        "PATH": str(command.parent),
        "XDG_CACHE_HOME": str(cache),
        "SM_MODEL_DIR": str(model),
        "SPEAKAHEAD_PORT": str(port),
        **settings,
    }
    with (folder / "stdout").open("wb") as out, (folder / "stderr").open("wb") as err:
        process = subprocess.Popen(
            [command, "serve"], stdout=out, stderr=err, env=environment, cwd="/"
        )
    container = Container(process, port, folder)
    try:
        wait_until_healthy(container)
        yield container
    finally:
        process.kill()
        process.wait()


def wait_until_healthy(container: Container) -> None:
    deadline = time.monotonic() + STARTED_WITHIN_S
    while time.monotonic() < deadline:
        assert container.process.poll() is None, (container.folder / "stderr").read_text()
        with contextlib.suppress(httpx.TransportError):
            if httpx.get(f"{container.url}/ping", timeout=PING_TIMEOUT_S).status_code == 200:
                return
        time.sleep(0.1)
    raise AssertionError((container.folder / "stderr").read_text())


@pytest.fixture(scope="module")
def container(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Container]:
    """Has a model from the platform, and was promised a GPU that is not there."""
    folder = tmp_path_factory.mktemp("container")
    model = folder / "model"
    (model / "voices").mkdir(parents=True)
    (model / "model-int8.onnx").symlink_to(cache_directory() / "model-int8.onnx")
    for voice in VOICES:
        path = model / "voices" / f"{voice}.bin"
        path.symlink_to(cache_directory() / "voices" / path.name)
    with started(folder, model, SPEAKAHEAD_ENGINE="cuda", AWS_EMF_NAMESPACE="Speech") as running:
        yield running


def test_the_platforms_model_is_served(container: Container) -> None:
    listed = httpx.get(f"{container.url}/v1/audio/voices", timeout=5).json()["voices"]
    assert tuple(voice["id"] for voice in listed) == VOICES
    assert not [line for line in container.log() if "not used" in line.get("message", "")]


def test_it_listens_on_every_address(container: Container) -> None:
    assert httpx.get(f"http://127.0.0.2:{container.port}/ping", timeout=5).status_code == 200


def test_without_the_gpu_it_serves_on_the_cpu_and_says_so(container: Container) -> None:
    facts, _ = container.metric("speakahead_info")
    assert (facts["engine_requested"], facts["engine"]) == ("cuda", "cpu")
    assert facts["precision"] == "float32"
    assert facts["weights"] == "model-int8"
    assert container.metric("speakahead_engine_fallback") == ({}, 1.0)
    warnings = [line["message"] for line in container.log() if line["level"] == "warning"]
    assert any("cuda did not start: cpu decodes instead" in warning for warning in warnings)


def test_the_runtime_leaves_no_identifier_of_the_machine(container: Container) -> None:
    assert not list(container.folder.glob("cache/Microsoft"))


@pytest.mark.parametrize("route", [ROUTE, "/v1/speak"])
def test_a_session_at_either_path_is_logged_with_the_platforms_id(
    container: Container, route: str
) -> None:
    name = "session-" + route.rpartition("/")[2]
    with container.session(route, **{REQUEST_ID: name}) as client:
        reply = client.speak("Hello there.")
        assert 0.5 < reply.seconds < 3
        assert reply.end["type"] == "synthesis_complete"
    lines = logged(container, name, "connection")
    assert {"session", "utterance", "connection"} <= {line.get("event") for line in lines}
    assert all(line["request"] == name for line in lines)
    (opened,) = [line for line in lines if line.get("message") == "session opened"]
    assert opened["logger"] == "speakahead.server.bidirectional"
    (document,) = [line for line in container.printed() if line["Session"] == name]
    assert document["_aws"]["CloudWatchMetrics"][0]["Namespace"] == "Speech"
    assert (document["Outcome"], document["engine"]) == ("completed", "cpu")
    assert document["FirstSoundLatency"] > 0


def test_a_request_over_http_is_logged_with_the_platforms_id(container: Container) -> None:
    answer = httpx.post(
        f"{container.url}/invocations",
        json={"text": "Hello there.", "format": "pcm"},
        headers={REQUEST_ID: "request-1"},
        timeout=60,
    )
    assert answer.status_code == 200
    assert answer.headers["x-request-id"] == "request-1"
    lines = logged(container, "request-1", "request")
    assert {"request", "utterance"} <= {line.get("event") for line in lines}


def logged(container: Container, name: str, last: str) -> list[dict[str, Any]]:
    """The lines of a request, once the last one is there."""
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        lines = [
            line for line in container.log() if name in (line.get("request"), line.get("session"))
        ]
        if any(line.get("event") == last for line in lines):
            return lines
        time.sleep(0.02)
    raise AssertionError(container.log())


def test_ping_is_answered_in_time_while_all_speak(container: Container) -> None:
    """More sessions than this machine can keep on time, so that some wait and the rest decode."""
    text = "This is a sentence of an ordinary length."

    def speak() -> None:
        with container.session() as client:
            client.speak(text)

    speakers = [threading.Thread(target=speak) for _ in range(6)]
    for speaker in speakers:
        speaker.start()
    pings = 0
    while any(speaker.is_alive() for speaker in speakers):
        # Raises where the platform would take the container for ill.
        assert httpx.get(f"{container.url}/ping", timeout=PING_TIMEOUT_S).status_code == 200
        pings += 1
        time.sleep(0.05)
    assert pings > 5


def test_other_things_in_place_of_a_model_are_named_and_what_was_accepted_is_spoken(
    tmp_path: Path,
) -> None:
    """The built-in model serves then; SIGTERM in the middle of a reply does not cut it."""
    model = tmp_path / "model"
    model.mkdir()
    (model / "config.json").write_text("{}")
    with started(tmp_path, model) as container:
        warnings = [line["message"] for line in container.log() if line["level"] == "warning"]
        assert any("is not a model of Kokoro, and is not used" in line for line in warnings)
        with container.session() as client:
            client.send({"text": "One two three."})
            start = client.receive()
            assert isinstance(start, dict)
            assert start["type"] == "synthesis_start"
            container.process.send_signal(signal.SIGTERM)
            sound = 0
            while isinstance(frame := client.receive(), bytes):
                sound += len(frame)
            assert frame["type"] == "synthesis_complete"
            assert sound / 2 / 24000 > 0.7
            refused = httpx.get(f"{container.url}/ping", timeout=PING_TIMEOUT_S)
            assert refused.status_code == 503
        assert container.process.wait(KILLED_AFTER_S) == 0
        assert os.fspath(tmp_path) not in json.dumps(container.printed())
        assert container.printed() == []  # no metrics on standard output unless asked for
