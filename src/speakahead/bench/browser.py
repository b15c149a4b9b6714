"""The agent's page in headless Chromium, asked by a program, and the agent's process behind it."""

from __future__ import annotations

import contextlib
import importlib.util
import json
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from speakahead.bench.figures import MeasurementFailed
from speakahead.errors import ConnectionFailed, InvalidRequest

if TYPE_CHECKING:
    from playwright.sync_api import Page

_START_TIMEOUT_S = 120.0
_TURN_TIMEOUT_S = 90.0
_BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")
_HEARD = """async (text) => {
    const reply = [...document.querySelectorAll("article .text")].at(-1);
    if (reply?.textContent !== text) return false;
    if (document.querySelector("#status").textContent !== "Speaking.") return false;
    const { Output, AUDIBLE_DB } = await import("/static/output.js");
    return (await Output.open()).level() > AUDIBLE_DB;
}"""
"""Not by the words that light up: a server that decodes whole sentences knows no times of words."""


@dataclass(frozen=True, slots=True)
class Heard:
    """One turn, as the page recorded it; milliseconds since the request was sent."""

    first_byte_ms: float
    first_audible_ms: float
    text_complete_ms: float


@contextlib.contextmanager
def agent_process(script: Path, tokens_per_second: float, speech: str) -> Iterator[str]:
    """An agent with a scripted model, as a process of its own; gives the address of its page.

    Args:
        script: what the model writes.
        tokens_per_second: how fast.
        speech: address of the server that speaks for it.

    Raises:
        ConnectionFailed: it did not become ready.
    """
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "speakahead", "agent", "serve", "--port", str(port)]
    command += ["--model", "scripted", "--script", str(script), "--speech", speech]
    command += ["--tokens-per-second", str(tokens_per_second)]
    process = subprocess.Popen(  # noqa: S603
        command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    url = f"http://127.0.0.1:{port}/"
    try:
        deadline = time.monotonic() + _START_TIMEOUT_S
        while not _answers(url + "ping"):
            if process.poll() is not None or time.monotonic() > deadline:
                raise ConnectionFailed("An agent process did not become ready.")
            time.sleep(0.1)
        yield url
    finally:
        process.terminate()
        try:
            process.wait(15)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _answers(url: str) -> bool:
    with contextlib.suppress(OSError), urllib.request.urlopen(url, timeout=5):  # noqa: S310
        return True
    return False


def find_chromium(chosen: Path | None = None) -> Path:
    """The browser that is named, or one on the path.

    Raises:
        InvalidRequest: there is none, or the extra `browser` is not installed.
    """
    if importlib.util.find_spec("playwright") is None:
        raise InvalidRequest(
            "This is measured in a browser and needs the extra `browser`: speakahead[browser].",
            code="browser_missing",
        )
    found = chosen or next((Path(p) for name in _BROWSERS if (p := shutil.which(name))), None)
    if found is None or not found.is_file():
        raise InvalidRequest(
            "This is measured in Chromium, which is not there: install it, or name it.",
            code="browser_missing",
        )
    return found


@contextlib.contextmanager
def open_page(chromium: Path) -> Iterator[tuple[Page, str]]:
    """An empty page, and the browser's name and version for a report."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium)
        try:
            context = browser.new_context(viewport={"width": 1000, "height": 700})
            page = context.new_page()
            page.set_default_timeout(1000 * _START_TIMEOUT_S)
            yield page, f"Chromium {browser.version}, headless"
        finally:
            browser.close()


def ask(page: Page, url: str, mode: str, reply: str) -> Heard:
    """Ask, hear the beginning of the reply, interrupt, and read the page's time line.

    Args:
        url: of the agent's page; it stays open if it is already.
        mode: ``bidi`` or ``batch``.
        reply: what is going to be written.

    Raises:
        MeasurementFailed: nothing was heard, or something else was written.
    """
    if page.url != url:
        page.goto(url)
        page.locator("select[name=voice] option").first.wait_for(state="attached")
    page.locator(f"label:has(input[value={mode}])").click()
    page.get_by_role("textbox").fill("Please tell me.")
    page.keyboard.press("Enter")
    deadline = time.monotonic() + _TURN_TIMEOUT_S
    while not page.evaluate(_HEARD, reply):
        if time.monotonic() > deadline:
            raise MeasurementFailed("A reply was not written on the page, or not heard.")
        page.wait_for_timeout(100)
    page.keyboard.press("Escape")
    page.locator("#interrupt").wait_for(state="hidden")
    with page.expect_download() as download:
        page.locator("#save").click()
    (run,) = json.loads(Path(download.value.path()).read_text())["runs"]
    marks = run["marks_ms"]
    missing = {"first_audio_byte", "first_audible", "text_complete"} - marks.keys()
    if missing or run["settings"]["mode"] != mode:
        raise MeasurementFailed("The page's time line is not complete.")
    return Heard(marks["first_audio_byte"], marks["first_audible"], marks["text_complete"])
