"""The page follows the voice through a reply that is longer than the screen."""

import pytest

from tests.web.conftest import AgentProcess, Asking, Open

pytestmark = pytest.mark.browser

WATCH = """() => {
    const inSight = (word) => {
        const { left, top, width, height } = word.getBoundingClientRect();
        return word.contains(document.elementFromPoint(left + width / 2, top + height / 2));
    };
    const words = () => Array.from(document.querySelectorAll(".word"));
    const last = () => words().findLast((word) => word.classList.contains("heard"));
    globalThis.sight = { hidden: [] };
    sight.first = () => inSight(words()[0]);
    sight.last = () => inSight(last());
    setInterval(() => {
        const now = document.querySelector(".word.now");
        if (now && !inSight(now)) sight.hidden.push(words().indexOf(now));
    }, 20);
}"""
LINE = 4  # words


def heard(asking: Asking, lines: int) -> None:
    asking.page.locator(".word.heard").nth(LINE * lines).wait_for(timeout=60_000)


def hidden(asking: Asking) -> list[int]:
    """Words that were spoken and could not be seen, since the last call."""
    return list(asking.page.evaluate("() => sight.hidden.splice(0)"))


@pytest.mark.parametrize(("width", "height"), [(360, 640), (1280, 800)])
def test_voice_is_followed_until_one_scrolls(
    plain: AgentProcess, open_page: Open, width: int, height: int
) -> None:
    asking = open_page(plain, viewport={"width": width, "height": height})
    asking.ask("spread out")
    asking.page.evaluate(WATCH)
    heard(asking, 5)
    assert not asking.page.evaluate("sight.first()")  # it was longer than the screen
    assert hidden(asking) == []
    # The form, which lies over the page on narrow screens, may grow.
    asking.page.evaluate("document.getElementById('prompt').rows = 5")
    heard(asking, 6)
    hidden(asking)  # until the next word
    heard(asking, 8)
    assert hidden(asking) == []

    # Who scrolls back can read there.
    asking.page.mouse.move(width / 2, 150)
    asking.page.mouse.wheel(0, -10_000)
    asking.until(lambda: bool(asking.page.evaluate("sight.first()")), 2)
    heard(asking, 10)
    assert asking.page.evaluate("sight.first()")
    assert not asking.page.evaluate("sight.last()")

    # Who comes back to the voice is taken along again.
    asking.page.evaluate(
        "Array.from(document.querySelectorAll('.word.heard')).at(-1)"
        ".scrollIntoView({ block: 'center', behavior: 'instant' })"
    )
    heard(asking, 11)
    hidden(asking)
    heard(asking, 14)
    assert hidden(asking) == []
    asking.page.keyboard.press("Escape")
    asking.idle()
