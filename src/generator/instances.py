#!/usr/bin/env python3
"""Writes the list of the library's CUDA kernels, and the measured rows, into the build tree.

    instances.py TABLE.json FOLDER [ROWS.csv ...]

TABLE.json (src/tuning/instances.json) names the tiles of each family of kernels; ROWS.csv are tables of measured
configurations (src/tuning/rows.hpp). FOLDER gets
    cuda_shapes.inc     the tiles as arrays, for src/dispatch/cuda_shapes.hpp
    tuning_lines.inc    the lines of the tables of rows that serve calls, for src/tuning/rows.cpp
    FAMILY_TYPE_PART.cu definitions of the functions of src/cuda/ring_kernels.hpp, which compile side by side
and no other file stays there. Prints the names of the last ones. A row whose tile the table lacks, or that no template
makes, is an error.
"""
import argparse
import itertools
import json
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Callable

from files import write

KERNELS_OF_A_FILE = 8
REAL = {"S": "float", "D": "double", "C": "float", "Z": "double"}
LETTER = {"float": "S", "double": "D"}
PARTS = {"S": 1, "D": 1, "C": 2, "Z": 2}  # real numbers of a scalar
MOST_REGISTERS = 232  # of a computing thread


class Refused(Exception):
    """What a person has to mend in a table."""


def name_of(choice):
    """The name of a parameter that is declared with its type."""
    return choice.split()[-1]


@dataclass(frozen=True)
class Family:
    """A template, and how the numbers of a tile become its arguments."""
    stem: str  # of its function, STEM_kernel_of, and of its files
    headers: str
    pointer: str  # to its kernels
    kernel: str  # an instantiation
    numbers: tuple = ("m", "n")  # of a tile
    key: tuple = None  # those that name it; None: all
    shape: str = "TileShape"
    choices: dict = field(default_factory=dict)  # further arguments, with all their values
    makes: Callable = lambda real, m, **others: m >= 1
    by_parts: bool = False  # complex numbers have kernels of their own; else those of their parts

    def names(self):
        """Of the numbers and choices that tell kernels apart."""
        return list(map(name_of, self.parameters()))

    def parameters(self):
        return [*(f"int {name}" for name in self.key or self.numbers), *self.choices, *["int parts"] * self.by_parts]

    def instances(self, letter, tile):
        """The arguments, by name, of all kernels of a tile and a type."""
        if len(tile) != len(self.numbers) or (letter in "CZ" and not self.by_parts):
            return
        for values in itertools.product(*self.choices.values()):
            arguments = dict(zip([*self.numbers, *map(name_of, self.choices)], [*tile, *values]))
            if self.by_parts:
                arguments["parts"] = PARTS[letter]
            if self.makes(REAL[letter], **arguments):
                yield arguments


def sums_fit(real, m, n, **others):
    """Sums, one step's fragments and some for all else (tsmttsm)."""
    return m >= 1 and n >= 1 and 2 * (4 * m * n + 8 * m + 4) + 24 <= MOST_REGISTERS


def results_fit(real, m, n):
    """The same of tsmm; m = 0 is for so many columns."""
    if m == 0:
        return n in ((1, 2, 4, 8, 12) if real == "float" else (1, 2, 4))
    return n >= 1 and 2 * (4 * m * n + 4 * n + 8) + 40 <= MOST_REGISTERS


