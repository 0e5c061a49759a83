"""What test_ranks.py starts on several ranks: each function of the package with comm=, against one process."""

from __future__ import annotations

import os
import signal

import conftest
import numpy as np
import scipy.sparse
from cupy_stand_in import Array, Csr, read, stand_in
from mpi4py import MPI

import blockvec as bv

COMM = MPI.COMM_WORLD
RANK, SIZE = COMM.rank, COMM.size
EPS = np.finfo(float).eps
N = 512
# Uneven, and the last rank of several has no rows.
BOUNDS = np.linspace(0, N, max(2, SIZE)).astype(int).tolist() + ([N] if SIZE > 1 else [])
MINE = slice(BOUNDS[RANK], BOUNDS[RANK + 1])
A = conftest.laplacian(8, 3)
RANDOM = np.random.default_rng(3)
V, W = RANDOM.standard_normal((N, 5)), RANDOM.standard_normal((N, 3))


def refused(call, error, message, elsewhere=bv.RefusedError, at=SIZE - 1):
    """Rank ``at`` raises its own error, the others one that has its message."""
    expected = error if at == RANK else elsewhere
    try:
        call()
    except expected as caught:
        assert message in str(caught), str(caught)
    else:
        raise AssertionError(f"no error: {message}")


def same_everywhere(array):
    for other in COMM.allgather(array):
        assert np.array_equal(other, array)


def products():
    c = bv.inner_product(V[MINE], W[MINE], comm=COMM)
    # N products are summed, in another order than NumPy's.
    assert np.all(np.abs(c - V.T @ W) <= 2 * (N + 4) * EPS * (np.abs(V).T @ np.abs(W)))
    same_everywhere(c)
    same_everywhere(bv.gram(V[MINE], comm=COMM))
    w, exact = W.copy(), W.copy()
    bv.update(w[MINE], V[MINE], c, comm=COMM)
    bv.update(exact, V, c)
    assert np.abs(w[MINE] - exact[MINE]).max(initial=0) <= 16 * EPS * np.abs(exact).max()
    v = bv.multiply_in_place(V[MINE].copy(), c, comm=COMM)
    assert v.shape == (MINE.stop - MINE.start, 3)
    # Columns where rows are adjacent, rows where a rank has one or none.
    by_columns = np.asfortranarray(V[MINE])
    same_everywhere(bv.gram(by_columns, comm=COMM))


def orthonormality():
    q, r = bv.qr(V[MINE], comm=COMM)
    same_everywhere(r)
    whole = np.concatenate(COMM.allgather(q))
    assert np.linalg.norm(whole.T @ whole - np.eye(5)) <= 64 * EPS
    assert np.linalg.norm(whole @ r - V) <= 64 * EPS * np.linalg.norm(V)
    found = bv.orthonormalize(W[MINE], basis=q, comm=COMM)
    assert found.rank == 3 and np.abs(bv.inner_product(q, found.Q, comm=COMM)).max() <= 64 * EPS
    rest, s = bv.project(W[MINE], q, comm=COMM)
    same_everywhere(s)
    assert np.abs(bv.inner_product(q, rest, comm=COMM)).max() <= 64 * EPS * np.linalg.norm(W)
    metric = (A + scipy.sparse.eye(N)).tocsr()
    in_metric = np.concatenate(COMM.allgather(bv.orthonormalize(W[MINE], metric=metric[MINE], comm=COMM).Q))
    assert np.linalg.norm(in_metric.T @ (metric @ in_metric) - np.eye(3)) <= 1e3 * EPS


