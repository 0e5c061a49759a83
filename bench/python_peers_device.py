#!/usr/bin/env python3
"""The Python package on a GPU beside CuPy, PyTorch and the C++ library: what a user types, on the same card.

    bench/python_peers_device.py --orth-step build/release/bench/orth_step --commit ID > python_peers_device.csv
    bench/python_peers_device.py --parts eigsh --limit 120          # one part; the parts are step, qr and eigsh

step: `orthonormalize` of 8 columns beside a basis of 56, columns of one array of 2^22 rows, in place, beside the same
call in C++: bench/orth_step, which runs before and after. `ratio`: seconds over the first run of the same block in C++.

qr: `qr`, `orthonormalize`, `gram` and `project` on CuPy's arrays and torch's tensors, beside linalg.qr, matmul, and
CholQR by hand: Gram matrix, Cholesky factor, triangular solve or product with the inverse. `project` removes a basis as
wide as the array. `gb_per_s` counts the least traffic: c words a row for `gram` of c columns, 3 c for a factorisation
(read, read again, write), and 5 c for `project`. `residual` is ||I - Q^H Q||, of `project` ||V^H X|| over the norm of
the given X, of `gram` the relative difference from a sum of short products. What does not fit in the memory is named
and left out.

eigsh: BlockVec, CuPy's eigsh and lobpcg on a sparse matrix of CuPy's, as bench/solver_peers_device.py does it: a
setting counts if its recomputed residuals reach 1e-8 ||A||; `missed` counts wanted eigenvalues, copies counted, that
were not found. What BlockVec does once per matrix, a copy through the host, is timed. `peak_mb`: how far the used
memory of the card rose during a first run, which is not timed.

Each call begins and ends with an idle device; medians of --runs calls after one or two, fewer where they take long.
`ratio`: seconds over our first row of the same problem and arrays. Rows are written when they are there. --limit ends
everything in time. Needs the package with CUDA, cupy, torch and scipy; a library that is missing is named.
"""

import argparse
import csv
import datetime
import functools
import importlib
import itertools
import math
import statistics
import subprocess
import sys
import threading
import time

import machine
import numpy as np
import scipy.sparse
from peer_answers import count_missed, describe
from peer_process import Peer
from python_peers import QR_SIZES, grid
from solver_peers_device import ACCURACY, cupy_eigsh, cupy_lobpcg, measure, timed_answer
from solver_problems import hypercube, hypercube_values, laplacian_values

STEP_ROWS, BASIS, BLOCK = 2**22, 56, 8
STEP_METHOD = "pipi+/cholqr2"
WIDTHS = [(columns, "float64") for columns in sorted({columns for _, columns in QR_SIZES})] + [(16, "complex128")]
SHORT = 2**12  # rows
MOST_SECONDS = 3  # of the repetitions of one call
COLUMNS = [
    "task", "problem", "dtype", "arrays", "library", "setting", "seconds", "seconds_min", "seconds_max", "runs",
    "gb_per_s", "residual", "target", "missed", "peak_mb", "ratio",
]  # fmt: skip


class CuPy:
    """What is asked of an array library."""

    name = "CuPy"

    def __init__(self):
        import cupy
        import cupyx.scipy.linalg

        self.module, self.linalg, self.tall_solve = cupy, cupy.linalg, cupyx.scipy.linalg.solve_triangular

    def random(self, rows, columns, dtype, seed=1):
        generator = self.module.random.default_rng(seed)
        x = generator.standard_normal((rows, columns))
        return x if dtype == "float64" else x + 1j * generator.standard_normal((rows, columns))

    def small(self, matrix):
        return self.module.asarray(matrix)

    def copy(self, x):
        return x.copy()

    def adjoint(self, x):
        return x.T.conj()

    def solve(self, x, low):
        """X R^-1, where R^H is `low`."""
        return self.adjoint(self.tall_solve(low, self.adjoint(x), lower=True))

    def inverse(self, low):
        return self.tall_solve(low, self.module.eye(len(low), dtype=low.dtype), lower=True)

    def synchronize(self):
        self.module.cuda.Device().synchronize()

    def free_bytes(self):
        self.module.get_default_memory_pool().free_all_blocks()
        return self.module.cuda.runtime.memGetInfo()[0]


