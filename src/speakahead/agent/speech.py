"""What speaks for the agent, by configuration."""

from __future__ import annotations

from speakahead.agent.settings import LOCAL, SpeechSettings
from speakahead.backends.interface import SpeechBackend
from speakahead.errors import InvalidRequest

_POLLY = "polly"
_SAGEMAKER = "sagemaker:"
_FORMS = "local, ws://HOST:PORT, sagemaker:ENDPOINT or polly"


async def open_speech(settings: SpeechSettings | None = None) -> SpeechBackend:
    """The back end that the settings name. Slow for ``local``, which loads the model.

    Raises:
        InvalidRequest: it is none of these, or needs the extra ``aws``, which is not installed.
        ModelError: there is no model here.
    """
    settings = settings or SpeechSettings()
    where = settings.where.strip()
    if where == LOCAL:
        from speakahead.backends.local import LocalBackend

        return await LocalBackend.load()
    if where == _POLLY or where.startswith(_SAGEMAKER):
        try:
            return _aws(where, settings)
        except ImportError:
            raise InvalidRequest(
                "Speech from AWS needs more packages: pip install 'speakahead[aws]'."
            ) from None
    if "://" not in where:
        raise InvalidRequest(f"What speaks is one of: {_FORMS}.")
    from speakahead.backends.resuming import Resumption
    from speakahead.backends.websocket import WebSocketBackend

    return WebSocketBackend(where, api_key=settings.api_key, resumption=Resumption())


def _aws(where: str, settings: SpeechSettings) -> SpeechBackend:
    if where == _POLLY:
        from speakahead.backends.polly import PollyBackend

        return PollyBackend(region=settings.region, endpoint_url=settings.endpoint_url)
    from speakahead.backends.sagemaker import SageMakerBackend

    return SageMakerBackend(
        where.removeprefix(_SAGEMAKER), region=settings.region, endpoint_url=settings.endpoint_url
    )
