#!/usr/bin/env python3
"""BlockVec's eigensolvers on a GPU beside CuPy's eigsh and lobpcg and torch.lobpcg, to the same accuracy.

    bench/solver_peers_device.py --program build/release/bench/eigen_repeat > bench/results/h100/solver_peers.csv

Every library gets the matrix that the program writes, as compressed rows on the device, and all settings of SETTINGS.
A setting counts if its recomputed residuals max ||A x - theta x|| reach 1e-8 ||A||; its tolerance is tightened until
they do. Each is run once to warm up and then --runs times; the median counts. Setting up the matrix is not timed. A
setting is given --limit seconds a run; one that is slower than three times the best complete answer is not repeated.
`missed` counts wanted eigenvalues, copies counted, that were not found; `ratio` is the seconds over those of our best
setting. The table has every setting that was tried. Needs cupy and torch.
"""
import argparse
import csv
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np

from peer_answers import count_missed, describe
from peer_process import Peer

ACCURACY = 1e-8
PROBLEMS = {  # options of eigensolve, and how many of the lowest pairs are wanted
    "heisenberg ring 24": (["--problem", "heisenberg", "--sites", "24", "--periodic"], 8),
    "laplacian 100^3": (["--problem", "laplacian", "--grid", "100", "100", "100"], 8),
    "anderson 100^3": (["--problem", "anderson", "--grid", "100", "100", "100", "--disorder", "16"], 8),
    "graphene 512x512 flux 1/64": (["--problem", "graphene", "--grid", "512", "512", "--flux", "1", "64"], 8),
    "laplacian 100^3, many": (["--problem", "laplacian", "--grid", "100", "100", "100"], 100),
}
OURS = [
    {"method": "lanczos"},
    {"method": "chebyshev"},
    {"method": "chebyshev", "filter-precision": "single"},
    {"method": "lobpcg"},
    {"method": "lobpcg", "preconditioner": "chebyshev"},
    {"method": "jacobi-davidson"},
]
WITHOUT_MATRIX = {
    "heisenberg ring 24": [
        {"method": "lanczos", "matrix-free": ""},
        {"method": "lanczos", "matrix-free": "", "basis": "40"},
        {"method": "lanczos", "matrix-free": "", "basis": "48"},
    ]
}
SETTINGS = {
    "CuPy eigsh": [{"ncv": 40}, {"ncv": 20}, {"ncv": 80}, {"ncv": 160}],
    "torch lobpcg": [{"n": 16}, {"n": 12}],
    "CuPy lobpcg": [{"columns": 12}],
}
SETTINGS_OF_MANY = {
    "CuPy eigsh": [{"ncv": 300}, {"ncv": 200}],
    "torch lobpcg": [{"n": 110}],
    "CuPy lobpcg": [{"columns": 110}],
}
COLUMNS = [
    "problem", "wanted", "method", "library", "setting", "seconds", "applications", "reductions", "residual", "target",
    "missed", "ratio",
]  # fmt: skip


def read_matrix(name):
    with open(name, "rb") as file:
        header = json.loads(file.readline())
        dtype = np.complex128 if "Complex" in header["type"] or "complex" in header["type"] else np.float64
        begin = np.fromfile(file, np.int64, header["rows"] + 1)
        columns = np.fromfile(file, np.int32, header["nonzeros"])
        values = np.fromfile(file, dtype, header["nonzeros"])
    return begin, columns, values


def cupy_matrix(name):
    import cupy
    import cupyx.scipy.sparse

    begin, columns, values = read_matrix(name)
    n = len(begin) - 1
    a = cupyx.scipy.sparse.csr_matrix(
        (cupy.asarray(values), cupy.asarray(columns), cupy.asarray(begin.astype(np.int32))), shape=(n, n)
    )
    a.sum_duplicates()
    return a


def cupy_residual(a, values, vectors):
    import cupy

    vectors = vectors / cupy.linalg.norm(vectors, axis=0)
    return float(cupy.max(cupy.linalg.norm(a @ vectors - vectors * values, axis=0)))


