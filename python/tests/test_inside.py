"""Pairs near a number or in an interval, of one matrix or of two."""

from __future__ import annotations

import conftest
import numpy as np
import pytest
import scipy.linalg
import scipy.sparse

import blockvec as bv

N = 144
A = conftest.laplacian(12, 2)
TOLERANCE = 1e-8


def spread(m):
    """A's matrix with a mass matrix of this kind, and the eigenvalues."""
    diagonal = scipy.sparse.diags(np.linspace(1, 4, N)).tocsr()
    masses = {
        "none": None,
        "diagonal": diagonal,
        "band": (diagonal + scipy.sparse.diags([0.2, 0.2], [-1, 1], shape=(N, N))).tocsr(),
        "dense": conftest.rotated(np.linspace(1, 4, N)),
        "function": bv.Operator(diagonal.dot, (N, N)),
    }
    matrix = diagonal if m == "function" else masses[m]
    dense = None if matrix is None else matrix if isinstance(matrix, np.ndarray) else matrix.toarray()
    return masses[m], dense, scipy.linalg.eigvalsh(A.toarray(), dense)


def check(w, v, exact, wanted, dense):
    image = v if dense is None else dense @ v
    norms = 8 * (1 if dense is None else 1 + np.abs(exact).max() * 5 / 8)  # ||A|| + |w| ||M||
    rounding = 4 * N * np.finfo(np.float64).eps
    residuals = np.linalg.norm(A @ v - image * w, axis=0)
    lengths = np.linalg.norm(v, axis=0)
    assert (residuals <= (TOLERANCE + rounding) * norms * lengths).all()
    assert np.linalg.norm(v.T @ image - np.eye(len(w))) <= len(w) * rounding
    # M is at least 3/4: a residual moves an eigenvalue by at most that over it.
    assert len(w) == len(wanted) and np.abs(w - wanted).max(initial=0) <= (TOLERANCE + rounding) * norms / 0.6


@pytest.mark.parametrize("mass", ["none", "diagonal", "band", "dense", "function"])
@pytest.mark.parametrize("method", ["auto", "interior", "jacobi-davidson", "dense"])
def test_near_a_number(method, mass):
    m, dense, exact = spread(mass)
    target = float(exact[70] + 0.3 * (exact[71] - exact[70]))
    nearest = np.sort(exact[np.argsort(np.abs(exact - target))[:5]])
    iteration = {"maxiter": 2000} if method == "auto" else {}  # else it is the whole spectrum of so small a matrix
    w, v = result = bv.eigsh(A, 5, m, sigma=target, method=method, **iteration)
    check(w, v, exact, nearest, dense)
    assert result.converged
    if method == "auto":
        assert result.method == ("interior" if mass in ("none", "diagonal") else "jacobi-davidson")
        assert bv.eigsh(A, 5, m, sigma=target).method == "dense"


def test_near_a_number_with_a_preconditioner():
    m, dense, exact = spread("band")
    nearest = np.sort(exact[np.argsort(np.abs(exact - 1.3))[:4]])
    w, v = result = bv.eigsh(A, 4, m, sigma=1.3, preconditioner="jacobi")
    check(w, v, exact, nearest, dense)
    assert result.method == "jacobi-davidson" and result.preconditionings > 0


@pytest.mark.parametrize("mass", ["none", "diagonal", "band"])
def test_in_an_interval(mass):
    m, dense, exact = spread(mass)
    gaps = np.flatnonzero(np.diff(exact) > 0.01)
    first, last = gaps[gaps >= 50][0], gaps[gaps >= 80][0]
    ends = float(exact[first] + 0.005), float(exact[last] + 0.005)
    for method, iteration in (("interior", {"maxiter": 300}), ("dense", {})):
        w, v = result = bv.eigsh(A, M=m, interval=ends, **iteration)
        check(w, v, exact, exact[first + 1 : last + 1], dense)
        assert result.method == method


@pytest.mark.parametrize("method", ["interior", "chebyshev"])
def test_inverse_of_mass(method):
    """An inverse that is given, of a mass matrix whose diagonal is not known."""
    m, dense, exact = spread("function")
    inverse = scipy.sparse.diags(1 / np.linspace(1, 4, N)).tocsr()
    end = {"sigma": 1.3} if method == "interior" else {"which": "SA"}
    wanted = np.sort(exact[np.argsort(np.abs(exact - 1.3))[:4]]) if method == "interior" else exact[:4]
    for given in (inverse, inverse.dot, inverse.toarray()):
        w, v = result = bv.eigsh(A, 4, m, Minv=given, method=method, **end)
        check(w, v, exact, wanted, dense)
    without = bv.eigsh(A, 4, m, method=method, **end)  # products with M in its place
    check(*without, exact, wanted, dense)
    assert result.applications_m < without.applications_m


def test_constraints():
    exact = scipy.linalg.eigvalsh(A.toarray())
    _, known = bv.eigsh(A, 3, which="SA", tol=1e-12)
    for method in ("lanczos", "lobpcg", "jacobi-davidson", "chebyshev"):
        w, v = bv.eigsh(A, 4, which="SA", Y=known, method=method)
        check(w, v, exact, exact[3:7], None)
    _, middle = bv.eigsh(A, 1, sigma=3.3, tol=1e-12)
    with_it, without = bv.eigsh(A, 4, sigma=3.3)[0], bv.eigsh(A, 3, sigma=3.3, Y=middle)[0]
    nearest = with_it[np.argsort(np.abs(with_it - 3.3))[1:]]
    assert np.abs(np.sort(nearest) - without).max() <= 4 * TOLERANCE * 8