BY_COLUMNS = {"bool by_columns": ("false", "true")}
FAMILIES = {
    "tsmttsm_tiles": Family("tsmttsm_ring", "tsmttsm_ring.cuh", "TsmttsmRingKernel",
                            "tsmttsm_ring_kernel<{real}, {by_columns}, FullTiles<{m}, {n}>>", choices=BY_COLUMNS,
                            makes=sums_fit),
    "tsmttsm_narrow_tiles": Family("tsmttsm_narrow", "tsmttsm_narrow.cuh", "TsmttsmRingKernel",
                                   "tsmttsm_narrow_kernel<{real}, {parts}, {n}, false, true>", by_parts=True,
                                   makes=lambda real, m, n, parts: m == 0 and n % parts == 0),
    "gram_narrow_tiles": Family("tsmttsm_narrow_gram", "tsmttsm_narrow.cuh", "TsmttsmRingKernel",
                                "tsmttsm_narrow_kernel<{real}, {parts}, {n}, true, {by_columns}>", choices=BY_COLUMNS,
                                by_parts=True,
                                makes=lambda real, m, n, by_columns, parts: m == 0 and n % parts == 0
                                and (by_columns == "true" or (real == "float" and n > 2))),
    "gram_shapes": Family("tsmttsm_gram", "tsmttsm_ring.cuh", "TsmttsmRingKernel",
                          "tsmttsm_gram_kernel<{real}, {by_columns}, {blocks}, {warps}>", ("blocks", "warps"),
                          ("blocks",), "GramShape", BY_COLUMNS,
                          lambda real, blocks, warps, by_columns: blocks >= warps >= 1 and warps <= 8),
    "gauss_tiles": Family("tsmttsm_gauss", "tsmttsm_ring.cuh tsmttsm_gauss.cuh", "TsmttsmRingKernel",
                          "tsmttsm_ring_kernel<{real}, {by_columns}, GaussTiles<{m}, {n}>>", choices=BY_COLUMNS),
    "gauss_square_tiles": Family("tsmttsm_gauss_square", "tsmttsm_ring.cuh tsmttsm_gauss_square.cuh",
                                 "TsmttsmRingKernel", "tsmttsm_ring_kernel<{real}, {by_columns}, GaussSquare<{m}>>",
                                 choices=BY_COLUMNS, makes=lambda real, m, n, by_columns: m == n and m in (5, 7)),
    "row_warpgroup_tiles": Family("tsmttsm_rows_warpgroup", "tsmttsm_rows_warpgroup.cuh", "TsmttsmRingKernel",
                                  "tsmttsm_rows_warpgroup_kernel<8 * {n}, {aligned}, {by_columns}, {m} == 2>",
                                  choices={"bool aligned": ("false", "true"), **BY_COLUMNS},
                                  makes=lambda real, m, n, aligned, by_columns: 4 <= n <= 8
                                  and (m == 1 or (m == 2 and n == 4)) and (by_columns == "false" or aligned == "true")),
    "complex_warpgroup_tiles": Family("tsmttsm_complex_warpgroup", "tsmttsm_gauss_warpgroup.cuh", "TsmttsmRingKernel",
                                      "tsmttsm_gauss_warpgroup_kernel<{by_columns}, 8 * {n}, {m} == 2>", choices=BY_COLUMNS,
                                      makes=lambda real, m, n, by_columns: 3 <= n <= 8 and (
                                          m == 1 or (m == 2 and n == 4))),
    "direct_shapes": Family("tsmttsm_direct", "tsmttsm_direct.cuh", "TsmttsmDirectKernel",
                            "tsmttsm_direct_kernel<{real}, {neighbours}, {m}, {n}, {warps}>", ("m", "n", "warps"),
                            ("m", "n"), "DirectShape",
                            {"Neighbours neighbours": tuple(f"Neighbours::{n}" for n in ("none", "in_columns",
                                                                                        "in_rows"))}),
    "tsmm_tiles": Family("tsmm_ring", "tsmm_ring.cuh", "TsmmRingKernel", "tsmm_ring_kernel<{real}, {m}, {n}>",
                         makes=results_fit),
    "tsmm_deep_tiles": Family("tsmm_deep", "tsmm_deep.cuh", "TsmmRingKernel", "tsmm_deep_kernel<{m}, {columns}>",
                              choices={"int columns": (64, 128)},
                              makes=lambda real, m, n, columns: 1 <= m <= 128 // columns and n == 0),
    "tsmm_split_tiles": Family("tsmm_split", "tsmm_ring.cuh", "TsmmRingKernel",
                               "tsmm_ring_kernel<{real}, {m}, {n}, true>"),
    "tsmm_warpgroup_tiles": Family("tsmm_warpgroup", "tsmm_warpgroup.cuh", "TsmmRingKernel",
                                   "tsmm_warpgroup_kernel<{parts}, 8 * {n}, {paired}, {updates}>", ("parts", "n"),
                                   shape="WarpgroupTile", choices={"bool paired": ("false", "true"),
                                                                   "bool updates": ("false", "true")},
                                   makes=lambda real, parts, n, paired, updates: 1 <= n <= 8
                                   and 1 <= parts <= (2 if paired == "true" else 1)),
    "tsmm_box_tiles": Family("tsmm_boxes", "tsmm_boxes.cuh", "TsmmBoxesKernel",
                             "tsmm_boxes_kernel<{real}, {m}, {n}>"),
    "tsmm_box_split_tiles": Family("tsmm_boxes_split", "tsmm_boxes_split.cuh", "TsmmBoxesKernel",
                                   "tsmm_boxes_split_kernel<{parts}, {m}, 8 * {n}>", by_parts=True,
                                   makes=lambda real, m, n, parts: real == "float" and 1 <= m <= 2
                                   and n in (1, 2, 4, 8, 16) and m * n * parts <= 16),
    "tsmm_wide_tiles": Family("tsmm_wide", "tsmm_wide.cuh", "TsmmBoxesKernel", "tsmm_wide_kernel<{real}, {m}, {n}>",
                              makes=lambda real, m, n: m == 2 and 1 <= n <= 8),
    "tsmm_gauss_tiles": Family("tsmm_gauss", "tsmm_gauss.cuh", "TsmmBoxesKernel",
                               "tsmm_gauss_kernel<GaussTile<{m}, {n}, {by_columns}>>", choices=BY_COLUMNS,
                               makes=lambda real, m, n, by_columns: m * n <= 4
                               and (by_columns == "true") == (m > 1)),
    "tsmm_gauss_register_tiles": Family("tsmm_gauss_registers", "tsmm_gauss_registers.cuh", "TsmmBoxesKernel",
                                        "tsmm_gauss_registers_kernel<{m}, {n}, {by_columns}>", choices=BY_COLUMNS,
                                        makes=lambda real, m, n, by_columns: 2 <= m <= 16 and n in (2, 3, 4)),
    "tsmm_warps_tiles": Family("tsmm_warps", "tsmm_warps.cuh", "TsmmWarpsKernel",
                               "tsmm_warps_kernel<{real}, {m}, {n}>"),
    "tsmm_warps_split_tiles": Family("tsmm_warps_split", "tsmm_warps.cuh", "TsmmWarpsKernel",
                                     "tsmm_warps_kernel<{real}, {m}, {n}, true>",
                                     makes=lambda real, m, n: real == "float" and m >= 1 and 1 <= n <= 8),
    "tsmm_column_tiles": Family("tsmm_columns", "tsmm_columns.cuh", "TsmmColumnsKernel",
                                "tsmm_columns_kernel<{real}, {parts}, {m}, {n}>", by_parts=True,
                                makes=lambda real, m, n, parts: real == "double" and m >= 1 and n >= 1),
    "tsmm_column_split_tiles": Family("tsmm_columns_split", "tsmm_columns_split.cuh", "TsmmColumnPiecesKernel",
                                      "tsmm_columns_split_kernel<{parts}, 8 * {n}, {m}>", by_parts=True,
                                      makes=lambda real, m, n, parts: real == "float" and 1 <= m <= 4
                                      and 2 <= n <= 8),
    "tsmm_column_fma_tiles": Family("tsmm_columns_fma", "tsmm_columns_fma.cuh", "TsmmColumnPiecesKernel",
                                    "tsmm_columns_fma_kernel<{real}, {parts}, {n}, {m}>", by_parts=True,
                                    makes=lambda real, m, n, parts: m >= 1 and n * parts % 4 == 0),
    "tsmm_panels_tiles": Family("tsmm_panels", "tsmm_panels.cuh", "TsmmPanelsKernel", "tsmm_panels_kernel<{m}, {n}>",
                                makes=lambda real, m, n: real == "double" and m in (4, 8) and 1 <= n <= 4),
    "tsmm_direct_shapes": Family("tsmm_direct", "tsmm_direct.cuh", "TsmmDirectKernel",
                                 "tsmm_direct_kernel<{real}, {parts}, {columns}, {rows}, {panel}>",
                                 ("columns", "rows", "panel"), shape="DirectColumns", by_parts=True,
                                 makes=lambda real, columns, rows, panel, parts: min(columns, rows, panel) >= 1),
}


def tiles_of(entry):
    """(letters of types, tile) of all tiles of a family: its own letters stand in front of a tile, else its family's."""
    for tile in entry["tiles"]:
        own = [cell for cell in tile if isinstance(cell, str)]
        yield (own[0] if own else entry["types"]), tile[len(own):]


def entries_of(entry):
    """(letter of a type, tile) of everything that a family's entry of the table names."""
    return [(letter, tile) for letters, tile in tiles_of(entry) for letter in letters]


def checked(table):
    """The table, where every family and every tile of it can be made."""
    for name in sorted(set(table) ^ set(FAMILIES)):
        raise Refused(f"{name}: " + ("no template is known for it" if name in table else "the table lacks it"))
    for name, entry in table.items():
        for letter, tile in entries_of(entry):
            if letter not in REAL or not any(FAMILIES[name].instances(letter, tile)):
                raise Refused(f"{name}: no template makes {tile} of type {letter}")
    return table


def family_of_row(product, kernel, words, tile):
    """The family that a row of measured configurations means; None: one without tiles."""
    tf32, gauss, held = (int(words.get(word, 0)) for word in ("tf32", "gauss", "held"))
    if product in ("tsmttsm", "gram"):
        if kernel == "ring" and 0 in tile:
            return "gram_shapes" if tile[1:] == [0] else f"{product}_narrow_tiles"
        ring = {(0, 0): "tsmttsm_tiles", (0, 1): "gauss_tiles", (0, 2): "gauss_square_tiles",
                (3, 0): "complex_warpgroup_tiles", (4, 0): "row_warpgroup_tiles"}
        known = {"ring": ring.get((tf32, gauss)), "direct": "direct_shapes"}
    else:
        ring = "tsmm_split_tiles" if tf32 else "tsmm_deep_tiles" if tile[1:] == [0] else "tsmm_tiles"
        boxes = ("tsmm_gauss_register_tiles" if held else "tsmm_gauss_tiles") if gauss else \
            "tsmm_box_split_tiles" if tf32 else "tsmm_box_tiles"
        known = {"ring": ring, "boxes": boxes, "wide": "tsmm_wide_tiles",
                 "warps": "tsmm_warps_split_tiles" if tf32 else "tsmm_warps_tiles",
                 "columns": "tsmm_column_split_tiles" if tf32 else
                            "tsmm_column_tiles" if words.get("warps", "1")[0] != "0" else "tsmm_column_fma_tiles",
                 "warpgroup": "tsmm_warpgroup_tiles", "panels": "tsmm_panels_tiles",
                 "direct": "tsmm_direct_shapes"}
    if known.get(kernel) is None:
        raise Refused(f"{product} has no such kernel: {kernel}")
    return known[kernel]


def check_row(table, product, letter, kernel, configuration):
    """Refuses a row that names a tile for which there is no kernel."""
    if kernel == "general":
        return
    pieces = configuration.split(" ")
    words = dict(zip(pieces[::2], pieces[1::2]))
    tile = [int(number) for number in words["tile"].split("x")]
    name = family_of_row(product, kernel, words, tile)
    family = FAMILIES[name]
    if name == "tsmm_warpgroup_tiles":
        tile = [PARTS[letter], *tile]
    elif name == "tsmm_direct_shapes":
        tile = [*reversed(tile), int(words["panel"])]
    key = len(family.key or family.numbers)
    wanted = letter if family.by_parts else LETTER[REAL[letter]]
    if not any(other == wanted and shape[:key] == tile[:key] for other, shape in entries_of(table[name])):
        raise Refused(f"{name} has no tile {words['tile']} for {letter}")


def rows_of(file, table):
    """(number, text) of each row of a table that was not measured slower; all of them name kernels that exist."""
    for number, line in enumerate(file.read_text().splitlines(), 1):
        if not line or line.startswith(("#", "device,")):
            continue
        cells = line.split(",")
        if cells[15:16] == ["slower"]:
            continue
        try:
            check_row(table, cells[3], cells[4], cells[10], cells[11])
        except (IndexError, KeyError, ValueError) as error:
            raise Refused(f"{file.name}:{number}: cannot be read ({error!r}): {line}") from error
        except Refused as error:
            raise Refused(f"{file.name}:{number}: {error}: {line}") from error
        yield number, line


def shapes_text(table):
    """The tiles as arrays of C++."""
    return "".join(f"/// {entry['serves']}\ninline constexpr {FAMILIES[name].shape} {name}[] = {{" +
                   ", ".join("{" + ", ".join(map(str, tile)) + "}" for _, tile in tiles_of(entry)) + "};\n"
                   for name, entry in table.items())


def part_text(family, real, kernels, part, parts):
    """A file with the `part`-th share of a family's kernels of one type; it asks the next part for all others."""
    pointer = f"{family.pointer}<{real}>"
    name = lambda i: f"{family.stem}_{real}_{i}"
    following = f"{name(part + 1)}({', '.join(family.names())})" if part + 1 < parts else "nullptr"
    head = f"{pointer} {name(part)}" if part else f"template <>\n{pointer} {family.stem}_kernel_of<{real}>"
    lines = [f'#include "src/cuda/{header}"' for header in ["ring_kernels.hpp", *family.headers.split()]]
    lines += ["", "namespace blockvec::kernels::cuda {", ""]
    lines += [f"{pointer} {name(part + 1)}({', '.join(family.parameters())});", ""] if part + 1 < parts else []
    lines += [f"{head}({', '.join(family.parameters())}) {{"]
    for arguments in kernels:
        condition = " && ".join(f"{key} == {arguments[key]}" for key in family.names())
        lines += [f"  if ({condition}) return {family.kernel.format(real=real, **arguments)};"]
    return "\n".join([*lines, f"  return {following};", "}", "", "}  // namespace blockvec::kernels::cuda", ""])


def sources(table):
    """{name: text} of all files with kernels."""
    texts = {}
    for name, entry in table.items():
        family = FAMILIES[name]
        for real in ["float", "double"]:
            kernels = [instance for letter, tile in entries_of(entry) if REAL[letter] == real
                       for instance in family.instances(letter, tile)]
            parts = -(-len(kernels) // KERNELS_OF_A_FILE)
            for i in range(parts):
                texts[f"{family.stem}_{real}_{i}.cu"] = part_text(family, real, kernels[i::parts], i, parts)
    return texts


def generate(table_file, row_files):
    """({name: text} of all files, the names of those to be compiled)."""
    table = checked(json.loads(table_file.read_text()))
    lines = "".join(f'{{"{file.name}", {number}, {json.dumps(line)}}},\n'
                    for file in row_files for number, line in rows_of(file, table))
    compiled = sources(table)
    return {"cuda_shapes.inc": shapes_text(table), "tuning_lines.inc": lines, **compiled}, list(compiled)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("table", type=Path)
    parser.add_argument("folder", type=Path)
    parser.add_argument("rows", type=Path, nargs="*")
    arguments = parser.parse_args()
    try:
        files, compiled = generate(arguments.table, arguments.rows)
    except (Refused, json.JSONDecodeError) as error:
        sys.exit(f"{arguments.table.name}: {error}")
    arguments.folder.mkdir(parents=True, exist_ok=True)
    for file in arguments.folder.iterdir():
        if file.name not in files:
            file.unlink()
    for name, text in files.items():
        write(arguments.folder / name, text)
    print("\n".join(compiled))


if __name__ == "__main__":
    main()