def eigenpairs():
    rounding = 4 * N * EPS
    mass = scipy.sparse.diags(np.linspace(1, 2, N)).tocsr()
    cases = [
        ({}, None),
        ({"method": "lobpcg", "preconditioner": "jacobi"}, None),
        ({"method": "jacobi-davidson", "v0": V[:, :2]}, None),
        ({"method": "chebyshev"}, None),
        ({"preconditioner": "jacobi"}, mass),
    ]
    for options, m in cases:
        alone, _ = bv.eigsh(A, 5, m, which="SA", **options)
        if "v0" in options:
            options = dict(options, v0=options["v0"][MINE])
        w, v = result = bv.eigsh(A[MINE], 5, None if m is None else m[MINE], which="SA", comm=COMM, **options)
        same_everywhere(w)
        assert np.abs(w - alone).max() <= 2 * result.target + 64 * EPS * result.norm_estimate
        whole = np.concatenate(COMM.allgather(v))
        image = whole if m is None else m @ whole
        # With M a residual is measured by the norms of both, of which M's is 2.
        assert np.linalg.norm(A @ whole - image * w, axis=0).max() <= 3 * result.target + 12 * rounding
        assert np.linalg.norm(whole.T @ image - np.eye(5)) <= 5 * rounding
    for options in ({}, {"M": mass, "Minv": lambda x: x / mass.diagonal()[MINE, None]}, {"method": "jacobi-davidson"}):
        alone = bv.eigsh(A, 2, options.get("M"), sigma=6.0)
        here = {"M": mass[MINE]} if "M" in options else {}
        w, _ = bv.eigsh(A[MINE], sigma=6.0, k=2, comm=COMM, **{**options, **here})
        same_everywhere(w)
        assert np.abs(w - alone.eigenvalues).max() <= 4 * alone.target  # with M by the norms of both, both times
    w, _ = bv.lobpcg(A[MINE], V[MINE], comm=COMM, tol=1e-8)
    alone, _ = bv.lobpcg(A, V, tol=1e-8)
    assert np.abs(w - alone).max() <= 2e-8
    # Arrays and functions of this rank's rows.
    w, _ = bv.eigsh(A.toarray()[MINE], 2, which="LA", comm=COMM)
    diagonal = np.arange(float(N))[MINE, None]
    operator = bv.Operator(lambda x: diagonal * x, (len(diagonal), N))
    w, v = bv.eigsh(operator, 3, which="SA", comm=COMM)
    assert np.abs(w - [0, 1, 2]).max() <= 1e-8 * N and v.shape == (len(diagonal), 3)


def reproducible():
    w, v = bv.eigsh(A[MINE], 3, which="SA", comm=COMM, reproducible=True)
    alone_w, alone_v = bv.eigsh(A, 3, which="SA", reproducible=True)
    assert np.array_equal(w, alone_w) and np.array_equal(v, alone_v[MINE])


def duplicates_are_kept():
    other = COMM.Dup()
    bv.gram(V[MINE], comm=other)
    bv.gram(V[MINE], comm=other)
    other.Free()
    bv.gram(V[MINE], comm=COMM)
    # A part of the ranks.
    part = COMM.Split(RANK % 2)
    bv.qr(V[:10], comm=part)
    part.Free()


def errors():
    is_last = RANK == SIZE - 1
    refused(lambda: bv.gram("V" if is_last else V[MINE], comm=COMM), TypeError, "V is a str")
    refused(lambda: bv.inner_product(V[MINE], W[:1] if is_last else W[MINE], comm=COMM), bv.ShapeError, "W (1, 3)")
    refused(
        lambda: bv.eigsh(A[MINE], 2, which="no" if is_last else "SA", comm=COMM), ValueError, "which='no': expected"
    )
    for rank in range(SIZE):
        bad = V[MINE].copy()
        bad[:1, 2] = np.nan
        try:
            bv.gram(bad if rank == RANK else V[MINE], comm=COMM)
        except bv.NotFiniteError as error:
            assert "V has NaN or Inf in column 2" in str(error)
        else:
            assert BOUNDS[rank] == BOUNDS[rank + 1]  # no rows
    shape = "expected a square matrix" if SIZE == 1 else "rows together: expected 511"
    for call, message in (
        (lambda: bv.eigsh(A[MINE][:, :-1], 2, which="SA", comm=COMM), shape),
        (lambda: bv.eigsh(-(A[MINE]), 2, A[MINE] * -1, which="SA", comm=COMM), "M is not positive definite"),
        (lambda: bv.qr(np.ones((1, 9)), comm=COMM), "at least as many rows as columns"),
    ):
        try:
            call()
        except ValueError as error:
            assert message in str(error), str(error)
        else:
            raise AssertionError(message)
    if SIZE > 1:
        try:
            bv.gram(V[MINE][:, : RANK + 1], comm=COMM)
        except bv.DisagreementError:
            pass
        else:
            raise AssertionError("ranks with other shapes")
    bv.gram(V[MINE], comm=COMM)


