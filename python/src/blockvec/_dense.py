"""Products of tall & skinny matrices, in the caller's memory."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._arrays import (
    Talls,
    check_apart,
    check_factor,
    check_finite_result,
    check_small,
    check_tall,
)
from ._errors import ShapeError
from ._homes import NumPy, home_of
from ._ranks import ranks_of

_TRIANGLES = {None: 0, "upper": 1, "lower": 2}


def inner_product(
    V: Any,
    W: Any,
    *,
    out: Any = None,
    alpha: complex = 1,
    beta: complex = 0,
    threads: int | None = None,
    comm: Any = None,
) -> Any:
    """Compute the inner products of all columns of two tall matrices, alpha V^H W.

    Parameters
    ----------
    V, W : array
        n x m and n x b, of the same dtype (float32, float64, complex64 or complex128) and order: NumPy's, those of
        another library on the host that knows DLPack (PyTorch, JAX), or CuPy's and PyTorch's on a CUDA device. Rows or
        columns may be apart, as in views; nothing is copied. They may be the same array or overlap.
    out : array, optional
        m x b: becomes alpha V^H W + beta out. With beta = 0 it is not read.
    alpha, beta : number
        Real where the arrays are.
    threads : int, optional
        Default: OMP_NUM_THREADS, else the cores that this process may use.
    comm : mpi4py.MPI.Intracomm, optional
        Arrays are this rank's rows, and V^H W is summed over the ranks, all of which call this.

    Returns
    -------
    array
        m x b, of V's library and in its memory, the same bits on every rank; ``out`` where it is given.

    Raises
    ------
    ShapeError, TypeError, ValueError
        Arrays that do not fit, before anything is computed.
    NotFiniteError
        NaN or Inf in an operand; names it, and the column. On a device they pass through, since nothing waits for it.
    RefusedError
        Another rank has met an error.

    See Also
    --------
    gram : V^H V.
    update : W + V C.

    Notes
    -----
    One pass over V and W. The sum runs over fixed chunks: any number of threads gives the same bits. The error of an
    entry is at most gamma |V|^H |W|, where gamma grows with the logarithm of n [EHTW]_.

    References
    ----------
    .. [EHTW] Ernst, Hager, Thies, Wellein (2020), "Performance engineering for real and complex tall & skinny matrix
       multiplication kernels on GPUs".

    Examples
    --------
    >>> V = np.ones((1000, 2))
    >>> inner_product(V, V)
    array([[1000., 1000.],
           [1000., 1000.]])
    """
    ranks = ranks_of(comm)
    with ranks.checking():
        home = home_of(V=V, W=W, out=out)
        given, V, W = out, home.work("V", V), home.work("W", W)
        is_gram = W is V
        talls = Talls(home, ranks, threads, V=V) if is_gram else Talls(home, ranks, threads, V=V, W=W)
        v = talls.views["V"]
        w = v if is_gram else talls.views["W"]
        alpha, beta = check_factor("alpha", alpha, talls.dtype), check_factor("beta", beta, talls.dtype)
        shape = (v.shape[1], w.shape[1])
        if out is not None:
            out = home.work("out", out)
            view = check_tall("out", home.view("out", out), written=True)
            if view.shape != shape or view.dtype != talls.dtype:
                raise ShapeError(f"out is {view.shape} of {view.dtype}: expected {shape} of {talls.dtype}")
            check_apart({"out": view}, talls.views)
        product = home.empty(shape, talls.dtype, "F")
    home.run("inner_product", talls.call, v, w, home.view("product", product))
    if home.is_host:
        check_finite_result(product, ranks, V=v, W=w)
    if alpha != 1:
        product *= alpha
    if out is None:
        return home.result(product)
    if beta == 0:
        out[...] = product
    else:
        out *= beta
        out += product
    return given


def gram(V: Any, *, out: Any = None, threads: int | None = None, comm: Any = None) -> Any:
    """Compute the Gram matrix V^H V of a tall matrix in one pass over it.

    Parameters
    ----------
    V : array
        n x m, as in :func:`inner_product`.
    out : array, optional
        m x m.
    threads, comm
        As in :func:`inner_product`.

    Returns
    -------
    array
        m x m; ``out`` where it is given.

    See Also
    --------
    inner_product : V^H W; errors and accuracy are the same.

    Examples
    --------
    >>> gram(np.eye(1000, 2))
    array([[1., 0.],
           [0., 1.]])
    """
    return inner_product(V, V, out=out, threads=threads, comm=comm)


def update(
    W: Any,
    V: Any,
    C: Any,
    *,
    alpha: complex = 1,
    beta: complex = 1,
    threads: int | None = None,
    comm: Any = None,
) -> Any:
    """Replace W by alpha V C + beta W, in place.

    Parameters
    ----------
    W, V : array
        n x b and n x m, of the same dtype and order, as in :func:`inner_product`; they do not overlap. Columns of one
        array may be beside one another: ``update(X[:, 4:], X[:, :4], C)``.
    C : array_like
        m x b, also on the host. The same on all ranks.
    alpha, beta : number
        Real where the arrays are. With beta = 0 W is not read.
    threads, comm
        As in :func:`inner_product`. Ranks need not wait for one another here, and ``comm`` is taken for its checks.

    Returns
    -------
    array
        W.

    Raises
    ------
    ShapeError, TypeError, ValueError
        Arrays that do not fit, before anything is computed.
    NotFiniteError
        NaN or Inf in C, alpha or beta. In V and W they pass through.

    Notes
    -----
    One pass over V and W: W is read and written once.

    Examples
    --------
    >>> W, V = np.zeros((1000, 1)), np.ones((1000, 2))
    >>> update(W, V, [[1.0], [2.0]])[0]
    array([3.])
    """
    ranks = ranks_of(comm)
    with ranks.checking():
        home = home_of(W=W, V=V)
        given, W, V = W, home.work("W", W), home.work("V", V)
        talls = Talls(home, ranks, threads, written="W", W=W, V=V)
        shape = (talls.views["V"].shape[1], talls.views["W"].shape[1])
        C = _small(home, C, shape, talls.dtype, f"since V has {shape[0]} columns and W {shape[1]}")
        alpha, beta = check_factor("alpha", alpha, talls.dtype), check_factor("beta", beta, talls.dtype)
        check_apart({"W": talls.views["W"]}, {"V": talls.views["V"]})
    home.run("update", talls.call, alpha, talls.views["V"], home.view("C", C), beta, talls.views["W"])
    return given


def _small(home: NumPy, C: Any, shape: tuple[int, int], dtype: np.dtype, why: str, triangle: str | None = None) -> Any:
    """C as a small matrix in the home's memory. One that is on the device already is not read here."""
    own = home_of(C=C)
    if own.is_host:
        C = own.work("C", C)
        if triangle:
            C = np.triu(C) if triangle == "upper" else np.tril(C)
        return home.small(check_small("C", C, shape, dtype, why))
    if own.library != home.library:
        raise TypeError(f"C is {own.library}'s on a device: expected it on the host, or where the tall arrays are")
    view = home.view("C", C)
    if view.shape != shape or view.dtype != dtype:
        raise ShapeError(f"C is {view.shape} of {view.dtype}: expected {shape} of {dtype}, {why}")
    return home.copy(C, "F")


