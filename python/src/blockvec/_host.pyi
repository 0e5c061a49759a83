"""The extension module. Arrays come checked, and a call is told by `_arrays.call_of`."""

from collections.abc import Callable
from typing import Any

import numpy as np

# NumPy's letter of the dtype, whether tall arrays are taken by rows, threads, stream, ranks.
Call = tuple[str, bool, int, int, Ranks | None]
# Of a random pair of vectors and its image (operators.hpp): name of the matrix, V^H A V, lengths.
Judge = Callable[[str, list[complex], list[float]], float | None]

class Ranks:
    def __init__(self, address: int, handle_bytes: int) -> None: ...
    @property
    def rank(self) -> int: ...
    @property
    def size(self) -> int: ...
    def sum(self, values: list[int]) -> list[int]: ...
    def max(self, values: list[int]) -> list[int]: ...
    def agree(self) -> None: ...
    def refuse(self, reason: str) -> None: ...

def start() -> None: ...
def stop() -> None: ...
def finish() -> None: ...
def config() -> dict[str, Any]: ...
def mpi_library() -> str: ...
def view(capsule: Any) -> np.ndarray: ...
def inner_product(call: Call, v: Any, w: Any, c: Any) -> None: ...
def update(call: Call, alpha: complex, v: Any, c: Any, beta: complex, w: Any) -> None: ...
def multiply_in_place(call: Call, v: Any, c: Any, triangle: int) -> None: ...
def explain_product(kernel: str, type: str, by_rows: bool, k: int, m: int, n: int, is_gram: bool, /) -> str: ...
def project(
    call: Call,
    basis: list[Any],
    source: Any,
    x: Any,
    s: Any,
    r: Any,
    metric: Any,
    judge: Judge,
    method: str,
    deficiency: int,
    seed: int,
) -> dict[str, Any]: ...
def normalize(
    call: Call,
    basis: list[Any],
    source: Any,
    x: Any,
    s: Any,
    r: Any,
    metric: Any,
    judge: Judge,
    method: str,
    deficiency: int,
    seed: int,
) -> dict[str, Any]: ...
def choose_method(
    is_inside: bool,
    has_b: bool,
    has_inverse_b: bool,
    has_preconditioner: bool,
    wants_wide_blocks: bool,
    allowed: list[str],
    /,
) -> str: ...
def solve(
    call: Call, request: dict[str, Any], judge: Judge, callback: Callable[[tuple[Any, ...]], bool] | None
) -> dict[str, Any]: ...
