#!/usr/bin/env python3
"""Draws the whole: the layers of BlockVec, what each knows, and one step of a solver as data goes through them.

layers.py PICTURE.svg     (or .png; needs matplotlib and NumPy)
"""

import sys

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch
from overview import BASIS, BLOCK, GREY, INK, SMALL, shade, text

PURPLE = "#6b46c1"
WIDTH, HEIGHT = 19.0, 9.6
# From top to bottom: name, what it has, what it may know.
LAYERS = (
    ("eigensolve · Python · your program", "problems, files, results", "public headers", GREY),
    ("solvers", "operators, eigensolvers, checkpoints", "+ fmt, zlib", PURPLE),
    ("orth", "orthogonalisation, small dense matrices", "+ LAPACK", SMALL),
    ("blockvec", "block vectors, ranks, memory", "+ Kokkos, MPI, NCCL", BASIS),
    ("kernels", "products for pointers: processor and GPU", "OpenMP, Highway, CUDA", BLOCK),
)
TALL, GAP = 1.28, 0.28


def box(panel, x, y, width, height, color, filling=0.16):
    panel.add_patch(
        FancyBboxPatch(
            (x, y), width, height, boxstyle="round,pad=0,rounding_size=0.14", fc=shade(color, filling), ec=color, lw=1.3
        )
    )


def arrow(panel, begin, end, color=INK, **style):
    panel.add_patch(FancyArrowPatch(begin, end, arrowstyle="-|>", mutation_scale=13, color=color, lw=1.5, **style))


def layer_height(number):
    """The lower edge of a layer, counted from the top."""
    return HEIGHT - 1.35 - (number + 1) * TALL - number * GAP


def layers(panel):
    text(panel, 4.1, HEIGHT - 0.62, "Layers", 14, weight="bold")
    text(panel, 4.1, HEIGHT - 1.05, "a layer calls those below it only", 10, GREY)
    for number, (name, has, knows, color) in enumerate(LAYERS):
        y = layer_height(number)
        box(panel, 0.2, y, 7.8, TALL, color)
        text(panel, 0.5, y + 0.9, name, 12.5, color, ha="left", weight="bold")
        text(panel, 0.5, y + 0.38, has, 10, ha="left")
        text(panel, 7.75, y + 0.9, knows, 9.5, GREY, ha="right")


def step(panel):
    """The way of a block through the layers, from left to right and back."""
    text(panel, 13.7, HEIGHT - 0.62, "The way of a block", 14, weight="bold")
    text(panel, 13.7, HEIGHT - 1.05, "one step of block Lanczos, on every rank at once", 10, GREY)
    middles = [layer_height(number) + TALL / 2 for number in range(len(LAYERS))]
    for middle in middles:
        panel.plot([8.2, WIDTH - 0.2], [middle - TALL / 2 - GAP / 2] * 2, color="#e2e8f0", lw=1, zorder=0)

    def station(x, layer, words, color, width=2.25):
        box(panel, x, middles[layer] - 0.52, width, 1.04, color, 0.3)
        text(panel, x + width / 2, middles[layer], words, 9.8, linespacing=1.2)

    station(8.5, 0, "a matrix,\nor a function", GREY)
    station(8.5, 1, "operator\n$W = A\\,V_j$", PURPLE)
    station(11.15, 2, "project,\nnormalise", SMALL)
    station(11.15, 3, "inner product\n$S = V^H W$", BASIS)
    station(11.15, 4, "tsmttsm\none pass", BLOCK)
    station(13.9, 2, "factorise\nsmall matrices", SMALL)
    station(13.9, 3, "one sum\nover all ranks", BASIS)
    station(16.6, 3, "update\n$W - V S$", BASIS)
    station(16.6, 4, "tsmm\none pass", BLOCK)
    station(16.6, 1, "Ritz values,\nnext block", PURPLE)
    station(16.6, 0, "eigenvalues,\nresiduals", GREY)

    arrow(panel, (9.6, middles[0] - 0.52), (9.6, middles[1] + 0.52))
    arrow(panel, (9.6, middles[1] - 0.52), (11.15, middles[2]), connectionstyle="angle3,angleA=90,angleB=0")
    arrow(panel, (12.25, middles[2] - 0.52), (12.25, middles[3] + 0.52))
    arrow(panel, (12.25, middles[3] - 0.52), (12.25, middles[4] + 0.52))
    arrow(panel, (13.4, middles[4]), (15.0, middles[3] - 0.52), connectionstyle="angle3,angleA=0,angleB=90")
    arrow(panel, (15.0, middles[3] + 0.52), (15.0, middles[2] - 0.52))
    arrow(panel, (16.15, middles[2]), (17.2, middles[3] + 0.52), connectionstyle="angle3,angleA=0,angleB=90")
    arrow(panel, (17.6, middles[3] - 0.52), (17.6, middles[4] + 0.52))
    arrow(panel, (18.5, middles[3] + 0.52), (18.5, middles[1] - 0.52))
    arrow(panel, (17.6, middles[1] + 0.52), (17.6, middles[0] - 0.52))
    arrow(panel, (16.6, middles[1]), (10.75, middles[1]), PURPLE, ls=(0, (4, 2)))
    text(panel, 13.7, middles[1] + 0.22, "the next block", 9.5, PURPLE)
    text(panel, 13.7, 0.2, "tall data stays where it is: two passes, one sum; only small matrices travel", 10, GREY)


def main():
    plt.rcParams.update({"svg.hashsalt": "blockvec", "font.family": "DejaVu Sans", "mathtext.fontset": "dejavusans"})
    figure, panel = plt.subplots(figsize=(0.62 * WIDTH, 0.62 * HEIGHT))
    figure.subplots_adjust(0, 0, 1, 1)
    panel.set_xlim(0, WIDTH)
    panel.set_ylim(0, HEIGHT)
    panel.axis("off")
    layers(panel)
    step(panel)
    figure.savefig(sys.argv[1], dpi=150, metadata={"Date": None} if sys.argv[1].endswith(".svg") else None)


if __name__ == "__main__":
    main()
