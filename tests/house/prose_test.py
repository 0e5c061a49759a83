"""What prose.py takes for a sentence."""

import unittest

import prose


class Prose(unittest.TestCase):
    def test_sentences_end_before_a_new_beginning(self):
        self.assertEqual(
            prose.sentences("It reads 0.5 GB/s. `tsmm` writes. Does it? Yes (twice). 8 columns follow."),
            ["It reads 0.5 GB/s.", "Code writes.", "Does it?", "Yes (twice).", "8 columns follow."],
        )

    def test_abbreviations_and_file_names_end_none(self):
        for text in ("Solvers, e.g. Lanczos, call a.hpp and `b.hpp. C`.", "See Ernst et al. 2020 for i.e. This."):
            self.assertEqual(len(prose.sentences(text)), 1, text)

    def test_colons_and_line_ends_end_none(self):
        [(_, paragraph)] = prose.paragraphs("One sentence: it goes on\nin the next line; and\non.")
        self.assertEqual(len(prose.sentences(paragraph)), 1)

    def test_code_tables_headings_and_pictures_are_no_prose(self):
        text = "# Title\n\n```cpp\nint a. B\n```\n\n    code. More\n\n| a. B |\n|---|\n\n![A. Two](a.png)\n\nProse."
        self.assertEqual(prose.paragraphs(text), [(14, "Prose.")])

    def test_list_items_stand_for_themselves(self):
        text = "- one\n- two\n  goes on\n\n    and on\n\nEnd."
        self.assertEqual([words for _, words in prose.paragraphs(text)], ["one", "two goes on", "and on", "End."])

    def test_links_count_by_their_text(self):
        self.assertEqual(prose.words(prose.plain("See [the page](a/b.md#c) - now")), ["See", "the", "page", "now"])

    def test_inner_fences_do_not_end_outer_ones(self):
        self.assertEqual(prose.paragraphs("````\n```\nA. B\n```\n````\nProse."), [(6, "Prose.")])


if __name__ == "__main__":
    unittest.main()
