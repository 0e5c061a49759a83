#!/usr/bin/env python3
"""block_lanczos beside ARPACK, SLEPc and PRIMME: 8 lowest eigenpairs, on the same cores, to the same accuracy.

    bench/eigen_peers.py --program build/release/examples/block_lanczos --out bench/results/cpu/eigen_peers
    bench/eigen_peers.py --out bench/results/cpu/eigen_peers --draw      # the picture and a table from the CSV

Every library gets the matrix that block_lanczos writes and all settings of SETTINGS, block_lanczos its defaults alone.
A setting counts if its recomputed residuals max ||A x - theta x|| reach 1e-8 ||A||; its tolerance is tightened until
they do. The best setting misses the fewest of the wanted eigenvalues, copies counted, and is the fastest of those. It
is run several times, and the median counts. The table has every setting that was tried. No library is given a
factorisation of A; SLEPc's LOBPCG and GD run with and without their block Jacobi (ILU) preconditioner. SLEPc's filter
is given the interval of the wanted eigenvalues and the range of all, which it needs.

Only solving is timed. Reading the matrix, setting up operators and, where a library has such a step (SLEPc,
block_lanczos), allocating the basis are not. block_lanczos runs on threads (OMP_PROC_BIND), SLEPc on MPI ranks. ARPACK
and PRIMME multiply through Python; they get a product on all cores where that is faster than SciPy's serial one.

A library ends early when its share of --budget is spent, or a run after --limit seconds; the table says so. Needs
python3-scipy, python3-slepc4py and python3-matplotlib (Debian), and primme (PyPI); a peer that is missing is left out.
"""

import argparse
import concurrent.futures
import csv
import datetime
import glob
import importlib.metadata
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np
import scipy.io
import scipy.sparse
import scipy.sparse.linalg

NEV = 8
ACCURACY = 1e-8
PROBLEMS = {
    "heisenberg ring 20": ["--problem", "heisenberg", "--sites", "20", "--up", "10", "--periodic"],
    "laplacian 60^3": ["--problem", "laplacian", "--grid", "60", "60", "60"],
}
SMALL_PROBLEMS = {  # to try this program
    "heisenberg ring 12": ["--problem", "heisenberg", "--sites", "12", "--up", "6", "--periodic"],
    "laplacian 12^3": ["--problem", "laplacian", "--grid", "12", "12", "12"],
}
# Likely winners first: the others are left out where time runs short. ncv 0: the library's own choice.
SETTINGS = {
    "block_lanczos": [{}],
    "SLEPc": [
        {"method": "krylovschur", "ncv": 0},
        {"method": "krylovschur", "ncv": 40},
        {"method": "krylovschur", "ncv": 80},
        {"method": "krylovschur", "filter": 20, "ncv": 40},
        {"method": "krylovschur", "filter": 10, "ncv": 40},
        {"method": "krylovschur", "filter": 40, "ncv": 40},
        {"method": "lobpcg", "block": 8, "pc": "none"},
        {"method": "gd", "block": 4, "ncv": 40, "pc": "none"},
        {"method": "gd", "block": 8, "ncv": 80, "pc": "none"},
        {"method": "gd", "block": 1, "ncv": 40, "pc": "none"},
        {"method": "lobpcg", "block": 12, "pc": "none"},
        {"method": "lobpcg", "block": 8, "pc": "bjacobi"},
        {"method": "gd", "block": 4, "ncv": 40, "pc": "bjacobi"},
    ],
    "ARPACK": [{"ncv": 40}, {"ncv": 20}, {"ncv": 80}],
    "PRIMME": [
        {"method": "DYNAMIC", "block": 1, "ncv": 40},
        {"method": "JDQMR", "block": 1, "ncv": 40},
        {"method": "GD_Olsen_plusK", "block": 4, "ncv": 40},
        {"method": "GD_Olsen_plusK", "block": 1, "ncv": 40},
        {"method": "LOBPCG_OrthoBasis", "block": 8},
        {"method": "JDQMR", "block": 4, "ncv": 40},
        {"method": "GD_Olsen_plusK", "block": 8, "ncv": 80},
        {"method": "GD_Olsen_plusK", "block": 2, "ncv": 40},
        {"method": "JDQMR_ETol", "block": 1, "ncv": 40},
        {"method": "JDQMR", "block": 8, "ncv": 80},
    ],
}
COLUMNS = [
    "problem",
    "library",
    "best",
    "seconds",
    "seconds_min",
    "seconds_max",
    "runs",
    "missed",
    "residual",
    "target",
    "setting",
    "tolerance",
    "ratio_to_block_lanczos",
]


