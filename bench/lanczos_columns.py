#!/usr/bin/env python3
"""How many columns block_lanczos applies A to, and how many reductions it needs, on problems with many copies of an eigenvalue.

    bench/lanczos_columns.py --program build/release/examples/block_lanczos --csv bench/results/cpu/lanczos_columns.csv

Each problem is solved with the filter that the solver chooses and without one. --before names an older program, which is run
in the same way; its columns stand beside those of the new one. Counts depend on rounding: they differ by some per cent between processors.
"""
import argparse
import csv
import json
import pathlib
import subprocess
import tempfile

import machine

GRAPHENE = ["--problem", "graphene", "--grid", "64", "64", "--flux", "1"]
PROBLEMS = {
    "ring of 16 spins, 8": ["--problem", "heisenberg", "--sites", "16", "--up", "8", "--periodic", "--nev", "8"],
    "Laplacian 30^3, 8": ["--problem", "laplacian", "--grid", "30", "30", "30", "--nev", "8"],
    "Laplacian 30^3, 20": ["--problem", "laplacian", "--grid", "30", "30", "30", "--nev", "20"],
    "hypercube 13, 14": ["--matrix", "hypercube", "--nev", "14"],
    "hypercube 13, 20": ["--matrix", "hypercube", "--nev", "20"],
    "graphene 64 x 64, flux 1/64, 16": GRAPHENE + ["64", "--nev", "16"],
    "graphene 64 x 64, flux 1/16, 16": GRAPHENE + ["16", "--nev", "16"],
    "graphene 64 x 64, flux 1/8, 16": GRAPHENE + ["8", "--nev", "16"],
}


def write_hypercube(path, bits):
    """-sum of sigma^x over the bits: eigenvalues -bits + 2 j, each binomial(bits, j) times."""
    size = 1 << bits
    lines = [f"{i + 1} {(i ^ 1 << bit) + 1} -1" for i in range(size) for bit in range(bits) if i >> bit & 1]
    path.write_text("\n".join(["%%MatrixMarket matrix coordinate real symmetric", f"{size} {size} {len(lines)}"] + lines) + "\n")


def counts(program, arguments, folder, seconds):
    """(columns, reductions), or None where it does not converge in time."""
    result = folder / "result.json"
    result.unlink(missing_ok=True)
    try:
        run = subprocess.run([program] + arguments + ["--threads", "1", "--quiet", "--json", str(result)], timeout=seconds)
    except subprocess.TimeoutExpired:
        return None
    if run.returncode != 0:
        return None
    found = json.loads(result.read_text())
    return found["applications"], found["reductions"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", required=True)
    parser.add_argument("--before", help="an older program to be run beside it")
    parser.add_argument("--csv", required=True)
    parser.add_argument("--seconds", type=float, default=120, help="for a run")
    options = parser.parse_args()
    git = ["git", "-C", str(pathlib.Path(__file__).parent), "describe", "--always", "--dirty"]
    commit = subprocess.run(git, capture_output=True, text=True).stdout.strip()
    cases = {"": (options.program, []), "unfiltered ": (options.program, ["--filter", "0"])}
    if options.before:
        cases["before "] = (options.before, [])
    with tempfile.TemporaryDirectory() as name, open(options.csv, "w", newline="", encoding="utf-8") as file:
        folder = pathlib.Path(name)
        write_hypercube(folder / "hypercube.mtx", 13)
        settings = "block 3, tolerance 1e-8 ||A||; empty: not converged"
        file.write(f"# {machine.head('lanczos_columns.py', commit, settings)}\n")
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["problem, wanted"] + [case + kind for case in cases for kind in ("columns", "reductions")])
        for problem, arguments in PROBLEMS.items():
            arguments = [str(folder / "hypercube.mtx") if word == "hypercube" else word for word in arguments]
            row = [problem]
            for program, more in cases.values():
                row += counts(program, arguments + more, folder, options.seconds) or ("", "")
            writer.writerow(row)
            print(*row, sep=", ", flush=True)


if __name__ == "__main__":
    main()
