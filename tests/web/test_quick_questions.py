"""Questions that come faster than the ones before end."""

from typing import Any

import pytest
from playwright.sync_api import Request

from tests.web.conftest import AUDIBLE_DB, AgentProcess, Asking, Open
from tests.web.process import SHORT
from tests.web.test_page import check_heard

pytestmark = pytest.mark.browser

ASK = """(questions) => {
    for (const question of questions) {
        document.getElementById("prompt").value = question;
        document.getElementById("ask").requestSubmit();
    }
}"""


@pytest.mark.parametrize("transport", ["ws", "sse"])
def test_only_the_newest_question_is_answered(
    plain: AgentProcess, open_page: Open, transport: str
) -> None:
    asking = open_page(plain)
    asking.ask("long", transport=transport)
    asking.speaking()
    asking.page.evaluate(ASK, ["slow", "at once", "short"])
    asking.until(lambda: asking.reply == SHORT)
    asking.idle()
    check_heard(asking.runs()[0])
    assert asking.page.locator("article h2").all_inner_texts() == ["long", "short"]
    assert plain.status() == "Healthy"


def test_escape_stops_all_of_them(plain: AgentProcess, open_page: Open) -> None:
    asking = open_page(plain)
    asking.ask("long")
    asking.speaking()
    asking.page.evaluate(ASK, ["long", "long"])
    asking.page.locator("article").nth(1).wait_for()
    asking.speaking()
    asking.page.keyboard.press("Escape")
    asking.until(lambda: asking.level() < AUDIBLE_DB, 2)
    asking.idle(10)
    asking.page.evaluate(ASK, ["long"])
    asking.speaking()
    # Also one that still waits for the one before to end.
    asking.page.evaluate(ASK, ["short"])
    asking.page.keyboard.press("Escape")
    asking.idle(10)
    asking.page.wait_for_timeout(500)
    assert asking.level() < AUDIBLE_DB
    assert plain.status() == "Healthy"
    assert asking.page.locator("article h2").all_inner_texts() == ["long"] * 3


def interrupt_on_its_way(asking: Asking) -> None:
    """Ask, and interrupt before the request has reached the agent."""
    asking.page.route("**/invocations", lambda _: None)
    with asking.page.expect_request("**/invocations"):
        asking.ask("short")
    asking.page.keyboard.press("Escape")
    asking.idle(10)
    asking.page.unroute("**/invocations")


def test_request_that_never_reached_the_agent(plain: AgentProcess, open_page: Open) -> None:
    """Its interruption says nothing about the turn before, of which all was heard."""
    asking = open_page(plain)
    asking.ask("short", transport="sse")
    asking.idle()
    interrupt_on_its_way(asking)
    asking.ask("history")
    asking.until(lambda: asking.reply.endswith("]") or "nothing" in asking.reply)
    assert asking.reply == f"Heard: [{SHORT}]"


def test_what_was_heard_is_told_by_the_next_request(plain: AgentProcess, open_page: Open) -> None:
    """Of the turn before the one that never reached the agent."""
    asking = open_page(plain)
    told: list[Any] = []

    def note(request: Request) -> None:
        if request.url.endswith("/invocations"):
            told.append((request.post_data_json or {}).get("played_s"))

    asking.page.on("request", note)
    asking.ask("long", transport="sse")
    asking.page.locator(".word.heard").nth(7).wait_for()
    asking.page.keyboard.press("Escape")
    asking.idle(10)
    heard = asking.words("heard")
    interrupt_on_its_way(asking)
    asking.ask("history")
    asking.until(lambda: asking.reply.endswith("]"))
    assert asking.reply == f"Heard: [{heard}]"
    assert told[0] is None
    assert told[1] == told[2] > 1


def test_socket_that_does_not_open(plain: AgentProcess, open_page: Open) -> None:
    """As above, over a WebSocket whose handshake never ends."""
    script = """
    const Real = WebSocket;
    globalThis.WebSocket = class extends Real {
        #slow = Boolean(globalThis.slow);
        get readyState() { return this.#slow ? Real.CONNECTING : super.readyState; }
        set onopen(action) { if (!this.#slow) super.onopen = action; }
    };
    """
    asking = open_page(plain, script)
    asking.ask("short", transport="sse")
    asking.idle()
    asking.page.evaluate("globalThis.slow = true")
    asking.page.evaluate(
        'import("/static/transports.js").then(({ SocketTurn }) => new SocketTurn({}).close())'
    )
    asking.ask("short", transport="ws")
    asking.until(lambda: asking.status == "Asked.")
    asking.page.keyboard.press("Escape")
    asking.idle(10)
    asking.page.evaluate("globalThis.slow = false")
    asking.ask("history", transport="sse")
    asking.until(lambda: asking.reply.endswith("]") or "nothing" in asking.reply)
    assert asking.reply == f"Heard: [{SHORT}]"
