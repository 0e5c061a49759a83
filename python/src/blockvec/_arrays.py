"""Checks of arrays: all that can be wrong is said in terms of the caller's names before anything is computed."""

from __future__ import annotations

import cmath

import numpy as np

from ._errors import NotFiniteError, ShapeError
from ._homes import DTYPES, LETTERS, NumPy
from ._ranks import Alone
from ._threads import thread_count

try:
    from numpy.exceptions import TooHardError
except ImportError:  # NumPy before 1.25
    from numpy import TooHardError


def is_known(dtype: np.dtype) -> bool:
    return dtype.char in LETTERS and dtype.isnative


def check_tall(name: str, array: object, *, written: bool = False) -> np.ndarray:
    """A two-dimensional array of a known dtype, writable where it is written."""
    if not isinstance(array, np.ndarray) or isinstance(array, np.ma.MaskedArray):
        raise TypeError(
            f"{name} is a {type(array).__name__}: expected a numpy.ndarray, or another array with DLPack, of {DTYPES}"
        )
    if not is_known(array.dtype):
        raise TypeError(f"{name} has the dtype {array.dtype}: expected {DTYPES}")
    if array.ndim != 2:
        hint = f", as {name}[:, None]" if array.ndim == 1 else ""
        raise ShapeError(f"{name} has the shape {array.shape}: expected two dimensions{hint}")
    if written and not array.flags.writeable:
        raise ValueError(f"{name} is read-only, but its entries are to be replaced")
    return array


def check_same(arrays: dict[str, np.ndarray]) -> str:
    """All have one dtype and one number of rows. Returns NumPy's letter of the dtype."""
    (first, model), *others = arrays.items()
    for name, array in others:
        if array.dtype != model.dtype:
            raise TypeError(f"{first} has the dtype {model.dtype}, {name} {array.dtype}: expected the same")
        if array.shape[0] != model.shape[0]:
            raise ShapeError(
                f"{first} has the shape {model.shape}, {name} {array.shape}: expected the same number of rows"
            )
    return model.dtype.char


def _fits(array: np.ndarray, by_rows: bool) -> bool:
    """Whether one row's columns (one column's rows) are adjacent. A stride along an extent of 0 or 1 says nothing."""
    (long, short), (step, between) = array.shape, array.strides
    if not by_rows:
        long, short, step, between = short, long, between, step
    if long == 0 or short == 0:
        return True
    size = array.itemsize
    adjacent = short == 1 or between == size
    apart = long == 1 or (step % size == 0 and step >= short * size)
    return adjacent and apart and array.flags.aligned


def check_layout(ranks: Alone, arrays: dict[str, np.ndarray]) -> bool:
    """Whether all are taken by rows (C order) rather than by columns (Fortran order), on all ranks. Never a copy."""
    fits = [all([_fits(array, True) for array in arrays.values()])]
    if ranks.size == 1 and fits[0]:
        return True
    fits.append(all([_fits(array, False) for array in arrays.values()]))
    for by_rows, all_fit in zip((True, False), ranks.all(*fits)):
        if all_fit:
            return by_rows
    if any(fits):
        raise ValueError(f"{', '.join(arrays)}: some ranks have rows (C order), others columns (Fortran order)")
    for name, array in arrays.items():
        if not _fits(array, True) and not _fits(array, False):
            raise ValueError(
                f"{name} has the strides {array.strides} for the shape {array.shape}: expected rows or columns whose "
                f"entries are adjacent, as numpy.ascontiguousarray({name}) has them"
            )
    orders = ", ".join(f"{name} is in {'C' if _fits(a, True) else 'Fortran'} order" for name, a in arrays.items())
    raise ValueError(f"{orders}: expected one order for all of them")


def overlap(one: np.ndarray, other: np.ndarray) -> bool:
    """Whether they have an entry in common. Columns of one array beside one another have none."""
    try:
        return np.shares_memory(one, other, max_work=100_000)
    except TooHardError:
        return True


class Talls:
    """The tall arrays of one call, which have been checked: their views, and what the extension module is told."""

    def __init__(
        self,
        home: NumPy,
        ranks: Alone,
        threads: int | None,
        *,
        written: str | None = None,
        any_order: str | None = None,
        **arrays: object,
    ):
        self.views = {
            name: check_tall(name, home.view(name, array), written=name == written) for name, array in arrays.items()
        }
        self.dtype = next(iter(self.views.values())).dtype
        letter = check_same(self.views)
        ordered = {name: view for name, view in self.views.items() if name != any_order}
        if ordered:
            self.by_rows = check_layout(ranks, ordered)
        else:
            flags = self.views[str(any_order)].flags
            [self.by_rows] = ranks.all(flags.c_contiguous or not flags.f_contiguous)
        self.call = call_of(home, ranks, threads, letter, self.by_rows)


def call_of(home: NumPy, ranks: Alone, threads: int | None, letter: str, by_rows: bool = True) -> tuple:
    """What the extension module is told of a call. The work on a device takes no threads of the host."""
    count = thread_count(threads, ranks) if home.is_host or threads is not None else 0
    return letter, by_rows, count, home.stream, ranks.handle_for(home)


def check_apart(written: dict[str, np.ndarray], read: dict[str, np.ndarray]) -> None:
    for name, array in written.items():
        for other, second in read.items():
            if overlap(array, second):
                raise ValueError(f"{name} and {other} share memory: expected them apart, since {name} is written")


def check_small(name: str, given: object, shape: tuple[int, int], dtype: np.dtype, why: str) -> np.ndarray:
    """A copy of a small matrix in the order and dtype that the library takes."""
    matrix = np.asarray(given)
    if matrix.shape != shape:
        raise ShapeError(f"{name} has the shape {matrix.shape}: expected {shape}, {why}")
    if not np.can_cast(matrix.dtype, dtype, casting="same_kind"):
        raise TypeError(f"{name} has the dtype {matrix.dtype}: expected one that converts to {dtype}")
    matrix = np.array(matrix, dtype=dtype, order="F")
    if not np.isfinite(matrix).all():
        raise NotFiniteError(f"{name} has NaN or Inf in column {first_not_finite(matrix)}")
    return matrix


def check_factor(name: str, given: complex, dtype: np.dtype) -> complex:
    value = complex(given)
    if value.imag != 0 and dtype.kind != "c":
        raise TypeError(f"{name}={given!r} is complex, but the arrays are of {dtype}")
    if not cmath.isfinite(value):
        raise NotFiniteError(f"{name}={given!r}: expected a finite number")
    return value if dtype.kind == "c" else value.real


def first_not_finite(matrix: np.ndarray) -> int:
    """The first column with NaN or Inf, -1 if there is none."""
    wrong = ~np.isfinite(matrix).all(axis=0)
    return int(np.argmax(wrong)) if wrong.any() else -1


def check_finite_result(result: np.ndarray, ranks: Alone, **operands: np.ndarray) -> None:
    """Names the operand to which NaN or Inf in a small result is due. All ranks have the same result."""
    if np.isfinite(result).all():
        return
    for name, operand in operands.items():
        [column] = ranks.max(first_not_finite(operand))
        if column >= 0:
            raise NotFiniteError(f"{name} has NaN or Inf in column {column}")
    raise NotFiniteError(f"the product of {' and '.join(operands)} overflows {result.dtype}")
