#!/usr/bin/env python3
"""Pictures of what cuda_sweep measured, in the order of the paper's figures.

plot_cuda_sweep.py FOLDER     reads FOLDER/*.csv, writes FOLDER/*.png, prints tables in Markdown
"""
import argparse
import csv
import re
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

FIGURE = {"figsize": (12, 5), "layout": "constrained"}
BESIDE = {"blockvec": ("BlockVec", "black"), "cublas": ("cuBLAS", "tab:gray")}


def read(path):
    """The rows of a table; numbers become floats."""
    def value(text):
        try:
            return float(text)
        except ValueError:
            return text

    rows = csv.DictReader(line for line in path.read_text().splitlines() if not line.startswith("#"))
    return [{key: value(text) for key, text in row.items()} for row in rows]


def roofs_of(path, which):
    """Bandwidth in GB/s, `which` ("read" or "copy") of a table's comment or the fastest of its rows, and FMA rate."""
    figures = re.search(rf"{which} (\d+) GB/s.* FP64 FMA (\d+)", path.read_text())
    return max(float(figures[1]), *(row["gbps"] for row in read(path))), float(figures[2])


def intensity(kind, width):
    """Floating-point operations a byte at M = N = width."""
    return width / 8 if kind == "D" else width / 4


def roof(kind, width, bandwidth, peak):
    return min(intensity(kind, width) * bandwidth, peak)


def best(rows, **wanted):
    """{width: the fastest row} of those with the wanted entries; a callable entry is a condition."""
    chosen = {}
    for row in rows:
        if all(want(row[key]) if callable(want) else row[key] == want for key, want in wanted.items()):
            width = int(row["m"])
            if width not in chosen or row["gflops"] > chosen[width]["gflops"]:
                chosen[width] = row
    return dict(sorted(chosen.items()))


def curve(panel, chosen, label, scale=lambda row: row["gflops"] / 1000, **style):
    if chosen:
        panel.plot(list(chosen), [scale(row) for row in chosen.values()], label=label, **style)


def draw_roof(panel, kind, bandwidth, peak):
    widths = range(1, 65)
    panel.plot(widths, [roof(kind, w, bandwidth, peak) / 1000 for w in widths], "k--", lw=1, label="roofline")


def label_axes(panel, title, x="width M = N", y="TFLOP/s"):
    panel.set_title(title)
    panel.set_xlabel(x)
    panel.set_ylabel(y)
    panel.grid(alpha=0.3)
    panel.legend(fontsize=8)


def save(figure, folder, name):
    figure.savefig(folder / f"{name}.png", dpi=100)
    plt.close(figure)


def is_mapping_over_k(row):
    return row["tile_m"] == row["m"] == row["tile_n"]


def is_mapping_over_k_and_n(row):
    return row["tile_m"] == row["m"] and row["tile_n"] == 1


def tsmttsm_mappings(folder, rows, read_roof, peak):
    """Figures 7 to 9 and 15: the mappings, and the four forms of the tiled one."""
    real = [row for row in rows if row["type"] == "D"]
    study = [row for row in real if row["kernel"] == "study"]
    tiled = [r for r in study if not is_mapping_over_k(r) and not is_mapping_over_k_and_n(r) or r["m"] <= 2]
    figure, (left, right) = plt.subplots(1, 2, **FIGURE)
    curve(left, best([r for r in study if is_mapping_over_k(r) and r["m"] <= 24]), "over K", color="tab:red")
    curve(left, best([r for r in study if is_mapping_over_k_and_n(r)]), "over K and N", color="tab:orange")
    curve(left, best(tiled, transposed=0), "tiled", color="tab:green")
    curve(left, best(tiled, transposed=1), "tiled, transposed", color="tab:blue")
    for name, (label, color) in BESIDE.items():
        curve(left, best(real, kernel=name), label, color=color, lw=1)
    draw_roof(left, "D", read_roof, peak)
    label_axes(left, "tsmttsm, double: mappings, best configuration each")
    forms = [(0, 0, "tab:red"), (1, 0, "tab:orange"), (0, 1, "tab:green"), (1, 1, "tab:blue")]
    for transposed, leap_frog, color in forms:
        name = ("leap frogging" if leap_frog else "no leap frogging") + (", transposed" if transposed else "")
        curve(right, best(tiled, transposed=transposed, leap_frog=leap_frog), name, color=color)
    draw_roof(right, "D", read_roof, peak)
    label_axes(right, "tiled: the four forms (paper: figure 15)")
    save(figure, folder, "tsmttsm_mappings")


