"""lobpcg against SciPy's: its examples, its order, constraints, preconditioners, tolerances, errors."""

from __future__ import annotations

import conftest
import numpy as np
import pytest
import scipy.linalg
import scipy.sparse
from scipy.sparse.linalg import LinearOperator
from scipy.sparse.linalg import lobpcg as scipy_lobpcg

import blockvec as bv

A = conftest.laplacian(12, 2)


def value_bound(w, tol):
    """Both have residuals of at most tol, so each value is within tol of an eigenvalue; products round beside that."""
    return 2 * tol + 64 * np.finfo(float).eps * np.abs(w).max()


@pytest.mark.parametrize("largest", [True, False])
def test_scipy_example(largest, random):
    """The first example of SciPy's page: the diagonal 1, ..., 100."""
    a = scipy.sparse.diags(np.arange(1.0, 101))
    x = random.standard_normal((100, 3))
    w, v = bv.lobpcg(a, x, largest=largest, tol=1e-9)
    theirs, _ = scipy_lobpcg(a.tocsr(), x, largest=largest, tol=1e-9, maxiter=200)
    assert np.abs(w - theirs).max() <= value_bound(w, 1e-9)
    assert np.linalg.norm(a @ v - v * w, axis=0).max() <= value_bound(w, 1e-9)


def test_scipy_example_with_constraints_and_preconditioner(random):
    """The second one: three unit vectors are excluded, and the preconditioner is the inverse."""
    n = 100
    a = scipy.sparse.diags(np.arange(1.0, n + 1))
    y = np.eye(n, 3)
    inverse = LinearOperator((n, n), matvec=lambda x: x / a.diagonal(), matmat=lambda x: x / a.diagonal()[:, None])
    w, v = bv.lobpcg(a, random.standard_normal((n, 3)), Y=y, M=inverse, largest=False, tol=1e-9)
    assert np.abs(w - [4, 5, 6]).max() <= value_bound(w, 1e-9)
    assert np.abs(y.T @ v).max() <= n * np.finfo(float).eps


def test_generalised_elastic_rod(random):
    """SciPy's test of that name: stiffness and mass of a rod, with the inverse of A as preconditioner."""
    n, pairs = 100, 4
    stiffness = scipy.sparse.diags([-1.0, 2.0, -1.0], [-1, 0, 1], shape=(n, n)).tolil()
    stiffness[-1, -1] = 1
    mass = (scipy.sparse.diags([1.0, 4.0, 1.0], [-1, 0, 1], shape=(n, n)) / 6).tolil()
    mass[-1, -1] = 2 / 6
    a, b = stiffness.tocsr(), mass.tocsr()
    inverse = scipy.linalg.inv(a.toarray())
    exact = scipy.linalg.eigvalsh(a.toarray(), b.toarray())[:pairs]
    w, v = bv.lobpcg(a, random.standard_normal((n, pairs)), b, (inverse + inverse.T) / 2, largest=False, tol=1e-10)
    # The distance of w to an eigenvalue is at most the residual over the root of B's smallest eigenvalue, 1 / 3.
    assert np.abs(w - exact).max() <= 3 * value_bound(w, 1e-10) * scipy.linalg.norm(inverse, 2)
    assert np.linalg.norm(v.T @ (b @ v) - np.eye(pairs)) <= pairs * n * np.finfo(float).eps


@pytest.mark.parametrize("dtype", conftest.DTYPES)
def test_dtypes_and_copies(dtype, random):
    """Copies of an eigenvalue are all found, which the constraints then exclude."""
    exact = np.concatenate([np.full(4, -2.0), np.linspace(-1, 3, 96)])
    a = conftest.rotated(exact, dtype)
    tolerance = 1e-5 if np.finfo(dtype).bits == 32 else 1e-8
    x = random.standard_normal((100, 4)).astype(dtype)
    w, v = bv.lobpcg(a, x, largest=False)
    assert v.dtype == dtype and np.abs(w + 2).max() <= conftest.value_error(exact, tolerance, v.dtype)
    next_w, _ = bv.lobpcg(a, x[:, :1], Y=v, largest=False)
    assert abs(next_w[0] + 1) <= 2 * conftest.value_error(exact, tolerance, v.dtype)


