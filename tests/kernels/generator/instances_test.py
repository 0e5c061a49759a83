"""The generator of the library's list of kernels: what a small table becomes, and what it refuses."""
import itertools
import json
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
GENERATOR = ROOT / "src" / "generator" / "instances.py"
TUNING = ROOT / "src" / "tuning"
sys.path.insert(0, str(GENERATOR.parent))

import instances  # noqa: E402


def committed():
    return json.loads((TUNING / "instances.json").read_text())


def row(product="tsmttsm", letter="D", kernel="ring", configuration="tile 2x8 rows 16"):
    return f"A device,9.0,132,{product},{letter},row,64,m,1000-*,tight,{kernel},{configuration},1,1,0,faster,2026-01-01,0"


class Tables(unittest.TestCase):
    def test_every_kernel_stands_in_one_file_once(self):
        table = committed()
        texts = instances.sources(table)
        found = [kernel for _, text in texts.values() for kernel in re.findall(r"return (\w+<.*>);", text)]
        self.assertEqual(len(found), len(set(found)))
        wanted = [instances.FAMILIES[name].kernel.format(real=instances.REAL[letter], **arguments)
                  for name, entry in table.items() for letter, tile in instances.entries_of(entry)
                  for arguments in instances.FAMILIES[name].instances(letter, tile)]
        self.assertEqual(sorted(found), sorted(wanted))

    def test_files_are_short_and_ask_one_another(self):
        table = committed()
        texts = {name: text for name, (_, text) in instances.sources(table).items()}
        for name in table:
            files = list(instances.files_of(table, name))
            for _, kernels in files:
                self.assertLessEqual(sum(map(len, kernels.values())), instances.KERNELS_OF_A_FILE + 1)  # of two types
            for real in ("float", "double"):
                chain = [text for text in texts.values() if re.search(rf"\b{name}_kernel_of<{real}>", text)]
                self.assertEqual(len(chain), bool(instances.kernels_of(table, name, real)))
                for following in range(1, len(files) if chain else 0):
                    self.assertIn(f"return {name}_{real}_{following}(", chain[-1])
                    chain.append(texts[f"{name}_{following}.cu"])
                if chain:
                    self.assertIn("return nullptr;", chain[-1])

    def test_families_share_files_up_to_a_length(self):
        table = committed()
        files = instances.sources(table)
        for name, (needs, text) in files.items():
            self.assertEqual(set(re.findall(r"return (tsm\w*?)_\w+_kernel<", text)), {name.split("_")[0]}, name)
            includes = re.findall("#include .*", text)
            self.assertEqual(len(includes), len(set(includes)), name)
            self.assertLessEqual(text.count("  if ("), instances.KERNELS_OF_A_FILE, name)
        sizes = sorted((name.split("_")[0], needs, text.count("  if (")) for name, (needs, text) in files.items())
        for one, next_one in itertools.pairwise(sizes):
            if one[:2] == next_one[:2]:
                self.assertGreater(one[2] + next_one[2], instances.KERNELS_OF_A_FILE)

    def test_files_say_what_their_kernels_need(self):
        table = committed()
        for name in ["tsmttsm_ring", "tsmttsm_gram"]:
            for needs, kernels in instances.files_of(table, name):
                for kernel in itertools.chain(*kernels.values()):
                    bulk = "true" in (kernel["by_columns"], kernel.get("wide"))
                    self.assertEqual(needs, "bulk" if bulk else "any")
        needs = {name: needs for name, (needs, _) in instances.sources(table).items()}
        self.assertEqual(needs["tsmm_strided_0.cu"], "bulk")
        self.assertEqual(needs["tsmttsm_tf32_warpgroup_0.cu"], "wgmma")

    def test_a_tile_becomes_an_entry_and_its_kernels(self):
        table = {**committed(), "tsmttsm_ring": {"serves": "everything", "types": "SD", "tiles": [["S", 2, 8]]}}
        self.assertIn("/// everything\ninline constexpr TileShape tsmttsm_ring_shapes[] = {{2, 8}};\n",
                      instances.shapes_text(instances.checked(table)))
        self.assertIn("inline constexpr CompiledKernel tsmttsm_ring_compiled[] = {{4, {2, 8, 0}}, {4, {2, 8, 1}}};\n",
                      instances.compiled_text(table))
        texts = {name: text for name, (_, text) in instances.sources(table).items()}
        text = texts["tsmttsm_ring_0.cu"]
        self.assertNotIn("tsmttsm_ring_kernel_of<double>", text)
        self.assertIn('#include "src/cuda/tsmttsm/ring.cuh"\n', text)
        self.assertIn("Kernel<TsmttsmRing<float>> tsmttsm_ring_kernel_of<float>(int m, int n, bool by_columns) {\n", text)
        for by_columns, text in [("false", text), ("true", texts["tsmttsm_ring_1.cu"])]:
            self.assertIn(f"  if (m == 2 && n == 8 && by_columns == {by_columns}) "
                          f"return tsmttsm_ring_kernel<float, {by_columns}, FullTiles<2, 8>>;\n", text)

    def test_every_lookup_is_declared_behind_its_argument(self):
        text = instances.declarations_text(committed())
        self.assertEqual(text.count("_kernel_of("), len(instances.FAMILIES))
        self.assertIn("template <class Real>\nKernel<TsmttsmRing<Real>> tsmttsm_ring_kernel_of(int m, int n, "
                      "bool by_columns);\n", text)
        for one in ["template <class Real>\nstruct TsmttsmRing;\n", "\nstruct TsmmPanels;\n"]:
            self.assertLess(text.index(one), text.index("_kernel_of("))

    def test_what_no_template_makes_is_refused(self):
        for name, letter, tile in [("tsmttsm_ring", "D", [4, 8]), ("tsmttsm_ring", "D", [1]),
                                   ("tsmttsm_ring", "D", [0, 1]), ("tsmttsm_ring", "Z", [2, 8]),
                                   ("tsmttsm_ring", "X", [2, 8]), ("tsmm_row_ring_fma", "S", [3]),
                                   ("tsmm_row_ring", "S", [8, 8]), ("tsmttsm_gram", "D", [2, 3]),
                                   ("tsmm_column_ring", "S", [1, 2]), ("tsmm_tf32_warpgroup", "S", [9]),
                                   ("tsmm_direct", "C", [1, 0, 2]), ("tsmm_wide", "D", [2, 9])]:
            table = committed()
            table[name]["tiles"].append([letter, *tile])
            with self.assertRaisesRegex(instances.Refused,
                                        rf"{name}: no template makes {re.escape(str(tile))} of type {letter}"):
                instances.checked(table)

    def test_families_are_those_that_the_library_knows(self):
        table = committed()
        tiles = table.pop("tsmttsm_ring")
        with self.assertRaisesRegex(instances.Refused, "tsmttsm_ring: the table lacks it"):
            instances.checked(table)
        with self.assertRaisesRegex(instances.Refused, "more_tiles: no template"):
            instances.checked({**committed(), "more_tiles": tiles})


