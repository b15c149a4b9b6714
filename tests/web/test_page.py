"""The page in a real browser, with the agent as a process of its own."""

import os
from pathlib import Path
from typing import Any

import pytest

from tests.web.conftest import AUDIBLE_DB, AgentProcess, Open
from tests.web.process import ANSWER, QUESTION, SHORT

pytestmark = pytest.mark.browser

PICTURE = Path(__file__).parents[2] / "docs" / "images" / "page.png"


def check_heard(run: dict[str, Any]) -> None:
    """All of a run was heard, in the order in which it must have happened."""
    marks = run["marks_ms"]
    assert run["outcome"] == "end"
    assert marks["request_sent"] == 0 < marks["first_text"] <= marks["first_sentence"]
    assert marks["first_audio_byte"] <= marks["first_decoded"] < marks["first_audible"]
    assert marks["first_audible"] < marks["end"]
    assert run["bytes"] == sum(count for _, count in run["chunks"]) > 0
    assert run["server_s"]["audio_s"] <= (marks["end"] - marks["first_audio_byte"]) / 1000 + 0.1
    if run["settings"]["format"] == "pcm":  # for the others the browser decides
        check_gaps(run)


def check_gaps(run: dict[str, Any]) -> None:
    """The sound stopped only where all that had come had been played.

    With an engine that keeps ahead, as on an idle machine, that means: nowhere in a reply that
    is written fast enough.
    """
    rate = run["bytes"] / run["server_s"]["audio_s"]
    for gap in run["gaps_ms"]:
        # What came at the last moment was still on its way to the loudspeaker.
        received_s = sum(count for at, count in run["chunks"] if at <= gap["at"] - 100) / rate
        assert gap["position_s"] > received_s - 0.35, run["gaps_ms"]


@pytest.mark.parametrize("transport", ["ws", "sse"])
@pytest.mark.parametrize("mode", ["bidi", "batch"])
def test_asked_seen_and_heard(
    real: AgentProcess, open_page: Open, mode: str, transport: str
) -> None:
    asking = open_page(real)
    question = "in step" if mode == "bidi" else "short"  # the same reply; see the model
    asking.ask(question, mode=mode, transport=transport, speed="1.5")
    asking.speaking()
    asking.audible()
    asking.idle()
    assert asking.reply == SHORT
    assert asking.words("heard") == SHORT  # "$3.50" is one word, as it is written
    (run,) = asking.runs()
    check_heard(run)
    marks = run["marks_ms"]
    if mode == "bidi":  # the model writes the second sentence when the first has sound
        assert marks["first_audio_byte"] < marks["text_complete"]
    else:
        assert marks["first_audio_byte"] > marks["text_complete"]
    assert run["settings"]["transport"] == transport


@pytest.mark.parametrize("transport", ["ws", "sse"])
@pytest.mark.parametrize("mode", ["bidi", "batch"])
def test_no_underrun(plain: AgentProcess, open_page: Open, mode: str, transport: str) -> None:
    """With speech that keeps ahead the sound never stops, on a busy machine either.

    So it is the page that is tested: this engine hands out whole sentences, and the text comes at
    once. Kokoro on an idle machine keeps ahead as well; on a shared one it may not.
    """
    asking = open_page(plain)
    asking.ask("at once", mode=mode, transport=transport)
    asking.idle()
    (run,) = asking.runs()
    check_heard(run)
    assert run["gaps_ms"] == []
    assert run["cushion_s"] == 0


def test_the_start_waits_for_speech_that_was_late(late: AgentProcess, open_page: Open) -> None:
    """The next turn is held back by as much as this one was late, and so has no gap."""
    asking = open_page(late)
    gaps_ms = []
    cushions_s = []
    for _ in range(2):
        asking.ask("a sentence")
        asking.idle()
        (run,) = asking.runs()
        check_heard(run)
        gaps_ms.append(sum(gap["length"] for gap in run["gaps_ms"]))
        cushions_s.append(run["cushion_s"])
    assert cushions_s[0] == 0
    assert cushions_s[1] > 0.25
    assert gaps_ms[0] > 150
    assert gaps_ms[1] < gaps_ms[0] / 2


