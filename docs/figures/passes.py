#!/usr/bin/env python3
"""Draws what orthogonalisation methods move: the passes of the default one, and the measured passes of all.

passes.py PICTURE.svg     (or .png; needs matplotlib and NumPy; reads bench/results/cpu/orth_cost.csv)
"""

import csv
import pathlib
import sys

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.patches import Rectangle
from overview import BASIS, BLOCK, GREY, INK, SMALL, shade, text

COST = pathlib.Path(__file__).resolve().parents[2] / "bench/results/cpu/orth_cost.csv"
M, B = 6, 2  # widths in the picture of V and W


def measured():
    """(method, passes, reductions) on one rank, as the first rows of the table have them."""
    with open(COST, encoding="utf-8") as lines:
        rows = list(csv.DictReader(line for line in lines if not line.startswith("#")))
    return [(row["method"], float(row["passes"]), int(row["reductions"])) for row in rows if row["ranks"] == "1"]


def tall(panel, x, y, columns, color, written=False):
    for j in range(columns):
        panel.add_patch(Rectangle((x + 0.22 * j, y), 0.22, 1.7, fc=shade(color, 0.7 if j % 2 else 0.5), lw=0))
    panel.add_patch(
        Rectangle((x, y), 0.22 * columns, 1.7, fill=False, ec=color, lw=1.6, hatch="////" if written else None)
    )
    return x + 0.22 * columns


def sweeps(panel):
    """The three passes of two sweeps by the default method."""
    passes = (
        ("1", False, "S = V$^H$W, G = W$^H$W", "m + b words"),
        ("2", True, "W ← (W − V S) X,\nand S, G of the new W", "m + 2b words"),
        ("3", True, "W ← (W − V S) X", "m + 2b words"),
    )
    panel.set_xlim(0, 7.4)
    panel.set_ylim(-1.2, 9.3)
    panel.axis("off")
    text(panel, 3.7, 8.95, "The default method, pass by pass", 12, weight="bold")
    text(panel, 3.7, 8.5, "the third pass only where one sweep is not enough", 9.5, GREY)
    for number, (name, writes, words, cost) in enumerate(passes):
        y = 6.0 - 2.75 * number
        text(panel, 0.3, y + 0.85, name, 15, GREY, weight="bold")
        right = tall(panel, 0.75, y, M, BASIS)
        text(panel, (0.75 + right) / 2, y - 0.25, "V", 10, BASIS, weight="bold")
        left = right + 0.25
        right = tall(panel, left, y, B, BLOCK, writes)
        text(panel, (left + right) / 2, y - 0.25, "W", 10, BLOCK, weight="bold")
        text(panel, 3.25, y + 1.15, words, 10.5, ha="left", linespacing=1.25)
        text(panel, 3.25, y + 0.35, cost, 10, GREY, ha="left")
        if number < 2:
            panel.plot([0.4, 7.0], [y - 0.66] * 2, color=SMALL, lw=1.6, ls=(0, (4, 2)))
            text(panel, 7.0, y - 0.44, "one sum over all ranks", 9.5, SMALL, ha="right")
    text(panel, 3.7, -0.95, "hatched: read and written; otherwise read", 9.5, GREY)


def bars(panel):
    rows = measured()[::-1]
    for number, (method, passes, reductions) in enumerate(rows):
        is_default = method == "default"
        panel.barh(number, passes, color=shade(BASIS, 1 if is_default else 0.6), height=0.66)
        panel.text(passes + 0.7, number, f"{passes:g} passes, {reductions} sums", va="center", fontsize=9, color=GREY)
    panel.set_yticks(range(len(rows)), [row[0] for row in rows], fontsize=9.5)
    panel.set_xlim(0, 85)
    panel.set_ylim(-0.6, len(rows) - 0.4)
    panel.set_xlabel("passes over 64 columns, orthogonalised in 8 blocks of 8", fontsize=9.5, color=INK)
    panel.set_title("All methods, measured", fontsize=12, weight="bold", pad=12)
    panel.tick_params(left=False, labelsize=9.5)
    for side in ("top", "right", "left"):
        panel.spines[side].set_visible(False)


def main():
    plt.rcParams.update({"svg.hashsalt": "blockvec", "font.family": "DejaVu Sans", "mathtext.fontset": "dejavusans"})
    figure, (left, right) = plt.subplots(1, 2, figsize=(11.8, 6.2), width_ratios=(5, 7))
    figure.subplots_adjust(0.01, 0.09, 0.985, 0.93, wspace=0.24)
    sweeps(left)
    bars(right)
    figure.savefig(sys.argv[1], dpi=150, metadata={"Date": None} if sys.argv[1].endswith(".svg") else None)


if __name__ == "__main__":
    main()
