"""Arrays on a CUDA device, of CuPy and PyTorch: within bounds of rounding, on any stream, without the host."""

from __future__ import annotations

import subprocess
import sys

import conftest
import numpy as np
import pytest

import blockvec as bv

pytestmark = pytest.mark.skipif(not bv.show_config()["cuda"], reason="this build has no module for CUDA devices")


class Library:
    """How the tests make arrays of a library on the device, and read them."""

    def __init__(self, name):
        self.name = name
        self.module = pytest.importorskip(name)
        has_device = self.module.cuda.is_available()
        if not has_device:
            pytest.skip("no CUDA device")

    def make(self, array):
        if self.name == "cupy":
            return self.module.asarray(array, order="K")
        if array.flags.c_contiguous:
            return self.module.from_numpy(np.ascontiguousarray(array)).cuda()
        return self.module.from_numpy(np.ascontiguousarray(array.T)).cuda().T

    def read(self, array):
        return array.get() if self.name == "cupy" else array.cpu().numpy()

    def stream(self):
        """A stream of the caller's, as a context."""
        if self.name == "cupy":
            return self.module.cuda.Stream(non_blocking=True)
        return self.module.cuda.stream(self.module.cuda.Stream())


@pytest.fixture(params=["cupy", "torch"])
def library(request):
    return Library(request.param)


def gamma(n, dtype):
    """Of n products and sums, with the factor of complex numbers; a device's single precision sums in double."""
    return 2 * np.sqrt(2) * (n + 4) * float(np.finfo(dtype).eps)


def block(random, rows, columns, dtype, order="C"):
    array = random.standard_normal((rows, columns))
    if np.dtype(dtype).kind == "c":
        array = array + 1j * random.standard_normal(array.shape)
    return np.asarray(array, dtype, order)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", conftest.DTYPES)
@pytest.mark.parametrize("rows", [0, 1, 7, 5000])
def test_products(library, dtype, order, rows, random):
    v, w = block(random, rows, 5, dtype, order), block(random, rows, 3, dtype, order)
    dv, dw = library.make(v), library.make(w)
    c = v.conj().T @ w
    bound = gamma(rows, dtype) * (np.abs(v).T @ np.abs(w))
    dc = bv.inner_product(dv, dw)
    assert np.all(np.abs(library.read(dc) - c) <= bound)
    assert np.all(np.abs(library.read(bv.gram(dv)) - v.conj().T @ v) <= gamma(rows, dtype) * (np.abs(v).T @ np.abs(v)))
    c = library.read(dc)
    near = 8 * (5 + 4) * float(np.finfo(dtype).eps)
    size = 1 + np.abs(v) @ np.abs(c) + np.abs(w)
    for small in (c, dc):
        assert bv.update(dw, dv, small, alpha=-0.5, beta=2) is dw
        w = -0.5 * v @ c + 2 * w
        assert np.all(np.abs(library.read(dw) - w) <= 4 * near * size)
        size = 2 * size
    narrower = bv.multiply_in_place(dv, dc)
    assert tuple(narrower.shape) == (rows, 3)
    assert np.all(np.abs(library.read(narrower) - v @ c) <= near * (1 + np.abs(v) @ np.abs(c)))


@pytest.mark.parametrize("dtype", conftest.DTYPES)
def test_orthogonalisation(library, dtype, random):
    x = block(random, 5000, 6, dtype)
    eps = float(np.finfo(dtype).eps)
    dx = library.make(x)
    q, r = bv.qr(dx)
    assert np.array_equal(library.read(dx), x)
    hq, hr = library.read(q), library.read(r)
    assert np.linalg.norm(hq.conj().T @ hq - np.eye(6)) <= 256 * eps
    assert np.linalg.norm(hq @ hr - x) <= 256 * eps * np.linalg.norm(x)
    y = block(random, 5000, 3, dtype)
    found = bv.orthonormalize(library.make(y), basis=q)
    assert found.rank == 3
    assert np.abs(hq.conj().T @ library.read(found.Q)).max() <= 256 * eps
    again = hq @ library.read(found.S) + library.read(found.Q) @ library.read(found.R)
    assert np.linalg.norm(again - y) <= 256 * eps * np.linalg.norm(y)
    rest, _ = bv.project(library.make(y), q)
    assert np.abs(hq.conj().T @ library.read(rest)).max() <= 256 * eps * np.linalg.norm(y)
    assert bv.orthonormalize(dx, overwrite_x=True).Q is dx
    dependent = library.make(np.concatenate([y, y[:, :1]], axis=1))
    assert bv.orthonormalize(dependent).lost == [3]


