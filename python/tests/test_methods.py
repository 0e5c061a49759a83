"""The method that a search takes, and its options."""

from __future__ import annotations

import inspect

import conftest
import numpy as np
import pytest
import scipy.linalg
import scipy.sparse

import blockvec as bv

A = conftest.laplacian(13, 2)
N = A.shape[0]
EXACT = scipy.linalg.eigvalsh(A.toarray())
DIAGONAL = scipy.sparse.diags(np.linspace(1, 2, N)).tocsr()
BAND = (DIAGONAL + scipy.sparse.diags([0.1, 0.1], [-1, 1], shape=(N, N))).tocsr()


@pytest.mark.parametrize(
    "m, options, method",
    [
        (None, {}, "lanczos"),
        (None, {"preconditioner": "jacobi"}, "lobpcg"),
        (None, {"preconditioner": "jacobi", "block": 2}, "jacobi-davidson"),
        (DIAGONAL, {}, "lanczos"),
        (DIAGONAL.toarray(), {}, "lanczos"),
        (BAND, {}, "dense"),
        (BAND, {"maxiter": 1000}, "lobpcg"),
        (BAND, {"preconditioner": "jacobi"}, "jacobi-davidson"),
    ],
)
def test_choice(m, options, method):
    result = bv.eigsh(A, 3, m, which="SA", **options)
    exact = EXACT if m is None else scipy.linalg.eigvalsh(A.toarray(), m if isinstance(m, np.ndarray) else m.toarray())
    # M is at least 0.8, and the residual is measured by ||A|| + |w| ||M||.
    assert np.abs(result.eigenvalues - exact[:3]).max() <= 4 * conftest.value_error(EXACT, 1e-8, A.dtype)
    assert result.method == method


@pytest.mark.parametrize("dtype", "fdFD")
def test_whole_spectrum(dtype):
    """Of a small matrix: at both ends, with copies, beside constraints; it takes nothing that steers an iteration."""
    a = conftest.laplacian(7, 2).astype(dtype)
    exact = scipy.linalg.eigvalsh(a.toarray().astype("D" if dtype in "FD" else "d"))
    error = 8 * len(exact) * np.finfo(dtype).eps * exact[-1]
    for which, wanted in (("SA", exact[:5]), ("LA", exact[-5:])):
        w, v = result = bv.eigsh(a, 5, which=which)
        assert result.method == "dense" and result.converged
        assert result.applications == len(exact) + 5 + 1
        assert np.abs(w - wanted).max() <= error
    w, v = bv.eigsh(a, which="SA", k=len(exact))
    assert np.abs(w - exact).max() <= error
    rest = bv.eigsh(a, 4, which="SA", Y=v[:, :2])  # one of two copies
    assert rest.method == "dense" and np.abs(rest.eigenvalues - exact[2:6]).max() <= error
    for name, value in {"v0": v[:, :1], "ncv": 48, "maxiter": 90, "options": {"orth": "bcgs2/svqb"}}.items():
        assert bv.eigsh(a, 2, which="SA", **{name: value}).method == "lanczos"
        with pytest.raises(bv.InputError, match=f"method='dense' takes no {name}: 'lanczos' and"):
            bv.eigsh(a, 2, which="SA", method="dense", **{name: value})


def test_whole_spectrum_stops():
    def stop(step):
        raise StopIteration

    result = bv.eigsh(A, 4, which="SA", method="dense", callback=stop)
    assert not result.converged and len(result.eigenvalues) == 0 and result.eigenvectors.shape == (N, 0)


@pytest.mark.parametrize(
    "method, options",
    [
        ("lanczos", {"filter_degree": 0}),
        ("lanczos", {"filter_degree": 20, "orth": "bcgs2/svqb"}),
        ("chebyshev", {"first_degree": 8, "most_degree": 60, "filter_width": 4}),
        ("jacobi-davidson", {"kept": 8, "inner_steps": 5}),
        ("lobpcg", {"orth": "bcgs2/cholqr2"}),
    ],
)
def test_options(method, options):
    result = bv.eigsh(A, 4, which="SA", method=method, options=options)
    assert np.abs(result.eigenvalues - EXACT[:4]).max() <= conftest.value_error(EXACT, 1e-8, A.dtype)
    if "filter_degree" in options:
        assert result.filter_degree == options["filter_degree"]


@pytest.mark.parametrize(
    "options, message",
    [
        ({"filter_degree": 3}, "method='lobpcg' has orth, checkpoint"),
        ({"orth": "magic"}, "magic"),
        ({"orth": 3}, r"options\[orth\]=3: it has another type"),
    ],
)
def test_wrong_options(options, message):
    with pytest.raises(bv.InputError, match=message):
        bv.eigsh(A, 2, which="SA", method="lobpcg", options=options)
    with pytest.raises(TypeError, match="options is a list: expected a dictionary"):
        bv.eigsh(A, 2, which="SA", options=[options])


def test_checkpoint(tmp_path):
    """A search that was stopped goes on from its checkpoint, to the same bits."""
    options = {"which": "SA", "method": "lanczos", "ncv": 24, "block": 2, "options": {"filter_degree": 0}}
    whole = bv.eigsh(A, 6, **options)

    def stop(step):
        if step.restart == 2:
            raise StopIteration

    saved = {"filter_degree": 0, "checkpoint": tmp_path / "search", "checkpoint_seconds": 0}
    part = bv.eigsh(A, 6, callback=stop, **{**options, "options": saved})
    assert not part.converged
    rest = bv.eigsh(A, 6, **{**options, "options": {"filter_degree": 0, "restart": tmp_path / "search"}})
    assert rest.steps == whole.steps and np.array_equal(rest.eigenvalues, whole.eigenvalues)


def test_keywords_of_all_searches():
    keywords = ("callback", "progress", "rng", "threads", "reproducible", "comm")
    for search in (bv.eigsh, bv.lobpcg):
        parameters = inspect.signature(search).parameters
        assert tuple(parameters)[-len(keywords) :] == keywords and parameters["rng"].default == 1
    with pytest.raises(TypeError, match="unexpected keyword argument 'thread'"):
        bv.eigsh(A, 2, which="SA", thread=1)
    with pytest.raises(TypeError, match="unexpected keyword argument 'thread'"):
        bv.lobpcg(A, np.eye(N, 2), thread=1)


def test_auto_turns_to_lapack_where_its_search_fails():
    # No polynomial parts eigenvalues that crowd at 1e-6 of the norm.
    exact = np.geomspace(1e-8, 1, 400)
    interval = (exact[99] * 0.99, exact[120] * 1.01)
    found = bv.eigsh(scipy.sparse.diags(exact).tocsr(), interval=interval, tol=1e-13, rng=1)
    assert found.method == "dense"
    assert len(found.history) > 1
    np.testing.assert_allclose(found.eigenvalues, exact[99:121], rtol=0, atol=1e-13)
    with pytest.raises(bv.NoConvergence):
        bv.eigsh(scipy.sparse.diags(exact).tocsr(), interval=interval, tol=1e-13, rng=1, method="interior", maxiter=3)
