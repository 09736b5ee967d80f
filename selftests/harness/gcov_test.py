#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Tests of gcov.py, with programs whose lines gcc counts in place of kernels."""

import pathlib
import shutil
import subprocess
import tempfile
import unittest

import gcov

# As a file of the module that there is
SOURCE = """int reached(int n)
{
#ifdef CLEARS
	n += 0 * n;
	if (n)
		n = 7;
#endif
	return n;
}
int missed(void)
{
	return 1;
}
int main(int argc, char **argv)
{
	return argc > 1 ? reached(0) : 0;
}
"""
CLEARED, SKIPPED, RETURNED, MISSED = 4, 6, 8, 12


class GcovTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="gcov_test"))
        self.addCleanup(shutil.rmtree, self.folder)
        self.source = self.folder / "module/main.c"
        self.source.parent.mkdir()
        self.source.write_text(SOURCE, encoding="utf-8")

    def run_program(self, name, *options, arguments=()):
        """gcov's counts for a program, which this builds and runs in a folder of its own."""
        folder = self.folder / name
        folder.mkdir()
        subprocess.run(["gcc", "--coverage", *options, "-c", self.source, "-o", "main.o"],
                       check=True, cwd=folder)
        subprocess.run(["gcc", "--coverage", "main.o", "-o", "main"], check=True, cwd=folder)
        subprocess.run([folder / "main", *arguments], check=True, cwd=folder)
        return [*gcov.run([folder / "main.gcda"], folder)]

    def count(self, files):
        counts, _ = gcov.count_lines(files)
        return counts["module/main.c"]

    def pack(self, name):
        archive = self.folder / f"counts-of-{name}.tar"
        counters = self.folder / name / "main.gcda"
        subprocess.run(["tar", "-cf", archive, "-C", "/", str(counters)[1:]], check=True)
        return archive

    def test_archive(self):
        self.run_program("a", arguments=["reach"])
        files, remark = gcov.of_archive(self.pack("a"), self.folder / "a")
        self.assertEqual(self.count(files)[RETURNED], 1)
        self.assertEqual(remark, "")

    def test_archive_of_objects_that_are_gone(self):
        self.run_program("a")
        archive = self.pack("a")
        (self.folder / "a/main.gcno").unlink()
        self.assertEqual(gcov.of_archive(archive, self.folder / "a"),
                         ([], f"{archive}: 0 of 1 counters fit the objects"))
        self.assertEqual(gcov.of_archive(archive, self.folder / "b"),
                         ([], f"{archive}: 0 of 0 counters fit the objects"))

    def test_archive_of_objects_that_were_built_again(self):
        self.run_program("a")
        archive = self.pack("a")
        subprocess.run(["gcc", "--coverage", "-DCLEARS", "-c", self.source, "-o", "main.o"],
                       check=True, cwd=self.folder / "a")
        self.assertEqual(gcov.of_archive(archive, self.folder / "a"),
                         ([], f"{archive}: 0 of 1 counters fit the objects"))

    def test_counts_of_programs_are_added(self):
        counts = self.count(self.run_program("a", arguments=["reach"]) +
                            self.run_program("b", arguments=["reach"]))
        self.assertEqual(counts[RETURNED], 2)
        self.assertEqual(counts[MISSED], 0)
        self.assertIn(MISSED, counts)

    def test_missed_lines_have_numbers(self):
        counts, _ = gcov.count_lines(self.run_program("a", arguments=["reach"]))
        self.assertIn(MISSED, [number for _, number, _ in gcov.missed(counts, counts)])

    def test_line_without_code_where_its_function_ran_is_left_out(self):
        counts, out = gcov.count_lines(self.run_program("a", arguments=["reach"]) +
                                       self.run_program("b", "-DCLEARS"))
        self.assertNotIn(CLEARED, counts["module/main.c"])
        self.assertIn(("module/main.c", CLEARED), out)

    def test_line_stays_where_its_function_ran_and_went_past_it(self):
        counts, out = gcov.count_lines(self.run_program("a", arguments=["reach"]) +
                                       self.run_program("b", "-DCLEARS", arguments=["reach"]))
        self.assertEqual(counts["module/main.c"].get(SKIPPED), 0)
        self.assertEqual(out, [])

    def test_line_without_code_is_counted_where_it_ran(self):
        counts = self.count(self.run_program("a", arguments=["reach"]) +
                            self.run_program("b", "-DCLEARS", arguments=["reach"]))
        self.assertEqual(counts[CLEARED], 1)

    def test_line_stays_if_its_function_ran_nowhere_without_it(self):
        counts = self.count(self.run_program("a") + self.run_program("b", "-DCLEARS"))
        self.assertEqual(counts.get(CLEARED), 0)

    def test_lines_have_functions(self):
        names = gcov.functions_of(self.run_program("a"))["module/main.c"]
        self.assertEqual([names[CLEARED], names[RETURNED], names[MISSED]],
                         ["reached", "reached", "missed"])


if __name__ == "__main__":
    unittest.main(verbosity=2)
