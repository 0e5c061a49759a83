#!/usr/bin/env python3
"""Does `eigensolve --method auto` take the fastest method? Every method and auto on problems of many kinds.

    bench/auto_choice.py --program build/release/examples/eigensolve --data DATA --out bench/results/cpu/auto_choice.csv
    bench/auto_choice.py --program ... --out ... --only "laplacian 50^3, 8"      # other rows of the file stay

All methods that take the problem's options solve it, and so does auto; --runs rounds, each method once a round, so that
what disturbs the machine disturbs all alike. `seconds`, of solving alone, is the median. On a machine that others use
--processor-seconds counts those of one core instead, reading the matrix not included. `missed`: wanted eigenvalues,
copies counted, of which another method has found lower ones; a method that says that it has not converged has missed
all. `chosen` and `reason` are what auto says. `ratio`: seconds over those of the fastest method that misses nothing. Of
auto it is that of the method chosen. The last line counts the problems where auto's is at most 1.3.

DATA is a folder with matrices of bench/solver_peers.py; problems whose files are missing are left out. Needs
python3-scipy.
"""
import argparse
import csv
import json
import os
import resource
import statistics
import subprocess
import tempfile
from dataclasses import dataclass, field

import numpy as np
import scipy.io
import scipy.sparse

import machine
from peer_answers import count_missed
from solver_problems import anderson, graphene, grid, heisenberg, hypercube, rotated

METHODS = ["lanczos", "chebyshev", "lobpcg", "jacobi-davidson"]
COLUMNS = ["problem", "method", "seconds", "applications", "reductions", "missed", "chosen", "reason", "ratio"]
ENOUGH = 1.3  # of auto's ratio


@dataclass
class Case:
    name: str
    wanted: int
    options: list = field(default_factory=list)  # of eigensolve
    a: object = None  # or functions that return A and B
    b: object = None
    files: tuple = ()  # or files of --data
    preconditioner: str = None
    tolerance: float = 1e-8
    is_small: bool = False  # some hundred rows, which dense solves as well

    def title(self):
        with_it = f", {self.preconditioner}" if self.preconditioner else ""
        where = " ".join(["", *self.options]).replace(" --", ", ") if self.is_inside() else ""
        return f"{self.name}, {self.wanted}{where}{with_it}"

    def is_inside(self):
        return "--interval" in self.options or "--target" in self.options

    def is_pair(self):
        return self.b is not None or len(self.files) > 1

    def methods(self):
        if self.preconditioner:
            return METHODS[2:]
        methods = METHODS
        if "--interval" in self.options:
            methods = ["interior"]
        elif "--target" in self.options:
            methods = ["interior", "jacobi-davidson"]
        return methods + ["dense"] * self.is_small


def line(length, diagonal=2.0, beside=-1.0):
    return scipy.sparse.diags([beside, diagonal, beside], [-1, 0, 1], shape=(length, length))


def laplacian(length, dimensions, weights=(1.0, 1.0, 1.0)):
    one, whole = line(length), weights[0] * line(length)
    for weight in weights[1:dimensions]:
        whole = scipy.sparse.kronsum(weight * one, whole)
    return whole.tocsr()


def uneven_mass(length):
    return scipy.sparse.diags(1 + np.arange(length**2) % 3 / 2.0).tocsr()


def elements(length):
    """Stiffness and mass matrix of trilinear elements on a cube, Dirichlet, in units of the mesh width."""
    k, m = line(length), line(length, 4.0 / 6, 1.0 / 6)

    def product(x, y, z):
        return scipy.sparse.kron(x, scipy.sparse.kron(y, z))

    return (product(k, m, m) + product(m, k, m) + product(m, m, k)).tocsr(), product(m, m, m).tocsr()


def laplacian_of_lines():
    """Coupling 100 times as strong along lines of 16 points, which follow one another."""
    strong = 100 * line(16)
    weak = laplacian(64, 2)
    return scipy.sparse.kronsum(strong, weak).tocsr()


def well(length):
    """A Laplacian with a potential from 0 to 10,000, other at every point: its diagonal says nearly all."""
    potential = np.random.default_rng(1).permutation(np.linspace(0, 100, length**3) ** 2)
    return laplacian(length, 3) + scipy.sparse.diags(potential)


def kernel(points):
    """exp(-|x - y|) between random points of a square that are less than 0.2 apart: some 400 entries a row."""
    places = np.random.default_rng(1).uniform(size=(points, 2))
    between = np.linalg.norm(places[:, None] - places[None], axis=2)
    return scipy.sparse.csr_matrix(np.where(between < 0.2, np.exp(-between), 0))


