"""The classes of characters that the segmentation of text depends on."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

LINE_BREAKS = frozenset("\n\r\v\f\x85\u2028\u2029")
# White space is not needed after these to end a sentence.
HARD_TERMINATORS = frozenset("。！？｡．।॥؟۔։።፧")
TERMINATORS = HARD_TERMINATORS | frozenset(".!?…‥‼⁇⁈⁉")
# Brackets in which a hard terminator does not end the sentence around them.
CJK_OPENERS = frozenset("（「『《【〈")
CJK_CLOSERS = frozenset("）」』》】〉")
CLOSERS = CJK_CLOSERS | frozenset("\"'”’»)]}］｝*_~›")


def is_emoji(char: str) -> bool:
    """Whether ``char`` is an emoji or joins, colours or varies one."""
    code = ord(char)
    return (
        0x1F000 <= code <= 0x1FAFF
        or 0x2600 <= code <= 0x27BF
        or 0x2B00 <= code <= 0x2BFF
        or 0x23E9 <= code <= 0x23FF
        or 0xE0020 <= code <= 0xE007F
        or code in (0x231A, 0x231B, 0xFE0F, 0x200D, 0x20E3)
    )


def is_wide(char: str) -> bool:
    """Whether ``char`` belongs to a script that is written without spaces (CJK and its marks)."""
    return char > "\u2e7f" and not is_emoji(char)


def spoken_length(c: str) -> int:
    """How much ``c`` counts against the soft limit, by the number of sounds it stands for."""
    if c < "\u2e80":
        return 2 if c.isdigit() else 1
    if "\u3400" <= c <= "\u9fff" or "\uf900" <= c <= "\ufaff" or "\U00020000" <= c <= "\U0003ffff":
        return 3
    return 2


def last_whole_character(chars: Sequence[str], end: int) -> int:
    """The last position before ``end`` that cuts no combining sequence or surrogate pair.

    ``end`` itself if there is none among the 32 positions before.
    """
    for k in range(end - 1, max(end - 33, 0), -1):
        before, after = chars[k - 1], chars[k]
        combined = unicodedata.category(after).startswith("M") or "\u200d" in (before, after)
        paired = "\ud800" <= before <= "\udbff" and "\udc00" <= after <= "\udfff"
        if not combined and not paired:
            return k
    return end
