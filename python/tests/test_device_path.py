"""The way of device arrays through the package, on the host: with cupy_stand_in.py.

test_device.py does the same on a real device, where there is one.
"""

from __future__ import annotations

import conftest
import numpy as np
import pytest
import scipy.sparse
from cupy_stand_in import Array, Csr, Hamiltonian, on_device, read, stand_in

import blockvec as bv

EPS = np.finfo(float).eps


@pytest.fixture(autouse=True)
def stand_ins():
    with stand_in():
        yield


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", conftest.DTYPES)
def test_products(order, dtype, random):
    v = np.asarray(random.standard_normal((1000, 5)), dtype, order)
    w = np.asarray(random.standard_normal((1000, 3)), dtype, order)
    dv, dw = Array(v.copy("K")), Array(w.copy("K"))
    c = bv.inner_product(v, w)
    dc = bv.inner_product(dv, dw)
    assert np.array_equal(read(dc), c) and np.array_equal(read(bv.gram(dv)), bv.gram(v))
    out = Array(np.ones_like(c))
    assert bv.inner_product(dv, dw, out=out, alpha=2, beta=3) is out
    assert np.array_equal(read(out), bv.inner_product(v, w, out=np.ones_like(c), alpha=2, beta=3))
    for small in (c, dc):  # on the host or on the device
        assert bv.update(dw, dv, small, alpha=-1) is dw
        assert np.array_equal(read(dw), bv.update(w, v, c, alpha=-1))
        narrower = bv.multiply_in_place(dv, small)
        assert np.array_equal(read(narrower), bv.multiply_in_place(v, c))
    assert np.array_equal(read(dv), v)
    assert np.array_equal(read(bv.gram(dv[:, 1:3])), bv.gram(v[:, 1:3]))
    assert bv.explain(bv.gram, dv).startswith("tsmttsm 1000 x 5 by 1000 x 5")


def test_orthogonalisation(random):
    v, x = random.standard_normal((1000, 4)), random.standard_normal((1000, 3))
    q, r = bv.qr(v)
    dq, dr = bv.qr(Array(v))
    assert np.array_equal(read(dq), q) and np.array_equal(read(dr), r)
    found, exact = bv.orthonormalize(Array(x), basis=dq), bv.orthonormalize(x, basis=q)
    for name in ("Q", "S", "R"):
        assert np.array_equal(read(getattr(found, name)), getattr(exact, name))
    rest, s = bv.project(Array(x), dq)
    exact_rest, exact_s = bv.project(x, q)
    assert np.array_equal(read(rest), exact_rest) and np.array_equal(read(s), exact_s)
    dx = Array(x.copy())
    assert bv.orthonormalize(dx, basis=dq, overwrite_x=True).Q is dx
    assert np.array_equal(read(dx), exact.Q)


def test_eigenpairs(random):
    a = conftest.laplacian(8, 2)
    w, v = bv.eigsh(Csr(a), 3, which="SA")
    exact_w, exact_v = bv.eigsh(a, 3, which="SA")
    assert np.array_equal(w, exact_w) and np.array_equal(read(v), exact_v)
    x = random.standard_normal((64, 2))
    options = {"method": "lobpcg", "preconditioner": "jacobi", "which": "LA"}
    w, v = bv.eigsh(Csr(a), 2, v0=Array(x), **options)
    exact_w, exact_v = bv.eigsh(a, 2, v0=x, **options)
    assert np.array_equal(w, exact_w) and np.array_equal(read(v), exact_v)
    w, v = bv.lobpcg(Csr(a), Array(x), Y=Array(exact_v), largest=True)
    exact_w, exact_v = bv.lobpcg(a, x, Y=exact_v, largest=True)
    assert np.array_equal(w, exact_w) and np.array_equal(read(v), exact_v)


GRID = conftest.laplacian(8, 2)
MASS = scipy.sparse.diags(np.linspace(1, 2, 64)).tocsr()
SOLVE = scipy.sparse.diags(1 / GRID.diagonal()).tocsr()
START = np.random.default_rng(5).standard_normal((64, 2))


class Product:
    def __init__(self, matrix):
        self.shape, self.matmul = matrix.shape, on_device(matrix)

    def __matmul__(self, block):
        return self.matmul(block)


KINDS = [
    lambda a: Hamiltonian(a, on_device(a)),
    lambda a: bv.Operator(on_device(a), a.shape, like=Array(np.ones((1, 1)))),
    lambda a: bv.Operator(on_device(a), a.shape),
    Product,
]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("method", ["lanczos", "lobpcg", "jacobi-davidson", "chebyshev"])
def test_functions_find_what_they_find_on_the_host(kind, method):
    options = {"which": "SA", "method": method}
    exact_w, exact_v = bv.eigsh(bv.Operator(GRID.__matmul__, GRID.shape), 3, v0=START, **options)
    w, v = bv.eigsh(kind(GRID), 3, v0=Array(START), **options)
    assert np.array_equal(w, exact_w) and np.array_equal(read(v), exact_v)


