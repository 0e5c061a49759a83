#!/usr/bin/env python3
"""BlockVec's eigensolvers beside SLEPc, PRIMME, ARPACK and SciPy's lobpcg: on the same cores, to the same accuracy.

    bench/solver_peers.py --program build/release/examples/eigensolve --data DATA --out bench/results/cpu/solver_peers
    bench/solver_peers.py --out bench/results/cpu/solver_peers --draw      # the picture and a table from the CSV

bench/solver_problems.py lists the problems; DATA is a folder with the matrices that it reads, and problems whose files
are missing are left out. Every library gets the same matrix and all settings of bench/solver_settings.py; ours has the
defaults of each method. A setting counts if its recomputed residuals reach the problem's accuracy: ||A x - theta x||
over ||A||, or ||A x - theta B x|| over ||A|| + |theta| ||B||; its tolerance is tightened until they do. The best
setting of a library misses the fewest of the wanted eigenvalues, copies counted, and is the fastest of those: by one
run, or by the median of three that take less than 0.1 s. It is run several times, and the median counts. The table has
every setting that was tried. `ratio`: seconds over those of our best setting. `applications` counts vectors that A was
applied to, `calls` products with blocks of them; SLEPc does not tell. `applications_b` counts vectors that B was
applied to, where we know.

No library is given a factorisation of A or B. At the lower end of pairs all get Jacobi's preconditioner, except our
Lanczos, Chebyshev and dense, which take none; dense, the whole spectrum by LAPACK, is tried up to 1000 rows. SLEPc's
filter is given the interval of the wanted eigenvalues and the range of all, which it needs. PRIMME is told how many
eigenvalues lie in an interval. Only solving is timed. Reading the matrix, setting up operators and, where a library has
such a step (SLEPc, ours), allocating the basis are not. Ours runs on threads (OMP_PROC_BIND), SLEPc on MPI ranks. The
others multiply through Python; they get a product on all cores where that is faster than SciPy's serial one.

A run is stopped after --limit seconds, and a setting after three times the best complete answer; the table says so.
The table is written after each problem. No problem begins after --minutes, and --resume goes on with those that are
missing.
Needs python3-scipy, python3-slepc4py and python3-matplotlib (Debian), and primme (PyPI); a missing peer is left out.
"""

import argparse
import concurrent.futures
import csv
import glob
import importlib.metadata
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np
import scipy.io
import scipy.sparse
import scipy.sparse.linalg

import machine
from peer_answers import count_missed, describe
from solver_peers_report import draw, print_table, read_csv
from solver_problems import PROBLEMS
from solver_settings import FEW, SETTINGS, settings_of

COLUMNS = [
    "problem", "wanted", "method", "library", "setting", "best", "seconds", "seconds_min", "seconds_max", "runs",
    "applications", "applications_b", "calls", "reductions", "residual", "target", "missed", "ratio",
]  # fmt: skip


class TooSlow(Exception):
    pass


class Product:
    """X -> A X in as many pieces of rows as there are cores where that is faster; counts vectors and calls. SciPy's
    product lets go of the interpreter's lock."""

    def __init__(self, matrix, cores, columns):
        self.matrix, self.applications, self.calls, self.pool = matrix, 0, 0, None
        bounds = np.searchsorted(matrix.indptr, np.linspace(0, matrix.nnz, cores + 1)).clip(0, matrix.shape[0])
        bounds[0], bounds[-1] = 0, matrix.shape[0]
        self.pieces = [matrix[a:b] for a, b in zip(bounds, bounds[1:])]
        if cores < 2:
            return
        x = np.ones((matrix.shape[0], columns)) if columns > 1 else np.ones(matrix.shape[0])
        serial = self.seconds(x)
        self.pool = concurrent.futures.ThreadPoolExecutor(cores)
        if self.seconds(x) > serial:
            self.pool = None
        self.applications = self.calls = 0

    def seconds(self, x):
        self(x)
        begin = time.perf_counter()
        for _ in range(10):
            self(x)
        return time.perf_counter() - begin

    def __call__(self, x):
        self.calls += 1
        self.applications += 1 if x.ndim == 1 else x.shape[1]
        if self.pool is None:
            return self.matrix @ x
        return np.concatenate(list(self.pool.map(lambda piece: piece @ x, self.pieces)))

    def operator(self):
        shape, kind = self.matrix.shape, self.matrix.dtype
        return scipy.sparse.linalg.LinearOperator(shape, matvec=self, matmat=self, dtype=kind)

    def counts(self):
        return {"applications": self.applications, "calls": self.calls}


