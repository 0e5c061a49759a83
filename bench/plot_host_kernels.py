#!/usr/bin/env python3
"""Table and picture of what several runs of host_kernels measured.

plot_host_kernels.py --csv TABLE.csv --png PICTURE.png --commit ID RUN.json...   writes the table, draws the picture
plot_host_kernels.py --csv TABLE.csv --png PICTURE.png                           draws the picture of a table
The JSON files come from host_kernels --benchmark_out=RUN.json. Files with different filters complete one another. Rows
that several files have become one: its median, and of shares and ratios also the least and the greatest. Prints the
table of docs/performance.md.
"""

import argparse
import collections
import csv
import json
import platform
import re
import statistics
import subprocess

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

PROBLEM = ["product", "type", "layout", "m", "n", "lda", "k"]
WITH_RANGE = ["share", "share_of_binding_roof", "openblas_share_of_binding_roof", "ratio"]
COLUMNS = (
    PROBLEM
    + ["gbps", "gflops", "roof_gbps"]
    + [f"{name}{end}" for name in WITH_RANGE for end in ("", "_min", "_max")]
    + ["openblas_gbps", "runs", "kernel"]
)
DIGITS = {"gbps": 2, "gflops": 1, "roof_gbps": 2, "openblas_gbps": 2, "ratio": 2}
TYPES = ["float", "double", "complex_float", "complex_double"]
COLORS = {"row": "#2b6cb0", "column": "#dd7a1f"}


def rows_of(path):
    """What one run says about itself, and its rows."""
    with open(path, encoding="utf-8") as file:
        data = json.load(file)
    rows = []
    for entry in data["benchmarks"]:
        product, kind, layout = entry["name"].split("/")[:3]
        rows.append(
            {
                "product": product,
                "type": kind,
                "layout": layout,
                "m": int(entry["m"]),
                "n": int(entry["n"]),
                "lda": int(entry["lda"]),
                "k": int(entry["k"]),
                "gbps": entry["GB/s"],
                "gflops": entry["GFLOP/s"],
                "roof_gbps": entry["roof_GB/s"],
                "openblas_gbps": entry["openblas_GB/s"],
                "share": entry["share"],
                "share_of_binding_roof": entry["share_of_binding_roof"],
                "openblas_share_of_binding_roof": entry["share_of_binding_roof"] / entry["ratio"],
                "ratio": entry["ratio"],
                "kernel": entry.get("label", ""),
            }
        )
    return data["context"], rows


def merged(runs):
    """One row a problem: medians, and ranges of WITH_RANGE."""
    groups = collections.defaultdict(list)
    for row in runs:
        groups[tuple(row[key] for key in PROBLEM)].append(row)
    rows = []
    for same in groups.values():
        row = {key: same[0][key] for key in [*PROBLEM, "kernel"]} | {"runs": len(same)}
        for name in ["gbps", "gflops", "roof_gbps", "openblas_gbps", *WITH_RANGE]:
            values, digits = [one[name] for one in same], DIGITS.get(name, 3)
            row[name] = round(statistics.median(values), digits)
            if name in WITH_RANGE:
                row[name + "_min"], row[name + "_max"] = round(min(values), digits), round(max(values), digits)
        rows.append(row)
    return sorted(rows, key=lambda row: [row[key] for key in ("product", "type", "layout", "m", "n", "lda")])


def write_csv(path, contexts, rows, commit):
    with open(path, "w", newline="", encoding="utf-8") as file:
        first = contexts[0]
        file.write(
            f"# commit {commit}; {processor()}, {first['num_cpus']} cores; {platform.system()}; "
            f"OpenBLAS {first['openblas']}\n"
        )
        file.write(
            f"# host_kernels: both products on the host, {len(contexts)} runs, in each the median of 3, operands of "
            f"{first['operands_MiB_each']} MiB each on huge pages; median, least (_min) and greatest (_max) over runs\n"
        )
        for run, context in enumerate(contexts):
            figures = ", ".join(
                f"{key} {float(value):.1f}" for key, value in context.items() if key.endswith(("GB/s", "GFLOP/s"))
            )
            file.write(
                f"# run {run}: {context['date']}; threads {context['threads']}, "
                f"OpenBLAS threads {context['openblas_threads']}; {figures}\n"
            )
        file.write(
            "# share: least traffic over time, of roof_gbps, the bandwidth sampled beside each row (tsmm with gaps "
            "between rows: copy through the caches)\n"
        )
        file.write("# share_of_binding_roof: the same where arithmetic (the FMA rate of the run) binds before memory\n")
        writer = csv.DictWriter(file, COLUMNS)
        writer.writeheader()
        writer.writerows(rows)


def read_csv(path):
    """Comments and rows of a table. A table of one run has no ranges: its values stand for them."""
    with open(path, encoding="utf-8") as file:
        lines = file.read().splitlines()
    rows = list(csv.DictReader(line for line in lines if not line.startswith("#")))
    for row in rows:
        row.setdefault("openblas_share_of_binding_roof", float(row["share_of_binding_roof"]) / float(row["ratio"]))
        for name in WITH_RANGE:
            for end in ("_min", "_max"):
                row.setdefault(name + end, row[name])
    return [line.lstrip("# ") for line in lines if line.startswith("#")], rows


