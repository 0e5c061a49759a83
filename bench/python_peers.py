#!/usr/bin/env python3
"""The Python package beside SciPy, PRIMME, SLEPc and NumPy: what a user types, to the same accuracy on the same cores.

    bench/python_peers.py --commit ID --out bench/results/cpu/python_peers.csv
    bench/python_peers.py --only "laplacian 40^3" "qr 1e6 x 16"     # some problems; other rows of the file stay

eigsh: six problems, of which the eigenvalues are known by a formula or come from our own answer at a hundredth of the
tolerance. Each library gets the same matrix and its settings of SETTINGS; SciPy and PRIMME as `eigsh(A, ...)`, SLEPc on
as many MPI ranks as cores. A setting counts if its recomputed residuals reach 1e-8, ||A x - w x|| over ||A||, or
||A x - w M x|| over ||A|| + |w| ||M||; its tolerance is tightened until they do. On the pair all get Jacobi's
preconditioner, except us by default, where a filter serves that takes none. `missed` counts wanted eigenvalues, copies
counted, that were not found. `peak_mb` is how far the memory of the process grew while it solved; of SLEPc that of one
rank. SLEPc's time includes setting up its matrix.

qr: blockvec.qr, numpy.linalg.qr, and CholQR twice by hand in NumPy, on random matrices. `residual` is
||I - Q^H Q||. Matrices of more than a sixth of the free memory are left out.

Every run is a process of its own. It solves twice where that takes less than a second (SLEPc once), and the second
time counts; of --runs runs the median. `ratio`: seconds over ours. Only the call is timed. Needs the package,
python3-scipy, python3-slepc4py-real and primme; a missing peer is left out and named.
"""

import argparse
import csv
import glob
import importlib.metadata
import json
import os
import platform
import resource
import statistics
import subprocess
import sys
import time

import numpy as np
import scipy.linalg
import scipy.sparse
import scipy.sparse.linalg
import machine
from peer_answers import count_missed, describe
from solver_problems import hypercube, hypercube_values, laplacian_values, rotated, two_levels

ACCURACY = 1e-8
SETTINGS = {
    "BlockVec": [{}],
    "SciPy": [{}, {"ncv": 60}],
    "PRIMME": [{}, {"maxBlockSize": 4}],
    "SLEPc": [{}, {"ncv": 60}],
}
ON_PAIRS = {
    "BlockVec": [{}, {"preconditioner": "jacobi", "method": "lobpcg"}, {"preconditioner": "jacobi"}],
    "SciPy lobpcg": [{}],
    "PRIMME": [{}],
    "SLEPc": [{"type": "lobpcg"}],
}
COLUMNS = [
    "task", "problem", "wanted", "library", "setting", "seconds", "seconds_min", "seconds_max", "runs", "residual",
    "target", "missed", "peak_mb", "ratio",
]  # fmt: skip
QR_SIZES = [(rows, columns) for rows in (10**6, 3 * 10**7) for columns in (4, 8, 16, 32, 64)]


