#!/usr/bin/env python3
"""Adds what CuPy takes for the same work to the table of bench/orth_step, on the same card.

    build/release/bench/orth_step ... > step.csv && bench/orth_step_cupy.py step.csv > table.csv

Column cupy_ms stands beside each row of a row-major block on one rank: for an easy block one sweep, V^H W, W^H W, the
Cholesky factor of W^H W - S^H S, W - V S and the division by R; for a hard one BCGS2 with CholQR. The division is by a
triangular solve or by the inverse of R, on arrays in C or in Fortran order, V and W apart: the fastest counts. Small
matrices stay on the device, and CuPy's Cholesky factorisation does not look at its verdict: the host waits once, at
the end. Median of `rounds` calls, each of which begins and ends with an idle device. The last line of the comments
names CuPy's version. Needs cupy.
"""
import argparse
import csv
import statistics
import sys
import time

import cupy
from cupyx.scipy.linalg import solve_triangular


def divide_by_solve(w, low):
    w[...] = solve_triangular(low, w.T.conj(), lower=True, overwrite_b=False).T.conj()


def divide_by_inverse(w, low):
    inverse = solve_triangular(low, cupy.eye(low.shape[0], dtype=low.dtype), lower=True)
    w[...] = w @ inverse.T.conj()


def sweep(v, w, divide):
    s = v.T.conj() @ w
    low = cupy.linalg.cholesky(w.T.conj() @ w - s.T.conj() @ s)
    w -= v @ s
    divide(w, low)


def bcgs2(v, w, divide):
    for _ in range(2):
        w -= v @ (v.T.conj() @ w)
        divide(w, cupy.linalg.cholesky(w.T.conj() @ w))


def median_seconds(rounds, prepare, call):
    seconds = []
    for i in range(-2, rounds):
        prepare()
        cupy.cuda.Device().synchronize()
        begin = time.perf_counter()
        call()
        cupy.cuda.Device().synchronize()
        if i >= 0:
            seconds.append(time.perf_counter() - begin)
    return statistics.median(seconds)


def milliseconds(rows, m, b, dtype, order, hard, rounds):
    generator = cupy.random.default_rng(1)

    def random(width):
        x = generator.standard_normal((rows, width), dtype=cupy.float64)
        if dtype == cupy.complex128:
            x = x + 1j * generator.standard_normal((rows, width))
        return cupy.array(x, order=order)

    v, w = random(m), random(b)
    for _ in range(2):
        divide_by_inverse(v, cupy.linalg.cholesky(v.T.conj() @ v))
    if hard:
        w += 1e2 * (v @ cupy.ones((m, b), dtype=dtype)) * rows**0.5
    saved = w.copy(order=order)

    def prepare():
        w[...] = saved

    method = bcgs2 if hard else sweep
    best = min(median_seconds(rounds, prepare, lambda d=divide: method(v, w, d))
               for divide in (divide_by_solve, divide_by_inverse))
    loss = float(cupy.abs(w.T.conj() @ w - cupy.eye(b)).max())
    if not loss < 1e-6:
        raise SystemExit(f"CuPy's result is not orthonormal: {loss}")
    return 1e3 * best


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("table")
    parser.add_argument("--rounds", type=int, default=11)
    options = parser.parse_args()
    lines = open(options.table).read().splitlines()
    comments = [line for line in lines if line.startswith("#")]
    rows = list(csv.DictReader(line for line in lines if not line.startswith("#")))
    print(*comments, f"# cupy_ms: bench/orth_step_cupy.py, CuPy {cupy.__version__}", sep="\n")
    out = csv.writer(sys.stdout, lineterminator="\n")
    names = list(rows[0])
    out.writerow([*names[:-1], "cupy_ms", names[-1]])
    known = {}
    for row in rows:
        key = tuple(int(row[name]) for name in ("rows", "m", "b")) + (row["type"], row["block"])
        value = ""
        if row["layout"] == "row" and row["ranks"] == "1":
            if key not in known:
                dtype = cupy.complex128 if key[3] == "Z" else cupy.float64
                times = []
                for order in "CF":
                    try:
                        times.append(milliseconds(*key[:3], dtype, order, key[4] == "hard", options.rounds))
                    except cupy.cuda.memory.OutOfMemoryError as error:
                        print(f"{key}: {error}", file=sys.stderr)
                    cupy.get_default_memory_pool().free_all_blocks()
                known[key] = f"{min(times):.4f}" if times else ""
            value = known[key]
        cells = list(row.values())
        out.writerow([*cells[:-1], value, cells[-1]])
        sys.stdout.flush()


if __name__ == "__main__":
    main()
