"""What stays of a turn in a conversation's history."""

from __future__ import annotations

from itertools import accumulate

from strands.types.content import ContentBlock, Message, Messages

from speakahead.agent.request import MAX_PROMPT


def newest(questions: list[str]) -> list[str]:
    """As many of the last questions as make one prompt at most."""
    lengths = accumulate(len(question) for question in reversed(questions))
    count = sum(length <= MAX_PROMPT for length in lengths)
    return questions[len(questions) - count :]


def place_after(message: Message | None, messages: Messages) -> int:
    """Where what follows a message begins; 0 where it is no longer there."""
    places = (place for place in range(len(messages), 0, -1) if messages[place - 1] is message)
    return next(places, 0)


def heard_messages(messages: Messages, heard: list[str]) -> Messages:
    """A turn's messages after the question, cut to what was heard of them.

    ``heard`` is the text that was heard of each of the model's calls. Tools' results stay as long
    as something was heard after them: an answer that nobody heard was not given. A call without a
    result goes, as models refuse a history with one.
    """
    kept: Messages = []
    length = 0  # up to where something was heard
    step = 0
    for position, message in enumerate(messages):
        if message["role"] == "user":
            kept.append(message)
            continue
        text = heard[step] if step < len(heard) else ""
        step += 1
        content: list[ContentBlock] = [{"text": text}] if text.strip() else []
        answered = position + 1 < len(messages)  # by the message with the tools' results
        if answered:
            content += [block for block in message["content"] if "toolUse" in block]
        if content:
            kept.append(Message(role="assistant", content=content))
        if text.strip():
            length = len(kept)
    if step < len(heard) and heard[step].strip():  # Strands had not kept the message at all
        kept.append(Message(role="assistant", content=[{"text": heard[step]}]))
        length = len(kept)
    kept = kept[:length]
    if kept:  # its calls have lost their results
        kept[-1]["content"] = [block for block in kept[-1]["content"] if "toolUse" not in block]
    return kept