def diagonal_inverse(a):
    d = np.abs(a.diagonal())
    return scipy.sparse.diags(1 / np.where(d > 0, d, 1)).tocsr()


def residual(a, b, norms, values, vectors):
    """The largest residual over the norms that it is measured by."""
    vectors = vectors / np.linalg.norm(vectors, axis=0)
    of = np.linalg.norm(a @ vectors - (vectors if b is None else b @ vectors) * values, axis=0)
    return float(np.max(of / (norms[0] if b is None else norms[0] + np.abs(values) * norms[1])))


def solve_arpack(a, b, task, cores):
    product = Product(a, cores, 1)
    options = {"k": task["wanted"], "ncv": task["setting"]["ncv"] or None, "tol": task["tolerance"]}
    operator = product.operator()
    begin = time.perf_counter()
    values, vectors = scipy.sparse.linalg.eigsh(operator, which="SA", maxiter=100000, **options)
    return time.perf_counter() - begin, values, vectors, f"SciPy {scipy.__version__}", product.counts()


def solve_lobpcg(a, b, task, cores):
    columns = task["wanted"] + task["setting"]["guard"]
    product = Product(a, cores, columns)
    x = np.random.default_rng(1).standard_normal((a.shape[0], columns)).astype(a.dtype)
    # SciPy's tolerance is absolute.
    options = {"tol": task["tolerance"] * task["norms"][0], "maxiter": 3000, "largest": False}
    preconditioner = diagonal_inverse(a) if b is not None else None
    begin = time.perf_counter()
    values, vectors = scipy.sparse.linalg.lobpcg(product.operator(), x, B=b, M=preconditioner, **options)
    seconds = time.perf_counter() - begin
    order = np.argsort(values)[: task["wanted"]]
    return seconds, values[order], vectors[:, order], f"SciPy {scipy.__version__}", product.counts()


def solve_primme(a, b, task, cores):
    import primme

    setting = task["setting"]
    block = setting["block"] or task["wanted"]
    product = Product(a, cores, block)
    place = task["place"]
    pair = {"M": b} if b is not None else {}
    if b is not None and place is None:
        pair["OPinv"] = diagonal_inverse(a)
    options = {"method": "PRIMME_" + setting["method"], "maxBlockSize": block}
    if "ncv" in setting:
        options["ncv"] = max(setting["ncv"], task["wanted"] + 3 * block)
    options |= {key: value for key, value in setting.items() if key.startswith("projection")}
    where = {"which": "SA"} if place is None else {"which": "SM", "sigma": place}
    operator = product.operator()
    begin = time.perf_counter()
    values, vectors = primme.eigsh(operator, k=task["wanted"], tol=task["tolerance"], **where, **options, **pair)
    seconds = time.perf_counter() - begin
    return seconds, values, vectors, f"primme {importlib.metadata.version('primme')}", product.counts()


