"""Markup: what shapes the page is left out, and what it says is kept.

Markdown after CommonMark 0.31 and GitHub's tables, task lists and strike-through; HTML's tags and
entities; simple LaTeX. A sentence may hold only one half of a pair (``**Note this.``), so marks
are removed one by one and never matched up.
"""

from __future__ import annotations

import html
import re

from speakahead.text.spans import SpannedText
from speakahead.text.spoken.code import spoken_code
from speakahead.text.spoken.latex import spoken_latex
from speakahead.text.spoken.rules import apply, joined, rule

_LINE = re.MULTILINE
_BREAK = "\x1e"
"""Stands for the end of a block, where the voice falls; a control character, so never in a text."""

_FENCE = re.compile(
    r"^[ \t]*(`{3,}|~{3,})[^\n]*(?:\n|\Z)(?s:.*?)(?:^[ \t]*\1[`~]*[ \t]*$|\Z)", _LINE
)

_TAGS = (
    "a abbr article aside audio b big blockquote body br break button caption center cite code col "
    "dd del details dfn div dl dt em emphasis figure font footer form h1 h2 h3 h4 h5 h6 head "
    "header "
    "hr html i iframe img input ins kbd label li link main mark meta nav ol option p phoneme pre "
    "prosody q s samp say-as script section select small source span speak strike strong style sub "
    "summary sup svg table tbody td textarea tfoot th thead title tr tt u ul var video voice wbr"
)
_BLOCK_TAGS = frozenset(
    "blockquote br dd div dt h1 h2 h3 h4 h5 h6 hr li ol p pre table tr ul".split()
)
_TAG_NAMES = frozenset(_TAGS.split())


def _tag(match: re.Match[str]) -> str | None:
    name = match[1].lower()
    if name in _BLOCK_TAGS:
        return _BREAK
    if name in ("td", "th"):
        return ", "
    if name in _TAG_NAMES or "=" in match[0] or match[0].endswith("/>"):
        return ""
    return None  # a placeholder such as <name>: its words are said


_HTML = (
    rule(r"(?s)<!--.*?(?:-->|\Z)", "", "<"),
    rule(r"(?is)<(script|style)\b.*?(?:</\1[^<>]{0,9}>|\Z)", "", "<"),
    rule(r"</?([A-Za-z][A-Za-z0-9-]{0,30})(?:\s[^<>]{0,2000})?/?>", _tag, "<", ">"),
    rule(
        r"&(?:#\d{1,7}|#[xX][0-9A-Fa-f]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});",
        lambda m: _entity(m),
        "&",
        ";",
    ),
)


def _entity(match: re.Match[str]) -> str:
    said = html.unescape(match[0])
    return " " if said.isspace() else said


_DESTINATION = r"\((?:[^()\n]|\([^()\n]{0,500}\)){0,2000}\)"

_NOTES = (
    rule(r"^[ \t]*\[(?!\^)[^\[\]\n]{1,200}\]:[ \t]+\S[^\n]*$", "", "[", flags=_LINE),
    rule(r"^[ \t]*\[\^[^\[\]\n]{1,100}\]:[ \t]*", "", "[", flags=_LINE),
    rule(r"\[\^[^\[\]\n]{1,100}\]", "", "["),
    rule(r"【[^【】\n]{0,200}】", "", "【"),
)
_LINKS = (
    re.compile(rf"!\[([^\[\]\n]{{0,1000}})\]{_DESTINATION}"),
    re.compile(rf"!?\[([^\[\]\n]{{0,1000}})\]{_DESTINATION}"),
)
_CITATION = rule(r"(?<=[^\W\d_]|[.,;:!?\"')])(?:\[\d{1,3}(?:[,–-] ?\d{1,3}){0,9}\]){1,9}", "", "[")
_REFERENCE = re.compile(r"\[([^\[\]\n]{1,1000})\]\[[^\[\]\n]{0,200}\]")


def _unlinked(text: SpannedText) -> SpannedText:
    """Links by their texts, in which each word keeps its own place; no notes or citations."""
    if "[" not in text.text and "【" not in text.text:
        return text
    text = apply(text, _NOTES)
    for link in _LINKS:
        text = text.unwrapped(link)
    return apply(text, (_CITATION,)).unwrapped(_REFERENCE)


_RULE = re.compile(r"[ \t]*(?:[-*_=][ \t]*){3,}")
_TABLE_RULE = re.compile(r"[|:\-+ \t]*")
_QUOTE = re.compile(r"[ \t]*(?:>[ \t]?)++(?:\[!([A-Z]{3,12})\])?")
_HEADING = re.compile(r"[ \t]*#{1,6}(?:[ \t]+|$)")
_HEADING_END = re.compile(r"(?<=[ \t])#{1,20}[ \t]*$")
_BULLET = re.compile(r"[ \t]*[-*+•‣⁃◦▪●○·–][ \t]+(?:\[[ xX]\](?:[ \t]+|$))?")
_NUMBERED = re.compile(r"[ \t]*(\d{1,3}|[A-Za-z])(?:[.)]|\.\))[ \t]+(?:\[[ xX]\][ \t]+)?(?=\S)")
_CELL = re.compile(r"(?<!\\)\|")


def _block(line: SpannedText) -> SpannedText:
    """One line without the marks that say what kind of block it is; ``_BREAK`` ends a block."""
    text = line.text
    if not text or text.isspace():
        return line
    if "|" in text and "-" in text and _TABLE_RULE.fullmatch(text):
        return line.cut(0, 0)
    if _RULE.fullmatch(text):  # a thematic break, or the underline of a heading
        return line.cut(0, 0)
    if (quote := _QUOTE.match(text)) is not None:
        rest = _unquoted(line.cut(quote.end(), len(line)))
        if not quote[1]:
            return rest
        label = f"{quote[1].title()}{_BREAK}"
        span = line.source(quote.start(1), quote.end(1))
        return joined((SpannedText(label, (span,) * len(label)), rest))
    return _unquoted(line)


