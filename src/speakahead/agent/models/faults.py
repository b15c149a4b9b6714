"""Why a model did not answer, as the typed error that its user can act on."""

from __future__ import annotations

import logging

from strands.types.exceptions import EventLoopException, ModelThrottledException

from speakahead.errors import ConnectionFailed, Overloaded, SpeakaheadError, describe_fault

_NO_ACCESS = "The model's service refuses the credentials, or they may not use this model."
_SILENT = "The model has written nothing for too long; try again, or let it be silent for longer."
_UNREACHABLE = "The model's server cannot be reached; check its address, and that it runs."
_KNOWN = {
    # httpx (Ollama), OpenAI's client, botocore, Python itself
    "ConnectError": _UNREACHABLE,
    "APITimeoutError": _SILENT,  # before what it derives from
    "ReadTimeout": _SILENT,
    "ReadTimeoutError": _SILENT,
    "APIConnectionError": "The model's server cannot be reached; check its address.",
    "EndpointConnectionError": "The model's service cannot be reached; check region and network.",
    "ConnectionError": _UNREACHABLE,
    "NoCredentialsError": "No AWS credentials were found; the model on Bedrock needs some.",
    "NoRegionError": "No AWS region is set; the model on Bedrock needs one (--region).",
    "AuthenticationError": _NO_ACCESS,
    "PermissionDeniedError": _NO_ACCESS,
    "AccessDeniedException": _NO_ACCESS,
    "NotFoundError": "The model's server does not know this model or address.",
    "ResourceNotFoundException": "The model's service does not know this model in this region.",
}
"""By the name of the exception's type or of one of its bases, for the clients' packages are extras
and need not be there."""

log = logging.getLogger(__name__)


def explain(fault: Exception) -> SpeakaheadError:
    """The error of a model's fault, without the fault's own text; an unknown one is logged."""
    cause = fault.original_exception if isinstance(fault, EventLoopException) else fault
    if isinstance(cause, SpeakaheadError):
        return cause
    if isinstance(cause, ModelThrottledException):
        return Overloaded("The model takes no more requests for now; try again soon.")
    for kind in type(cause).__mro__:
        if kind.__name__ in _KNOWN:
            return ConnectionFailed(_KNOWN[kind.__name__])
    log.error("the model failed: %s", describe_fault(cause))
    return ConnectionFailed("The model did not answer as it should; the agent's log says why.")