def solve_slepc(a, b, task, cores):
    """On all ranks of an mpirun; the result is gathered on each, and the first one reports it."""
    for pattern in ("/usr/lib/slepcdir/*/*-real", "/usr/lib/petscdir/*/*-real"):
        sys.path += glob.glob(pattern + "/lib/python3/dist-packages")
    import slepc4py

    slepc4py.init([])
    from petsc4py import PETSc
    from slepc4py import SLEPc

    setting, n = task["setting"], a.shape[0]
    if np.iscomplexobj(a.data):
        raise RuntimeError("compiled for real numbers")
    begin_row, end_row = PETSc.Vec().createMPI(n).getOwnershipRange()

    def matrix(whole):
        rows = whole[begin_row:end_row]
        size = (end_row - begin_row, n)
        index = (rows.indptr.astype(PETSc.IntType), rows.indices.astype(PETSc.IntType), rows.data)
        one = PETSc.Mat().createAIJ(size=(size, size), csr=index)
        one.setOption(PETSc.Mat.Option.HERMITIAN, True)
        return one

    eps, ours = SLEPc.EPS().create(), matrix(a)
    eps.setOperators(ours, matrix(b) if b is not None else None)
    eps.setProblemType(SLEPc.EPS.ProblemType.HEP if b is None else SLEPc.EPS.ProblemType.GHEP)
    eps.setType(setting["method"])
    eps.setConvergenceTest(SLEPc.EPS.Conv.NORM)
    eps.setTolerances(task["tolerance"], 100000)
    eps.setDimensions(task["wanted"], max(setting.get("ncv") or 0, 2 * task["wanted"]) or PETSc.DEFAULT)
    eps.setWhichEigenpairs(SLEPc.EPS.Which.SMALLEST_REAL)
    if "filter" in setting:
        eps.setWhichEigenpairs(SLEPc.EPS.Which.ALL)
        eps.setInterval(*task["filtered"])
        transformation = eps.getST()
        transformation.setType(SLEPc.ST.Type.FILTER)
        transformation.setFilterInterval(*task["filtered"])
        transformation.setFilterRange(*task["range"])
        transformation.setFilterDegree(setting["filter"])
    if setting["method"] == "lobpcg":
        eps.setLOBPCGBlockSize(setting["block"])
    if setting["method"] == "gd":
        eps.setGDBlockSize(setting["block"])
    if "pc" in setting:
        eps.getST().setType(SLEPc.ST.Type.PRECOND)
        eps.getST().getKSP().getPC().setType(setting["pc"])
    eps.setUp()
    PETSc.COMM_WORLD.barrier()
    begin = time.perf_counter()
    eps.solve()
    seconds = time.perf_counter() - begin
    found = eps.getConverged()
    if found < task["wanted"]:
        raise RuntimeError(f"{found} pairs converged")
    x = ours.createVecRight()
    order = sorted(range(found), key=lambda i: eps.getEigenpair(i, x).real)[: task["wanted"]]
    values, vectors = np.empty(len(order)), np.empty((n, len(order)))
    for column, i in enumerate(order):
        values[column] = eps.getEigenpair(i, x).real
        scatter, everything = PETSc.Scatter.toAll(x)
        scatter.scatter(x, everything)
        vectors[:, column] = everything.getArray()
    version = "SLEPc " + ".".join(map(str, SLEPc.Sys.getVersion()))
    return seconds if PETSc.COMM_WORLD.getRank() == 0 else None, values, vectors, version, {}


PEERS = {"ARPACK": solve_arpack, "PRIMME": solve_primme, "SLEPc": solve_slepc, "SciPy lobpcg": solve_lobpcg}


def read(task):
    """A and B, or None."""
    return [None if name is None else scipy.sparse.load_npz(name) for name in task["matrices"]]


def child(arguments):
    """One run of one peer, in a process of its own: prints what it found."""
    task = json.loads(arguments.child)
    a, b = read(task)
    seconds, values, vectors, version, counts = PEERS[task["library"]](a, b, task, arguments.cores)
    if seconds is not None:
        values = np.asarray(values).real
        answer = {"seconds": seconds, "values": np.sort(values).tolist(), "version": version}
        print(json.dumps(answer | {"residual": residual(a, b, task["norms"], values, vectors)} | counts))


def run_peer(task, cores, limit):
    command = [sys.executable, os.path.abspath(__file__), "--child", json.dumps(task), "--cores", str(cores)]
    environment = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
    on_ranks = task["library"] == "SLEPc"
    if on_ranks:
        # mpirun ends its ranks itself; they would go on if only mpirun was stopped.
        command = ["mpirun", "-n", str(cores), "--oversubscribe", "--timeout", str(int(limit) + 1)] + command
        environment["OMP_NUM_THREADS"] = "1"
    begin = time.monotonic()
    try:
        wait = limit + (15 if on_ranks else 0)
        result = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=wait)
    except subprocess.TimeoutExpired as error:
        raise TooSlow(f"stopped after {limit:.0f} s") from error
    if result.returncode != 0:
        if time.monotonic() - begin > limit:
            raise TooSlow(f"stopped after {limit:.0f} s")
        lines = [line for line in result.stderr.splitlines() if "Error" in line] or result.stderr.strip().splitlines()
        raise RuntimeError(lines[-1].strip() if lines else f"exit status {result.returncode}")
    return json.loads(result.stdout.strip().splitlines()[-1])