def copies(rows):
    """0 and 0.1, 8 times each, below a spectrum from 1 to 10."""
    return rotated(np.concatenate([np.zeros(8), np.full(8, 0.1), np.linspace(1, 10, rows - 16)]))


ELAST = ("elast_a.mtx", "elast_b.mtx")
CASES = [
    Case("ring of 20 spins", 8, heisenberg(20)),
    Case("laplacian 50^3", 2, grid(50)),
    Case("laplacian 50^3", 8, grid(50)),
    Case("laplacian 30^3", 100, grid(30)),
    Case("anderson 30^3", 8, anderson(30, 16)),
    Case("graphene 128^2, flux 1/64", 16, graphene(128, 64)),
    Case("graphene 64^2, flux 1/8", 16, graphene(64, 8)),
    Case("hypercube 15", 20, a=lambda: hypercube(15)),
    Case("0 and 0.1, 8-fold", 16, a=lambda: copies(100000)),
    Case("kernel of 5000 points", 10, ["--which", "largest"], a=lambda: kernel(5000)),
    Case("laplacian 50^3", 8, grid(50), preconditioner="chebyshev"),
    Case("lines of 16 x 64 x 64", 8, a=laplacian_of_lines, preconditioner="block-jacobi"),
    Case("well 40^3", 8, a=lambda: well(40), preconditioner="jacobi"),
    Case("uneven masses 150^2", 8, a=lambda: laplacian(150, 2), b=lambda: uneven_mass(150)),
    Case("uneven masses 150^2", 8, a=lambda: laplacian(150, 2), b=lambda: uneven_mass(150), preconditioner="jacobi"),
    Case("uneven masses 100^2", 60, a=lambda: laplacian(100, 2), b=lambda: uneven_mass(100)),
    Case("elements 24^3", 8, a=lambda: elements(24)[0], b=lambda: elements(24)[1]),
    Case("elements 24^3", 8, a=lambda: elements(24)[0], b=lambda: elements(24)[1], preconditioner="jacobi"),
    Case("evsl", 20, files=("evsl_A.mtx", "evsl_B.mtx"), preconditioner="jacobi", tolerance=1e-10),
    Case("chain of 72", 8, a=lambda: line(72), is_small=True),
    Case("laplacian 12^2", 8, a=lambda: laplacian(12, 2), is_small=True),
    Case("laplacian 18^2", 8, a=lambda: laplacian(18, 2), is_small=True),
    Case("laplacian 18^2", 40, a=lambda: laplacian(18, 2), is_small=True),
    Case("laplacian 15^2", 8, ["--target", "3.1"], a=lambda: laplacian(15, 2), is_small=True),
    Case("laplacian 28^2", 8, ["--target", "3.1"], a=lambda: laplacian(28, 2), is_small=True),
    Case("elements 5^3", 8, a=lambda: elements(5)[0], b=lambda: elements(5)[1], is_small=True),
    Case("elast", 10, files=ELAST, is_small=True),
    Case("elast", 12, ["--interval", "1", "1.5"], files=ELAST, is_small=True),
    Case("lund", 10, files=("lund_a.mtx", "lund_b.mtx"), is_small=True),
    Case("NM1", 12, files=("evsl_NM1A.mtx", "evsl_NM1B.mtx"), preconditioner="jacobi", tolerance=1e-12),
]


def written(case, arguments, folder):
    """The options that give A and B to eigensolve."""
    if case.files:
        names = [os.path.join(arguments.data, name) for name in case.files]
    else:
        names = []
        for name, make in (("a", case.a), ("b", case.b)):
            if make is None:
                continue
            names.append(os.path.join(folder, name + ".mtx"))
            scipy.io.mmwrite(names[-1], make(), symmetry="symmetric")
    return [word for pair in zip(("--matrix", "--mass"), names) for word in pair] + case.options


def processor_seconds():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def solve(case, options, method, arguments, folder):
    """What one run tells, or why it tells nothing."""
    answer = os.path.join(folder, "answer.json")
    command = [arguments.program, *options, "--method", method, "--nev", str(case.wanted), "--tol", repr(case.tolerance)]
    if case.preconditioner:
        command += ["--preconditioner", case.preconditioner]
    command += ["--threads", str(arguments.cores), "--quiet", "--json", answer]
    before = processor_seconds()
    try:
        environment = dict(os.environ, OMP_PROC_BIND="true")
        done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=arguments.limit)
    except subprocess.TimeoutExpired:
        return {"converged": False, "seconds": arguments.limit, "applications": "", "reductions": ""}
    if done.returncode not in (0, 1):
        raise RuntimeError(done.stderr.strip())
    with open(answer, encoding="utf-8") as file:
        run = json.load(file)
    if arguments.processor_seconds:
        run["seconds"] = processor_seconds() - before - run["seconds_setup"]
    return run


