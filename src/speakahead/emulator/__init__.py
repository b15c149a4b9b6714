"""A local stand-in for Amazon SageMaker AI's runtime, in front of a container on this machine.

The real SDK client talks to it over HTTP/2 and TLS, and the container sees what it would see on
the platform: one WebSocket for each stream, one frame for each part.
"""

from speakahead.emulator.certificate import Certificates
from speakahead.emulator.endpoint import LocalEndpoint
from speakahead.emulator.faults import Fault, FaultKind

__all__ = ["Certificates", "Fault", "FaultKind", "LocalEndpoint"]