@pytest.mark.parametrize("tol", [1e-2, 1e-6, 1e-10])
@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e3])
def test_tolerance_is_absolute(tol, scale, random):
    a = (A * scale).tocsr()
    w, v = result = bv.lobpcg(a, random.standard_normal((A.shape[0], 4)), tol=tol * scale)
    residuals = np.linalg.norm(a @ v - v * w, axis=0)
    assert residuals.max() <= tol * scale + 64 * np.finfo(float).eps * w.max()
    assert result.target == tol * scale and np.all(result.residuals <= result.target)


def test_a_tolerance_below_rounding_is_not_pretended(random):
    with pytest.raises(bv.NoConvergence, match="converged to a residual of 1e-30") as caught:
        bv.lobpcg(A, random.standard_normal((A.shape[0], 2)), tol=1e-30)
    assert np.all(caught.value.unconverged[1] > 1e-30)


def test_order_result_and_history(random):
    x = random.standard_normal((A.shape[0], 5))
    before = x.copy()
    steps = []
    result = bv.lobpcg(A, x, callback=steps.append)
    w, v = result
    assert np.array_equal(x, before)
    assert np.all(np.diff(w) <= 0) and w is result.eigenvalues and v is result.eigenvectors
    assert steps == result.history and result.method == "lobpcg"
    same = bv.eigsh(A, 5, which="LA", method="lobpcg", v0=x)
    assert np.array_equal(same[0][::-1], w) and np.array_equal(same[1][:, ::-1], v)
    assert np.all(np.diff(bv.lobpcg(A, x, largest=False)[0]) >= 0)
    recomputed = np.linalg.norm(A @ v - v * w, axis=0)
    assert np.abs(recomputed - result.residuals).max() <= 64 * np.finfo(float).eps * w.max()


X = np.ones((A.shape[0], 2))
ERRORS = [
    ((A, np.ones(5)), {}, bv.ShapeError, r"X has the shape \(5,\): expected \(144, k\)"),
    ((A, np.ones((5, 2))), {}, bv.ShapeError, r"X has the shape \(5, 2\): expected \(144,\) or \(144, b\)"),
    ((A, np.ones((144, 0))), {}, bv.ShapeError, r"X has the shape \(144, 0\): expected 1 to 144 columns"),
    ((A, X), {"Y": np.ones((144, 143))}, bv.ShapeError, r"X .*beside Y with 143 columns: expected 1 to 1 columns"),
    ((A, X), {"Y": np.ones((3, 1))}, bv.ShapeError, r"Y has the shape \(3, 1\)"),
    ((A, np.full((144, 2), np.nan)), {}, bv.NotFiniteError, "X has NaN or Inf"),
    ((A, X, -A), {}, ValueError, "B is not positive definite: x.H B x"),
    ((A, X, A[:3, :3]), {}, bv.ShapeError, r"B has the shape \(3, 3\): expected \(144, 144\)"),
    ((scipy.sparse.triu(A), X), {}, ValueError, "A is not Hermitian"),
    ((A, X), {"tol": 0}, ValueError, "tol=0: expected a positive number"),
    ((A, X), {"maxiter": 0}, ValueError, "maxiter=0: expected 1"),
    ((A, X), {"M": np.eye(3)}, bv.ShapeError, r"M has the shape \(3, 3\): expected \(144, 144\)"),
]


@pytest.mark.parametrize("arguments, options, error, message", ERRORS, ids=[row[3][:24] for row in ERRORS])
def test_errors(arguments, options, error, message):
    with pytest.raises(error, match=message):
        bv.lobpcg(*arguments, **options)
