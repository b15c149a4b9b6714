"""Is a request signed as Signature Version 4 asks? Its shape is checked, not the signature.

A local client has no secret that anybody else knows, so there is nothing to verify; but a client
that forgets to sign, or signs for another service, fails here as it would fail on AWS. Rules:
"Elements of an AWS API request signature" in the IAM user guide, and "Common errors" of the API.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

from smithy_aws_event_stream.events import EventMessage

from speakahead.emulator.refusals import Refused, StreamRefused

ALGORITHM = "AWS4-HMAC-SHA256"
EVENTS_HASH = "STREAMING-AWS4-HMAC-SHA256-EVENTS"
SERVICE = "sagemaker"
SIGNATURE_BYTES = 32

_MAX_SKEW = timedelta(minutes=5)
_CREDENTIAL = re.compile(
    r"(?P<key>[A-Za-z0-9]{1,128})/(?P<date>\d{8})/(?P<region>[a-z0-9-]{2,32})"
    r"/(?P<service>[a-z0-9-]+)/aws4_request"
)
_SIGNED_HEADERS = re.compile(r"[a-z0-9-]+(?:;[a-z0-9-]+)*")
_SIGNATURE = re.compile(r"[0-9a-f]{64}")


def check_request(headers: Mapping[str, str], *, events: bool, now: datetime | None = None) -> None:
    """Check the signature of a request.

    Args:
        headers: the request's, names in lower case; ``host`` included.
        events: whether the body is a stream of signed events.
        now: the time to compare with; the present by default.

    Raises:
        Refused: 403, with the error type that AWS gives it.
    """
    authorization = headers.get("authorization")
    if authorization is None:
        raise Refused(
            403, "MissingAuthenticationTokenException", "The request has no authorization header."
        )
    scheme, _, rest = authorization.partition(" ")
    values = dict(item.strip().partition("=")[::2] for item in rest.split(","))
    credential = _CREDENTIAL.fullmatch(values.get("Credential", ""))
    signed = values.get("SignedHeaders", "")
    if (
        scheme != ALGORITHM
        or credential is None
        or not _SIGNED_HEADERS.fullmatch(signed)
        or not _SIGNATURE.fullmatch(values.get("Signature", ""))
    ):
        raise Refused(
            403,
            "IncompleteSignatureException",
            f"The authorization header is not {ALGORITHM} with Credential, SignedHeaders and "
            "Signature.",
        )
    if credential["service"] != SERVICE:
        raise _invalid(f"Credential should be scoped to the service {SERVICE}.")
    _check_time(headers.get("x-amz-date", ""), credential["date"], now or datetime.now(UTC))
    _check_signed_headers(headers, frozenset(signed.split(";")))
    if events and headers.get("x-amz-content-sha256") != EVENTS_HASH:
        raise _invalid(f"x-amz-content-sha256 of an event stream is {EVENTS_HASH}.")


def _check_time(stamp: str, scope_date: str, now: datetime) -> None:
    try:
        signed_at = datetime.strptime(stamp, "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC)
    except ValueError:
        raise Refused(
            403, "IncompleteSignatureException", "The request has no valid x-amz-date header."
        ) from None
    if stamp[:8] != scope_date:
        raise _invalid("The date in Credential is not that of x-amz-date.")
    if abs(now - signed_at) > _MAX_SKEW:
        raise _invalid("The signature has expired, or a clock is wrong.")


def _check_signed_headers(headers: Mapping[str, str], signed: frozenset[str]) -> None:
    required = {"host"} | {name for name in headers if name.startswith("x-amz-")}
    if forgotten := sorted(required - signed):
        raise _invalid(f"These headers must be signed: {', '.join(forgotten)}.")
    if absent := sorted(signed - headers.keys()):
        raise _invalid(f"These headers are signed but absent: {', '.join(absent)}.")


def _invalid(message: str) -> Refused:
    return Refused(403, "InvalidSignatureException", message)


class SignedEvents:
    """Takes the signed envelopes off a request's events.

    Each event lies, encoded, in a message with the headers ``:date`` and ``:chunk-signature``;
    an envelope without contents is the last one.
    """

    def __init__(self) -> None:
        self.ended = False

    def unwrap(self, envelope: EventMessage) -> bytes | None:
        """The encoded event in an envelope; None in the last one.

        Raises:
            StreamRefused: the envelope is not signed, or comes after the last one.
        """
        date = envelope.headers.get(":date")
        signature = envelope.headers.get(":chunk-signature")
        if not isinstance(date, datetime):
            raise _unsigned("An event has no :date.")
        if abs(datetime.now(UTC) - date) > _MAX_SKEW:
            raise _unsigned("An event's signature has expired, or a clock is wrong.")
        if not isinstance(signature, bytes) or len(signature) != SIGNATURE_BYTES:
            raise _unsigned(f"An event has no :chunk-signature of {SIGNATURE_BYTES} bytes.")
        if self.ended:
            raise _unsigned("An event follows the last one.")
        if not envelope.payload:
            self.ended = True
            return None
        return envelope.payload

    def close(self) -> None:
        """The body has ended.

        Raises:
            StreamRefused: without the signed empty event that says that nothing was cut off.
        """
        if not self.ended:
            raise _unsigned("The body ended without a signed empty event.")


def _unsigned(message: str) -> StreamRefused:
    return StreamRefused("InvalidSignatureException", message)
