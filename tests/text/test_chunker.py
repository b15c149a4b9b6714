"""The chunker's contract: same units for any split, verbatim, early, linear, bounded."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from itertools import pairwise
from types import FrameType
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from speakahead.text.chunker import Boundary, IncrementalSentenceChunker, Sentence

LANGUAGES = ("en", "es", "fr", "it", "pt-br", "hi", "ja", "zh", "ar", "xx")

# Made of what the rules look at, so that random texts meet them.
FRAGMENTS = (
    *("a", "B", "The", "it", "7", "3.5", "1", "2", "e.g", "Dr", "U.S", "p.m", "Inc", "J", "No"),
    *(".", ".", "!", "?", "...", "…", "。", "！", "?!", ". . .", ",", ";", ":", "—", "-", "--"),
    *(" ", " ", " ", "\n", "\r\n", "\r", "\t", "\u00a0", "\u2028", "  "),
    *('"', "'", "”", "“", ")", "(", "]", "[", "「", "」", "（", "）", "»", "«", "**", "_", "*"),
    *("`", "``", "```", "~~~", "\n```\n", "<", ">", "</b>", "<b>", '<a x="1.5. B">', "|", "\n| "),
    *("1. ", "- ", "# ", "2) ", "• ", "[1]", "](", "http://a.b/c?d", "a@b.c", "x.py", ":)"),
    *(
        "😀",
        "👩‍👩‍👧",
        "🇫🇷",
        "é",
        "e\u0301",
        "\ud83d",
        "\ude00",
        "\0",
        "\u200b",
        "क्षि",
        "中",
        "か",
        "ش",
    ),
)
texts = st.one_of(
    st.lists(st.sampled_from(FRAGMENTS), max_size=60).map("".join),
    st.text(alphabet=st.characters(exclude_categories=()), max_size=80),
)
limits = st.sampled_from((None, 20, 50, 200))


def units_of(
    pieces: Iterable[str], language: str = "en", limit: int | None = None
) -> list[Sentence]:
    chunker = IncrementalSentenceChunker(language, soft_limit=limit)
    units = [unit for piece in pieces for unit in chunker.feed(piece)]
    return units + chunker.flush()


def texts_of(text: str, language: str = "en", limit: int | None = None) -> list[str]:
    return [unit.text for unit in units_of([text], language, limit)]


class TestAnySplit:
    @given(texts, st.data(), st.sampled_from(LANGUAGES), limits)
    @settings(max_examples=400)
    def test_gives_the_same_units(
        self, text: str, data: st.DataObject, language: str, limit: int | None
    ) -> None:
        places = data.draw(st.lists(st.integers(0, len(text)), max_size=12).map(sorted))
        pieces = [text[a:b] for a, b in pairwise([0, *places, len(text)])]
        whole = units_of([text], language, limit)
        assert units_of(pieces, language, limit) == whole
        assert units_of(text, language, limit) == whole  # one character at a time

    @given(texts, limits)
    @settings(max_examples=200)
    def test_a_unit_never_depends_on_later_text(self, text: str, limit: int | None) -> None:
        chunker = IncrementalSentenceChunker(soft_limit=limit)
        early = chunker.feed(text)
        assert units_of([text, " And then. More"], limit=limit)[: len(early)] == early


class TestSpans:
    @given(texts, st.sampled_from(LANGUAGES), limits)
    @settings(max_examples=300)
    def test_units_are_verbatim_in_order_and_complete(
        self, text: str, language: str, limit: int | None
    ) -> None:
        units = units_of([text], language, limit)
        covered = 0
        for index, unit in enumerate(units):
            assert unit.index == index
            assert unit.text == text[unit.span.start : unit.span.end]
            assert unit.text
            assert unit.text == unit.text.strip()
            assert text[covered : unit.span.start].strip() == ""
            covered = unit.span.end
        assert text[covered:].strip() == ""

    def test_positions_and_indices_go_on_after_a_flush(self) -> None:
        chunker = IncrementalSentenceChunker()
        first = chunker.feed(" One.") + chunker.flush()
        second = chunker.feed(" Two.\n") + chunker.flush()
        assert [(u.text, u.index, tuple(u.span)) for u in first + second] == [
            ("One.", 0, (1, 5)),
            ("Two.", 1, (6, 10)),
        ]

    @given(texts)
    @settings(max_examples=100)
    def test_pending_is_what_was_not_returned(self, text: str) -> None:
        chunker = IncrementalSentenceChunker()
        units = chunker.feed(text)
        start = units[-1].span.end if units else 0
        assert text[start:].strip() == chunker.pending.strip()
        chunker.flush()
        assert chunker.pending == ""


class TestLatency:
    """Each unit comes out with the first character that settles it."""

    @pytest.mark.parametrize(
        ("text", "language"),
        [
            ("It is done. T", "en"),
            ("It costs 3.50. I", "en"),
            ("Really?! Y", "en"),
            ("Great! 🎉 Y", "en"),
            ("A heading\n", "en"),
            ("| a. B | c |\n", "en"),
            ("Done.\n", "en"),
            ('"Stop." H', "en"),
            ("We left at 3 p.m. He ", "en"),
            ("I live in the U.S. How ", "en"),
            ("終わりました。次", "ja"),
            ("हो गया। अ", "hi"),
            ("```\na. B\n```\n", "en"),
            ("<b>Go!</b> T", "en"),
        ],
    )
    def test_out_at_the_last_character(self, text: str, language: str) -> None:
        chunker = IncrementalSentenceChunker(language)
        assert [chunker.feed(c) for c in text[:-1]] == [[]] * (len(text) - 1)
        assert len(chunker.feed(text[-1])) == 1

    def test_the_end_of_the_message_waits_for_nothing(self) -> None:
        chunker = IncrementalSentenceChunker()
        assert chunker.feed("It was on Jan 1, 1980.") == []
        assert [unit.text for unit in chunker.flush()] == ["It was on Jan 1, 1980."]
        assert chunker.flush() == []

    @pytest.mark.parametrize("word", ["Everyone", "Usually", "According", "Nothing"])
    def test_a_word_that_is_no_name_ends_the_sentence_before_it(self, word: str) -> None:
        assert texts_of(f"She works at Acme Inc. {word} ") == ["She works at Acme Inc.", word]

    @pytest.mark.parametrize("word", ["Senate", "Congress", "Maria", "Chairman"])
    def test_a_word_that_may_be_a_name_does_not(self, word: str) -> None:
        assert texts_of(f"In the U.S. {word} did it. It") == [f"In the U.S. {word} did it.", "It"]

    def test_the_end_of_the_message_settles_a_whole_word_look_ahead(self) -> None:
        assert texts_of("I live in the U.S. He") == ["I live in the U.S.", "He"]


class TestBoundary:
    def test_tells_what_ended_the_unit(self) -> None:
        text = "One. Two\nThree.\n```\nx\n```\n" + "word " * 45 + "end. Last"
        units = units_of([text], limit=200)
        assert [unit.boundary.value for unit in units] == [
            *("sentence", "line", "line", "line", "clause", "sentence", "end")
        ]
        assert [unit.fenced for unit in units] == [False, False, False, True, False, False, False]

    def test_a_fence_at_the_end_of_the_message(self) -> None:
        (unit,) = units_of(["```\nx = 1. Y\n```"])
        assert (unit.text, unit.boundary, unit.fenced) == (
            "```\nx = 1. Y\n```",
            Boundary.END,
            True,
        )

    @pytest.mark.parametrize("line_break", ["\n", "\r\n", "\r", "\n\n\n", "\u2028", "\x0b", "\x85"])
    def test_any_line_break(self, line_break: str) -> None:
        assert texts_of(f"One{line_break}Two.{line_break}") == ["One", "Two."]


class TestMarkup:
    def test_a_fence_is_closed_only_by_a_line_of_enough_of_the_same_marks(self) -> None:
        fence = "````\n```\n~~~~\na ````\n````x\n`````"
        assert texts_of(f"{fence}\nDone. Yes.") == [fence, "Done.", "Yes."]

    def test_a_code_span_of_three_backticks_is_no_fence(self) -> None:
        assert texts_of("```a. B``` is code. Yes.") == ["```a. B``` is code.", "Yes."]

    def test_an_unclosed_code_span_ends_with_its_line(self) -> None:
        assert texts_of("A ` b. C\nYes. No") == ["A ` b. C", "Yes.", "No"]

    def test_a_comparison_is_no_tag(self) -> None:
        assert texts_of("If a<b. Then c>d. Yes") == ["If a<b.", "Then c>d.", "Yes"]

    def test_a_list_in_one_line(self) -> None:
        assert texts_of("1) Mix 2) Bake. 3) Eat") == ["1) Mix", "2) Bake.", "3) Eat"]
        assert texts_of("• Mix • Bake") == ["• Mix", "• Bake"]

    def test_a_number_in_a_sentence_is_no_list(self) -> None:
        assert texts_of("Pick 1) tea or 2) milk") == ["Pick 1) tea or 2) milk"]
        assert texts_of("1. Add 2. Then stop.") == ["1. Add 2.", "Then stop."]


class TestWhatGoesWrongElsewhere:
    """Inputs that speech front ends are known to cut in the wrong place, or never."""

    @pytest.mark.parametrize(
        ("marked", "language"),
        [
            ('Now <speed ratio="1.05"/> it is fast. |Good.', "en"),
            ("(Explore these until you say done.) |Next.", "en"),
            ("Ask at shop.example.museum or 192.168.1.1. |It is up.", "en"),
            ("It costs $3.14. |Take 1,000 or １，０００.", "en"),
            ("J. R. R. Tolkien met Dr. Lewis at 8 a.m. on Monday. |They talked.", "en"),
            ("Bring water, food, etc. on the trip. |Bring maps, etc. |Then go.", "en"),
            ("こんにちは。|元気ですか？|はい！", "ja"),
            ("Let me see.|Now I know. |It was file.Time or os.Path", "en"),
            ("Is it?|Yes! |See a.com/x?Y=1 now.", "en"),
        ],
    )
    def test_is_cut_here_and_only_here(self, marked: str, language: str) -> None:
        expected = [part.strip() for part in marked.split("|")]
        assert texts_of(marked.replace("|", ""), language) == expected


class TestSoftLimit:
    def test_prefers_a_strong_mark_then_a_comma_then_a_conjunction_then_a_space(self) -> None:
        filler = "w" * 9
        words = f"{filler} " * 3
        tail = f"{filler} " * 9
        for mark, cut_after in (
            (f"{filler}; {filler}, {filler} and ", "; "),
            (f"{filler}, {filler} and {filler} ", ", "),
            (f"{filler} and {filler} ", f"{filler} "),
        ):
            text = words + mark + tail
            first = texts_of(text, limit=80)[0]
            start = len(words) + len(filler)
            expected = text[: start + len(cut_after.replace(f"{filler} ", " "))].strip()
            assert first == expected

    def test_cuts_at_white_space_within_the_limit(self) -> None:
        parts = texts_of("lorem ipsum dolor " * 50, limit=100)
        assert all(60 < len(part) <= 100 for part in parts[:-1])

    def test_text_without_space_is_cut_at_twice_the_limit(self) -> None:
        parts = texts_of("x" * 1000, limit=100)
        assert {len(part) for part in parts[:-1]} == {200}

    @pytest.mark.parametrize(
        "whole",
        [
            "https://example.com/" + "a/" * 45 + "end.html",
            "`" + "some code " * 12 + "end`",
            "1 000 000 000",
        ],
    )
    def test_keeps_addresses_code_and_numbers_whole(self, whole: str) -> None:
        text = "word " * 12 + whole + " word" * 30
        parts = texts_of(text, limit=100)
        assert len(parts) > 1
        assert any(whole in part for part in parts)

    def test_does_not_cut_after_an_abbreviation(self) -> None:
        text = "we went with Dr. " + "Longname " * 30
        assert not any(part.endswith("Dr.") for part in texts_of(text, limit=40))

    def test_ideographs_count_more_and_have_their_own_clause_marks(self) -> None:
        text = "这个系统会读取数据，" * 20 + "完成。"
        parts = texts_of(text, "zh", limit=200)
        assert all(part.endswith("，") for part in parts[:-1])
        assert all(len(part) <= 70 for part in parts)

    def test_a_cut_inside_a_table_row_keeps_it_a_row(self) -> None:
        text = "| " + "Is it? Yes. | " * 30 + "\n| x |"
        parts = texts_of(text, limit=60)
        assert all(part.endswith("|") for part in parts)
        assert parts[-1] == "| x |"

    def test_never_cuts_a_character_in_two(self) -> None:
        family = "👩‍👩‍👧"
        for part in texts_of(family * 60, limit=50)[:-1]:
            assert part.strip(family) == ""
            assert part.startswith("👩")
            assert not part.endswith("\u200d")

    def test_the_rest_of_a_cut_sentence_has_no_list_marker_and_is_still_its_sentence(self) -> None:
        text = "Add " + "word, " * 16 + "then 2. Go on"
        assert texts_of(text, limit=60)[-1] == "Go on"

    @given(texts, st.sampled_from((20, 50)))
    @settings(max_examples=200)
    def test_bounds_every_unit_outside_fences(self, text: str, limit: int) -> None:
        for unit in units_of([text * 4], limit=limit):
            # Closing marks, citations and tags go with the sentence before, so they come on top.
            assert unit.fenced or len(unit.text) <= 2 * limit + 400

    def test_an_endless_fence_is_cut_between_lines(self) -> None:
        line = "x = 1. Y\n"
        chunker = IncrementalSentenceChunker(soft_limit=20)
        parts = chunker.feed("```\n" + line * 500 + "```\nDone. ") + chunker.flush()
        assert len(parts) > 3
        assert all(part.fenced for part in parts[:-1])
        assert all(part.text.endswith("Y") for part in parts[:-2])
        assert parts[-1].text == "Done."

    def test_none_switches_it_off(self) -> None:
        assert len(texts_of("word, " * 5000, limit=None)) == 1

    def test_too_small_a_limit_is_refused(self) -> None:
        with pytest.raises(ValueError, match="at least 20"):
            IncrementalSentenceChunker(soft_limit=19)


def steps(run: Callable[[], Any]) -> int:
    """How many lines of Python ``run`` executes: work, without the noise of a clock."""
    count = 0

    def trace(_frame: FrameType, event: str, _argument: object) -> Any:
        nonlocal count
        count += event == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        run()
    finally:
        sys.settrace(before)
    return count


HARD_TEXTS = {
    "no end": "word ",
    "no space": "x",
    "commas": "a,",
    "sentences": "It is. ",
    "stops": ".",
    "spaced stops": " .",
    "marks": "!?",
    "closers": "a.)",
    "only closers": ")",
    "spaces after a stop": "a." + " " * 300,
    "emoji": "! 😀 ",
    "quotes": '"a',
    "brackets": "「あ。",
    "backticks": "`a ",
    "fence": "```\na\n",
    "open fence": "```",
    "table row": "| a. ",
    "tags": "<a ",
    "closing tags": "a.</b",
    "links": "a.](b",
    "citations": "a.[1",
    "lists": "1) a ",
    "combining": "a.\u0301",
    "ideographs": "中",
    "abbreviations": "U.S. A",
    "line breaks": "\n",
    "tildes": "~",
}


class TestWork:
    @pytest.mark.parametrize("limit", [None, 200])
    @pytest.mark.parametrize("name", HARD_TEXTS)
    def test_grows_in_proportion_to_the_text(self, name: str, limit: int | None) -> None:
        def work(length: int) -> int:
            text = (HARD_TEXTS[name] * length)[:length]
            return steps(lambda: units_of(text, limit=limit))

        small, large = work(1_500), work(6_000)
        assert large < 5 * small + 10_000

    def test_a_text_at_once_is_no_more_work_than_in_pieces(self) -> None:
        text = "It is done now. And so on, and so on. " * 200
        whole, pieces = steps(lambda: units_of([text])), steps(lambda: units_of(text))
        assert whole < pieces
