"""The conversations in docs/protocol.md are in the protocol that they explain."""

import re
from pathlib import Path

import pytest

from speakahead.protocol import v1
from speakahead.protocol.json import parse_object, validate_tagged
from speakahead.protocol.messages import (
    _CLIENT,
    _SERVER,
    parse_client_message,
    parse_server_message,
)
from speakahead.session.events import VoiceSettings

TEXT = (Path(__file__).parents[2] / "docs" / "protocol.md").read_text()
SECOND, _, FIRST = TEXT.partition("## Protocol 1")


def said(text: str, arrow: str) -> list[str]:
    return re.findall(rf"^{arrow} (\{{.*)$", text, re.MULTILINE)


@pytest.mark.parametrize("line", said(SECOND, "→"))
def test_a_client_may_say(line: str) -> None:
    parse_client_message(line)


@pytest.mark.parametrize("line", said(SECOND, "←"))
def test_a_server_may_say(line: str) -> None:
    message = parse_server_message(line)
    shown = parse_object(line)
    assert parse_object(message.to_json()) == shown, "a field has another name"


def test_protocol_1() -> None:
    for line in said(FIRST, "→"):
        v1.decode(line, VoiceSettings())
    for line in said(FIRST, "←"):
        validate_tagged(v1.SERVER_MESSAGES, parse_object(line))


@pytest.mark.parametrize("union", [_CLIENT, _SERVER])
def test_every_message_is_explained(union: object) -> None:
    kinds = union.json_schema()["discriminator"]["mapping"]  # type: ignore[attr-defined]
    for kind in kinds:
        assert f"\n| `{kind}` |" in SECOND