def cupy_eigsh(a, wanted, setting, tolerance, seed):
    import cupyx.scipy.sparse.linalg

    return cupyx.scipy.sparse.linalg.eigsh(a, k=wanted, which="SA", ncv=setting["ncv"], tol=tolerance, maxiter=100000)


def cupy_lobpcg(a, wanted, setting, tolerance, seed):
    import cupy
    import cupyx.scipy.sparse.linalg

    x = cupy.random.default_rng(seed).standard_normal((a.shape[0], setting["columns"])).astype(a.dtype)
    values, vectors = cupyx.scipy.sparse.linalg.lobpcg(a, x, largest=False, tol=tolerance, maxiter=3000)
    order = cupy.argsort(values.real)[:wanted]
    return values[order], vectors[:, order]


def torch_lobpcg(a, wanted, setting, tolerance, seed):
    import cupy
    import torch

    torch.manual_seed(seed)
    t = torch.sparse_csr_tensor(
        torch.as_tensor(a.indptr), torch.as_tensor(a.indices), torch.as_tensor(a.data), size=a.shape
    )
    x = torch.randn(a.shape[0], setting["n"], dtype=t.dtype, device="cuda")
    values, vectors = torch.lobpcg(t, k=wanted, X=x, largest=False, tol=tolerance, niter=3000)
    torch.cuda.synchronize()
    return cupy.asarray(values), cupy.asarray(vectors)


SOLVERS = {"CuPy eigsh": cupy_eigsh, "CuPy lobpcg": cupy_lobpcg, "torch lobpcg": torch_lobpcg}


def timed_answer(solve, a, wanted, setting, tolerance, seed):
    """Seconds of a call that begins and ends with an idle device, the eigenvalues, and the largest residual."""
    import cupy

    cupy.cuda.Device().synchronize()
    begin = time.perf_counter()
    values, vectors = solve(a, wanted, setting, tolerance, seed)
    cupy.cuda.Device().synchronize()
    seconds = time.perf_counter() - begin
    result = cupy_residual(a, values, vectors)
    return {"seconds": seconds, "values": sorted(cupy.asnumpy(values).real.tolist()), "residual": result}


def start_solver(library, name, wanted):
    a = cupy_matrix(name)
    return lambda setting, tolerance, seed: timed_answer(SOLVERS[library], a, wanted, setting, tolerance, seed)


def measure(peer, setting, norm, best, runs, limit):
    """The fastest tolerance that reaches the accuracy, or what stood in the way. `limit`: seconds of one run."""
    target, tolerance = ACCURACY * norm, ACCURACY
    limit = min(limit, 3 * best + 2)
    for _ in range(3):
        result = peer.run((setting, tolerance, 1), limit)
        if "error" in result:
            return result
        if result["residual"] <= target:
            break
        tolerance /= 100
    else:
        return {"error": f"residual {result['residual']:.1e}"}
    result["setting"] = f"{describe(setting)}, tol {tolerance:g}"
    if result["seconds"] <= 3 * best:
        again = [peer.run((setting, tolerance, seed), limit) for seed in range(2, 2 + runs)]
        result["times"] = [one["seconds"] for one in again if "error" not in one]
        if not result["times"]:
            return again[0]
        result["seconds"] = statistics.median(result["times"])
    return result


def run_ours(arguments, matrix, options, wanted, setting):
    """The answer of bench/eigen_repeat. It writes the matrix for the peers where `matrix` names a file."""
    chosen = [word for key, value in setting.items() for word in ("--" + key, value) if word]
    command = [arguments.program, str(arguments.runs + 1), matrix, *options, "--nev", str(wanted), *chosen]
    done = subprocess.run(command, capture_output=True, text=True, timeout=20 * arguments.limit)
    if done.returncode != 0:
        return {"error": (done.stderr.strip().splitlines() or [f"exit status {done.returncode}"])[0]}
    result = json.loads(done.stdout)
    if not result["converged"]:
        return {"error": result["stopped"]}
    return result | {
        "residual": max(result["residuals"]),
        "values": result["eigenvalues"],
        "setting": describe({key: value for key, value in setting.items() if key != "method"}),
    }