def test_functions_say_where_they_are():
    exact_w, exact_v = bv.eigsh(bv.Operator(GRID.__matmul__, GRID.shape), sigma=3.1, k=2)
    for kind in KINDS[:2]:
        w, v = bv.eigsh(kind(GRID), sigma=3.1, k=2)
        assert np.array_equal(w, exact_w) and np.array_equal(read(v), exact_v)


def test_sparse_matrices_of_the_host_beside_vectors_on_the_device():
    exact_w, exact_v = bv.lobpcg(GRID, START, M="jacobi")
    w, v = bv.lobpcg(GRID, Array(START), M="jacobi")
    assert np.array_equal(w, exact_w) and np.array_equal(read(v), exact_v)


def test_arrays_on_the_device_as_matrices():
    a = conftest.rotated(np.arange(40.0))
    for preconditioner in (None, "jacobi"):
        exact_w, exact_v = bv.eigsh(a, 3, which="SA", preconditioner=preconditioner)
        w, v = bv.eigsh(Array(a), 3, which="SA", preconditioner=preconditioner)
        assert np.array_equal(w, exact_w) and np.array_equal(read(v), exact_v)
    whole = np.diag(np.arange(10))
    assert np.array_equal(bv.eigsh(Array(whole), 2, which="SA")[0], bv.eigsh(whole, 2, which="SA")[0])


@pytest.mark.parametrize("make", [Csr, lambda m: bv.Operator(on_device(m), m.shape), lambda m: Array(m.toarray())])
def test_pairs_and_preconditioners(make):
    def host(matrix):
        return matrix if make is Csr else bv.Operator(matrix.__matmul__, matrix.shape)

    options = {"which": "SA", "method": "lobpcg"}
    preconditioner = SOLVE if make is Csr else host(SOLVE)
    exact_w, exact_v = bv.eigsh(GRID, 3, host(MASS), preconditioner=preconditioner, **options)
    w, v = bv.eigsh(Csr(GRID), 3, make(MASS), preconditioner=make(SOLVE), **options)
    rounding = 64 * EPS * 8  # a dense product sums in another order
    assert np.abs(w - exact_w).max() <= rounding
    assert np.abs(np.abs(read(v).T @ (MASS @ exact_v)) - np.eye(3)).max() <= 1e-6
    exact_w, _ = bv.lobpcg(GRID, START, host(MASS), preconditioner, tol=1e-9, largest=False)
    w, v = bv.lobpcg(Csr(GRID), Array(START), make(MASS), make(SOLVE), tol=1e-9, largest=False)
    assert np.abs(w - exact_w).max() <= rounding and isinstance(v, Array)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("make", [lambda m: m, Csr, lambda m: bv.Operator(on_device(m), m.shape), on_device])
def test_metrics(make, order):
    x, y = np.asarray(START, order=order), np.asarray(START[::-1], order=order)
    exact = bv.orthonormalize(x, metric=MASS)
    found = bv.orthonormalize(Array(x), metric=make(MASS))
    assert np.allclose(read(found.Q), exact.Q, rtol=0, atol=64 * EPS)
    assert np.allclose(read(found.R), exact.R, rtol=0, atol=64 * EPS * np.linalg.norm(x))
    rest, s = bv.project(Array(y), found.Q, metric=make(MASS))
    exact_rest, exact_s = bv.project(y, exact.Q, metric=MASS)
    bound = 64 * EPS * np.linalg.norm(y)
    assert np.allclose(read(rest), exact_rest, rtol=0, atol=bound) and np.allclose(read(s), exact_s, rtol=0, atol=bound)


def test_blocks_belong_to_the_function():
    kept = []

    def keep_and_spoil(block):
        kept.append((block, read(block).copy()))
        product = Array(GRID @ read(block))
        block *= np.nan if len(kept) % 2 else 1
        return product

    exact, _ = bv.eigsh(bv.Operator(GRID.__matmul__, GRID.shape), 3, which="SA")
    w, _ = bv.eigsh(bv.Operator(keep_and_spoil, GRID.shape, like=Array(START)), 3, which="SA")
    assert np.array_equal(w, exact)
    assert all(np.array_equal(read(block), copy) for block, copy in kept[1::2])


def test_orders_and_dtypes_of_products():
    exact, _ = bv.eigsh(bv.Operator(GRID.__matmul__, GRID.shape), 3, which="SA")
    for multiply in (
        lambda x: Array(np.asfortranarray(GRID @ read(x))),
        lambda x: Array(np.repeat(GRID @ read(x), 2, axis=1)[:, ::2]),
    ):
        operator = bv.Operator(multiply, GRID.shape, like=Array(START))
        assert np.array_equal(bv.eigsh(operator, 3, which="SA")[0], exact)
    w, _ = result = bv.eigsh(Csr(GRID), 3, which="SA", preconditioner=lambda x: Array((SOLVE @ read(x)).astype("f4")))
    assert np.abs(w - exact).max() <= 2 * result.target


