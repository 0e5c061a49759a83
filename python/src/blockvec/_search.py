"""A search for eigenpairs: what :func:`eigsh` and :func:`lobpcg` have in common."""

from __future__ import annotations

import inspect
import operator
from collections.abc import Callable
from typing import Any, TypedDict, TypeVar

import numpy as np
import scipy.sparse

from ._arrays import call_of
from ._errors import InputError, NoConvergence, NotFiniteError, ShapeError
from ._operators import Blocks, Matrix, Operator, home_of_search, is_sparse, work_of, working_dtype
from ._progress import Progress
from ._ranks import Alone
from ._result import COUNTS, EigshResult, Record, Step

_BLOCKS = ("initial", "deflation")
LEAST_TOLERANCE = 16  # eps: what is below is rounding
_DEFAULT_TOLERANCE = {"d": 1e-8, "D": 1e-8, "f": 1e-5, "F": 1e-5}


class Conduct(TypedDict, total=False):
    """How a search is run: keywords of all searches."""

    callback: Callable[[Step], Any] | None
    progress: bool
    rng: Any
    threads: int | None
    reproducible: bool
    comm: Any


_DEFAULT_CONDUCT: Conduct = {
    "callback": None,
    "progress": False,
    "rng": 1,
    "threads": None,
    "reproducible": False,
    "comm": None,
}
_Function = TypeVar("_Function", bound=Callable[..., Any])


def conducted(function: _Function) -> _Function:
    """Shows the keywords of Conduct in the signature of a function that takes them as ``**conduct``."""
    own = inspect.signature(function)
    *parameters, _ = own.parameters.values()
    for name, kind in Conduct.__annotations__.items():
        annotation = getattr(kind, "__forward_arg__", kind)
        default = _DEFAULT_CONDUCT[name]  # type: ignore[literal-required]
        parameters.append(
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)
        )
    function.__signature__ = own.replace(parameters=parameters)  # type: ignore[attr-defined]
    return function


def whole(name: str, value: Any, least: int) -> int:
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"{name}={value!r}: expected a whole number") from None
    if number < least:
        raise ValueError(f"{name}={number}: expected {least} or more")
    return number


def tolerance_of(tol: float | None, dtype: np.dtype, row_entries: float) -> float:
    least = LEAST_TOLERANCE * float(np.finfo(dtype).eps)
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
    return whole("rng", rng, 0)


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


def _dtype_of(matrices: list[Matrix], works: dict[str, Any]) -> np.dtype:
    dtypes = [one.dtype for one in matrices]
    for name, work in works.items():
        given = None if work is None else working_dtype(name, work.dtype)
        if given is not None and given.kind == "c":
            dtypes.append(given)
    return np.result_type(*dtypes)


def _blocks_of(name: str, given: Any, a: Matrix, dtype: np.dtype) -> Blocks:
    """A matrix that acts as a function of blocks, such as an inverse: n x n of this rank's rows."""
    if is_sparse(given) and not a.home.is_host:
        if scipy.sparse.issparse(given):
            raise TypeError(f"{name} is a scipy.sparse matrix, {a.name} is on {a.home}: expected both in one place")
        given = Operator(given.__matmul__, given.shape, given.dtype)  # multiplies where it is
    return Matrix(name, given, a.home, a.rows).blocks(dtype)


def _preconditioner_of(name: str, given: Any, a: Matrix, m: Matrix | None, dtype: np.dtype) -> Any:
    """A tuple of diagonals, a word, or a function of blocks."""
    if given is None or isinstance(given, str) and given == "chebyshev":
        if given is not None and m is not None:
            raise InputError(f"{name}='chebyshev' knows no {m.name}: take 'jacobi' or your own")
        return given
    if not isinstance(given, str):
        return _blocks_of(name, given, a, dtype)
    if given != "jacobi":
        raise InputError(f"{name}={given!r}: expected 'jacobi', 'chebyshev', or a matrix that is applied")
    diagonals = [None if one is None else one.diagonal(dtype) for one in (a, m)]
    for one, diagonal in zip((a, m), diagonals):
        if one is not None and diagonal is None:
            raise InputError(f"{name}='jacobi' needs the diagonal of {one.name}: a sparse matrix or an array")
    return tuple(None if one is None else a.home.view(name, one) for one in diagonals)


