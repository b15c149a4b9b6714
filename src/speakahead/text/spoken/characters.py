"""Characters: one way of writing each on the way in, only speakable ones on the way out."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

import emoji

from speakahead.text.spans import SpannedText
from speakahead.text.spoken.rules import apply, joined, rule

_KEYCAP = rule("([0-9])\ufe0f?\u20e3", lambda m: f"{m[1]}, ")
_SHORTCODE = rule(
    r"(?<!\w):[a-z][a-z0-9_+-]{1,30}:(?!\w)",
    lambda m: "" if emoji.emojize(m[0], language="alias") != m[0] else None,
    ":",
)
_EMOTICON = rule(
    r"(?<![^\s(])(?:[:;=8][-o']?[)(DPp3|/*]+|<3+|</3|:'\(|[xX]D|\^_\^)(?![^\s.,!?)])", ""
)

_NOT_EMOJI = str.maketrans({"➡": "→", "⬅": "←", "↔": "→", "⇒": "→", "⟶": "→", "⟹": "→", "➜": "→"})

_TABLE: dict[str, str] = {
    **dict.fromkeys("‘’‚‛´ʼ′‵＇ʹ", "'"),
    **dict.fromkeys("“”„‟«»″‶〝〞「」『』", '"'),
    **dict.fromkeys("‐‑﹣－", "-"),
    **dict.fromkeys("‒–", "–"),
    **dict.fromkeys("―⸺⸻﹘", "—"),
    **dict.fromkeys("µμ", "µ"),
    **dict.fromkeys("\u2028\u2029\x85", "\n"),
    **dict.fromkeys("。．｡।॥", ". "),
    **dict.fromkeys("、，", ", "),
    **dict.fromkeys("¿¡©®™℠", ""),
    **{"…": "…", "⋯": "…", "№": "No. ", "Ω": "Ω", "‼": "!", "⁉": "?!", "⁈": "?!", "⁇": "?"},
    **{"℃": "°C", "℉": "°F", "º": "º", "ª": "ª", "∕": "/", "⁄": "/", "∶": ":", "～": "~"},
    **{"×": "×", "⋅": "·", "∗": "*", "₹": "₹", "﷼": "﷼"},
}
_SUPERSCRIPT = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻ⁿ", "0123456789+-n")
_INVISIBLE_BUT_JOINING = "\u200c\u200d"


def _one_way(match: re.Match[str]) -> str | None:
    character = match[0]
    if len(character) > 1:
        return unicodedata.normalize("NFC", character)
    if character in _TABLE:
        return _TABLE[character]
    category = unicodedata.category(character)
    if category[0] == "L" and unicodedata.is_normalized("NFKC", character):
        return None
    if category == "Zs":
        return " "
    if category[0] == "C":
        # The joiners shape Indic conjuncts; anything else that is not visible is not said.
        before = match.string[match.start() - 1] if match.start() else ""
        joins = character in _INVISIBLE_BUT_JOINING and "\u0900" <= before <= "\u0dff"
        return None if joins else ""
    if category == "No" and "/" in (plain := _compatible(character)):
        before = match.string[match.start() - 1] if match.start() else ""
        return f" {plain}" if before.isdecimal() else plain
    if category == "Nd":
        return str(unicodedata.decimal(character))
    return _compatible(character)


def _compatible(character: str) -> str:
    return unicodedata.normalize("NFKC", character).replace("⁄", "/")


_ONE_WAY = (
    rule("[⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻ⁿ]{1,9}", lambda m: "^" + m[0].translate(_SUPERSCRIPT)),
    rule(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]", ""),
    rule(r"\r\n?", "\n"),
    rule("[^\\W\\d_][\u0300-\u036f]{1,8}|[^\x00-\x7f]", _one_way),
)


def without_emoji(text: SpannedText) -> SpannedText:
    """Leave out emoji, their shortcodes and emoticons; a key cap is its digit."""
    if not text.text.isascii():
        text = text.rewrite(_KEYCAP.pattern, _KEYCAP.reading)
        text = SpannedText(text.text.translate(_NOT_EMOJI), text.origins)
        pieces: list[SpannedText] = []
        done = 0
        for start, end in _emoji(text.text):
            gap = SpannedText(" ", (text.source(start, end),))
            pieces += (text.cut(done, start), gap)
            done = end
        text = joined((*pieces, text.cut(done, len(text)))) if done else text
    return apply(text, (_SHORTCODE, _EMOTICON))


def _emoji(text: str) -> Iterator[tuple[int, int]]:
    """Runs of emoji that touch; one run is taken at a time so that a long one costs no more."""
    start = end = -1
    for found in emoji.analyze(text, non_emoji=False, join_emoji=True):
        value = found.value
        if not isinstance(value, emoji.EmojiMatch):
            continue
        if value.start == end:
            end = value.end
            continue
        if start >= 0:
            yield start, end
        start, end = value.start, value.end
    if start >= 0:
        yield start, end


def normalized(text: SpannedText) -> SpannedText:
    """Straight quotes, plain digits, composed letters, one kind of space, nothing invisible.

    Like Unicode's NFKC, but superscripts become ``^2``, vulgar fractions ``1/2`` (with a space
    after a whole number), and the minus sign, dashes and ellipsis stay apart.
    """
    return apply(text, _ONE_WAY)


_ELISION = r"'(?:em|tis|twas|cause|til|n|bout|round|nuff)\b"

_SPEAKABLE = (
    rule(r"--+", "—", "-"),
    rule(r"\s*–\s*", " — ", "–"),
    rule(r"(?<=[\s—])-+(?=\s)|^-+(?=\s)", "—", "-"),
    rule(r"(?<![^\W_])-+|-+(?![^\W_])", " ", "-"),
    rule(
        rf"(?<!\w){_ELISION}|(?<=\w)'(?=\w)|(?<=[sSnz])'(?!\w)|'",
        lambda m: None if len(m[0]) > 1 or _apostrophe(m) else "",
        "'",
    ),
    rule(r"(?:[^\w\s,.!?;:—…\"()'\-\u0900-\u0dff\u0300-\u036f]|_)+", " "),
    rule(r"\(\s*\)|\"\s*\"", " ", '("'),
    rule(r"[ºª]", " ", "ºª"),
    rule(r"\s{2,}|[^\S ]", " "),
    rule(r"\( ", "(", "("),
    rule(r" ([,.!?;:…)])", lambda m: m[1]),
    rule(r"\.{2,}|…[.…]*", "…", ".…"),
    rule(r"([,;:—])(?: ?[,;:—])+", lambda m: "—" if "—" in m[0] else m[1]),
    rule(r"([.!?…])[,;:]+|[,;:]+(?=[.!?…])", lambda m: m[1] or ""),
    rule(r"!{2,}", "!", "!"),
    rule(r"\?{2,}", "?", "?"),
    rule(r"[!?]{3,}", "?!", "!?"),
    rule(r"^[\s,.;:!?…—)\-]+|[\s(]+$", ""),
)


def _apostrophe(match: re.Match[str]) -> bool:
    """Whether a mark is an apostrophe rather than a quotation mark: inside a word, or after s."""
    before = match.string[match.start() - 1] if match.start() else ""
    after = match.string[match.end()] if match.end() < len(match.string) else ""
    return before.isalnum() and (after.isalnum() or before in "sSnz")


def speakable(text: SpannedText) -> SpannedText:
    """Only words, spaces and the punctuation that shapes prosody; empty if there is no word."""
    text = apply(text, _SPEAKABLE)
    if not any(character.isalnum() for character in text.text):
        return SpannedText("", ())
    return text