def run_ours(program, task, cores, limit):
    """One run of eigensolve; its vectors are read back, and the residuals are recomputed as the peers' are."""
    with tempfile.TemporaryDirectory() as folder:
        answer, vectors = os.path.join(folder, "ours.json"), os.path.join(folder, "ours.mtx")
        chosen = [word for key, value in task["setting"].items() for word in ("--" + key, str(value))]
        if task["interval"]:
            chosen += ["--interval", *map(repr, task["interval"])]
        else:
            chosen += ["--nev", str(task["wanted"])]
            chosen += ["--target", repr(task["place"])] if task["place"] is not None else []
        command = [program, *task["options"], *chosen, "--tol", repr(task["tolerance"])]
        command += ["--threads", str(cores), "--quiet", "--json", answer, "--vectors", vectors]
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, env=dict(os.environ, OMP_PROC_BIND="true"), timeout=limit
            )
        except subprocess.TimeoutExpired as error:
            raise TooSlow(f"stopped after {limit:.0f} s") from error
        if done.returncode != 0:
            raise RuntimeError((done.stderr.strip().splitlines() or [f"exit status {done.returncode}"])[-1])
        with open(answer, encoding="utf-8") as file:
            result = json.load(file)
        a, b = read(task)
        values = np.array(result["eigenvalues"])
        return {
            "seconds": result["seconds"],
            "values": sorted(values.tolist()),
            "version": f"BlockVec {result['versions']['blockvec']}",
            "residual": residual(a, b, task["norms"], values, scipy.io.mmread(vectors)),
            "applications": result["applications"],
            "applications_b": result["applications_b"] or "",
            "calls": sum(one["calls"] for one in result["operations"] if one["name"] == "operator"),
            "reductions": result["reductions"],
        }


SHORT = 0.1  # seconds: what disturbs a machine may double a run that takes less


class Comparison:
    """All libraries on one problem."""

    def __init__(self, problem, matrices, options, norms, rows, arguments):
        self.problem, self.arguments, self.notes = problem, arguments, []
        self.task = {"matrices": matrices, "options": options, "norms": norms, "wanted": problem.wanted}
        self.task |= {"place": problem.place(), "interval": problem.interval}
        self.is_pair = matrices[1] is not None
        self.settings = settings_of(problem, self.is_pair, rows)
        self.fastest = None  # seconds of a complete answer

    def run(self, library, setting, tolerance, limit):
        task = self.task | {"library": library, "setting": setting, "tolerance": tolerance}
        if library == "BlockVec":
            return run_ours(self.arguments.program, task, self.arguments.cores, limit)
        return run_peer(task, self.arguments.cores, limit)

    def reference(self):
        """What is compared with: our answer at a hundredth of the tolerance."""
        return np.array(self.run("BlockVec", self.settings["BlockVec"][0], self.problem.accuracy / 100, 600)["values"])

    def starting_tolerance(self, library, exact):
        """ARPACK tests against tol |theta|; the others against tol ||A||."""
        largest = np.max(np.abs(exact))
        if library == "ARPACK" and largest > 0:
            return self.problem.accuracy * self.task["norms"][0] / largest
        return self.problem.accuracy

    def tried(self, library, setting, exact):
        """The first run whose residuals reach the accuracy, or what stood in the way."""
        tolerance, name, accuracy = self.starting_tolerance(library, exact), describe(setting), self.problem.accuracy
        reserve = 3 * self.fastest + 10 if self.fastest else 1e9  # for a complete answer that is no rival
        for _ in range(6):
            result = self.run(library, setting, tolerance, min(self.arguments.limit, reserve))
            if result["residual"] <= accuracy:
                break
            tolerance /= 10
        else:
            raise RuntimeError(f"residual {result['residual']:.1e}")
        if result["seconds"] < SHORT:
            again = [self.run(library, setting, tolerance, self.arguments.limit)["seconds"] for _ in range(2)]
            result["seconds"] = statistics.median([result["seconds"], *again])
        norm = self.task["norms"][0] / (self.task["norms"][1] if self.is_pair else 1)
        width = 10 * accuracy * max(norm, np.max(np.abs(exact)))
        missed = count_missed(result["values"], exact, width)
        told = f"{result['seconds']:8.3f} s  residual {result['residual']:.1e}  missed {missed}"
        print(f"  {library:14s} {name:40s} {told}", flush=True)
        return result | {"name": name, "setting": setting, "tolerance": tolerance, "missed": missed}

    def rows(self, library, exact):
        settings = self.settings[library]
        if self.problem.large:
            settings = settings[: FEW[library]]
        found = []
        for setting in settings:
            try:
                found.append(self.tried(library, setting, exact))
            except (TooSlow, RuntimeError, FileNotFoundError) as error:
                self.notes.append(f"{self.problem.title()}: {library}, {describe(setting)}: {error}")
                print("  " + self.notes[-1], flush=True)
                continue
            if found[-1]["missed"] == 0:
                self.fastest = min(self.fastest or 1e9, found[-1]["seconds"])
        if not found:
            return []
        best = min(found, key=lambda one: (one["missed"], one["seconds"]))
        for one in found:
            runs = min(self.arguments.runs, 3) if self.problem.large else self.arguments.runs
            again = runs - 1 if one is best else 0
            times = [one["seconds"]]
            times += [self.run(library, one["setting"], one["tolerance"], 600)["seconds"] for _ in range(again)]
            one["times"], one["best"] = times, "yes" if one is best else "no"
        return found


