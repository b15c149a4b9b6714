"""Settings in, cloud assembly out: what would be created, in a directory, without an account."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from aws_cdk import App, Tags, Validations
from cdk_nag import AwsSolutionsChecks

from speakahead.infra import names
from speakahead.infra.assembly import Assembly
from speakahead.infra.builder_stack import BuilderStack
from speakahead.infra.cache_stack import CacheStack
from speakahead.infra.images import ImageSource
from speakahead.infra.settings import AgentSettings, Build, SpeechSettings, find_source
from speakahead.infra.speech_stack import SpeechStack


def synthesise_speech(
    settings: SpeechSettings,
    directory: Path,
    *,
    model_prefix: str,
    source: Path | None = None,
) -> Assembly:
    """The speech endpoint's stacks.

    Args:
        settings: what was chosen.
        directory: where the assembly goes.
        model_prefix: of the model in the weights cache; see ``weights``.
        source: the repository, if it is not found by itself.

    Raises:
        SourceMissing: an image is to be built, and its source is not here.
    """
    with _app(directory) as app:
        cache = CacheStack(app, names.cache_stack(settings.stack))
        image, builder = _image(app, settings, source)
        main = SpeechStack(app, settings, cache=cache, model_prefix=model_prefix, source=image)
    return Assembly(directory, main.stack_name, cache.stack_name, builder)


def synthesise_agent(
    settings: AgentSettings, directory: Path, *, source: Path | None = None
) -> Assembly:
    """The voice agent's stacks.

    Raises:
        SourceMissing: an image is to be built, and its source is not here.
    """
    from speakahead.infra.agent_stack import AgentStack  # the library's largest module

    with _app(directory) as app:
        image, builder = _image(app, settings, source)
        main = AgentStack(app, settings, source=image)
    return Assembly(directory, main.stack_name, None, builder)


@contextmanager
def _app(directory: Path) -> Iterator[App]:
    """An app that is written to ``directory`` at the end, if nothing is found against it."""
    app = App(outdir=str(directory), analytics_reporting=False)
    Validations.of(app).add_plugins(AwsSolutionsChecks(app))
    Tags.of(app).add("application", "speakahead")
    yield app
    app.synth()


def _image(
    app: App, settings: SpeechSettings | AgentSettings, source: Path | None
) -> tuple[ImageSource, str | None]:
    """Where the image comes from, and the name of the stack that builds it, if one does."""
    root, built = None, None
    if settings.image is None:
        root = find_source(source, settings.dockerfile)
        if settings.build is Build.CODEBUILD:
            builder = BuilderStack(
                app,
                names.builder_stack(settings.stack),
                source=root,
                dockerfile=settings.dockerfile,
                platform=settings.platform,
                log_days=settings.log_days,
            )
            built = (builder.stack_name, builder.tag)
    image = ImageSource(settings.image, built, root, settings.dockerfile, settings.platform)
    return image, built[0] if built else None
