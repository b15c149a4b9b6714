"""The server as a process: start, failure to start, and shutdown."""

import contextlib
import signal
import subprocess
import sys
import time
from pathlib import Path

import httpx
import pytest

from tests.conftest import free_port, run_server, wait_until_ready


def test_ping_is_503_until_the_model_is_warm(tmp_path: Path) -> None:
    with run_server(tmp_path / "log", wait=False) as server:
        statuses = []
        deadline = time.monotonic() + 90
        while time.monotonic() < deadline and 200 not in statuses:
            with contextlib.suppress(httpx.ConnectError):
                answer = httpx.get(server.url + "/ping", timeout=5)
                statuses.append(answer.status_code)
                if answer.status_code == 503 and 503 not in statuses[:-1]:
                    assert answer.json()["error"]["code"] == "not_ready"
                    speech = httpx.post(server.url + "/invocations", json={"text": "Hi."})
                    assert speech.status_code == 503
                    assert int(speech.headers["retry-after"]) >= 1
            time.sleep(0.02)
        assert statuses[0] == 503
        assert statuses[-1] == 200


def test_sigterm_ends_the_process(tmp_path: Path) -> None:
    with run_server(tmp_path / "log") as server:
        server.process.send_signal(signal.SIGTERM)
        assert server.process.wait(30) in (0, -signal.SIGTERM)
        assert "Traceback" not in server.log_text()


def test_without_a_model_the_process_says_so_and_ends(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "speakahead", "serve", "--model", str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 1
    assert "speakahead models pull" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_voice_that_does_not_exist_ends_the_process(tmp_path: Path) -> None:
    with run_server(tmp_path / "log", "--voice", "nobody", wait=False) as server:
        assert server.process.wait(90) == 1
        assert "There is no such voice" in server.log_text()
        assert "Traceback" not in server.log_text()


def test_a_port_in_use_is_one_line(tmp_path: Path) -> None:
    with run_server(tmp_path / "log") as server:
        wait_until_ready(server)
        done = subprocess.run(
            [sys.executable, "-m", "speakahead", "serve", "--port", str(server.port)],
            capture_output=True,
            text=True,
            timeout=90,
            check=False,
        )
        assert done.returncode != 0
        assert "address already in use" in done.stderr
        assert "Traceback" not in done.stderr


@pytest.fixture
def port() -> int:
    return free_port()


def test_check_says_when_nothing_listens(port: int) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "speakahead", "check", f"http://127.0.0.1:{port}"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 1
    assert "cannot be reached" in done.stdout
