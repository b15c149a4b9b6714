"""Speech from Amazon Polly's bidirectional streaming, behind the interface of the other back ends.

Made to be compared with: an application that speaks with Kokoro speaks with Polly without other
changes. See docs/polly.md for what Polly cannot do.
"""

from __future__ import annotations

import asyncio
import copy
import time
from collections.abc import Awaitable, Callable, Mapping
from types import TracebackType
from typing import Any, Self

from aws_sdk_polly.client import AsyncPollyClient
from aws_sdk_polly.config import AsyncPollyConfig
from smithy_http.aio.crt import AWSCRTHTTPClient

from speakahead.audio.codecs import require_av
from speakahead.backends.credentials import BotocoreCredentials
from speakahead.backends.polly_call import PollyCall, shut_client, typed_error
from speakahead.backends.polly_session import Part, PollySession
from speakahead.backends.polly_voices import VOICES, PollyVoice, VoiceTable
from speakahead.errors import ConnectionFailed, InvalidRequest, SpeakaheadError
from speakahead.session.events import (
    Append,
    Audio,
    Close,
    Event,
    Request,
    SessionClosed,
    Speak,
    VoiceSettings,
)

__all__ = ["VOICES", "PollyBackend", "PollyStream", "PollyVoice"]

_MAX_EVENTS = 4096
"""Events that may wait for the reader before requests do."""


class PollyBackend:
    """Opens sessions with Amazon Polly.

    Needs the extras ``aws`` and ``formats`` (for resampling: Polly's PCM has 16 kHz at most).

    Args:
        voice: speaks for all of Kokoro's voices; None: one of the same language and gender.
        voices: more names, for each a name in ``VOICES`` or a voice that is not listed there.
        region: None: that of the environment or the profile.
        profile: of the AWS configuration files; None: the default one.
        endpoint_url: None: ``AWS_ENDPOINT_URL_POLLY``, or the region's.
        timeout_s: for the connection, for everything that Polly does not take, and for each of its
            answers that is due.

    Raises:
        UnknownVoice: a voice is not known.
        InvalidRequest: no region is set, the endpoint's URL is not of https, or PyAV is missing.
    """

    def __init__(
        self,
        *,
        voice: str | None = None,
        voices: Mapping[str, str | PollyVoice] | None = None,
        region: str | None = None,
        profile: str | None = None,
        endpoint_url: str | None = None,
        timeout_s: float = 10.0,
    ) -> None:
        require_av()
        self._voices = VoiceTable(voice, voices)
        self._credentials = BotocoreCredentials(profile, timeout_s=timeout_s)
        self._region = region or self._credentials.region() or ""
        if not self._region:
            raise InvalidRequest("No AWS region is set; name one.")
        if endpoint_url is not None and not endpoint_url.startswith("https://"):
            raise InvalidRequest("Amazon Polly streams over HTTP/2, and so over https only.")
        self._endpoint_url = endpoint_url
        self._timeout_s = timeout_s
        self._config: AsyncPollyConfig | None = None
        self._lock = asyncio.Lock()

    def open(self, settings: VoiceSettings | None = None) -> PollyStream:
        """A new session. Streams of Polly's are opened when there is text."""
        return PollyStream(self._client, PollySession(self._voices, settings), self._timeout_s)

    async def aclose(self) -> None:
        """Sessions share nothing that has to be closed."""

    async def _client(self) -> AsyncPollyClient:
        # The SDK would wait for ever where there are no credentials.
        await self._credentials.get_identity()
        async with self._lock:
            if self._config is None:
                endpoint: Any = {"endpoint_uri": self._endpoint_url} if self._endpoint_url else {}
                self._config = await AsyncPollyConfig.resolve(
                    region=self._region,
                    aws_credentials_identity_resolver=self._credentials,
                    transport=AWSCRTHTTPClient(),  # the default one cannot stream both ways
                    **endpoint,
                )
        # Clients share their configuration's transport, and the first that is closed would close it
        # for all; copies of it share only their thread.
        config = copy.copy(self._config)
        config.transport = copy.deepcopy(self._config.transport)
        return AsyncPollyClient(config=config)


