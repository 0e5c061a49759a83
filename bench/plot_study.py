#!/usr/bin/env python3
"""Pictures and tables of docs/study.md, from what bench/tsm2, sgemm, tiled and study_counters.py wrote.

    bench/plot_study.py FOLDER

FOLDER holds tsm2.csv, sgemm.csv, tiled.csv and study_counters.csv. The pictures go there, tables to standard output.
"""
import argparse
import csv
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402

STEPS = {"V0": "tab:gray", "V1": "tab:olive", "V2": "tab:orange", "V3": "tab:red", "best": "tab:brown"}
LABELS = {"V0": "V0, inner products", "V1": "V1, outer products", "V2": "V2, B in shared memory", "V3": "V3, prefetch",
          "best": "V3, best tiles", "cublas": "cuBLAS", "blockvec": "BlockVec"}
BESIDE = {"cublas": "tab:green", "blockvec": "tab:blue"}
TYPES = {"S": "single", "D": "double"}


def read(path):
    """Rows with numbers where there are numbers."""
    def value(text):
        try:
            return float(text)
        except ValueError:
            return text
    with open(path) as lines:
        rows = csv.DictReader(line for line in lines if not line.startswith("#"))
        return [{key: value(text) for key, text in row.items()} for row in rows]


def machine(path):
    """The name of the card in a file's first line."""
    with open(path) as lines:
        return next(lines).split(" on ", 1)[1].split(",")[0]


def where(rows, **wanted):
    return [row for row in rows if all(row[key] == value for key, value in wanted.items())]


def by(rows, key):
    """{value of key: row}, sorted."""
    return dict(sorted((row[key], row) for row in rows))


def save(figure, folder, name):
    figure.tight_layout()
    figure.savefig(folder / f"{name}.png", dpi=110)
    plt.close(figure)


def finish(axes, title, x, y, legend=True):
    axes.set_title(title, fontsize=9)
    axes.set_xlabel(x)
    axes.set_ylabel(y)
    axes.grid(alpha=0.3)
    if legend:
        axes.legend(fontsize=7)


def tsm2r_grid(folder, rows, name, value, y, what, also=None):
    """One panel for each type and width, over the size of A."""
    widths = sorted({row["n"] for row in rows})
    figure, panels = plt.subplots(len(TYPES), len(widths), figsize=(4 * len(widths), 3.2 * len(TYPES)), squeeze=False)
    for line, (kind, word) in zip(panels, TYPES.items()):
        for axes, n in zip(line, widths):
            mine = where(rows, type=kind, n=n)
            cublas = by(where(mine, what="cublas"), "m")
            for one in what:
                of = by(where(mine, what=one), "m")
                sizes = [m for m in of if m in cublas]
                axes.plot([m / 1024 for m in sizes], [value(of[m], cublas[m]) for m in sizes], "o-", ms=3,
                          color={**STEPS, **BESIDE}[one], label=LABELS[one])
            if also:
                also(axes, mine)
            finish(axes, f"{word}, n = {n:.0f}", "m = k, in 1024", y, legend=n == widths[0])
            axes.set_ylim(bottom=0)
    save(figure, folder, name)


def draw_model(axes, rows):
    """What the model predicts for V3, as a share of the nominal bandwidth turned into one of the plain read."""
    for key, style, label in (("model_ms", ":", "model"), ("grid_ms", "--", "model with the grid's threads")):
        of = by(where(rows, what="V3"), "m")
        shares = [row["share"] * row["ms"] / row[key] for row in of.values()]
        axes.plot([m / 1024 for m in of], shares, style, color="black", lw=1, label=label)


def depths(folder, rows):
    """Figures 4 and 12: TSM2R where k falls."""
    figure, panels = plt.subplots(1, 2, figsize=(10, 3.6))
    for axes, (kind, word) in zip(panels, TYPES.items()):
        for what in ("V2", "V3", "best", "cublas", "blockvec"):
            of = by(where(rows, type=kind, what=what), "k")
            axes.semilogx(list(of), [row["share"] for row in of.values()], "o-", ms=3,
                          color={**STEPS, **BESIDE}[what], label=LABELS[what])
        finish(axes, f"{word}, m = 15360, n = 16", "k", "share of a plain read")
    save(figure, folder, "tsm2r_depths")


