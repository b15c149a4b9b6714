"""The spoken form: text as a person would read it aloud.

"It cost **$3.50** at 4:30 pm" is spoken as "It cost three dollars and fifty cents at four thirty
PM". English (American and British) is treated in full; Spanish, French, Hindi, Italian and
Portuguese have numbers, money, times, units and addresses; for any other language only the markup
is taken away.

Each module holds one concept as a tuple of rules. They run in an order that lets the more
particular reading win: an address before the number inside it, money before a bare number.
"""

from __future__ import annotations

from speakahead.text.spans import SpannedText
from speakahead.text.spoken import english, languages
from speakahead.text.spoken.characters import normalized, speakable, without_emoji
from speakahead.text.spoken.markup import plain
from speakahead.text.spoken.rules import apply

__all__ = ["spoken_form"]


def spoken_form(text: SpannedText, language: str, *, code_block: str = "") -> SpannedText:
    """What to say for one sentence, heading, list item, table row or code block of a reply.

    Args:
        text: the unit as it was written, with its markup.
        language: BCP 47 tag; its first part chooses the rules, and "en-gb" dates and numbers.
        code_block: said in place of each fenced code block, such as "Code example."; nothing by
            default, because a program read aloud helps nobody.

    Returns:
        Words, spaces and ``, . ! ? ; : — … " ( ) ' -`` only. Every character stands for the part
        of the source that it came from. Empty if there is nothing to say (only emoji, "...").
    """
    tag = language.lower().replace("_", "-")
    text = normalized(without_emoji(text))
    text = plain(text, tag.split("-")[0], code_block)
    if tag.split("-")[0] == "en":
        text = apply(text, english.rules(british=tag.startswith("en-gb")))
    else:
        text = apply(text, languages.rules(tag.split("-")[0]))
    return speakable(text)