class Files(unittest.TestCase):
    def generate(self, folder, text):
        rows = Path(folder) / "rows.csv"
        rows.write_text(f"# A comment; of mine.\ndevice,capability\n{text}\n")
        return subprocess.run([sys.executable, "-B", GENERATOR, TUNING / "instances.json", Path(folder) / "out", rows],
                              capture_output=True, text=True)

    def test_files_are_written_once_and_old_ones_go(self):
        with tempfile.TemporaryDirectory() as folder:
            run = self.generate(folder, row())
            self.assertEqual(run.returncode, 0, run.stderr)
            out = Path(folder) / "out"
            needs, sources = zip(*map(str.split, run.stdout.splitlines()))
            self.assertEqual(set(needs), {"any", "bulk", "wgmma"})
            self.assertEqual({file.name for file in out.iterdir()},
                             {*sources, "cuda_shapes.inc", "cuda_compiled.inc", "cuda_kernels.inc",
                              "tuning_lines.inc"})
            self.assertEqual((out / "tuning_lines.inc").read_text(), f'{{"rows.csv", 3, "{row()}"}},\n')
            before = {file: file.stat().st_mtime_ns for file in out.iterdir()}
            (out / "tsmm_old_0.cu").write_text("")
            self.generate(folder, row())
            self.assertEqual(before, {file: file.stat().st_mtime_ns for file in out.iterdir()})

    def test_slower_rows_serve_nothing(self):
        with tempfile.TemporaryDirectory() as folder:
            slower = row(configuration="tile 9x9").replace("faster", "slower")  # its kernel may be gone
            run = self.generate(folder, f"{slower}\n{row()}")
            self.assertEqual(run.returncode, 0, run.stderr)
            lines = (Path(folder) / "out" / "tuning_lines.inc").read_text()
            self.assertEqual(lines, f'{{"rows.csv", 4, "{row()}"}},\n')

    def test_the_committed_tables_are_good(self):
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([sys.executable, "-B", GENERATOR, TUNING / "instances.json", folder, *TUNING.glob("*.csv")],
                           check=True, capture_output=True)


if __name__ == "__main__":
    unittest.main()
