"""What every test of the spoken form needs: the text that would be said."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from speakahead.text.spans import SpannedText
from speakahead.text.spoken import spoken_form


@pytest.fixture(scope="session")
def say() -> Callable[..., str]:
    def said(text: str, language: str = "en-us") -> str:
        return spoken_form(SpannedText.verbatim(text), language).text

    return said