def lowest_known(case, answers):
    """The wanted eigenvalues as far as any method knows them: a Ritz value is never below its eigenvalue."""
    sign = -1 if "largest" in case.options else 1
    found = [np.sort(sign * np.array(one["eigenvalues"])) for one in answers if one["converged"]]
    return np.min(found, axis=0)


def missed_by(case, answer, exact, norm):
    if not answer["converged"]:
        return case.wanted
    sign = -1 if "largest" in case.options else 1
    return count_missed(np.sort(sign * np.array(answer["eigenvalues"])), exact, 10 * case.tolerance * norm)


def rows_of(case, arguments):
    with tempfile.TemporaryDirectory() as folder:
        options = written(case, arguments, folder)
        rounds = {method: [] for method in case.methods() + ["auto"]}
        for _ in range(arguments.runs):
            for method, answers in rounds.items():
                answers.append(solve(case, options, method, arguments, folder))
    firsts = {method: answers[0] for method, answers in rounds.items()}
    exact = lowest_known(case, firsts.values())
    converged = [one for one in firsts.values() if one["converged"]]
    norm = max(one["norm_estimate"] for one in converged)
    if case.is_pair():  # a backward error, in terms of eigenvalues
        norm = max(norm, np.max(np.abs(exact)))
    rows = {}
    for method, answers in rounds.items():
        rows[method] = {
            "problem": case.title(),
            "method": method,
            "seconds": statistics.median(one["seconds"] for one in answers),
            "applications": firsts[method]["applications"],
            "reductions": firsts[method]["reductions"],
            "missed": missed_by(case, firsts[method], exact, norm),
        }
    fastest = min(rows[method]["seconds"] for method in case.methods() if rows[method]["missed"] == 0)
    chosen = firsts["auto"]["options"]
    rows["auto"] |= {"chosen": chosen["method"], "reason": chosen.get("method_reason", "")}
    seconds = {method: row["seconds"] for method, row in rows.items()}
    for method, row in rows.items():
        row["ratio"] = f"{seconds[chosen['method'] if method == 'auto' else method] / fastest:.2f}"
        row["seconds"] = f"{seconds[method]:.4g}"
        print("  ".join(str(row.get(name, "")) for name in COLUMNS), flush=True)
    return list(rows.values())


def read_rows(path):
    if not os.path.exists(path):
        return []
    with open(path, encoding="utf-8") as file:
        return list(csv.DictReader(text for text in file if not text.startswith("#")))


def count_good(rows):
    ratios = [float(row["ratio"]) for row in rows if row["method"] == "auto" and int(row["missed"]) == 0]
    total = sum(row["method"] == "auto" for row in rows)
    return f"auto: at most {ENOUGH} times the seconds of the fastest on {sum(r <= ENOUGH for r in ratios)} of {total}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", required=True, help="the built eigensolve")
    parser.add_argument("--data", default="", help="folder with the matrices of files")
    parser.add_argument("--cores", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--processor-seconds", action="store_true")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--limit", type=float, default=60, help="seconds for one run")
    parser.add_argument("--only", nargs="*", help='problems, as "evsl, 20, jacobi"; other rows of the file stay')
    parser.add_argument("--out", default="auto_choice.csv")
    parser.add_argument("--commit", default="unknown")
    arguments = parser.parse_args()
    if arguments.processor_seconds:
        arguments.cores = 1
    rows = read_rows(arguments.out) if arguments.only else []
    for case in CASES:
        if arguments.only and case.title() not in arguments.only:
            continue
        if not all(os.path.exists(os.path.join(arguments.data, name)) for name in case.files):
            print(f"{case.title()}: its files are missing")
            continue
        new = rows_of(case, arguments)
        rows = [row for row in rows if row["problem"] != case.title()] + new
        with open(arguments.out, "w", newline="", encoding="utf-8") as file:
            seconds = "processor seconds" if arguments.processor_seconds else "seconds"
            settings = f"{arguments.cores} cores, {seconds}, medians of {arguments.runs}"
            file.write(f"# {machine.head('auto_choice.py', arguments.commit, settings)}\n")
            file.write(f"# {count_good(rows)}\n")
            writer = csv.DictWriter(file, fieldnames=COLUMNS, lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)
    print(count_good(rows))


if __name__ == "__main__":
    main()
