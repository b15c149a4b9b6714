"""The machine under measurement, described so that figures can be compared and nobody is named.

No host name, no user and no path is in the description.
"""

from __future__ import annotations

import contextlib
import os
import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

_PACKAGES = (
    "speakahead",
    "onnxruntime",
    "openvino",
    "numpy",
    "misaki",
    "kokoro-onnx",
    "starlette",
    "uvicorn",
    "websockets",
    "aws-sdk-sagemaker-runtime-http2",
    "awscrt",
)
_FEATURES = ("avx2", "avx512f", "avx512_vnni", "avx512_bf16", "amx_bf16", "amx_int8", "asimddp")
"""Instructions that decide how fast a network runs."""


def describe() -> dict[str, Any]:
    """Processor, cores, memory, system and versions; for JSON. Nothing in it is blank."""
    info = _cpu_info()
    flags = set((info.get("flags") or info.get("Features") or "").split())
    return {
        "cpu": info.get("model name") or platform.processor() or platform.machine(),
        "cores": cores(),
        "memory_gb": _memory_gb(),
        "instructions": [name for name in _FEATURES if name in flags] or ["none of note"],
        "virtual": "hypervisor" in flags,
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
        "packages": _versions(),
    }


def cores() -> int:
    """Cores that this process may use."""
    with contextlib.suppress(AttributeError):  # only Linux tells
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def sentence(machine: dict[str, Any]) -> str:
    """The description in a line."""
    kind = "virtual machine, " if machine["virtual"] else ""
    return (
        f"{machine['cpu']}, {kind}{machine['cores']} cores ({', '.join(machine['instructions'])}), "
        f"{machine['memory_gb']} GB, {machine['system']}, Python {machine['python']}"
    )


class Busyness:
    """How busy the machine is with other things, from its making on.

    ``stolen`` is time that a hypervisor gave to other machines: figures of a run with much of it
    say little about this machine.
    """

    def __init__(self) -> None:
        self._load = _load_average()
        self._times = _cpu_times()

    def figures(self) -> dict[str, float]:
        """Load average over the minute before the start, and shares of processor time since."""
        spent = [after - before for before, after in zip(self._times, _cpu_times(), strict=True)]
        total = sum(spent) or 1
        idle = spent[3] + spent[4] if len(spent) > 4 else 0
        stolen = spent[7] if len(spent) > 7 else 0
        return {
            "load_before": round(self._load, 2),
            "idle_share": round(idle / total, 3),
            "stolen_share": round(stolen / total, 4),
        }


def _cpu_info() -> dict[str, str]:
    try:
        text = Path("/proc/cpuinfo").read_text()
    except OSError:
        return {}
    pairs = (line.split(":", 1) for line in text.split("\n\n")[0].splitlines() if ":" in line)
    return {key.strip(): value.strip() for key, value in pairs}


def _memory_gb() -> float:
    pages, size = os.sysconf("SC_PHYS_PAGES"), os.sysconf("SC_PAGE_SIZE")
    return round(pages * size / 2**30, 1)


def _versions() -> dict[str, str]:
    found = {}
    for name in _PACKAGES:
        with contextlib.suppress(PackageNotFoundError):
            found[name] = version(name)
    return found


def _load_average() -> float:
    return os.getloadavg()[0]


def _cpu_times() -> list[int]:
    """Ticks since the system's start: user, nice, system, idle, iowait, irq, softirq, steal."""
    try:
        line = Path("/proc/stat").read_text().split("\n", 1)[0]
    except OSError:
        return []
    return [int(field) for field in line.split()[1:]]
