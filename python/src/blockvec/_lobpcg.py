"""LOBPCG with SciPy's names."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ._errors import ShapeError
from ._homes import home_of
from ._ranks import ranks_of
from ._result import COUNTS, EigshResult
from ._search import LEAST_TOLERANCE, Conduct, Search, conducted, tolerance_of

if TYPE_CHECKING:
    from typing_extensions import Unpack

_MOST_ROUNDS = 4


@conducted
def lobpcg(
    A: Any,
    X: Any,
    B: Any = None,
    M: Any = None,
    Y: Any = None,
    tol: float | None = None,
    maxiter: int | None = None,
    largest: bool = True,
    **conduct: Unpack[Conduct],
) -> EigshResult:
    """Find eigenvalues by LOBPCG, with the names of scipy.sparse.linalg.lobpcg.

    A pair counts as found when ||A x - w x|| <= tol, recomputed from A; pairs that do not are never returned.

    Parameters
    ----------
    A : scipy.sparse matrix, array, LinearOperator, or anything with ``shape`` and ``A @ X``
        n x n, Hermitian, as for :func:`eigsh`.
    X : array
        n x k: as many pairs are found, and the search begins in its span. It is not changed.
    B : as A, optional
        Hermitian positive definite: solves A x = w B x, and measures ||A x - w B x|| for x^H B x = 1.
    M : matrix, function of blocks, or {"jacobi", "chebyshev"}, optional
        The preconditioner, something like A^-1, positive definite.
    Y : array, optional
        n x m constraints, which span an invariant subspace, such as eigenvectors known already: the search stays
        B-orthogonal to them.
    tol : float, optional
        Of the residual, absolute. Default: 1e-8 ||A||, in single precision 1e-5 ||A||.
    maxiter : int, optional
        Most iterations. Default: 1000.
    largest : bool
        The largest eigenvalues (default), or the smallest.
    callback, progress, rng, threads, reproducible, comm
        As for :func:`eigsh`. With ``comm`` X and Y are this rank's rows.

    Returns
    -------
    EigshResult
        Unpacks to w (k, best first: descending for the largest) and v (n x k, B-orthonormal, of X's library); has the
        residuals and the history.

    Raises
    ------
    NoConvergence
        Fewer than k pairs converged; it has them. SciPy returns all, with a warning.
    TypeError, ValueError, ShapeError, InputError, NotFiniteError
        Arguments that do not fit, as for :func:`eigsh`.

    See Also
    --------
    eigsh : has other methods, too, and a tolerance that is relative to ||A||.
    scipy.sparse.linalg.lobpcg : its model.

    Notes
    -----
    LOBPCG in an orthonormal basis [HL]_, with some columns beside those of X that keep copies of an eigenvalue from
    being missed. Memory: 6 (k + max(4, k / 10)) n numbers, with B 9.

    References
    ----------
    .. [HL] Hetmaniuk, Lehoucq (2006), "Basis selection in LOBPCG".

    Examples
    --------
    >>> import scipy.sparse
    >>> A = scipy.sparse.diags(np.arange(1.0, 101))
    >>> X = np.random.default_rng(1).standard_normal((100, 3))
    >>> w, v = lobpcg(A, X)
    >>> w.round(6)
    array([100.,  99.,  98.])
    """
    ranks = ranks_of(conduct.get("comm"))
    with ranks.checking():
        if len(np.shape(X)) != 2:
            raise ShapeError(f"X has the shape {tuple(np.shape(X))}: expected ({(*np.shape(A), 'n')[0]}, k)")
        search = Search(
            ranks,
            {"A": A, "B": B},
            {"M": M},
            {"X": X, "Y": Y},
            maxiter,
            conduct,
        )
        a, initial, deflation = search.matrices["A"], search.request["initial"], search.request["deflation"]
        wanted, left = initial.shape[1], search.left
        if not 1 <= wanted <= left:
            beside = "" if deflation is None else f" beside Y with {deflation.shape[1]} columns"
            raise ShapeError(f"X has the shape {tuple(initial.shape)}{beside}: expected 1 to {left} columns")
        default = tolerance_of(None, search.dtype, a.row_entries)
        if tol is not None and not float(tol) > 0:
            raise ValueError(f"tol={tol!r}: expected a positive number")
        search.request |= {"method": "lobpcg", "wanted": wanted, "smallest": not largest}
    if tol is None:
        found = search.run(lambda norm: default)
        result = search.result_of(found, default, default * found["norm_estimate"])
    else:
        found, tolerance = _to_absolute(search, float(tol))
        result = search.result_of(found, tolerance, float(tol), is_absolute=True)
    w, v = result
    record = result.record
    if largest:
        order = np.arange(len(w))[::-1]
        w, v, record = w[order], search.home.columns(v, order), replace(record, residuals=record.residuals[order])
    return EigshResult(w, home_of(X=X).result(v), record)


def _to_absolute(search: Search, tol: float) -> tuple[dict[str, Any], float]:
    """Searches until residuals are below tol: the library's tolerance is relative to norms that it estimates."""
    least = LEAST_TOLERANCE * float(np.finfo(search.dtype).eps)
    used = 0.0

    def first(norm: float) -> float:
        nonlocal used
        used = min(0.1, max(least, tol / norm)) if norm > 0 else 0.1
        return used

    found = search.run(first)
    for _ in range(_MOST_ROUNDS):
        worst = max(found["residuals"], default=0.0)
        if found["status"] != "converged" or worst <= tol or used == least:
            break
        used = max(least, 0.5 * used * tol / worst)
        before = found
        found = search.run(lambda norm, used=used: used, initial=before["vectors"])
        for name in set(COUNTS) - {"starts", "filter_degree"}:
            found[name] += before[name]
        found["history"] = before["history"] + found["history"]
    return found, used
