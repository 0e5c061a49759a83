#!/usr/bin/env python3
"""Writes the list of the library's CUDA kernels, and the measured rows, into the build tree.

    instances.py TABLE.json FOLDER [ROWS.csv ...]

TABLE.json (src/tuning/instances.json) names the tiles of each family of kernels; ROWS.csv are tables of measured
configurations (src/tuning/rows.hpp). FOLDER gets
    cuda_shapes.inc     the tiles as arrays, for src/dispatch/cuda/shapes.hpp
    cuda_compiled.inc   all kernels that they become, for src/dispatch/cuda/shapes.hpp
    cuda_kernels.inc    declarations of the functions that find them, for src/cuda/kernels.hpp
    tuning_lines.inc    the lines of the tables of rows that serve calls, for src/tuning/rows.cpp
    FAMILY_PART.cu      definitions of these functions, which compile side by side; families of one product that
                        need the same of a device share a file, named after the first of them, up to a length
and no other file stays there. Prints the names of the last ones, each behind what its kernels need of a device: any,
bulk (copies; 9.0 and newer) or wgmma (9.0a). A tile that no template makes is an error.
"""
import argparse
import itertools
import json
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Callable

from files import write

KERNELS_OF_A_FILE = 32  # the headers that all of them need take as long as three kernels
REAL = {"S": "float", "D": "double", "C": "float", "Z": "double"}
PARTS = {"S": 1, "D": 1, "C": 2, "Z": 2}  # real numbers of a scalar
MOST_REGISTERS = 232  # of a computing thread


class Refused(Exception):
    """What a person has to mend in a table."""


def name_of(choice):
    """The name of a parameter that is declared with its type."""
    return choice.split()[-1]


@dataclass(frozen=True)
class Family:
    """A template, and how the numbers of a tile become its arguments. Its name is that of the kernel, and of its
    policy if that is not the usual one: tsmm_strided_3m is what C++ calls {TsmmKernel::strided, Policy::three_m}, and
    tsmm_strided_3m_kernel_of finds its instantiations."""
    headers: str
    arguments: str  # the type of a kernel's argument
    kernel: str  # an instantiation
    numbers: tuple = ("m", "n")  # of a tile
    key: tuple = None  # those that name it; None: all
    shape: str = "TileShape"
    choices: dict = field(default_factory=dict)  # further arguments, with all their values
    makes: Callable = lambda real, m, n, **others: m >= 1
    by_parts: bool = False  # complex numbers have kernels of their own; else those of their parts
    needs: str = "any"  # device code that its kernels exist in: any; bulk: 9.0 and newer; wgmma: 9.0a
    bulk_if: tuple = ()  # choices that need bulk copies where they are true

    def needs_of(self, arguments):
        """What a kernel needs."""
        return "bulk" if any(arguments[name] == "true" for name in self.bulk_if) else self.needs

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
    """The same of tsmm."""
    return m >= 1 and n >= 1 and 2 * (4 * m * n + 4 * n + 8) + 40 <= MOST_REGISTERS


BY_COLUMNS = {"bool by_columns": ("false", "true")}
NEIGHBOURS = tuple(f"Neighbours::{name}" for name in ("none", "in_columns", "in_rows"))
# The tiles of tsmttsm_direct whose lanes load neighbours. Those of other tiles load single numbers.
LOADED_TOGETHER = {"float": {NEIGHBOURS[1]: [(1, 1)], NEIGHBOURS[2]: [(2, 2)]},
                   "double": {NEIGHBOURS[1]: [(1, 1), (4, 4)], NEIGHBOURS[2]: [(2, 1), (2, 2), (4, 3), (4, 4)]}}
