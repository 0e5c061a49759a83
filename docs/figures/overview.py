#!/usr/bin/env python3
"""Draws the picture of the first page: a block vector, the two products and orthogonalisation.

overview.py PICTURE.svg     (or .png; needs matplotlib and NumPy)
"""

import sys

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch, Rectangle

BASIS, BLOCK, SMALL, INK, GREY = "#2b6cb0", "#dd7a1f", "#2f855a", "#1a202c", "#718096"
TALL = 3.4  # the height of a tall matrix
UNIT = 0.17  # the width of a column


def shade(color, share):
    """The colour mixed with white."""
    return tuple(share * np.array(matplotlib.colors.to_rgb(color)) + (1 - share))


def matrix(panel, x, y, columns, height, color, rows=None):
    """A matrix with its lower left corner at (x, y), drawn by columns, or by `rows` if that is given."""
    width = columns * UNIT
    if rows is None:
        for j in range(columns):
            panel.add_patch(
                Rectangle((x + j * UNIT, y), UNIT, height, color=shade(color, 0.55 if j % 2 else 0.72), lw=0)
            )
    else:
        step = height / rows
        for i in range(rows):
            panel.add_patch(
                Rectangle((x, y + i * step), width, step, color=shade(color, 0.55 if i % 2 else 0.72), lw=0)
            )
    panel.add_patch(Rectangle((x, y), width, height, fill=False, ec=color, lw=1.4))
    return x + width


def ranks(panel, x, y, width):
    """Lines where the rows go from one rank to the next."""
    for i in (1, 2, 3):
        panel.plot([x - 0.06, x + width + 0.06], [y + i * TALL / 4] * 2, color="white", lw=2.2)
        panel.plot([x - 0.06, x + width + 0.06], [y + i * TALL / 4] * 2, color=INK, lw=0.9, ls=(0, (3, 2)))


def text(panel, x, y, words, size=10, color=INK, **style):
    panel.text(x, y, words, fontsize=size, color=color, **{"ha": "center", "va": "center", **style})


def frame(panel, width, title, formula):
    panel.set_xlim(0, width)
    panel.set_ylim(-0.95, 5.05)
    panel.set_aspect("equal")
    panel.axis("off")
    panel.add_patch(
        FancyBboxPatch(
            (0.05, -0.88),
            width - 0.1,
            5.86,
            boxstyle="round,pad=0,rounding_size=0.18",
            fc="#f7fafc",
            ec="#cbd5e0",
            lw=1,
        )
    )
    text(panel, width / 2, 4.62, title, 12, weight="bold")
    text(panel, width / 2, 4.13, formula, 11, GREY)


def block_vector(panel, width):
    frame(panel, width, "A block vector", "tall and skinny")
    left, y = 1.62, 0.3
    right = matrix(panel, left, y, 8, TALL, BASIS)
    ranks(panel, left, y, right - left)
    for i in range(4):
        text(panel, right + 0.16, y + TALL * (3.5 - i) / 4, f"rank {i}", 9, GREY, ha="left")
    arrow = dict(arrowstyle="<->", mutation_scale=9, color=INK, lw=1)
    panel.add_patch(FancyArrowPatch((left - 0.25, y), (left - 0.25, y + TALL), **arrow))
    text(panel, left - 0.52, y + TALL / 2, "millions of rows", 10, rotation=90)
    panel.add_patch(FancyArrowPatch((left, y - 0.2), (right, y - 0.2), **arrow))
    text(panel, (left + right) / 2, y - 0.62, "1 to a few hundred\ncolumns", 9.5, linespacing=1.1)


