"""What synthesis hands to deployment."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Assembly:
    """What the CDK CLI deploys.

    Attributes:
        directory: the cloud assembly.
        main: name of the stack that all is about.
        cache: name of the weights cache's stack, where there is one.
        builder: name of the stack that builds the image, where CodeBuild does.
    """

    directory: Path
    main: str
    cache: str | None = None
    builder: str | None = None

    @property
    def stacks(self) -> list[str]:
        """All of them, in the order in which they are deployed."""
        return [name for name in (self.cache, self.builder, self.main) if name is not None]
