"""Eigenvalues of Hermitian matrices."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse

from ._arrays import call_of
from ._errors import InputError, NoConvergence, NotFiniteError, ShapeError
from ._operators import Matrix, Operator, home_of_search, is_sparse, work_of, working_dtype
from ._progress import Progress
from ._ranks import Alone, ranks_of
from ._result import EigshResult, Record, Step

METHODS = ("lanczos", "lobpcg", "jacobi-davidson", "chebyshev", "interior")
_WITH_M = ("lobpcg", "jacobi-davidson")
_WITH_BLOCK = ("lanczos", "jacobi-davidson", "interior")
_BLOCKS = ("initial", "deflation")
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


def _block_vectors_of(name: str, work: Any, a: Matrix, dtype: np.dtype) -> Any:
    """Some columns beside A, such as v0: this rank's rows."""
    if work is None:
        return None
    block = work[:, None] if len(work.shape) == 1 else work
    if len(block.shape) != 2 or block.shape[0] != a.rows:
        raise ShapeError(f"{name} has the shape {tuple(work.shape)}: expected ({a.rows},) or ({a.rows}, b)")
    block = a.home.ordered(block, "C", dtype)
    if a.home.is_host and not np.isfinite(block).all():
        raise NotFiniteError(f"{name} has NaN or Inf")
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


def _has_single_filter(precision: str, method: str, a: Matrix) -> bool:
    if precision not in ("double", "single"):
        raise InputError(f"filter_precision={precision!r}: expected 'double' or 'single'")
    if precision == "double":
        return False
    if method != "chebyshev":
        raise InputError(f"method={method!r} takes no filter_precision: 'chebyshev' does")
    if a.sparse is None:
        raise TypeError(f"filter_precision='single' needs a sparse matrix, {a.name} is none")
    return True


def _basis_of(ncv: Any, wanted: int) -> int:
    basis = 0 if ncv is None else _whole("ncv", ncv, 1)
    if ncv is not None and basis < wanted:
        raise InputError(f"ncv={ncv}: expected at least k={wanted}")
    return basis


def _dtype_of(matrices: list[Matrix], works: dict[str, Any]) -> np.dtype:
    dtypes = [one.dtype for one in matrices]
    for name, work in works.items():
        given = None if work is None else working_dtype(name, work.dtype)
        if given is not None and given.kind == "c":
            dtypes.append(given)
    return np.result_type(*dtypes)


