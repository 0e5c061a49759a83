#!/usr/bin/env python3
"""Picture of orth_kappa's table: loss of orthogonality against condition, methods sorted into four classes.

plot_orth_kappa.py TABLE.csv PICTURE.png
A method's class follows from its figures: the slope of its loss, and whether it broke down.
"""

import collections
import csv
import math
import sys

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

EPS = 2.0**-52
BLUE, ORANGE, GREEN, GREY, RED = "#2b6cb0", "#dd7a1f", "#2f855a", "#a0aec0", "#c53030"
ROWS = [
    ("default", 16, "Within a block", "{rows} x {columns}"),
    ("glued", 50, "Between blocks", "{rows} x {columns}, blocks of 5, glued"),
]
CLASSES = [
    ("square", "Grows as ε κ²", ORANGE),
    ("linear", "Grows as ε κ", BLUE),
    ("breaks", "At ε, then breaks", RED),
    ("stays", "Stays at ε", GREEN),
]
POWERS = {"square": 2, "linear": 1}  # of kappa
STYLES = ["-", "--", "-.", ":"]


def read(path):
    """Comments and rows of a table."""
    with open(path, encoding="utf-8") as file:
        lines = file.read().splitlines()
    comments = [line.lstrip("# ") for line in lines if line.startswith("#")]
    return comments, list(csv.DictReader(line for line in lines if not line.startswith("#")))


def curves(rows, matrix, columns):
    """{method: [(kappa, loss)]}, by increasing kappa; the loss is NaN where the method broke down."""
    found = collections.defaultdict(list)
    for row in rows:
        if row["matrix"] == matrix and row["scalar"] == "D" and int(row["columns"]) == columns:
            found[row["method"]].append((float(row["kappa"]), float(row["loss"])))
    return {method: sorted(points) for method, points in found.items()}


def class_of(points):
    """By the slope of log(loss) while it is above 100 eps and below 1/100, else by whether the method broke down."""
    growing = [(math.log10(kappa), math.log10(loss)) for kappa, loss in points if 100 * EPS < loss < 0.01]
    if len(growing) >= 3:
        x, y = zip(*growing)
        mean_x, mean_y = sum(x) / len(x), sum(y) / len(y)
        slope = sum((a - mean_x) * (b - mean_y) for a, b in growing) / sum((a - mean_x) ** 2 for a in x)
        if slope > 0.5:
            return "square" if slope > 1.5 else "linear"
    return "breaks" if any(math.isnan(loss) for _, loss in points) else "stays"


def last_before_break(points):
    """The last point before the method broke down, or None."""
    for before, after in zip(points, points[1:]):
        if math.isnan(after[1]) and not math.isnan(before[1]):
            return before
    return None


def visible(points):
    """The points at which the method did not break down, none of them below the picture."""
    return [(kappa, max(loss, EPS / 8)) for kappa, loss in points if not math.isnan(loss)]


def mark_break(panel, points):
    if last_before_break(points):
        kappa, loss = last_before_break(points)
        panel.plot(kappa, max(loss, EPS / 8), "X", color=RED, ms=8, mec="white", mew=0.8, zorder=5)


def draw_lines(panel, members, color, power):
    """One line a method, beside eps kappa^power."""
    kappas = [10.0**step for step in range(17)]
    panel.loglog(kappas, [EPS * kappa**power for kappa in kappas], color=GREY, lw=5, alpha=0.35, zorder=0)
    for (method, points), style in zip(members.items(), STYLES * len(members)):
        panel.loglog(*zip(*visible(points)), color=color, lw=1.8, ls=style, label=method, zorder=2)
        mark_break(panel, points)
    panel.legend(fontsize=9, loc="lower right", bbox_to_anchor=(1, 0.1), frameon=False, handlelength=2.6)


