"""Addresses, files, versions and hashes."""

from __future__ import annotations

from collections.abc import Callable

import pytest

CASES = {
    "Email bob@example.com.": "Email bob at example dot com.",
    "john.doe+spam@mail.example.co.uk": (
        "john dot doe plus spam at mail dot example dot co dot uk"
    ),
    "See https://www.example.com/path?x=1.": "See example dot com slash path.",
    "https://example.com/a/b/c/d/e/f/g/h/i/j/k/l/m/n/o/p/q/r/s/t/u/v": "example dot com",
    "https://example.com/x9f3kQ2_z": "example dot com",
    "(see https://example.com/docs)": "(see example dot com slash docs)",
    "visit www.example.com": "visit example dot com",
    "http://localhost:8080/health": "localhost port eighty eighty slash health",
    "192.168.1.1": "one ninety two dot one sixty eight dot one dot one",
    "10.0.0.1:443": "ten dot zero dot zero dot one port four forty three",
    "v2.10.0": "version two point ten point zero",
    "Python 3.12": "Python three point twelve",
    "Version 2.0.1 was released": "Version two point zero point one was released",
    "Ubuntu 22.04": "Ubuntu twenty two point oh four",
    "main.py": "main dot py",
    "Open src/main.py.": "Open src slash main dot py.",
    "/usr/local/bin": "slash usr slash local slash bin",
    "Node.js": "Node dot JS",
    "commit a1b2c3d": "commit A one B two C three D",
    "9f86d081884c7d659a2feaa0c55ad015": "nine F eight six D zero eight, and so on",
}


@pytest.mark.parametrize(("written", "spoken"), CASES.items())
def test_reads_as_a_person_would(say: Callable[..., str], written: str, spoken: str) -> None:
    assert say(written) == spoken