class Search:
    """A search for eigenpairs: what :func:`eigsh` and :func:`lobpcg` have in common.

    ``matrices`` are A and that of the inner product. ``helpers`` are the preconditioner, and, where the method takes
    it, the inverse of the second matrix. ``blocks`` are the vectors to begin with, and the constraints. All have the
    names of the caller's arguments, and None where there is none. ``request`` is what the extension module is asked
    for. The caller adds the method, and what is wanted.
    """

    def __init__(
        self,
        ranks: Alone,
        matrices: dict[str, Any],
        helpers: dict[str, Any],
        blocks: dict[str, Any],
        maxiter: int | None,
        conduct: Conduct,
    ):
        unknown = conduct.keys() - _DEFAULT_CONDUCT.keys()
        if unknown:
            raise TypeError(f"got an unexpected keyword argument {min(unknown)!r}")
        conduct = {**_DEFAULT_CONDUCT, **conduct}
        home = home_of_search({**matrices, **helpers}, blocks)
        (first, A), (second, M) = matrices.items()
        a = Matrix(first, A, home, ranks=ranks)
        m = None if M is None else Matrix(second, M, home, a.size, a.rows, ranks)
        works = {name: None if given is None else work_of(name, given, home) for name, given in blocks.items()}
        dtype = _dtype_of([a] if m is None else [a, m], works)
        initial, deflation = (_block_vectors_of(name, work, a, dtype) for name, work in works.items())
        (name, given), *_ = helpers.items()
        self.home, self.dtype, self.callback = home, dtype, conduct["callback"]
        self.call = call_of(home, ranks, conduct["threads"], dtype.char)
        self.matrices = {"A": a, "M": m}
        self.is_shown = conduct["progress"] and ranks.rank == 0
        self.bar: Progress | None = None
        self.left = a.size - (0 if deflation is None else deflation.shape[1])
        self.request: dict[str, Any] = {
            "rows": a.rows,
            "target": None,
            "interval": None,
            "block": 0,
            "basis": 0,
            "most_applications": 0,
            "most_steps": 0 if maxiter is None else whole("maxiter", maxiter, 1),
            "seed": _seed_of(conduct["rng"]),
            "reproducible": bool(conduct["reproducible"]),
            "single_filter": False,
            "row_entries": 0.0 if a.sparse is None else a.row_entries,
            "options": {},
            "a": a.for_library(dtype),
            "b": None if m is None else m.for_library(dtype),
            "inverse_b": None,
            "preconditioner": _preconditioner_of(name, given, a, m, dtype),
            "initial": initial,
            "deflation": deflation,
        }

    def inverse_of_m(self, name: str, given: Any) -> Any:
        """A function of blocks, a tuple of the diagonal of M, or None where that is not known."""
        m = self.matrices["M"]
        if given is not None:
            return _blocks_of(name, given, self.matrices["A"], self.dtype)
        diagonal = None if m is None else m.diagonal(self.dtype)
        return None if diagonal is None else (self.home.view(name, diagonal),)

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
            return vectors, home.view("vectors", vectors)

        blocks = {name: None if (block := request[name]) is None else home.view(name, block) for name in _BLOCKS}
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
        record = Record(
            residuals=residuals[order],
            converged=has_converged,
            reason="converged" if has_converged else why,
            method=found["method"],
            tolerance=tolerance,
            target=target,
            norm_estimate=found["norm_estimate"],
            orthogonality_loss=found["orthogonality_loss"],
            level_cut=found["level_cut"],
            history=[Step(*step) for step in found["history"]],
            **{name: found[name] for name in COUNTS},
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