def test_what_make_demo_serves(shipped: AgentProcess, open_page: Open) -> None:
    """The embedded model: a question, and one after an interruption."""
    asking = open_page(shipped)
    assert "SmolLM2" in asking.page.locator("#about").inner_text()
    assert asking.page.locator("select[name=voice] option").count() > 10
    asking.page.get_by_role("button", name="Why is the sky blue?").click()
    asking.watch()
    asking.speaking()
    asking.audible()
    asking.page.locator(".word.heard").nth(3).wait_for(timeout=60_000)
    asking.page.keyboard.press("Escape")
    asking.idle()
    (run,) = asking.runs()
    assert run["outcome"] == "interrupted"
    assert run["marks_ms"]["first_text"] < run["marks_ms"]["first_audible"]
    assert asking.reply.startswith(asking.words("heard")[:10])
    asking.ask("And at night?", transport="sse")
    asking.speaking()
    asking.audible()
    asking.page.keyboard.press("Escape")
    asking.idle()


def test_compressed_sound(real: AgentProcess, open_page: Open) -> None:
    asking = open_page(real)
    for audio_format in "mp3", "aac", "webm":
        asking.ask("short", format=audio_format, speed="2")
        asking.audible()
        asking.idle()
        (run,) = asking.runs()
        check_heard(run)
        assert run["settings"]["format"] == audio_format
        assert run["bytes"] < 0.25 * run["server_s"]["audio_s"] * 48_000
        assert asking.words("heard") == SHORT


def test_race_and_picture(real: AgentProcess, open_page: Open, tmp_path: Path) -> None:
    """Both ways with the same words; the README's picture is taken while the second one speaks."""
    asking = open_page(real)
    asking.ask(QUESTION, mode="race")
    asking.page.locator(".batch .word.heard").nth(13).wait_for(timeout=120_000)
    picture = tmp_path / "page.png"
    asking.page.screenshot(path=picture, caret="initial")
    assert 20_000 < picture.stat().st_size < 300_000
    if not PICTURE.exists() or os.environ.get("SPEAKAHEAD_PICTURES"):  # its times differ each time
        PICTURE.parent.mkdir(exist_ok=True)
        PICTURE.write_bytes(picture.read_bytes())
    ahead, waits = asking.page.locator(".text").all_inner_texts()
    assert ahead == waits == ANSWER
    asking.page.keyboard.press("Escape")
    asking.idle()
    bidi, batch = asking.runs()
    check_heard(bidi)
    sooner = batch["marks_ms"]["first_audible"] - bidi["marks_ms"]["first_audible"]
    assert sooner > 1000
    number, rest = asking.page.locator("#headline").inner_text().split(" ", 1)
    assert float(number) == pytest.approx(sooner / 1000, abs=0.006)
    assert rest == "s sooner"
    written = batch["marks_ms"]["text_complete"], bidi["marks_ms"]["text_complete"]
    assert abs(written[0] - written[1]) < 1000  # the replay was written at the same times


@pytest.mark.parametrize(
    ("transport", "how"), [("ws", "Escape"), ("ws", "button"), ("sse", "typing")]
)
def test_interruption(plain: AgentProcess, open_page: Open, transport: str, how: str) -> None:
    asking = open_page(plain)
    asking.ask("long", transport=transport)
    asking.page.locator(".word.heard").nth(7).wait_for()
    if how == "button":
        asking.page.get_by_role("button", name="Interrupt").click()
    elif how == "typing":
        asking.page.get_by_role("textbox").press("h")
    else:
        asking.page.keyboard.press("Escape")
    asking.until(lambda: asking.level() < AUDIBLE_DB, 2)  # most of the reply is still to come
    asking.idle(10)
    assert asking.status.startswith("Interrupted after ")
    assert asking.page.evaluate("document.activeElement.id") == "prompt"
    heard, unheard = asking.words("heard"), asking.words("unheard")
    assert heard.startswith("Here comes one more sentence. Here comes")
    assert unheard
    assert plain.status() == "Healthy"  # nothing goes on behind the page
    (run,) = asking.runs()
    assert run["outcome"] == "interrupted"
    # The agent remembers what was lit up, and no more.
    asking.ask("history")
    asking.until(lambda: asking.reply.endswith("]"))
    assert asking.reply == f"Heard: [{heard}]"


