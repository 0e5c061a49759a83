"""The way of device arrays through the package, on the host: a CuPy and a device's module of the tests' own.

test_device.py does the same on a real device, where there is one.
"""

from __future__ import annotations

import contextlib
import sys
import types

import conftest
import numpy as np
import pytest
import scipy.sparse

import blockvec as bv
from blockvec import _homes, _host

EPS = np.finfo(float).eps


class Array:
    """Looks like a CuPy array, and lies in the host's memory. Reading it as NumPy would is an error."""

    def __init__(self, array):
        self._array = array
        self.data = types.SimpleNamespace(ptr=array.ctypes.data)

    shape = property(lambda self: self._array.shape)
    strides = property(lambda self: self._array.strides)
    dtype = property(lambda self: self._array.dtype)

    def __array__(self, *_):
        raise TypeError("an implicit copy to the host")

    def __dlpack_device__(self):
        return 2, 0

    def __dlpack__(self, *, stream):
        assert stream == STREAM
        return self._array.__dlpack__()

    def __getitem__(self, index):
        return Array(self._array[index])

    def __setitem__(self, index, value):
        self._array[index] = value._array if isinstance(value, Array) else value

    def __imul__(self, factor):
        self._array *= factor
        return self

    def __iadd__(self, other):
        self._array += other._array
        return self


STREAM = 4096
Array.__module__ = "cupy"


class Csr:
    """Looks like a sparse matrix of CuPy's."""

    def __init__(self, matrix):
        self.matrix, self.shape, self.dtype = matrix, matrix.shape, matrix.dtype
        self.data = types.SimpleNamespace(device=types.SimpleNamespace(id=0))

    def tocsr(self):
        return self

    def get(self):
        return self.matrix


Csr.__module__ = "cupyx.scipy.sparse._csr"


@pytest.fixture(autouse=True)
def stand_ins(monkeypatch):
    cupy = types.ModuleType("cupy")
    cupy.empty = lambda shape, dtype, order: Array(np.full(shape, np.nan, dtype, order))
    cupy.asarray = lambda array, order: Array(np.array(array, order=order))
    cupy.cuda = types.SimpleNamespace(
        Device=lambda number: contextlib.nullcontext(),
        get_current_stream=lambda number: types.SimpleNamespace(ptr=STREAM),
    )
    monkeypatch.setitem(sys.modules, "cupy", cupy)
    functions = {name: getattr(_host, name) for name in dir(_host) if not name.startswith("__")}
    device = types.SimpleNamespace(**functions, use_device=lambda number: None)
    monkeypatch.setattr(_homes, "_load_device", lambda: device)
    _homes.home_on_device.cache_clear()
    yield
    _homes.home_on_device.cache_clear()


def read(array):
    assert isinstance(array, Array), type(array)
    return array._array


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


V = np.ones((10, 3))
UNIT = scipy.sparse.eye(10).tocsr()
ERRORS = [
    (bv.gram, (Array(np.ones((10, 3), "f2")),), {}, TypeError, "V has the dtype float16: expected float32"),
    (bv.inner_product, (Array(V), V), {}, TypeError, "V is on a device, W is a ndarray on the host"),
    (bv.inner_product, (Array(V), Array(V[:5])), {}, bv.ShapeError, r"V has the shape \(10, 3\), W \(5, 3\)"),
    (bv.gram, (Array(np.ones((6, 6))[::2, ::2]),), {}, ValueError, "V has the strides"),
    (bv.update, (Array(V), Array(V), np.eye(3)), {}, ValueError, "W and V share memory"),
    (bv.update, (Array(V), Array(V.copy()), Array(np.eye(2))), {}, bv.ShapeError, r"C is \(2, 2\) of float64"),
    (bv.orthonormalize, (Array(V),), {"metric": np.eye(10)}, bv.InputError, "metric is given, but X is on a device"),
    (bv.gram, (Array(V),), {"comm": "self"}, bv.InputError, "comm is given, but the arrays are on a device"),
    (bv.eigsh, (UNIT, 1), {"which": "SA", "v0": Array(V)}, TypeError, "v0 is on a device, A is not"),
    (bv.eigsh, (Csr(UNIT), 1), {"which": "SA", "v0": V}, TypeError, "A is CuPy's, v0 is not"),
    (
        bv.eigsh,
        (Csr(UNIT), 1),
        {"which": "SA", "preconditioner": abs},
        bv.InputError,
        "preconditioner is a matrix or a function, but A is on a device",
    ),
]


@pytest.mark.parametrize("function, arguments, options, error, message", ERRORS, ids=[row[4][:24] for row in ERRORS])
def test_errors(function, arguments, options, error, message):
    if "comm" in options:
        if not bv.show_config()["mpi"]:
            pytest.skip("this build has no MPI")
        options = {"comm": pytest.importorskip("mpi4py.MPI").COMM_SELF}
    with pytest.raises(error, match=message):
        function(*arguments, **options)