def processor():
    try:
        text = subprocess.run(["lscpu"], capture_output=True, text=True, check=True).stdout
        return re.search(r"Model name:\s*(.*)", text).group(1)
    except (OSError, subprocess.CalledProcessError, AttributeError):
        return platform.processor()


def squares(rows, product, kind, layout):
    """Rows with M = N and nothing between rows or columns, by width."""
    return sorted(
        (
            r
            for r in rows
            if (r["product"], r["type"], r["layout"]) == (product, kind, layout)
            and r["m"] == r["n"]
            and r["lda"] == (r["m"] if layout == "row" else r["k"])
        ),
        key=lambda r: int(r["m"]),
    )


def draw_band(panel, rows, name, color, label, **style):
    widths = [int(row["m"]) for row in rows]
    percent = {end: [100 * float(row[name + end]) for row in rows] for end in ("", "_min", "_max")}
    panel.plot(widths, percent[""], color=color, label=label, **style)
    panel.fill_between(widths, percent["_min"], percent["_max"], color=color, alpha=0.18, lw=0)


def draw(path, comments, rows):
    figure, panels = plt.subplots(2, 4, figsize=(15, 7.2), sharex=True, sharey=True)
    for line, product in zip(panels, ["tsmttsm", "tsmm"]):
        for panel, kind in zip(line, TYPES):
            for layout, color in COLORS.items():
                chosen = squares(rows, product, kind, layout)
                draw_band(panel, chosen, "share_of_binding_roof", color, f"BlockVec, {layout}-major", lw=2)
                draw_band(
                    panel, chosen, "openblas_share_of_binding_roof", color, f"OpenBLAS, {layout}-major", lw=1.2, ls="--"
                )
            panel.axhline(100, color="black", lw=0.9, ls=(0, (4, 3)))
            panel.set_xlim(0, 65)
            panel.set_ylim(0, 125)
            panel.set_xticks([1, 16, 32, 48, 64])
            panel.grid(color="#e2e8f0", lw=0.8)
            panel.set_axisbelow(True)
            panel.spines[["top", "right"]].set_visible(False)
            panel.tick_params(length=0)
            if product == "tsmttsm":
                panel.set_title(kind.replace("_", " "), fontsize=12, weight="bold")
            else:
                panel.set_xlabel("width M = N")
    for panel, name in zip(panels[:, 0], ["inner product, C = $A^H B$", "update, B = A C"]):
        panel.set_ylabel(f"{name}\n% of the binding roof")
    runs = max(int(row.get("runs") or 1) for row in rows)
    figure.suptitle(
        "Speed of both products on a processor, against what memory and arithmetic allow", fontsize=14, weight="bold"
    )
    handles, labels = panels[0][0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="upper center", ncol=4, frameon=False, bbox_to_anchor=(0.5, 0.955))
    figure.text(
        0.995,
        0.008,
        "; ".join(
            [commit_of(comments), f"{runs} run" + ("s: median, and band from least to greatest" if runs > 1 else "")]
        ),
        ha="right",
        fontsize=8,
        color="#718096",
    )
    figure.tight_layout(rect=(0, 0.02, 1, 0.93))
    figure.savefig(path, dpi=110)


def print_table(rows):
    """The table of docs/performance.md: double precision, widths to 32, of the last column also wider and with gaps."""
    print(
        "| | share, median | share, least | OpenBLAS, mean | OpenBLAS, least over widths 1..64 |\n|---|---|---|---|---|"
    )
    for layout in COLORS:
        for product in ("tsmttsm", "tsmm"):
            narrow = [row for row in squares(rows, product, "double", layout) if int(row["m"]) <= 32]
            wanted = (product, "double", layout)
            ratios = [
                float(row["ratio"])
                for row in rows
                if (row["product"], row["type"], row["layout"]) == wanted
                and row["m"] == row["n"]
                and int(row["m"]) <= 64
            ]
            if narrow:
                shares = [100 * float(row["share_of_binding_roof"]) for row in narrow]
                mean = statistics.mean(float(row["ratio"]) for row in narrow)
                print(
                    f"| `{product}`, {layout}-major | {statistics.median(shares):.0f} % | {min(shares):.0f} % "
                    f"| {mean:.1f} x | {min(ratios):.1f} x |"
                )


def commit_of(comments):
    """Commit and machine, without the details of OpenBLAS."""
    line = next(line for line in comments if line.startswith("commit"))
    version = re.search(r"OpenBLAS (?:OpenBLAS )?([\d.]+)", line)
    return line.split("; OpenBLAS")[0] + (f"; OpenBLAS {version[1]}" if version else "")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*")
    parser.add_argument("--csv", required=True)
    parser.add_argument("--png", required=True)
    parser.add_argument("--commit", default="unknown")
    arguments = parser.parse_args()
    if arguments.files:
        contexts, runs = zip(*(rows_of(path) for path in arguments.files))
        write_csv(arguments.csv, contexts, merged([row for run in runs for row in run]), arguments.commit)
    comments, rows = read_csv(arguments.csv)
    draw(arguments.png, comments, rows)
    print_table(rows)


if __name__ == "__main__":
    main()
