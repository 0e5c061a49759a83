"""Matrices whose eigenvalues, copies included, are known."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg
import scipy.sparse
from hypothesis import settings

# Tests share the machine: no example is judged by its time.
settings.register_profile("house", deadline=None, max_examples=40, derandomize=True)
settings.load_profile("house")

DTYPES = (np.float32, np.float64, np.complex64, np.complex128)


def laplacian(length: int, dimensions: int) -> scipy.sparse.csr_matrix:
    """Of a grid: a cube's has eigenvalues with 3 and 6 copies."""
    line = scipy.sparse.diags([-1.0, 2.0, -1.0], [-1, 0, 1], shape=(length, length))
    whole = line
    for _ in range(dimensions - 1):
        whole = scipy.sparse.kronsum(whole, line)
    return whole.tocsr()


def rotated(values: np.ndarray, dtype: type = np.float64, seed: int = 1) -> np.ndarray:
    """A dense Hermitian matrix with these eigenvalues."""
    random = np.random.default_rng(seed)
    n = len(values)
    square = random.standard_normal((n, n))
    if np.dtype(dtype).kind == "c":
        square = square + 1j * random.standard_normal((n, n))
    q, _ = scipy.linalg.qr(square)
    a = (q * values) @ q.conj().T
    return ((a + a.conj().T) / 2).astype(dtype)


def spectra() -> dict[str, np.ndarray]:
    return {
        "identity": np.ones(60),
        "zero": np.zeros(60),
        "two values": np.concatenate([np.zeros(8), np.ones(152)]),
        "whole numbers": np.arange(100.0),
        "cluster": np.concatenate([1 + 7e-5 * np.arange(8) / 8, np.linspace(2, 5, 192)]),
        "both signs": np.linspace(-3, 2, 120),
        "large": 1e12 * np.arange(1.0, 81),
        "small": 1e-12 * np.arange(1.0, 81),
    }


def value_error(exact: np.ndarray, tolerance: float, dtype: np.dtype) -> float:
    """A pair with a residual of r has an eigenvalue within r; products round to n eps ||A|| beside that."""
    return (tolerance + 4 * len(exact) * np.finfo(dtype).eps) * max(np.abs(exact).max(), np.finfo(dtype).tiny)


@pytest.fixture
def random() -> np.random.Generator:
    return np.random.default_rng(7)