def multiply_in_place(
    V: Any, C: Any, *, triangle: str | None = None, threads: int | None = None, comm: Any = None
) -> Any:
    """Replace the first n columns of a tall matrix V by V C, in place.

    Parameters
    ----------
    V : array
        n x m, as in :func:`inner_product`.
    C : array_like
        m x n with n <= m, also on the host. The same on all ranks.
    triangle : {None, "upper", "lower"}
        The other triangle of C is taken as zero.
    threads, comm
        As in :func:`update`.

    Returns
    -------
    array
        A view of these n columns. The others keep their values.

    Raises
    ------
    ShapeError, TypeError, ValueError
        Arrays that do not fit, before anything is computed.
    NotFiniteError
        NaN or Inf in C. In V they pass through.

    Notes
    -----
    One pass over V, and no second tall array.

    Examples
    --------
    >>> multiply_in_place(np.ones((1000, 2)), [[1.0], [2.0]])[0]
    array([3.])
    """
    ranks = ranks_of(comm)
    with ranks.checking():
        home = home_of(V=V)
        given, V = V, home.work("V", V)
        talls = Talls(home, ranks, threads, written="V", V=V)
        if triangle not in _TRIANGLES:
            raise ValueError(f"triangle={triangle!r}: expected None, 'upper' or 'lower'")
        extents = tuple(getattr(C, "shape", None) or np.shape(C))
        width, columns = talls.views["V"].shape[1], extents[1] if len(extents) == 2 else 0
        if columns > width:
            raise ShapeError(f"C has the shape {extents}: expected at most {width} columns, as many as V has")
        C = _small(home, C, (width, columns), talls.dtype, f"since V has {width} columns", triangle)
    home.run("multiply_in_place", talls.call, talls.views["V"], home.view("C", C), _TRIANGLES[triangle])
    return given[:, :columns]
