"""Arrays on a CUDA device, of CuPy and PyTorch: within bounds of rounding, on any stream, without the host."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys

import conftest
import numpy as np
import pytest
import scipy.sparse

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
        assert type(array).__module__ == self.name, type(array)
        return array.get() if self.name == "cupy" else array.cpu().numpy()

    def sparse(self, matrix):
        """Compressed rows of SciPy's as a matrix of the library."""
        if self.name == "cupy":
            return pytest.importorskip("cupyx.scipy.sparse").csr_matrix(matrix)
        parts = [self.make(part) for part in (matrix.indptr, matrix.indices, matrix.data)]
        return self.module.sparse_csr_tensor(*parts, matrix.shape)

    def stream(self, kind):
        """The default stream, or one of the caller's own, as a context."""
        if kind == "default":
            return contextlib.nullcontext()
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


@pytest.mark.parametrize("stream", ["default", "own"])
def test_on_the_callers_stream(library, stream, random):
    """Work follows what the caller's stream has been given, and comes before what follows: no wait in between."""
    x = block(random, 200_000, 8, np.float64)
    exact = library.read(bv.gram(library.make(2 * x)))
    with library.stream(stream):
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


def chain(x):
    """The second difference along a line, by slices, which both libraries and NumPy have."""
    y = 2 * x
    y[1:] -= x[:-1]
    y[:-1] -= x[1:]
    return y


def chain_values(n):
    return 2 - 2 * np.cos(np.pi * np.arange(1, n + 1) / (n + 1))


@pytest.mark.parametrize("method", ["lanczos", "lobpcg", "jacobi-davidson", "chebyshev"])
@pytest.mark.parametrize("dtype", conftest.DTYPES)
def test_functions(library, dtype, method):
    n, exact = 150, chain_values(150)
    operator = bv.Operator(chain, (n, n), dtype, like=library.make(np.ones((1, 1), dtype)))
    w, v = result = bv.eigsh(operator, 4, which="LA", method=method)
    assert np.abs(w - exact[-4:]).max() <= conftest.value_error(exact, result.tolerance, dtype)
    hv = library.read(v)
    assert hv.dtype == dtype and hv.shape == (n, 4)
    rounding = 4 * n * float(np.finfo(dtype).eps)
    assert np.linalg.norm(chain(hv) - hv * w, axis=0).max() <= result.target + 4 * rounding
    assert np.linalg.norm(hv.conj().T @ hv - np.eye(4)) <= result.orthogonality_loss + rounding


def test_functions_inside_the_spectrum(library, random):
    n, exact = 150, chain_values(150)
    operator = bv.Operator(chain, (n, n), like=library.make(np.ones((1, 1))))
    w, v = result = bv.eigsh(operator, sigma=1.9, k=3)
    nearest = np.sort(exact[np.argsort(np.abs(exact - 1.9))[:3]])
    assert np.abs(w - nearest).max() <= conftest.value_error(exact, result.tolerance, np.dtype(float))
    assert library.read(v).shape == (n, 3)
    # Where vectors say where to work, a function need not.
    w, v = bv.lobpcg(bv.Operator(chain, (n, n)), library.make(block(random, n, 3, float)), largest=False)
    assert np.abs(w - exact[:3]).max() <= 4e-8 and library.read(v).shape == (n, 3)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", conftest.DTYPES)
def test_metrics(library, dtype, order, random):
    n, eps = 3000, float(np.finfo(dtype).eps)
    weights = np.linspace(1, 2, n).astype(dtype)[:, None]
    there = library.make(weights)
    metric = bv.Operator(lambda x: there * x, (n, n), dtype)
    x = block(random, n, 4, dtype, order)
    found = bv.orthonormalize(library.make(x), metric=metric)
    q, r = library.read(found.Q), library.read(found.R)
    assert found.rank == 4
    assert np.linalg.norm(q.conj().T @ (weights * q) - np.eye(4)) <= 256 * eps
    assert np.linalg.norm(q @ r - x) <= 256 * eps * np.linalg.norm(x)
    y = block(random, n, 2, dtype, order)
    rest, s = bv.project(library.make(y), found.Q, metric=metric)
    assert np.abs(q.conj().T @ (weights * library.read(rest))).max() <= 256 * eps * np.linalg.norm(y)
    assert np.linalg.norm(q @ library.read(s) + library.read(rest) - y) <= 256 * eps * np.linalg.norm(y)