RING = "TsmttsmRing<{real}>"
BOXES = "TsmmBoxes<{real}>"
COLUMNS = "TsmmColumns<{real}>"
FAMILIES = {
    "tsmttsm_ring": Family("tsmttsm/ring.cuh", RING, "tsmttsm_ring_kernel<{real}, {by_columns}, FullTiles<{m}, {n}>>",
                           choices=BY_COLUMNS, makes=sums_fit, bulk_if=("by_columns",)),
    "tsmttsm_ring_3m": Family("tsmttsm/ring.cuh tsmttsm/ring_3m.cuh", RING,
                              "tsmttsm_ring_kernel<{real}, {by_columns}, GaussTiles<{m}, {n}>>", choices=BY_COLUMNS,
                              makes=lambda real, m, n, by_columns: real == "double" and m >= 1),
    "tsmttsm_ring_square_3m": Family("tsmttsm/ring.cuh tsmttsm/ring_3m.cuh", RING,
                                "tsmttsm_ring_kernel<{real}, {by_columns}, GaussSquare<{blocks}>>", ("blocks",),
                                shape="Columns", choices=BY_COLUMNS,
                                makes=lambda real, blocks, by_columns: real == "double" and blocks in (5, 7)),
    "tsmttsm_gram": Family("tsmttsm/gram.cuh", RING,
                           "tsmttsm_gram_kernel<{real}, {by_columns}, {blocks}, {warps}, {wide}>",
                           ("blocks", "warps"), ("blocks",), "GramShape",
                           {**BY_COLUMNS, "bool wide": ("false", "true")},
                           lambda real, blocks, warps, by_columns, wide: blocks >= warps >= 1 and warps <= 8
                           and (wide == "false" or (blocks, warps) == (16, 4)), bulk_if=("by_columns", "wide")),
    "tsmttsm_tf32_warpgroup": Family("tsmttsm/tf32_warpgroup.cuh", RING,
                                     "tsmttsm_tf32_warpgroup_kernel<RealProducts<8 * {n}, {aligned}>, {by_columns}, "
                                     "{m} == 2>",
                                     choices={"bool aligned": ("false", "true"), **BY_COLUMNS},
                                     makes=lambda real, m, n, aligned, by_columns: real == "float" and 4 <= n <= 8
                                     and (m == 1 or (m == 2 and n == 4))
                                     and (by_columns == "false" or aligned == "true"), needs="wgmma"),
    "tsmttsm_tf32_warpgroup_3m": Family("tsmttsm/tf32_warpgroup.cuh", RING,
                                        "tsmttsm_tf32_warpgroup_kernel<GaussProducts<8 * {n}>, {by_columns}, {m} == 2>",
                                        choices=BY_COLUMNS,
                                        makes=lambda real, m, n, by_columns: real == "float" and 3 <= n <= 8
                                        and (m == 1 or (m == 2 and n == 4)), needs="wgmma"),
    "tsmttsm_direct": Family("tsmttsm/direct.cuh", "TsmttsmDirect<{real}>",
                             "tsmttsm_direct_kernel<DirectTiles<{real}, {neighbours}, {m}, {n}>, {warps}>",
                             ("m", "n", "warps"), ("m", "n"), "DirectShape", {"Neighbours neighbours": NEIGHBOURS},
                             lambda real, m, n, warps, neighbours: (m, n) in LOADED_TOGETHER[real].get(
                                 neighbours, [(m, n)])),
    "tsmttsm_direct_tf32": Family("tsmttsm/direct_tf32.cuh", "TsmttsmDirect<{real}>",
                                  "tsmttsm_direct_kernel<DirectTf32Tiles<{neighbours}, {m}, {n}>, {warps}>",
                                  ("m", "n", "warps"), ("m", "n"), "DirectShape", {"Neighbours neighbours": NEIGHBOURS},
                                  lambda real, m, n, warps, neighbours: real == "float"
                                  and (m, n) in LOADED_TOGETHER[real].get(neighbours, [(m, n)])),
    "tsmm_row_ring": Family("tsmm/row_tiles.cuh", "TsmmRing<{real}>",
                            "tsmm_ring_kernel<{real}, RowTiles<{real}, Fp64, {m}, {n}>>",
                            makes=results_fit),
    "tsmm_row_ring_tf32": Family("tsmm/row_tiles.cuh", "TsmmRing<{real}>",
                                 "tsmm_ring_kernel<{real}, RowTiles<{real}, Tf32x3, {m}, {n}>>",
                                 makes=lambda real, m, n: real == "float" and m >= 1),
    "tsmm_row_ring_fma": Family("tsmm/row_fma.cuh", "TsmmRing<{real}>",
                                "tsmm_ring_kernel<{real}, RowFma<{real}, {columns}>>", ("columns",), shape="Columns",
                           makes=lambda real, columns: columns in ((1, 2, 4, 8, 12) if real == "float" else (1, 2, 4))),
    "tsmm_column_ring": Family("tsmm/column_f64.cuh", COLUMNS, "tsmm_column_ring_kernel<ColumnF64<{parts}, {m}, {n}>>",
                               by_parts=True, needs="bulk",
                               makes=lambda real, m, n, parts: real == "double" and m >= 1 and n >= 1),
    "tsmm_column_ring_tf32": Family("tsmm/column_tf32.cuh", COLUMNS,
                                    "tsmm_column_ring_kernel<ColumnTf32<{parts}, 8 * {n}, {m}>>", by_parts=True,
                                    needs="wgmma",
                                    makes=lambda real, m, n, parts: real == "float" and 1 <= m <= 4 and 2 <= n <= 8),
    "tsmm_column_ring_fma": Family("tsmm/column_fma.cuh", COLUMNS,
                                   "tsmm_column_ring_kernel<ColumnFma<{real}, {parts}, {n}, {m}>>", by_parts=True,
                                   makes=lambda real, m, n, parts: m >= 1 and n * parts % 4 == 0, needs="bulk"),
    "tsmm_strided": Family("tsmm/strided.cuh", BOXES, "tsmm_strided_kernel<Fp64Tiles<{real}, {m}, {n}>>", needs="bulk"),
    "tsmm_strided_3m": Family("tsmm/strided_3m.cuh", BOXES, "tsmm_strided_kernel<GaussTile<{m}, {n}, {by_columns}>>",
                              choices=BY_COLUMNS,
                              makes=lambda real, m, n, by_columns: real == "double" and m * n <= 4
                              and (by_columns == "true") == (m > 1), needs="bulk"),
    "tsmm_strided_tf32": Family("tsmm/strided_tf32.cuh", BOXES,
                                "tsmm_strided_kernel<WarpgroupTiles<{parts}, {m}, 8 * {n}>>",
                                by_parts=True, makes=lambda real, m, n, parts: real == "float" and 1 <= m <= 2
                                and n in (1, 2, 4, 8, 16) and m * n * parts <= 16, needs="wgmma"),
    "tsmm_registers_3m": Family("tsmm/registers_3m.cuh", BOXES, "tsmm_gauss_registers_kernel<{m}, {n}, {by_columns}>",
                                choices=BY_COLUMNS, makes=lambda real, m, n, by_columns: real == "double"
                                and 2 <= m <= 16 and n in (2, 3, 4), needs="bulk"),
    "tsmm_wide": Family("tsmm/strided.cuh", BOXES, "tsmm_strided_kernel<Fp64Tiles<{real}, {m}, {n}, true>>",
                        makes=lambda real, m, n: m == 2 and 1 <= n <= 8, needs="bulk"),
    "tsmm_per_warp": Family("tsmm/per_warp.cuh", "TsmmWarps<{real}>", "tsmm_warps_kernel<{real}, {n}>",
                            makes=lambda real, m, n: m == 1),
    "tsmm_tf32_warpgroup": Family("tsmm/tf32_warpgroup.cuh", "TsmmRing<{real}>",
                                  "tsmm_warpgroup_kernel<{parts}, 8 * {n}, {paired}, {updates}>", ("n",),
                                  shape="Columns", by_parts=True,
                                  choices={"bool paired": ("false", "true"), "bool updates": ("false", "true")},
                                  makes=lambda real, n, paired, updates, parts: real == "float" and 1 <= n <= 8
                                  and parts <= (2 if paired == "true" else 1), needs="wgmma"),
    "tsmm_short_k": Family("tsmm/short_k.cuh", "TsmmPanels", "tsmm_panels_kernel<{m}, {n}>",
                           makes=lambda real, m, n: real == "double" and m in (4, 8) and 1 <= n <= 4),
    "tsmm_direct": Family("tsmm/direct.cuh", "TsmmDirect<{real}>",
                          "tsmm_direct_kernel<{real}, {parts}, {columns}, {rows}, {panel}>",
                          ("rows", "columns", "panel"), shape="ThreadShape", by_parts=True,
                          makes=lambda real, columns, rows, panel, parts: min(columns, rows, panel) >= 1),
    "tsmm_direct_f32": Family("tsmm/direct.cuh", "TsmmDirect<{real}>",
                              "tsmm_direct_kernel<{real}, {parts}, {columns}, {rows}, {panel}, float>",
                              ("rows", "columns", "panel"), shape="ThreadShape", by_parts=True,
                              makes=lambda real, columns, rows, panel, parts: real == "float"
                              and min(columns, rows, panel) >= 1),
}