def row_of(problem, library, one, ours):
    seconds = statistics.median(one["times"])
    return {
        "problem": problem.name,
        "wanted": problem.wanted,
        "method": one["setting"].get("method", library.split()[-1].lower()),
        "library": library,
        "setting": describe({key: value for key, value in one["setting"].items() if key != "method"}),
        "best": one["best"],
        "seconds": f"{seconds:.4g}",
        "seconds_min": f"{min(one['times']):.4g}",
        "seconds_max": f"{max(one['times']):.4g}",
        "runs": len(one["times"]),
        "applications": one.get("applications", ""),
        "applications_b": one.get("applications_b", ""),
        "calls": one.get("calls", ""),
        "reductions": one.get("reductions", ""),
        "residual": f"{one['residual']:.1e}",
        "target": f"{problem.accuracy:.0e}",
        "missed": one["missed"],
        "ratio": f"{seconds / ours:.2f}" if ours else "",
    }


def end_of(matrix, which):
    """Roughly the eigenvalue at an end of the spectrum: SA, LA, or LM."""
    return float(scipy.sparse.linalg.eigsh(matrix, k=1, which=which, tol=1e-3, return_eigenvectors=False)[0])


def norm_of(matrix):
    return abs(end_of(matrix, "LM"))


def prepared(problem, folder, arguments):
    """A and B as matrices, and the options that give them to eigensolve."""
    names = [os.path.join(arguments.data, name) for name in problem.files]
    if problem.make:
        made = problem.make().tocsr()
        if problem.options:
            return [made], problem.options
        names = [os.path.join(folder, "made.mtx")]
        scipy.io.mmwrite(names[0], made, symmetry="symmetric")
    if names:
        options = ["--matrix", names[0]] + (["--mass", names[1]] if len(names) > 1 else [])
    else:
        options, names = problem.options, [os.path.join(folder, "matrix.mtx")]
        write = [arguments.program, *options, "--write-matrix", names[0], "--nev", "1", "--tol", "1", "--quiet"]
        subprocess.run(write, stdout=subprocess.DEVNULL, check=False)
    return [scipy.io.mmread(name).tocsr() for name in names], options


