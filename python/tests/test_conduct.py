"""How calls meet Python: Ctrl-C, callbacks, exceptions, threads, forks, collected garbage, partial results."""

from __future__ import annotations

import gc
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
import weakref

import conftest
import numpy as np
import pytest
import scipy.sparse

import blockvec as bv

A = conftest.laplacian(12, 3)
HARD = scipy.sparse.diags(np.linspace(0, 1, 200_000) ** 3).tocsr()  # its lowest eigenvalues lie close together
FOREVER = {"k": 20, "which": "SA", "tol": 1e-13, "maxiter": 10**6, "method": "lobpcg", "threads": 1}


def run(program, *, send=None, timeout=60):
    """A process of its own, which gets a signal when it prints "ready"."""
    process = subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    if send:
        assert process.stdout.readline().strip() == "ready"
        process.send_signal(send)
    out, error = process.communicate(timeout=timeout)
    return process.returncode, out, error


START = """
import numpy as np, scipy.sparse, sys, time
import blockvec as bv
A = scipy.sparse.diags(np.linspace(0, 1, 200_000) ** 3).tocsr()
forever = dict(k=20, which="SA", tol=1e-13, maxiter=10**6, threads=1)
def ready(*_):
    global ready
    print("ready", flush=True)
    ready = lambda *_: None
"""


@pytest.mark.parametrize(
    "call",
    [
        "bv.eigsh(A, **forever, method='lobpcg', callback=lambda step: ready())",
        "bv.eigsh(A, **forever, method='chebyshev', callback=lambda step: ready())",
        "bv.eigsh(bv.Operator(lambda x: (ready(), A @ x)[1], A.shape), **forever, method='jacobi-davidson')",
    ],
    ids=["sparse", "filter", "function"],
)
def test_interrupt(call):
    after = "print('interrupted', len(bv.eigsh(A[:9, :9], 1, which='SA')[0]))"
    program = START + f"try:\n    {call}\nexcept KeyboardInterrupt:\n    {after}"
    status, out, error = run(program, send=signal.SIGINT)
    assert status == 0, error
    assert "interrupted 1" in out


def test_no_output_and_clean_exit():
    program = START + "w, v = bv.eigsh(A[:50, :50], 3, which='SA'); bv.qr(v); keep = (w, v)"
    assert run(program) == (0, "", "")
    # A thread that is still at work when the interpreter ends.
    program = START + (
        "import threading\n"
        "threading.Thread(target=lambda: bv.eigsh(A, **forever, callback=lambda step: ready()), daemon=True).start()\n"
        "time.sleep(0.5)"
    )
    status, _, error = run(program)
    assert status == 0, error
    # Other handlers run after the library has been stopped.
    program = "import atexit, numpy\nimport blockvec as bv\n" + (
        "def late():\n"
        "    try:\n        bv.gram(numpy.ones((3, 1)))\n"
        "    except bv.BlockVecError as error:\n        print(error)\n"
    )
    program = (
        program.replace("import blockvec as bv\n", "")
        + "atexit.register(late)\nimport blockvec as bv\nbv.gram(numpy.ones((3, 1)))"
    )
    status, out, error = run(program)
    assert status == 0 and "has been stopped" in out, error


def test_import_starts_nothing():
    program = "import sys, blockvec\nprint('matplotlib' in sys.modules, 'tqdm' in sys.modules)"
    assert run(program)[1].strip() == "False False"


def test_exceptions_pass_through():
    class Odd(Exception):
        pass

    def fail(*_):
        raise Odd("here")

    for call in (
        lambda: bv.eigsh(A, 3, which="SA", callback=fail),
        lambda: bv.eigsh(bv.Operator(late_failure(fail), A.shape), 3, which="SA"),
        lambda: bv.eigsh(A, 3, bv.Operator(late_failure(fail), A.shape), which="SA"),
        lambda: bv.eigsh(A, 3, which="SA", preconditioner=fail),
        lambda: bv.orthonormalize(np.ones((A.shape[0], 2)), metric=late_failure(fail)),
    ):
        with pytest.raises(Odd, match="here") as caught:
            call()
        assert caught.traceback[-1].name == "fail"
    bv.eigsh(A, 3, which="SA")


def late_failure(fail):
    """2 X at first, for the look at symmetry."""
    calls = []

    def multiply(x):
        calls.append(x.shape)
        return 2 * x if len(calls) < 2 else fail()

    return multiply


def test_callback_sees_steps():
    steps = []
    result = bv.eigsh(A, 5, which="SA", callback=steps.append)
    assert steps == result.history and len(steps) > 0
    assert all(isinstance(step, bv.Step) for step in steps)
    assert np.all(np.diff([step.applications for step in steps]) >= 0)
    assert steps[-1].converged <= 5 and len(steps[-1].residuals) <= 5
    assert result.applications >= steps[-1].applications


def test_stop_iteration_returns_what_is_there():
    def stop(step):
        if step.converged >= 2:
            raise StopIteration

    result = bv.eigsh(A, 40, which="SA", callback=stop, method="lobpcg")
    assert not result.converged and 1 <= len(result.eigenvalues) < 40
    assert "on request" in result.reason
    assert np.all(result.residuals <= result.target)
    w, v = bv.eigsh(A, 3, which="SA", callback=lambda step: next(iter(())))
    assert v.shape == (A.shape[0], len(w))