class Table:
    """The rows of one problem, printed when all are there: ratios are those to our best setting."""

    def __init__(self, problem, wanted):
        self.problem, self.wanted, self.rows, self.reference = problem, wanted, [], None

    def add(self, library, method, name, result):
        if "error" in result:
            print(f"# {self.problem}: {library}, {name}: {result['error']}", flush=True)
            return None
        self.reference = self.reference or result
        width = 10 * ACCURACY * self.reference["norm"]
        missed = count_missed(result["values"], self.reference["values"], width)
        self.rows.append(
            {
                "problem": self.problem,
                "wanted": self.wanted,
                "method": method,
                "library": library,
                "setting": result["setting"],
                "seconds": result["seconds"],
                "applications": result.get("applications", ""),
                "reductions": result.get("reductions", ""),
                "residual": f"{result['residual']:.1e}",
                "target": f"{ACCURACY * self.reference['norm']:.1e}",
                "missed": missed,
            }
        )
        print(f"{self.problem}: {library}, {name}: {result['seconds']:.4f} s, missed {missed}", file=sys.stderr)
        return result["seconds"] if missed == 0 else None

    def write(self, table):
        ours = [row["seconds"] for row in self.rows if row["library"] == "BlockVec" and row["missed"] == 0]
        for row in self.rows:
            seconds = row["seconds"]
            table.writerow(row | {"seconds": f"{seconds:.4f}", "ratio": f"{seconds / min(ours):.2f}" if ours else ""})
        sys.stdout.flush()


def compare(problem, arguments, end):
    """All libraries on one problem, ours first: its first answer is the reference."""
    options, wanted = PROBLEMS[problem]
    table = Table(problem, wanted)
    with tempfile.TemporaryDirectory() as folder:
        matrix = os.path.join(folder, "matrix")
        for setting in OURS + WITHOUT_MATRIX.get(problem, []):
            if table.rows and time.monotonic() > end:
                print(f"# {problem}: no time for BlockVec, {describe(setting)}")
                continue
            place = "-" if os.path.exists(matrix) else matrix
            table.add(
                "BlockVec", setting["method"], describe(setting), run_ours(arguments, place, options, wanted, setting)
            )
        best = 1e9
        for library, settings in (SETTINGS_OF_MANY if wanted > 20 else SETTINGS).items():
            with Peer(start_solver, library, matrix, wanted) as peer:
                for setting in settings:
                    if table.reference is None or time.monotonic() > end:
                        print(f"# {problem}: no time for {library}, {describe(setting)}")
                        continue
                    norm = table.reference["norm"]
                    result = measure(peer, setting, norm, best, arguments.runs, arguments.limit)
                    best = min(best, table.add(library, library.split()[1], describe(setting), result) or best)
    return table


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", required=True)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--limit", type=float, default=30)
    parser.add_argument("--budget", type=float, default=400, help="seconds for everything")
    parser.add_argument("--commit", default="unknown")
    parser.add_argument("--problems", nargs="*", default=list(PROBLEMS))
    arguments = parser.parse_args()
    import cupy
    import torch

    card = cupy.cuda.runtime.getDeviceProperties(0)["name"].decode()
    print(f"# {card}; commit {arguments.commit}; CuPy {cupy.__version__}; torch {torch.__version__}")
    print(f"# medians of {arguments.runs} runs after one; target: residual <= {ACCURACY:g} ||A||")
    writer = csv.DictWriter(sys.stdout, COLUMNS, lineterminator="\n")
    writer.writeheader()
    end = time.monotonic() + arguments.budget
    for problem in arguments.problems:
        compare(problem, arguments, end).write(writer)


if __name__ == "__main__":
    main()
