"""What may stand for a matrix: scipy.sparse, an array, a LinearOperator, anything with ``A @ X``, a function."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse
from scipy.sparse.linalg import LinearOperator

from ._arrays import LETTERS, first_not_finite
from ._errors import NotFiniteError, ShapeError
from ._homes import HOST, NumPy, dtype_of, home_of, home_on_device, library_of
from ._ranks import ALONE, Alone

Multiply = Callable[[Any], Any]
_ROW_ENTRIES = 64


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
    like : array, optional
        X is an array of this one's library and device, and so is A X. Default: as the other arguments of the call, such
        as v0, or NumPy's.

    Examples
    --------
    >>> laplacian = Operator(lambda X: 2 * X - np.roll(X, 1, axis=0) - np.roll(X, -1, axis=0), (100, 100))
    >>> bool((laplacian @ np.ones((100, 2))).any())
    False
    """

    def __init__(self, matmat: Multiply, shape: tuple[int, int], dtype: Any = np.float64, *, like: Any = None):
        if not callable(matmat):
            raise TypeError(f"matmat is a {type(matmat).__name__}: expected a function of blocks")
        self._matmat = matmat
        self.shape = (int(shape[0]), int(shape[1]))
        self.dtype = dtype_of("matmat", dtype)
        self.like = like

    def matmat(self, X: Any) -> Any:
        return self._matmat(X)

    __matmul__ = matmat


class Blocks:
    """A function of blocks as the extension module calls it: what comes back has been checked."""

    def __init__(self, name: str, multiply: Multiply, size: int, dtype: np.dtype, home: NumPy):
        self.product = f"{name} X"
        self.multiply, self.size, self.dtype, self.home = multiply, size, dtype, home

    def empty_block(self, width: int, order: str) -> Any:
        return self.home.empty((self.size, width), self.dtype, order)

    def hand(self, X: Any) -> Any:
        """What the extension module takes of a block."""
        return self.home.view("X", X)

    def __call__(self, X: Any, order: str) -> Any:
        shape = tuple(X.shape)
        Y = self.home.returned(self.product, self.multiply(X))
        view = self.home.view(self.product, Y)
        if view.shape != shape:
            raise ShapeError(f"{self.product} has the shape {view.shape} for an X of {shape}: expected {shape}")
        if not np.can_cast(view.dtype, self.dtype, casting="same_kind"):
            raise TypeError(f"{self.product} has the dtype {view.dtype} for an X of {shape} and {self.dtype}")
        if self.home.is_host:  # nothing waits for a device: what is done with the product finds it out
            column = first_not_finite(view)
            if column >= 0:
                raise NotFiniteError(f"{self.product} has NaN or Inf in column {column}")
        return self.home.view(self.product, self.home.ordered(Y, order, self.dtype))


class Matrix:
    """A square matrix that somebody gave as ``name``, or this rank's rows of it, for blocks of ``home``.

    Where its extents are known, ``size`` and ``rows`` say them, of the whole and of this rank.
    """

    def __init__(
        self,
        name: str,
        given: Any,
        home: NumPy = HOST,
        size: int | None = None,
        rows: int | None = None,
        ranks: Alone = ALONE,
    ):
        self.name, self.home = name, home
        self.sparse = _compressed_rows(given) if is_sparse(given) else None
        self.dense: Any = None
        self.multiply: Multiply
        if self.sparse is not None:
            self.multiply = (self.sparse if home.is_host else given).__matmul__
        elif is_dense(given):
            self.dense = work_of(name, given, home)
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
            self.sparse = scipy.sparse.csr_matrix(home.to_host(self.dense))
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
        # SciPy's, or CuPy's, which is built alike.
        base = next((one for one in type(given).__mro__ if one.__name__ == "LinearOperator"), None)
        if base is None:
            return
        # What LinearOperator(shape, matvec=...) makes keeps the function for blocks under this name.
        functions = vars(given)
        if "_CustomLinearOperator__matmat_impl" in functions:
            has_blocks = functions["_CustomLinearOperator__matmat_impl"] is not None
        else:
            has_blocks = type(given)._matmat is not base._matmat
        if not has_blocks:
            warnings.warn(
                f"{self.name} multiplies one column at a time. A `matmat` for blocks makes a sparse product 2 to 4 "
                "times faster",
                stacklevel=4,
            )

    def for_library(self, dtype: np.dtype) -> tuple[np.ndarray, np.ndarray, np.ndarray] | Blocks:
        """Compressed rows without copies, where dtypes agree and column numbers have 32 bits; else a function."""
        if self.sparse is None:
            return self.blocks(dtype)
        if self.size > np.iinfo(np.int32).max:
            raise ShapeError(f"{self.name} has {self.size} rows: a sparse matrix may have 2^31 - 1")
        return (
            np.ascontiguousarray(self.sparse.indptr, dtype=np.int64),
            np.ascontiguousarray(self.sparse.indices, dtype=np.int32),
            np.ascontiguousarray(self.sparse.data, dtype=dtype),
        )

    def blocks(self, dtype: np.dtype) -> Blocks:
        multiply, home = self.multiply, self.home
        if self.dense is not None and not home.is_host and home.view(self.name, self.dense).dtype != dtype:
            multiply = home.copy(self.dense, "C", dtype).__matmul__  # PyTorch multiplies what has one dtype
        return Blocks(self.name, multiply, self.rows, dtype, home)

    def diagonal(self, dtype: np.dtype) -> Any:
        """As a column; None if it is not known."""
        if self.sparse is not None:
            entries = self.sparse.diagonal(self.first) if self.rows else np.zeros(0)
            return self.home.small(np.ascontiguousarray(entries, dtype=dtype).reshape(-1, 1))
        return None if self.dense is None else self.home.ordered(self.dense.diagonal()[:, None], "C", dtype)

    def is_diagonal(self, ranks: Alone) -> bool:
        """Whether it is known to have no entry beside its diagonal."""
        is_diagonal = False
        if self.sparse is not None:
            if self.sparse.nnz <= self.rows:  # else it is not, or has zeros that are not looked for
                rows, columns = self.sparse.nonzero()
                is_diagonal = bool((rows + self.first == columns).all())
        elif self.dense is not None and self.home.is_host:
            is_diagonal = bool(np.count_nonzero(self.dense) == np.count_nonzero(self.dense.diagonal()))
        return ranks.all(is_diagonal)[0]

    def judge(self, products: list[complex], lengths: list[float], dtype: np.dtype, *, positive: bool = False) -> float:
        """x^H A y is the conjugate of y^H A x for a random pair, to rounding. Returns a lower bound of ||A||.

        ``products`` are x^H A x, y^H A x, x^H A y and y^H A y; ``lengths`` those of x, y, A x and A y.
        """
        name = self.name
        quotient, other, one, _ = products
        other = other.conjugate()
        x, y, ax, ay = lengths
        if np.isnan(lengths).any():
            raise NotFiniteError(f"{name} X has NaN or Inf for random vectors X")
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


