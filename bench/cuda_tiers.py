#!/usr/bin/env python3
"""What the kernels give on a device after a change, beside what they gave at a commit before, tier by tier.

    bench/cuda_tiers.py e5338ba

Compares the share of the roof of each row of bench/results/h200/cuda_vs_cublas*.csv with the same row at that commit,
and counts the rows behind cuBLAS. Prints the table of kernel_house.md, which says what the tiers are, and the ratios by
tier of cuda_one_card.csv of the H200 and of the H100, where builds before and after took turns on one card.
"""

import argparse
import csv
import statistics
import subprocess
from pathlib import Path

FOLDER = "bench/results/h200"
FILES = [f"cuda_vs_cublas{name}.csv" for name in ("", "_widths", "_types", "_odd", "_64MiB")]
CASE = ("product", "type", "layout", "m", "n", "lda", "k")
TIERS = [
    "first",
    "D and Z by rows, more than 64 columns of A",
    "S and C by rows",
    "D and Z by columns",
    "S and C by columns",
    "odd views, more than 64 columns of B",
]


def read(text, *columns):
    """Those columns of each row by its case; a case that stands twice counts once, by its last row."""
    rows = csv.DictReader(line for line in text.splitlines() if line and not line.startswith("#"))
    return {tuple(row[name] for name in CASE): [row[name] for name in columns] for row in rows}


def tier(case):
    _, scalar, layout, m, n, ld, _ = case
    m, n, ld = int(m), int(n), int(ld)
    by_rows, double = layout.startswith("row"), scalar in "DZ"
    whole_lines = ld * {"S": 4, "D": 8, "C": 8, "Z": 16}[scalar] % 128 == 0
    tight = "+" not in layout and (ld == m or whole_lines)
    if n > 64 or (by_rows and not tight):
        return TIERS[5]
    if by_rows and double:
        return TIERS[0] if m <= 64 else TIERS[1]
    if by_rows:
        return TIERS[2]
    return TIERS[3] if double else TIERS[4]


def gain(old, new):
    return float(new) / float(old)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("before", help="commit")
    before = parser.parse_args().before
    root = Path(__file__).resolve().parent.parent
    found = {name: [] for name in TIERS}
    columns = ("share", "ratio", "gbps")
    for name in FILES:
        text = subprocess.run(["git", "-C", root, "show", f"{before}:{FOLDER}/{name}"], capture_output=True, text=True,
                              check=True).stdout
        old = read(text, *columns)
        for case, new in read((root / FOLDER / name).read_text(), *columns).items():
            if case in old:
                found[tier(case)].append((old[case], new))
    print("| tier | rows | measured again | median of all | median, least of those | behind cuBLAS before, after |")
    print("|---|---|---|---|---|---|")
    for name, pairs in found.items():
        known = [(old, new) for old, new in pairs if float(old[0])]
        gains = [gain(old[0], new[0]) for old, new in known]
        again = [gain(old[0], new[0]) for old, new in known if old[2] != new[2]]
        behind = [sum(bool(pair[i][1]) and float(pair[i][1]) < 1 for pair in pairs) for i in (0, 1)]
        print(f"| {name} | {len(pairs)} | {len(again)} | {statistics.median(gains):.3f} | "
              f"{statistics.median(again):.3f}, {min(again):.3f} | {behind[0]}, {behind[1]} |")
    for folder in (FOLDER, "bench/results/h100"):
        gains = {name: [] for name in TIERS}
        for case, (old, new) in read((root / folder / "cuda_one_card.csv").read_text(), "before", "after").items():
            gains[tier(case)].append(gain(old, new))
        print(f"\n| on one card, {folder} | rows | median | least | below 0.97 |\n|---|---|---|---|---|")
        for name, of in gains.items():
            print(f"| {name} | {len(of)} | {statistics.median(of):.3f} | {min(of):.3f} | {sum(one < 0.97 for one in of)} |")


if __name__ == "__main__":
    main()