class TooSlow(Exception):
    pass


class ThreadedProduct:
    """A x in as many pieces of rows as there are cores: SciPy's product lets go of the interpreter's lock."""

    def __init__(self, matrix, cores):
        self.shape, self.dtype = matrix.shape, matrix.dtype
        bounds = np.searchsorted(matrix.indptr, np.linspace(0, matrix.nnz, cores + 1)).clip(0, matrix.shape[0])
        bounds[0], bounds[-1] = 0, matrix.shape[0]
        self.pieces = [matrix[a:b] for a, b in zip(bounds, bounds[1:])]
        self.pool = concurrent.futures.ThreadPoolExecutor(cores)

    def __call__(self, x):
        return np.concatenate(list(self.pool.map(lambda piece: piece @ x, self.pieces)))


def faster_product(matrix, cores, columns):
    """The threaded product as a LinearOperator if it is faster than the matrix's own on a block, else the matrix."""
    if cores < 2:
        return matrix
    threaded = ThreadedProduct(matrix, cores)
    x = np.ones((matrix.shape[0], columns)) if columns > 1 else np.ones(matrix.shape[0])

    def seconds(product):
        product(x)
        begin = time.perf_counter()
        for _ in range(10):
            product(x)
        return time.perf_counter() - begin

    if seconds(threaded) < seconds(lambda y: matrix @ y):
        return scipy.sparse.linalg.LinearOperator(matrix.shape, matvec=threaded, matmat=threaded, dtype=matrix.dtype)
    return matrix


def residual(matrix, values, vectors):
    vectors = vectors / np.linalg.norm(vectors, axis=0)
    return float(np.max(np.linalg.norm(matrix @ vectors - vectors * values, axis=0)))


def solve_arpack(matrix, tolerance, setting, hints, cores):
    operator = faster_product(matrix, cores, 1)
    begin = time.perf_counter()
    values, vectors = scipy.sparse.linalg.eigsh(
        operator, k=NEV, which="SA", ncv=setting["ncv"], tol=tolerance, maxiter=100000
    )
    return time.perf_counter() - begin, values, vectors, f"SciPy {scipy.__version__}"


def solve_primme(matrix, tolerance, setting, hints, cores):
    import primme

    operator = faster_product(matrix, cores, setting["block"])
    begin = time.perf_counter()
    values, vectors = primme.eigsh(
        operator,
        k=NEV,
        which="SA",
        tol=tolerance,
        method="PRIMME_" + setting["method"],
        maxBlockSize=setting["block"],
        ncv=setting.get("ncv"),
    )
    return time.perf_counter() - begin, values, vectors, f"primme {importlib.metadata.version('primme')}"