class Trouble(Exception):
    pass


TROUBLE = Trouble("of the user's own")


def raise_trouble(block):
    raise TROUBLE


WRONG = [
    (lambda x: read(x), TypeError, r"X is a numpy.ndarray of \(64, \d+\): expected an array on cupy's device 0"),
    (lambda x: None, TypeError, "X is a builtins.NoneType: expected an array on cupy's device 0, as X is"),
    (lambda x: x[:-1], bv.ShapeError, r"X has the shape \(63, (\d+)\) for an X of \(64, \1\): expected \(64, \1\)"),
    (lambda x: Array(1j * read(x)), TypeError, r"X has the dtype complex128 for an X of \(64, \d+\) and float64"),
    (lambda x: Array(np.nan * read(x)), bv.NotFiniteError, "NaN or Inf"),
    (raise_trouble, Trouble, "of the user's own"),
]
PLACES = {
    "A": lambda f: bv.eigsh(bv.Operator(f, GRID.shape), 2, v0=Array(START), which="SA"),
    "M": lambda f: bv.eigsh(Csr(GRID), 2, bv.Operator(f, GRID.shape), which="SA"),
    "preconditioner": lambda f: bv.eigsh(Csr(GRID), 2, preconditioner=f, which="SA"),
    "metric": lambda f: bv.orthonormalize(Array(START), metric=f),
}


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("function, error, message", WRONG, ids=["host", "none", "shape", "dtype", "nan", "own"])
def test_wrong_products(place, function, error, message):
    if error in (TypeError, bv.ShapeError):
        message = f"^{place} {message}"
    with pytest.raises(error, match=message) as caught:
        PLACES[place](function)
    assert error is not Trouble or caught.value is TROUBLE


def test_ranks(random):
    if not bv.show_config()["mpi"]:
        pytest.skip("this build has no MPI")
    comm = pytest.importorskip("mpi4py.MPI").COMM_SELF
    v = random.standard_normal((100, 3))
    assert np.array_equal(read(bv.gram(Array(v), comm=comm)), bv.gram(v, comm=comm))
    assert np.array_equal(read(bv.qr(Array(v), comm=comm)[1]), bv.qr(v, comm=comm)[1])
    exact, _ = bv.eigsh(GRID, 3, which="SA", comm=comm)
    for a in (Csr(GRID), Array(GRID.toarray())):
        if isinstance(a, Array):
            a = bv.Operator(a.__matmul__, GRID.shape, like=a)
        w, vectors = bv.eigsh(a, 3, which="SA", comm=comm)
        assert np.abs(w - exact).max() <= 64 * EPS * 8 and isinstance(vectors, Array)


CUPY = "cupy's device 0"
V = np.ones((10, 3))
UNIT = scipy.sparse.eye(10).tocsr()
ERRORS = [
    (bv.gram, (Array(np.ones((10, 3), "f2")),), {}, TypeError, "V has the dtype float16: expected float32"),
    (bv.inner_product, (Array(V), V), {}, TypeError, "V is on a device, W is a ndarray on the host"),
    (bv.inner_product, (Array(V), Array(V[:5])), {}, bv.ShapeError, r"V has the shape \(10, 3\), W \(5, 3\)"),
    (bv.gram, (Array(np.ones((6, 6))[::2, ::2]),), {}, ValueError, "V has the strides"),
    (bv.update, (Array(V), Array(V), np.eye(3)), {}, ValueError, "W and V share memory"),
    (bv.update, (Array(V), Array(V.copy()), Array(np.eye(2))), {}, bv.ShapeError, r"C is \(2, 2\) of float64"),
    (bv.orthonormalize, (Array(V),), {"metric": np.eye(10)}, TypeError, f"X is on {CUPY}, metric is on the host"),
    (bv.eigsh, (np.eye(10), 1), {"which": "SA", "v0": Array(V)}, TypeError, f"v0 is on {CUPY}, A is on the host"),
    (bv.eigsh, (Csr(UNIT), 1), {"which": "SA", "v0": V}, TypeError, f"A is on {CUPY}, v0 is on the host"),
    (
        bv.eigsh,
        (Csr(UNIT), 1),
        {"which": "SA", "preconditioner": UNIT},
        TypeError,
        f"preconditioner is a scipy.sparse matrix, A is on {CUPY}",
    ),
]


@pytest.mark.parametrize("function, arguments, options, error, message", ERRORS, ids=[row[4][:24] for row in ERRORS])
def test_errors(function, arguments, options, error, message):
    with pytest.raises(error, match=message):
        function(*arguments, **options)