def tsm2l(folder, rows):
    """Figures 5, 13 and 14: over tcf, and the best tcf over m."""
    figure, panels = plt.subplots(2, 2, figsize=(10, 7))
    widths = sorted({row["n"] for row in rows})
    most = max(row["m"] for row in rows)
    for line, (kind, word) in zip(panels, TYPES.items()):
        for order, color in (("rows", "tab:red"), ("tiles", "tab:purple")):
            for n, style in zip(widths, ("--", "-")):
                mine = [row for row in where(rows, type=kind, n=n) if str(row["what"]).startswith(order)]
                label = f"{'row after row' if order == 'rows' else 'tile after tile'}, k = n = {n:.0f}"
                of = by(where(mine, m=most), "tcf")
                line[0].semilogx(list(of), [row["share"] for row in of.values()], "o" + style, ms=3, base=2,
                                 color=color, label=label)
                best = {m: max(row["share"] for row in where(mine, m=m)) for m in sorted({row["m"] for row in mine})}
                line[1].semilogx(list(best), list(best.values()), "o" + style, ms=3, color=color, label=label)
        for what, color in BESIDE.items():
            for n, style in zip(widths, ("--", "-")):
                of = by(where(rows, type=kind, n=n, what=what), "m")
                line[1].semilogx(list(of), [row["share"] for row in of.values()], "o" + style, ms=3, color=color,
                                 label=f"{LABELS[what]}, k = n = {n:.0f}")
                line[0].axhline(of[most]["share"], color=color, ls=style, lw=1)
        finish(line[0], f"{word}, m = {most:.0e}", "tcf, rows a thread", "share of scaling a vector")
        finish(line[1], f"{word}, best tcf", "m", "share of scaling a vector")
    save(figure, folder, "tsm2l")


def sgemm(folder, rows, counters):
    figure, (left, middle, right) = plt.subplots(1, 3, figsize=(14, 4))
    colors = {"hilbert": "tab:blue", "rows": "tab:orange", "columns": "tab:red"}
    for order, color in colors.items():
        of = by(where(rows, parts="all", order=order), "n")
        left.semilogx(list(of), [1e-3 * row["gflops"] for row in of.values()], "o-", ms=4, base=2, color=color,
                      label=f"order: {order}")
    of = by(where(rows, parts="cublas"), "n")
    left.semilogx(list(of), [1e-3 * row["gflops"] for row in of.values()], "s-", ms=4, base=2, color="tab:green",
                  label="cuBLAS")
    finish(left, "C = A B, n x n, single precision", "n", "TFLOP/s")

    n = max(row["n"] for row in rows if row["parts"] not in ("all", "cublas"))
    parts = [row for row in where(rows, n=n) if row["parts"] == "cublas" or row["order"] == "hilbert"]
    middle.barh([str(row["parts"]) for row in parts], [1e-3 * row["gflops"] for row in parts])
    middle.invert_yaxis()
    finish(middle, f"n = {n:.0f}, all parts or all but one", "TFLOP/s", "", legend=False)

    for order, color in colors.items():
        hits = by([dict(row, n=float(str(row["case"]).split()[0])) for row in where(counters, program="sgemm")
                   if str(row["case"]).endswith("all " + order)], "n")
        right.semilogx(list(hits), [row["l2_hit"] for row in hits.values()], "o-", ms=4, base=2, color=color,
                       label=order)
    finish(right, "hits of the second-level cache", "n", "percent")
    save(figure, folder, "sgemm")


def tiled(folder, rows):
    figure, axes = plt.subplots(figsize=(7, 4))
    for what in dict.fromkeys(row["what"] for row in rows):
        of = by(where(rows, what=what), "n")
        axes.loglog(list(of), [row["gflops"] for row in of.values()], "o-", ms=4, base=10, label=what)
    finish(axes, "C = A B, n x n, single precision", "n", "GFLOP/s")
    save(figure, folder, "tiled")


def table(title, head, lines):
    print(f"\n{title}\n\n| {' | '.join(head)} |\n|{'---|' * len(head)}")
    for line in lines:
        print(f"| {' | '.join(line)} |")