def solve_slepc(matrix, tolerance, setting, hints, cores):
    """On all ranks of an mpirun; the result is gathered on each, and the first one reports it."""
    for folder in glob.glob("/usr/lib/slepcdir/*/*-real/lib/python3/dist-packages") + glob.glob(
        "/usr/lib/petscdir/*/*-real/lib/python3/dist-packages"
    ):
        sys.path.append(folder)
    import slepc4py

    slepc4py.init([])
    from petsc4py import PETSc
    from slepc4py import SLEPc

    n = matrix.shape[0]
    local = PETSc.Vec().createMPI(n).getOwnershipRange()
    rows = matrix[local[0] : local[1]]
    a = PETSc.Mat().createAIJ(
        size=((local[1] - local[0], n), (local[1] - local[0], n)),
        csr=(rows.indptr.astype(PETSc.IntType), rows.indices.astype(PETSc.IntType), rows.data),
    )
    a.setOption(PETSc.Mat.Option.HERMITIAN, True)
    eps = SLEPc.EPS().create()
    eps.setOperators(a)
    eps.setProblemType(SLEPc.EPS.ProblemType.HEP)
    eps.setType(setting["method"])
    eps.setConvergenceTest(SLEPc.EPS.Conv.NORM)
    eps.setTolerances(tolerance, 100000)
    eps.setDimensions(NEV, setting.get("ncv") or PETSc.DEFAULT)
    if "filter" in setting:
        eps.setWhichEigenpairs(SLEPc.EPS.Which.ALL)
        eps.setInterval(*hints["interval"])
        eps.getST().setType(SLEPc.ST.Type.FILTER)
        eps.getST().setFilterInterval(*hints["interval"])
        eps.getST().setFilterRange(*hints["range"])
        eps.getST().setFilterDegree(setting["filter"])
    else:
        eps.setWhichEigenpairs(SLEPc.EPS.Which.SMALLEST_REAL)
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
    if found < NEV:
        raise RuntimeError(f"{found} pairs converged")
    x = a.createVecRight()
    order = sorted(range(found), key=lambda i: eps.getEigenpair(i, x).real)[:NEV]
    values, vectors = np.empty(NEV), np.empty((n, NEV))
    for column, i in enumerate(order):
        values[column] = eps.getEigenpair(i, x).real
        scatter, everything = PETSc.Scatter.toAll(x)
        scatter.scatter(x, everything)
        vectors[:, column] = everything.getArray()
    version = "SLEPc " + ".".join(map(str, SLEPc.Sys.getVersion()))
    return seconds if PETSc.COMM_WORLD.getRank() == 0 else None, values, vectors, version


PEERS = {"ARPACK": solve_arpack, "PRIMME": solve_primme, "SLEPc": solve_slepc}


def child(arguments):
    """One run of one peer, in a process of its own: prints what it found."""
    task = json.loads(arguments.child)
    matrix = scipy.sparse.load_npz(task["matrix"])
    seconds, values, vectors, version = PEERS[task["peer"]](
        matrix, task["tolerance"], task["setting"], task["hints"], arguments.cores
    )
    if seconds is not None:
        order = np.argsort(values)
        print(
            json.dumps(
                {
                    "seconds": seconds,
                    "values": np.asarray(values)[order].tolist(),
                    "version": version,
                    "residual": residual(matrix, np.asarray(values), vectors),
                }
            )
        )


def run_peer(peer, matrix_file, hints, cores, setting, tolerance, limit):
    task = {"peer": peer, "matrix": matrix_file, "tolerance": tolerance, "setting": setting, "hints": hints}
    command = [sys.executable, os.path.abspath(__file__), "--child", json.dumps(task), "--cores", str(cores)]
    environment = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
    if peer == "SLEPc":
        # mpirun ends its ranks itself; they would go on if only mpirun was stopped.
        command = ["mpirun", "-n", str(cores), "--oversubscribe", "--timeout", str(int(limit) + 1)] + command
        environment["OMP_NUM_THREADS"] = "1"
    begin = time.monotonic()
    try:
        result = subprocess.run(
            command, capture_output=True, text=True, env=environment, timeout=limit + (15 if peer == "SLEPc" else 0)
        )
    except subprocess.TimeoutExpired as error:
        raise TooSlow(f"stopped after {limit:.0f} s") from error
    if result.returncode != 0:
        if time.monotonic() - begin > limit:
            raise TooSlow(f"stopped after {limit:.0f} s")
        lines = [line for line in result.stderr.splitlines() if "Error" in line] or result.stderr.strip().splitlines()
        raise RuntimeError(lines[-1].strip() if lines else f"exit status {result.returncode}")
    return json.loads(result.stdout.strip().splitlines()[-1])


