#!/usr/bin/env python3
"""Plots the residual history of a block_lanczos run: plot_history.py RUN.json PICTURE.png; "-" reads the JSON from standard input"""
import json
import pathlib
import sys


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    try:
        import matplotlib

        matplotlib.use("Agg")
        from matplotlib import pyplot
    except ImportError as error:
        sys.exit(f"plot_history.py: {error}")

    with sys.stdin if sys.argv[1] == "-" else open(sys.argv[1]) as file:
        run = json.load(file)
    history = run["history"]
    figure, axes = pyplot.subplots(1, 2, figsize=(11, 4.5), sharey=True)
    for axis, key, label in ((axes[0], "reductions", "reductions"), (axes[1], "seconds", "seconds")):
        for pair in range(len(run["eigenvalues"])):
            points = [(step[key], step["residuals"][pair]) for step in history if len(step["residuals"]) > pair]
            points = [(x, max(y, 1e-17)) for x, y in points if y is not None]
            x, y = zip(*points) if points else ((), ())
            axis.semilogy(x, y, marker=".", markersize=3, linewidth=1, label=f"{run['eigenvalues'][pair]:.6f}")
        axis.axhline(run["options"]["tol"] * run["norm_estimate"], color="black", linestyle="--", linewidth=0.8)
        axis.set_xlabel(label)
        axis.grid(alpha=0.3)
    axes[0].set_ylabel("residual norm (estimated until a pair is locked)")
    if run["eigenvalues"]:
        axes[1].legend(title="eigenvalue", fontsize="x-small", title_fontsize="x-small")
    state = "" if run["converged"] else ", not converged"
    figure.suptitle(f"{run['matrix']['description']}: {run['matrix']['rows']} rows, {run['seconds']:.2f} s{state}")
    figure.tight_layout()
    with open(sys.argv[2], "wb") as file:
        figure.savefig(file, format=pathlib.Path(sys.argv[2]).suffix[1:] or "png", dpi=130)


main()
