#!/usr/bin/env python3
"""Registers and spills of the CUDA kernels that serve most of the committed rows of bench/results/h200.

    cuda_registers.py --commit ID [--count 20] [--architecture 90a] [--out FILE.csv]

Compiles each of these kernels by itself (nvcc on the path, no device needed) and writes what the assembler says of it:
kernel,policy,tile,real,layout,rows,registers,spilled_bytes. A tile that becomes several kernels shows the largest numbers.
"""
import argparse
import collections
import concurrent.futures
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "src" / "generator"))
import instances  # noqa: E402

TABLES = ["", "_widths", "_types", "_odd"]


def rows_of(file):
    for line in file.read_text().splitlines():
        if line and not line.startswith(("#", "product,")):
            yield line.split(",")


def served():
    """{(product, kernel, policy, tile, type, by columns): rows} of all tables."""
    count = collections.Counter()
    for table in TABLES:
        for cells in rows_of(ROOT / "bench" / "results" / "h200" / f"cuda_vs_cublas{table}.csv"):
            product = "tsmttsm" if cells[0] in ("tsmttsm", "gram") else "tsmm"
            text = re.sub(r"^parts of [^:]*: ", "", cells[13] if len(cells) > 13 else "")
            words = dict(zip(text.split()[::2], text.split()[1::2]))
            tile = words.get("tile") or words.get("blocks") or words.get("columns") or ""
            policy = words.get("policy", "gram" if cells[0] == "gram" and cells[12] == "fma" else "")
            count[product, cells[12], policy, tile, cells[1], cells[2].startswith("column")] += 1
    return count


def expressions(table, product, kernel, policy, tile, letter, by_columns):
    """(headers, instantiation) of all kernels that a row may have run."""
    name = "_".join(filter(None, [product, kernel, policy]))
    family = instances.FAMILIES.get(name)
    if family is None:
        return
    numbers = [int(n) for n in tile.split("x")]
    for real in {letter, {"C": "S", "Z": "D"}.get(letter, letter)}:
        for one, cells in instances.entries_of(table[name]):
            if one != real or cells[:len(numbers)] != numbers:
                continue
            for arguments in family.instances(one, cells):
                if arguments.get("by_columns", str(by_columns).lower()) == str(by_columns).lower():
                    yield family.headers, family.kernel.format(real=instances.REAL[one], **arguments)


def compiled(headers, expression, architecture, generated, folder):
    """(registers, spilled bytes) of a kernel."""
    source = Path(folder) / f"{abs(hash(expression))}.cu"
    source.write_text("".join(f'#include "src/cuda/{header}"\n' for header in ["kernels.hpp", *headers.split()]) +
                      f"namespace blockvec::kernels::cuda {{\nauto* const kernel = {expression};\n}}\n")
    run = subprocess.run(["nvcc", "-std=c++20", "-O3", "--expt-relaxed-constexpr", f"-I{ROOT}", f"-I{ROOT}/include",
                          f"-I{generated}", "-gencode", f"arch=compute_{architecture},code=sm_{architecture}", "-cubin",
                          "-Xptxas", "-v", source, "-o", source.with_suffix(".cubin")], capture_output=True, text=True)
    if run.returncode != 0:
        sys.exit(run.stderr)
    registers = [int(n) for n in re.findall(r"Used (\d+) registers", run.stderr)]
    spills = [int(n) for n in re.findall(r"(\d+) bytes spill stores", run.stderr)]
    return max(registers), max(spills)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--commit", required=True)
    parser.add_argument("--count", type=int, default=20)
    parser.add_argument("--architecture", default="90a")
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    table_file = ROOT / "src" / "tuning" / "instances.json"
    files, _ = instances.generate(table_file, [])
    table = instances.json.loads(table_file.read_text())
    version = subprocess.run(["nvcc", "--version"], capture_output=True, text=True, check=True).stdout.splitlines()[-1]
    lines = [f"# commit {arguments.commit}, sm_{arguments.architecture}, {version}",
             "kernel,policy,tile,real,layout,rows,registers,spilled_bytes"]
    kinds = collections.Counter()
    for (product, kernel, policy, tile, letter, by_columns), rows in served().items():
        found = tuple(sorted(set(expressions(table, product, kernel, policy, tile, letter, by_columns))))
        if found:
            kinds[product, kernel, policy, tile, instances.REAL[letter], by_columns, found] += rows
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        generated = Path(folder) / "generated"
        generated.mkdir()
        for name, text in files.items():
            (generated / name).write_text(text)
        chosen = kinds.most_common(arguments.count)
        jobs = [[pool.submit(compiled, headers, text, arguments.architecture, generated, folder)
                 for headers, text in kind[-1]] for kind, _ in chosen]
        for (kind, rows), results in zip(chosen, jobs):
            registers, spills = zip(*(job.result() for job in results))
            lines.append(f"{kind[0]} {kind[1]},{kind[2] or 'usual'},{kind[3]},{kind[4]},"
                         f"{'column' if kind[5] else 'row'},{rows},{max(registers)},{max(spills)}")
    text = "\n".join(lines) + "\n"
    arguments.out.write_text(text) if arguments.out else print(text, end="")


if __name__ == "__main__":
    main()
