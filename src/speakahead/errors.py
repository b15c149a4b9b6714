"""The errors that speakahead raises.

::

    SpeakaheadError            every error of ours; carries a stable ``code``
    ├── InvalidRequest         the caller sent something that cannot be served
    │   ├── UnknownVoice
    │   ├── UnsupportedLanguage
    │   └── TextTooLong
    ├── ModelError             weights, voices or their files
    │   ├── ModelNotFound
    │   └── ModelCorrupt
    ├── IllegalTransition      a session method was called in the wrong state
    ├── SynthesisFailed        the engine could not speak this text
    ├── Unauthorized           no API key, or one that is not known
    ├── Forbidden              a web page of an origin that may not use the server
    ├── NotReady               the model is still being loaded
    │   └── ShuttingDown       the server takes nothing new and is about to end
    ├── Overloaded             more streams than this machine can keep on time
    │   ├── TextQueueFull      more text than may wait, all of it behind a held utterance
    │   └── TooManySessions    more sessions than the server, or the key, may have
    ├── IdleTimeout            nothing was said for too long
    ├── SessionExpired         a session is as old as one may get
    ├── ConnectionFailed       a peer could not be reached, or left too early
    └── RemoteError            what a server answered; has the server's own code

Doors turn these into their own wire format and never invent codes: the code and the sentence
that a client sees are those of the error. The sentence says what to do about it. It never holds
the text of another exception, a secret, or the words that were to be spoken.
"""

from __future__ import annotations

import traceback
from typing import ClassVar


class SpeakaheadError(Exception):
    """Base of all our errors.

    Attributes:
        code: stable, lower-case identifier for programs (``"unknown_voice"``).
        message: one sentence for people.
        retryable: whether the same request may succeed later without a change.
        retry_after_s: if retryable, how many seconds to wait first; None when unknown.
    """

    code: ClassVar[str] = "internal"
    retryable: ClassVar[bool] = False

    def __init__(self, message: str, *, retry_after_s: float | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.retry_after_s = retry_after_s


class InvalidRequest(SpeakaheadError):
    """The request is malformed or out of range.

    ``code`` may be narrowed per instance, because a door reports malformed JSON, a wrong type and
    a value out of range differently.
    """

    code = "invalid_request"

    def __init__(self, message: str, *, code: str | None = None) -> None:
        super().__init__(message)
        if code is not None:
            self.code = code  # type: ignore[misc]  # an instance may narrow the class's code


class UnknownVoice(InvalidRequest):
    code = "unknown_voice"


class UnsupportedLanguage(InvalidRequest):
    code = "unsupported_language"


class TextTooLong(InvalidRequest):
    code = "text_too_long"


class ModelError(SpeakaheadError):
    code = "model_error"


class ModelNotFound(ModelError):
    code = "model_not_found"


class ModelCorrupt(ModelError):
    code = "model_corrupt"


class IllegalTransition(SpeakaheadError):
    code = "illegal_transition"


class SynthesisFailed(SpeakaheadError):
    code = "synthesis_failed"
    retryable = True


class Unauthorized(SpeakaheadError):
    code = "unauthorized"


class Forbidden(SpeakaheadError):
    code = "forbidden"


class NotReady(SpeakaheadError):
    code = "not_ready"
    retryable = True


class ShuttingDown(NotReady):
    code = "shutting_down"


class Overloaded(SpeakaheadError):
    code = "overloaded"
    retryable = True


class TextQueueFull(Overloaded):
    code = "text_queue_full"


class TooManySessions(Overloaded):
    """``of_key``: whether it is the limit of the key that was reached, not the server's."""

    code = "too_many_sessions"

    def __init__(
        self, message: str, *, retry_after_s: float | None = None, of_key: bool = False
    ) -> None:
        super().__init__(message, retry_after_s=retry_after_s)
        self.of_key = of_key


class IdleTimeout(SpeakaheadError):
    code = "idle_timeout"
    retryable = True


class SessionExpired(SpeakaheadError):
    code = "session_expired"
    retryable = True


class ConnectionFailed(SpeakaheadError):
    code = "connection_failed"
    retryable = True


class RemoteError(SpeakaheadError):
    """A server's error, as its client sees it: code, sentence and advice are the server's."""

    code = "remote_error"

    def __init__(
        self, message: str, *, code: str, retryable: bool, retry_after_s: float | None = None
    ) -> None:
        super().__init__(message, retry_after_s=retry_after_s)
        self.code = code  # type: ignore[misc]  # the server's, not the class's
        self.retryable = retryable  # type: ignore[misc]


def describe_fault(fault: BaseException) -> str:
    """What a log may say of an unexpected exception: its type and where it was raised.

    Not its text, which may quote the user's words.
    """
    where = "".join(traceback.format_tb(fault.__traceback__))
    return f"{type(fault).__name__} at\n{where}"