def compare(problem, arguments, versions):
    """Rows and remarks of one problem."""
    with tempfile.TemporaryDirectory() as folder:
        matrices, options = prepared(problem, folder, arguments)
        files = [os.path.join(folder, f"{name}.npz") for name, _ in zip("ab", matrices)]
        for file, matrix in zip(files, matrices):
            scipy.sparse.save_npz(file, matrix, compressed=False)
        a, norms = matrices[0], [norm_of(matrix) for matrix in matrices]
        print(f"{problem.title()}: n = {a.shape[0]}, {a.nnz} entries, ||A|| = {norms[0]:.4g}", flush=True)
        comparison = Comparison(problem, (files + [None])[:2], options, norms, a.shape[0], arguments)
        exact = problem.exact(arguments.data)
        if exact is None:
            exact = comparison.reference()
        if not comparison.is_pair:
            width, margin = max(exact[-1] - exact[0], 1e-4 * norms[0]), 0.01 * norms[0]
            below = 1e-3 * width if problem.is_inside() else 0.1 * width
            lowest = end_of(a, "SA") - margin if problem.is_inside() else exact[0] - below
            comparison.task["filtered"] = problem.interval or [exact[0] - below, exact[-1] + below / 10]
            comparison.task["range"] = [lowest, end_of(a, "LA") + margin]
        rows, ours = [], None
        for library in SETTINGS:
            found = comparison.rows(library, exact)
            for one in found:
                versions.add(one["version"])
                if library == "BlockVec" and one["best"] == "yes":
                    ours = statistics.median(one["times"])
            rows += [row_of(problem, library, one, ours) for one in found]
        return rows, comparison.notes


def commit():
    here = os.path.dirname(os.path.abspath(__file__))
    command = ["git", "-C", here, "describe", "--always", "--dirty"]
    return subprocess.run(command, capture_output=True, text=True).stdout.strip()


def write_csv(path, comments, rows):
    with open(path, "w", newline="", encoding="utf-8") as file:
        file.writelines(f"# {line}\n" for line in comments)
        writer = csv.DictWriter(file, fieldnames=COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def measure(arguments):
    """Fills the table problem by problem. What it has of others stays, under its own head."""
    path = arguments.out + ".csv"
    goes_on = (arguments.only or arguments.resume) and os.path.exists(path)
    kept, rows = read_csv(path) if goes_on else ([], [])
    done = {(row["problem"], row["wanted"]) for row in rows if arguments.resume}
    notes, versions = [], {f"NumPy {np.__version__}"}
    end = time.monotonic() + 60 * arguments.minutes
    for problem in PROBLEMS:
        if arguments.only and problem.title() not in arguments.only:
            continue
        if (problem.name, str(problem.wanted)) in done:
            continue
        if time.monotonic() > end:
            print(f"no time is left for {problem.title()} and what follows: go on with --resume", flush=True)
            break
        if not problem.is_here(arguments.data):
            notes.append(f"{problem.title()}: its files are missing")
            continue
        some, remarks = compare(problem, arguments, versions)
        rows = [row for row in rows if (row["problem"], row["wanted"]) != (problem.name, str(problem.wanted))] + some
        kept = [line for line in kept if not line.startswith(problem.title() + ":")]
        notes += remarks
        first = machine.head("solver_peers.py", commit(), f"{arguments.cores} cores", ", ".join(sorted(versions)))
        settings = (
            f"best: the median of {arguments.runs} runs, of 3 at most for a million rows; other settings: one run"
        )
        write_csv(path, [first, settings] + notes + kept, rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", help="the built eigensolve")
    parser.add_argument("--data", default="", help="folder with the matrices of files")
    parser.add_argument("--cores", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--out", default="solver_peers", help="writes OUT.csv and OUT.png")
    parser.add_argument("--runs", type=int, default=5, help="of each library's best setting")
    parser.add_argument("--limit", type=float, default=90, help="seconds for one run")
    parser.add_argument("--only", nargs="*", help='problems, as "Si2, 20"; other rows of OUT.csv stay')
    parser.add_argument("--minutes", type=float, default=math.inf, help="no problem begins after so many of them")
    parser.add_argument("--resume", action="store_true", help="leave out problems that OUT.csv has")
    parser.add_argument("--draw", action="store_true", help="measure nothing, draw what OUT.csv has")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        child(arguments)
        return
    if not arguments.draw:
        if not arguments.program:
            parser.error("--program is needed")
        measure(arguments)
    comments, rows = read_csv(arguments.out + ".csv")
    draw(comments, rows, arguments.out + ".png")
    print_table(rows)


if __name__ == "__main__":
    main()
