#!/usr/bin/env python3
"""How the methods converge: the worst wanted residual against products and against reductions.

    bench/solver_methods.py --program build/release/examples/eigensolve --out bench/results/cpu/solver_methods
    bench/solver_methods.py --out bench/results/cpu/solver_methods --draw      # the picture from the CSV

The 8 lowest pairs of a Laplacian of 30^3 points, without a preconditioner and with a polynomial in A as one.
"""
import argparse
import csv
import json
import os
import subprocess
import tempfile

PROBLEM = ["--problem", "laplacian", "--grid", "30", "30", "30", "--nev", "8"]
METHODS = {
    "lanczos": [],
    "chebyshev": [],
    "chebyshev, filters in single precision": ["--filter-precision", "single"],
    "lobpcg": [],
    "lobpcg, preconditioned": ["--preconditioner", "chebyshev"],
    "jacobi-davidson": [],
}
COLUMNS = ["method", "applications", "reductions", "residual"]


def history(program, method, options):
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "run.json")
        chosen = ["--method", method.split(",")[0], *options]
        subprocess.run([program, *PROBLEM, *chosen, "--quiet", "--json", out], check=True)
        with open(out, encoding="utf-8") as file:
            run = json.load(file)
    rows = []
    for step in run["history"]:
        residuals = [one for one in step["residuals"] if one is not None]
        if residuals:
            worst = max(residuals) / run["norm_estimate"]
            rows.append(dict(zip(COLUMNS, [method, step["applications"], step["reductions"], f"{worst:.2e}"])))
    return rows


def draw(rows, picture):
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(9.5, 3.6), sharey=True)
    for axis, key, label in zip(axes, COLUMNS[1:3], ["columns that A was applied to", "reductions over all ranks"]):
        for method, color in zip(METHODS, ["#c53030", "#2b6cb0", "#63b3ed", "#2f855a", "#68d391", "#b7791f"]):
            mine = [row for row in rows if row["method"] == method]
            x, y = [int(row[key]) for row in mine], [min(float(row["residual"]), 1) for row in mine]
            axis.plot(x, y, color=color, marker="o", ms=2, lw=1.3, label=method)
        axis.axhline(1e-8, color="#a0aec0", lw=0.8, ls="--")
        axis.set_yscale("log")
        axis.set_ylim(1e-9, 2)
        axis.set_xlim(left=0)
        axis.set_xlabel(label)
        axis.grid(color="#edf2f7")
        axis.spines[["top", "right"]].set_visible(False)
    axes[0].set_ylabel("worst wanted residual / ||A||")
    axes[1].legend(frameon=False, fontsize=8)
    figure.tight_layout()
    figure.savefig(picture, dpi=110)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", help="the built eigensolve")
    parser.add_argument("--out", default="solver_methods", help="writes OUT.csv and OUT.png")
    parser.add_argument("--commit", default="unknown")
    parser.add_argument("--draw", action="store_true", help="measure nothing, draw what OUT.csv has")
    arguments = parser.parse_args()
    if not arguments.draw:
        if not arguments.program:
            parser.error("--program is needed")
        with open(arguments.out + ".csv", "w", newline="", encoding="utf-8") as file:
            file.write(f"# eigensolve {' '.join(PROBLEM)}; commit {arguments.commit}\n")
            writer = csv.DictWriter(file, fieldnames=COLUMNS, lineterminator="\n")
            writer.writeheader()
            for method, options in METHODS.items():
                writer.writerows(history(arguments.program, method, options))
    with open(arguments.out + ".csv", encoding="utf-8") as file:
        draw(list(csv.DictReader(line for line in file if not line.startswith("#"))), arguments.out + ".png")


if __name__ == "__main__":
    main()