class PollyStream:
    """One session; see ``SpeechStream``. Belongs to the event loop that opened it.

    An utterance is spoken by one of Polly's streams, or by several one after the other if it is
    long or pauses; there is one at a time. Polly has no word timings: ``SentenceStarted`` comes
    without words and with an estimated offset, and ``text_spoken`` of an interruption is estimated
    from the share of the sound that was played. What is held is synthesised, and waits here.

    ``VoiceSettings.pauses`` are Polly's own, and ``format`` is the door's business.
    """

    def __init__(
        self,
        connect: Callable[[], Awaitable[AsyncPollyClient]],
        session: PollySession,
        timeout_s: float,
    ) -> None:
        self._connect = connect
        self._session = session
        self._timeout_s = timeout_s
        self._client: AsyncPollyClient | None = None  # was used, and is to be used again
        self._part: Part | None = None
        self._serving: asyncio.Task[None] | None = None
        self._leaving: set[asyncio.Task[None]] = set()
        self._changed = asyncio.Event()  # there may be more text to send
        self._ready = asyncio.Event()  # there may be an event to take
        self._room_for_text = asyncio.Event()
        self._room = asyncio.Event()
        self._ended = False
        self._give_room()

    async def __aenter__(self) -> Self:
        """Look for credentials, so that it fails early.

        Raises:
            Unauthorized: there are none.
            ConnectionFailed: they could not be had in time.
        """
        await shut_client(await self._connect())
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.aclose()

    async def send(self, request: Request) -> None:
        """Take a request; text waits while the session is congested.

        Raises:
            IllegalTransition: the session is closing or closed.
        """
        if isinstance(request, Speak | Append):
            await self._room_for_text.wait()
        elif not isinstance(request, Close):
            await self._room.wait()
        self._session.receive(request, time.monotonic())
        self._pump()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Event:
        while (event := self._session.next_event(time.monotonic())) is None:
            if self._ended:
                raise StopAsyncIteration
            self._ready.clear()
            await self._ready.wait()
        self._give_room()
        if isinstance(event, Audio):
            self._pump()
        elif isinstance(event, SessionClosed):
            self._ended = True
        return event

    async def aclose(self) -> None:
        """Drop everything that has not been taken yet; idempotent."""
        self._session.abandon(time.monotonic())
        self._ended = True
        self._pump()
        if self._client is not None:
            self._leave(shut_client(self._client))
            self._client = None
        for event in (self._room_for_text, self._room, self._ready):
            event.set()
        while self._leaving:
            await asyncio.wait(set(self._leaving))

    # -- inside --------------------------------------------------------------------------------

    def _pump(self) -> None:
        """Serve the part under way, leave one that is not wanted, and wake whoever waits."""
        part = self._session.part
        if self._part is not None and self._part is not part:
            assert self._serving is not None
            self._serving.cancel()
            self._part = self._serving = None
        if self._part is None and part is not None and part.has_text:
            self._part = part
            self._serving = self._leave(self._serve(part))
        self._give_room()
        self._changed.set()
        self._ready.set()

    def _leave(self, work: Any) -> asyncio.Task[None]:
        """Do work that ``aclose`` waits for."""
        task: asyncio.Task[None] = asyncio.create_task(work)
        self._leaving.add(task)
        task.add_done_callback(self._leaving.discard)
        return task

    def _give_room(self) -> None:
        room = self._session.pending_events < _MAX_EVENTS
        for event, free in (
            (self._room, room),
            (self._room_for_text, room and not self._session.congested),
        ):
            if free:
                event.set()
            else:
                event.clear()

    async def _serve(self, part: Part) -> None:
        """Have a part spoken, and tell the session what became of it."""
        client, self._client = self._client, None
        try:
            try:
                await self._speak(part, client)
            except ConnectionFailed:
                if client is None or part.samples:
                    raise
                part.rewind()  # the connection was perhaps lost while nobody used it
                await self._speak(part, None)
        except SpeakaheadError as error:
            self._session.fail(part, error, time.monotonic())
        else:
            self._session.finish(part, time.monotonic())
        if self._part is part:
            self._part = self._serving = None
            self._pump()

    async def _speak(self, part: Part, client: AsyncPollyClient | None) -> None:
        call = PollyCall(part, self._session, self._changed, self._timeout_s)
        call.heard = self._pump
        try:
            async with asyncio.timeout(self._timeout_s):
                if client is None:
                    client = await self._connect()
                await call.open(client)
            await call.run()
        except BaseException as error:
            if client is not None:
                self._leave(call.shut(client))
            if isinstance(error, TimeoutError):
                raise ConnectionFailed("Amazon Polly does not answer.") from None
            if isinstance(error, Exception):
                raise typed_error(error) from None
            raise
        if self._client is None and not self._ended and call.over:
            self._client = client
        else:
            self._leave(call.shut(client))
