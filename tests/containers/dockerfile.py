"""Reads Dockerfiles: as much of the format as ours use."""

import json
import shlex
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[2]
FILES = tuple(sorted((ROOT / "containers").glob("*.Dockerfile")))


@dataclass(frozen=True)
class Instruction:
    name: str
    flags: dict[str, str]
    text: str

    @property
    def words(self) -> list[str]:
        """The words of the exec form, which is JSON, or of the shell form."""
        return self.exec_form or shlex.split(self.text)

    @property
    def exec_form(self) -> list[str] | None:
        if not self.text.startswith("["):
            return None
        words = json.loads(self.text)
        assert words
        assert all(isinstance(word, str) for word in words)
        return list(words)

    @property
    def pairs(self) -> dict[str, str]:
        """Of ENV and LABEL."""
        return dict(pair.split("=", 1) for pair in shlex.split(self.text))


@dataclass
class Stage:
    base: str
    name: str | None
    instructions: list[Instruction] = field(default_factory=list)

    def all(self, name: str) -> list[Instruction]:
        return [one for one in self.instructions if one.name == name]

    def only(self, name: str) -> Instruction:
        (one,) = self.all(name)
        return one

    @property
    def environment(self) -> dict[str, str]:
        return {name: value for one in self.all("ENV") for name, value in one.pairs.items()}

    @property
    def labels(self) -> dict[str, str]:
        return {name: value for one in self.all("LABEL") for name, value in one.pairs.items()}


@dataclass
class Dockerfile:
    path: Path
    arguments: dict[str, str]
    stages: list[Stage]

    @property
    def image(self) -> Stage:
        """The last stage, which becomes the image."""
        return self.stages[-1]

    @classmethod
    def read(cls, path: Path) -> "Dockerfile":
        made = cls(path, {}, [])
        for instruction in _instructions(path.read_text()):
            if instruction.name == "FROM":
                base, *alias = instruction.words
                assert not alias or alias[0] == "AS"
                made.stages.append(Stage(base, alias[1] if alias else None))
            elif made.stages:
                made.stages[-1].instructions.append(instruction)
            else:
                assert instruction.name == "ARG", "only ARG may come before FROM"
                name, _, default = instruction.text.partition("=")
                made.arguments[name] = default
        return made


def _instructions(text: str) -> list[Instruction]:
    lines = [line for line in text.splitlines() if not line.lstrip().startswith("#")]
    found = []
    for line in "\n".join(lines).replace("\\\n", " ").splitlines():
        if not line.strip():
            continue
        name, rest = line.split(maxsplit=1)
        flags = {}
        rest = rest.strip()
        while rest.startswith("--"):
            flag, rest = rest.split(maxsplit=1)
            key, _, value = flag[2:].partition("=")
            flags[key] = value
        if name == "HEALTHCHECK":
            rest = rest.removeprefix("CMD").strip()
        found.append(Instruction(name, flags, rest))
    return found
