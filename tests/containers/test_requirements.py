"""What goes into the images: all of it pinned by hash, at the versions of constraints.txt."""

import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.containers.dockerfile import ROOT, Dockerfile

FOLDER = ROOT / "containers" / "requirements"
EXTRAS = {
    "cpu": ["formats", "telemetry", "openvino"],
    "cuda": ["formats", "telemetry"],
    "agent": ["agent", "aws"],
}
LEFT_OUT = {"cpu": set(), "cuda": {"onnxruntime"}, "agent": {"xllamacpp"}}
LINUX = {"sys_platform": "linux", "platform_system": "Linux", "implementation_name": "cpython"}
NAMES = ["build", *EXTRAS]


def locked(name: str) -> dict[str, tuple[Requirement, list[str]]]:
    """Requirements of a lock that Linux gets, with their hashes, by name."""
    text = (FOLDER / f"{name}.txt").read_text().replace("\\\n", " ")
    found = {}
    for line in text.splitlines():
        if not line or line.startswith("#"):
            continue
        requirement, *hashes = re.split(r"\s+--hash=", line.strip())
        parsed = Requirement(requirement)
        if parsed.marker is not None and not parsed.marker.evaluate(dict(LINUX)):
            continue
        found[canonicalize_name(parsed.name)] = (parsed, hashes)
    return found


def version_of(requirement: Requirement) -> str:
    (specifier,) = requirement.specifier
    assert specifier.operator == "=="
    return specifier.version


def constraints() -> dict[str, str]:
    parsed = map(Requirement, (ROOT / "constraints.txt").read_text().splitlines())
    return {canonicalize_name(one.name): version_of(one) for one in parsed}


def wanted(extras: list[str]) -> list[Requirement]:
    """What pyproject.toml asks for, extras of our own resolved."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    lines, found = [*project["dependencies"]], []
    for extra in extras:
        lines += project["optional-dependencies"][extra]
    while lines:
        requirement = Requirement(lines.pop())
        if requirement.name == project["name"]:
            for extra in requirement.extras:
                lines += project["optional-dependencies"][extra]
        else:
            found.append(requirement)
    return found


@pytest.mark.parametrize("name", NAMES)
def test_every_package_has_a_version_and_hashes(name: str) -> None:
    packages = locked(name)
    assert packages
    for requirement, hashes in packages.values():
        assert version_of(requirement)
        assert hashes
        assert all(re.fullmatch(r"sha256:[0-9a-f]{64}", one) for one in hashes)


@pytest.mark.parametrize("name", NAMES)
def test_a_lock_names_no_host_and_stays_small(name: str) -> None:
    path: Path = FOLDER / f"{name}.txt"
    text = path.read_text()
    assert "://" not in text
    assert "index" not in text
    assert path.stat().st_size < 1_000_000


@pytest.mark.parametrize("name", EXTRAS)
def test_versions_are_those_that_the_tests_run_with(name: str) -> None:
    pinned = constraints()
    own = {package: version_of(requirement) for package, (requirement, _) in locked(name).items()}
    gpu = {package for package in own if package.startswith("nvidia-")} | {"onnxruntime-gpu"}
    for package in own.keys() - gpu:
        assert pinned.get(package) == own[package], f"{package}: run containers/lock"


@pytest.mark.parametrize("name", EXTRAS)
def test_nothing_that_the_project_asks_for_is_missing(name: str) -> None:
    packages = locked(name)
    for requirement in wanted(EXTRAS[name]):
        package = canonicalize_name(requirement.name)
        if package in LEFT_OUT[name]:
            assert package not in packages
            continue
        assert package in packages, f"{package}: run containers/lock"
        assert requirement.specifier.contains(version_of(packages[package][0]))


@pytest.mark.parametrize("name", EXTRAS)
def test_no_torch_and_no_tools(name: str) -> None:
    assert not {"torch", "pip", "uv", "pytest", "hatchling"} & locked(name).keys()


def test_the_gpu_runtime_is_one_that_the_project_takes() -> None:
    (asked,) = [one for one in wanted([]) if one.name == "onnxruntime"]
    assert asked.specifier.contains(version_of(locked("cuda")["onnxruntime-gpu"][0]))


def test_what_the_cuda_provider_loads_is_on_the_search_path() -> None:
    """NVIDIA's wheels put their libraries where no loader looks."""
    image = Dockerfile.read(ROOT / "containers" / "cuda.Dockerfile").image
    folders = image.environment["LD_LIBRARY_PATH"].split(":")
    site = "/opt/venv/lib/python3.12/site-packages/nvidia/"
    assert all(folder.startswith(site) and folder.endswith("/lib") for folder in folders)
    assert {n for n in locked("cuda") if n.startswith("nvidia-cudnn")}