def shares(folder, name, title, rows, bandwidth, peak):
    """Figures 18 and 23: shares of the roofline, without tensor cores."""
    figure, panels = plt.subplots(1, 2, sharey=True, **FIGURE)
    for panel, kind in zip(panels, "DZ"):
        def share(row, kind=kind):
            return 100 * row["gflops"] / roof(kind, row["m"], bandwidth, peak)
        mine = [row for row in rows if row["type"] == kind]
        curve(panel, best(mine, kernel="study"), "the paper's algorithms, best configuration", share, color="tab:blue")
        if name == "tsmttsm_share" and kind == "D":
            panel.plot([1, 20, 36, 64], [100, 100, 95, 67], ":", color="tab:blue",
                       label="the same on a V100, by the paper's text")
        for beside, (label, color) in BESIDE.items():
            curve(panel, best(mine, kernel=beside), label, share, color=color)
        panel.axhline(100, color="k", ls="--", lw=1)
        knee = next((w for w in range(1, 65) if intensity(kind, w) * bandwidth > peak), None)
        if knee:
            panel.axvline(knee, color="k", ls=":", lw=1, label="arithmetic without tensor cores binds from here")
        label_axes(panel, f"{title}, {'double' if kind == 'D' else 'complex double'}",
                   y="% of min(bandwidth, FMA rate)")
    top = max(max(line.get_ydata()) for line in panels[1].lines if len(line.get_xdata()) > 2)
    panels[0].set_ylim(0, 1.05 * top)
    save(figure, folder, name)


def tiles(folder, rows):
    """Figure 16: every tile at one width; and what the compiler makes of the rule of its lines."""
    width = 32
    chosen = {(int(r["tile_m"]), int(r["tile_n"])): r for r in rows
              if r["type"] == "D" and r["m"] == width and r["kernel"] == "study" and r["transposed"] == 1
              and r["leap_frog"] == 1 and r["least_blocks"] == 1}
    sides = sorted({m for m, _ in chosen})
    figure, (left, right) = plt.subplots(1, 2, **FIGURE)
    grid = [[chosen[m, n]["gflops"] / 1000 if (m, n) in chosen else float("nan") for m in sides] for n in sides]
    image = left.imshow(grid, origin="lower", cmap="viridis", vmin=0)
    figure.colorbar(image, ax=left, label="TFLOP/s")
    left.set_xticks(range(len(sides)), sides)
    left.set_yticks(range(len(sides)), sides)
    fastest = max(chosen, key=lambda tile: chosen[tile]["gflops"], default=None)
    for y, n in enumerate(sides):
        for x, m in enumerate(sides):
            if (m, n) in chosen:
                left.text(x, y, f"{grid[y][x]:.1f}", ha="center", va="center", fontsize=6,
                          color="red" if (m, n) == fastest else "white")
    for limit in [128, 256]:
        # tile_n where 2 (TM TN + 2 (TM + TN) + 8) = limit, drawn between the ticks.
        line = [((limit / 2 - 8) - 2 * m) / (m + 2) for m in sides]
        left.plot(range(len(sides)), [place(sides, n) for n in line], color="white", lw=1)
    left.set_ylim(-0.5, len(sides) - 0.5)
    left.set_title(f"tsmttsm, double, M = N = {width}: tiles (paper: figure 16)")
    left.set_xlabel("TM")
    left.set_ylabel("TN")
    estimates = {tile: 2 * (tile[0] * tile[1] + 2 * sum(tile) + 8) for tile in chosen}
    spilled = [tile for tile in chosen if chosen[tile]["local_bytes"] > 0]
    kept = [tile for tile in chosen if tile not in spilled]
    for some, label, color in [(kept, "no spills", "tab:blue"), (spilled, "spills", "tab:red")]:
        right.plot([estimates[t] for t in some], [chosen[t]["registers"] for t in some], ".", color=color, label=label)
    right.plot([0, 256], [0, 256], "k--", lw=1, label="as estimated")
    label_axes(right, "registers: the rule against the compiler", "2 (TM TN + 2 (TM + TN) + 8)", "registers a thread")
    save(figure, folder, "tsmttsm_tiles")


