#!/usr/bin/env python3
"""Writes the instantiations of the study's kernels (src/cuda/study) into the build tree.

    study.py TABLE.json FOLDER --parts COUNT

TABLE.json holds the families of kernels that are wanted; FOLDER gets COUNT files part_*.cu, which compile side by side,
and catalogue.cpp, which lists all that they hold. Files whose text would not change are left alone.
"""
import argparse
import itertools
import json
from pathlib import Path

from files import write

THREADS = range(128, 257, 32)  # of a block, unless a row needs more
MOST_THREADS = 1024
MULTIPROCESSOR_REGISTERS = 65536
CONSTANT_BYTES = 32764  # that a kernel's argument may hold
SHARED_BYTES = 48 * 1024  # that a kernel may declare
BYTES = {"D": 8, "Z": 16}
CPP_TYPE = {"D": "double", "Z": "Complex"}


def widths_of(text):
    """The widths of a list such as "1-3,8"."""
    widths = []
    for item in text.split(","):
        first, _, last = item.partition("-")
        widths += range(int(first), int(last or first) + 1)
    return widths


def pieces(width, tile):
    return -(-width // tile)


def registers(kind, tile_m, tile_n, leap_frog):
    """The paper's estimate (section 5.2): sums, operands (twice where the next row is read ahead) and 8 others."""
    numbers = tile_m * tile_n + (2 if leap_frog else 1) * (tile_m + tile_n)
    return 2 * (numbers * BYTES[kind] // 8 + 8)


def cost(width, tile_m, tile_n):
    """Products and loads of all threads of a row, those past the width included."""
    owners = pieces(width, tile_m) * pieces(width, tile_n)
    return owners * (tile_m * tile_n + tile_m + tile_n)


def best_tile(kind, width, leap_frog, limit):
    """The cheapest tile within `limit` registers, or None; of equals the squarest, then the one with fewer rows."""
    fitting = [(m, n) for m in range(1, width + 1) for n in range(1, width + 1)
               if registers(kind, m, n, leap_frog) <= limit and is_tight(width, m) and is_tight(width, n)
               and pieces(width, m) * pieces(width, n) <= MOST_THREADS]
    return min(fitting, key=lambda tile: (cost(width, *tile), abs(tile[0] - tile[1]), tile), default=None)


def is_tight(width, tile):
    """Whether no smaller tile covers the width with as many pieces."""
    return tile == pieces(width, pieces(width, tile))


def block_threads(owners):
    """The threads of a block whose rows take `owners` threads each: the fewest idle ones, then the smallest block."""
    if owners > THREADS[-1]:
        return -(-owners // 32) * 32
    return max(THREADS, key=lambda threads: (threads // owners * owners / threads, -threads))


def least_blocks(threads, limit):
    """Blocks on a multiprocessor that hold a thread to `limit` registers."""
    return max(1, MULTIPROCESSOR_REGISTERS // (threads * limit))


def tiles_of(rule, kind, width, leap_frog):
    """(tile_m, tile_n, limit of registers or None) for each tile that a rule names."""
    if "registers" in rule:
        for limit in rule["registers"]:
            tile = best_tile(kind, width, leap_frog, limit)
            if tile:
                yield *tile, limit
    elif "pairs" in rule:
        yield from ((m, n, None) for m, n in rule["pairs"] if m <= width and n <= width)
    elif "sides" in rule:
        for m, n in itertools.product(rule["sides"], repeat=2):
            if max(m, n) <= width and registers(kind, m, n, leap_frog) <= rule["registers_at_most"]:
                yield m, n, None
    elif rule["mapping"] == "k":
        yield width, width, None
    elif rule["mapping"] == "k and n":
        yield width, 1, None
    else:
        raise ValueError(f"no mapping {rule['mapping']!r}")


def tsmttsm_kernels(family):
    """The template arguments of describe_tsmttsm for each kernel of a family."""
    for width, kind in itertools.product(widths_of(family["widths"]), family["types"]):
        for leap_frog in family["leap_frog"]:
            for tile_m, tile_n, limit in tiles_of(family["tiles"], kind, width, leap_frog):
                owners = pieces(width, tile_m) * pieces(width, tile_n)
                if owners > MOST_THREADS:
                    continue
                threads = block_threads(owners)
                blocks = least_blocks(threads, limit) if limit and family.get("capped", True) else 1
                # One piece a row, or one column a thread: transposed and not are the same.
                forms = {t or (tile_m in (1, width) and tile_n in (1, width)) for t in family["transposed"]}
                reductions = family.get("reduction", ["block"])
                for transposed, reduction, change in itertools.product(sorted(forms, reverse=True), reductions,
                                                                       family.get("change", ["none"])):
                    yield (CPP_TYPE[kind], width, width, tile_m, tile_n, transposed, leap_frog, threads, blocks,
                           f"Reduction::{reduction}", f"Change::{change}")


def tsmm_kernels(family):
    """The template arguments of describe_tsmm for each kernel of a family."""
    for width, kind in itertools.product(widths_of(family["widths"]), family["types"]):
        for per_row, unroll, transposed, source in itertools.product(
                family["threads_per_row"], family["unroll"], family["transposed"], family["source"]):
            wide_enough = width >= per_row or per_row == 4  # 4 doubles are a sector of memory
            fits = source != "constant" or width * width * BYTES[kind] <= CONSTANT_BYTES
            if wide_enough and fits:
                yield CPP_TYPE[kind], width, width, per_row, unroll, transposed, f"Source::{source}", 256


def all_kernels(table):
    """{product: template arguments, each once, in the order of the table}."""
    expand = {"tsmttsm": tsmttsm_kernels, "tsmm": tsmm_kernels}
    return {product: list(dict.fromkeys(itertools.chain.from_iterable(map(expand[product], table[product]))))
            for product in expand}


def cpp(argument):
    return str(argument).lower() if isinstance(argument, bool) else str(argument)


def part_text(index, kernels):
    """A file with the `index`-th share of the kernels."""
    lines = ['#include "src/cuda/study/tsmm.cuh"', '#include "src/cuda/study/tsmttsm.cuh"', "",
             "namespace blockvec::kernels::cuda::study {", ""]
    for product, chosen in kernels.items():
        kind = product.capitalize() + "Kernel"
        lines += [f"void {product}_part_{index}(std::vector<{kind}>& to) {{"]
        lines += [f"  to.push_back(describe_{product}<{', '.join(map(cpp, k))}>());" for k in chosen]
        lines += ["}"]
    return "\n".join([*lines, "", "}  // namespace blockvec::kernels::cuda::study", ""])


def catalogue_text(parts, products):
    lines = ['#include "src/cuda/study/kernels.hpp"', "", "namespace blockvec::kernels::cuda::study {", ""]
    for product in products:
        kind = product.capitalize() + "Kernel"
        lines += [f"void {product}_part_{i}(std::vector<{kind}>& to);" for i in range(parts)]
        lines += [f"std::vector<{kind}> all_{product}_kernels() {{", f"  std::vector<{kind}> all;"]
        lines += [f"  {product}_part_{i}(all);" for i in range(parts)]
        lines += ["  return all;", "}"]
    return "\n".join([*lines, "", "}  // namespace blockvec::kernels::cuda::study", ""])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("table", type=Path)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--parts", type=int, required=True)
    arguments = parser.parse_args()
    kernels = all_kernels(json.loads(arguments.table.read_text()))
    arguments.folder.mkdir(parents=True, exist_ok=True)
    for i in range(arguments.parts):
        share = {product: chosen[i::arguments.parts] for product, chosen in kernels.items()}
        write(arguments.folder / f"part_{i}.cu", part_text(i, share))
    write(arguments.folder / "catalogue.cpp", catalogue_text(arguments.parts, kernels))
    print(", ".join(f"{len(chosen)} {product}" for product, chosen in kernels.items()))


if __name__ == "__main__":
    main()
