#!/usr/bin/env python3
"""Every eigensolver on matrices that are hard for some: what it found, what it missed, and how it says so.

    bench/hard_cases.py --program build/release/examples/eigensolve --data DATA > bench/results/cpu/hard_cases.csv
    bench/hard_cases.py --device gpu --program ... --data DATA > bench/results/h200/hard_cases.csv

Each case is solved by each method on 1 and on 4 ranks of one thread, and by dense, the whole spectrum, up to 1000
rows. `status`: converged; else in the solver's words why not, or how it refuses. `missed` counts wanted eigenvalues,
copies counted, that a run that calls itself converged has not found; `error` is the largest difference to a wanted
eigenvalue over the largest of ||A||, or of the values of a pair. `cut`: the solver says that the wanted number cuts a
level. Exit status 1 if anything is missed, not finite, takes more than --limit seconds, or ends without a word.
DATA is a folder with mhd1280b.mtx and mhd4800b.mtx; without them their cases are left out. Needs python3-scipy.
"""
import argparse
import csv
import json
import math
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass

import numpy as np
import scipy.io
import scipy.linalg
import scipy.sparse

import machine
from peer_answers import count_missed
from solver_problems import close_levels, graphene, hypercube, hypercube_values, rotated, two_levels

METHODS = ["lanczos", "chebyshev", "lobpcg", "jacobi-davidson"]
MOST_DENSE_ROWS = 1000
COLUMNS = ["case", "rows", "wanted", "method", "ranks", "status", "missed", "error", "cut", "applications", "seconds"]


@dataclass
class Case:
    name: str
    wanted: int
    a: object = None  # a matrix, or options of eigensolve
    b: object = None
    exact: object = None  # ascending; None: nobody knows, or there is no answer
    options: tuple = ()
    accuracy: float = 1e-8
    methods: tuple = tuple(METHODS)
    preconditioner: str = None  # of lobpcg and jacobi-davidson


def tridiagonal(diagonal, beside):
    return scipy.sparse.diags([diagonal, beside, beside], [0, 1, -1]).tocsr()


def wilkinson(copies):
    """W21+, so many of it glued by 1e-10: pairs of eigenvalues become clusters."""
    diagonal = np.tile(np.abs(np.arange(-10.0, 11)), copies)
    beside = np.ones(21 * copies - 1)
    beside[20::21] = 1e-10
    return tridiagonal(diagonal, beside)


def dense_values(a, b=None):
    return scipy.linalg.eigh(a.toarray(), None if b is None else b.toarray(), eigvals_only=True)


def coulomb_sturmian(n, charge=1.0, scale=0.05):
    """Hydrogen's s states: -1 / (2 N^2); cond(B) grows with n^2."""
    i = np.arange(n)
    b = tridiagonal((i + 1.0) / scale, -np.sqrt((i[:-1] + 1.0) * (i[:-1] + 2)) / (2 * scale))
    a = tridiagonal(scale * (i + 1) - charge, np.zeros(n - 1)) - scale**2 / 2 * b
    return a.tocsr(), b


def scaled_mass(n, condition):
    """A diagonal B of that condition for a Laplacian."""
    a = tridiagonal(np.full(n, 2.0), np.full(n - 1, -1.0))
    return a, scipy.sparse.diags(np.logspace(0, math.log10(condition), n)).tocsr()


def cases(data):
    levels, close = two_levels(), close_levels()
    diagonal = scipy.sparse.diags(np.arange(60.0)).tocsr()
    one = scipy.sparse.csr_matrix([[3.0]])
    laplacian = tridiagonal(np.full(300, 2.0), np.full(299, -1.0))
    on_laplacian = dense_values(laplacian)
    sturmian = coulomb_sturmian(300)
    yield Case("8-fold lowest", 8, rotated(levels), exact=levels)
    yield Case("8-fold lowest, 5 wanted", 5, rotated(levels), exact=levels)
    yield Case("hypercube 13", 14, hypercube(13), exact=np.sort(hypercube_values(13)))
    yield Case("8 values 1e-10 apart", 8, rotated(close), exact=close, accuracy=1e-12)
    for q in (8, 16, 64):
        yield Case(f"graphene 64^2, flux 1/{q}", 16, graphene(64, q))
    yield Case("W21+ glued, highest", 12, wilkinson(6), exact=-dense_values(wilkinson(6))[::-1], options=("--which", "largest"))
    yield Case("identity", 4, scipy.sparse.identity(200).tocsr(), exact=np.ones(200))
    yield Case("zero matrix", 4, scipy.sparse.csr_matrix((200, 200)) + 0 * scipy.sparse.identity(200), exact=np.zeros(200))
    yield Case("one row", 1, one, exact=np.array([3.0]))
    for wanted in (31, 59, 60):
        yield Case(f"diagonal of 60 rows, {wanted} wanted", wanted, diagonal, exact=np.arange(60.0))
    for power in (-150, 150):
        factor = 10.0**power
        yield Case(f"Laplacian times 1e{power}", 6, laplacian * factor, exact=on_laplacian * factor)
    pairs = ("lobpcg", "jacobi-davidson")
    yield Case("hydrogen, cond(B) 1e5", 4, *sturmian, exact=dense_values(*sturmian), methods=pairs, preconditioner="jacobi")
    for condition in (1e5, 1e10):
        a, b = scaled_mass(200, condition)
        yield Case(f"diagonal B, cond {condition:.0e}", 4, a, b, dense_values(a, b), methods=pairs, preconditioner="jacobi")
    half = scipy.sparse.diags(np.repeat([1.0, 0.0], 150)).tocsr()
    yield Case("B of half the rank", 4, laplacian, half, methods=pairs)
    yield Case("indefinite B", 4, laplacian, scipy.sparse.diags(np.tile([1.0, -1.0], 150)).tocsr(), methods=pairs)
    for name in ("mhd1280b", "mhd4800b"):
        path = os.path.join(data or "", name + ".mtx")
        if os.path.exists(path):
            yield Case(f"{name}, lowest", 4, path)


