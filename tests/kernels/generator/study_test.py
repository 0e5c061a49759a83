"""The generator of the study's kernels: the rules that choose tiles, and what a table becomes."""
import json
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
GENERATOR = ROOT / "src" / "generator" / "study.py"
TABLE = GENERATOR.with_suffix(".json")
sys.path.insert(0, str(GENERATOR.parent))

import study  # noqa: E402

FAMILY = {"types": "D", "widths": "5", "tiles": {"pairs": [[2, 3]]}, "transposed": [True, False], "leap_frog": [True]}


class Rules(unittest.TestCase):
    def test_registers_are_the_papers(self):
        for tile_m, tile_n in [(1, 1), (4, 8), (8, 8), (11, 8)]:
            self.assertEqual(study.registers("D", tile_m, tile_n, True),
                             2 * (tile_m * tile_n + 2 * (tile_m + tile_n) + 8))
            self.assertEqual(study.registers("D", tile_m, tile_n, False),
                             2 * (tile_m * tile_n + tile_m + tile_n + 8))
        self.assertEqual(study.registers("D", 4, 8, True), 128)  # just on the paper's first line
        self.assertEqual(study.registers("Z", 4, 4, True), 2 * (2 * (16 + 16) + 8))

    def test_the_best_tile_respects_the_limit_and_covers_the_width(self):
        for kind in "DZ":
            for width in range(1, 65):
                for leap_frog in [True, False]:
                    for limit in [64, 128, 256]:
                        m, n = study.best_tile(kind, width, leap_frog, limit)
                        self.assertLessEqual(study.registers(kind, m, n, leap_frog), limit)
                        self.assertLessEqual(max(m, n), width)
                        self.assertLessEqual(study.pieces(width, m) * study.pieces(width, n), study.MOST_THREADS)

    def test_no_tile_within_the_limit_is_cheaper(self):
        width, limit = 24, 128
        best = study.cost(width, *study.best_tile("D", width, True, limit))
        for m in range(1, width + 1):
            for n in range(1, width + 1):
                if study.registers("D", m, n, True) <= limit:
                    self.assertLessEqual(best, study.cost(width, m, n))

    def test_more_registers_cost_no_more(self):
        for width in range(1, 65):
            costs = [study.cost(width, *study.best_tile("D", width, True, limit)) for limit in (64, 128, 256)]
            self.assertEqual(costs, sorted(costs, reverse=True))

    def test_powers_of_two_get_the_tiles_of_the_paper(self):
        self.assertEqual(study.best_tile("D", 32, True, 128), (4, 8))
        self.assertEqual(study.best_tile("D", 64, True, 256), (8, 8))

    def test_blocks_are_whole_warps_with_few_idle_threads(self):
        for owners in range(1, study.MOST_THREADS + 1):
            threads = study.block_threads(owners)
            self.assertEqual(threads % 32, 0)
            self.assertLessEqual(owners, threads)
            self.assertLessEqual(threads, study.MOST_THREADS)
            for other in study.THREADS:
                self.assertGreaterEqual(threads // owners * owners / threads, other // owners * owners / other
                                        if owners <= study.THREADS[-1] else 0)

    def test_least_blocks_hold_the_limit(self):
        for limit in [64, 128, 256]:
            for threads in study.THREADS:
                blocks = study.least_blocks(threads, limit)
                self.assertLessEqual(blocks * threads * limit, max(study.MULTIPROCESSOR_REGISTERS, threads * limit))
        self.assertEqual(study.least_blocks(128, 128), 4)


class Tables(unittest.TestCase):
    def test_widths(self):
        self.assertEqual(study.widths_of("1-3,8"), [1, 2, 3, 8])

    def test_a_family_is_the_product_of_its_choices(self):
        family = dict(FAMILY, types="DZ", widths="5,7", leap_frog=[True, False], reduction=["none", "block"])
        self.assertEqual(len(list(study.tsmttsm_kernels(family))), 2 * 2 * 2 * 2 * 2)

    def test_kernels_are_listed_once(self):
        kernels = study.all_kernels({"tsmttsm": [FAMILY, FAMILY], "tsmm": []})["tsmttsm"]
        self.assertEqual(len(kernels), 2)

    def test_transposition_is_dropped_where_it_changes_nothing(self):
        family = dict(FAMILY, tiles={"mapping": "k and n"})
        self.assertEqual([kernel[3:6] for kernel in study.tsmttsm_kernels(family)], [(5, 1, True)])

    def test_a_row_never_needs_more_threads_than_a_block_has(self):
        family = dict(FAMILY, widths="64", tiles={"pairs": [[1, 1], [2, 2]]}, transposed=[True])
        self.assertEqual([kernel[3:5] for kernel in study.tsmttsm_kernels(family)], [(2, 2)])

    def test_unknown_mappings_are_refused(self):
        with self.assertRaises(ValueError):
            list(study.tsmttsm_kernels(dict(FAMILY, tiles={"mapping": "m"})))

    def test_constant_memory_holds_what_a_kernel_argument_may(self):
        family = {"types": "D", "widths": "63-64", "threads_per_row": [4], "unroll": [1], "transposed": [True],
                  "source": ["constant", "shared"]}
        chosen = {(kernel[1], kernel[6]) for kernel in study.tsmm_kernels(family)}
        self.assertEqual(chosen, {(63, "Source::constant"), (63, "Source::shared"), (64, "Source::shared")})

    def test_the_committed_table_covers_every_width(self):
        kernels = study.all_kernels(json.loads(TABLE.read_text()))
        for product in ["tsmttsm", "tsmm"]:
            for cpp_type in ["double", "Complex"]:
                widths = {kernel[1] for kernel in kernels[product] if kernel[0] == cpp_type}
                self.assertEqual(widths, set(range(1, 65)))


class Files(unittest.TestCase):
    def generate(self, folder, parts):
        subprocess.run([sys.executable, "-B", GENERATOR, TABLE, folder, "--parts", str(parts)], check=True,
                       capture_output=True)
        return {file.name: file.read_text() for file in Path(folder).iterdir()}

    def test_the_parts_hold_each_kernel_once(self):
        wanted = study.all_kernels(json.loads(TABLE.read_text()))
        with tempfile.TemporaryDirectory() as folder:
            texts = self.generate(folder, 7)
            self.assertEqual(set(texts), {"catalogue.cpp", *(f"part_{i}.cu" for i in range(7))})
            for product, kernels in wanted.items():
                found = [k for text in texts.values() for k in re.findall(rf"describe_{product}<(.*?)>\(\)", text)]
                self.assertEqual(len(found), len(kernels))
                self.assertEqual(len(set(found)), len(kernels))
                for i in range(7):
                    self.assertIn(f"{product}_part_{i}(all);", texts["catalogue.cpp"])

    def test_a_second_run_leaves_the_files_alone(self):
        with tempfile.TemporaryDirectory() as folder:
            self.generate(folder, 3)
            before = {file: file.stat().st_mtime_ns for file in Path(folder).iterdir()}
            self.generate(folder, 3)
            self.assertEqual(before, {file: file.stat().st_mtime_ns for file in Path(folder).iterdir()})


if __name__ == "__main__":
    unittest.main()
