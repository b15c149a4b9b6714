import json

import pytest

from speakahead.errors import InvalidRequest
from speakahead.protocol.codec import Greeted, Incoming, KeptAlive
from speakahead.protocol.json import RefusedMessage
from speakahead.protocol.negotiation import Negotiation
from speakahead.session.events import Append, Failed, Speak, VoiceSettings

DEFAULTS = VoiceSettings()


def hello(protocol: object) -> str:
    return json.dumps({"type": "hello", "protocol": protocol})


def refusal(codec: Negotiation, frame: str | bytes) -> RefusedMessage:
    with pytest.raises(RefusedMessage) as refused:
        codec.decode(frame)
    return refused.value


def speak(codec: Negotiation) -> Incoming:
    return codec.decode('{"type": "text", "text": "Hi."}')


def test_nothing_said_is_protocol_1() -> None:
    codec = Negotiation(DEFAULTS)
    assert codec.decode('{"text": "Hi."}') == Speak("Hi.", DEFAULTS)
    assert refusal(codec, hello(2)).code == "unexpected_hello"
    assert speak(codec) == Speak("Hi.", DEFAULTS)


@pytest.mark.parametrize("frame", [b"\xff", "", "[]", "7", '{"type": "sing"}', "{}"])
def test_a_first_message_that_is_wrong_is_protocol_1_as_well(frame: str | bytes) -> None:
    codec = Negotiation(DEFAULTS)
    refusal(codec, frame)
    assert codec.protocol == 1
    assert refusal(codec, hello(2)).code == "unexpected_hello"


def test_the_first_message_chooses() -> None:
    codec = Negotiation(DEFAULTS)
    assert codec.decode(hello(2)) == Greeted(2)
    assert speak(codec) == Append("Hi.")
    assert refusal(codec, hello(2)).code == "unexpected_hello"
    assert refusal(codec, hello(1)).code == "unexpected_hello"


def test_a_hello_may_choose_protocol_1() -> None:
    codec = Negotiation(DEFAULTS)
    assert codec.decode(hello(1).encode()) == Greeted(1)
    assert speak(codec) == Speak("Hi.", DEFAULTS)


@pytest.mark.parametrize("protocol", [0, 3, -2, 10**30])
def test_a_version_that_is_not_spoken_leaves_the_choice_open(protocol: int) -> None:
    codec = Negotiation(DEFAULTS)
    refused = refusal(codec, hello(protocol))
    assert refused.code == "unsupported_protocol"
    assert "protocols 1 and 2 are" in refused.message
    (frame,) = codec.encode(Failed(None, refused))
    assert json.loads(frame)["code"] == "unsupported_protocol"
    assert codec.decode(hello(2)) == Greeted(2)


@pytest.mark.parametrize("protocol", ["2", None, 2.5, True, [2]])
def test_a_malformed_hello_leaves_the_choice_open(protocol: object) -> None:
    codec = Negotiation(DEFAULTS)
    assert refusal(codec, hello(protocol)).code == "invalid_request"
    assert codec.decode(hello(2)) == Greeted(2)


def test_the_address_chooses() -> None:
    codec = Negotiation(DEFAULTS)
    assert codec.choose_by_query("2") == Greeted(2)
    assert speak(codec) == Append("Hi.")


def test_a_hello_may_say_again_what_the_address_said_but_nothing_else() -> None:
    codec = Negotiation(DEFAULTS)
    codec.choose_by_query("2")
    assert refusal(codec, hello(1)).code == "unexpected_hello"
    assert codec.decode(hello(2)) == KeptAlive()
    assert speak(codec) == Append("Hi.")


@pytest.mark.parametrize("value", ["", "3", "two", "²", "02", "2 ", "9" * 10_000])
def test_an_address_that_asks_for_another_version(value: str) -> None:
    codec = Negotiation(DEFAULTS)
    with pytest.raises(InvalidRequest) as refused:
        codec.choose_by_query(value)
    assert refused.value.code == "unsupported_protocol"
    assert codec.decode(hello(2)) == Greeted(2)
