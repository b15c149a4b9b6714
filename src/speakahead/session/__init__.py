"""A speech session without I/O: see ``session.session``."""

from speakahead.session.limits import Limits
from speakahead.session.session import Session, SessionState

__all__ = ["Limits", "Session", "SessionState"]
