"""The end of the process: extension modules stop before Python does."""

from __future__ import annotations

import atexit
from typing import Any

_modules: list[Any] = []


def stop_at_exit(module: Any) -> None:
    if module not in _modules:
        _modules.append(module)


@atexit.register
def _stop() -> None:
    for module in _modules:  # modules that share a Kokkos give back all that is theirs before one of them ends it
        module.stop()
    for module in _modules:
        module.finish()
