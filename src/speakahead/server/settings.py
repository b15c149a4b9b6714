"""How the doors behave."""

from __future__ import annotations

from dataclasses import dataclass, field

from speakahead.session.events import VoiceSettings


@dataclass(frozen=True, slots=True)
class ServerSettings:
    """Settings of a server.

    Attributes:
        voice: voice and speed of requests that name none.
        ahead_s: how far ahead of real-time playback a WebSocket session is spoken; None: as fast
            as the machine can.
        max_body: bytes in an HTTP request; more is refused with status 413.
        body_timeout_s: how long an HTTP client may take to send its request's body.
        max_message: bytes in a WebSocket message; more closes the connection with code 1009.
        send_timeout_s: how long a client may leave a message unread before it is dropped.
        idle_timeout_s: how long a session may be silent on both sides before it is closed.
        first_audio_timeout_s: how long an HTTP client waits for the first sound at most.
        max_sessions: sessions at a time: WebSocket sessions and HTTP requests for speech.
        max_sessions_per_key: the same for each API key; None: no limit of its own.
        max_session_s: how old a WebSocket session may get before it is closed.
        session_warning_s: how long before that its client is warned.
        drain_s: how long what was accepted may be spoken after a request to shut down. The
            platform kills 30 s after it.
        api_keys: who may use the server; empty: everybody.
        cors_origins: web origins (``https://app.example``) whose pages may use the server;
            ``"*"``: all. Empty: no cross-origin headers are sent, and no origin is checked.
    """

    voice: VoiceSettings = field(default_factory=VoiceSettings)
    ahead_s: float | None = 5.0
    max_body: int = 1_500_000
    body_timeout_s: float = 30.0
    max_message: int = 4 * 1024 * 1024
    send_timeout_s: float = 30.0
    idle_timeout_s: float = 300.0
    first_audio_timeout_s: float = 120.0
    max_sessions: int = 64
    max_sessions_per_key: int | None = None
    max_session_s: float = 7200.0
    session_warning_s: float = 60.0
    drain_s: float = 20.0
    api_keys: tuple[str, ...] = field(default=(), repr=False)
    cors_origins: tuple[str, ...] = ()
