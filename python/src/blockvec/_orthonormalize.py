"""Orthogonalisation of tall & skinny matrices, in the caller's memory."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ._arrays import Talls, check_apart, check_tall
from ._errors import ShapeError
from ._homes import home_of
from ._operators import Matrix, home_of_search
from ._ranks import Alone, ranks_of

_DEFICIENT = {"replace": 0, "drop": 1, "report": 2}
_MOST_PIECES = 4
_DEFAULT_METHOD = "pipi+/cholqr2"
_ALIGNMENT = 32  # S begins after a multiple of so many entries, aligned as an allocation is


@dataclass(frozen=True)
class Orthonormalized:
    """What :func:`orthonormalize` returns: X = basis S + Q R, and how it went.

    Attributes
    ----------
    Q : array
        n x b with orthonormal columns; X itself with ``overwrite_x``.
    S : array or None
        m x b; None without a basis.
    R : array
        b x b, upper triangular except after svqb. Rows of replaced columns are zero.
    rank : int
        Columns of X that were independent of the basis and of one another.
    lost : list of int
        The others.
    orthonormal : bool
        False where dependent columns were dropped, so that Q has columns of zeros.
    method, reason : str
        What was done, and why it is not what was asked for (empty: it is).
    condition : float
        Of the projected block with unit columns: a lower bound.
    sweeps, reductions : int
        Rounds, and sums over all rows.
    passes : float
        Words of tall data moved, in units of X.
    """

    Q: Any = field(repr=False)
    S: Any = field(repr=False)
    R: Any = field(repr=False)
    rank: int
    lost: list[int]
    orthonormal: bool
    method: str
    reason: str
    condition: float
    sweeps: int
    reductions: int
    passes: float


def _pieces_of(basis: Any) -> dict[str, Any]:
    """The arrays of a basis, by the names that messages call them."""
    if basis is None:
        return {}
    pieces = list(basis) if isinstance(basis, (list, tuple)) else [basis]
    if len(pieces) > _MOST_PIECES:
        raise ShapeError(f"basis has {len(pieces)} arrays: expected at most {_MOST_PIECES}")
    return {"basis" if len(pieces) == 1 else f"basis[{number}]": piece for number, piece in enumerate(pieces)}


def _orthogonalize(
    verb: str,
    X: Any,
    basis: Any,
    metric: Any,
    method: str,
    deficient: str,
    seed: int,
    overwrite_x: bool,
    threads: int | None,
    ranks: Alone,
) -> tuple[Any, Any, Any, dict[str, Any]]:
    with ranks.checking():
        pieces = _pieces_of(basis)
        home = home_of(X=X, **pieces)
        work = {name: home.work(name, array) for name, array in {"X": X, **pieces}.items()}
        if deficient not in _DEFICIENT:
            raise ValueError(f"deficient={deficient!r}: expected one of {', '.join(map(repr, _DEFICIENT))}")
        if overwrite_x:
            talls = Talls(home, ranks, threads, written="X", **work)
            views = dict(talls.views)
            check_apart({"X": views.pop("X")}, views)
        else:  # a copy of X has any order
            talls = Talls(home, ranks, threads, any_order="X", **work)
        Q = work.pop("X")
        rows, width = talls.views["X"].shape
        columns = sum(talls.views[name].shape[1] for name in pieces)
        matrix = None if metric is None else _metric_of(metric, X, rows, talls.dtype, ranks)
        source = None
        if not overwrite_x:
            order = "C" if talls.by_rows else "F"
            flags = talls.views["X"].flags
            [is_ordered] = ranks.all(flags.c_contiguous if talls.by_rows else flags.f_contiguous)
            if verb == "normalize" and not pieces and matrix is None and is_ordered:
                source = talls.views["X"]
                Q = home.empty((rows, width), talls.dtype, order)  # takes X's place: no copy
            else:
                Q = home.copy(Q, order)
        # One allocation for R and S, and one view of it: each takes time before the first kernel.
        begin_of_s = -(-width * width // _ALIGNMENT) * _ALIGNMENT
        small = home.empty((1, begin_of_s + columns * width), talls.dtype, "C")

    def judge(name: str, products: list[complex], lengths: list[float]) -> None:
        matrix.judge(products, lengths, talls.dtype, positive=True)

    found = home.run(
        verb,
        talls.call,
        [talls.views[name] for name in work],
        source,
        talls.views["X"] if overwrite_x else home.view("Q", Q),
        home.view("R and S", small),
        begin_of_s,
        None if matrix is None else matrix.for_library(talls.dtype),
        judge,
        method,
        _DEFICIENT[deficient],
        seed,
    )
    S = None if basis is None else home.result(home.part(small, begin_of_s, (columns, width)))
    R = home.result(home.part(small, 0, (width, width)))
    return X if overwrite_x else home.result(Q), S, R, found


def _metric_of(metric: Any, X: Any, rows: int, dtype: np.dtype, ranks: Alone) -> Matrix:
    home = home_of_search({"metric": metric}, {"X": X})
    matrix = Matrix("metric", metric, home, ranks.sum(rows)[0], rows, ranks)
    if not np.can_cast(matrix.dtype, dtype, casting="same_kind"):
        raise TypeError(f"metric has the dtype {matrix.dtype}, X {dtype}")
    return matrix


def orthonormalize(
    X: Any,
    *,
    basis: Any = None,
    metric: Any = None,
    method: str = _DEFAULT_METHOD,
    deficient: str = "replace",
    seed: int = 1,
    overwrite_x: bool = False,
    threads: int | None = None,
    comm: Any = None,
) -> Orthonormalized:
    """Make the columns of a tall matrix orthonormal, and orthogonal to a basis.

    Parameters
    ----------
    X : array
        n x b of float32, float64, complex64 or complex128, by rows or by columns: NumPy's, those of another library
        that knows DLPack, or CuPy's and PyTorch's on a CUDA device. Results are of the same library.
    basis : array or sequence of up to four, optional
        n x m with orthonormal columns, in X's dtype and order. Arrays of a sequence count as one, side by side.
    metric : matrix, optional
        A Hermitian positive definite B, whose inner product x^H B y is then used: a scipy.sparse matrix, an array, or
        a function of blocks. With an X on a device: as A of :func:`eigsh` there.
    method : str
        "between/within", as "bcgs2/svqb": docs/methods.md has the words. A method that is too weak escalates.
    deficient : {"replace", "drop", "report"}
        Dependent columns become random ones, orthogonal to all others; or zeros, after the other columns; or are
        reported by a RankError.
    seed : int
        Of the random columns.
    overwrite_x : bool
        Work in X, without a copy of it.
    threads : int, optional
        Default: OMP_NUM_THREADS, else the cores that this process may use.
    comm : mpi4py.MPI.Intracomm, optional
        Arrays are this rank's rows, and so are those of the metric, n_rank x n. All ranks call this. S and R have the
        same bits on every rank.

    Returns
    -------
    Orthonormalized
        With Q, S and R such that X = basis S + Q R, the rank, and how it went.

    Raises
    ------
    ShapeError, TypeError, ValueError
        Arguments that do not fit, before anything is computed.
    NotFiniteError
        NaN or Inf in X or the basis; X is as it was.
    RankError
        With ``deficient="report"``.
    RefusedError
        Another rank has met an error.

    See Also
    --------
    qr : the same without options, returning (Q, R).
    project : removes the basis only.

    Notes
    -----
    One or two sweeps, each of 2 m + 3 b words a row and one sum over all rows; ||I - Q^H Q|| is some eps for any X.

    Examples
    --------
    >>> X = np.random.default_rng(1).standard_normal((1000, 3))
    >>> X[:, 2] = X[:, 0] - X[:, 1]
    >>> found = orthonormalize(X)
    >>> found.rank, found.lost
    (2, [2])
    """
    Q, S, R, found = _orthogonalize(
        "normalize", X, basis, metric, method, deficient, seed, overwrite_x, threads, ranks_of(comm)
    )
    return Orthonormalized(Q=Q, S=S, R=R, **found)


def qr(X: Any, *, overwrite_x: bool = False, threads: int | None = None, comm: Any = None) -> tuple[Any, Any]:
    """Factorise a tall matrix, X = Q R, as numpy.linalg.qr does.

    Parameters
    ----------
    X : array
        n x b with n >= b, as in :func:`orthonormalize`.
    overwrite_x : bool
        Work in X, without a copy of it.
    threads, comm
        As in :func:`orthonormalize`.

    Returns
    -------
    Q : array
        n x b with orthonormal columns, for any X, of any rank.
    R : array
        b x b, upper triangular. Rows of columns that depend on those before them are zero.

    Raises
    ------
    ShapeError, TypeError, ValueError, NotFiniteError
        As :func:`orthonormalize`.

    Examples
    --------
    >>> Q, R = qr(np.array([[3.0], [4.0]]))
    >>> R
    array([[5.]])
    """
    ranks = ranks_of(comm)
    with ranks.checking():
        home = home_of(X=X)
        view = check_tall("X", home.view("X", home.work("X", X)))
        if ranks.sum(view.shape[0])[0] < view.shape[1]:
            raise ShapeError(f"X has the shape {view.shape}: expected at least as many rows as columns")
    found = orthonormalize(X, overwrite_x=overwrite_x, threads=threads, comm=comm)
    return found.Q, found.R


def project(
    X: Any,
    basis: Any,
    *,
    metric: Any = None,
    method: str = _DEFAULT_METHOD,
    overwrite_x: bool = False,
    threads: int | None = None,
    comm: Any = None,
) -> tuple[Any, Any]:
    """Remove a basis from a tall matrix: X becomes (I - V V^H) X.

    Parameters
    ----------
    X, basis, metric, method, overwrite_x, threads, comm
        As in :func:`orthonormalize`. The basis V has orthonormal columns.

    Returns
    -------
    X : array
        n x b, orthogonal to the basis. Its columns are not normalised.
    S : array
        m x b, with X_in = V S + X_out.

    Raises
    ------
    ShapeError, TypeError, ValueError, NotFiniteError
        As :func:`orthonormalize`.

    Notes
    -----
    A sweep moves 2 m + 3 b words a row. A second one follows where much of a column went.

    Examples
    --------
    >>> V = np.eye(1000, 2)
    >>> X, S = project(np.ones((1000, 1)), V)
    >>> S
    array([[1.],
           [1.]])
    """
    if basis is None:
        raise TypeError("basis is None: expected an array, or a sequence of them")
    Q, S, _, _ = _orthogonalize("project", X, basis, metric, method, "replace", 1, overwrite_x, threads, ranks_of(comm))
    return Q, S