def test_pairs_and_preconditioners(library, random):
    n = 400
    weights = np.linspace(1, 2, n)[:, None]
    there = library.make(weights)
    like = library.make(np.ones((1, 1)))
    a, m = bv.Operator(chain, (n, n), like=like), bv.Operator(lambda x: there * x, (n, n))
    host_a, host_m = bv.Operator(chain, (n, n)), bv.Operator(lambda x: weights * x, (n, n))
    for method in ("lobpcg", "jacobi-davidson"):
        options = {"which": "LA", "method": method}
        w, v = result = bv.eigsh(a, 3, m, preconditioner=lambda x: 0.5 * x, **options)
        exact, _ = bv.eigsh(host_a, 3, host_m, preconditioner=lambda x: 0.5 * x, **options)
        assert np.abs(w - exact).max() <= 4 * result.target
        hv = library.read(v)
        assert np.linalg.norm(hv.T @ (weights * hv) - np.eye(3)) <= 1e-10
    x = library.make(block(random, n, 3, float))
    w, v = bv.lobpcg(a, x, m, lambda x: 0.5 * x, tol=1e-7)
    hv = library.read(v)
    assert np.linalg.norm(chain(hv) - weights * hv * w, axis=0).max() <= 1.1e-7
    more, _ = bv.lobpcg(a, x, m, Y=v, tol=1e-7)
    assert more.max() < w.min()


@pytest.mark.parametrize("preconditioner", [None, "jacobi", "chebyshev"])
def test_matrices_of_the_library(library, preconditioner):
    a = (conftest.laplacian(12, 2) + scipy.sparse.diags(np.linspace(0, 1, 144))).tocsr()
    exact, _ = bv.eigsh(a, 4, which="SA")
    for matrix in (library.make(a.toarray()), library.sparse(a)):
        w, v = result = bv.eigsh(matrix, 4, which="SA", preconditioner=preconditioner)
        assert np.abs(w - exact).max() <= 2 * result.target
        hv = library.read(v)
        assert np.linalg.norm(a @ hv - hv * w, axis=0).max() <= result.target + 64 * len(hv) * np.finfo(float).eps
    solve = library.sparse(scipy.sparse.diags(1 / a.diagonal()).tocsr())
    w, _ = bv.eigsh(library.sparse(a), 4, which="SA", preconditioner=solve)
    assert np.abs(w - exact).max() <= 2 * result.target
    w, v = bv.eigsh(a, 4, which="SA", v0=library.make(np.ones((144, 1))))  # a matrix of SciPy's, to work on the device
    assert np.abs(w - exact).max() <= 2 * result.target and library.read(v).shape == (144, 4)
    whole = library.make(np.diag(np.arange(10)))
    assert np.abs(bv.eigsh(whole, 2, which="LA")[0] - [8, 9]).max() <= 1e-7


def test_operators_of_cupy(random):
    library = Library("cupy")
    linalg = pytest.importorskip("cupyx.scipy.sparse.linalg")
    a = conftest.laplacian(12, 2)
    there = library.sparse(a)
    exact, _ = bv.eigsh(a, 4, which="SA")

    class Hamiltonian(linalg.LinearOperator):
        def __init__(self):
            super().__init__(a.dtype, a.shape)

        def _matmat(self, x):
            return there @ x

    for operator in (linalg.aslinearoperator(there), Hamiltonian()):
        w, v = result = bv.eigsh(operator, 4, which="SA")
        assert np.abs(w - exact).max() <= 2 * result.target and library.read(v).shape == (144, 4)
    columns = linalg.LinearOperator(a.shape, matvec=lambda x: there @ x, dtype=a.dtype)
    with pytest.warns(UserWarning, match="A multiplies one column at a time"):
        w, _ = bv.eigsh(columns, 4, which="SA")
    assert np.abs(w - exact).max() <= 2 * result.target


@pytest.mark.parametrize("stream", ["default", "own"])
def test_functions_on_the_callers_stream(library, stream, random):
    """A function's work, with memory that it gives back at once, follows the search's and comes before what follows."""
    n, exact = 100_000, 3 - np.arange(3) / 4
    values = np.linspace(0, 1, n)
    values[:3] = exact
    there = library.make(values[:, None])

    def multiply(x):
        for _ in range(5):
            x = (x * 2) / 2
        return there * x

    with library.stream(stream):
        for method in ("lanczos", "lobpcg"):
            operator = bv.Operator(multiply, (n, n), like=there)
            w, v = bv.eigsh(operator, 3, which="LA", method=method, preconditioner=None)
            assert np.abs(w - exact[::-1]).max() <= 3e-8
            hv = library.read(v * 1)
            assert np.linalg.norm(values[:, None] * hv - hv * w, axis=0).max() <= 4e-8


class Trouble(Exception):
    pass


TROUBLE = Trouble("of the user's own")


def raise_trouble(x):
    raise TROUBLE


