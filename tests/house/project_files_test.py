"""project_files.py notices what it is there for."""

import unittest

import project_files

NOW = (0, 2, 1)


class ProjectFiles(unittest.TestCase):
    def changelog(self, text):
        return list(project_files.wrong_changelog(text, NOW))

    def test_a_changelog_in_order_is_taken(self):
        self.assertEqual(self.changelog("## Unreleased\n### Added\n## 0.2.1 - 2027-01-02\n## 0.1.0 - 2026-12-01\n"), [])

    def test_changelogs_out_of_order_are_found(self):
        self.assertIn("Unreleased", self.changelog("## 0.1.0 - 2026-12-01\n")[0])
        self.assertIn("descend", self.changelog("## Unreleased\n## 0.1.0 - 2026-12-01\n## 0.2.0 - 2027-01-01\n")[0])
        self.assertIn("newer", self.changelog("## Unreleased\n## 0.3.0 - 2027-01-01\n")[0])
        self.assertIn("no version", self.changelog("## Unreleased\n## 0.2.0\n")[0])
        self.assertIn("New", self.changelog("## Unreleased\n### New\n")[0])

    def test_citations_of_other_versions_are_found(self):
        text = "cff-version: 1.2.0\nmessage: m\ntitle: t\nlicense: l\nversion: {}\nauthors:\n  - name: n\n"
        self.assertEqual(list(project_files.wrong_citation(text.format("0.2.1"), NOW)), [])
        self.assertEqual(len(list(project_files.wrong_citation(text.format("0.2.0"), NOW))), 1)
        self.assertEqual(len(list(project_files.wrong_citation("message: m\n", NOW))), 7)

    def test_a_policy_without_a_row_is_found(self):
        rows = [f"| M{n} | a | yes | b |" for n in range(1, 18)] + [f"| R{n} | a | in part | b |" for n in range(1, 9)]
        self.assertEqual(list(project_files.wrong_policies("\n".join(rows))), [])
        self.assertEqual(len(list(project_files.wrong_policies("\n".join(rows[1:])))), 1)


if __name__ == "__main__":
    unittest.main()