def spin_ring(sites):
    """The Heisenberg ring without magnetisation."""
    states = np.array([s for s in range(2**sites) if bin(s).count("1") == sites // 2])
    index = np.arange(len(states))
    diagonal, rows, columns = np.zeros(len(states)), [], []
    for site in range(sites):
        pair = (1 << site) | (1 << (site + 1) % sites)
        differ = (states & pair != 0) & (states & pair != pair)
        diagonal += np.where(differ, -0.25, 0.25)
        rows.append(index[differ])
        columns.append(np.searchsorted(states, states[differ] ^ pair))
    rows, columns = np.concatenate(rows), np.concatenate(columns)
    hops = scipy.sparse.coo_matrix((np.full(len(rows), 0.5), (rows, columns)), shape=(len(states),) * 2)
    return (hops + scipy.sparse.diags(diagonal)).tocsr()


def grid(length, dimensions):
    line = scipy.sparse.diags([-1.0, 2.0, -1.0], [-1, 0, 1], shape=(length, length))
    whole = line
    for _ in range(dimensions - 1):
        whole = scipy.sparse.kronsum(whole, line)
    return whole.tocsr()


def flux_lattice(length, flux):
    """A square lattice on a torus in a magnetic field: complex, with nearly flat levels."""
    n, x = length * length, np.repeat(np.arange(length), length)
    site = np.arange(n)
    right, up = (site + length) % n, site - site % length + (site + 1) % length
    phase = np.exp(2j * np.pi * flux * x)
    hops = scipy.sparse.coo_matrix(
        (np.concatenate([-np.ones(n), -phase]), (np.concatenate([site, site]), np.concatenate([right, up]))), (n, n)
    )
    return (hops + hops.getH()).tocsr()


PROBLEMS = {
    "ring of 16 spins": (8, lambda: (spin_ring(16), None), None),
    "laplacian 40^3": (8, lambda: (grid(40, 3), None), lambda: np.sort(laplacian_values(40))[:8]),
    "hypercube 13": (20, lambda: (hypercube(13), None), lambda: np.sort(hypercube_values(13))[:20]),
    "0 and 0.1, 8-fold": (16, lambda: (rotated(two_levels()), None), lambda: np.sort(two_levels())[:16]),
    "flux lattice 64^2": (16, lambda: (flux_lattice(64, 1 / 16), None), None),
    "pair on 150^2": (8, lambda: (grid(150, 2), scipy.sparse.diags(1 + np.arange(150**2) % 3 / 2.0).tocsr()), None),
}


def inverse_diagonal(a):
    return scipy.sparse.diags(1 / np.abs(a.diagonal())).tocsr()


def by_blockvec(a, m, wanted, tolerance, setting):
    import blockvec

    return blockvec.eigsh(a, wanted, m, which="SA", tol=tolerance, **setting)


def by_scipy(a, m, wanted, tolerance, setting):
    return scipy.sparse.linalg.eigsh(a, wanted, m, which="SA", tol=tolerance, maxiter=10**5, **setting)


def by_scipy_lobpcg(a, m, wanted, tolerance, setting):
    x = np.random.default_rng(1).standard_normal((a.shape[0], wanted))
    return scipy.sparse.linalg.lobpcg(a, x, m, inverse_diagonal(a), tol=tolerance, maxiter=3000, largest=False)


def by_primme(a, m, wanted, tolerance, setting):
    import primme

    pair = {} if m is None else {"M": m, "OPinv": inverse_diagonal(a)}
    return primme.eigsh(a, wanted, which="SA", tol=tolerance, **pair, **setting)


def start_slepc():
    for pattern in ("/usr/lib/slepcdir/*/*-real", "/usr/lib/petscdir/*/*-real"):
        sys.path += glob.glob(pattern + "/lib/python3/dist-packages")
    import slepc4py

    slepc4py.init([])


def by_slepc(a, m, wanted, tolerance, setting):
    from petsc4py import PETSc
    from slepc4py import SLEPc

    if np.iscomplexobj(a.data):
        raise RuntimeError("compiled for real numbers")
    begin, end = PETSc.Vec().createMPI(a.shape[0]).getOwnershipRange()

    def matrix(whole):
        rows, size = whole[begin:end], (end - begin, whole.shape[0])
        index = (rows.indptr.astype(PETSc.IntType), rows.indices.astype(PETSc.IntType), rows.data)
        return PETSc.Mat().createAIJ(size=(size, size), csr=index)

    eps, ours = SLEPc.EPS().create(), matrix(a)
    eps.setOperators(ours, None if m is None else matrix(m))
    eps.setProblemType(SLEPc.EPS.ProblemType.HEP if m is None else SLEPc.EPS.ProblemType.GHEP)
    eps.setWhichEigenpairs(SLEPc.EPS.Which.SMALLEST_REAL)
    eps.setConvergenceTest(SLEPc.EPS.Conv.NORM)
    eps.setTolerances(tolerance, 10**5)
    eps.setDimensions(wanted, setting.get("ncv", PETSc.DEFAULT))
    if "type" in setting:
        eps.setType(setting["type"])
        eps.getST().getKSP().getPC().setType("jacobi")
    eps.solve()
    found = eps.getConverged()
    if found < wanted:
        raise RuntimeError(f"{found} pairs converged")
    x = ours.createVecRight()
    values, vectors = np.empty(wanted), np.empty((a.shape[0], wanted))
    for i in range(wanted):
        values[i] = eps.getEigenpair(i, x).real
        scatter, everything = PETSc.Scatter.toAll(x)
        scatter.scatter(x, everything)
        vectors[:, i] = everything.getArray()
    return (values, vectors) if PETSc.COMM_WORLD.getRank() == 0 else None


EIGSH = {
    "BlockVec": by_blockvec, "SciPy": by_scipy, "SciPy lobpcg": by_scipy_lobpcg, "PRIMME": by_primme, "SLEPc": by_slepc,
}  # fmt: skip


def qr_by_blockvec(x):
    import blockvec

    return blockvec.qr(x)


def cholqr_twice(x):
    r = np.eye(x.shape[1])
    for _ in range(2):
        factor = scipy.linalg.cholesky(x.T @ x)
        x, r = x @ scipy.linalg.solve_triangular(factor, np.eye(len(r))), factor @ r
    return x, r


QR = {"BlockVec": qr_by_blockvec, "NumPy qr": np.linalg.qr, "CholQR twice": cholqr_twice}


def peak_mb():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def timed(call, most_calls=2):
    """Seconds and answer. A short call is done twice, and the second one counts."""
    for _ in range(most_calls):
        begin = time.perf_counter()
        answer = call()
        seconds = time.perf_counter() - begin
        if seconds > 1:
            break
    return seconds, answer


def norm_of(a):
    return abs(float(scipy.sparse.linalg.eigsh(a, 1, which="LM", tol=1e-3, return_eigenvectors=False)[0]))


def child(task):
    """One run in this process: prints what it found as a line of JSON."""
    if task["task"] == "qr":
        x = np.random.default_rng(1).standard_normal((task["rows"], task["columns"]))
        before = peak_mb()
        seconds, (q, _) = timed(lambda: QR[task["library"]](x))
        grown, loss = peak_mb() - before, np.linalg.norm(q.T @ q - np.eye(q.shape[1]))
        print(json.dumps({"seconds": seconds, "residual": float(loss), "peak_mb": grown}))
        return
    wanted, make, _ = PROBLEMS[task["problem"]]
    a, m = make()
    norm, norm_m = norm_of(a), 0.0 if m is None else norm_of(m)
    solve = EIGSH[task["library"]]
    tolerance = task["tolerance"] * (norm if task["library"] == "SciPy lobpcg" else 1)  # that one is absolute
    is_on_ranks = task["library"] == "SLEPc"  # which might not agree on how long it took
    if is_on_ranks:
        start_slepc()
    before = peak_mb()
    seconds, answer = timed(lambda: solve(a, m, wanted, tolerance, task["setting"]), 1 if is_on_ranks else 2)
    grown = peak_mb() - before
    if answer is None:  # a rank that does not report
        return
    values, vectors = np.asarray(answer[0]).real, np.asarray(answer[1])
    vectors = vectors / np.linalg.norm(vectors, axis=0)
    image = vectors if m is None else m @ vectors
    lengths = np.linalg.norm(a @ vectors - image * values, axis=0)
    residual = float(np.max(lengths / (norm + np.abs(values) * norm_m)))
    found = {"seconds": seconds, "values": np.sort(values).tolist(), "residual": residual, "peak_mb": grown}
    print(json.dumps(found | {"norm": norm}))


def run(task, arguments):
    """A child's answer, or a RuntimeError with what went wrong."""
    command = [sys.executable, os.path.abspath(__file__), "--child", json.dumps(task)]
    threads = 1 if task["library"] == "SLEPc" else arguments.cores
    environment = dict(os.environ, OMP_NUM_THREADS=str(threads), OPENBLAS_NUM_THREADS=str(threads))
    if task["library"] == "SLEPc":
        environment |= {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
        limit = str(int(arguments.limit))
        command = ["mpirun", "-n", str(arguments.cores), "--oversubscribe", "--timeout", limit] + command
    try:
        done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=arguments.limit + 15)
    except subprocess.TimeoutExpired as error:
        raise RuntimeError(f"stopped after {arguments.limit:.0f} s") from error
    lines = done.stdout.strip().splitlines()
    if done.returncode != 0 or not lines:
        words = [line for line in done.stderr.splitlines() if "Error" in line] or ["no answer"]
        raise RuntimeError(words[-1].strip())
    return json.loads(lines[-1])


def repeated(task, first, arguments):
    """Columns of times: the first run and those after it."""
    runs = [first] + [run(task, arguments) for _ in range(arguments.runs - 1)]
    times = [one["seconds"] for one in runs]
    return {
        "seconds": f"{statistics.median(times):.4g}",
        "seconds_min": f"{min(times):.4g}",
        "seconds_max": f"{max(times):.4g}",
        "runs": len(runs),
        "peak_mb": f"{statistics.median(one['peak_mb'] for one in runs):.0f}",
    }


def eigsh_rows(problem, arguments, notes):
    wanted, make, exact = PROBLEMS[problem]
    task = {"task": "eigsh", "problem": problem, "library": "BlockVec", "setting": {}, "tolerance": ACCURACY / 100}
    exact = run(task, arguments)["values"] if exact is None else exact()
    rows = []
    for library, settings in (SETTINGS if make()[1] is None else ON_PAIRS).items():
        for setting in settings:
            task |= {"library": library, "setting": setting, "tolerance": ACCURACY}
            try:
                while (first := run(task, arguments))["residual"] > ACCURACY:
                    task["tolerance"] /= 10
                    if task["tolerance"] < 1e-14:
                        raise RuntimeError(f"residual {first['residual']:.1e}")
                missed = count_missed(first["values"], sorted(exact), 10 * ACCURACY * first["norm"])
                times = repeated(task, first, arguments)
            except RuntimeError as error:
                notes.append(f"{problem}: {library}, {describe(setting)}: {error}")
                print("  " + notes[-1], flush=True)
                continue
            answer = {"wanted": wanted, "residual": f"{first['residual']:.1e}", "target": ACCURACY, "missed": missed}
            rows.append({"task": "eigsh", "problem": problem, "library": library, "setting": describe(setting)})
            rows[-1] |= answer | times
            print("  ", rows[-1], flush=True)
    return rows


def qr_rows(rows_count, columns, arguments, notes):
    name = f"{rows_count:.0e} x {columns}".replace("e+0", "e")
    free = os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    if 8 * rows_count * columns > free / 6:
        notes.append(f"qr {name}: more than a sixth of the free memory")
        return []
    rows = []
    for library in QR:
        task = {"task": "qr", "library": library, "rows": rows_count, "columns": columns}
        try:
            first = run(task, arguments)
            row = {"task": "qr", "problem": name, "wanted": columns, "library": library, "setting": "defaults"}
            rows.append(row | {"residual": f"{first['residual']:.1e}"} | repeated(task, first, arguments))
            print("  ", rows[-1], flush=True)
        except RuntimeError as error:
            notes.append(f"qr {name}: {library}: {error}")
    return rows


def with_ratios(rows):
    ours = next((float(row["seconds"]) for row in rows if row["library"] == "BlockVec"), None)
    return [row | {"ratio": f"{float(row['seconds']) / ours:.2f}" if ours else ""} for row in rows]


def head(arguments):
    versions = [f"Python {platform.python_version()}"]
    for package in ("blockvec", "numpy", "scipy", "primme"):
        try:
            versions.append(f"{package} {importlib.metadata.version(package)}")
        except importlib.metadata.PackageNotFoundError:
            versions.append(f"no {package}")
    slepc = glob.glob("/usr/lib/slepcdir/slepc*")
    versions.append(os.path.basename(slepc[0]) if slepc else "no SLEPc")
    first = machine.head("python_peers.py", arguments.commit, f"{arguments.cores} cores", ", ".join(versions))
    return [first, f"medians of {arguments.runs} runs; stopped after {arguments.limit:.0f} s"]


def read_csv(path):
    if not os.path.exists(path):
        return []
    with open(path, encoding="utf-8") as file:
        return list(csv.DictReader(line for line in file if not line.startswith("#")))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--commit", default="unknown")
    parser.add_argument("--cores", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--out", default="python_peers.csv")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--limit", type=float, default=120, help="seconds for one run")
    parser.add_argument("--only", nargs="*", help='problems, as "hypercube 13" or "qr 1e6 x 16"; other rows stay')
    parser.add_argument("--child", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        child(json.loads(arguments.child))
        return
    tasks = {problem: lambda notes, p=problem: eigsh_rows(p, arguments, notes) for problem in PROBLEMS}
    for rows, columns in QR_SIZES:
        name = f"qr {rows:.0e} x {columns}".replace("e+0", "e")
        tasks[name] = lambda notes, r=rows, c=columns: qr_rows(r, c, arguments, notes)
    kept, notes = read_csv(arguments.out) if arguments.only else [], []
    for name, measure in tasks.items():
        if arguments.only and name not in arguments.only:
            continue
        print(name, flush=True)
        found = with_ratios(measure(notes))
        done = {(row["task"], row["problem"]) for row in found}
        kept = [row for row in kept if (row["task"], row["problem"]) not in done] + found
        with open(arguments.out, "w", newline="", encoding="utf-8") as file:
            file.writelines(f"# {line}\n" for line in head(arguments) + notes)
            writer = csv.DictWriter(file, fieldnames=COLUMNS, lineterminator="\n")
            writer.writeheader()
            writer.writerows(kept)


if __name__ == "__main__":
    main()
