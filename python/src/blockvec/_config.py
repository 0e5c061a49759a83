"""What this build is, and what it would do."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from . import _dense, _modules
from ._arrays import Talls
from ._homes import home_of
from ._ranks import Alone
from ._threads import thread_count


def show_config() -> dict[str, Any]:
    """Describe this build and its surroundings, for reports of errors.

    Returns
    -------
    dict
        Versions of BlockVec (and its commit), Kokkos, the compiler, Python, NumPy and SciPy; the threads that a call
        takes by default; whether it was built with MPI, and for CUDA devices; and the pools of threads in this process,
        where the package threadpoolctl is installed.

    Examples
    --------
    >>> import blockvec
    >>> show_config()["version"] == blockvec.__version__
    True
    """
    import importlib.metadata  # takes longer than all else here

    found = dict(_modules.host().config())
    found["cuda"] = _modules.device_name() is not None
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


def explain(function: Callable[..., Any], *arrays: Any) -> str:
    """Say which kernel a product would run on.

    Parameters
    ----------
    function : callable
        :func:`inner_product`, :func:`gram`, :func:`update` or :func:`multiply_in_place`.
    *arrays : array
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
    given = dict(zip(names[:tall_count], arrays))
    home = home_of(**given)
    talls = Talls(home, Alone(), None, **{name: home.work(name, array) for name, array in given.items()})
    views = list(talls.views.values())
    rows = len(views[0])
    if kernel == "tsmttsm":
        m, n = views[0].shape[1], views[-1].shape[1]
        product = f"{rows} x {m} by {rows} x {n}"
    else:
        m, n = getattr(arrays[-1], "shape", None) or np.shape(arrays[-1])
        product = f"{rows} x {m} by {m} x {n}"
    is_gram = function is _dense.gram
    words = home.run("explain_product", kernel, talls.call[0], talls.by_rows, rows, m, n, is_gram)
    return f"{kernel} {product}, {talls.dtype}: {words}"
