"""Arrays of other libraries, by DLPack: memory is shared, and results are theirs."""

from __future__ import annotations

import conftest
import numpy as np
import pytest

import blockvec as bv
from blockvec import _modules

EPS = np.finfo(float).eps


class Foreign:
    """An array of a library that knows nothing but DLPack."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **options):
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()

    def __getitem__(self, index):
        return Foreign(self.array[index])

    shape = property(lambda self: self.array.shape)


def from_dlpack(given):
    return Foreign(given)


class Elsewhere(Foreign):
    """On a device, as it says."""

    place = (2, 0)

    def __dlpack_device__(self):
        return self.place


class Library:
    """How the tests make arrays of a library, and read them."""

    def __init__(self, name):
        self.name = name
        if name == "jax":
            jax = pytest.importorskip("jax")
            jax.config.update("jax_enable_x64", True)
            jax.config.update("jax_default_device", jax.devices("cpu")[0])
            self.make = pytest.importorskip("jax.numpy").array
            self.kind = type(self.make(0))
            if not hasattr(self.kind, "__dlpack_device__"):
                pytest.skip("this JAX is too old")
        elif name == "torch":
            # A copy keeps the order.
            self.make = lambda array: pytest.importorskip("torch").from_numpy(array.copy("K"))
            self.kind = pytest.importorskip("torch").Tensor
        else:
            self.make, self.kind = lambda array: Foreign(array.copy("K")), Foreign

    def read(self, array):
        assert isinstance(array, self.kind), type(array)
        return array.array if isinstance(array, Foreign) else np.asarray(array)


@pytest.fixture(params=["foreign", "torch", "jax"])
def library(request):
    if request.param != "foreign":
        pytest.importorskip(request.param)
    return Library(request.param)


def blocks(random, dtype=np.float64, order="C"):
    v, w = random.standard_normal((1000, 4)), random.standard_normal((1000, 3))
    if np.dtype(dtype).kind == "c":
        v, w = v + 1j * random.standard_normal(v.shape), w + 1j
    return np.asarray(v, dtype, order), np.asarray(w, dtype, order)


@pytest.mark.parametrize("dtype", conftest.DTYPES)
def test_same_bits_as_numpy(library, dtype, random):
    v, w = blocks(random, dtype)
    given = library.make(v), library.make(w)
    assert np.array_equal(library.read(bv.inner_product(*given)), bv.inner_product(v, w))
    assert np.array_equal(library.read(bv.gram(given[0])), bv.gram(v))
    for found, exact in zip(bv.qr(given[0]), bv.qr(v)):
        assert np.array_equal(library.read(found), exact)
    q, exact_q = bv.qr(given[0])[0], bv.qr(v)[0]
    found, exact = bv.orthonormalize(given[1], basis=q), bv.orthonormalize(w, basis=exact_q)
    for name in ("Q", "S", "R"):
        assert np.array_equal(library.read(getattr(found, name)), getattr(exact, name))
    rest, s = bv.project(given[1], q)
    assert library.read(rest).shape == w.shape and library.read(s).shape == (4, 3)
    assert np.array_equal(library.read(given[0]), v)


@pytest.mark.parametrize("order", ["C", "F"])
def test_memory_is_shared(library, order, random):
    v, w = blocks(random, order=order)
    c = random.standard_normal((4, 3))
    given_v, given_w = library.make(v), library.make(w)
    if library.name == "jax":
        with pytest.raises(ValueError, match="W is read-only"):
            bv.update(given_w, given_v, c)
        return
    assert bv.update(given_w, given_v, library.make(c), alpha=2, beta=0.5) is given_w
    exact = bv.update(w, v, c, alpha=2, beta=0.5)
    assert np.array_equal(library.read(given_w), exact)
    narrower = bv.multiply_in_place(given_v, c)
    assert np.array_equal(library.read(narrower), bv.multiply_in_place(v, c))
    assert np.array_equal(library.read(given_v), v)
    assert bv.orthonormalize(given_w, overwrite_x=True).Q is given_w
    out = library.make(np.zeros((3, 3)))
    assert bv.gram(given_w, out=out) is out
    assert np.linalg.norm(library.read(out) - np.eye(3)) <= 64 * EPS


def test_views(library, random):
    v, _ = blocks(random)
    given = library.make(v)[:, 1:3]
    assert np.array_equal(library.read(bv.gram(given)), bv.gram(v[:, 1:3]))


def test_beside_numpy(library, random):
    v, w = blocks(random)
    assert np.array_equal(library.read(bv.inner_product(library.make(v), w)), bv.inner_product(v, w))
    assert np.array_equal(library.read(bv.inner_product(v, library.make(w))), bv.inner_product(v, w))


def test_eigenpairs():
    torch = pytest.importorskip("torch")
    a = conftest.rotated(np.arange(40.0))
    w, v = bv.eigsh(torch.from_numpy(a), 3, which="SA", v0=torch.ones(40, 2, dtype=torch.float64))
    assert isinstance(v, np.ndarray) and np.abs(w - [0, 1, 2]).max() <= 1e-8 * 40
    w, v = bv.lobpcg(a, torch.ones(40, 2, dtype=torch.float64))
    assert isinstance(v, torch.Tensor) and np.abs(w - [39, 38]).max() <= 1e-8 * 40


def test_tensors_that_are_refused():
    torch = pytest.importorskip("torch")
    x = torch.ones(10, 2, dtype=torch.float64)
    with pytest.raises(TypeError, match="V cannot be shared: .*grad"):
        bv.gram(x.clone().requires_grad_())
    with pytest.raises(TypeError, match="V cannot be shared: .*conj"):
        bv.gram((x + 1j).conj())
    with pytest.raises(TypeError, match="V has the dtype float16: expected float32"):
        bv.gram(x.to(torch.float16))


@pytest.mark.skipif(bv.show_config()["cuda"], reason="this build has a module for devices")
def test_build_without_devices():
    with pytest.raises(bv.DeviceError, match="arrays on a device need a build of blockvec with CUDA"):
        _modules.device()


def test_libraries_and_devices_that_do_not_fit(random):
    v, _ = blocks(random)
    elsewhere = Elsewhere(v)
    with pytest.raises(
        TypeError, match="V is test_other_libraries's on the device .1, 0., W is .*expected arrays of one"
    ):
        bv.inner_product(Foreign(v), elsewhere)
    with pytest.raises(TypeError, match="V is on a device, W is a ndarray on the host"):
        bv.inner_product(elsewhere, v)
    with pytest.raises(TypeError, match="V is a test_other_libraries array on a CUDA device: expected a CuPy array"):
        bv.gram(elsewhere)
    elsewhere.place = (10, 0)
    with pytest.raises(bv.DeviceError, match="V is on a device of DLPack's kind 10"):
        bv.gram(elsewhere)
