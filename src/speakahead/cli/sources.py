"""Where the text of `say` comes from: a fixed text, standard input, or a scripted writer."""

from __future__ import annotations

import asyncio
import codecs
import concurrent.futures
import contextlib
import os
import re
import sys
import threading
from collections.abc import AsyncIterator

from speakahead.errors import InvalidRequest

DEMO_REPLY = (
    "Sure, I can help with that. Your order left our warehouse in Portland on March 3rd, and "
    "it should be with you by 10am on Friday. It costs $3.50 to change the address. "
    "Dr. Alvarez signed for the last parcel, so I have kept the same instructions. "
    "If you would rather pick it up yourself, the shop on Main St. is open until 9:30 pm. "
    "Would you like me to change anything?"
)


async def fixed(text: str) -> AsyncIterator[str]:
    """A text that is there already."""
    yield text


async def typed(text: str, words_per_second: float) -> AsyncIterator[str]:
    """A text that arrives word by word, like a language model's."""
    for word in re.findall(r"\S+\s*", text):
        yield word
        await asyncio.sleep(1 / words_per_second)


async def standard_input() -> AsyncIterator[str]:
    """Standard input, in the pieces in which it comes; bytes that are no UTF-8 are replaced.

    Raises:
        InvalidRequest: there is no standard input, or it cannot be read.
    """
    if sys.stdin is None:  # closed by the shell
        raise InvalidRequest("There is no standard input; give the text as an argument.")
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    loop = asyncio.get_running_loop()
    pieces: asyncio.Queue[bytes | OSError] = asyncio.Queue(maxsize=16)

    def read(descriptor: int) -> None:
        with contextlib.suppress(RuntimeError, concurrent.futures.CancelledError):  # loop is gone
            while True:
                try:
                    piece: bytes | OSError = os.read(descriptor, 65536)
                except OSError as error:
                    piece = error
                asyncio.run_coroutine_threadsafe(pieces.put(piece), loop).result()
                if not piece or isinstance(piece, OSError):
                    return

    # A daemon: a read that nobody answers must not keep the process from ending.
    threading.Thread(target=read, args=(sys.stdin.fileno(),), daemon=True).start()
    while data := await pieces.get():
        if isinstance(data, OSError):
            raise InvalidRequest("Standard input cannot be read.")
        if text := decoder.decode(data):
            yield text
    if rest := decoder.decode(b"", final=True):
        yield rest
