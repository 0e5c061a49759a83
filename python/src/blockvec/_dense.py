"""Products of tall & skinny matrices, in NumPy's memory."""

from __future__ import annotations

import numpy as np

from . import _host
from ._arrays import (
    check_apart,
    check_factor,
    check_finite_result,
    check_layout,
    check_same,
    check_small,
    check_tall,
)
from ._errors import ShapeError
from ._threads import thread_count

_TRIANGLES = {None: 0, "upper": 1, "lower": 2}


def inner_product(
    V: np.ndarray,
    W: np.ndarray,
    *,
    out: np.ndarray | None = None,
    alpha: complex = 1,
    beta: complex = 0,
    threads: int | None = None,
) -> np.ndarray:
    """Compute the inner products of all columns of two tall matrices, alpha V^H W.

    Parameters
    ----------
    V, W : numpy.ndarray
        n x m and n x b, of the same dtype (float32, float64, complex64 or complex128) and order. Rows or columns may be
        apart, as in views; nothing is copied. They may be the same array or overlap.
    out : numpy.ndarray, optional
        m x b: becomes alpha V^H W + beta out. With beta = 0 it is not read.
    alpha, beta : number
        Real where the arrays are.
    threads : int, optional
        Default: OMP_NUM_THREADS, else the cores that this process may use.

    Returns
    -------
    numpy.ndarray
        m x b; ``out`` where it is given.

    Raises
    ------
    ShapeError, TypeError, ValueError
        Arrays that do not fit, before anything is computed.
    NotFiniteError
        NaN or Inf in an operand; names it, and the column.

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
    check_tall("V", V)
    check_tall("W", W)
    letter = check_same(V=V, W=W)
    by_rows = check_layout(V=V, W=W)
    alpha, beta = check_factor("alpha", alpha, V.dtype), check_factor("beta", beta, V.dtype)
    shape = (V.shape[1], W.shape[1])
    if out is not None:
        check_tall("out", out, written=True)
        if out.shape != shape or out.dtype != V.dtype:
            raise ShapeError(f"out is {out.shape} of {out.dtype}: expected {shape} of {V.dtype}")
        check_apart({"out": out}, {"V": V, "W": W})
    product = np.empty(shape, dtype=V.dtype, order="F")
    _host.inner_product(letter, by_rows, thread_count(threads), V, W, product)
    check_finite_result(product, V=V, W=W)
    if alpha != 1:
        product *= product.dtype.type(alpha if product.dtype.kind == "c" else alpha.real)
    if out is None:
        return product
    if beta == 0:
        out[...] = product
    else:
        out *= out.dtype.type(beta if out.dtype.kind == "c" else beta.real)
        out += product
    return out


def gram(V: np.ndarray, *, out: np.ndarray | None = None, threads: int | None = None) -> np.ndarray:
    """Compute the Gram matrix V^H V of a tall matrix in one pass over it.

    Parameters
    ----------
    V : numpy.ndarray
        n x m, as in :func:`inner_product`.
    out : numpy.ndarray, optional
        m x m.
    threads : int, optional
        As in :func:`inner_product`.

    Returns
    -------
    numpy.ndarray
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
    check_tall("V", V)
    return inner_product(V, V, out=out, threads=threads)


def update(
    W: np.ndarray,
    V: np.ndarray,
    C: np.ndarray,
    *,
    alpha: complex = 1,
    beta: complex = 1,
    threads: int | None = None,
) -> np.ndarray:
    """Replace W by alpha V C + beta W, in place.

    Parameters
    ----------
    W, V : numpy.ndarray
        n x b and n x m, of the same dtype and order, as in :func:`inner_product`; they do not overlap. Columns of one
        array may be beside one another: ``update(X[:, 4:], X[:, :4], C)``.
    C : array_like
        m x b.
    alpha, beta : number
        Real where the arrays are. With beta = 0 W is not read.
    threads : int, optional
        As in :func:`inner_product`.

    Returns
    -------
    numpy.ndarray
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
    check_tall("W", W, written=True)
    check_tall("V", V)
    letter = check_same(W=W, V=V)
    by_rows = check_layout(W=W, V=V)
    shape = (V.shape[1], W.shape[1])
    C = check_small("C", C, shape, V.dtype, f"since V has {shape[0]} columns and W {shape[1]}")
    alpha, beta = check_factor("alpha", alpha, V.dtype), check_factor("beta", beta, V.dtype)
    check_apart({"W": W}, {"V": V})
    _host.update(letter, by_rows, thread_count(threads), alpha, V, C, beta, W)
    return W


def multiply_in_place(
    V: np.ndarray, C: np.ndarray, *, triangle: str | None = None, threads: int | None = None
) -> np.ndarray:
    """Replace the first n columns of a tall matrix V by V C, in place.

    Parameters
    ----------
    V : numpy.ndarray
        n x m, as in :func:`inner_product`.
    C : array_like
        m x n with n <= m.
    triangle : {None, "upper", "lower"}
        The other triangle of C is taken as zero.
    threads : int, optional
        As in :func:`inner_product`.

    Returns
    -------
    numpy.ndarray
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
    check_tall("V", V, written=True)
    letter = V.dtype.char
    by_rows = check_layout(V=V)
    if triangle not in _TRIANGLES:
        raise ValueError(f"triangle={triangle!r}: expected None, 'upper' or 'lower'")
    width, columns = V.shape[1], np.shape(C)[1] if np.ndim(C) == 2 else 0
    if columns > width:
        raise ShapeError(f"C has the shape {np.shape(C)}: expected at most {width} columns, as many as V has")
    if triangle:
        C = np.triu(C) if triangle == "upper" else np.tril(C)
    C = check_small("C", C, (width, columns), V.dtype, f"since V has {width} columns")
    _host.multiply_in_place(letter, by_rows, thread_count(threads), V, C, _TRIANGLES[triangle])
    return V[:, :columns]
