#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Tests of results.py: no row tells more than was done, no table more than the rows."""

import json
import pathlib
import tempfile
import unittest
import unittest.mock

import results

TAP = "TAP version 13\n1..3\nok 1 - arms\nok 2 - maps # SKIP no memory\n{third} 3 - ends\n"
LOG = "# fuzz: operations=1000\n#   states=234\n[ 1.0] torture: operations=9\noperations=9\n"
PAGE = "before\n" + results.BEGIN + "{table}" + results.END + "behind\n"


class Rows(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        required = unittest.mock.patch.object(results, "REQUIRED", [("6.1", "", "torture")])
        required.start()
        self.addCleanup(required.stop)
        self.tap, self.log = self.put("tap", TAP.format(third="ok")), self.put("log", LOG)

    def put(self, name, text):
        path = self.folder / name
        path.write_text(text)
        return str(path)

    def row(self, name="row", kernel="6.1", suite="torture", status="0", log=None, taps=None,
            commit="abcdef1"):
        path = str(self.folder / name)
        log = self.log if log is None else log
        results.row(path, kernel, "", suite, commit, "90", status, log,
                  *([self.tap] if taps is None else taps))
        return path

    def read(self, path):
        return json.loads(pathlib.Path(path).read_text())

    def test_counts_points_and_operations(self):
        found = self.read(self.row())
        self.assertEqual((2, 0, 1, 1234), (found["passed"], found["failed"],
                                           found["skipped"], found["operations"]))

    def test_a_log_that_is_missing_tells_of_no_operation(self):
        self.assertEqual(0, self.read(self.row(log=str(self.folder / "none")))["operations"])
        self.assertEqual(0, self.read(self.row(log=""))["operations"])

    def digest(self, text):
        self.put("module.c", text)
        return results.digest(self.folder)

    def test_comments_and_words_change_no_digest(self):
        before = self.digest('char *s = "/* no // comment */", c = \'"\', d;\n')
        after = self.digest('/* d */\nchar *s =\n\t"words", c = \'"\', d; // "\n')
        self.assertEqual(before, after)

    def test_code_changes_the_digest(self):
        before = self.digest('char *s = "/* one */", c = \'"\', d;\n')
        for text in ('char *t = "/* one */", c = \'"\', d;\n',
                     'char *s = "/* one */", c = \'/\', d;\n',
                     'char *s = "/* one */", c = \'"\', /* d */;\n'):
            self.assertNotEqual(before, self.digest(text))

    def test_a_row_of_other_code_is_marked(self):
        new = self.read(self.row())
        for old in ({**new, "module": "0"}, {k: v for k, v in new.items() if k != "module"}):
            self.assertRegex(results.table([old]), r"\| abcdef1, older \|\n$")
        self.assertRegex(results.table([new]), r"\| abcdef1 \|\n$")

    def test_failures_are_told(self):
        self.put("tap", TAP.format(third="not ok"))
        self.assertEqual(1, self.read(self.row())["failed"])

    def test_a_tap_that_is_missing_is_a_failure(self):
        self.assertEqual(1, self.read(self.row(taps=[str(self.folder / "none")]))["failed"])

    def test_a_status_is_a_failure(self):
        self.assertEqual(1, self.read(self.row(status="2", taps=[]))["failed"])
        self.assertEqual(1, self.read(self.row(status="2"))["failed"])

    def gather(self, *rows):
        path = str(self.folder / "rows.json")
        results.gather(path, *rows)
        return path

    def test_a_row_takes_the_place_of_its_like(self):
        self.gather(self.row("a"), self.row("b", kernel="6.12"))
        rows = self.read(self.gather(self.row("c", status="1")))
        self.assertEqual([("6.1", 1), ("6.12", 0)],
                         [(each["kernel"], each["failed"]) for each in rows])

    def test_the_table_is_rendered(self):
        rows, page = self.gather(self.row()), self.put("page", PAGE.format(table="old\n"))
        results.page(page, rows)
        text = pathlib.Path(page).read_text()
        self.assertIn("| 6.1 |  | torture | 1,234 | 2 | 1 | 0 | 1.5 | abcdef1 |", text)
        self.assertTrue(text.startswith("before\n") and text.endswith("behind\n"))
        self.assertNotIn("old", text)
        results.check_page(page, rows)

    def test_another_table_is_refused(self):
        rows, page = self.gather(self.row()), self.put("page", PAGE.format(table="old\n"))
        with self.assertRaisesRegex(results.BadRows, "renders it"):
            results.check_page(page, rows)

    def files(self, *rows):
        rows, page = self.gather(*rows), self.put("page", PAGE.format(table=""))
        results.page(page, rows)
        return page, rows

    def refuses(self, why, *rows):
        page, rows = self.files(*rows)
        with self.assertRaisesRegex(results.BadRows, why):
            results.check_page(page, rows)

    def test_failures_are_refused(self):
        self.refuses("with failures.*6.1", self.row(status="1"))

    def test_rows_of_nothing_are_refused(self):
        self.put("tap", "TAP version 13\n1..1\nok 1 - maps # SKIP no memory\n")
        self.refuses("nothing passed.*6.1", self.row())

    def test_rows_at_no_commit_are_refused(self):
        for commit in ("", "unknown", "abcdef1-dirty", "v1.0-2-gabcdef1-dirty"):
            self.refuses("no commit.*6.1", self.row(commit=commit))

    def test_rows_of_too_little_are_refused(self):
        with unittest.mock.patch.object(results, "LEAST", [(("6.*", "", "torture"), 1235)]):
            self.refuses("too few operations.*6.1", self.row())
        with unittest.mock.patch.object(results, "LEAST", [(("6.*", "", "torture"), 1234)]):
            results.check_page(*self.files(self.row()))

    def test_rows_that_are_missing_are_told(self):
        self.refuses(r"missing: \[\('6.1', '', 'torture'\)\]",
                     self.row("a", kernel="6.12"), self.row("b", suite="fire"))

    def test_a_readme_without_the_comments_is_refused(self):
        with self.assertRaises(results.BadRows):
            results.render("nothing", [])


if __name__ == "__main__":
    unittest.main()
