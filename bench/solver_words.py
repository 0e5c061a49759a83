#!/usr/bin/env python3
"""Words of tall data that the eigensolvers move beside their products with A and B, against what their steps count for.

    bench/solver_words.py --program build/release/examples/eigensolve > bench/results/cpu/solver_words.csv

The bytes are those that the program's own report has of each operation. `words`: of a row and an iteration; `counted`:
what the steps of such an iteration add up to at most, see COUNTS. Of Jacobi-Davidson `words` is what an iteration takes
that solves for a correction, 20 steps of MINRES at most. `ratio`: words over counted.
"""
import argparse
import csv
import json
import os
import subprocess
import sys
import tempfile

import scipy.io
import scipy.sparse

import machine

COLUMNS = ["problem", "method", "columns", "iterations", "applications", "words", "counted", "ratio"]
LENGTH = 30


def mass():
    return scipy.sparse.identity(LENGTH**3).tocsr() * 2


def by_lobpcg(run, wanted, has_b, is_preconditioned):
    """Residuals 3 k and their lengths, products 8 k, two updates of 5 k; with B three, and X's lengths. Preconditioned,
    residuals are divided, 2 k + 2."""
    k = wanted + max(4, wanted // 10)
    return k, (28 if has_b else 22) * k + (2 * k + 2 if is_preconditioned else 0)


def by_chebyshev(run, wanted, has_b, is_preconditioned):
    """CholQR twice 6 k, Gram matrix 2 k, two rotations of 2 k, residuals 4 k, and 4 k to gather columns and put them
    back. At first a look at the spectrum, 220. With B the recurrence is no part of the product: 13 words a column of A,
    of which B^-1 takes 4; and 12 k for B's images."""
    k, iterations = wanted + max(4, wanted // 5), run["restarts"]
    counted = 20 * k + 220 / iterations
    return k, counted + (13 * run["applications"] / iterations + 12 * k if has_b else 0)


def by_jacobi_davidson(run, wanted, has_b, is_preconditioned):
    """Of a block of b = 2, with B 4, beside m columns: an inner step 26 words a column, 31 with a preconditioner, and
    products with those projected out, 2 q and 4 b; the basis 4 m, with B 6 m."""
    b = 4 if has_b else 2
    m = wanted + 7 * b + 2
    steps = run["applications"] / run["restarts"] / b
    step = (31 if is_preconditioned else 26) * b + 2 * (wanted + b) + 4 * b
    return b, steps * step + (6 if has_b else 4) * (m + wanted)


COUNTS = {"lobpcg": by_lobpcg, "chebyshev": by_chebyshev, "jacobi-davidson": by_jacobi_davidson}


def measure(program, folder, method, wanted, has_b, preconditioner):
    answer = os.path.join(folder, "answer.json")
    command = [program, "--problem", "laplacian", "--grid", *[str(LENGTH)] * 3, "--method", method, "--nev", str(wanted)]
    if has_b:
        command += ["--mass", os.path.join(folder, "mass.mtx")]
    if preconditioner:
        command += ["--preconditioner", preconditioner]
    subprocess.run(command + ["--quiet", "--json", answer], check=True)
    with open(answer, encoding="utf-8") as file:
        run = json.load(file)
    moved = sum(one["bytes"] for one in run["operations"] if one["name"] != "operator")
    columns, counted = COUNTS[method](run, wanted, has_b, bool(preconditioner))
    words = moved / 8 / run["matrix"]["rows"] / run["restarts"]
    problem = f"laplacian {LENGTH}^3, {wanted}" + (", pair" if has_b else "")
    return {
        "problem": problem + (f", {preconditioner}" if preconditioner else ""),
        "method": method,
        "columns": columns,
        "iterations": run["restarts"],
        "applications": run["applications"],
        "words": f"{words:.0f}",
        "counted": f"{counted:.0f}",
        "ratio": f"{words / counted:.2f}",
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", required=True, help="the built eigensolve")
    parser.add_argument("--commit", default="unknown")
    arguments = parser.parse_args()
    print("# " + machine.head("solver_words.py", arguments.commit))
    writer = csv.DictWriter(sys.stdout, fieldnames=COLUMNS, lineterminator="\n")
    writer.writeheader()
    with tempfile.TemporaryDirectory() as folder:
        scipy.io.mmwrite(os.path.join(folder, "mass.mtx"), mass(), symmetry="symmetric")
        for method in COUNTS:
            for wanted in (8, 24):
                for has_b in (False, True):
                    for preconditioner in [None] if method == "chebyshev" else [None, "jacobi"]:
                        row = measure(arguments.program, folder, method, wanted, has_b, preconditioner)
                        writer.writerow(row)
                        sys.stdout.flush()


if __name__ == "__main__":
    main()
