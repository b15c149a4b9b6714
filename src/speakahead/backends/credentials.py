"""AWS credentials for the SDKs built on smithy, from botocore's chain.

The chain of those SDKs knows environment variables and static profiles only, and where it finds
nothing a call waits for ever. botocore's knows containers, instance roles, SSO and the rest.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from typing import Any, Protocol, Self

import botocore.session
from botocore.exceptions import BotoCoreError, ClientError, ProfileNotFound
from smithy_aws_core.identity import AWSCredentialsIdentity

from speakahead.errors import ConnectionFailed, InvalidRequest, Unauthorized

_FRESH_S = 60.0
"""botocore refreshes credentials long before they expire; looking once a minute is enough."""


class _Frozen(Protocol):
    access_key: str
    secret_key: str
    token: str | None


class BotocoreCredentials:
    """An identity resolver that asks botocore, at most once a minute.

    The SDKs ask for each event they send, and copy their configuration, this with it.

    Args:
        profile: of the AWS configuration files; None: the default one.
        timeout_s: for a look-up, which may go to the network.
    """

    def __init__(self, profile: str | None = None, *, timeout_s: float = 10.0) -> None:
        self._profile = profile
        self._timeout_s = timeout_s
        self._session: Any = None
        self._identity: AWSCredentialsIdentity | None = None
        self._looked_at = float("-inf")

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self

    async def get_identity(
        self, *, properties: Mapping[str, Any] | None = None
    ) -> AWSCredentialsIdentity:
        """The credentials to sign with.

        Raises:
            Unauthorized: there are none.
            InvalidRequest: there is no such profile.
            ConnectionFailed: what provides them does not answer.
        """
        now = time.monotonic()
        if self._identity is None or now - self._looked_at > _FRESH_S:
            try:
                async with asyncio.timeout(self._timeout_s):
                    frozen = await asyncio.to_thread(self._look_up)
            except TimeoutError:
                raise ConnectionFailed("AWS credentials could not be had in time.") from None
            self._identity = AWSCredentialsIdentity(
                access_key_id=frozen.access_key,
                secret_access_key=frozen.secret_key,
                session_token=frozen.token,
            )
            self._looked_at = now
        return self._identity

    async def invalidate(self) -> None:
        """Look again next time."""
        self._identity = None

    def region(self) -> str | None:
        """The region that the environment or the profile names."""
        try:
            name: str | None = self._botocore().get_config_variable("region")
        except BotoCoreError:
            return None
        return name

    def _botocore(self) -> Any:
        if self._session is None:
            self._session = botocore.session.Session(profile=self._profile)
        return self._session

    def _look_up(self) -> _Frozen:
        try:
            credentials = self._botocore().get_credentials()
            if credentials is not None:
                frozen: _Frozen = credentials.get_frozen_credentials()
                return frozen
        except ProfileNotFound:
            raise InvalidRequest("There is no AWS profile of this name.") from None
        except (BotoCoreError, ClientError, RuntimeError):  # a refresh raises the last
            raise Unauthorized(
                "The AWS credentials are not usable; sign in again, or see `aws configure`."
            ) from None
        raise Unauthorized("There are no AWS credentials; see `aws configure`.")
