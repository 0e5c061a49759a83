"""Eigenvalues of Hermitian matrices."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from . import _host
from ._errors import InputError, NoConvergence, NotFiniteError, ShapeError
from ._operators import Blocks, Matrix, working_dtype
from ._progress import Progress
from ._result import EigshResult, Record, Step
from ._threads import thread_count

METHODS = ("lanczos", "lobpcg", "jacobi-davidson", "chebyshev", "interior")
_WITH_M = ("lobpcg", "jacobi-davidson")
_WITH_BLOCK = ("lanczos", "jacobi-davidson", "interior")
_DEFAULT_K = 6
_LEAST_TOLERANCE = 16  # eps: what is below is rounding
_DEFAULT_TOLERANCE = {"d": 1e-8, "D": 1e-8, "f": 1e-5, "F": 1e-5}


def _whole(name: str, value: Any, least: int) -> int:
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"{name}={value!r}: expected a whole number") from None
    if number < least:
        raise ValueError(f"{name}={number}: expected {least} or more")
    return number


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


def _method_of(method: str, is_interior: bool, with_m: bool, with_preconditioner: bool) -> str:
    if method != "auto" and method not in METHODS:
        raise InputError(f"method={method!r}: expected 'auto', {', '.join(map(repr, METHODS))}")
    if is_interior:
        if with_m or with_preconditioner:
            raise InputError("sigma and interval take neither M nor preconditioner")
        if method not in ("auto", "interior"):
            raise InputError(f"method={method!r} has neither sigma nor interval: 'interior' has")
        return "interior"
    if method == "interior":
        raise InputError("method='interior' needs sigma or interval")
    if method == "auto":
        return "lobpcg" if with_m or with_preconditioner else "lanczos"
    for name, given in (("M", with_m), ("preconditioner", with_preconditioner)):
        if given and method not in _WITH_M:
            raise InputError(f"method={method!r} takes no {name}: {' and '.join(map(repr, _WITH_M))} do")
    return method


def _tolerance_of(tol: float | None, dtype: np.dtype, row_entries: float) -> float:
    least = _LEAST_TOLERANCE * float(np.finfo(dtype).eps)
    if tol is None:
        return _DEFAULT_TOLERANCE[dtype.char]
    tol = float(tol)
    if tol == 0:  # a product rounds to about eps times the root of the entries of a row
        return least * max(1.0, 0.5 * float(np.sqrt(row_entries)))
    if not tol > 0:
        raise ValueError(f"tol={tol}: expected a positive number, or 0 for machine precision")
    if tol < least:
        raise ValueError(f"tol={tol:.1e} is below {least:.1e}, what {dtype} can tell; tol=0 asks for that")
    return tol


def _seed_of(rng: Any) -> int:
    if rng is None or isinstance(rng, np.random.Generator):
        return int(np.random.default_rng(rng).integers(1, 2**63))
    return _whole("rng", rng, 0)


def _initial_of(v0: Any, size: int, dtype: np.dtype) -> np.ndarray | None:
    if v0 is None:
        return None
    block = np.asarray(v0)
    block = block[:, None] if block.ndim == 1 else block
    if block.ndim != 2 or block.shape[0] != size:
        raise ShapeError(f"v0 has the shape {np.shape(v0)}: expected ({size},) or ({size}, b)")
    block = np.ascontiguousarray(block, dtype=dtype)
    if not np.isfinite(block).all():
        raise NotFiniteError("v0 has NaN or Inf")
    return block


def _wanted_of(k: Any, interval: Any, size: int) -> int:
    """The number of pairs; 0: as many as there are in the interval."""
    if size == 0:
        raise ShapeError("A has the shape (0, 0): expected rows")
    if k is None:
        return 0 if interval is not None else min(_DEFAULT_K, size)
    wanted = _whole("k", k, 1)
    if wanted > size:
        raise ShapeError(f"k={wanted} eigenvalues were asked of a matrix with {size} rows")
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


def _block_of(block: Any, method: str) -> int:
    if block is None:
        return 0
    if method not in _WITH_BLOCK:
        raise InputError(f"method={method!r} takes no block: ncv is the number of columns that it iterates")
    return _whole("block", block, 1)


def _basis_of(ncv: Any, wanted: int) -> int:
    basis = 0 if ncv is None else _whole("ncv", ncv, 1)
    if ncv is not None and basis < wanted:
        raise InputError(f"ncv={ncv}: expected at least k={wanted}")
    return basis


def _dtype_of(a: Matrix, m: Matrix | None, v0: Any) -> np.dtype:
    dtypes = [a.dtype] if m is None else [a.dtype, m.dtype]
    if v0 is not None and np.iscomplexobj(v0):
        dtypes.append(working_dtype("v0", np.asarray(v0).dtype))
    return np.result_type(*dtypes)


def _preconditioner_of(given: Any, a: Matrix, m: Matrix | None, dtype: np.dtype) -> Any:
    """What the extension module takes: diagonals, a word, or a function of blocks."""
    if given is None or isinstance(given, str) and given == "chebyshev":
        if given is not None and m is not None:
            raise InputError("preconditioner='chebyshev' knows no M: take 'jacobi' or your own")
        return given
    if not isinstance(given, str):
        matrix = Matrix("preconditioner", given, a.size)
        return Blocks(matrix.name, matrix.multiply, matrix.size, dtype)
    if given != "jacobi":
        raise InputError(f"preconditioner={given!r}: expected 'jacobi', 'chebyshev', or a matrix that is applied")
    diagonals = [None if one is None else one.diagonal() for one in (a, m)]
    for one, diagonal in zip((a, m), diagonals):
        if one is not None and diagonal is None:
            raise InputError(f"preconditioner='jacobi' needs the diagonal of {one.name}: a sparse matrix or an array")
    return tuple(None if one is None else np.ascontiguousarray(one, dtype=dtype).reshape(-1, 1) for one in diagonals)


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
    callback: Callable[[Step], Any] | None = None,
    progress: bool = False,
    rng: Any = 1,
    threads: int | None = None,
    reproducible: bool = False,
) -> EigshResult | np.ndarray:
    """Find a few eigenvalues and eigenvectors of a large Hermitian matrix, with all copies of an eigenvalue.

    A pair counts as found when ||A x - w x|| <= tol ||A||, recomputed from A; pairs that do not are never returned.

    Parameters
    ----------
    A : scipy.sparse matrix, array, LinearOperator, or anything with ``shape`` and ``A @ X``
        n x n, Hermitian (real: symmetric), of float32, float64, complex64, complex128 or whole numbers. Compressed rows
        (CSR) are used where they are, by threads of this library. Others multiply a block of n x b in C order. A
        function of blocks: :class:`Operator`.
    k : int, optional
        Number of pairs, up to n. Default: 6; with ``interval`` all that lie in it.
    M : as A, optional
        Hermitian positive definite: solves A x = w M x.
    which : {"SA", "LA"}
        The smallest eigenvalues or the largest ones. Required, except with ``sigma`` or ``interval``.
    sigma : float, optional
        The eigenvalues nearest to it, without a factorisation: takes many products with A.
    interval : tuple of two floats, optional
        All eigenvalues in it, ends included.
    v0 : array, optional
        Vectors near the answer, n or n x b. What is orthogonal to them is found nevertheless. Not used with ``sigma``
        or ``interval``.
    ncv : int, optional
        Columns of the basis; for LOBPCG and Chebyshev the columns that are iterated.
    maxiter : int, optional
        Most restarts (Lanczos, interior) or iterations (others).
    tol : float, optional
        Default: 1e-8, in single precision 1e-5. 0: machine precision, which is 8 eps times the root of the entries in
        a row of A, and at least 16 eps. With M the residual is measured by ||A|| + |w| ||M||.
    return_eigenvectors : bool
        False: only the eigenvalues are returned.
    method : {"auto", "lanczos", "lobpcg", "jacobi-davidson", "chebyshev", "interior"}
        "auto" takes LOBPCG with M or a preconditioner, else Lanczos.
    block : int, optional
        Columns that A is applied to at once (Lanczos, Jacobi-Davidson, interior).
    preconditioner : {"jacobi", "chebyshev"}, matrix or function of blocks, optional
        Something like (A - w)^-1, positive definite (LOBPCG, Jacobi-Davidson).
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
        The same bits for any number of threads.

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
    KeyboardInterrupt
        Ctrl-C ends the search before its next product.

    See Also
    --------
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
    is_interior = sigma is not None or interval is not None
    smallest = _end_of(which, is_interior)
    a = Matrix("A", A)
    m = None if M is None else Matrix("M", M, a.size)
    method = _method_of(method, is_interior, m is not None, preconditioner is not None)
    wanted = _wanted_of(k, interval, a.size)
    dtype = _dtype_of(a, m, v0)
    tolerance = _tolerance_of(tol, dtype, a.row_entries)
    request = {
        "method": method,
        "rows": a.size,
        "wanted": wanted,
        "tolerance": tolerance,
        "smallest": smallest,
        "target": None if sigma is None else float(sigma),
        "interval": _interval_of(interval, sigma),
        "block": _block_of(block, method),
        "basis": _basis_of(ncv, wanted),
        "most_steps": 0 if maxiter is None else _whole("maxiter", maxiter, 1),
        "seed": _seed_of(rng),
        "threads": thread_count(threads),
        "reproducible": bool(reproducible),
        "a": a.for_library(dtype),
        "b": None if m is None else m.for_library(dtype),
        "preconditioner": _preconditioner_of(preconditioner, a, m, dtype),
        "initial": _initial_of(v0, a.size, dtype),
    }
    norm = a.check_hermitian(dtype)
    if m is not None:
        m.check_hermitian(dtype, positive=True)
    found = _search(dtype, request, callback, Progress(wanted or 1, tolerance, norm) if progress else None)
    return _result_of(found, method, wanted, tolerance, m is not None, return_eigenvectors)


