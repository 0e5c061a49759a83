#!/usr/bin/env python3
"""Picture of orth_kappa's table: loss of orthogonality against condition, one curve a method.

plot_orth_kappa.py TABLE.csv PICTURE.png
"""
import collections
import csv
import math
import sys

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

PANELS = [("default", 16, "within a block: 2000 x 16"), ("glued", 50, "between blocks, glued: 1000 x 10 blocks of 5"),
          ("piled", 50, "piled"), ("default by blocks", 50, "U S V^T")]


def curves(rows, matrix, columns):
    found = collections.defaultdict(list)
    for row in rows:
        if row["matrix"] == matrix and row["scalar"] == "D" and int(row["columns"]) == columns:
            found[row["method"]].append((float(row["kappa"]), float(row["loss"])))
    return found


def main():
    table, picture = sys.argv[1:]
    with open(table) as lines:
        rows = list(csv.DictReader(line for line in lines if not line.startswith("#")))
    figure, axes = plt.subplots(2, 2, figsize=(14, 10))
    for axis, (matrix, columns, title) in zip(axes.flat, PANELS):
        for index, (method, points) in enumerate(sorted(curves(rows, matrix, columns).items())):
            points = [(kappa, max(loss, 1e-17)) for kappa, loss in sorted(points) if not math.isnan(loss)]
            if not points:
                continue
            style = dict(color="black", linewidth=3) if method == "default" else dict(
                color=plt.cm.tab20(index % 20), marker="os^vD<>P"[index % 8], markersize=4, linewidth=1)
            axis.loglog(*zip(*points), label=method, **style)
        axis.set_title(title)
        axis.set_xlabel("condition number")
        axis.set_ylabel("||I - Q^T Q||")
        axis.set_ylim(1e-16, 10)
        axis.grid(alpha=0.3)
        axis.legend(fontsize=7, ncol=2)
    figure.tight_layout()
    figure.savefig(picture, dpi=110)


if __name__ == "__main__":
    main()
