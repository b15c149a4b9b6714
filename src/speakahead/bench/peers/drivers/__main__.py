"""Run a driver: ``python -P drivers/__main__.py NAME --model … --voices … --voice … --scratch …``.

These modules become a package by their place alone. Nothing of ours gets onto the path, where it
could hide a module of the peer's environment: that is also what ``-P`` is for.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from pathlib import Path
from typing import Any

_PACKAGE = "peer_drivers"


def main() -> None:
    here = Path(__file__).parent
    spec = importlib.util.spec_from_file_location(
        _PACKAGE, here / "__init__.py", submodule_search_locations=[str(here)]
    )
    assert spec is not None
    sys.modules[_PACKAGE] = importlib.util.module_from_spec(spec)
    driving: Any = importlib.import_module(f"{_PACKAGE}.driving")
    driver: Any = importlib.import_module(f"{_PACKAGE}.{sys.argv[1]}")
    driving.run(driver.load, driver.DISTRIBUTION, sys.argv[2:])


if __name__ == "__main__":
    main()