def tiles_of(entry):
    """(letters of types, tile) of all tiles of a family. Letters in front of a tile replace those of the family."""
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


def rows_of(file):
    """(number, text) of each row of a table that was not measured slower."""
    for number, line in enumerate(file.read_text().splitlines(), 1):
        if line and not line.startswith(("#", "device,")) and line.split(",")[15:16] != ["slower"]:
            yield number, line


def shapes_text(table):
    """The tiles as arrays of C++."""
    return "".join(f"/// {entry['serves']}\ninline constexpr {FAMILIES[name].shape} {name}_shapes[] = {{" +
                   ", ".join("{" + ", ".join(map(str, tile)) + "}" for _, tile in tiles_of(entry)) + "};\n"
                   for name, entry in table.items())


def number_of(argument):
    """An argument of a template as a number: what dispatch asks for."""
    named = {"false": 0, "true": 1, **{name: number for number, name in enumerate(NEIGHBOURS, 1)}}
    return named.get(argument, argument)


def kernels_of(table, name, real):
    """The arguments of a family's kernels of a type."""
    return [instance for letter, tile in entries_of(table[name]) if REAL[letter] == real
            for instance in FAMILIES[name].instances(letter, tile)]


def compiled_text(table):
    """The kernels that are compiled as arrays of C++: their numbers in the order of names()."""
    text = ""
    for name in table:
        rows = [f"{{{size}, {{{', '.join(str(number_of(kernel[key])) for key in FAMILIES[name].names())}}}}}"
                for real, size in (("float", 4), ("double", 8)) for kernel in kernels_of(table, name, real)]
        text += f"inline constexpr CompiledKernel {name}_compiled[] = {{{', '.join(rows)}}};\n"
    return text


