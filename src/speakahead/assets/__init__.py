"""Finding, fetching and verifying the model's weights and voices."""

from speakahead.assets.integrity import Fault, Problem, verify
from speakahead.assets.locate import (
    ModelDirectory,
    cache_directory,
    locate,
    open_directory,
    target_directory,
)
from speakahead.assets.manifest import KOKORO, Manifest, ModelFile
from speakahead.assets.progress import ConsoleProgress, Progress, SilentProgress
from speakahead.assets.pull import pull
from speakahead.assets.sources import (
    DirectorySource,
    HubSource,
    RegistrySource,
    Source,
    source_named,
)
from speakahead.assets.voices import Voices

__all__ = [
    "KOKORO",
    "ConsoleProgress",
    "DirectorySource",
    "Fault",
    "HubSource",
    "Manifest",
    "ModelDirectory",
    "ModelFile",
    "Problem",
    "Progress",
    "RegistrySource",
    "SilentProgress",
    "Source",
    "Voices",
    "cache_directory",
    "locate",
    "open_directory",
    "pull",
    "source_named",
    "target_directory",
    "verify",
]