def test_wrong_products(library):
    like = library.make(np.ones((1, 1)))
    wrong = [
        (
            library.read,
            TypeError,
            r"A X is a numpy.ndarray of \(90, \d+\): expected an array on .*'s device 0, as X is",
        ),
        (lambda x: None, TypeError, "A X is a builtins.NoneType: expected an array on .*'s device 0"),
        (lambda x: x[1:], bv.ShapeError, r"A X has the shape \(89, (\d+)\) for an X of \(90, \1\)"),
        (lambda x: x[:, 0], bv.ShapeError, r"A X has the shape \(90,\) for an X of \(90, \d+\)"),
        (lambda x: x + 1j, TypeError, r"A X has the dtype complex128 for an X of \(90, \d+\) and float64"),
        (lambda x: x * float("nan"), bv.NotFiniteError, "A X has NaN or Inf"),
        (raise_trouble, Trouble, "of the user's own"),
    ]
    for function, error, message in wrong:
        with pytest.raises(error, match=message) as caught:
            bv.eigsh(bv.Operator(function, (90, 90), like=like), 2, which="SA")
        assert error is not Trouble or caught.value is TROUBLE
    with pytest.raises(TypeError, match="A is on .*'s device 0, v0 is on the host"):
        bv.eigsh(bv.Operator(chain, (90, 90), like=like), 2, which="SA", v0=np.ones(90))
    with pytest.raises(TypeError, match="X is on .*'s device 0, metric is on the host"):
        bv.orthonormalize(like, metric=np.eye(1))


def transfers_of(call, folder):
    """Bytes of each copy between host and device, of whatever library, when it is called again."""
    torch = Library("torch").module
    call()  # what is done once
    torch.cuda.synchronize()
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profile:
        call()
        torch.cuda.synchronize()
    profile.export_chrome_trace(str(folder / "trace.json"))
    events = json.loads((folder / "trace.json").read_text())["traceEvents"]
    copies = [event for event in events if "HtoD" in event.get("name", "") or "DtoH" in event.get("name", "")]
    assert any(event.get("cat") == "kernel" for event in events)
    return [event["args"]["bytes"] for event in copies]


def test_searches_transfer_small_matrices_only(library, tmp_path, random):
    n = 100_000
    values = np.linspace(0, 1, n)
    values[:3] = 2, 3, 4
    there = library.make(values[:, None])
    operator = bv.Operator(lambda x: there * x, (n, n), like=there)
    metric = bv.Operator(lambda x: (2 - there / 8) * x, (n, n))
    start, basis = library.make(block(random, n, 3, float)), library.make(block(random, n, 4, float))
    for call in (
        lambda: bv.eigsh(operator, 3, which="LA"),
        lambda: bv.eigsh(operator, 3, metric, which="LA", preconditioner=lambda x: x / 4),
        lambda: bv.lobpcg(operator, start),
        lambda: bv.orthonormalize(basis, metric=metric),
    ):
        assert max(transfers_of(call, tmp_path), default=0) < n * values.itemsize // 8  # of less than one column


def test_ranks(library, random):
    if not bv.show_config()["mpi"]:
        pytest.skip("this build has no MPI")
    comm = pytest.importorskip("mpi4py.MPI").COMM_SELF
    v = block(random, 1000, 3, float)
    q, r = bv.qr(library.make(v), comm=comm)
    assert np.linalg.norm(library.read(q) @ library.read(r) - v) <= 256 * np.finfo(float).eps * np.linalg.norm(v)
    operator = bv.Operator(chain, (150, 150), like=library.make(np.ones((1, 1))))
    w, _ = bv.eigsh(operator, 3, which="LA", comm=comm)
    assert np.abs(w - chain_values(150)[-3:]).max() <= 4e-8


def test_no_transfer_of_tall_data(random, tmp_path):
    """The products copy nothing between host and device; orthogonalisation reads small matrices only."""
    library = Library("torch")
    torch = library.module
    v, w = library.make(block(random, 100_000, 8, np.float64)), library.make(block(random, 100_000, 4, np.float64))
    c = bv.inner_product(v, w)
    for call in (
        lambda: bv.inner_product(v, w),
        lambda: bv.gram(v),
        lambda: bv.update(w, v, c),
        lambda: bv.multiply_in_place(v, torch.eye(8, dtype=torch.float64, device="cuda")),
    ):
        assert transfers_of(call, tmp_path) == []


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
        "from blockvec import _modules\n"
        "assert _modules.device_name() not in sys.modules\n"
        "try:\n    _modules.device().use_device(0)\n"
        "except bv.DeviceError as error:\n    print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and "no CUDA device" in done.stdout, done.stdout + done.stderr
