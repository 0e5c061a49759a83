#!/usr/bin/env python3
"""Chebyshev filters in double against single precision: the same pairs to the same accuracy, on one device.

    bench/filter_precision.py --program build/release/bench/eigen_repeat > bench/results/h200/filter_precision.csv

Each problem is solved by `--method chebyshev` with both settings of `--filter-precision`, once to warm up and then
--runs times; the median counts. Filling the matrix is not timed. `residual` is the largest ||A x - theta x|| / ||A||,
recomputed in double precision; `columns` and `speed` compare with double precision at the same tolerance.
"""
import argparse
import csv
import json
import subprocess
import sys

PROBLEMS = {  # options of eigensolve, and how many of the lowest pairs are wanted
    "laplacian 100^3": (["--problem", "laplacian", "--grid", "100", "100", "100"], 200),
    "heisenberg ring 24": (["--problem", "heisenberg", "--sites", "24", "--periodic"], 200),
}
TOLERANCES = ["1e-8", "1e-10", "1e-12"]
COLUMNS = [
    "problem", "wanted", "tolerance", "precision", "seconds", "applications", "applications_single", "reductions",
    "residual", "columns", "speed", "why",
]  # fmt: skip


def solve(arguments, options, wanted, tolerance, precision):
    command = [arguments.program, str(arguments.runs + 1), "-", *options, *arguments.options, "--nev", str(wanted)]
    command += ["--tol", tolerance, "--method", "chebyshev", "--filter-precision", precision]
    result = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    if not result["converged"]:
        raise SystemExit(f"{' '.join(command)}: {result['stopped']}")
    return result


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", required=True, help="the built eigen_repeat")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--problems", nargs="*", default=list(PROBLEMS))
    parser.add_argument("--wanted", type=int, help="pairs, instead of those of the table")
    parser.add_argument("--tolerances", nargs="*", default=TOLERANCES)
    parser.add_argument("--options", nargs="*", default=[], help="more options of eigensolve")
    parser.add_argument("--commit", default="unknown")
    parser.add_argument("--machine", default="unknown")
    arguments = parser.parse_args()
    print(f"# {arguments.machine}; commit {arguments.commit}; medians of {arguments.runs} runs after one")
    writer = csv.DictWriter(sys.stdout, COLUMNS, lineterminator="\n")
    writer.writeheader()
    for problem in arguments.problems:
        options, wanted = PROBLEMS[problem]
        wanted = arguments.wanted or wanted
        for tolerance in arguments.tolerances:
            double = None
            for precision in ("double", "single"):
                result = solve(arguments, options, wanted, tolerance, precision)
                double = double or result
                row = {name: result[name] for name in COLUMNS if name in result} | {
                    "problem": problem,
                    "wanted": wanted,
                    "tolerance": tolerance,
                    "precision": precision,
                    "seconds": f"{result['seconds']:.4f}",
                    "residual": f"{max(result['residuals']) / result['norm']:.1e}",
                    "columns": f"{result['applications'] / double['applications']:.3f}",
                    "speed": f"{double['seconds'] / result['seconds']:.2f}",
                    "why": result["stopped"],
                }
                writer.writerow(row)
                sys.stdout.flush()


if __name__ == "__main__":
    main()
