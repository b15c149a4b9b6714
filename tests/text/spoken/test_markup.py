"""Markdown, HTML and LaTeX, and text that has nothing to say."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from speakahead.text.spans import SpannedText
from speakahead.text.spoken import spoken_form

CASES = {
    "## Next steps": "Next steps.",
    "### Ready? ###": "Ready?",
    "**Note this.** And *that*, __too__.": "Note this. And that, too.",
    "**Half of a pair.": "Half of a pair.",
    "~~old~~ new": "old new",
    "- [x] Buy **milk**": "Buy milk.",
    "* item": "item.",
    "1. Wash the rice.": "one, Wash the rice.",
    "2) Rinse": "two, Rinse.",
    "> Quoted words": "Quoted words",
    "> [!NOTE]\n> Mind the gap.": "Note. Mind the gap.",
    "| Name | Age |": "Name, Age.",
    "|---|:-:|": "",
    "| Ann | 5 km |": "Ann, five kilometers.",
    "---": "",
    "***": "",
    "See [the docs](https://x.org/a_(b)).": "See the docs.",
    "![a cat](cat.png) sat": "a cat sat",
    "<https://example.com>": "example dot com",
    "It is so[^1].": "It is so.",
    "In force.[7][8]": "In force.",
    "1.) The first": "one, The first.",
    "It is so.[1]": "It is so.",
    "Call `foo.bar()` now": "Call foo dot bar now",
    "`x == 1` and `get_name`": "x equals one and get name",
    "`--verbose`": "dash dash verbose",
    "`List<String>`": "List String",
    "```python\nx = 1\n```": "",
    "Before.\n\n```\ncode\n```\nAfter.": "Before. After.",
    "A <b>bold</b> move<br>now": "A bold move. now",
    "<!-- secret -->Hello": "Hello",
    "Tom &amp; Jerry &#8211; 3 &lt; 4": "Tom and Jerry — three less than four",
    "use <name> here": "use name here",
    "Let $x^2$ be": "Let x squared be",
    r"\\(\\frac{a}{b}\\) is it": "a over b is it",
    "5 * 3 is 15": "five times three is fifteen",
    "I \U0001f600 see \U0001f44d\U0001f3fd": "I see",
    "1\ufe0f\u20e3 Start": "one, Start",
    ":smile: Hi :) <3": "Hi",
    "...": "",
    "\U0001f600\U0001f389": "",
    "?!": "",
    "": "",
    "   ": "",
    "‘It’s,’ she said — “the dogs’ bowl”": "It's, she said — \"the dogs' bowl\"",
    "Wait... what?!!": "Wait… what?!",
    "Ｆｕｌｌ ｗｉｄｔｈ ﬁne": "Full width fine",
    "cafe\u0301": "café",
    "zero\u200bwidth": "zerowidth",
}


@pytest.mark.parametrize(("written", "spoken"), CASES.items())
def test_reads_as_a_person_would(say: Callable[..., str], written: str, spoken: str) -> None:
    assert say(written) == spoken


def test_a_code_block_can_be_announced() -> None:
    text = SpannedText.verbatim("```sh\nls\n```")
    assert spoken_form(text, "en-us", code_block="Code example").text == "Code example."


def test_each_word_of_a_link_keeps_its_own_place() -> None:
    text = "See [the great page](https://example.com) or [an old one][1]."
    spoken = spoken_form(SpannedText.verbatim(text), "en-us")
    assert spoken.text == "See the great page or an old one."
    for word in ("great", "page", "old"):
        start = spoken.text.index(word)
        span = spoken.source(start, start + len(word))
        assert text[span.start : span.end] == word
