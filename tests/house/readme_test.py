"""readme.py notices what it is there for."""

import pathlib
import tempfile
import unittest

import readme

ROOT = pathlib.Path(__file__).resolve().parents[2]


class Readme(unittest.TestCase):
    def test_long_sentences_are_found_and_those_at_the_limit_are_not(self):
        limit = "word " * (readme.MOST_WORDS - 1)
        self.assertEqual(readme.hard_to_read(limit + "end.", True)[1:], [])
        wrong = readme.hard_to_read("# Title\n\n" + limit + "\nmore end.", False)
        self.assertEqual(len([w for w in wrong if "line 3: a sentence of 31 words" in w]), 1, wrong)

    def test_long_lines_are_found_but_in_tables_of_docs(self):
        line = "| " + "x" * readme.MOST_CHARACTERS + " |"
        self.assertEqual(readme.hard_to_read(line, False), [])
        self.assertEqual(len(readme.hard_to_read(line, True)), 1)
        self.assertEqual(len(readme.hard_to_read("y" * (readme.MOST_CHARACTERS + 1), False)), 1)

    def test_broken_links_and_names_are_found(self):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            (root / "docs").mkdir()
            other, page = root / "docs/other.md", root / "docs/page.md"
            other.write_text("# A Heading: `code`\n", encoding="utf-8")
            for text, count in (
                ("[a](other.md)", 0),
                ("[a](other.md#a-heading-code)", 0),
                ("[a](other.md#no)", 1),
                ("[a](missing.md)", 1),
                ("`docs/other.md` `docs/*.md`", 0),
                ("`src/missing.cpp`", 1),
                ("[a](https://example.org)", 0),
            ):
                self.assertEqual(len(readme.broken_links(root, page, text)), count, text)

    def test_another_program_or_row_is_found(self):
        text = (ROOT / "README.md").read_text(encoding="utf-8")
        self.assertEqual(readme.first_page(ROOT, text), [])
        self.assertEqual(len(readme.first_page(ROOT, text.replace("int main(", "int mine("))), 1)
        self.assertEqual(len(readme.first_page(ROOT, text.replace("| H200 |", "| H300 |"))), 4)
        self.assertEqual(len(readme.first_page(ROOT, text + "\n" * readme.MOST_LINES)), 1)


if __name__ == "__main__":
    unittest.main()
