"""Orthogonalisation of tall & skinny matrices, in NumPy's memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from . import _host
from ._arrays import check_apart, check_layout, check_same, check_tall
from ._errors import ShapeError
from ._operators import Matrix
from ._threads import thread_count

_DEFICIENT = {"replace": 0, "drop": 1, "report": 2}
_MOST_PIECES = 4
_DEFAULT_METHOD = "pipi+/cholqr2"


@dataclass(frozen=True)
class Orthonormalized:
    """What :func:`orthonormalize` returns: X = basis S + Q R, and how it went.

    Attributes
    ----------
    Q : numpy.ndarray
        n x b with orthonormal columns; X itself with ``overwrite_x``.
    S : numpy.ndarray or None
        m x b; None without a basis.
    R : numpy.ndarray
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

    Q: np.ndarray = field(repr=False)
    S: np.ndarray | None = field(repr=False)
    R: np.ndarray = field(repr=False)
    rank: int
    lost: list[int]
    orthonormal: bool
    method: str
    reason: str
    condition: float
    sweeps: int
    reductions: int
    passes: float


def _pieces_of(basis: np.ndarray | Sequence[np.ndarray] | None) -> list[np.ndarray]:
    if basis is None:
        return []
    pieces = [basis] if isinstance(basis, np.ndarray) else list(basis)
    if len(pieces) > _MOST_PIECES:
        raise ShapeError(f"basis has {len(pieces)} arrays: expected at most {_MOST_PIECES}")
    for number, piece in enumerate(pieces):
        check_tall("basis" if len(pieces) == 1 else f"basis[{number}]", piece)
    return pieces


def _orthogonalize(
    function: Any,
    X: np.ndarray,
    basis: np.ndarray | Sequence[np.ndarray] | None,
    metric: Any,
    method: str,
    deficient: str,
    seed: int,
    overwrite_x: bool,
    threads: int | None,
) -> tuple[np.ndarray, np.ndarray | None, np.ndarray, dict[str, Any]]:
    check_tall("X", X, written=overwrite_x)
    pieces = _pieces_of(basis)
    if deficient not in _DEFICIENT:
        raise ValueError(f"deficient={deficient!r}: expected one of {', '.join(map(repr, _DEFICIENT))}")
    names = {"basis" if len(pieces) == 1 else f"basis[{number}]": piece for number, piece in enumerate(pieces)}
    letter = check_same(X=X, **names)
    rows, width, columns = X.shape[0], X.shape[1], sum(piece.shape[1] for piece in pieces)
    if overwrite_x:
        by_rows = check_layout(X=X, **names)
        check_apart({"X": X}, names)
    else:  # a copy of X has any order
        by_rows = check_layout(**names) if names else X.flags.c_contiguous or not X.flags.f_contiguous
    given = None
    if metric is not None:
        matrix = Matrix("metric", metric, rows)
        if not np.can_cast(matrix.dtype, X.dtype, casting="same_kind"):
            raise TypeError(f"metric has the dtype {matrix.dtype}, X {X.dtype}")
        if rows:
            matrix.check_hermitian(X.dtype, positive=True)
        given = matrix.for_library(X.dtype)
    Q = X if overwrite_x else np.array(X, order="C" if by_rows else "F", copy=True)
    S = np.zeros((columns, width), X.dtype, order="F") if pieces else None
    R = np.zeros((width, width), X.dtype, order="F")
    found = function(
        letter, by_rows, thread_count(threads), pieces, Q, S, R, given, method, _DEFICIENT[deficient], seed
    )
    return Q, S, R, found


def orthonormalize(
    X: np.ndarray,
    *,
    basis: np.ndarray | Sequence[np.ndarray] | None = None,
    metric: Any = None,
    method: str = _DEFAULT_METHOD,
    deficient: str = "replace",
    seed: int = 1,
    overwrite_x: bool = False,
    threads: int | None = None,
) -> Orthonormalized:
    """Make the columns of a tall matrix orthonormal, and orthogonal to a basis.

    Parameters
    ----------
    X : numpy.ndarray
        n x b of float32, float64, complex64 or complex128, by rows or by columns.
    basis : numpy.ndarray or sequence of up to four, optional
        n x m with orthonormal columns, in X's dtype and order. Arrays of a sequence count as one, side by side.
    metric : matrix, optional
        A Hermitian positive definite B, whose inner product x^H B y is then used: a scipy.sparse matrix, an array, or
        a function of blocks.
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
    function = _host.normalize
    Q, S, R, found = _orthogonalize(function, X, basis, metric, method, deficient, seed, overwrite_x, threads)
    return Orthonormalized(Q=Q, S=S, R=R, **found)


def qr(X: np.ndarray, *, overwrite_x: bool = False, threads: int | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Factorise a tall matrix, X = Q R, as numpy.linalg.qr does.

    Parameters
    ----------
    X : numpy.ndarray
        n x b with n >= b, as in :func:`orthonormalize`.
    overwrite_x : bool
        Work in X, without a copy of it.
    threads : int, optional
        As in :func:`orthonormalize`.

    Returns
    -------
    Q : numpy.ndarray
        n x b with orthonormal columns, for any X, of any rank.
    R : numpy.ndarray
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
    check_tall("X", X)
    if X.shape[0] < X.shape[1]:
        raise ShapeError(f"X has the shape {X.shape}: expected at least as many rows as columns")
    found = orthonormalize(X, overwrite_x=overwrite_x, threads=threads)
    return found.Q, found.R


def project(
    X: np.ndarray,
    basis: np.ndarray | Sequence[np.ndarray],
    *,
    metric: Any = None,
    method: str = _DEFAULT_METHOD,
    overwrite_x: bool = False,
    threads: int | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Remove a basis from a tall matrix: X becomes (I - V V^H) X.

    Parameters
    ----------
    X, basis, metric, method, overwrite_x, threads
        As in :func:`orthonormalize`. The basis V has orthonormal columns.

    Returns
    -------
    X : numpy.ndarray
        n x b, orthogonal to the basis. Its columns are not normalised.
    S : numpy.ndarray
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
    Q, S, _, _ = _orthogonalize(_host.project, X, basis, metric, method, "replace", 1, overwrite_x, threads)
    return Q, np.zeros((0, X.shape[1]), X.dtype) if S is None else S
