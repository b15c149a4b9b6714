"""Framing and the shape of signatures, without I/O."""

from datetime import UTC, datetime, timedelta

import pytest
from botocore.eventstream import EventStreamBuffer
from hypothesis import given
from hypothesis import strategies as st
from smithy_aws_event_stream.events import EventMessage

from speakahead.emulator.events import (
    Completion,
    DataType,
    EventDecoder,
    PayloadPart,
    decode_message,
    decode_part,
    encode_exception,
    encode_part,
)
from speakahead.emulator.refusals import Refused, StreamRefused
from speakahead.emulator.signing import EVENTS_HASH, SignedEvents, check_request
from tests.emulator.raw import authorization, envelope, part, signed_headers

PARTS = st.builds(
    PayloadPart,
    st.binary(max_size=300),
    st.sampled_from([*DataType, None]),
    st.sampled_from([*Completion, None]),
)


@given(st.lists(PARTS, max_size=5), st.data())
def test_events_cut_anywhere_come_out_whole(parts: list[PayloadPart], data: st.DataObject) -> None:
    wire = b"".join(encode_part(part) for part in parts)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(wire)), max_size=6)))
    decoder, decoded = EventDecoder(), []
    for start, end in zip([0, *cuts], [*cuts, len(wire)], strict=True):
        decoded += [decode_part(message) for message in decoder.feed(wire[start:end])]
    assert decoded == parts
    assert decoder.empty


def test_another_implementation_reads_our_events() -> None:
    buffer = EventStreamBuffer()
    buffer.add_data(encode_part(PayloadPart(b"{", DataType.BINARY, Completion.PARTIAL)))
    buffer.add_data(encode_exception("ModelStreamError", {"ErrorCode": "1000"}))
    first, second = list(buffer)
    assert first.payload == b"{"
    assert first.headers["CompletionState"] == "PARTIAL"
    assert second.headers[":exception-type"] == "ModelStreamError"


def test_a_flipped_bit_is_found() -> None:
    wire = encode_part(PayloadPart(b"sound", DataType.BINARY))
    for position in range(len(wire)):
        broken = bytearray(wire)
        broken[position] ^= 1
        with pytest.raises(StreamRefused):
            list(EventDecoder().feed(bytes(broken)))


@given(st.binary(min_size=12, max_size=200))
def test_nonsense_is_refused(data: bytes) -> None:
    with pytest.raises(StreamRefused):
        list(EventDecoder().feed(data))
    with pytest.raises(StreamRefused):
        decode_message(data)


@pytest.mark.parametrize(
    "headers",
    [
        {":message-type": "event", ":event-type": "Other"},
        {":message-type": "exception", ":exception-type": "PayloadPart"},
        {":message-type": "event", ":event-type": "PayloadPart", "DataType": "JSON"},
        {":message-type": "event", ":event-type": "PayloadPart", "CompletionState": "DONE"},
        {":message-type": "event", ":event-type": "PayloadPart", "DataType": b"UTF8"},
    ],
)
def test_events_outside_the_api_are_refused(headers: dict[str, str]) -> None:
    with pytest.raises(StreamRefused):
        decode_part(EventMessage(headers=headers))


def unwrap(wire: bytes, events: SignedEvents | None = None) -> bytes | None:
    return (events or SignedEvents()).unwrap(decode_message(wire))


def test_an_envelope_is_taken_off() -> None:
    event = part(b"hello", DataType="UTF8")
    assert unwrap(envelope(event)) == event


@pytest.mark.parametrize(
    "wrong",
    [
        {"date": None},
        {"date": "20261130T000000Z"},
        {"date": datetime(2000, 1, 1, tzinfo=UTC)},
        {"chunk_signature": None},
        {"chunk_signature": bytes(31)},
        {"chunk_signature": "0" * 32},
    ],
)
def test_an_envelope_must_be_signed(wrong: dict[str, object]) -> None:
    with pytest.raises(StreamRefused) as caught:
        unwrap(envelope(part(b"x"), **wrong))
    assert caught.value.code == "InvalidSignatureException"


def test_the_last_envelope_is_empty_and_nothing_follows_it() -> None:
    events = SignedEvents()
    with pytest.raises(StreamRefused):
        events.close()
    assert unwrap(envelope(b""), events) is None
    events.close()
    with pytest.raises(StreamRefused):
        unwrap(envelope(part(b"x")), events)


def test_a_signed_request_passes() -> None:
    check_request({"host": "localhost", **signed_headers()}, events=True)


NOW = datetime.now(UTC)
OLD = NOW - timedelta(minutes=6)


@pytest.mark.parametrize(
    ("changes", "kind"),
    [
        ({"authorization": None}, "MissingAuthenticationTokenException"),
        ({"authorization": "Bearer x"}, "IncompleteSignatureException"),
        ({"authorization": authorization(NOW, signature="0" * 63)}, "IncompleteSignatureException"),
        ({"authorization": authorization(NOW, signed="")}, "IncompleteSignatureException"),
        ({"x_amz_date": None}, "IncompleteSignatureException"),
        ({"x_amz_date": "today"}, "IncompleteSignatureException"),
        ({"authorization": authorization(NOW, service="polly")}, "InvalidSignatureException"),
        (
            {"authorization": authorization(NOW - timedelta(days=1))},
            "InvalidSignatureException",
        ),
        (
            {"authorization": authorization(OLD), "x_amz_date": OLD.strftime("%Y%m%dT%H%M%SZ")},
            "InvalidSignatureException",
        ),
        ({"authorization": authorization(NOW, signed="x-amz-date")}, "InvalidSignatureException"),
        ({"x_amz_security_token": "not signed"}, "InvalidSignatureException"),
        ({"content_type": None}, "InvalidSignatureException"),  # signed, but not there
        ({"x_amz_content_sha256": "UNSIGNED-PAYLOAD"}, "InvalidSignatureException"),
    ],
)
def test_requests_signed_wrongly_are_refused(changes: dict[str, str | None], kind: str) -> None:
    with pytest.raises(Refused) as caught:
        check_request({"host": "localhost", **signed_headers(**changes)}, events=True)
    assert caught.value.kind == kind
    assert caught.value.status == 403


def test_a_plain_request_needs_no_hash_of_events() -> None:
    headers = signed_headers(x_amz_content_sha256="0" * 64)
    assert EVENTS_HASH not in headers.values()
    check_request({"host": "localhost", **headers}, events=False)
