#!/usr/bin/env python3
"""Prints the rows of the first page's table from the committed result files.

first_page_table.py     (tests/house/readme.py checks that README.md has exactly these rows)
"""

import csv
import pathlib
import statistics

RESULTS = pathlib.Path(__file__).resolve().parents[2] / "bench/results"


def read(name):
    with open(RESULTS / name, encoding="utf-8") as lines:
        return list(csv.DictReader(line for line in lines if not line.startswith("#")))


def seconds(value):
    return f"{float(value):.2g} s" if float(value) < 1 else f"{float(value):.1f} s"


def row(what, machine, here, others, name):
    return f"| {what} | {machine} | {here} | {others} | `{name}` |"


def eigenvalues(what, problem):
    """Libraries that find all pairs with their seconds, then those that do not."""
    name = "cpu/solver_peers.csv"
    mine = [r for r in read(name) if r["problem"] == problem and r["best"] == "yes"]
    here = next(r["seconds"] for r in mine if r["library"] == "BlockVec")
    peers = sorted((r for r in mine if r["library"] != "BlockVec"), key=lambda r: float(r["seconds"]))
    parts = [f"{r['library']} {seconds(r['seconds'])}" for r in peers if r["missed"] == "0"]
    incomplete = [r["library"] for r in peers if r["missed"] != "0"]
    parts += [" and ".join(incomplete) + (" miss some" if len(incomplete) > 1 else " misses some")] if incomplete else []
    return row(what, "2 cores", seconds(here), ", ".join(parts), name)


def device_eigenvalues(what, problem):
    """The fastest of ours, and each peer's fastest setting that finds all pairs, unless it takes 100 times as long."""
    name = "h200/solver_peers.csv"
    best = {}
    for r in read(name):
        if r["problem"] == problem:
            best[r["library"]] = min(best.get(r["library"], (9, 0.0)), (int(r["missed"]), float(r["seconds"])))
    limit = 100 * best["BlockVec"][1]
    parts = [f"{x} {seconds(t)}" for x, (missed, t) in best.items() if x != "BlockVec" and missed == 0 and t < limit]
    parts += [f"{x} misses some" for x, (missed, _) in best.items() if missed > 0]
    return row(what, "H200", seconds(best["BlockVec"][1]), ", ".join(parts), name)


def orthogonalisation():
    name = "cpu/orth_slepc.csv"
    mine = [r for r in read(name) if r["kind"] == "random"]

    def best(library):
        return seconds(min(float(r["median_seconds"]) for r in mine if r["library"].startswith(library)))

    return row(
        "Orthogonalise 8 vectors of 10⁶ to 64",
        "2 cores",
        best("blockvec"),
        f"SLEPc {best('slepc')}, LAPACK {best('lapack')}",
        name,
    )


def host_kernel(what, product):
    name = "cpu/host_kernels.csv"
    mine = [
        r
        for r in read(name)
        if r["product"] == product
        and r["type"] == "double"
        and r["layout"] == "row"
        and r["m"] == r["n"] == r["lda"]
        and int(r["m"]) <= 32
    ]
    share = statistics.median(float(r["share_of_binding_roof"]) for r in mine)
    ratio = statistics.median(float(r["ratio"]) for r in mine)
    return row(what, "2 cores", f"{100 * share:.0f} % of memory speed", f"OpenBLAS: {ratio:.1f} x the time", name)


def device_kernel(what, product):
    name = "h200/cuda_vs_cublas.csv"
    mine = [
        r
        for r in read(name)
        if r["product"] == product
        and r["type"] == "D"
        and r["layout"] == "row"
        and r["m"] == r["n"] == r["lda"]
        and int(r["m"]) <= 64
    ]
    share = statistics.median(float(r["share"]) for r in mine)
    ratio = statistics.median(float(r["ratio"]) for r in mine if float(r["ratio"]) > 0)
    return row(what, "H200", f"{100 * share:.0f} % of memory speed", f"cuBLAS: {ratio:.1f} x the time", name)


def rows():
    return [
        eigenvalues("8 lowest energies, 20 spins", "ring of 20 spins"),
        eigenvalues("8 lowest, 60³ grid", "laplacian 60^3"),
        device_eigenvalues("8 lowest energies, 24 spins", "heisenberg ring 24"),
        device_eigenvalues("8 lowest, 100³ grid", "laplacian 100^3"),
        orthogonalisation(),
        host_kernel("Inner product, 1 to 32 columns", "tsmttsm"),
        host_kernel("Update, 1 to 32 columns", "tsmm"),
        device_kernel("Inner product, 1 to 64 columns", "tsmttsm"),
        device_kernel("Update, 1 to 64 columns", "tsmm"),
    ]


if __name__ == "__main__":
    print("\n".join(rows()))