class Torch:
    name = "torch"

    def __init__(self):
        import torch

        self.module, self.linalg, self.stream = torch, torch.linalg, torch.cuda.current_stream()

    def random(self, rows, columns, dtype, seed=1):
        self.module.manual_seed(seed)
        return self.module.randn(rows, columns, dtype=getattr(self.module, dtype), device="cuda")

    def small(self, matrix):
        return self.module.as_tensor(matrix, device="cuda")

    def copy(self, x):
        return x.clone(memory_format=self.module.contiguous_format)

    def adjoint(self, x):
        return x.mH

    def solve(self, x, low):
        return self.linalg.solve_triangular(low.mH, x, upper=True, left=False)

    def inverse(self, low):
        one = self.module.eye(len(low), dtype=low.dtype, device=low.device)
        return self.linalg.solve_triangular(low, one, upper=False)

    def synchronize(self):
        self.stream.synchronize()  # torch.cuda.synchronize() takes 6 us of its own

    def free_bytes(self):
        self.module.cuda.empty_cache()
        return self.module.cuda.mem_get_info()[0]


ARRAYS = {"CuPy": CuPy, "torch": Torch}


def product_with_inverse(xp, x, low):
    return x @ xp.adjoint(xp.inverse(low))


def solve(xp, x, low):
    return xp.solve(x, low)


def cholqr(xp, x, divide, times):
    r = None
    for _ in range(times):
        low = xp.linalg.cholesky(xp.adjoint(x) @ x)
        x = divide(xp, x, low)
        r = xp.adjoint(low) if r is None else xp.adjoint(low) @ r
    return x, r


def by_blockvec(function, *names, **options):
    """A function of blockvec on the named arrays."""

    def call(xp, data):
        import blockvec

        return getattr(blockvec, function)(*(data[name] for name in names), **options)

    return call


def by_cholqr(divide, times):
    return lambda xp, data: cholqr(xp, data["x"], divide, times)


# Of each operation: words a row, in columns; tall arrays that it needs at least; and the calls, ours first.
OPERATIONS = {
    "qr": (3, 3, {
        ("BlockVec", "qr"): by_blockvec("qr", "x"),
        ("BlockVec", "orthonormalize"): by_blockvec("orthonormalize", "x"),
        ("BlockVec", "orthonormalize in place"): by_blockvec("orthonormalize", "x", overwrite_x=True),
        ("peer", "CholQR, solve"): by_cholqr(solve, 1),
        ("peer", "CholQR, inverse"): by_cholqr(product_with_inverse, 1),
        ("peer", "CholQR twice, solve"): by_cholqr(solve, 2),
        ("peer", "CholQR twice, inverse"): by_cholqr(product_with_inverse, 2),
        ("peer", "linalg.qr"): lambda xp, data: xp.linalg.qr(data["x"]),
    }),
    "gram": (1, 1, {
        ("BlockVec", "gram"): by_blockvec("gram", "x"),
        ("peer", "matmul"): lambda xp, data: xp.adjoint(data["x"]) @ data["x"],
    }),
    "project": (5, 3, {
        ("BlockVec", "project"): by_blockvec("project", "x", "v"),
        ("peer", "matmul"): lambda xp, data: (data["x"] - data["v"] @ (xp.adjoint(data["v"]) @ data["x"]), None),
    }),
}  # fmt: skip


def norm(xp, x):
    return float(xp.linalg.norm(x))


def inner_product(xp, v, w):
    """V^H W as a sum of short products: a long one may round more than what is judged by it."""
    begins = range(0, len(v), SHORT)
    return xp.module.stack([xp.adjoint(v[i : i + SHORT]) @ w[i : i + SHORT] for i in begins]).sum(0)


def loss_of(xp, q):
    return norm(xp, inner_product(xp, q, q) - xp.small(np.eye(q.shape[1])))


def residual_of(xp, operation, answer, data, given_norm):
    if operation == "gram":
        exact = inner_product(xp, data["x"], data["x"])
        return norm(xp, answer - exact) / norm(xp, exact)
    if operation == "project":
        return norm(xp, inner_product(xp, data["v"], answer[0])) / given_norm
    return loss_of(xp, answer[0] if isinstance(answer, tuple) else answer.Q)


def seconds_of(xp, prepare, call, runs):
    """Seconds of some calls that begin and end with an idle device, and the last answer."""
    times, spent, warm_up = [], 0.0, 2
    while warm_up or not times or len(times) < runs and spent < MOST_SECONDS:
        answer = None  # its memory serves the next call
        prepare()
        xp.synchronize()
        begin = time.perf_counter()
        answer = call()
        xp.synchronize()
        seconds = time.perf_counter() - begin
        if warm_up:
            warm_up = 0 if seconds > 1 else warm_up - 1
        else:
            times.append(seconds)
            spent += seconds
    return times, answer