def test_question_in_between(plain: AgentProcess, open_page: Open) -> None:
    """A new question stops the answer to the one before, of which no sound is left."""
    asking = open_page(plain)
    asking.ask("long")
    asking.speaking()
    asking.ask("short")
    asking.until(lambda: asking.reply == SHORT)
    asking.idle()
    (run,) = asking.runs()
    check_heard(run)
    assert run["gaps_ms"] == []
    assert asking.page.locator("article").count() == 2


def test_reload_in_the_middle(plain: AgentProcess, open_page: Open) -> None:
    for transport in "ws", "sse":
        asking = open_page(plain)
        asking.ask("long", transport=transport)
        asking.speaking()
        assert plain.status() == "HealthyBusy"
        asking.page.reload()
        asking.until(lambda: plain.status() == "Healthy", 5)
        asking.ask("short", transport=transport)
        asking.speaking()


def test_agent_killed_and_restarted(plain: AgentProcess, open_page: Open) -> None:
    asking = open_page(plain)
    asking.ask("long", transport="ws")
    asking.speaking()
    plain.kill()
    notice = asking.page.locator(".notice").last
    notice.wait_for()
    assert notice.inner_text() == "The connection to the agent was lost. Ask again."
    asking.page.keyboard.press("Escape")  # what had come would still be played
    asking.idle()
    for transport in "sse", "ws":
        asking.ask("short", transport=transport)
        asking.until(lambda: "cannot be reached" in notice.inner_text())
        asking.idle()
    plain.start()
    asking.complaints.clear()  # the browser's own, about the connections
    asking.ask("short")
    asking.until(lambda: asking.reply == SHORT)
    asking.idle()
    check_heard(asking.runs()[0])


def test_slow_model_is_told_from_slow_speech(plain: AgentProcess, open_page: Open) -> None:
    asking = open_page(plain)
    asking.ask("slow")
    asking.idle()
    (run,) = asking.runs()
    check_heard(run)
    (gap,) = run["gaps_ms"]
    assert gap["kind"] == "waiting_for_text"
    assert 500 < gap["length"] < 3000
    assert asking.page.locator("rect.waiting_for_text").count() == 1


def test_refused_request(plain: AgentProcess, open_page: Open) -> None:
    asking = open_page(plain)
    for transport in "ws", "sse":
        asking.choose(transport=transport)
        asking.page.evaluate("document.querySelector('[name=speed]').min = 0.1")
        asking.page.evaluate("document.querySelector('[name=speed]').value = 0.2")
        asking.ask("short")
        asking.page.locator(".notice").last.wait_for()
        assert "speed" in asking.page.locator(".notice").last.inner_text()
        asking.idle()
    asking.complaints.clear()  # the browser's own, about status 400


def test_sound_waits_for_a_click(plain: AgentProcess, open_page: Open) -> None:
    script = """addEventListener("DOMContentLoaded", () => {
        new MutationObserver(() => console.log("asleep"))
            .observe(document.getElementById("resume"), { attributes: true });
        document.getElementById("prompt").value = "short";
        document.getElementById("ask").requestSubmit();
    })"""
    # No click and no key; and before Playwright looks at the page, which counts as one.
    asking = open_page(plain, script, "asleep")
    button = asking.page.get_by_role("button", name="Turn the sound on")
    button.wait_for()
    asking.complaints.clear()  # the browser's own, about the missing click
    button.click()
    asking.speaking()
    asking.idle()
    check_heard(asking.runs()[0])
    assert button.is_hidden()


