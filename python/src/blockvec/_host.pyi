"""The extension module: arrays come checked, and `type` is NumPy's letter of their dtype."""

from collections.abc import Callable
from typing import Any

import numpy as np

def start() -> None: ...
def stop() -> None: ...
def config() -> dict[str, Any]: ...
def inner_product(type: str, by_rows: bool, threads: int, v: np.ndarray, w: np.ndarray, c: np.ndarray) -> None: ...
def update(
    type: str,
    by_rows: bool,
    threads: int,
    alpha: complex,
    v: np.ndarray,
    c: np.ndarray,
    beta: complex,
    w: np.ndarray,
) -> None: ...
def multiply_in_place(type: str, by_rows: bool, threads: int, v: np.ndarray, c: np.ndarray, triangle: int) -> None: ...
def explain_product(kernel: str, type: str, by_rows: bool, k: int, m: int, n: int, /) -> str: ...
def project(
    type: str,
    by_rows: bool,
    threads: int,
    basis: list[np.ndarray],
    x: np.ndarray,
    s: np.ndarray | None,
    r: np.ndarray | None,
    metric: Any,
    method: str,
    deficiency: int,
    seed: int,
) -> dict[str, Any]: ...
def normalize(
    type: str,
    by_rows: bool,
    threads: int,
    basis: list[np.ndarray],
    x: np.ndarray,
    s: np.ndarray | None,
    r: np.ndarray | None,
    metric: Any,
    method: str,
    deficiency: int,
    seed: int,
) -> dict[str, Any]: ...
def solve(type: str, request: dict[str, Any], callback: Callable[[tuple[Any, ...]], bool] | None) -> dict[str, Any]: ...
