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
    ├── NotReady               the model is still being loaded
    ├── Overloaded             more streams than this machine can keep on time
    ├── IdleTimeout            nothing was said for too long
    └── ConnectionFailed       a peer could not be reached, or left too early

Doors turn these into their own wire format and never invent codes: the code and the sentence
that a client sees are those of the error. The sentence says what to do about it. It never holds
the text of another exception, a secret, or the words that were to be spoken.
"""

from __future__ import annotations

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


class NotReady(SpeakaheadError):
    code = "not_ready"
    retryable = True


class Overloaded(SpeakaheadError):
    code = "overloaded"
    retryable = True


class IdleTimeout(SpeakaheadError):
    code = "idle_timeout"
    retryable = True


class ConnectionFailed(SpeakaheadError):
    code = "connection_failed"
    retryable = True