def is_sparse(given: Any) -> bool:
    """Whether it is a sparse matrix of SciPy, CuPy or PyTorch."""
    if library_of(given) == "torch":
        return str(getattr(given, "layout", "torch.strided")) != "torch.strided"
    return scipy.sparse.issparse(given) or _is_of_cupyx(given) and hasattr(given, "tocsr")


def _compressed_rows(given: Any) -> scipy.sparse.csr_matrix:
    """A sparse matrix as SciPy's on the host, where the library makes its own format."""
    if library_of(given) == "torch":
        rows = given.detach().to_sparse_csr()
        parts = [one.cpu().numpy() for one in (rows.values(), rows.col_indices(), rows.crow_indices())]
        return scipy.sparse.csr_matrix(tuple(parts), shape=tuple(rows.shape))
    rows = given.tocsr()
    return rows if scipy.sparse.issparse(rows) else rows.get()


def _is_of_cupyx(given: Any) -> bool:
    return any(base.__module__.startswith("cupyx.scipy.sparse") for base in type(given).__mro__)


def home_of_search(matrices: dict[str, Any], blocks: dict[str, Any]) -> NumPy:
    """Where matrices multiply blocks: on a device if one of them is there."""
    homes = {name: _home_of_matrix(name, given) for name, given in matrices.items()}
    homes.update({name: None if given is None else home_of(**{name: given}) for name, given in blocks.items()})
    known = {name: home for name, home in homes.items() if home is not None}
    first, home = next(((name, home) for name, home in known.items() if not home.is_host), ("", HOST))
    for name, other in known.items():
        if other is not home and not (home.is_host and other.is_host):
            raise TypeError(f"{first} is on {home}, {name} is on {other}: expected both in one place")
    return home


def _home_of_matrix(name: str, given: Any) -> NumPy | None:
    """None where nothing is given, or does not say: a function, and a sparse matrix of SciPy's."""
    if isinstance(given, Operator):
        return None if given.like is None else home_of(**{name: given.like})
    if _is_of_cupyx(given):
        current = sys.modules["cupy"].cuda.runtime.getDevice
        return home_on_device("cupy", given.data.device.id if is_sparse(given) else current())
    device = getattr(given, "device", None)
    if library_of(device) == "torch" and device.type == "cuda":
        current = sys.modules["torch"].cuda.current_device
        return home_on_device("torch", current() if device.index is None else device.index)
    if isinstance(given, LinearOperator) or is_dense(given):
        return home_of(**{name: given})
    return None


def is_dense(given: Any) -> bool:
    """Whether it is an array in the host's memory, or something like one."""
    if isinstance(given, (np.ndarray, list, tuple)):
        return True
    return hasattr(given, "__dlpack__") and hasattr(given, "__array__")


def work_of(name: str, given: Any, home: NumPy) -> Any:
    """An array of this home to compute with; on the host also what NumPy makes one of."""
    return np.asarray(home_of(**{name: given}).work(name, given)) if home.is_host else home.work(name, given)


def working_dtype(name: str, given: Any) -> np.dtype:
    """The dtype that is computed in: the given one, or float64 for whole numbers."""
    dtype = dtype_of(name, given)
    if dtype.char in LETTERS:
        return dtype.newbyteorder("=")
    if dtype.kind in "biu":
        return np.dtype(np.float64)
    raise TypeError(f"{name} has the dtype {dtype}: expected float32, float64, complex64, complex128 or whole numbers")