def run_ours(program, options, matrix, folder, cores, setting, tolerance, limit):
    answer, vectors = os.path.join(folder, "ours.json"), os.path.join(folder, "ours.mtx")
    subprocess.run(
        [
            program,
            *options,
            "--nev",
            str(NEV),
            "--tol",
            repr(tolerance),
            "--threads",
            str(cores),
            "--quiet",
            "--json",
            answer,
            "--vectors",
            vectors,
        ],
        check=True,
        env=dict(os.environ, OMP_PROC_BIND="true"),
    )
    with open(answer, encoding="utf-8") as file:
        result = json.load(file)
    values = np.array(result["eigenvalues"])
    return {
        "seconds": result["seconds"],
        "values": sorted(values.tolist()),
        "version": f"BlockVec {result['versions']['blockvec']}",
        "residual": residual(matrix, values, scipy.io.mmread(vectors)),
    }


def starting_tolerance(peer, norm, values):
    """ARPACK tests against tol |theta|; the others against tol ||A||."""
    return ACCURACY * norm / np.max(np.abs(values)) if peer == "ARPACK" else ACCURACY


def count_missed(found, exact, accuracy):
    """How many exact eigenvalues, copies counted, have no partner of their own among those found. Both ascending."""
    rest, missed = list(found), 0
    for value in exact:
        partner = next((x for x in rest if abs(x - value) <= accuracy), None)
        if partner is None:
            missed += 1
        else:
            rest.remove(partner)
    return missed


def describe(setting):
    """ "krylovschur, ncv 40" """
    parts = [setting["method"]] if "method" in setting else []
    parts += [f"{key} {value or 'default'}" for key, value in setting.items() if key != "method"]
    return ", ".join(parts) or "defaults"


def tried(library, run, norm, values, arguments, notes):
    """One result for every setting that reaches the target, the best one with several runs. Prints as it goes."""
    found, best, end = [], None, time.monotonic() + arguments.share
    for number, setting in enumerate(SETTINGS[library]):
        left = end - time.monotonic()
        if left < 3 and number > 0:
            notes.append(f"{library}: no time for {'; '.join(describe(s) for s in SETTINGS[library][number:])}")
            print("  " + notes[-1], flush=True)
            break
        tolerance, name = starting_tolerance(library, norm, values), describe(setting)
        try:
            for _ in range(4):
                # A run that is three times as slow as a complete answer is not the best one.
                limit = min(
                    arguments.limit, max(left, 10), 3 * best["seconds"] + 10 if best and not best["missed"] else 1e9
                )
                result = run(setting, tolerance, limit)
                if result["residual"] <= ACCURACY * norm:
                    break
                tolerance /= 10
            else:
                raise RuntimeError(f"residual {result['residual']:.1e}")
        except (TooSlow, RuntimeError, subprocess.CalledProcessError, FileNotFoundError) as error:
            notes.append(f"{library}, {name}: {error}")
            print("  " + notes[-1], flush=True)
            continue
        result.update(
            setting=name,
            tolerance=tolerance,
            missed=count_missed(result["values"], values, 10 * ACCURACY * norm),
            times=[result["seconds"]],
            key=setting,
        )
        print(
            f"  {library:14s} {name:36s} {result['seconds']:8.2f} s  residual {result['residual']:.1e}  "
            f"missed {result['missed']}",
            flush=True,
        )
        found.append(result)
        if best is None or (result["missed"], result["seconds"]) < (best["missed"], best["seconds"]):
            best = result
    if best:
        for _ in range(arguments.runs - 1):
            best["times"].append(run(best["key"], best["tolerance"], arguments.limit)["seconds"])
        best["best"] = True
    return found


def commit():
    here = os.path.dirname(os.path.abspath(__file__))
    return subprocess.run(
        ["git", "-C", here, "describe", "--always", "--dirty"], capture_output=True, text=True
    ).stdout.strip()


def processor():
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        for line in file:
            if line.startswith("model name"):
                return line.split(":")[1].strip()
    return platform.machine()


