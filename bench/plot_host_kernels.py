#!/usr/bin/env python3
"""Table and picture of what host_kernels measured.

plot_host_kernels.py --commit ID --csv TABLE.csv --png PICTURE.png FILE.json...
The JSON files come from host_kernels --benchmark_out=FILE.json; several runs with different filters make one table.
"""
import argparse
import csv
import json
import platform
import re
import subprocess

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

COLUMNS = ["product", "type", "layout", "m", "n", "lda", "k", "gbps", "gflops", "roof_gbps", "share",
           "share_of_binding_roof", "openblas_gbps", "ratio", "kernel", "run"]
TYPES = ["float", "double", "complex_float", "complex_double"]


def rows_of(path, run):
    with open(path) as file:
        data = json.load(file)
    rows = []
    for entry in data["benchmarks"]:
        product, kind, layout = entry["name"].split("/")[:3]
        rows.append({
            "product": product, "type": kind, "layout": layout,
            "m": int(entry["m"]), "n": int(entry["n"]), "lda": int(entry["lda"]), "k": int(entry["k"]),
            "gbps": round(entry["GB/s"], 2), "gflops": round(entry["GFLOP/s"], 1),
            "roof_gbps": round(entry["roof_GB/s"], 2), "share": round(entry["share"], 3),
            "share_of_binding_roof": round(entry["share_of_binding_roof"], 3),
            "openblas_gbps": round(entry["openblas_GB/s"], 2), "ratio": round(entry["ratio"], 2),
            "kernel": entry.get("label", ""), "run": run,
            "gap": int(re.search(r"gap:(\d+)", entry["name"]).group(1)) if "gap:" in entry["name"] else 0,
        })
    return data["context"], rows


def write_csv(path, contexts, rows, commit):
    with open(path, "w", newline="") as file:
        file.write("# host_kernels: both products on the host, medians of 3, operands of 256 MiB each on huge pages\n")
        file.write(f"# commit {commit}; {processor()}, {contexts[0]['num_cpus']} cores; {platform.system()}; "
                   f"OpenBLAS {contexts[0]['openblas']}\n")
        for run, context in enumerate(contexts):
            figures = ", ".join(f"{key} {float(value):.1f}" for key, value in context.items()
                                if key.endswith(("GB/s", "GFLOP/s")))
            file.write(f"# run {run}: {context['date']}; threads {context['threads']}, "
                       f"OpenBLAS threads {context['openblas_threads']}; {figures}\n")
        file.write("# share: least traffic over time, of roof_gbps, the bandwidth sampled beside each row (tsmm with gaps "
                   "between rows: copy through the caches)\n")
        file.write("# share_of_binding_roof: the same where arithmetic (the FMA rate of the run) binds before memory\n")
        writer = csv.DictWriter(file, COLUMNS, extrasaction="ignore")
        writer.writeheader()
        writer.writerows(rows)


def processor():
    try:
        text = subprocess.run(["lscpu"], capture_output=True, text=True, check=True).stdout
        return re.search(r"Model name:\s*(.*)", text).group(1)
    except (OSError, subprocess.CalledProcessError, AttributeError):
        return platform.processor()


def draw(path, rows):
    figure, panels = plt.subplots(2, 4, figsize=(17, 7.5), sharex=True, sharey=True)
    for line, product in enumerate(["tsmttsm", "tsmm"]):
        for column, kind in enumerate(TYPES):
            panel = panels[line][column]
            for layout, color in [("row", "tab:blue"), ("column", "tab:orange")]:
                chosen = sorted((r for r in rows if r["product"] == product and r["type"] == kind
                                 and r["layout"] == layout and r["m"] == r["n"] and r["gap"] == 0),
                                key=lambda r: r["m"])
                widths = [r["m"] for r in chosen]
                panel.plot(widths, [100 * r["share"] for r in chosen], color=color, label=f"BlockVec, {layout}-major")
                panel.plot(widths, [100 * r["share_of_binding_roof"] for r in chosen], color=color, ls=":",
                           label=f"of the binding roof, {layout}-major")
                panel.plot(widths, [100 * r["share"] / r["ratio"] for r in chosen], color=color, ls="--", alpha=0.6,
                           label=f"OpenBLAS, {layout}-major")
            panel.set_title(f"{product}, {kind.replace('_', ' ')}")
            panel.grid(alpha=0.3)
            panel.set_ylim(0, 120)
    for panel in panels[1]:
        panel.set_xlabel("width M = N")
    for panel in panels[:, 0]:
        panel.set_ylabel("% of bandwidth")
    handles, labels = panels[0][0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="lower center", ncol=6)
    figure.tight_layout(rect=(0, 0.05, 1, 1))
    figure.savefig(path, dpi=110)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+")
    parser.add_argument("--csv", required=True)
    parser.add_argument("--png", required=True)
    parser.add_argument("--commit", default="unknown")
    arguments = parser.parse_args()
    contexts, rows = [], []
    for run, path in enumerate(arguments.files):
        context, more = rows_of(path, run)
        contexts.append(context)
        rows += more
    rows.sort(key=lambda r: (r["product"], r["type"], r["layout"], r["gap"], r["m"], r["n"]))
    write_csv(arguments.csv, contexts, rows, arguments.commit)
    draw(arguments.png, rows)


if __name__ == "__main__":
    main()