def declarations_text(table):
    """The functions that find kernels, behind the types of the kernels' arguments."""
    types = sorted({FAMILIES[name].arguments for name in table})
    text = "".join(("template <class Real>\n" if "{real}" in one else "") + f"struct {one.split('<')[0]};\n"
                   for one in types)
    for name in table:
        family = FAMILIES[name]
        text += (f"template <class Real>\nKernel<{family.arguments.format(real='Real')}> {name}_kernel_of("
                 f"{', '.join(family.parameters())});\n")
    return text


def lookup_text(stem, real, kernels, part, parts):
    """The function that finds a family's kernels of one type in one file; it asks the next file for all others."""
    family = FAMILIES[stem]
    pointer = f"Kernel<{family.arguments.format(real=real)}>"
    name = lambda i: f"{stem}_{real}_{i}"
    parameters = ', '.join(family.parameters())
    following = f"{name(part + 1)}({', '.join(family.names())})" if part + 1 < parts else "nullptr"
    lines = [f"{pointer} {name(part + 1)}({parameters});", ""] if part + 1 < parts else []
    head = f"{pointer} {name(part)}" if part else f"template <>\n{pointer} {stem}_kernel_of<{real}>"
    lines += [f"{head}({parameters}) {{"]
    for arguments in kernels:
        condition = " && ".join(f"{key} == {arguments[key]}" for key in family.names())
        lines += [f"  if ({condition}) return {family.kernel.format(real=real, **arguments)};"]
    return "\n".join([*lines, f"  return {following};", "}", ""])


def files_of(table, name):
    """(what they need, {type: kernels}) of each file of a family."""
    family = FAMILIES[name]
    for needs in ("any", "bulk", "wgmma"):
        kernels = {real: [kernel for kernel in kernels_of(table, name, real) if family.needs_of(kernel) == needs]
                   for real in ("float", "double")}
        files = -(-sum(map(len, kernels.values())) // KERNELS_OF_A_FILE)
        yield from ((needs, {real: some[i::files] for real, some in kernels.items()}) for i in range(files))


@dataclass
class Source:
    """A file with kernels of one family or of several."""
    product: str
    needs: str  # of a device
    headers: list
    kernels: int
    texts: list

    def takes(self, product, needs, kernels):
        """Whether so many kernels of a family belong here and fit in."""
        return (self.product, self.needs) == (product, needs) and self.kernels + kernels <= KERNELS_OF_A_FILE

    def text(self):
        includes = [f'#include "src/cuda/{header}"' for header in dict.fromkeys(["kernels.hpp", *self.headers])]
        return "\n".join([*includes, "", "namespace blockvec::kernels::cuda {", "", *self.texts,
                          "}  // namespace blockvec::kernels::cuda", ""])


def sources(table):
    """{name: (what its kernels need, text)} of all files with kernels."""
    found = {}
    for name in table:
        family, product = FAMILIES[name], name.split("_")[0]
        files = list(files_of(table, name))
        reals = [real for real in ("float", "double") if kernels_of(table, name, real)]
        for i, (needs, kernels) in enumerate(files):
            count = sum(map(len, kernels.values()))
            file = next((one for one in found.values() if one.takes(product, needs, count)), None)
            if file is None:
                file = found[f"{name}_{i}.cu"] = Source(product, needs, [], 0, [])
            file.headers += family.headers.split()
            file.kernels += count
            file.texts += [lookup_text(name, real, kernels[real], i, len(files)) for real in reals]
    return {name: (file.needs, file.text()) for name, file in found.items()}


def generate(table_file, row_files):
    """{name: text} of all files, and {name: what its kernels need} of those to be compiled."""
    table = checked(json.loads(table_file.read_text()))
    lines = "".join(f'{{"{file.name}", {number}, {json.dumps(line)}}},\n'
                    for file in row_files for number, line in rows_of(file))
    compiled = sources(table)
    texts = {name: text for name, (_, text) in compiled.items()}
    return {"cuda_shapes.inc": shapes_text(table), "cuda_compiled.inc": compiled_text(table),
            "cuda_kernels.inc": declarations_text(table), "tuning_lines.inc": lines,
            **texts}, {name: needs for name, (needs, _) in compiled.items()}


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
    print("\n".join(f"{needs} {name}" for name, needs in compiled.items()))


if __name__ == "__main__":
    main()
