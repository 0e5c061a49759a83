"""How many threads a call takes."""

from __future__ import annotations

import os

from ._modules import host
from ._ranks import Alone

_is_child = False


def _in_child() -> None:
    # OpenMP's threads do not survive a fork, and a child that asks for them waits for ever.
    global _is_child
    _is_child = True


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_child)


def thread_count(threads: int | None, ranks: Alone | None = None) -> int:
    """``threads``, else OMP_NUM_THREADS, else the cores that this process may use; 1 in a forked child.

    0 leaves it to the library, which divides the cores by the ranks on the machine.
    """
    if threads is not None and (not isinstance(threads, int) or threads < 1):
        raise ValueError(f"threads={threads!r}: expected a whole number from 1 up, or None")
    if _is_child:
        return 1
    if threads is not None:
        return threads
    if ranks is not None and ranks.size > 1:
        return 0
    try:
        return max(1, int(os.environ.get("OMP_NUM_THREADS", "").split(",")[0]))
    except ValueError:
        pass
    return host().available_cores()
