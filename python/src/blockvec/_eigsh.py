"""Eigenvalues of Hermitian matrices."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np

from ._errors import InputError, ShapeError
from ._methods import method_of, takes
from ._ranks import ranks_of
from ._result import EigshResult
from ._search import Conduct, Search, conducted, tolerance_of, whole

if TYPE_CHECKING:
    from typing_extensions import Unpack

_DEFAULT_K = 6


def _end_of(which: str | None, is_interior: bool) -> bool:
    """Whether the smallest eigenvalues are wanted."""
    if is_interior:
        if which not in (None, "LM"):
            raise InputError(f"which={which!r} beside sigma or interval: leave it out")
        return True
    if which is None:
        raise TypeError(
            "which is missing: which='SA' finds the smallest eigenvalues, which='LA' the largest (SciPy's default, "
            "'LM', is neither)"
        )
    if which not in ("SA", "LA"):
        raise InputError(
            f"which={which!r}: expected 'SA' (smallest), 'LA' (largest), or sigma=... for those nearest to a number"
        )
    return which == "SA"


def _wanted_of(k: Any, interval: Any, size: int, left: int) -> int:
    """The number of pairs; 0: as many as there are in the interval. ``left``: of the rows, without constraints."""
    beside = "" if left == size else f" beside {size - left} constraints"
    if left <= 0:
        raise ShapeError(f"A has the shape {(size, size)}{beside}: expected more rows")
    if k is None:
        return 0 if interval is not None else min(_DEFAULT_K, left)
    wanted = whole("k", k, 1)
    if wanted > left:
        raise ShapeError(f"k={wanted} eigenvalues were asked of a matrix with {size} rows{beside}")
    return wanted


def _interval_of(interval: Any, sigma: Any) -> tuple[float, float] | None:
    if interval is None:
        return None
    if sigma is not None:
        raise InputError("sigma and interval are both given: expected one of them")
    low, high = map(float, interval)
    if not low <= high:
        raise InputError(f"interval={interval!r}: expected two numbers, the lower one first")
    return low, high


def _is_single(precision: Any) -> bool:
    if precision not in ("double", "single"):
        raise InputError(f"filter_precision={precision!r}: expected 'double' or 'single'")
    return precision == "single"


def _basis_of(ncv: Any, wanted: int) -> int:
    basis = 0 if ncv is None else whole("ncv", ncv, 1)
    if ncv is not None and basis < wanted:
        raise InputError(f"ncv={ncv}: expected at least k={wanted}")
    return basis


def _options_of(options: Any) -> dict[str, Any]:
    if options is None:
        return {}
    if not isinstance(options, dict):
        raise TypeError(f"options is a {type(options).__name__}: expected a dictionary, as {{'filter_degree': 40}}")
    return {name: os.fspath(one) if isinstance(one, os.PathLike) else one for name, one in options.items()}


@conducted
def eigsh(
    A: Any,
    k: int | None = None,
    M: Any = None,
    *,
    which: str | None = None,
    sigma: float | None = None,
    interval: tuple[float, float] | None = None,
    v0: Any = None,
    ncv: int | None = None,
    maxiter: int | None = None,
    tol: float | None = None,
    return_eigenvectors: bool = True,
    method: str = "auto",
    block: int | None = None,
    preconditioner: Any = None,
    Minv: Any = None,
    Y: Any = None,
    filter_precision: str = "double",
    options: dict[str, Any] | None = None,
    **conduct: Unpack[Conduct],
) -> EigshResult | np.ndarray:
    """Find a few eigenvalues and eigenvectors of a large Hermitian matrix, with all copies of an eigenvalue.

    A pair counts as found when ||A x - w x|| <= tol ||A||, recomputed from A; pairs that do not are never returned.

    Parameters
    ----------
    A : scipy.sparse matrix, array, LinearOperator, or anything with ``shape`` and ``A @ X``
        n x n, Hermitian (real: symmetric), of float32, float64, complex64, complex128 or whole numbers. Compressed rows
        (CSR) are used where they are, by threads of this library. Others multiply a block of n x b in C order. A
        function of blocks: :class:`Operator`. The search works on a CUDA device where one of A, M, v0, Y and the
        preconditioner is CuPy's or PyTorch's there, and gives blocks of that library to the others. Sparse matrices
        pass through the host once. Eigenvectors are of that library.
    k : int, optional
        Number of pairs, up to n. Default: 6; with ``interval`` all that lie in it.
    M : as A, optional
        Hermitian positive definite: solves A x = w M x. Lanczos, Chebyshev and "interior" need its inverse.
    which : {"SA", "LA"}
        The smallest eigenvalues or the largest ones. Required, except with ``sigma`` or ``interval``.
    sigma : float, optional
        The eigenvalues nearest to it, without a factorisation: takes many products with A.
    interval : tuple of two floats, optional
        All eigenvalues in it, ends included.
    v0 : array, optional
        Vectors near the answer, n or n x b. What is orthogonal to them is found nevertheless. Not used by "interior".
    ncv : int, optional
        Columns of the basis; for LOBPCG and Chebyshev the columns that are iterated.
    maxiter : int, optional
        Most restarts (Lanczos, interior) or iterations (others).
    tol : float, optional
        Default: 1e-8, in single precision 1e-5. 0: machine precision, which is 8 eps times the root of the entries in
        a row of A, and at least 16 eps. With M the residual is measured by ||A|| + |w| ||M||.
    return_eigenvectors : bool
        False: only the eigenvalues are returned.
    method : {"auto", "lanczos", "lobpcg", "jacobi-davidson", "chebyshev", "interior", "dense"}
        "auto" takes what is likely to be the fastest of those that take all that is given: at an end of the spectrum
        Lanczos without M and preconditioner; "interior" with ``interval``, and with ``sigma`` unless M is not diagonal;
        "dense", the whole spectrum by LAPACK, for some hundred rows. That one takes no v0, ncv, maxiter and options.
        Up to some thousand rows it also takes over where a search of "auto" fails or takes longer than it.
    block : int, optional
        Columns that A is applied to at once (Lanczos, Jacobi-Davidson, interior).
    preconditioner : {"jacobi", "chebyshev"}, matrix or function of blocks, optional
        Something like (A - w)^-1, positive definite (LOBPCG, Jacobi-Davidson; not with ``interval``).
    Minv : matrix or function of blocks, optional
        Something like M^-1, positive definite (Lanczos, Chebyshev, interior). The better it is, the fewer products with
        M improve it. Default: the inverse of M's diagonal where that is known, which is exact for a diagonal M.
    Y : array, optional
        n x m constraints, which span an invariant subspace, such as eigenvectors known already: the search stays
        M-orthogonal to them.
    filter_precision : {"double", "single"}
        "single": the filters of Chebyshev apply a sparse A in single precision, to residuals, so that the result is as
        accurate. On GPUs this is faster; A is stored twice.
    options : dict, optional
        Of the method alone: ``filter_degree`` (Lanczos); ``first_degree``, ``most_degree``, ``filter_width``
        (Chebyshev); ``kept``, ``inner_steps`` (Jacobi-Davidson). Of all: ``orth``, the ``method`` of
        :func:`orthonormalize`; ``checkpoint``, a file that the search is saved to every ``checkpoint_seconds`` (600);
        ``restart``, the checkpoint that it goes on from.
    callback : callable, optional
        Called with a :class:`Step` after each block. What it raises comes out of eigsh. StopIteration ends the search:
        the pairs found so far are returned.
    progress : bool
        Show the digits gained on standard error.
    rng : int or numpy.random.Generator, optional
        Seed of the random starts; the same seed gives the same bits. None: another one each time.
    threads : int, optional
        Default: OMP_NUM_THREADS, else the cores that this process may use.
    reproducible : bool
        The same bits for any number of threads and ranks.
    comm : mpi4py.MPI.Intracomm, optional
        Each rank passes its rows of A and M, as a sparse matrix or an array of n_rank x n, or as an :class:`Operator`
        that multiplies its rows of a block; also its rows of v0 and Y. A preconditioner or Minv that is a matrix is
        n_rank x n_rank. All ranks call this with the same options, and get all eigenvalues and their rows of the
        vectors.

    Returns
    -------
    EigshResult
        Unpacks to w (k, ascending) and v (n x k, orthonormal columns); has the residuals, the history and ``report()``.
        Only w without ``return_eigenvectors``.

    Raises
    ------
    NoConvergence
        Fewer pairs converged; it has them.
    TypeError, ValueError, ShapeError, InputError
        Arguments that do not fit. A matrix that is not Hermitian is found out by one random pair of vectors.
    NotFiniteError
        NaN or Inf in A, M, v0, or in a product with them.
    RefusedError
        Another rank has met an error, in its arguments or during the search.
    KeyboardInterrupt
        Ctrl-C ends the search before its next product.

    See Also
    --------
    lobpcg : the same with the names of SciPy's lobpcg.
    scipy.sparse.linalg.eigsh : its model. Here ``which`` is required, and ``sigma`` factorises nothing.

    Notes
    -----
    Lanczos is a thick-restart block method with a Chebyshev filter [Li]_, which takes (ncv + 4 block + 2 k) n numbers
    of memory. Copies of an eigenvalue are looked for from new random vectors until none turns up.

    References
    ----------
    .. [Li] Li, Xi, Vecharynski, Yang, Saad (2016), "A thick-restart Lanczos algorithm with polynomial filtering for
       Hermitian eigenvalue problems".

    Examples
    --------
    >>> import scipy.sparse
    >>> ring = scipy.sparse.diags([-1.0, -1.0, -1.0, -1.0], [-99, -1, 1, 99], shape=(100, 100))
    >>> w, v = eigsh(ring, k=3, which="SA")
    >>> w.round(6)
    array([-2.      , -1.996053, -1.996053])
    """
    ranks = ranks_of(conduct.get("comm"))
    with ranks.checking():
        is_inside = sigma is not None or interval is not None
        smallest = _end_of(which, is_inside)
        search = Search(
            ranks,
            {"A": A, "M": M},
            {"preconditioner": preconditioner, "Minv": Minv},
            {"v0": v0, "Y": Y},
            maxiter,
            conduct,
        )
        a, m = search.matrices["A"], search.matrices["M"]
        if Minv is not None and m is None:
            raise InputError("Minv is given, but no M")
        if is_inside and isinstance(preconditioner, str) and preconditioner == "chebyshev":
            raise InputError("preconditioner='chebyshev' helps at an end of the spectrum: take 'jacobi' or your own")
        has_single_filter = _is_single(filter_precision)
        if has_single_filter and a.sparse is None:
            raise TypeError(f"filter_precision='single' needs a sparse matrix, {a.name} is none")
        interval = _interval_of(interval, sigma)
        arguments = {"which": None if is_inside else which, "sigma": sigma, "interval": interval}
        arguments |= {"M": M, "Minv": Minv, "preconditioner": preconditioner, "block": block}
        given_options = _options_of(options)
        arguments |= {"v0": v0, "ncv": ncv, "maxiter": maxiter, "options": given_options or None}
        arguments["filter_precision"] = filter_precision if has_single_filter else None
        wanted = _wanted_of(k, interval, a.size, search.left)
        traits = {
            "has_inverse_b": Minv is not None or m is not None and m.is_diagonal(ranks),
            "wants_wide_blocks": not search.home.is_host or ranks.size > 1,
            "rows": a.size,
            "wanted": wanted or _DEFAULT_K,
            "is_complex": search.dtype.kind == "c",
            "row_entries": a.row_entries,
        }
        given_names = [name for name, given in arguments.items() if given is not None]
        method, most_applications = method_of(method, given_names, traits)
        tolerance = tolerance_of(tol, search.dtype, a.row_entries)
        search.request |= {
            "method": method,
            "most_applications": most_applications,
            "wanted": wanted,
            "smallest": smallest,
            "target": None if sigma is None else float(sigma),
            "interval": interval,
            "block": 0 if block is None else whole("block", block, 1),
            "basis": _basis_of(ncv, wanted),
            "inverse_b": search.inverse_of_m("Minv", Minv) if takes(method, "Minv") else None,
            "options": given_options,
            "single_filter": has_single_filter,
        }
    found = search.run(lambda norm: tolerance)
    result = search.result_of(found, tolerance, tolerance * found["norm_estimate"])
    return result if return_eigenvectors else result.eigenvalues
