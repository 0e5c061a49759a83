#!/usr/bin/env python3
"""Seconds of processors that eigensolve takes with block vectors by rows and by columns, on one thread.

    bench/solver_layouts.py build/release/examples/eigensolve > bench/results/cpu/solver_layouts.csv

The layouts take turns; the least of --runs counts. `ratio` is rows over columns. Set-up of the matrix included.
"""
import argparse
import csv
import resource
import subprocess
import sys

import machine

PROBLEMS = {
    "heisenberg ring 20": ["--problem", "heisenberg", "--sites", "20", "--periodic"],
    "laplacian 50^3": ["--problem", "laplacian", "--grid", "50", "50", "50"],
    "graphene 60^2 flux 1/60": ["--problem", "graphene", "--grid", "60", "60", "--flux", "1", "60"],
    "anderson 30^3": ["--problem", "anderson", "--grid", "30", "30", "30"],
}
METHODS = {"lanczos": [], "lobpcg": ["--max-iterations", "3000"]}


def seconds(command):
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--commit", default="unknown")
    arguments = parser.parse_args()
    print("# " + machine.head("solver_layouts.py", arguments.commit, f"least of {arguments.runs}"))
    table = csv.writer(sys.stdout, lineterminator="\n")
    table.writerow(["problem", "method", "row_seconds", "column_seconds", "ratio"])
    for method, options in METHODS.items():
        for name, problem in PROBLEMS.items():
            least = {"row": float("inf"), "column": float("inf")}
            for _ in range(arguments.runs):
                for layout in least:
                    command = [arguments.program, *problem, "--method", method, *options, "--threads", "1"]
                    least[layout] = min(least[layout], seconds([*command, "--layout", layout, "--device", "cpu"]))
            row, column = least.values()
            table.writerow([name, method, f"{row:.3f}", f"{column:.3f}", f"{row / column:.2f}"])
            sys.stdout.flush()


if __name__ == "__main__":
    main()