def inner_product(panel, width):
    frame(panel, width, "Inner product", "$C = V^H W$")
    wide = 5 * UNIT
    y = 0.3 + (TALL - wide) / 2
    matrix(panel, 0.35, y, 5, wide, SMALL)
    text(panel, 0.35 + wide / 2, y - 0.25, "C", 11, SMALL, weight="bold")
    text(panel, 1.5, y + wide / 2, "=", 15)
    panel.add_patch(Rectangle((1.8, y), TALL, wide, color=shade(BASIS, 0.6), lw=0))
    for i in range(0, 5, 2):
        panel.add_patch(Rectangle((1.8, y + i * UNIT), TALL, UNIT, color=shade(BASIS, 0.72), lw=0))
    panel.add_patch(Rectangle((1.8, y), TALL, wide, fill=False, ec=BASIS, lw=1.4))
    text(panel, 1.8 + TALL / 2, y - 0.27, "$V^H$", 11, BASIS)
    right = matrix(panel, 5.5, 0.3, 5, TALL, BLOCK)
    text(panel, (5.5 + right) / 2, 0.05, "W", 11, BLOCK, weight="bold")
    text(panel, width / 2, -0.42, "one pass over the memory,\none sum over the ranks", 9.5, linespacing=1.15)


def update(panel, width):
    frame(panel, width, "Update", "$W \\leftarrow W - V C$")
    y, wide = 0.3, 5 * UNIT
    for x, color, name in ((0.4, BLOCK, "W"), (1.82, BASIS, "V")):
        right = matrix(panel, x, y, 5, TALL, color)
        text(panel, (x + right) / 2, 0.05, name, 11, color, weight="bold")
    text(panel, 1.53, y + TALL / 2, "−", 15)
    text(panel, 2.92, y + TALL / 2, "·", 18)
    matrix(panel, 3.14, y + (TALL - wide) / 2, 5, wide, SMALL)
    text(panel, 3.14 + wide / 2, y + (TALL - wide) / 2 - 0.25, "C", 11, SMALL, weight="bold")
    text(panel, width / 2, -0.42, "one pass over the memory,\nno message", 9.5, linespacing=1.15)


def orthogonalisation(panel, width):
    frame(panel, width, "Orthogonalise", "$V^H V = I$ to rounding")
    rows, columns = 200, 12
    random = np.random.default_rng(1)
    common = random.standard_normal((rows, 1))
    before = common + 0.9 * random.standard_normal((rows, columns))
    before /= np.linalg.norm(before, axis=0)
    after, _ = np.linalg.qr(before)
    side = 1.62
    for y, block, words in ((2.17, before, "before"), (0.12, after, "after")):
        gram = np.abs(block.T @ block)
        scale = matplotlib.colors.LinearSegmentedColormap.from_list("", ["white", shade(SMALL, 0.5), SMALL])
        left = (width - side) / 2 + 0.22
        panel.imshow(gram, extent=(left, left + side, y, y + side), cmap=scale, vmin=0, vmax=1, zorder=2)
        panel.add_patch(Rectangle((left, y), side, side, fill=False, ec=SMALL, lw=1.4, zorder=3))
        text(panel, left - 0.26, y + side / 2, words, 10, rotation=90)
    panel.set_xlim(0, width)
    panel.set_ylim(-0.95, 5.05)
    text(panel, width / 2, -0.42, "made of these products,\none or two sums", 9.5, linespacing=1.15)


def main():
    panels = ((block_vector, 4.05), (inner_product, 6.75), (update, 4.4), (orthogonalisation, 3.5))
    total = sum(width for _, width in panels)
    plt.rcParams.update({"svg.hashsalt": "blockvec", "font.family": "DejaVu Sans", "mathtext.fontset": "dejavusans"})
    figure, axes = plt.subplots(1, 4, figsize=(0.66 * total, 0.66 * 6.0), width_ratios=[width for _, width in panels])
    figure.subplots_adjust(0, 0, 1, 1, wspace=0.012)
    for axis, (draw, width) in zip(axes, panels):
        draw(axis, width)
    figure.savefig(sys.argv[1], dpi=150, metadata={"Date": None} if sys.argv[1].endswith(".svg") else None)


if __name__ == "__main__":
    main()
