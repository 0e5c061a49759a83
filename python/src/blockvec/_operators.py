"""What may stand for a matrix: scipy.sparse, an array, a LinearOperator, anything with ``A @ X``, a function."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse
from scipy.sparse.linalg import LinearOperator

from ._arrays import LETTERS, first_not_finite
from ._errors import NotFiniteError, ShapeError
from ._homes import home_of
from ._ranks import Alone

Multiply = Callable[[np.ndarray], np.ndarray]
_ROW_ENTRIES = 64
_ALONE = Alone()


class Operator:
    """A function of blocks as a matrix.

    Parameters
    ----------
    matmat : callable
        ``matmat(X)`` returns A X for an X of n x b, in C order, of any width b. It may keep X or change it.
    shape : tuple of int
        (n, n). With ``comm=`` X has this rank's rows, and the shape is (their number, n).
    dtype : data-type, optional
        Of A's entries.

    Examples
    --------
    >>> laplacian = Operator(lambda X: 2 * X - np.roll(X, 1, axis=0) - np.roll(X, -1, axis=0), (100, 100))
    >>> bool((laplacian @ np.ones((100, 2))).any())
    False
    """

    def __init__(self, matmat: Multiply, shape: tuple[int, int], dtype: Any = np.float64):
        if not callable(matmat):
            raise TypeError(f"matmat is a {type(matmat).__name__}: expected a function of blocks")
        self._matmat = matmat
        self.shape = (int(shape[0]), int(shape[1]))
        self.dtype = np.dtype(dtype)

    def matmat(self, X: np.ndarray) -> np.ndarray:
        return self._matmat(X)

    __matmul__ = matmat


class Blocks:
    """A function of blocks as the extension module calls it: what comes back has been checked."""

    def __init__(self, name: str, multiply: Multiply, size: int, dtype: np.dtype):
        self.name, self.multiply, self.size, self.dtype = name, multiply, size, dtype

    def empty_block(self, width: int, by_rows: bool) -> np.ndarray:
        return np.empty((self.size, width), self.dtype, order="C" if by_rows else "F")

    def __call__(self, X: np.ndarray) -> np.ndarray:
        shape = X.shape
        Y = np.asarray(self.multiply(X))
        if Y.shape != shape:
            raise ShapeError(f"{self.name} X has the shape {Y.shape} for an X of {shape}: expected {shape}")
        if not np.can_cast(Y.dtype, self.dtype, casting="same_kind"):
            raise TypeError(f"{self.name} X has the dtype {Y.dtype} for an X of {self.dtype}")
        column = first_not_finite(Y)
        if column >= 0:
            raise NotFiniteError(f"{self.name} X has NaN or Inf in column {column}")
        return np.asarray(Y, dtype=self.dtype, order="C" if X.flags.c_contiguous else "F")


class Matrix:
    """A square matrix that somebody gave as ``name``, or this rank's rows of it.

    Where its extents are known, ``size`` and ``rows`` say them, of the whole and of this rank.
    """

    def __init__(self, name: str, given: Any, size: int | None = None, rows: int | None = None, ranks: Alone = _ALONE):
        self.name = name
        self.sparse: scipy.sparse.csr_matrix | None = None
        self.dense: np.ndarray | None = None
        self.multiply: Multiply
        if is_on_device(given):
            self.sparse = given.tocsr().get()
            self.multiply = self.sparse.__matmul__
        elif scipy.sparse.issparse(given):
            self.sparse = given.tocsr()
            self.multiply = self.sparse.__matmul__
        elif is_dense(given):
            self.dense = on_host(name, given)
            self.multiply = self.dense.__matmul__
        elif callable(getattr(given, "matmat", None)):
            self.multiply = given.matmat
            self._warn_of_columns(given)
        elif hasattr(type(given), "__matmul__"):
            self.multiply = given.__matmul__
        elif callable(given):
            if size is None:
                raise TypeError(
                    f"{name} is a function: its shape is not known. Pass blockvec.Operator({name}, shape, dtype)"
                )
            self.multiply = given
        else:
            raise TypeError(
                f"{name} is a {type(given).__name__}: expected a scipy.sparse matrix, an array, a LinearOperator, "
                f"or an object with shape and {name} @ X"
            )
        model = self.dense if self.dense is not None else given
        expected = None if size is None else (size if rows is None else rows, size)
        shape = getattr(model, "shape", None) or expected
        if shape is None:
            raise TypeError(f"{name} has no shape. Pass blockvec.Operator({name}.matmat, shape, dtype)")
        shape = tuple(shape)
        if len(shape) != 2 or ranks.size == 1 and shape[0] != shape[1]:
            raise ShapeError(f"{name} has the shape {shape}: expected a square matrix")
        if expected is not None and shape != expected:
            raise ShapeError(f"{name} has the shape {shape}: expected {expected}")
        if ranks.size > 1 and self.dense is not None:  # a product needs rows of other ranks
            self.sparse = scipy.sparse.csr_matrix(self.dense)
        self.rows, self.size = map(int, shape)
        # Of operators nothing is known: entries as many as sparse matrices have.
        entries = self.rows * (self.size if self.dense is not None else _ROW_ENTRIES)
        if self.sparse is not None:
            entries = self.sparse.nnz
        counts = [self.rows if rank == ranks.rank else 0 for rank in range(ranks.size)]
        *counts, entries = ranks.sum(*counts, int(entries))
        if sum(counts) != self.size:
            raise ShapeError(
                f"{name} has the shape {shape}, and the ranks have {sum(counts)} rows together: expected {shape[1]}"
            )
        self.first = sum(counts[: ranks.rank])
        self.row_entries = entries / max(1, self.size)
        self.dtype = working_dtype(name, getattr(model, "dtype", None) or np.float64)

    def _warn_of_columns(self, given: Any) -> None:
        if not isinstance(given, LinearOperator):
            return
        # What LinearOperator(shape, matvec=...) makes keeps the function for blocks under this name.
        functions = vars(given)
        if "_CustomLinearOperator__matmat_impl" in functions:
            has_blocks = functions["_CustomLinearOperator__matmat_impl"] is not None
        else:
            has_blocks = type(given)._matmat is not LinearOperator._matmat
        if not has_blocks:
            warnings.warn(
                f"{self.name} multiplies one column at a time. A `matmat` for blocks makes a sparse product 2 to 4 "
                "times faster",
                stacklevel=4,
            )

    def for_library(self, dtype: np.dtype) -> tuple[np.ndarray, np.ndarray, np.ndarray] | Blocks:
        """Compressed rows without copies, where dtypes agree and column numbers have 32 bits; else a function."""
        if self.sparse is None:
            return Blocks(self.name, self.multiply, self.rows, dtype)
        if self.size > np.iinfo(np.int32).max:
            raise ShapeError(f"{self.name} has {self.size} rows: a sparse matrix may have 2^31 - 1")
        return (
            np.ascontiguousarray(self.sparse.indptr, dtype=np.int64),
            np.ascontiguousarray(self.sparse.indices, dtype=np.int32),
            np.ascontiguousarray(self.sparse.data, dtype=dtype),
        )

    def diagonal(self) -> np.ndarray | None:
        if self.sparse is not None:
            return self.sparse.diagonal(self.first) if self.rows else np.zeros(0, self.dtype)
        return None if self.dense is None else self.dense.diagonal()

    def judge(self, products: list[complex], lengths: list[float], dtype: np.dtype, *, positive: bool = False) -> float:
        """x^H A y is the conjugate of y^H A x for a random pair, to rounding. Returns a lower bound of ||A||.

        ``products`` are x^H A x, y^H A x, x^H A y and y^H A y; ``lengths`` those of x, y, A x and A y.
        """
        name = self.name
        quotient, other, one, _ = products
        other = other.conjugate()
        x, y, ax, ay = lengths
        eps = float(np.finfo(dtype).eps)
        # Both sums round to some eps times the lengths.
        if abs(one - other) > 64 * eps * (x * ay + ax * y):
            pair = (one, other) if dtype.kind == "c" else (one.real, other.real)
            raise ValueError(
                f"{name} is not Hermitian: for random vectors x and y, x^H {name} y is {pair[0]:.8g} and "
                f"({name} x)^H y is {pair[1]:.8g}"
            )
        if positive and not quotient.real > 0:
            raise ValueError(f"{name} is not positive definite: x^H {name} x is {quotient.real:.8g}")
        return max(ax / x, ay / y)


def is_on_device(given: Any) -> bool:
    """Whether it is a sparse matrix of CuPy's."""
    return type(given).__module__.startswith("cupyx.scipy.sparse") and hasattr(given, "tocsr")


def is_dense(given: Any) -> bool:
    """Whether it is an array in the host's memory, or something like one."""
    if isinstance(given, (np.ndarray, list, tuple)):
        return True
    return hasattr(given, "__dlpack__") and hasattr(given, "__array__")


def on_host(name: str, given: Any) -> np.ndarray:
    """As an array of NumPy's, which shares the memory of other libraries' arrays. Arrays on a device are refused."""
    home = home_of(**{name: given})
    if not home.is_host:
        raise TypeError(f"{name} is on a device: expected it on the host")
    return np.asarray(home.work(name, given))


def working_dtype(name: str, given: Any) -> np.dtype:
    """The dtype that is computed in: the given one, or float64 for whole numbers."""
    dtype = np.dtype(given)
    if dtype.char in LETTERS:
        return dtype.newbyteorder("=")
    if dtype.kind in "biu":
        return np.dtype(np.float64)
    raise TypeError(f"{name} has the dtype {dtype}: expected float32, float64, complex64, complex128 or whole numbers")