def draw_band(panel, members, color):
    """A band from the least to the greatest loss of methods that stay at rounding level, and their names, grouped by
    the condition up to which they do."""
    losses = collections.defaultdict(list)
    groups = collections.defaultdict(list)
    for method, points in members.items():
        for kappa, loss in visible(points):
            losses[kappa].append(loss)
        mark_break(panel, points)
        end = last_before_break(points)
        groups[round(math.log10(end[0])) if end else None].append(method)
    kappas = sorted(losses)
    panel.fill_between(
        kappas,
        [min(losses[kappa]) / 1.3 for kappa in kappas],
        [max(losses[kappa]) * 1.3 for kappa in kappas],
        color=color,
        alpha=0.3,
        lw=0,
    )
    if "default" in members:
        panel.loglog(*zip(*visible(members["default"])), color="black", lw=2, zorder=3)
    height = 0.95
    for end, methods in sorted(groups.items(), key=lambda item: item[0] or 99):
        if end is not None:
            panel.text(
                0.05,
                height,
                f"up to κ = $10^{{{end}}}$",
                fontsize=9,
                weight="bold",
                color=RED,
                va="top",
                transform=panel.transAxes,
            )
            height -= 0.08
        for method in methods:
            panel.text(
                0.05,
                height,
                method + (", which may escalate" if method == "default" else ""),
                fontsize=9,
                va="top",
                transform=panel.transAxes,
                weight="bold" if method == "default" else "normal",
            )
            height -= 0.075
        height -= 0.03


def main():
    table, picture = sys.argv[1:]
    comments, rows = read(table)
    figure, axes = plt.subplots(len(ROWS), len(CLASSES), figsize=(14, 7.6), sharex=True, sharey=True)
    for index, (matrix, columns, kind, setting) in enumerate(ROWS):
        found = curves(rows, matrix, columns)
        size = next(row["rows"] for row in rows if row["matrix"] == matrix and int(row["columns"]) == columns)
        for panel, (name, title, color) in zip(axes[index], CLASSES):
            members = {method: points for method, points in found.items() if class_of(points) == name}
            if name in POWERS:
                draw_lines(panel, members, color, POWERS[name])
            else:
                draw_band(panel, members, color)
            panel.axhline(EPS, color="black", lw=0.9, ls=(0, (4, 3)), zorder=1)
            panel.set(xscale="log", yscale="log", xlim=(1, 1e16), ylim=(EPS / 20, 30))
            panel.set_xticks([1, 1e4, 1e8, 1e12, 1e16])
            panel.set_yticks([1e-16, 1e-12, 1e-8, 1e-4, 1])
            panel.minorticks_off()
            panel.grid(color="#e2e8f0", lw=0.8)
            panel.set_axisbelow(True)
            panel.spines[["top", "right"]].set_visible(False)
            panel.tick_params(labelsize=9, length=0)
            if index == 0:
                panel.set_title(title, fontsize=13, weight="bold", color=color, pad=12)
            else:
                panel.set_xlabel("condition number κ")
        setting = setting.format(rows=size, columns=columns)
        axes[index][0].set_ylabel(f"{kind}\n{setting}\n" r"loss $\Vert I - Q^H Q\Vert_F$", fontsize=10)
        axes[index][-1].text(1e16, EPS * 0.6, "ε", ha="right", va="top", fontsize=11)
    figure.suptitle(
        "Loss of orthogonality of each method, when it may not escalate", fontsize=15, weight="bold", y=0.985
    )
    figure.text(
        0.5,
        0.925,
        "✕: the method breaks down beyond this condition.   Dashed: precision ε of double.   "
        "Wide grey line: ε κ² or ε κ.   Coloured band: from the least to the greatest loss of the methods named.",
        ha="center",
        fontsize=9.5,
        color="#4a5568",
    )
    figure.text(0.995, 0.008, comments[0] + "; double precision", ha="right", fontsize=8, color="#718096")
    figure.tight_layout(rect=(0, 0.02, 1, 0.95))
    figure.savefig(picture, dpi=110)


if __name__ == "__main__":
    main()
