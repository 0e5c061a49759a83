#!/usr/bin/env python3
"""Pictures and tables of docs/study.md, from what bench/tsm2, sgemm, tiled and study_counters.py wrote.

    bench/plot_study.py FOLDER

FOLDER holds tsm2.csv, sgemm.csv, tiled.csv and study_counters.csv. The pictures go there, tables to standard output.
"""
import argparse
import statistics
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402
from PIL import Image  # noqa: E402

from plot_cuda_sweep import read  # noqa: E402

STEPS = {"V0": "tab:gray", "V1": "tab:olive", "V2": "tab:orange", "V3": "tab:red", "best": "tab:brown"}
LABELS = {"V0": "V0, inner products", "V1": "V1, outer products", "V2": "V2, B in shared memory", "V3": "V3, prefetch",
          "best": "V3, best tiles", "cublas": "cuBLAS", "blockvec": "BlockVec"}
BESIDE = {"cublas": "tab:green", "blockvec": "tab:blue"}
TYPES = {"S": "single", "D": "double"}


def machine(path):
    """The name of the card in a file's first line."""
    with open(path) as lines:
        return next(lines).split(" on ", 1)[1].split(",")[0]


def where(rows, **wanted):
    return [row for row in rows if all(row[key] == value for key, value in wanted.items())]


def by(rows, key):
    """{value of key: row}, sorted."""
    return dict(sorted((row[key], row) for row in rows))


def save(figure, folder, name, legend=None):
    """Few colours keep the file small. `legend`: of the axes whose lines are named once, below the figure."""
    if legend:
        figure.legend(*legend.get_legend_handles_labels(), loc="lower center", ncols=4, fontsize=8)
    rows = -(-len(legend.get_legend_handles_labels()[1]) // 4) if legend else 0
    figure.tight_layout(rect=(0, 0.25 * rows / figure.get_figheight(), 1, 1))
    path = folder / f"{name}.png"
    figure.savefig(path, dpi=100)
    plt.close(figure)
    Image.open(path).convert("RGB").quantize(64).save(path, optimize=True)


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
    figure, panels = plt.subplots(len(TYPES), len(widths), figsize=(3.2 * len(widths), 2.9 * len(TYPES)), squeeze=False)
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
            finish(axes, f"{word}, n = {n:.0f}", "m = k, in 1024", y, legend=False)
            axes.set_ylim(bottom=0)
    save(figure, folder, name, panels[0, 0])


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
        finish(line[0], f"{word}, m = {most:.0f}", "tcf, rows a thread", "share of scaling a vector", legend=False)
        finish(line[1], f"{word}, best tcf", "m", "share of scaling a vector", legend=False)
        for axes in line:
            axes.set_ylim(0, 1)
    save(figure, folder, "tsm2l", panels[0, 1])


def sgemm(folder, rows, counters):
    figure, ((speed, parts), (hits, bytes_)) = plt.subplots(2, 2, figsize=(10, 7))
    colors = {"all hilbert": "tab:blue", "all rows": "tab:orange", "all columns": "tab:red", "cublas": "tab:green"}
    labels = {"all hilbert": "Hilbert curve", "all rows": "rows of tiles", "all columns": "columns of tiles",
              "cublas": "cuBLAS"}

    def draw(axes, points, value):
        for case, color in colors.items():
            of = by([row for row in points if row["case"] == case], "n")
            axes.semilogx(list(of), [value(row) for row in of.values()], "o-", ms=4, base=2, color=color,
                          label=labels[case])

    even = [dict(row, case=f"{row['parts']} {row['order']}".strip()) for row in rows if row["n"] % 1024 == 0]
    draw(speed, even, lambda row: 1e-3 * row["gflops"])
    finish(speed, "C = A B, n x n, single precision", "n", "TFLOP/s", legend=False)
    speed.set_ylim(bottom=0)

    n = max(row["n"] for row in rows if row["parts"] not in ("all", "cublas"))
    of = [row for row in where(rows, n=n) if row["parts"] == "cublas" or row["order"] == "hilbert"]
    parts.barh([str(row["parts"]) for row in of], [1e-3 * row["gflops"] for row in of])
    parts.invert_yaxis()
    finish(parts, f"n = {n:.0f}, all parts or all but one", "TFLOP/s", "", legend=False)

    counted = []
    for row in where(counters, program="sgemm"):
        size, case = str(row["case"]).split(" ", 1)
        counted.append(dict(row, n=float(size), case=case))
    draw(hits, counted, lambda row: row["l2_hit"])
    finish(hits, "hits of the second-level cache", "n", "percent", legend=False)
    hits.set_ylim(0, 100)
    draw(bytes_, counted, lambda row: row["gbytes"] / (3 * 4e-9 * row["n"] ** 2))
    finish(bytes_, "traffic of the memory", "n", "times A, B and C", legend=False)
    bytes_.set_yscale("log", base=10)
    save(figure, folder, "sgemm", speed)


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


def ratios(big):
    """How much faster each step of TSM2R is than the one before, and how well the model predicts."""
    cases = {}
    for row in big:
        cases.setdefault((row["type"], row["m"], row["n"]), {})[row["what"]] = row
    times = [("V0 / V1", "V0", "V1", "ms"), ("V1 / V2", "V1", "V2", "ms"), ("V2 / V3", "V2", "V3", "ms"),
             ("V3 / best", "V3", "best", "ms"), ("cuBLAS / V3", "cublas", "V3", "ms"),
             ("cuBLAS / best", "cublas", "best", "ms"), ("cuBLAS / BlockVec", "cublas", "blockvec", "ms"),
             ("V3 / model", "V3", "V3", "model_ms"), ("V3 / model with the grid", "V3", "V3", "grid_ms"),
             ("best / model with the grid", "best", "best", "grid_ms")]
    lines = []
    for name, above, below, key in times:
        line = [name]
        for kind in TYPES:
            of = [case[above]["ms"] / case[below][key] for (type_, _, _), case in cases.items() if type_ == kind]
            line.append(f"{min(of):.2f} to {max(of):.2f}, {statistics.mean(of):.2f}")
        lines.append(line)
    for name in ("V3", "best", "cublas", "blockvec"):
        line = [f"share of {LABELS[name]}"]
        for kind in TYPES:
            of = [100 * case[name]["share"] for (type_, _, _), case in cases.items() if type_ == kind]
            line.append(f"{min(of):.0f} to {max(of):.0f} %, {statistics.mean(of):.0f} %")
        lines.append(line)
    table("TSM2R: ratios of times and shares of a plain read; least, greatest, mean", ["", *TYPES.values()], lines)


def tables(tsm2, gemm, tiles, counters):
    big = where(tsm2, product="tsm2r")
    ratios(big)
    lines = []
    deep = where(tsm2, product="depths")
    whats = ("V3", "best", "cublas", "blockvec")
    for k in sorted({row["k"] for row in deep}, reverse=True):
        lines.append([f"{k:.0f}", *(f"{100 * row['share']:.0f}" for kind in TYPES for what in whats
                                    for row in where(deep, type=kind, k=k, what=what))])
    table("TSM2R, m = 15360, n = 16: shares of a plain read in percent",
          ["k", *(f"{TYPES[kind]}: {LABELS[what]}" for kind in TYPES for what in whats)], lines)
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