def _search(
    dtype: np.dtype, request: dict[str, Any], callback: Callable[[Step], Any] | None, bar: Progress | None
) -> dict[str, Any]:
    def observe(values: tuple[Any, ...]) -> bool:
        step = Step(*values)
        if bar is not None:
            bar(step)
        if callback is not None:
            try:
                callback(step)
            except StopIteration:
                return False
        return True

    try:
        found = _host.solve(dtype.char, request, observe if bar or callback else None)
        if bar is not None and found["status"] == "converged":
            bar.finish(len(found["eigenvalues"]))
    finally:
        if bar is not None:
            bar.close()
    return found


def _result_of(
    found: dict[str, Any], method: str, wanted: int, tolerance: float, is_pencil: bool, with_vectors: bool
) -> EigshResult | np.ndarray:
    values, residuals = np.array(found["eigenvalues"]), np.array(found["residuals"])
    norm = found["norm_estimate"]
    has_converged = found["status"] == "converged"
    if has_converged:
        kept = np.ones(len(values), dtype=bool)
    elif is_pencil:
        kept = np.array(found["backward_errors"]) <= tolerance
    else:
        kept = residuals <= tolerance * norm
    order = np.flatnonzero(kept)[np.argsort(values[kept], kind="stable")]
    why = found["why"] or found["status"]
    record = Record(
        residuals=residuals[order],
        converged=has_converged,
        reason="converged" if has_converged else why,
        method=method,
        tolerance=tolerance,
        target=tolerance * norm,
        norm_estimate=norm,
        orthogonality_loss=found["orthogonality_loss"],
        level_cut=found["level_cut"],
        history=[Step(*step) for step in found["history"]],
        **{name: found[name] for name in ("starts", "steps", "applications", "reductions", "filter_degree", "seconds")},
    )
    vectors = found["vectors"]
    if not np.array_equal(order, np.arange(len(values))):  # else no second copy
        vectors = np.ascontiguousarray(vectors[:, order])
    result = EigshResult(values[order], vectors, record)
    if not has_converged and found["status"] != "stopped":
        asked = f" of {wanted}" if wanted else ""
        raise NoConvergence(
            f"{kept.sum()}{asked} eigenpairs converged to a residual of {tolerance:.0e} ||A||: {why}. This exception "
            "has them. A larger maxiter or ncv, or a larger tol, may help",
            result,
            (values[~kept], residuals[~kept]),
        )
    return result if with_vectors else result.eigenvalues