def _preconditioner_of(name: str, given: Any, a: Matrix, m: Matrix | None, dtype: np.dtype) -> Any:
    """What the extension module takes: diagonals, a word, or a function of blocks."""
    if given is None or isinstance(given, str) and given == "chebyshev":
        if given is not None and m is not None:
            raise InputError(f"{name}='chebyshev' knows no {m.name}: take 'jacobi' or your own")
        return given
    if not isinstance(given, str):
        if is_sparse(given) and not a.home.is_host:
            if scipy.sparse.issparse(given):
                raise TypeError(f"{name} is a scipy.sparse matrix, {a.name} is on {a.home}: expected both in one place")
            given = Operator(given.__matmul__, given.shape, given.dtype)  # multiplies where it is
        return Matrix(name, given, a.home, a.rows).blocks(dtype)  # of this rank's rows
    if given != "jacobi":
        raise InputError(f"{name}={given!r}: expected 'jacobi', 'chebyshev', or a matrix that is applied")
    diagonals = [None if one is None else one.diagonal(dtype) for one in (a, m)]
    for one, diagonal in zip((a, m), diagonals):
        if one is not None and diagonal is None:
            raise InputError(f"{name}='jacobi' needs the diagonal of {one.name}: a sparse matrix or an array")
    return tuple(None if one is None else a.home.hand(one) for one in diagonals)


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
    filter_precision: str = "double",
    callback: Callable[[Step], Any] | None = None,
    progress: bool = False,
    rng: Any = 1,
    threads: int | None = None,
    reproducible: bool = False,
    comm: Any = None,
) -> EigshResult | np.ndarray:
    """Find a few eigenvalues and eigenvectors of a large Hermitian matrix, with all copies of an eigenvalue.

    A pair counts as found when ||A x - w x|| <= tol ||A||, recomputed from A; pairs that do not are never returned.

    Parameters
    ----------
    A : scipy.sparse matrix, array, LinearOperator, or anything with ``shape`` and ``A @ X``
        n x n, Hermitian (real: symmetric), of float32, float64, complex64, complex128 or whole numbers. Compressed rows
        (CSR) are used where they are, by threads of this library. Others multiply a block of n x b in C order. A
        function of blocks: :class:`Operator`. The search works on a CUDA device where one of A, M, v0 and the
        preconditioner is CuPy's or PyTorch's there, and gives blocks of that library to the others. Sparse matrices
        pass through the host once. Eigenvectors are of that library.
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
    filter_precision : {"double", "single"}
        "single": the filters of method="chebyshev" apply a sparse A in single precision, to residuals, so that the
        result is as accurate. On GPUs this is faster; A is stored twice.
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
        that multiplies its rows of a block; also its rows of v0. A preconditioner that is a matrix is n_rank x n_rank.
        All ranks call this with the same options, and get all eigenvalues and their rows of the vectors.

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
    ranks = ranks_of(comm)
    with ranks.checking():
        is_interior = sigma is not None or interval is not None
        smallest = _end_of(which, is_interior)
        search = Search(
            ranks,
            {"A": A, "M": M},
            {"preconditioner": preconditioner},
            {"v0": v0, "Y": None},
            maxiter=maxiter,
            callback=callback,
            progress=progress,
            rng=rng,
            threads=threads,
            reproducible=reproducible,
        )
        a = search.matrices["A"]
        method = _method_of(method, is_interior, M is not None, preconditioner is not None)
        wanted = _wanted_of(k, interval, a.size)
        tolerance = _tolerance_of(tol, search.dtype, a.row_entries)
        search.request |= {
            "method": method,
            "wanted": wanted,
            "smallest": smallest,
            "target": None if sigma is None else float(sigma),
            "interval": _interval_of(interval, sigma),
            "block": _block_of(block, method),
            "basis": _basis_of(ncv, wanted),
            "single_filter": _has_single_filter(filter_precision, method, a),
        }
    found = search.run(lambda norm: tolerance)
    result = search.result_of(found, tolerance, tolerance * found["norm_estimate"])
    return result if return_eigenvectors else result.eigenvalues


class Search:
    """A search for eigenpairs: what :func:`eigsh` and :func:`lobpcg` have in common.

    ``matrices`` are A and that of the inner product, ``helper`` is the preconditioner. ``blocks`` are the vectors to
    begin with, and the constraints. All have the names of the caller's arguments, and None where there is none.
    ``request`` is what the extension module is asked for. The caller adds the method, and what is wanted.
    """

    def __init__(
        self,
        ranks: Alone,
        matrices: dict[str, Any],
        helper: dict[str, Any],
        blocks: dict[str, Any],
        *,
        maxiter: Any,
        callback: Callable[[Step], Any] | None,
        progress: bool,
        rng: Any,
        threads: int | None,
        reproducible: bool,
    ):
        home = home_of_search({**matrices, **helper}, blocks)
        (first, A), (second, M) = matrices.items()
        a = Matrix(first, A, home, ranks=ranks)
        m = None if M is None else Matrix(second, M, home, a.size, a.rows, ranks)
        works = {name: None if given is None else work_of(name, given, home) for name, given in blocks.items()}
        dtype = _dtype_of([a] if m is None else [a, m], works)
        initial, deflation = (_block_vectors_of(name, work, a, dtype) for name, work in works.items())
        [(name, given)] = helper.items()
        self.home, self.dtype, self.callback = home, dtype, callback
        self.call = call_of(home, ranks, threads, dtype.char)
        self.matrices = {"A": a, "M": m}
        self.is_shown = progress and ranks.rank == 0
        self.bar: Progress | None = None
        self.request: dict[str, Any] = {
            "rows": a.rows,
            "target": None,
            "interval": None,
            "block": 0,
            "basis": 0,
            "most_steps": 0 if maxiter is None else _whole("maxiter", maxiter, 1),
            "seed": _seed_of(rng),
            "reproducible": bool(reproducible),
            "single_filter": False,
            "a": a.for_library(dtype),
            "b": None if m is None else m.for_library(dtype),
            "preconditioner": _preconditioner_of(name, given, a, m, dtype),
            "initial": initial,
            "deflation": deflation,
        }

    def run(self, tolerance_for: Callable[[float], float], **changes: Any) -> dict[str, Any]:
        """What the extension module finds. ``tolerance_for`` gets a lower bound of ||A||."""
        request = {**self.request, **changes}
        if self.is_shown and self.bar is None:
            self.bar = Progress(request["wanted"] or 1)
        bar = self.bar

        def judge(name: str, products: list[complex], lengths: list[float]) -> float:
            norm = self.matrices[name].judge(products, lengths, self.dtype, positive=name == "M")
            tolerance = tolerance_for(norm)
            if bar is not None and name == "A":
                bar.tolerance, bar.norm = tolerance, norm
            return tolerance

        def observe(values: tuple[Any, ...]) -> bool:
            step = Step(*values)
            if bar is not None:
                bar(step)
            if self.callback is not None:
                try:
                    self.callback(step)
                except StopIteration:
                    return False
            return True

        home = self.home

        def allocate(rows: int, columns: int) -> tuple[Any, Any]:
            vectors = home.empty((rows, columns), self.dtype, "C")
            return vectors, home.hand(vectors)

        blocks = {name: None if (block := request[name]) is None else home.hand(block) for name in _BLOCKS}
        try:
            found = home.run(
                "solve",
                self.call,
                {**request, **blocks, "allocate": allocate},
                judge,
                observe if bar or self.callback else None,
            )
            if bar is not None and found["status"] == "converged":
                bar.finish(len(found["eigenvalues"]))
        finally:
            if bar is not None:
                bar.close()
        return found

    def result_of(
        self, found: dict[str, Any], tolerance: float, target: float, *, is_absolute: bool = False
    ) -> EigshResult:
        """The pairs that have converged; raises NoConvergence where these are fewer than were asked for."""
        values, residuals = np.array(found["eigenvalues"]), np.array(found["residuals"])
        has_converged = found["status"] == "converged"
        if is_absolute:
            kept = residuals <= target
            has_converged = has_converged and bool(kept.all())
        elif has_converged:
            kept = np.ones(len(values), dtype=bool)
        elif self.matrices["M"] is not None:
            kept = np.array(found["backward_errors"]) <= tolerance
        else:
            kept = residuals <= target
        order = np.flatnonzero(kept)[np.argsort(values[kept], kind="stable")]
        why = found["why"] or ("rounding" if found["status"] == "converged" else found["status"])
        names = ("starts", "steps", "applications", "reductions", "filter_degree", "seconds")
        record = Record(
            residuals=residuals[order],
            converged=has_converged,
            reason="converged" if has_converged else why,
            method=self.request["method"],
            tolerance=tolerance,
            target=target,
            norm_estimate=found["norm_estimate"],
            orthogonality_loss=found["orthogonality_loss"],
            level_cut=found["level_cut"],
            history=[Step(*step) for step in found["history"]],
            **{name: found[name] for name in names},
        )
        vectors = found["vectors"]
        if not np.array_equal(order, np.arange(len(values))):  # else no second copy
            vectors = self.home.columns(vectors, order)
        result = EigshResult(values[order], vectors, record)
        if not has_converged and found["status"] != "stopped":
            wanted = self.request["wanted"]
            asked = f" of {wanted}" if wanted else ""
            accuracy = f"{target:.0e}" if is_absolute else f"{tolerance:.0e} ||A||"
            raise NoConvergence(
                f"{kept.sum()}{asked} eigenpairs converged to a residual of {accuracy}: {why}. This exception "
                "has them. A larger maxiter or ncv, or a larger tol, may help",
                result,
                (values[~kept], residuals[~kept]),
            )
        return result
