"""eigsh against LAPACK and formulas: copies, clusters, all dtypes, all methods, all kinds of matrices."""

from __future__ import annotations

import warnings

import conftest
import numpy as np
import pytest
import scipy.linalg
import scipy.sparse
from scipy.sparse.linalg import LinearOperator, aslinearoperator

import blockvec as bv

METHODS = ("lanczos", "lobpcg", "jacobi-davidson", "chebyshev")
SPECTRA = conftest.spectra()


def check_pairs(a, w, v, exact, tolerance, m=None):
    """Eigenvalues with their copies, residuals recomputed here, orthonormal vectors."""
    k, norm = len(w), max(np.abs(exact).max(), np.finfo(v.dtype).tiny)
    assert np.all(np.diff(w) >= 0)
    rounding = 4 * len(exact) * np.finfo(v.dtype).eps
    weight = 1 if m is None else np.abs(scipy.linalg.eigvalsh(m)).max()
    image = v if m is None else m @ v
    residuals = np.linalg.norm(a @ v - image * w, axis=0)
    # The norm is estimated from below, never above it.
    assert residuals.max() <= (tolerance + rounding) * norm * weight * (1 if m is None else 2)
    assert np.linalg.norm(v.conj().T @ image - np.eye(k)) <= k * rounding


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", SPECTRA)
@pytest.mark.parametrize("which", ["SA", "LA"])
def test_known_spectra(name, method, which):
    exact = SPECTRA[name]
    a = conftest.rotated(exact)
    w, v = result = bv.eigsh(a, 8, which=which, method=method)
    wanted = np.sort(exact)[:8] if which == "SA" else np.sort(exact)[-8:]
    assert np.abs(w - wanted).max() <= conftest.value_error(exact, 1e-8, a.dtype)
    check_pairs(a, w, v, exact, 1e-8)
    assert result.converged and result.method == method and result.reason == "converged"
    assert np.all(result.residuals <= result.target)


@pytest.mark.parametrize("dtype", conftest.DTYPES)
@pytest.mark.parametrize("method", METHODS)
def test_dtypes(dtype, method):
    exact = np.concatenate([np.full(3, -2.0), np.linspace(-1, 3, 197)])
    a = conftest.rotated(exact, dtype)
    tolerance = 1e-5 if np.finfo(dtype).bits == 32 else 1e-8
    w, v = bv.eigsh(a, 5, which="SA", method=method)
    assert v.dtype == dtype and w.dtype == np.float64
    assert np.abs(w - exact[:5]).max() <= conftest.value_error(exact, tolerance, v.dtype)
    check_pairs(a, w, v, exact, tolerance)


@pytest.mark.parametrize("dtype", [np.float64, np.complex128])
def test_filters_in_single_precision(dtype):
    exact = np.concatenate([np.full(3, -2.0), np.linspace(-1, 3, 197)])
    a = scipy.sparse.csr_matrix(conftest.rotated(exact, dtype))
    w, v = bv.eigsh(a, 5, which="SA", method="chebyshev", filter_precision="single", tol=1e-12)
    assert np.abs(w - exact[:5]).max() <= conftest.value_error(exact, 1e-12, v.dtype)
    check_pairs(a, w, v, exact, 1e-12)