def _unquoted(line: SpannedText) -> SpannedText:
    text = line.text
    if (heading := _HEADING.match(text)) is not None:
        end = _HEADING_END.search(text, heading.end())
        return _ended(line.cut(heading.end(), end.start() if end else len(line)))
    if (bullet := _BULLET.match(text)) is not None:
        return _ended(_row(line.cut(bullet.end(), len(line))))
    if (number := _NUMBERED.match(text)) is not None and _is_item(number):
        label = number[1].upper() + ", "
        span = line.source(0, number.end())
        body = line.cut(number.end(), len(line))
        return _ended(joined((SpannedText(label, (span,) * len(label)), body)))
    row = _row(line)
    return row if row is line else _ended(row)


def _is_item(number: re.Match[str]) -> bool:
    """Not an initial ("J. Smith") or the "I." of a sentence; a letter marks an item with ")"."""
    return number[1].isdecimal() or ")" in number[0]


def _row(line: SpannedText) -> SpannedText:
    """The cells of a table row as a list with commas; any other line as it is."""
    text = line.text
    if text.count("|") < 2 and not text.lstrip().startswith("|"):
        return line
    pieces: list[SpannedText] = []
    done = 0
    for bar in (*_CELL.finditer(text), None):
        end = bar.start() if bar else len(text)
        cell = line.cut(done, end).stripped()
        if cell.text:
            if pieces:
                pieces.append(SpannedText(", ", (line.source(done - 1, done),) * 2))
            pieces.append(cell)
        done = bar.end() if bar else end
    return joined(pieces)


def _ended(block: SpannedText) -> SpannedText:
    if not block.text.strip():
        return block.cut(0, 0)
    return joined((block, SpannedText(_BREAK, (block.source(len(block) - 1, len(block)),))))


def _blocks(text: SpannedText) -> SpannedText:
    if "\n" not in text.text:
        return _block(text)
    pieces: list[SpannedText] = []
    done = 0
    while done < len(text):
        end = text.text.find("\n", done)
        end = len(text) if end < 0 else end
        pieces += (_block(text.cut(done, end)), text.cut(end, min(end + 1, len(text))))
        done = end + 1
    return joined(pieces)


_ESCAPE = rule(r"\\([!\"#$%&'()*+,\-./:;<=>?@\[\]^_`{|}~])", lambda m: m[1], "\\")
_INLINE = (
    rule(r"(?<=\d) ?\*{1,2} ?(?=[\d(])|(?<=\w) \* (?=\w)", " × ", "*"),
    rule(r"\*{1,100}", "", "*"),
    rule(r"(?<![^\W_])_{1,100}(?=[^\W_])|(?<=[^\s_])_{1,100}(?![^\W_])", "", "_"),
    rule(r"~~{1,100}|==(?=\w)|(?<=[\w.,!?])==(?!=)", "", "~="),
    rule(r"`{1,100}", "", "`"),
)
_BREAKS = (
    rule(r"(?:  |\\)\n(?=\S)", ", ", "\n"),
    rule(rf"\n[ \t]*\n[\s]*|[ \t]*{_BREAK}[\s{_BREAK}]*", lambda m: _falling(m), "\n" + _BREAK),
    rule(r"\n", " ", "\n"),
)


def _falling(match: re.Match[str]) -> str:
    """A full stop where a block ended without a mark of its own."""
    before = (
        match.string[: match.start()].rstrip()
        if match.start() < 400
        else match.string[match.start() - 400 : match.start()].rstrip()
    )
    before = before.rstrip("\"')]")
    return " " if not before or before[-1] in ".!?:;,…—" else ". "


_CODE = re.compile(r"(?<!`)(`{1,2})(?!`)([^`\n]{1,2000})\1(?!`)")
_MATHEMATICS = re.compile(
    r"\$\$([^$]{1,2000})\$\$|\\\(([^\n]{1,500}?)\\\)|\\\[([^$]{1,500}?)\\\]"
    r"|(?<![\w$\\])\$(?![\s$])([^$\n]{1,300})(?<![\s\\])\$(?![\w$])"
)
_FORMULA = re.compile(r"[\\^_={}+<>]|^-?[A-Za-z]$|^[A-Za-z]\([A-Za-z]\)$")


def _mathematics(match: re.Match[str]) -> str | None:
    """Between single dollar signs only what looks like a formula: the rest is money."""
    if match[4] is not None:
        return spoken_latex(match[4]) if _FORMULA.search(match[4]) else None
    return spoken_latex(match[1] or match[2] or match[3])


def plain(text: SpannedText, language: str, code_block: str = "") -> SpannedText:
    """The words and punctuation of ``text``, its headings, items and rows ended by full stops.

    ``code_block`` is said in place of a fenced block. Inline code is read by
    :func:`~speakahead.text.spoken.code.spoken_code` in ``language`` ("en").
    """
    text = text.rewrite(_FENCE, lambda m: code_block + _BREAK if code_block else "\n")
    text = text.rewrite(_CODE, lambda m: spoken_code(m[2], language))
    if language == "en":
        text = text.rewrite(_MATHEMATICS, _mathematics)
    text = _unlinked(apply(text, _HTML))
    text = _blocks(text)
    text = apply(text, (_ESCAPE, *_INLINE, *_BREAKS))
    return text.stripped()
