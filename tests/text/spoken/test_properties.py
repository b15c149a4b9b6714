"""What holds for any text: clean output, positions kept, no exception, linear time."""

from __future__ import annotations

import time

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from speakahead.text.spans import Span, SpannedText
from speakahead.text.spoken import spoken_form

LANGUAGES = ("en-us", "en-gb", "es", "fr", "hi", "it", "pt-br", "ja")
MARKUP = frozenset("*`#|<>[]{}_~\\$%@&=+^")

fragments = st.sampled_from(
    "$ 3 .50 1,000 5/6/ 2024 : 30 pm % # ## * ** _ ` ``` [ ]( ) <b> </b> & &amp; @ . , - – — ' \" "
    "a.b@c.de http:// www. v1.2 Dr. St. Henry VIII Jan 5th 90s km °C ½ × ^2 → ~ | \\ { } + = < "
    "> ! ? "
    "… é ñ हिन्दी १ 中 😀 👍🏽 e.g. etc. C++ I \n \t 0x 12:00 a 7".split(" ")
) | st.text(max_size=4)
mixed = st.lists(fragments, max_size=25).map("".join) | st.lists(fragments, max_size=25).map(
    " ".join
)


@given(text=mixed | st.text(max_size=60), language=st.sampled_from(LANGUAGES))
@example(text="1111111111111111111111111111111111111", language="fr")
@example(text="$99999999999999999999.99", language="en-us")
@settings(max_examples=600)
def test_any_text_becomes_clean_words_with_their_positions(text: str, language: str) -> None:
    source = SpannedText.verbatim(text, start=7)
    spoken = spoken_form(source, language)

    assert not MARKUP & set(spoken.text)
    assert "  " not in spoken.text
    assert spoken.text == spoken.text.strip()
    assert spoken.text == "" or any(character.isalnum() for character in spoken.text)
    starts = [span.start for span in spoken.origins]
    assert starts == sorted(starts)
    assert all(7 <= start <= end <= 7 + len(text) for start, end in spoken.origins)
    if language != "ja":
        assert not any(character.isdecimal() for character in spoken.text)


@given(st.lists(st.text("bcdefghijklmnopqrstuvwxyz", min_size=2, max_size=9), min_size=1))
def test_plain_lower_case_words_are_left_alone(words: list[str]) -> None:
    sentence = " ".join("q" + word for word in words)
    assert spoken_form(SpannedText.verbatim(sentence), "en-us").text == sentence


@given(mixed)
@settings(max_examples=200)
def test_a_spoken_form_stays_speakable_when_read_again(text: str) -> None:
    once = spoken_form(SpannedText.verbatim(text), "en-us")
    twice = spoken_form(once, "en-us")
    assert (twice.text == "") == (once.text == "")


def test_all_of_a_reading_stands_for_all_that_was_written() -> None:
    spoken = spoken_form(SpannedText.verbatim("It cost $3.50 **today**", start=100), "en-us")
    start = spoken.text.index("three")
    assert spoken.source(start, spoken.text.index(" today")) == Span(108, 113)
    start = spoken.text.index("today")
    assert spoken.source(start, start + 5) == Span(116, 121)


@pytest.mark.parametrize("language", ["en-us", "fr"])
@pytest.mark.parametrize(
    "seed",
    ["1,", "[", "*", "a.b@", "<", "<!--", "`", "$", "_", "|", "1-", "1/", "[a](", "> ", "a_", "&",
     "http://", "x^", "1 2/", "1. ", "1,111", "A.", "\n", "'", "½", "👍🏽"],
)  # fmt: skip
def test_time_grows_with_the_length_only(seed: str, language: str) -> None:
    def seconds(length: int) -> float:
        text = SpannedText.verbatim((seed * length)[:length])
        begun = time.process_time()
        spoken_form(text, language)
        return time.process_time() - begun

    seconds(100)
    # Ten times the text takes ten times as long; were it quadratic, it would take a hundred. A
    # machine that is busy for a moment may be wrong once, but not three times.
    assert any(seconds(20_000) < 25 * seconds(2_000) + 0.3 for _ in range(3))