def in_flight(folder, rows, read_roof):
    """Table 1 and section 5.3: bytes on their way to a multiprocessor, which latency turns into a bandwidth."""
    loads = read(folder / "bandwidth.csv")
    figure, (left, right) = plt.subplots(1, 2, sharey=True, **FIGURE)
    for ahead in sorted({row["loads"] for row in loads}):
        mine = [row for row in loads if row["loads"] == ahead and row["warps_per_sm"] > 0]
        left.plot([row["warps_per_sm"] for row in mine], [row["gbps"] for row in mine], ".-",
                  label=f"{ahead:.0f} loads of 8 bytes a thread")
    left.axhline(read_roof, color="k", ls="--", lw=1, label="16-byte loads")
    label_axes(left, "a plain sum (paper: table 1)", "warps per multiprocessor", "GB/s")
    mine = [row for row in rows if row["type"] == "D" and row["kernel"] == "study" and row["leap_frog"] == 1
            and row["transposed"] == 1 and row["local_bytes"] == 0]
    bytes_of = [16 * row["m"] * row["blocks_per_sm"] *
                (row["threads"] // (-(-row["m"] // row["tile_m"]) * -(-row["m"] // row["tile_n"]))) for row in mine]
    points = right.scatter(bytes_of, [row["gbps"] for row in mine], c=[row["m"] for row in mine], s=6, cmap="viridis")
    figure.colorbar(points, ax=right, label="M = N")
    # The multiprocessors and the latency of the sum's least crowded run with one load a thread.
    quiet = min((row for row in loads if row["loads"] == 1 and row["warps_per_sm"] > 0), key=lambda row: row["gbps"])
    units = quiet["blocks"] / (quiet["warps_per_sm"] / 4)
    limits = [2.0 ** i for i in range(8, 18)]
    right.plot(limits, [min(read_roof, units * x / quiet["latency_ns"]) for x in limits], "k--", lw=1,
               label=f"bytes / {quiet['latency_ns']:.0f} ns")
    right.set_xscale("log", base=2)
    label_axes(right, "tsmttsm, double, leap frogging, transposed: every configuration",
               "bytes of A and B that a multiprocessor waits for at a time", "GB/s")
    save(figure, folder, "in_flight")


def place(ticks, x):
    """Where x lies between ticks that are drawn at equal distances; nan outside."""
    for i in range(len(ticks) - 1):
        if ticks[i] <= x <= ticks[i + 1]:
            return i + (x - ticks[i]) / (ticks[i + 1] - ticks[i])
    return float("nan")


def occupancy(folder, rows):
    """Figure 17: what more threads would bring."""
    names = {"none": "real", "few_sums": "few sums (wrong results)", "few_sums_few_rows": "and operands from L1"}
    arithmetic = read(folder / "arithmetic.csv")
    figure, panels = plt.subplots(1, 2, sharey=True, **FIGURE)
    for panel, tile in zip(panels, sorted({(r["tile_m"], r["tile_n"]) for r in rows})):
        for leap_frog in (0, 1):
            for change, name in names.items():
                mine = sorted((r for r in rows if (r["tile_m"], r["tile_n"]) == tile and r["change"] == change
                               and r["leap_frog"] == leap_frog), key=lambda r: r["warps_per_sm"])
                if mine:
                    line, = panel.plot([r["warps_per_sm"] for r in mine], [r["gflops"] / 1000 for r in mine], ".-",
                                       label=name + (", leap frogging" if leap_frog else ""))
                    full = [r for r in mine if r["blocks_per_sm"] == r["most_blocks"]]
                    panel.plot([r["warps_per_sm"] for r in full], [r["gflops"] / 1000 for r in full], "o", mfc="none",
                               ms=10, color=line.get_color())
        registers = [(r["warps_per_sm"], r["gflops"] / 1000) for r in arithmetic if r["tile_m"] == tile[0]]
        panel.plot(*zip(*registers), "k:", label="the same products, operands in registers")
        label_axes(panel, f"M = N = 64, tile {tile[0]:.0f} x {tile[1]:.0f} (paper: figure 17); circles: all that fit",
                   "warps launched per multiprocessor")
    save(figure, folder, "occupancy")


def reduction(folder, rows):
    """Figure 19: what the sum over threads costs."""
    widths = sorted({int(r["m"]) for r in rows})
    names = {"thread": "per thread", "block": "per block", "thread_atomic": "per thread, atomic",
             "block_atomic": "per block, atomic"}
    figure, panels = plt.subplots(2, len(widths), figsize=(3.6 * len(widths), 7), sharex=True, layout="constrained")
    for (share, time), width in zip(panels.T, widths):
        of = {name: {r["k"]: r["microseconds"] for r in rows if r["m"] == width and r["kernel"] == name}
              for name in [*names, "none", *BESIDE]}
        for name, label in names.items():
            ks = sorted(set(of[name]) & set(of["none"]))
            line, = share.plot(ks, [100 * of["none"][k] / of[name][k] for k in ks], label=label)
            time.plot(ks, [of[name][k] for k in ks], color=line.get_color())
        time.plot(sorted(of["none"]), [of["none"][k] for k in sorted(of["none"])], "k:", label="no reduction")
        for name, (label, color) in BESIDE.items():
            ks = sorted(of[name])
            time.plot(ks, [of[name][k] for k in ks], color=color, ls="-", label=label)
        share.set_xscale("log")
        time.set_xscale("log")
        time.set_yscale("log")
        share.set_ylim(0, 105)
        label_axes(share, f"M = N = {width} (paper: figure 19)", "rows K", "% of speed without reduction")
        label_axes(time, "", "rows K", "microseconds")
    save(figure, folder, "reduction")


def tsmm_choices(folder, rows, copy_roof, peak):
    """Figures 20 to 22: each choice, with the best of the others."""
    real = [row for row in rows if row["type"] == "D"]
    study = [row for row in real if row["kernel"] == "study"]
    figure, panels = plt.subplots(1, 3, figsize=(18, 5), sharey=True, layout="constrained")
    choices = [("source", ["registers", "shared", "global", "constant"], "C from", 20),
               ("unroll", [1, 2, 4], "rows a thread:", 21), ("threads_per_row", [1, 2, 4, 8, 16], "threads a row:", 22)]
    for panel, (key, values, name, number) in zip(panels, choices):
        for value in values:
            curve(panel, best(study, **{key: value}), f"{name} {value}")
        if key == "threads_per_row":
            curve(panel, best(study, transposed=0), "neighbouring columns a thread (4, 8)", color="tab:pink", ls=":")
        for beside, (label, color) in BESIDE.items():
            curve(panel, best(real, kernel=beside), label, color=color, lw=1)
        draw_roof(panel, "D", copy_roof, peak)
        label_axes(panel, f"tsmm, double (paper: figure {number})")
    save(figure, folder, "tsmm_choices")


def print_shares(product, rows, bandwidth, peak):
    """Shares of the roofline at some widths, and where an exact-size kernel beats the library by more than 3 %."""
    for kind in "DZ":
        mine = [row for row in rows if row["type"] == kind]
        fastest, ours, cublas = (best(mine, kernel=name) for name in ("study", "blockvec", "cublas"))
        knob = [key for key in ("tile_m", "tile_n", "threads_per_row", "unroll", "source", "transposed", "leap_frog",
                                "least_blocks", "registers", "blocks_per_sm") if key in rows[0]]
        print(f"\n| {product} {kind} | study | BlockVec | cuBLAS | study / BlockVec | {', '.join(knob)} |")
        print("|---|---|---|---|---|---|")
        for width in sorted(set(fastest) & set(ours)):
            limit = roof(kind, width, bandwidth, peak)
            ratio = fastest[width]["gflops"] / ours[width]["gflops"]
            if width in (1, 2, 3, 4, 6, 8, 12, 16, 20, 24, 28, 32, 33, 36, 40, 48, 56, 61, 64) or ratio > 1.03:
                shares = [f"{100 * chosen[width]['gflops'] / limit:.1f} %" for chosen in (fastest, ours, cublas)]
                values = ", ".join(f"{v:.0f}" if isinstance(v, float) else v for v in map(fastest[width].get, knob))
                print(f"| {width} | {' | '.join(shares)} | {ratio:.3f} | {values} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    tsmttsm = read(folder / "tsmttsm.csv")
    roofs = roofs_of(folder / "tsmttsm.csv", "read")
    tsmttsm_mappings(folder, tsmttsm, *roofs)
    tiles(folder, tsmttsm)
    in_flight(folder, tsmttsm, roofs[0])
    shares(folder, "tsmttsm_share", "tsmttsm", tsmttsm, *roofs)
    print_shares("tsmttsm", tsmttsm, *roofs)
    tsmm = read(folder / "tsmm.csv")
    roofs = roofs_of(folder / "tsmm.csv", "copy")
    tsmm_choices(folder, tsmm, *roofs)
    shares(folder, "tsmm_share", "tsmm", tsmm, *roofs)
    print_shares("tsmm", tsmm, *roofs)
    occupancy(folder, read(folder / "occupancy.csv"))
    reduction(folder, read(folder / "reduction.csv"))


if __name__ == "__main__":
    main()