def test_every_size_to_the_last_pair(random):
    for n in [1, 2, 3, 4, 5, 9, 17, 33]:
        a = random.standard_normal((n, n))
        a = a + a.T
        exact = scipy.linalg.eigvalsh(a)
        for k in {1, n // 2 or 1, n}:
            w, v = bv.eigsh(a, k, which="SA")
            assert np.abs(w - exact[:k]).max() <= conftest.value_error(exact, 1e-8, a.dtype)
            check_pairs(a, w, v, exact, 1e-8)


@pytest.mark.parametrize("n", [100, 400])
def test_random_against_lapack(n, random):
    a = random.standard_normal((n, n)) + 1j * random.standard_normal((n, n))
    a = a + a.conj().T
    exact = scipy.linalg.eigvalsh(a)
    w, v = result = bv.eigsh(a, 10, which="LA", tol=0)
    assert result.tolerance == 8 * np.sqrt(n) * np.finfo(float).eps
    check_pairs(a, w, v, exact, result.tolerance)
    assert np.abs(w - exact[-10:]).max() <= conftest.value_error(exact, result.tolerance, v.dtype)


def test_copies_of_a_cube(random):
    a = conftest.laplacian(9, 3)
    one = 2 - 2 * np.cos(np.arange(1, 10) * np.pi / 10)
    exact = np.sort(np.add.outer(np.add.outer(one, one), one).ravel())
    for seed in range(3):
        w = bv.eigsh(a, 17, which="SA", rng=seed, return_eigenvectors=False)
        assert np.abs(w - exact[:17]).max() <= conftest.value_error(exact, 1e-8, a.dtype)


def test_lowest_of_a_diagonal_from_any_start():
    """The start is random: none is so unlucky that the lowest value is missed."""
    a = scipy.sparse.diags(np.arange(100.0)).tocsr()
    for seed in range(45):
        w = bv.eigsh(a, 3, which="SA", rng=seed, return_eigenvectors=False)
        assert np.abs(w - [0, 1, 2]).max() <= conftest.value_error(np.arange(100.0), 1e-8, a.dtype)


def test_level_that_is_cut():
    a = conftest.laplacian(9, 3)
    assert bv.eigsh(a, 2, which="SA").level_cut  # the second level has three copies
    assert not bv.eigsh(a, 4, which="SA").level_cut


KINDS = {
    "csr": lambda a: a,
    "csr with long indices": lambda a: long_indices(a),
    "csr unsorted": lambda a: unsorted(a),
    "csc": lambda a: a.tocsc(),
    "coo": lambda a: a.tocoo(),
    "whole numbers": lambda a: a.astype(np.int64),
    "dense": lambda a: a.toarray(),
    "dense by columns": lambda a: np.asfortranarray(a.toarray()),
    "linear operator": lambda a: aslinearoperator(a),
    "operator": lambda a: bv.Operator(lambda x: a @ x, a.shape),
    "product": lambda a: Product(a),
}


class Product:
    def __init__(self, a):
        self.a, self.shape, self.dtype = a, a.shape, a.dtype

    def __matmul__(self, x):
        return self.a @ x


def long_indices(a):
    a = a.copy()
    a.indices, a.indptr = a.indices.astype(np.int64), a.indptr.astype(np.int64)
    return a


def unsorted(a):
    rows = [np.arange(a.indptr[i], a.indptr[i + 1])[::-1] for i in range(a.shape[0])]
    order = np.concatenate(rows)
    return scipy.sparse.csr_matrix((a.data[order], a.indices[order], a.indptr), shape=a.shape)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("m_kind", [None, *KINDS])
def test_kinds_of_matrices(kind, m_kind):
    a = conftest.laplacian(10, 2)
    diagonal = 2.0 + np.arange(100) % 3
    m = scipy.sparse.diags(diagonal).tocsr()
    exact = scipy.linalg.eigvalsh(a.toarray(), None if m_kind is None else m.toarray())
    w, v = bv.eigsh(KINDS[kind](a), 4, None if m_kind is None else KINDS[m_kind](m), which="SA")
    assert np.abs(w - exact[:4]).max() <= conftest.value_error(exact, 1e-8, a.dtype) * 8
    image = v if m_kind is None else m @ v
    assert np.linalg.norm(v.T @ image - np.eye(4)) <= 4 * 400 * np.finfo(float).eps


def test_sparse_matrix_is_not_copied():
    a = conftest.laplacian(10, 2).astype(np.float64)
    matrix = bv._operators.Matrix("A", a)
    begins, columns, values = matrix.for_library(a.dtype)
    assert np.shares_memory(columns, a.indices) and np.shares_memory(values, a.data)
    assert begins.dtype == np.int64


def test_blocks_come_in_c_order_and_may_be_kept():
    a, kept = conftest.laplacian(12, 2), []

    def multiply(x):
        assert x.flags.c_contiguous and x.ndim == 2
        kept.append((x, x.copy()))
        product = a @ x
        return product

    w, _ = bv.eigsh(bv.Operator(multiply, a.shape), 4, which="SA")
    assert all(np.array_equal(x, copy) for x, copy in kept)
    assert np.abs(w - bv.eigsh(a, 4, which="SA")[0]).max() <= 1e-8 * 8


def test_blocks_may_be_changed_or_returned():
    twice = bv.Operator(lambda x: np.multiply(x, 2, out=x), (50, 50))
    assert np.allclose(bv.eigsh(twice, 3, which="SA")[0], 2, rtol=1e-8)
    assert np.allclose(bv.eigsh(bv.Operator(lambda x: x, (50, 50)), 3, which="SA")[0], 1, rtol=1e-8)
    reversed_view = bv.Operator(lambda x: np.asfortranarray(x), (50, 50))
    assert np.allclose(bv.eigsh(reversed_view, 3, which="SA")[0], 1, rtol=1e-8)


def test_matvec_alone_warns():
    a = conftest.laplacian(10, 2)
    operator = LinearOperator(a.shape, matvec=lambda x: a @ x, dtype=a.dtype)
    with pytest.warns(UserWarning, match="one column at a time"):
        w = bv.eigsh(operator, 2, which="SA", return_eigenvectors=False)
    assert np.abs(w - scipy.linalg.eigvalsh(a.toarray())[:2]).max() <= 1e-8 * 8
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        bv.eigsh(LinearOperator(a.shape, matvec=a.dot, matmat=a.dot, dtype=a.dtype), 2, which="SA")


def test_pencil_of_complex_matrices(random):
    n = 80
    a = conftest.rotated(np.linspace(-2, 5, n), np.complex128)
    m = conftest.rotated(np.linspace(1, 4, n), np.complex128, seed=2)
    exact = scipy.linalg.eigvalsh(a, m)
    for method in ("auto", *METHODS):
        w, v = bv.eigsh(a, 5, m, which="SA", method=method)
        check_pairs(a, w, v, np.linspace(-2, 5, n), 1e-8, m)
        assert np.abs(w - exact[:5]).max() <= 5 * 2e-8


def test_pencil_of_functions(random):
    """Of which no diagonal is known."""
    n = 80
    a, m = conftest.rotated(np.linspace(-2, 5, n)), conftest.rotated(np.linspace(1, 4, n), seed=2)
    exact = scipy.linalg.eigvalsh(a, m)
    w, v = bv.eigsh(bv.Operator(a.dot, a.shape), 5, bv.Operator(m.dot, m.shape), which="LA", method="lanczos")
    check_pairs(a, w, v, np.linspace(-2, 5, n), 1e-8, m)
    assert np.abs(w - exact[-5:]).max() <= 5 * 2e-8


def test_interior_of_a_pencil():
    a, m = conftest.laplacian(12, 2), scipy.sparse.diags(np.linspace(1, 4, 144)).tocsr()
    exact = scipy.linalg.eigvalsh(a.toarray(), m.toarray())
    nearest = np.sort(exact[np.argsort(np.abs(exact - 1.3))[:4]])
    w, v = bv.eigsh(a, 4, m, sigma=1.3)
    check_pairs(a, w, v, scipy.linalg.eigvalsh(a.toarray()), 1e-8, m.toarray())
    assert np.abs(w - nearest).max() <= 8 * 2e-8


def test_real_matrix_and_complex_mass():
    a, n = conftest.laplacian(7, 2), 49
    m = conftest.rotated(np.linspace(1, 2, n), np.complex128)
    w, v = bv.eigsh(a, 3, m, which="LA")
    assert v.dtype == np.complex128
    assert np.abs(w - scipy.linalg.eigvalsh(a.toarray(), m)[-3:]).max() <= 1e-7 * 8


@pytest.mark.parametrize("preconditioner", ["jacobi", "chebyshev", "matrix", "function"])
@pytest.mark.parametrize("method", ["lobpcg", "jacobi-davidson"])
def test_preconditioners(preconditioner, method):
    a = conftest.laplacian(14, 2) + scipy.sparse.diags(np.linspace(0, 30, 196))
    a = a.tocsr()
    inverse = scipy.sparse.diags(1 / a.diagonal())
    given = {"matrix": inverse, "function": lambda r: inverse @ r}.get(preconditioner, preconditioner)
    w, _ = bv.eigsh(a, 4, which="SA", preconditioner=given, method=method)
    exact = scipy.linalg.eigvalsh(a.toarray())
    assert np.abs(w - exact[:4]).max() <= conftest.value_error(exact, 1e-8, a.dtype)


def test_interior():
    a = conftest.laplacian(12, 2)
    exact = scipy.linalg.eigvalsh(a.toarray())
    nearest = np.sort(exact[np.argsort(np.abs(exact - 3.3))[:5]])
    w, v = bv.eigsh(a, 5, sigma=3.3)
    assert np.abs(w - nearest).max() <= conftest.value_error(exact, 1e-8, a.dtype)
    check_pairs(a, w, v, exact, 1e-8)
    inside = exact[(exact >= 3.3) & (exact <= 3.6)]
    w = bv.eigsh(a, interval=(3.3, 3.6), return_eigenvectors=False)
    assert len(w) == len(inside) and np.abs(w - inside).max() <= conftest.value_error(exact, 1e-8, a.dtype)
    assert len(bv.eigsh(a, interval=(100, 101))[0]) == 0


def test_start_near_the_answer():
    a = conftest.laplacian(14, 2)
    first = bv.eigsh(a, 4, which="SA")
    again = bv.eigsh(a, 4, which="SA", v0=first.eigenvectors)
    assert np.abs(again.eigenvalues - first.eigenvalues).max() <= 2e-8 * 8
    bv.eigsh(a, 2, which="SA", v0=np.ones(196))


def test_same_seed_same_bits():
    a = conftest.laplacian(8, 3)
    one, two = (bv.eigsh(a, 5, which="SA", rng=5)[1] for _ in range(2))
    assert np.array_equal(one, two)
    one, two = (bv.eigsh(a, 5, which="SA", reproducible=True, threads=count)[1] for count in (1, 2))
    assert np.array_equal(one, two)
    bv.eigsh(a, 2, which="SA", rng=np.random.default_rng(3))
    bv.eigsh(a, 2, which="SA", rng=None)