def solve(arguments, case, files, method, ranks):
    with tempfile.TemporaryDirectory() as folder:
        answer = os.path.join(folder, "answer.json")
        command = [arguments.program, *files, *case.options, "--method", method, "--nev", str(case.wanted)]
        command += ["--tol", repr(case.accuracy), "--threads", "1", "--quiet", "--json", answer]
        if case.preconditioner and method != "dense":
            command += ["--preconditioner", case.preconditioner]
        if arguments.device:
            command += ["--device", arguments.device]
        if ranks > 1:
            command = ["mpirun", "--oversubscribe", "-n", str(ranks), *command]
        begin = time.perf_counter()
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=arguments.limit)
        except subprocess.TimeoutExpired:
            return {"status": f"stopped after {arguments.limit:.0f} s", "seconds": arguments.limit}
        seconds = time.perf_counter() - begin
        if not os.path.exists(answer):
            said = [line for line in done.stderr.splitlines() if "error" in line] or [f"exit status {done.returncode}"]
            return {"status": said[0].split("error: ")[-1], "seconds": seconds}
        with open(answer, encoding="utf-8") as file:
            return json.load(file) | {"all_seconds": seconds}


def judge(case, result):
    """The row of a result, and whether it is one to be ashamed of."""
    if "converged" not in result:
        no_answer = result["status"].startswith(("stopped", "exit status"))  # in no words of the solver's
        return {"status": result["status"], "seconds": f"{result['seconds']:.2f}"}, no_answer
    values = np.array(result["eigenvalues"], dtype=float)
    row = {
        "status": "converged" if result["converged"] else result["stopped"],
        "cut": "yes" if result.get("last_level_cut") else "no",
        "applications": result["applications"],
        "seconds": f"{result['seconds']:.2f}",
    }
    is_bad = not np.all(np.isfinite(values)) or (not result["converged"] and not result["stopped"])
    if result["converged"] and case.exact is not None:
        found = np.sort(-values if "largest" in case.options else values)
        exact = case.exact[: case.wanted]
        size = np.max(np.abs(case.exact)) or 1
        row["missed"] = count_missed(found, exact, 100 * case.accuracy * size)
        row["error"] = f"{np.max(np.abs(found - exact)) / size:.1e}"
        is_bad = is_bad or row["missed"] > 0
    return row, is_bad


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", required=True)
    parser.add_argument("--data", help="folder with matrices that the cases read")
    parser.add_argument("--device", help="cpu or gpu, for eigensolve")
    parser.add_argument("--ranks", type=int, nargs="*", default=[1, 4])
    parser.add_argument("--limit", type=float, default=120, help="seconds a run")
    parser.add_argument("--commit", default="unknown")
    parser.add_argument("--cases", nargs="*", help="only those whose names contain one of these words")
    arguments = parser.parse_args()
    where = [f"device {arguments.device}"] if arguments.device else []
    where += [machine.cards()] if arguments.device == "gpu" else []
    print("# " + machine.head("hard_cases.py", arguments.commit, *where))
    table = csv.DictWriter(sys.stdout, COLUMNS, lineterminator="\n")
    table.writeheader()
    worst = 0
    for case in cases(arguments.data):
        if arguments.cases and not any(word in case.name for word in arguments.cases):
            continue
        with tempfile.TemporaryDirectory() as folder:
            if isinstance(case.a, list):
                files, rows = case.a, ""
            else:
                paths = [case.a] if isinstance(case.a, str) else []
                for name, matrix in zip(("a.mtx", "b.mtx"), (case.a, case.b)):
                    if matrix is not None and not isinstance(matrix, str):
                        paths.append(os.path.join(folder, name))
                        scipy.io.mmwrite(paths[-1], matrix.tocoo(), symmetry="symmetric", precision=17)
                files = ["--matrix", paths[0], *(["--mass", paths[1]] if len(paths) > 1 else [])]
                rows = "" if isinstance(case.a, str) else case.a.shape[0]
            is_small = rows != "" and rows <= MOST_DENSE_ROWS
            for method in case.methods + ("dense",) * is_small:
                for ranks in arguments.ranks:
                    row, is_bad = judge(case, solve(arguments, case, files, method, ranks))
                    about = {"case": case.name, "rows": rows, "wanted": case.wanted, "method": method, "ranks": ranks}
                    table.writerow(about | row)
                    sys.stdout.flush()
                    if is_bad:
                        worst = 1
                        print(f"{case.name}, {method}, {ranks} ranks: {row}", file=sys.stderr)
    return worst


if __name__ == "__main__":
    sys.exit(main())
