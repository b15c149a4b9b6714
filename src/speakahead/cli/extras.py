"""What a command says when the packages that it needs are not installed."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from speakahead.errors import SpeakaheadError


@contextlib.contextmanager
def needing(what: str, extra: str) -> Iterator[None]:
    """Around imports that come with an extra of this package.

    Raises:
        SpeakaheadError: it is not installed.
    """
    try:
        yield
    except ImportError as error:
        if (error.name or "").partition(".")[0] == "speakahead":
            raise
        raise SpeakaheadError(
            f"{what} needs more packages: pip install 'speakahead[{extra}]'."
        ) from None
