"""What this build is, and what it would do."""

from __future__ import annotations

import importlib.metadata
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from . import _dense, _host
from ._arrays import check_layout, check_same, check_tall
from ._ranks import Alone
from ._threads import thread_count

__version__: str = _host.config()["version"]


def show_config() -> dict[str, Any]:
    """Describe this build and its surroundings, for reports of errors.

    Returns
    -------
    dict
        Versions of BlockVec (and its commit), Kokkos, the compiler, Python, NumPy and SciPy; the threads that a call
        takes by default; whether the library was built with MPI; and the pools of threads in this process, where the
        package threadpoolctl is installed.

    Examples
    --------
    >>> show_config()["version"] == __version__
    True
    """
    found = dict(_host.config())
    found["python"] = sys.version.split()[0]
    for package in ("numpy", "scipy"):
        found[package] = importlib.metadata.version(package)
    found["threads"] = thread_count(None)
    try:
        import threadpoolctl
    except ImportError:
        return found
    found["thread_pools"] = [
        {key: pool.get(key) for key in ("internal_api", "version", "num_threads", "filepath")}
        for pool in threadpoolctl.threadpool_info()
    ]
    return found


def explain(function: Callable[..., Any], *arrays: np.ndarray) -> str:
    """Say which kernel a product would run on.

    Parameters
    ----------
    function : callable
        :func:`inner_product`, :func:`gram`, :func:`update` or :func:`multiply_in_place`.
    *arrays : numpy.ndarray
        The arrays that it would be called with. Nothing is computed.

    Returns
    -------
    str
        The kernel and its parameters, in words.

    Examples
    --------
    >>> explain(_dense.gram, np.ones((1000, 4))).startswith("tsmttsm 1000 x 4 by 1000 x 4, float64: ")
    True
    """
    wanted = {
        _dense.inner_product: ("tsmttsm", ("V", "W"), 2),
        _dense.gram: ("tsmttsm", ("V",), 1),
        _dense.update: ("tsmm", ("W", "V", "C"), 2),
        _dense.multiply_in_place: ("tsmm", ("V", "C"), 1),
    }
    if function not in wanted:
        known = ", ".join(one.__name__ for one in wanted)
        raise ValueError(f"function is {getattr(function, '__name__', function)!r}: expected one of {known}")
    kernel, names, tall_count = wanted[function]
    if len(arrays) != len(names):
        raise TypeError(f"{function.__name__} takes {', '.join(names)}: {len(arrays)} arrays were given")
    talls = {name: check_tall(name, array) for name, array in zip(names[:tall_count], arrays)}
    letter, by_rows = check_same(**talls), check_layout(Alone(), **talls)
    rows = arrays[0].shape[0]
    if kernel == "tsmttsm":
        m, n = arrays[0].shape[1], arrays[-1].shape[1]
        product = f"{rows} x {m} by {rows} x {n}"
    else:
        m, n = np.shape(arrays[-1])
        product = f"{rows} x {m} by {m} x {n}"
    words = _host.explain_product(kernel, letter, by_rows, rows, m, n)
    return f"{kernel} {product}, {arrays[0].dtype}: {words}"