def test_views_share_memory(library, random):
    x = block(random, 4000, 8, np.float64)
    dx = library.make(x)
    bv.update(dx[:, 4:], dx[:, :4], np.eye(4), alpha=-1)
    assert np.array_equal(library.read(dx), np.concatenate([x[:, :4], x[:, 4:] - x[:, :4]], axis=1))


def test_on_the_callers_stream(library, random):
    """Work follows what the caller's stream has been given, and comes before what follows: no wait in between."""
    x = block(random, 200_000, 8, np.float64)
    exact = library.read(bv.gram(library.make(2 * x)))
    with library.stream():
        for _ in range(20):
            dx = library.make(x)
            dx *= 2  # queued, not done
            g = bv.gram(dx)
            dx *= 0  # must not be seen by the product
            assert np.array_equal(library.read(g), exact)


def test_large_inner_product(library, random):
    """Rows beyond what one grid covers; the sum of ones is exact."""
    rows = 5_000_000
    ones = library.make(np.ones((rows, 2)))
    assert np.array_equal(library.read(bv.gram(ones)), np.full((2, 2), float(rows)))


def test_eigenpairs_of_a_cupy_matrix():
    library = Library("cupy")
    sparse = pytest.importorskip("cupyx.scipy.sparse")
    a = conftest.laplacian(12, 3)
    w, v = result = bv.eigsh(sparse.csr_matrix(a), 6, which="SA")
    exact, _ = bv.eigsh(a, 6, which="SA")
    assert np.abs(w - exact).max() <= 2 * result.target
    assert isinstance(v, library.module.ndarray)
    hv = library.read(v)
    assert np.linalg.norm(a @ hv - hv * w, axis=0).max() <= result.target + 64 * len(hv) * np.finfo(float).eps
    x = library.make(np.random.default_rng(1).standard_normal((len(hv), 3)))
    largest, _ = bv.lobpcg(sparse.csr_matrix(a), x, M="jacobi")
    assert np.abs(largest - bv.eigsh(a, 3, which="LA")[0][::-1]).max() <= 2 * result.target


def test_no_transfer_of_tall_data(random):
    """The products copy nothing between host and device; orthogonalisation reads small matrices only."""
    library = Library("torch")
    torch = library.module
    v, w = library.make(block(random, 100_000, 8, np.float64)), library.make(block(random, 100_000, 4, np.float64))
    c = bv.inner_product(v, w)

    def copies_in(call):
        call()  # what is done once
        torch.cuda.synchronize()
        with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profile:
            call()
            torch.cuda.synchronize()
        return [event.name for event in profile.events() if "HtoD" in event.name or "DtoH" in event.name]

    for call in (
        lambda: bv.inner_product(v, w),
        lambda: bv.gram(v),
        lambda: bv.update(w, v, c),
        lambda: bv.multiply_in_place(v, torch.eye(8, dtype=torch.float64, device="cuda")),
    ):
        assert copies_in(call) == []


def test_other_tensors_are_refused():
    torch = Library("torch").module
    x = torch.ones(10, 2, dtype=torch.float64, device="cuda")
    with pytest.raises(TypeError, match=r"V needs gradients.*V.detach\(\)"):
        bv.gram(x.clone().requires_grad_())
    with pytest.raises(TypeError, match="V is conjugated lazily"):
        bv.gram((x + 1j).conj())
    with pytest.raises(TypeError, match="has the dtype bfloat16"):
        bv.gram(x.to(torch.bfloat16))
    with pytest.raises(TypeError, match="V is on a device, W is a ndarray"):
        bv.inner_product(x, np.ones((10, 2)))


def test_import_without_a_device():
    """The package and its module for devices load, and the first use says what is missing."""
    program = (
        "import os; os.environ['CUDA_VISIBLE_DEVICES'] = ''\n"
        "import sys, blockvec as bv\n"
        "assert 'blockvec._device' not in sys.modules\n"
        "from blockvec import _device\n"
        "try:\n    _device.use_device(0)\n"
        "except bv.DeviceError as error:\n    print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and "no CUDA device" in done.stdout, done.stdout + done.stderr
