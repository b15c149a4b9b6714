"""Asking by voice. Headless Chromium has no engine for it, so the browser's own API is replaced."""

from typing import Any

import pytest

from tests.web.conftest import AgentProcess, Asking, Open
from tests.web.process import SHORT

pytestmark = pytest.mark.browser

BROWSER = """
delete globalThis.SpeechRecognition;
globalThis.webkitSpeechRecognition = class {
    start() {
        globalThis.recognition = this;
    }
    stop() {
        this.onend();
    }
    hears(transcript, isFinal) {
        const result = Object.assign([{ transcript }], { isFinal });
        this.onresult({ results: [result] });
        if (isFinal) this.onend();
    }
    fails(error) {
        this.onerror({ error });
        this.onend();
    }
};
"""


def pressed(asking: Asking) -> str | None:
    return asking.page.locator("#dictate").get_attribute("aria-pressed")


def listen(asking: Asking) -> None:
    assert pressed(asking) == "false"
    asking.page.get_by_role("button", name="Speak your question").click()
    assert asking.status == "Listening."
    assert pressed(asking) == "true"


def tell(asking: Asking, call: str, *arguments: Any) -> str:
    """Let the browser's part do this; returns the status right after it."""
    return str(
        asking.page.evaluate(
            """([call, values]) => {
                recognition[call](...values);
                return document.getElementById("status").textContent;
            }""",
            [call, arguments],
        )
    )


def test_what_was_said_is_asked(plain: AgentProcess, open_page: Open) -> None:
    asking = open_page(plain, BROWSER)
    listen(asking)
    assert tell(asking, "hears", "sho", False) == "Listening."
    assert asking.page.get_by_role("textbox").input_value() == "sho"
    assert asking.page.locator("article").count() == 0
    tell(asking, "hears", "short", True)
    assert pressed(asking) == "false"
    asking.until(lambda: asking.reply == SHORT)
    asking.idle()


def test_the_end_of_listening_leaves_what_the_page_tells(
    plain: AgentProcess, open_page: Open
) -> None:
    asking = open_page(plain, BROWSER)
    listen(asking)
    asking.page.evaluate(
        "recognition.onend = ((end) => () => (recognition.end = end))(recognition.onend)"
    )
    tell(asking, "hears", "slow", True)
    asking.speaking()
    assert tell(asking, "end") == "Speaking."
    assert pressed(asking) == "false"
    asking.page.keyboard.press("Escape")
    asking.idle()


@pytest.mark.parametrize(
    ("error", "status"),
    [
        ("not-allowed", "The browser does not allow the microphone here."),
        ("no-speech", "Nothing was heard."),
        ("aborted", ""),
    ],
)
def test_errors_stay_readable(
    plain: AgentProcess, open_page: Open, error: str, status: str
) -> None:
    asking = open_page(plain, BROWSER)
    listen(asking)
    assert tell(asking, "fails", error) == status
    assert pressed(asking) == "false"
    listen(asking)
    asking.page.get_by_role("button", name="Speak your question").click()  # enough
    assert pressed(asking) == "false"
    assert asking.status == ""


def test_listening_interrupts(plain: AgentProcess, open_page: Open) -> None:
    asking = open_page(plain, BROWSER)
    asking.ask("long")
    asking.speaking()
    asking.page.get_by_role("button", name="Speak your question").click()
    asking.idle(10)
    asking.until(lambda: asking.status == "Listening.", 1)
    (run,) = asking.runs()
    assert run["outcome"] == "interrupted"
