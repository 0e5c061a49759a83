#!/usr/bin/env python3
"""How the methods converge: the worst wanted residual against products and against reductions.

    bench/solver_methods.py --program build/release/examples/eigensolve --out bench/results/cpu/solver_methods
    bench/solver_methods.py --out bench/results/cpu/solver_methods --draw      # the pictures from the CSV

The 8 lowest pairs of a Laplacian of 30^3 points, without a preconditioner and with a polynomial in A as one. With
--data also the 20 lowest ones of the finite elements' pair evsl, to a backward error of 1e-10, and the 8 nearest to 8 of
Si2.
"""

import argparse
import csv
import json
import os
import statistics
import subprocess
import tempfile

import machine

JACOBI = ["--preconditioner", "jacobi"]
# Options of eigensolve, files of --data, and the options of each method.
PROBLEMS = {
    "laplacian 30^3": (
        ["--problem", "laplacian", "--grid", "30", "30", "30", "--nev", "8"],
        (),
        {
            "lanczos": [],
            "chebyshev": [],
            "chebyshev, filters in single precision": ["--filter-precision", "single"],
            "lobpcg": [],
            "lobpcg, preconditioned": ["--preconditioner", "chebyshev"],
            "jacobi-davidson": [],
        },
    ),
    "evsl": (
        ["--nev", "20", "--tol", "1e-10"],
        ("evsl_A.mtx", "evsl_B.mtx"),
        {"lanczos": [], "chebyshev": [], "lobpcg, preconditioned": JACOBI, "jacobi-davidson": JACOBI},
    ),
    "Si2 at 8": (["--nev", "8", "--target", "8"], ("Si2.mtx",), {"interior": [], "jacobi-davidson": []}),
}
COLORS = {
    "lanczos": "#c53030",
    "chebyshev": "#2b6cb0",
    "chebyshev, filters in single precision": "#63b3ed",
    "lobpcg": "#2f855a",
    "lobpcg, preconditioned": "#68d391",
    "jacobi-davidson": "#b7791f",
    "interior": "#c53030",
}
COLUMNS = ["problem", "method", "applications", "reductions", "residual"]


def history(program, data, problem, method):
    """Rows of the table, and the version of the program."""
    options, files, methods = PROBLEMS[problem]
    named = [word for pair in zip(["--matrix", "--mass"], files) for word in (pair[0], os.path.join(data, pair[1]))]
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "run.json")
        chosen = ["--method", method.split(",")[0], *methods[method]]
        subprocess.run([program, *named, *options, *chosen, "--quiet", "--json", out], check=True)
        with open(out, encoding="utf-8") as file:
            run = json.load(file)
    norm = run["norm_estimate"]
    if run["backward_errors"]:  # of a pair: what its residuals are measured by
        ratios = zip(run["residual_norms"], run["backward_errors"])
        norm = statistics.median(residual / error for residual, error in ratios if error > 0)
    rows = []
    for step in run["history"]:
        residuals = [one for one in step["residuals"] if one is not None]
        if residuals:
            worst = max(residuals) / norm
            values = [problem, method, step["applications"], step["reductions"], f"{worst:.2e}"]
            rows.append(dict(zip(COLUMNS, values)))
    return rows, f"BlockVec {run['versions']['blockvec']}"


def draw(rows, tolerance, picture):
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(9.5, 3.6), sharey=True)
    for axis, key, label in zip(axes, COLUMNS[2:4], ["columns that A was applied to", "reductions over all ranks"]):
        for method in dict.fromkeys(row["method"] for row in rows):
            mine, color = [row for row in rows if row["method"] == method], COLORS[method]
            x, y = [int(row[key]) for row in mine], [min(float(row["residual"]), 1) for row in mine]
            axis.plot(x, y, color=color, marker="o", ms=2, lw=1.3, label=method)
        axis.axhline(tolerance, color="#a0aec0", lw=0.8, ls="--")
        axis.set_yscale("log")
        axis.set_ylim(tolerance / 10, 2)
        axis.set_xlim(left=0)
        axis.set_xlabel(label)
        axis.grid(color="#edf2f7")
        axis.spines[["top", "right"]].set_visible(False)
    axes[0].set_ylabel("worst wanted backward error")
    axes[1].legend(frameon=False, fontsize=8)
    figure.tight_layout()
    figure.savefig(picture, dpi=110)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", help="the built eigensolve")
    parser.add_argument("--data", help="folder with the matrices of files")
    parser.add_argument(
        "--out", default="solver_methods", help="writes OUT.csv, OUT.png, OUT_evsl.png, OUT_Si2_at_8.png"
    )
    parser.add_argument("--commit", default="unknown")
    parser.add_argument("--draw", action="store_true", help="measure nothing, draw what OUT.csv has")
    arguments = parser.parse_args()
    if not arguments.draw:
        if not arguments.program:
            parser.error("--program is needed")
        rows, versions = [], set()
        for problem, (_, files, methods) in PROBLEMS.items():
            for method in methods if arguments.data or not files else ():
                some, version = history(arguments.program, arguments.data, problem, method)
                rows += some
                versions.add(version)
        with open(arguments.out + ".csv", "w", newline="", encoding="utf-8") as file:
            file.write(f"# {machine.head('solver_methods.py', arguments.commit, *versions)}\n")
            writer = csv.DictWriter(file, fieldnames=COLUMNS, lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)
    with open(arguments.out + ".csv", encoding="utf-8") as file:
        rows = list(csv.DictReader(line for line in file if not line.startswith("#")))
    for problem in PROBLEMS:
        mine = [row for row in rows if row["problem"] == problem]
        suffix = "" if problem.startswith("laplacian") else "_" + problem.replace(" ", "_")
        options = PROBLEMS[problem][0]
        tolerance = float(options[options.index("--tol") + 1]) if "--tol" in options else 1e-8
        if mine:
            draw(mine, tolerance, arguments.out + suffix + ".png")


if __name__ == "__main__":
    main()
