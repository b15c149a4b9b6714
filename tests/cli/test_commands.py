"""The command line as a user runs it."""

import json
import os
import signal
import subprocess
import sys
import time
import wave
from pathlib import Path

import pytest

from speakahead.cli.check import SENTENCES
from tests.conftest import Server


def run(*arguments: str, stdin: str | None = None) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-m", "speakahead", *arguments],
        input=None if stdin is None else stdin.encode(),
        stdin=subprocess.DEVNULL if stdin is None else None,
        capture_output=True,
        timeout=120,
        check=False,
    )


def test_say_writes_a_wav_file_and_a_time_line(tmp_path: Path) -> None:
    target = tmp_path / "hello.wav"
    done = run("say", "Hello there. How are you?", "-o", str(target), "--timeline")
    assert done.returncode == 0, done.stderr
    with wave.open(str(target)) as file:
        assert 2.4 < file.getnframes() / file.getframerate() < 3.6
    printed = done.stderr.decode()
    assert "Hello there." in printed
    assert "First sound at" in printed


def test_the_time_line_shows_the_text_as_it_was_written(tmp_path: Path) -> None:
    text = "Say [red]x[/red] or [/b] now."
    done = run("say", text, "-o", str(tmp_path / "x.wav"), "--timeline")
    assert done.returncode == 0, done.stderr
    shown = "".join(line.rpartition("│")[0].rpartition("│")[2].strip() + " "
                    for line in done.stderr.decode().splitlines())  # fmt: skip
    assert text in " ".join(shown.split())


def test_say_speaks_standard_input_while_it_is_written() -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "speakahead", "say", "-", "-o", "-"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(b"Hello there. And th")
    process.stdin.flush()
    first = process.stdout.read(44 + 4800)  # blocks until a sentence has been spoken
    assert first[:4] == b"RIFF"
    assert any(first[44:])
    process.stdin.write("is is the end, café".encode()[:-1])
    process.stdin.flush()
    time.sleep(0.05)
    process.stdin.write("é.".encode()[1:])  # the rest of a character that was cut in two
    process.stdin.close()
    rest = process.stdout.read()
    assert process.wait(60) == 0
    assert len(first + rest) / 48000 > 2.5


def test_standard_output_is_only_appended_to(tmp_path: Path) -> None:
    target = tmp_path / "both.bin"
    target.write_bytes(b"before")
    with target.open("ab") as output:
        subprocess.run(
            [sys.executable, "-m", "speakahead", "say", "Hi.", "-o", "-"],
            stdout=output,
            timeout=120,
            check=True,
        )
    assert target.read_bytes().startswith(b"beforeRIFF")
    assert target.read_bytes().count(b"RIFF") == 1


def test_an_interrupt_ends_say_although_nothing_is_typed(tmp_path: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "speakahead", "say", "-", "-o", str(tmp_path / "x.wav")],
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    deadline = time.monotonic() + 120
    while not (tmp_path / "x.wav").exists():  # it is open: the model is loaded
        assert time.monotonic() < deadline
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    assert process.wait(60) == 130
    assert process.stderr is not None
    assert b"Traceback" not in process.stderr.read()


def test_say_says_when_there_is_nothing_to_say(tmp_path: Path) -> None:
    done = run("say", "-", "-o", str(tmp_path / "x.wav"), stdin="  \n")
    assert done.returncode == 0
    assert b"nothing to say" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["say", "Hi.", "-v", "nobody", "-o", "x.wav"], "There is no such voice"),
        (["say", "Hi.", "--speed", "9", "-o", "x.wav"], "speed must be"),
        (["say", "Hi.", "-o", "/nonexistent/x.wav"], "cannot be written"),
        (["voices", "--model", "/nonexistent"], "models pull"),
        (["models", "pull", "--from", "/nonexistent", "--to", "y"], "existing directory"),
    ],
)
def test_errors_are_one_line(arguments: list[str], message: str, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "speakahead", *arguments],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        cwd=tmp_path,
    )
    assert done.returncode == 1
    assert message in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ["demo", "--rate", "0"],
        ["demo", "--rate", "nan"],
        ["check", "http://127.0.0.1:1", "--timeout", "nan"],
        ["check", "http://127.0.0.1:1", "--timeout", "inf"],
        ["check", "http://127.0.0.1:1", "--timeout", "0"],
    ],
)
def test_a_number_out_of_range_is_refused(arguments: list[str]) -> None:
    done = run(*arguments)
    assert done.returncode == 2
    assert f"Invalid value for '{arguments[-2]}'" in done.stderr.decode()


@pytest.mark.parametrize(
    ("package", "arguments", "extra"),
    [
        ("h2", ["emulate", "sagemaker"], "aws"),
        ("cryptography", ["emulate", "sagemaker"], "aws"),
        ("strands", ["agent", "ask", "Hi.", "--model", "scripted"], "agent"),
    ],
)
def test_packages_that_are_missing_are_named(
    package: str, arguments: list[str], extra: str
) -> None:
    """As where the extra was never installed."""
    program = (
        f"import sys; sys.modules[{package!r}] = None; from speakahead.cli.main import main; main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, *arguments],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 1
    assert f"needs more packages: pip install 'speakahead[{extra}]'." in done.stderr
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full here")
@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        (["say", "Hello there.", "-o", "/dev/full"], "/dev/full"),
        (["say", "Hello there.", "-o", "-"], "Standard output"),
        (["voices"], "Standard output"),
        (["voices", "--json"], "Standard output"),
    ],
)
def test_a_full_disk_is_one_line(arguments: list[str], name: str) -> None:
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [sys.executable, "-m", "speakahead", *arguments],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            timeout=120,
            check=False,
        )
    assert done.returncode == 1
    assert done.stderr == f"speakahead: {name} cannot be written: No space left on device.\n"


@pytest.mark.skipif(os.path.exists("/dev/snd"), reason="there may be a sound device here")
def test_without_a_sound_device_say_tells_what_to_do() -> None:
    done = run("say", "Hi.")
    assert done.returncode == 1
    assert b"no sound device" in done.stderr


def test_voices() -> None:
    rows = json.loads(run("voices", "--json").stdout)
    assert len(rows) == 54
    heart = next(row for row in rows if row["name"] == "af_heart")
    assert (heart["language"], heart["sex"], heart["available"]) == ("en-us", "female", True)
    assert not next(row for row in rows if row["name"] == "jf_alpha")["available"]


def test_check_against_a_server(server: Server) -> None:
    done = run("check", server.url)
    printed = done.stdout.decode()
    assert done.returncode == 0, printed
    for sentence in SENTENCES:
        assert sentence in printed
    assert "bytes" in printed


def test_check_against_something_else(server: Server) -> None:
    done = run("check", server.url + "/nowhere")
    assert done.returncode == 1
    assert b"FAILED" in done.stdout


def test_help_fits_a_screen() -> None:
    printed = run("--help").stdout.decode()
    assert len(printed.splitlines()) <= 24
    assert all(len(line) <= 80 for line in printed.splitlines())


def test_say_without_a_standard_input_ends_with_a_sentence(tmp_path: Path) -> None:
    """A source that fails must not leave its listener waiting for ever."""
    done = subprocess.run(
        ["/bin/sh", "-c", '"$0" -m speakahead say - -o "$1" <&-', sys.executable, "x.wav"],
        cwd=tmp_path,
        capture_output=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 1
    assert b"standard input" in done.stderr
    assert b"Traceback" not in done.stderr
