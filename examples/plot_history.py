#!/usr/bin/env python3
"""Plots the residual history of a block_lanczos run: plot_history.py RUN.json PICTURE.png [COMMIT]

A COMMIT is noted in RUN.json, too, so that the picture can be drawn again. "-" instead of RUN.json is standard input.
"""

import json
import pathlib
import sys

ESTIMATED = dict(marker="o", markersize=3.2, linewidth=1.3)
RECOMPUTED = dict(marker="D", markersize=7, markeredgecolor="black", markeredgewidth=0.9, linestyle="none")
FLOOR = 1e-18  # estimates below this are drawn here


def setting_of(run):
    """Machine, threads, solver and commit, as far as the run has noted them."""
    machine, options, versions = run["machine"], run["options"], run["versions"]
    parts = [
        f"{machine['processor']}, {run['ranks']} x {run['threads']} threads",
        f"block {options['block']}, {options['orth']}, filter degree {run['filter_degree']}, tol {options['tol']:g}",
    ]
    if "commit" in versions:
        parts.append(f"commit {versions['commit']}")
    return f"BlockVec {versions['blockvec']}: " + "; ".join(parts)


def draw(axis, run, key, colors):
    """The residuals of all pairs against history[key], and lines at the target and at the machine's precision."""
    norm = run["norm_estimate"]
    target = run["options"]["tol"] * norm
    precision = (2.0**-23 if "float" in run["matrix"]["scalar"] else 2.0**-52) * norm
    recomputed = set(run["residual_norms"])
    for pair, color in enumerate(colors):
        steps = [
            step for step in run["history"] if len(step["residuals"]) > pair and step["residuals"][pair] is not None
        ]
        points = [
            (step[key], max(step["residuals"][pair], FLOOR), step["residuals"][pair] in recomputed) for step in steps
        ]
        axis.semilogy([x for x, _, _ in points], [y for _, y, _ in points], color=color, **ESTIMATED)
        known = [(x, y) for x, y, is_recomputed in points if is_recomputed]
        if run["residual_norms"][pair] is not None:
            known.append((run[key], max(run["residual_norms"][pair], FLOOR)))
        axis.semilogy([x for x, _ in known], [y for _, y in known], color=color, **RECOMPUTED)
    for height, text, style in ((target, "target: tol ||A||", "--"), (precision, "machine precision: ε ||A||", ":")):
        axis.axhline(height, color="black", linestyle=style, linewidth=1)
        axis.annotate(
            text,
            (0.012, height),
            xycoords=("axes fraction", "data"),
            xytext=(0, 3),
            textcoords="offset points",
            fontsize=8.5,
        )
    lowest = min(axis.get_ylim()[0], precision / 10)
    axis.axhspan(lowest, precision, color="black", alpha=0.06, linewidth=0)
    axis.set_ylim(bottom=lowest)
    axis.set_xlim(left=0)
    axis.set_xlabel({"reductions": "reductions (sums over all ranks)", "seconds": "seconds"}[key])
    axis.grid(color="#e2e8f0", linewidth=0.8)
    axis.set_axisbelow(True)
    axis.spines[["top", "right"]].set_visible(False)


def main():
    if len(sys.argv) not in (3, 4):
        sys.exit(__doc__)
    try:
        import matplotlib

        matplotlib.use("Agg")
        from matplotlib import pyplot
    except ImportError as error:
        sys.exit(f"plot_history.py: {error}")

    with sys.stdin.buffer if sys.argv[1] == "-" else open(sys.argv[1], encoding="utf-8") as file:
        run = json.load(file)
    if len(sys.argv) == 4 and sys.argv[1] != "-":
        run["versions"]["commit"] = sys.argv[3]
        with open(sys.argv[1], "w", encoding="utf-8") as file:
            file.write(json.dumps(run, indent=2, ensure_ascii=False) + "\n")

    count = len(run["residual_norms"])
    colors = [pyplot.get_cmap("viridis")(0.92 * i / max(count - 1, 1)) for i in range(count)]
    figure, axes = pyplot.subplots(1, 2, figsize=(12, 5.4), sharey=True)
    for axis, key in zip(axes, ("reductions", "seconds")):
        draw(axis, run, key, colors)
    axes[0].set_ylabel("residual ||A x - θ x||")
    line = pyplot.Line2D
    pairs = [
        line([], [], color=color, **ESTIMATED, label=f"{value:.9g}") for value, color in zip(run["eigenvalues"], colors)
    ]
    kinds = [
        line([], [], color="grey", **ESTIMATED, label="estimated by the iteration"),
        line([], [], color="grey", **RECOMPUTED, label="recomputed from A"),
    ]
    figure.legend(handles=kinds, fontsize=9.5, frameon=False, ncol=2, loc="upper center", bbox_to_anchor=(0.45, 0.925))
    axes[1].legend(
        handles=pairs,
        title="eigenvalue",
        fontsize=8.5,
        title_fontsize=9,
        frameon=False,
        loc="upper left",
        bbox_to_anchor=(1.01, 1),
    )
    state = "" if run["converged"] else ", not converged"
    figure.suptitle(
        f"{run['matrix']['description']}: {run['matrix']['rows']:,} rows, {run['seconds']:.2f} s{state}",
        fontsize=13,
        fontweight="bold",
        y=0.985,
    )
    figure.text(0.995, 0.01, setting_of(run), ha="right", fontsize=8, color="#718096")
    figure.tight_layout(rect=(0, 0.025, 1, 0.93))
    with open(sys.argv[2], "wb") as file:
        figure.savefig(file, format=pathlib.Path(sys.argv[2]).suffix[1:] or "png", dpi=120)


main()