@pytest.mark.parametrize("method", ["lanczos", "lobpcg", "jacobi-davidson", "chebyshev"])
def test_no_convergence_has_partial_results(method):
    a = HARD[:5000, :5000]
    with pytest.raises(bv.NoConvergence, match=r"\d+ of 12 eigenpairs converged.*maxiter") as caught:
        bv.eigsh(a, 12, which="SA", tol=1e-13, maxiter=1, method=method)
    error = caught.value
    w, v, residuals = error.eigenvalues, error.eigenvectors, error.residuals
    assert v.shape == (5000, len(w)) and len(residuals) == len(w) and len(w) < 12
    assert np.all(np.linalg.norm(a @ v - v * w, axis=0) <= error.result.target + 16 * np.finfo(float).eps)
    values, above = error.unconverged
    assert len(values) == len(above) and np.all(above > error.result.target)
    assert not error.result.converged and error.result.history


def test_other_threads_run_meanwhile():
    ticks, is_over = [], threading.Event()

    def tick():
        while not is_over.is_set():
            ticks.append(1)
            time.sleep(0)

    thread = threading.Thread(target=tick)
    thread.start()
    try:
        before = len(ticks)
        bv.eigsh(A, 10, which="SA", threads=1)
        assert len(ticks) > before
    finally:
        is_over.set()
        thread.join()


def test_calls_side_by_side():
    """Each thread has its own Context: the same bits as alone."""
    x = np.random.default_rng(1).standard_normal((20_000, 6))
    alone = bv.qr(x, threads=1)[0], bv.eigsh(A, 4, which="SA", threads=1)[1]
    found = []

    def work():
        for _ in range(5):
            found.append((bv.qr(x, threads=1)[0], bv.eigsh(A, 4, which="SA", threads=1)[1]))

    workers = [threading.Thread(target=work) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert len(found) == 20
    for q, v in found:
        assert np.array_equal(q, alone[0]) and np.array_equal(v, alone[1])


def test_eigsh_inside_a_callback():
    inner = []
    bv.eigsh(A, 2, which="SA", callback=lambda step: inner.append(bv.eigsh(A, 1, which="LA")[0]))
    assert inner


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_forked_child():
    program = START + (
        "import os\n"
        "bv.gram(np.ones((100_000, 8)), threads=2)\n"
        "child = os.fork()\n"
        "if not child and bv.show_config()['cuda']:\n"
        "    try:\n"
        "        bv.gram(np.ones((10, 2)))\n"
        "    except bv.DeviceError as error:\n"
        "        assert 'fork()' in str(error)\n"
        "        sys.exit()\n"
        "bv.gram(np.ones((100_000, 8)), threads=2)\n"
        "bv.eigsh(A[:50, :50], 2, which='SA', threads=2)\n"
        "if child:\n    sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))"
    )
    status, _, error = run(program)
    assert status == 0, error


def test_results_outlive_everything():
    result = bv.eigsh(A, 3, which="SA")
    vectors, residuals = result.eigenvectors, result.residuals.copy()
    exact = vectors.copy()
    del result
    for _ in range(3):
        bv.eigsh(A, 3, which="LA")
        gc.collect()
    assert np.array_equal(vectors, exact) and vectors.flags.owndata and len(residuals) == 3


def test_nothing_is_kept():
    class Held:
        shape, dtype = A.shape, A.dtype

        def __matmul__(self, x):
            return A @ x

    class Kept:
        def __init__(self, held):
            self.held = held

        def __call__(self, step):
            pass

    operator = Held()
    alive = weakref.ref(operator)
    result = bv.eigsh(operator, 2, which="SA", callback=Kept(operator))
    del operator, result
    gc.collect()
    assert alive() is None
    before = sys.getrefcount(A.data)
    for _ in range(3):
        bv.eigsh(A, 2, which="SA")
    after = sys.getrefcount(A.data)
    assert after == before


def test_result():
    w, v = result = bv.eigsh(A, 3, which="SA")
    assert isinstance(result, tuple) and w is result.eigenvalues and v is result.eigenvectors
    report = result.report()
    assert all(f"{value:.12f}" in report for value in w)
    assert "residual <=" in report and "(1e-08 ||A||)" in report and "random start" in report
    assert "3 pairs" in repr(result)
    again = pickle.loads(pickle.dumps(result))
    assert np.array_equal(again[1], v) and again.report() == report and again.history == result.history
    assert isinstance(bv.eigsh(A, 3, which="SA", return_eigenvectors=False), np.ndarray)


@pytest.mark.parametrize("has_tqdm", [True, False])
def test_progress(has_tqdm, capsys, monkeypatch):
    if not has_tqdm:
        monkeypatch.setitem(sys.modules, "tqdm", None)
    else:
        pytest.importorskip("tqdm")
    bv.eigsh(A, 4, which="SA", progress=True)
    out, error = capsys.readouterr()
    assert out == "" and "4/4 pairs  converged" in error and error.endswith("\n")
    bv.eigsh(A, 4, which="SA")
    assert capsys.readouterr() == ("", "")


def test_share_of_digits():
    from blockvec._progress import share_of_digits

    assert share_of_digits([1.0, 1.0], [1e-8, 1.0], 1e-8, 2) == 0.5
    assert abs(share_of_digits([1.0], [1e-4], 1e-8, 1) - 0.5) <= 4 * np.finfo(float).eps
    assert share_of_digits([1.0], [10.0], 1e-8, 1) == 0
    assert share_of_digits([1.0], [1e-9], 1e-8, 1) == 1
    assert share_of_digits([], [], 1e-8, 3) == 0


def test_plot():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    result = bv.eigsh(A, 4, which="SA")
    ax = bv.plot_convergence(result)
    assert ax.get_yscale() == "log" and len(ax.lines) == 4 + 2
    assert bv.plot_convergence(result, ax) is ax
    import matplotlib.pyplot

    matplotlib.pyplot.close("all")