def tables(tsm2, gemm, tiles, counters):
    big = where(tsm2, product="tsm2r")
    for kind, word in TYPES.items():
        lines = []
        for m in sorted({row["m"] for row in big}):
            for n in sorted({row["n"] for row in big}):
                of = {row["what"]: row for row in where(big, type=kind, m=m, n=n)}
                if "blockvec" not in of:
                    continue
                v3, best = of["V3"], of["best"]
                lines.append([f"{m:.0f}", f"{n:.0f}", *(f"{of['cublas']['ms'] / of[step]['ms']:.2f}" for step in STEPS),
                              f"{of['cublas']['ms'] / of['blockvec']['ms']:.2f}",
                              *(f"{100 * of[one]['share']:.0f}" for one in ("V3", "best", "cublas", "blockvec")),
                              f"{v3['t2']:.0f}, {v3['t3']:.0f}",
                              f"{best['t1']:.0f}, {best['t2']:.0f}, {best['t3']:.0f}",
                              f"{v3['ms'] / v3['model_ms']:.2f}", f"{v3['ms'] / v3['grid_ms']:.2f}"])
        table(f"TSM2R, {word}: times as fast as cuBLAS; shares of a plain read in percent",
              ["m = k", "n", *STEPS, "BlockVec", "V3 %", "best %", "cuBLAS %", "BlockVec %", "model's t2, t3",
               "best t1, t2, t3", "V3 / model", "V3 / model with the grid"], lines)
    small = where(tsm2, product="tsm2l")
    lines = []
    for kind in TYPES:
        for m in sorted({row["m"] for row in small}):
            for n in sorted({row["n"] for row in small}):
                mine = where(small, type=kind, m=m, n=n)
                of = {row["what"]: row for row in mine}
                if "blockvec" not in of:
                    continue
                line = [kind, f"{m:.0f}", f"{n:.0f}"]
                for order in ("rows", "tiles"):
                    best = min((row for row in mine if str(row["what"]).startswith(order)), key=lambda row: row["ms"])
                    line.append(f"{of['cublas']['ms'] / best['ms']:.2f} at {best['tcf']:.0f}")
                lines.append([*line, f"{of['cublas']['ms'] / of['blockvec']['ms']:.2f}",
                              *(f"{100 * of[one]['share']:.0f}" for one in ("cublas", "blockvec"))])
    table("TSM2L: times as fast as cuBLAS, at the best tcf; shares of scaling a vector in percent",
          ["type", "m", "k = n", "row after row", "tile after tile", "BlockVec", "cuBLAS %", "BlockVec %"], lines)
    table("The hierarchical product", ["n", "parts", "order", "TFLOP/s", "of cuBLAS"],
          [[f"{row['n']:.0f}", str(row["parts"]), str(row["order"]), f"{1e-3 * row['gflops']:.1f}",
            f"{row['ratio']:.3f}"] for row in gemm])
    table("Naive and tiled", ["n", "what", "ms", "GFLOP/s", "times naive"],
          [[f"{row['n']:.0f}", row["what"], f"{row['ms']:.4f}", f"{row['gflops']:.0f}", f"{row['speedup']:.2f}"]
           for row in tiles])
    names = [name for name in counters[0] if name not in ("program", "case", "kernel")]
    table("Counters", ["program", "case", *names],
          [[row["program"], row["case"],
            *(f"{row[name]:.4g}" if isinstance(row[name], float) else "" for name in names)] for row in counters])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    names = ("tsm2", "sgemm", "tiled", "study_counters")
    tsm2, gemm, tiles, counters = (read(folder / f"{name}.csv") for name in names)
    big = where(tsm2, product="tsm2r")
    tsm2r_grid(folder, big, "tsm2r_speedup", lambda row, cublas: cublas["ms"] / row["ms"], "times as fast as cuBLAS",
               [*STEPS, "blockvec"])
    tsm2r_grid(folder, big, "tsm2r_share", lambda row, cublas: row["share"], "share of a plain read",
               ["V3", "best", "cublas", "blockvec"], draw_model)
    depths(folder, where(tsm2, product="depths"))
    tsm2l(folder, where(tsm2, product="tsm2l"))
    sgemm(folder, gemm, counters)
    tiled(folder, tiles)
    print(machine(folder / "tsm2.csv"))
    tables(tsm2, gemm, tiles, counters)


if __name__ == "__main__":
    main()
