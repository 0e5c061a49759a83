"""pages.py notices what it is there for."""

import pathlib
import unittest

import pages

ROOT = pathlib.Path(__file__).resolve().parents[2]
HEADERS = "class Block {};\n// mentioned() is not declared\nvoid update(int alpha);\n"


class Pages(unittest.TestCase):
    def wrong(self, cell):
        table = f"| SLEPc | BlockVec | remark |\n|---|---|---|\n| `BVMult` | {cell} | |\n"
        return list(pages.unknown_names(table, HEADERS, ["svqb"]))

    def test_names_that_exist_are_taken(self):
        self.assertEqual(self.wrong("`update(alpha, V)`, then `Block`"), [])

    def test_names_that_do_not_exist_are_found(self):
        self.assertIn("has the name downdate", self.wrong("`downdate(V)`")[0])
        self.assertIn("declares mentioned", self.wrong("`mentioned(V)`")[0])
        self.assertIn("names nothing", self.wrong("the update")[0])

    def test_methods_that_do_not_exist_are_found(self):
        headers = HEADERS + "void parse_options(int);"
        row = '| a | `parse_options("svqb/magic")` | |'
        self.assertEqual(list(pages.unknown_names(row, headers, ["svqb"])), ["docs/migration.md:1: magic is no method"])

    def test_every_row_is_looked_at(self):
        rows = list(pages.rows_of_tables((ROOT / "docs/migration.md").read_text(encoding="utf-8")))
        self.assertGreater(len(rows), 50)


if __name__ == "__main__":
    unittest.main()
