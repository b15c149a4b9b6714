"""Chromium, the agent's process, and a page that knows what is expected of it."""

from __future__ import annotations

import contextlib
import json
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from tests.conftest import free_port

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Page

AUDIBLE_DB = -50.0
CHROMIUM = shutil.which("chromium")  # the system's; without one, Playwright's own


class AgentProcess:
    """An agent that can be killed, and started again at the same address.

    Args:
        engine: as ``tests.web.process`` takes it; or ``shipped``: what `make demo` runs, with the
            embedded model.
    """

    def __init__(self, engine: str, log: Path) -> None:
        self.engine = engine
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}/"
        self.log = log
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        command = [sys.executable, "-m"]
        if self.engine == "shipped":
            command += ["speakahead", "agent", "serve", "--port", str(self.port)]
        else:
            command += ["tests.web.process", str(self.port), self.engine]
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(command, stdout=log, stderr=log)
        deadline = time.monotonic() + 120
        while time.monotonic() < deadline:
            assert self._process.poll() is None, self.log.read_text()
            with contextlib.suppress(httpx.HTTPError):
                httpx.get(self.url + "ping", timeout=5)
                return
            time.sleep(0.1)
        raise AssertionError(self.log.read_text())

    def kill(self) -> None:
        assert self._process is not None
        self._process.kill()
        self._process.wait()

    def status(self) -> str:
        return str(httpx.get(self.url + "ping").json()["status"])


@contextlib.contextmanager
def running(engine: str, factory: pytest.TempPathFactory) -> Iterator[AgentProcess]:
    agent = AgentProcess(engine, factory.mktemp(engine) / "log")
    agent.start()
    yield agent
    agent.kill()


@pytest.fixture(scope="package")
def real(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AgentProcess]:
    """With Kokoro."""
    with running("real", tmp_path_factory) as agent:
        yield agent


@pytest.fixture(scope="package")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AgentProcess]:
    """With a tone instead of a voice: 50 ms for each character, a whole sentence at once."""
    with running("plain", tmp_path_factory) as agent:
        yield agent


@pytest.fixture
def late(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AgentProcess]:
    """With the tone, in pieces of which the first ones come later than they are heard."""
    with running("late", tmp_path_factory) as agent:
        yield agent


@pytest.fixture
def shipped(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AgentProcess]:
    """With the embedded model and Kokoro."""
    with running("shipped", tmp_path_factory) as agent:
        yield agent


@pytest.fixture(scope="package")  # not longer: its event loop would be in the way of other tests
def chromium() -> Iterator[Browser]:
    from playwright.sync_api import sync_playwright  # the extra `browser`

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=CHROMIUM, args=["--autoplay-policy=document-user-activation-required"]
        )
        yield browser
        browser.close()


@dataclass
class Asking:
    """A page that is open."""

    page: Page
    complaints: list[str] = field(default_factory=list)

    def choose(
        self, *, mode: str = "bidi", transport: str = "ws", format: str = "pcm", speed: str = "1"
    ) -> None:
        self.page.locator(f"label:has(input[value={mode}])").click()
        self.page.locator("select[name=transport]").select_option(transport)
        self.page.locator("select[name=format]").select_option(format)
        self.page.locator("input[name=speed]").fill(speed)

    def ask(self, question: str, **settings: str) -> None:
        if settings:
            self.choose(**settings)
        self.page.get_by_role("textbox").fill(question)
        self.page.keyboard.press("Enter")
        self.watch()

    def watch(self) -> None:
        """Look at the analyser often, also while the test does something else."""
        script = """async () => {
            const { Output } = await import("/static/output.js");
            const output = await Output.open();
            clearInterval(globalThis.levels?.timer);
            const look = () => (levels.highest = Math.max(levels.highest, output.level()));
            globalThis.levels = { highest: -Infinity, now: () => output.level() };
            levels.timer = setInterval(look, 20);
        }"""
        self.page.evaluate(script)

    def speaking(self, timeout: float = 60.0) -> None:
        self.until(lambda: self.status == "Speaking.", timeout)

    def idle(self, timeout: float = 90.0) -> None:
        """Wait until nothing is going on."""
        self.page.locator("#interrupt").wait_for(state="hidden", timeout=1000 * timeout)

    @property
    def status(self) -> str:
        return self.page.locator("#status").inner_text()

    @property
    def reply(self) -> str:
        """The text of the latest reply."""
        return self.page.locator(".text").last.inner_text()

    def words(self, kind: str) -> str:
        """The latest reply's words that are ``heard`` or ``unheard``."""
        spans = self.page.locator("article").last.locator(f".{kind}")
        return " ".join(spans.all_inner_texts())

    def level(self) -> float:
        """What the analyser at the output sees, in dBFS."""
        return float(self.page.evaluate("() => levels.now()"))

    def audible(self, timeout: float = 30.0) -> None:
        """Wait until the analyser has seen sound since the question was asked."""
        self.until(lambda: self.page.evaluate("() => levels.highest") > AUDIBLE_DB, timeout)

    def runs(self) -> list[dict[str, Any]]:
        """The time line, as the user saves it."""
        with self.page.expect_download() as download:
            self.page.get_by_role("button", name="Save as JSON").click()
        saved = json.loads(Path(download.value.path()).read_text())
        assert saved["version"] == 1
        return list(saved["runs"])

    def until(self, condition: Callable[[], bool], timeout: float = 30.0) -> None:
        deadline = time.monotonic() + timeout
        while not condition():
            assert time.monotonic() < deadline, f"status: {self.status}"
            self.page.wait_for_timeout(30)


Open = Callable[..., Asking]


@pytest.fixture
def open_page(chromium: Browser) -> Iterator[Open]:
    """Opens pages, which must not write errors on the console."""
    contexts: list[BrowserContext] = []
    opened: list[Asking] = []

    def open_one(
        agent: AgentProcess, script: str = "", logged: str | None = None, **options: Any
    ) -> Asking:
        """The page, with a script that runs before its own, or even until that has ``logged``."""
        options = {"viewport": {"width": 1280, "height": 800}, "color_scheme": "light"} | options
        context = chromium.new_context(**options)
        contexts.append(context)
        page = context.new_page()
        page.add_init_script(script)
        asking = Asking(page)
        opened.append(asking)
        page.on(
            "console",
            lambda message: (
                asking.complaints.append(message.text)
                if message.type in ("error", "warning")
                else None
            ),
        )
        page.on("pageerror", lambda error: asking.complaints.append(str(error)))
        if logged is None:
            page.goto(agent.url)
        else:
            with page.expect_console_message(lambda message: message.text == logged):
                page.goto(agent.url)
        page.locator("select[name=voice] option").first.wait_for(state="attached")
        return asking

    yield open_one
    for context in contexts:
        context.close()
    for asking in opened:
        assert asking.complaints == []