class Odd(Exception):
    pass


def python_functions_that_fail():
    def fail(step):
        if RANK == 0:
            raise Odd("here")

    refused(lambda: bv.eigsh(A[MINE], 3, which="SA", comm=COMM, callback=fail), Odd, "here", at=0)

    calls = []

    def multiply(x):
        calls.append(1)
        if RANK == 0 and len(calls) > 2:
            raise Odd("in a product")
        return 2 * x

    operator = bv.Operator(multiply, (MINE.stop - MINE.start, N))
    refused(lambda: bv.eigsh(operator, 3, which="SA", comm=COMM), Odd, "in a product", at=0)

    def interrupt(step):
        if RANK == 0:
            os.kill(os.getpid(), signal.SIGINT)

    refused(lambda: bv.eigsh(A[MINE], 3, which="SA", comm=COMM, callback=interrupt), KeyboardInterrupt, "", at=0)

    def stop(step):
        if RANK == 0:
            raise StopIteration

    result = bv.eigsh(A[MINE], 3, which="SA", comm=COMM, callback=stop)
    assert result.converged in (True, False)
    same_everywhere(result.eigenvalues)
    try:
        bv.eigsh(A[MINE], 20, which="SA", comm=COMM, method="lobpcg", maxiter=1, tol=1e-13)
    except bv.NoConvergence as error:
        same_everywhere(error.eigenvalues)
    else:
        raise AssertionError("it converged")


@stand_in()
def device_arrays():
    """Of a stand-in for CuPy: each rank passes its rows on a device."""
    exact, _ = bv.eigsh(A, 4, which="SA")
    q, r = bv.qr(Array(V[MINE]), comm=COMM)
    same_everywhere(read(r))
    for a in (Csr(A[MINE]), Array(A.toarray()[MINE])):
        w, v = bv.eigsh(a, 4, which="SA", comm=COMM)
        same_everywhere(w)
        assert np.abs(w - exact).max() <= 2 * 1e-8 * 12 and read(v).shape == (MINE.stop - MINE.start, 4)
    weights = np.arange(1.0, N + 1)[MINE, None]
    operator = bv.Operator(lambda x: Array(weights * read(x)), (len(weights), N), like=q)
    w, _ = bv.eigsh(operator, 3, which="SA", comm=COMM)
    assert np.abs(w - [1, 2, 3]).max() <= 1e-8 * N
    found = bv.orthonormalize(Array(W[MINE]), metric=operator, comm=COMM)
    whole = np.concatenate(COMM.allgather(read(found.Q)))
    assert np.linalg.norm(whole.T @ (np.arange(1.0, N + 1)[:, None] * whole) - np.eye(3)) <= 1e4 * EPS
    if SIZE > 1:
        mixed = Array(V[MINE]) if RANK == 0 else V[MINE]
        refused(lambda: bv.gram(mixed, comm=COMM), bv.InputError, "on the host, those of others on", bv.InputError)
    calls = []

    def fail(x):
        calls.append(1)
        if RANK == 0 and len(calls) > 2:
            raise Odd("on a device")
        return Array(2 * read(x))

    operator = bv.Operator(fail, (len(weights), N), like=q)
    refused(lambda: bv.eigsh(operator, 3, which="SA", comm=COMM), Odd, "on a device", at=0)


for check in (
    products,
    orthonormality,
    eigenpairs,
    reproducible,
    duplicates_are_kept,
    errors,
    python_functions_that_fail,
    device_arrays,
):
    check()
    COMM.Barrier()
print("all is well", flush=True)
