#!/usr/bin/env python3
"""Prints the README's table from cuda_vs_cublas.csv and cuda_vs_cublas_widths.csv: medians (least) of the share of the
roof and of the ratio to cuBLAS.

    bench/cuda_vs_cublas_table.py [FOLDER]
"""
import csv
import pathlib
import statistics
import sys

RESULTS = pathlib.Path(__file__).parent / "results" / "h200"


def tight(row):
    return row["lda"] == row["m"] and row["layout"] == "row"


def square(row):
    return row["m"] == row["n"]


GROUPS = [
    ("M = N = 1..64", ("tsmttsm", "tsmm"), lambda r: r["type"] == "D" and tight(r) and square(r)),
    ("A of 16 to 512 columns, B of 1 to 32", ("tsmttsm", "tsmm"), lambda r: r["type"] == "D" and tight(r) and not square(r)),
    ("the Gram matrix; in place: widths to 64", ("gram", "tsmm_inplace"), lambda r: r["m"] <= 64 and tight(r)),
    ("the Gram matrix of 128 to 512 columns", ("gram", None), lambda r: r["m"] > 64),
    ("views of 16 to 64 columns out of 64 or 128", ("tsmttsm", "tsmm"),
     lambda r: r["layout"] == "row" and r["lda"] in (64, 128) and r["lda"] != r["m"]),
    ("in place: 4 to 32 columns out of 64 or 128", (None, "tsmm_inplace"), lambda r: not tight(r)),
    ("views of odd leading dimension or start, widths to 32", ("tsmttsm", "tsmm"),
     lambda r: r["layout"].startswith("row") and r["lda"] in (65, 100, 513)),
    ("column-major, M = N = 1..64", ("tsmttsm", "tsmm"), lambda r: r["type"] == "D" and r["layout"] == "column" and square(r)),
    ("column-major, A of 64 to 512 columns, B of 1 to 32", ("tsmttsm", "tsmm"), lambda r: r["layout"] == "column" and not square(r)),
    ("complex double, M = N = 1..64", ("tsmttsm", "tsmm"), lambda r: r["type"] == "Z" and tight(r)),
    ("single, M = N = 1..64", ("tsmttsm", "tsmm"), lambda r: r["type"] == "S" and tight(r)),
    ("complex single, M = N = 1..64", ("tsmttsm", "tsmm"), lambda r: r["type"] == "C" and tight(r)),
    ("complex double, column-major", ("tsmttsm", "tsmm"), lambda r: r["type"] == "Z" and r["layout"] == "column"),
    ("single, column-major", ("tsmttsm", "tsmm"), lambda r: r["type"] == "S" and r["layout"] == "column"),
    ("complex single, column-major", ("tsmttsm", "tsmm"), lambda r: r["type"] == "C" and r["layout"] == "column"),
]


def read(path):
    with open(path) as lines:
        rows = list(csv.DictReader((line for line in lines if not line.startswith("#")), restkey="more"))
    for row in rows:
        for key in ("m", "n", "lda"):
            row[key] = int(row[key])
    return rows


def cells(rows):
    if not rows:
        return ["", ""]
    shares = [100 * float(r["share"]) for r in rows]
    ratios = [float(r["ratio"]) for r in rows if float(r["ratio"]) > 0]
    return [f"{statistics.median(shares):.0f} % ({min(shares):.0f})",
            f"{statistics.median(ratios):.1f} x ({min(ratios):.2f})" if ratios else ""]


def main():
    folder = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else RESULTS
    rows = [row for name in ("cuda_vs_cublas.csv", "cuda_vs_cublas_widths.csv") for row in read(folder / name)]
    print("| double, row-major where nothing else is said | `tsmttsm`, share | cuBLAS | `tsmm`, share | cuBLAS |\n|---|---|---|---|---|")
    for name, products, chosen in GROUPS:
        line = [cells([r for r in rows if r["product"] == product and chosen(r)]) for product in products]
        print("| " + " | ".join([name] + line[0] + line[1]) + " |")
    behind = [r for r in rows if 0 < float(r["ratio"]) < 1]
    for r in behind:
        print(f"behind: {r['product']} {r['type']} {r['layout']} {r['m']} x {r['n']}, ld {r['lda']}: {r['ratio']}")
    print(f"\n{len(behind)} of {len(rows)} rows behind cuBLAS, the furthest at "
          f"{min((float(r['ratio']) for r in behind), default=1):.2f}")


if __name__ == "__main__":
    main()