def read_csv(path):
    with open(path, encoding="utf-8") as file:
        lines = file.read().splitlines()
    rows = list(csv.DictReader(line for line in lines if not line.startswith("#")))
    for row in rows:
        row.setdefault("best", "yes")  # a table of the best settings
    return [line.lstrip("# ") for line in lines if line.startswith("#")], rows


def setting_text(row):
    """What a row says of its setting; older tables have JSON."""
    return (
        describe(json.loads(row["setting"])).replace("PRIMME_", "")
        if row["setting"].startswith("{")
        else row["setting"]
    )


def draw(comments, rows, picture):
    """Every setting as a dot on an axis of seconds, the best of each library large and with its name."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    problems = list(dict.fromkeys(row["problem"] for row in rows))
    figure, axes = plt.subplots(1, len(problems), figsize=(7.2 * len(problems), 3.6), squeeze=False)
    for axis, problem in zip(axes[0], problems):
        mine = [row for row in rows if row["problem"] == problem]
        best = sorted((row for row in mine if row["best"] == "yes"), key=lambda row: -float(row["seconds"]))
        for height, chosen in enumerate(best):
            color = "#c53030" if chosen["library"] == "block_lanczos" else "#2b6cb0"
            for row in (row for row in mine if row["library"] == chosen["library"]):
                large = row is chosen
                axis.plot(
                    float(row["seconds"]),
                    height,
                    "o",
                    ms=11 if large else 5,
                    color="white" if row["missed"] != "0" else color,
                    mec=color,
                    mew=1.6 if large else 1,
                    alpha=1 if large else 0.55,
                    zorder=3 if large else 2,
                )
            missed = f", misses {chosen['missed']} of {NEV}" if chosen["missed"] != "0" else ""
            axis.annotate(
                f"{float(chosen['seconds']):.2f} s{missed}: {setting_text(chosen)}",
                (float(chosen["seconds"]), height),
                xytext=(0, 9),
                textcoords="offset points",
                ha="center",
                fontsize=8.5,
            )
        seconds = [float(row["seconds"]) for row in mine]
        axis.set_xscale("log")
        axis.set_xlim(min(seconds) / 3, max(seconds) * 3)
        axis.set_ylim(-0.5, len(best) - 0.3)
        axis.set_yticks(range(len(best)), [row["library"] for row in best], fontsize=10)
        axis.set_title(f"{problem}: {NEV} lowest pairs", fontsize=12, weight="bold")
        axis.set_xlabel("seconds")
        axis.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
        axis.grid(axis="x", color="#e2e8f0")
        axis.set_axisbelow(True)
        axis.spines[["top", "right", "left"]].set_visible(False)
        axis.tick_params(length=0)
    figure.text(
        0.5,
        0.07,
        "Large: the best setting of each library. Small: the others tried. Hollow: wanted eigenvalues are missing.",
        ha="center",
        fontsize=9,
        color="#4a5568",
    )
    figure.text(0.995, 0.015, comments[0], ha="right", fontsize=8, color="#718096")
    figure.tight_layout(rect=(0, 0.1, 1, 1))
    figure.savefig(picture, dpi=120)


def print_table(rows):
    """The best settings in Markdown, for docs/performance.md."""
    print("| matrix | library | seconds | missing | setting |\n|---|---|---|---|---|")
    for row in rows:
        if row["best"] == "yes":
            print(
                f"| {row['problem']} | {row['library']} | {float(row['seconds']):.2f} | {row['missed']} of {NEV} "
                f"| {setting_text(row)} |"
            )


def measure(arguments):
    """Rows of the table and its comments."""
    rows, notes, versions = [], [], {f"NumPy {np.__version__}"}
    with tempfile.TemporaryDirectory() as folder:
        for problem, options in (SMALL_PROBLEMS if arguments.small else PROBLEMS).items():
            text, packed = os.path.join(folder, "matrix.mtx"), os.path.join(folder, "matrix.npz")
            subprocess.run(
                [arguments.program, *options, "--write-matrix", text, "--quiet"], check=True, stdout=subprocess.DEVNULL
            )
            matrix = scipy.io.mmread(text).tocsr()
            scipy.sparse.save_npz(packed, matrix, compressed=False)
            norm = float(
                abs(scipy.sparse.linalg.eigsh(matrix, k=1, which="LM", tol=1e-3, return_eigenvectors=False)[0])
            )
            top = float(scipy.sparse.linalg.eigsh(matrix, k=1, which="LA", tol=1e-3, return_eigenvectors=False)[0])
            print(
                f"{problem}: n = {matrix.shape[0]}, {matrix.nnz} entries, ||A|| = {norm:.4f}, "
                f"residuals to {ACCURACY * norm:.1e}",
                flush=True,
            )

            def ours(setting, tolerance, limit):
                return run_ours(arguments.program, options, matrix, folder, arguments.cores, setting, tolerance, limit)

            values = np.array(ours({}, ACCURACY / 100, arguments.limit)["values"])
            width = values[-1] - values[0]
            hints = {
                "interval": [values[0] - 0.1 * width, values[-1] + 0.01 * width],
                "range": [values[0] - 0.1 * width, top + 0.01 * norm],
            }
            reference = None
            for library in SETTINGS:

                def peer(setting, tolerance, limit, library=library):
                    return run_peer(library, packed, hints, arguments.cores, setting, tolerance, limit)

                remarks = []
                for result in tried(
                    library, ours if library == "block_lanczos" else peer, norm, values, arguments, remarks
                ):
                    seconds = statistics.median(result["times"])
                    reference = seconds if library == "block_lanczos" else reference
                    versions.add(result["version"])
                    rows.append(
                        {
                            "problem": problem,
                            "library": library,
                            "best": "yes" if result.get("best") else "no",
                            "seconds": round(seconds, 3),
                            "seconds_min": round(min(result["times"]), 3),
                            "seconds_max": round(max(result["times"]), 3),
                            "runs": len(result["times"]),
                            "missed": str(result["missed"]),
                            "residual": f"{result['residual']:.2e}",
                            "target": f"{ACCURACY * norm:.2e}",
                            "setting": result["setting"],
                            "tolerance": f"{result['tolerance']:.2e}",
                            "ratio_to_block_lanczos": round(seconds / reference, 2) if reference else "",
                        }
                    )
                notes += [f"left out on {problem}: {remark}" for remark in remarks]
    machine = f"{processor()}, {arguments.cores} cores"
    first = f"{datetime.date.today()}, commit {commit()}, {machine}, {', '.join(sorted(versions))}"
    return [first, f"best: the median of {arguments.runs} runs; other settings: one run"] + notes, rows


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", help="the built block_lanczos")
    parser.add_argument("--cores", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--out", default="eigen_peers", help="writes OUT.csv and OUT.png")
    parser.add_argument("--runs", type=int, default=3, help="of each library's best setting")
    parser.add_argument("--budget", type=float, default=900, help="seconds for all settings, shared evenly")
    parser.add_argument("--limit", type=float, default=90, help="seconds for one run")
    parser.add_argument("--small", action="store_true", help="small problems, to try this program")
    parser.add_argument("--draw", action="store_true", help="measure nothing, draw what OUT.csv has")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        child(arguments)
        return
    if not arguments.draw:
        if not arguments.program:
            parser.error("--program is needed")
        arguments.share = arguments.budget / (len(PROBLEMS) * len(PEERS))
        comments, rows = measure(arguments)
        with open(arguments.out + ".csv", "w", newline="", encoding="utf-8") as file:
            file.writelines(f"# {line}\n" for line in comments)
            writer = csv.DictWriter(file, fieldnames=COLUMNS)
            writer.writeheader()
            writer.writerows(rows)
    comments, rows = read_csv(arguments.out + ".csv")
    draw(comments, rows, arguments.out + ".png")
    print_table(rows)


if __name__ == "__main__":
    main()
