"""A speech session without I/O: see ``session.session``."""

from speakahead.session.session import Limits, Session, SessionState

__all__ = ["Limits", "Session", "SessionState"]