def of_operation(xp, operation, key, rows, columns, dtype, runs):
    data = {"x": xp.random(rows, columns, dtype)}
    if operation == "project":
        data["v"] = xp.copy(cholqr(xp, xp.random(rows, columns, dtype, seed=2), product_with_inverse, 2)[0])
    given_norm = norm(xp, data["x"])
    in_place = key[1].endswith("in place")
    saved = xp.copy(data["x"]) if in_place else None
    xp.free_bytes()  # what the library keeps of freed arrays is not for others

    def prepare():
        if in_place:
            data["x"][...] = saved

    call = OPERATIONS[operation][2][key]
    times, answer = seconds_of(xp, prepare, lambda: call(xp, data), runs)
    return {"times": times, "residual": residual_of(xp, operation, answer, data, given_norm)}


def of_step(xp, kind, rows, m, b, runs):
    """As bench/orth_step.cpp makes its blocks."""
    import blockvec

    both = xp.random(rows, m + b, "float64")
    v, w = both[:, :m], both[:, m:]
    v[...] = cholqr(xp, v, product_with_inverse, 2)[0]
    if kind == "hard":
        c = (7 * np.arange(m)[:, None] + 3 * np.arange(b)) % 11 - 5
        w += 10 * math.sqrt(rows) * (v @ xp.small(c.astype(float)))
    saved = xp.copy(w)

    def prepare():
        w[...] = saved

    times, found = seconds_of(
        xp, prepare, lambda: blockvec.orthonormalize(w, basis=v, method=STEP_METHOD, overwrite_x=True), runs
    )
    if found.rank != b:
        raise RuntimeError(f"rank {found.rank} of {b}")
    residual = loss_of(xp, both)
    return {"times": times, "residual": residual, "sweeps": found.sweeps}


def start_arrays(name):
    xp = ARRAYS[name]()

    def answer(what, arguments, least_bytes):
        if (free := xp.free_bytes()) < least_bytes:
            raise MemoryError(f"needs {least_bytes / 1e9:.0f} GB, {free / 1e9:.0f} are free")
        return {"step": of_step, "operation": of_operation}[what](xp, *arguments)

    return answer


def anderson(length, disorder):
    n = length**3
    return grid(length, 3) + scipy.sparse.diags(np.random.default_rng(1).uniform(-disorder / 2, disorder / 2, n))


PROBLEMS = {  # how many of the lowest pairs are wanted, the matrix, and its eigenvalues where they are known
    "hypercube 13": (14, lambda: hypercube(13), lambda: np.sort(hypercube_values(13))[:14]),
    "laplacian 100^3": (8, lambda: grid(100, 3), lambda: np.sort(laplacian_values(100))[:8]),
    "anderson 100^3, disorder 16": (8, lambda: anderson(100, 16), None),
}


def blockvec_eigsh(a, wanted, setting, tolerance, seed):
    import blockvec
    import cupy

    values, vectors = blockvec.eigsh(a, wanted, which="SA", tol=tolerance, rng=seed, **setting)
    return cupy.asarray(values), vectors