def test_keyboard_alone(plain: AgentProcess, open_page: Open) -> None:
    page = open_page(plain).page
    seen = ["Skip to the question"]
    page.get_by_role("link").focus()
    for _ in range(13):
        page.keyboard.press("Tab")
        seen.append(
            page.evaluate(
                "() => { const e = document.activeElement; return e.id || e.name || e.innerText }"
            )
        )
    wanted = ["Skip to the question", "conversation", "Why is the sky blue?", "prompt", "send"]
    wanted += ["mode", "transport", "format", "voice", "speed"]
    places = [seen.index(name) for name in wanted]
    assert places == sorted(places)


def test_every_control_has_a_name(plain: AgentProcess, open_page: Open) -> None:
    asking = open_page(plain)
    asking.ask("short")
    asking.speaking()
    snapshot = asking.page.locator("body").aria_snapshot()
    for name in (
        'textbox "Your question"',
        'button "Interrupt"',
        'radio "Speak ahead" [checked]',
        'combobox "over"',
        'combobox "voice"',
        'slider "speed',
        'region "Conversation"',
        'img "Speaks ahead: ',
        'columnheader "first heard"',
        "status: Speaking.",
    ):
        assert name in snapshot, snapshot


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_narrow_screens_and_contrast(plain: AgentProcess, open_page: Open, scheme: str) -> None:
    asking = open_page(plain, viewport={"width": 360, "height": 640}, color_scheme=scheme)
    asking.ask("short", mode="race")
    asking.page.locator(".word.heard").nth(3).wait_for()
    assert asking.page.evaluate("document.documentElement.scrollWidth") <= 360
    colours = asking.page.evaluate(
        """() => ["--paper", "--ink", "--quiet", "--accent", "--written"].map(
            (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim())"""
    )
    paper, *others = (luminance(colour) for colour in colours)
    for least, other in zip((7.0, 4.5, 4.5, 4.5), others, strict=True):
        dark, light = sorted((paper, other))
        assert (light + 0.05) / (dark + 0.05) >= least
    asking.page.keyboard.press("Escape")
    asking.idle()


def luminance(colour: str) -> float:
    """Relative luminance of "#rrggbb" (WCAG 2)."""
    channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return sum(w * c for w, c in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def test_server_sent_events_cut_anywhere(plain: AgentProcess, open_page: Open) -> None:
    asking = open_page(plain)
    stream = (
        ': a comment\r\n\r\ndata: {"a": "é€😀"}\r\n\r\nevent: x\rdata:one\rdata: two\r\r'
        "data\n\nid: 3\n\ndata: last\n\ndata: not complete\n"
    )
    events = asking.page.evaluate(
        """async (stream) => {
            const { SseReader } = await import("/static/sse.js");
            const bytes = new TextEncoder().encode(stream);
            return [1, 2, 3, 7, 1000].map((size) => {
                const reader = new SseReader();
                const events = [];
                for (let i = 0; i < bytes.length; i += size) {
                    events.push(...reader.feed(bytes.subarray(i, i + size)));
                }
                return events;
            });
        }""",
        stream,
    )
    assert events == 5 * [['{"a": "é€😀"}', "one\ntwo", "", "last"]]


def test_nothing_comes_from_elsewhere(plain: AgentProcess, open_page: Open) -> None:
    page = open_page(plain).page
    hosts: set[str] = set()
    page.on("request", lambda request: hosts.add(request.url.split("/")[2]))
    response = page.reload()
    assert response is not None
    assert "default-src 'none'" in response.headers["content-security-policy"]
    page.wait_for_load_state("networkidle")
    assert hosts == {f"127.0.0.1:{plain.port}"}
