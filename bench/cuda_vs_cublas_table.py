#!/usr/bin/env python3
"""Prints the table of docs/performance.md from cuda_vs_cublas.csv, ..._widths.csv, ..._odd.csv and ..._types.csv:
medians (least) of the share of the roof and of the ratio to cuBLAS.

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


def rows_of(type_, layout, *more):
    """Whether a row is of this type and layout, without gaps, and all of these hold."""
    def chosen(row):
        fits = row["layout"] == layout and (tight(row) if layout == "row" else row["lda"] == row["k"])
        return row["type"] == type_ and fits and all(holds(row) for holds in more)
    return chosen


def wide(row):
    return row["m"] > 64


def not_square(row):
    return not square(row)


def narrow(row):
    return row["m"] <= 64 and square(row)


NAMES = {"D": "double", "Z": "complex double", "S": "single", "C": "complex single"}
GROUPS = [
    ("M = N = 1..64", ("tsmttsm", "tsmm"), rows_of("D", "row", narrow)),
    ("A of 16 to 512 columns, B of 1 to 32", ("tsmttsm", "tsmm"), rows_of("D", "row", not_square)),
    ("the Gram matrix; in place: every width to 64", ("gram", "tsmm_inplace"), rows_of("D", "row", narrow)),
    ("the same of 128, 256, 512 columns", ("gram", "tsmm_inplace"), rows_of("D", "row", wide, square)),
    ("B = A C + B; in place: 16 to 512 columns to 1 to 32", ("update", "tsmm_inplace"), rows_of("D", "row", not_square)),
    ("views of 16 to 64 columns out of 64 or 128", ("tsmttsm", "tsmm"),
     lambda r: r["type"] == "D" and r["layout"] == "row" and r["lda"] in (64, 128) and r["lda"] != r["m"]),
    ("views of odd leading dimension or start, widths to 32", ("tsmttsm", "tsmm"),
     lambda r: r["type"] == "D" and r["layout"].startswith("row") and r["lda"] in (65, 100, 513)),
    ("column-major, M = N = 1..64", ("tsmttsm", "tsmm"), rows_of("D", "column", narrow)),
    ("column-major, A of 16 to 512 columns, B of 1 to 32", ("tsmttsm", "tsmm"), rows_of("D", "column", not_square)),
    ("column-major: the Gram matrix; in place: to 64", ("gram", "tsmm_inplace"), rows_of("D", "column", narrow)),
] + [(f"{NAMES[t]}{', column-major' if layout == 'column' else ''}, M = N = 1..64", ("tsmttsm", "tsmm"), rows_of(t, layout, narrow))
     for layout in ("row", "column") for t in "ZSC"]


def read(path):
    with open(path) as lines:
        rows = list(csv.DictReader((line for line in lines if not line.startswith("#")), restkey="more"))
    for row in rows:
        for key in ("m", "n", "lda", "k"):
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
    rows = [row for part in ("", "_widths", "_odd", "_types") for row in read(folder / f"cuda_vs_cublas{part}.csv")]
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