SOLVERS = {
    "BlockVec": (blockvec_eigsh, lambda wanted: [{}, {"method": "chebyshev"}]),
    "CuPy eigsh": (cupy_eigsh, lambda wanted: [{"ncv": 40}, {"ncv": 80}]),
    "CuPy lobpcg": (cupy_lobpcg, lambda wanted: [{"columns": wanted + wanted // 2}]),
}


class PeakMemory:
    """How far the used memory of the card rises meanwhile, in MB over what was used at `before`."""

    def __init__(self, before):
        self.before = self.least = before
        self.is_over = threading.Event()
        self.thread = threading.Thread(target=self.watch)

    def watch(self):
        while not self.is_over.is_set():
            self.least = min(self.least, free_memory())
            self.is_over.wait(0.002)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *error):
        self.is_over.set()
        self.thread.join()
        self.least = min(self.least, free_memory())
        self.mb = (self.before - self.least) / 2**20


def free_memory():
    import cupy

    return cupy.cuda.runtime.memGetInfo()[0]


def start_solver(library, problem):
    import cupy
    import cupyx.scipy.sparse
    import cupyx.scipy.sparse.linalg

    wanted, make, _ = PROBLEMS[problem]
    a = cupyx.scipy.sparse.csr_matrix(make().tocsr())
    cupy.cuda.Device().synchronize()
    pool = cupy.get_default_memory_pool()
    pool.free_all_blocks()
    before = free_memory()

    def answer(setting, tolerance, seed):
        if setting == "norm":
            largest = cupyx.scipy.sparse.linalg.eigsh(a, 1, which="LM", tol=1e-3, return_eigenvectors=False)
            return {"norm": float(abs(largest[0]))}
        run = functools.partial(timed_answer, SOLVERS[library][0], a, wanted, setting, tolerance, seed)
        if seed != 1:
            return run()
        pool.free_all_blocks()
        with PeakMemory(before) as peak:
            result = run()
        return result | {"peak_mb": peak.mb}

    return answer


class NoTime(Exception):
    """Says for what."""


class Table:
    """Rows as they come. The first row of a group is the one that others are measured by."""

    def __init__(self, runs, limit, call_limit):
        self.runs, self.end, self.call_limit, self.first = runs, time.monotonic() + limit, call_limit, {}
        self.writer = csv.DictWriter(sys.stdout, COLUMNS, lineterminator="\n")

    def peer(self, start, *arguments):
        return Peer(start, *arguments, end=self.end)

    def note(self, words):
        print(f"# {words}", flush=True)

    def check_time(self, name):
        if time.monotonic() >= self.end:
            raise NoTime(name)

    def run(self, peer, name, *task):
        """The answer, or None and a note."""
        self.check_time(name)
        result = peer.run(task, self.call_limit)
        if "error" not in result:
            return result
        self.note(f"{name}: {result['error']}")
        return None

    def add(self, group, times, least_bytes=0, **cells):
        """A row, where `cells` come before what the times tell."""
        seconds = statistics.median(times)
        if cells["library"].startswith("BlockVec"):
            self.first.setdefault(group, seconds)
        row = {
            "seconds": f"{seconds:.4g}",
            "seconds_min": f"{min(times):.4g}",
            "seconds_max": f"{max(times):.4g}",
            "runs": len(times),
            "gb_per_s": f"{least_bytes / seconds / 1e9:.4g}" if least_bytes else "",
            "ratio": f"{seconds / self.first[group]:.3f}" if group in self.first else "",
        }
        self.writer.writerow(row | cells)
        sys.stdout.flush()


def orth_step(table, program, rows):
    """Rows of bench/orth_step."""
    settings = [f"rows={rows}", f"shapes={BASIS}+{BLOCK}", f"methods={STEP_METHOD}", f"rounds={table.runs}"]
    try:
        done = subprocess.run(
            [program, *settings, "layouts=row", "types=D", "blocks=easy,hard"],
            capture_output=True, text=True, timeout=max(0, table.end - time.monotonic()),
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired) as error:
        table.note(f"step in C++: {error}")
        return
    if done.returncode != 0:
        table.note(f"step in C++: {(done.stderr.strip().splitlines() or [done.returncode])[-1]}")
    for row in csv.DictReader(line for line in done.stdout.splitlines() if not line.startswith("#")):
        cells = {"library": "BlockVec in C++", "runs": table.runs, "seconds_min": "", "seconds_max": ""}
        add_step(table, rows, row["block"], int(row["sweeps"]), [float(row["ms"]) / 1e3], **cells)


def add_step(table, rows, kind, sweeps, times, **cells):
    words = 2 * BASIS + 3 * BLOCK if sweeps == 1 else 3 * BASIS + 5 * BLOCK
    cells |= {"task": "step", "dtype": "float64", "setting": f"{kind} block, sweeps {sweeps}"}
    table.add(("step", kind), times, 8 * words * rows, problem=f"{rows} x {BASIS} + {BLOCK}", **cells)


def step_part(table, program, rows):
    if program:
        orth_step(table, program, rows)
    for name in ARRAYS:
        with table.peer(start_arrays, name) as peer:
            for kind in ("easy", "hard"):
                task = ("step", (kind, rows, BASIS, BLOCK, table.runs), 8 * rows * (BASIS + 2 * BLOCK))
                if result := table.run(peer, f"step, {name}, {kind}", *task):
                    cells = {"arrays": name, "library": "BlockVec", "residual": f"{result['residual']:.1e}"}
                    add_step(table, rows, kind, result["sweeps"], result["times"], **cells)
    if program:
        orth_step(table, program, rows)


def qr_part(table, rows):
    for name in ARRAYS:
        with table.peer(start_arrays, name) as peer:
            for columns, dtype in WIDTHS:
                for operation in OPERATIONS:
                    operation_rows(table, peer, name, operation, rows, columns, dtype)


def operation_rows(table, peer, name, operation, rows, columns, dtype):
    words, arrays, calls = OPERATIONS[operation]
    size = rows * columns * np.dtype(dtype).itemsize
    problem = f"{rows:.0e} x {columns}".replace("e+0", "e")
    for key in calls:
        library = name if key[0] == "peer" else key[0]
        task = ("operation", (operation, key, rows, columns, dtype, table.runs), arrays * size)
        if result := table.run(peer, f"{operation} {problem}, {dtype}, {name}: {library}, {key[1]}", *task):
            cells = {"task": operation, "problem": problem, "dtype": dtype, "arrays": name, "library": library}
            cells |= {"setting": key[1], "residual": f"{result['residual']:.1e}"}
            table.add((operation, problem, dtype, name), result["times"], words * size, **cells)


def eigsh_part(table):
    for problem, (_, _, exact) in PROBLEMS.items():
        with table.peer(start_solver, "BlockVec", problem) as peer:
            norm_a = table.run(peer, f"{problem}: ||A||", "norm", None, None)
            if exact is None:
                found = table.run(peer, f"{problem}: eigenvalues", {}, ACCURACY / 100, 0)
            else:
                found = {"values": exact()}
        if norm_a and found:
            eigsh_rows(table, problem, norm_a["norm"], found["values"])


def eigsh_rows(table, problem, norm_a, values):
    wanted, best = len(values), math.inf
    for library, (_, settings) in SOLVERS.items():
        with table.peer(start_solver, library, problem) as peer:
            for setting in settings(wanted):
                title = f"{problem}: {library}, {describe(setting)}"
                table.check_time(title)
                result = measure(peer, setting, norm_a, best, table.runs, table.call_limit)
                if "error" in result:
                    table.note(f"{title}: {result['error']}")
                    continue
                missed = count_missed(result["values"], values, 10 * ACCURACY * norm_a)
                times = result.get("times", [result["seconds"]])
                best = best if missed else min(best, result["seconds"])
                cells = {"task": "eigsh", "problem": f"{problem}, {wanted}", "dtype": "float64", "arrays": "CuPy"}
                cells |= {"library": library, "setting": result["setting"], "residual": f"{result['residual']:.1e}"}
                cells |= {"target": f"{ACCURACY * norm_a:.1e}", "missed": missed, "peak_mb": f"{result['peak_mb']:.0f}"}
                table.add(("eigsh", problem), times, **cells)


def head(arguments):
    card = machine.cards()
    versions = []
    for name in ("blockvec", "cupy", "torch", "numpy", "scipy"):
        try:
            module = importlib.import_module(name)
            versions.append(f"{name} {module.__version__}")
            if name == "blockvec":
                versions[-1] += f" of {module.show_config()['commit']}"
            if name == "cupy":
                versions.append(f"CUDA {module.cuda.runtime.runtimeGetVersion() / 1000:g}")
        except ImportError:
            versions.append(f"no {name}")
    versions.append(f"Python {sys.version.split()[0]}")
    return [
        f"bench/python_peers_device.py, {datetime.date.today()}, commit {arguments.commit}, {card}",
        ", ".join(versions),
        f"medians of up to {arguments.runs} runs, {arguments.limit:.0f} s for everything",
    ]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--orth-step", help="the program of bench/orth_step.cpp; without it there is no C++")
    parser.add_argument("--commit", default="unknown")
    parser.add_argument("--parts", nargs="*", choices=["step", "qr", "eigsh"], default=["step", "qr", "eigsh"])
    parser.add_argument("--rows", nargs="*", type=float, default=[1e6, 3e7], help="of qr, gram and project")
    parser.add_argument("--step-rows", type=int, default=STEP_ROWS)
    parser.add_argument("--runs", type=int, default=9)
    parser.add_argument("--limit", type=float, default=540, help="seconds for everything")
    parser.add_argument("--call-limit", type=float, default=60, help="seconds for one library on one problem")
    arguments = parser.parse_args()
    table = Table(arguments.runs, arguments.limit, arguments.call_limit)
    for line in head(arguments):
        table.note(line)
    table.writer.writeheader()
    rows = sorted(map(int, arguments.rows))
    parts = {
        "step": [lambda: step_part(table, arguments.orth_step, arguments.step_rows)],
        "qr": [functools.partial(qr_part, table, number) for number in rows],
        "eigsh": [lambda: eigsh_part(table)],
    }
    chosen = [parts[part] for part in ("step", "qr", "eigsh") if part in arguments.parts]
    try:
        for turn in itertools.zip_longest(*chosen):  # the largest arrays come last: they may be cut off
            for part in filter(None, turn):
                part()
    except NoTime as what:
        table.note(f"no time for {what}, and for what follows")


if __name__ == "__main__":
    main()
