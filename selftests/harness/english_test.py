#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Tests of english.py: each pattern finds its example, and good English passes."""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

import english

BAD = "What is due becomes a backlog."

GOOD = (
    "Wake with the lock held: the waiter frees the set once it has the lock.",
    "What does it cost?",
    "Who frees the set?",
    "What programs share",
    "The caller tells what is due.",
    "The file has reached its limit, and so has to wait.",
    "The worker stops, so do not wait for it.",
    "Both wheels have the same clock.",
    "The answer is the same.",
    "All readers get the same event for each arm.",
    "Say whether the timeout is pending.",
    "The header is there.",
    "Timing out takes a tick.",
)

GOOD_SUBJECTS = (
    "worker: add a limit",
    "module, selftests: repair the drain",
    "selftests/models: bring back the stopper",
    "wheel: proceed after a fault",
    "debian: need dh-python",
    "event: process faults once",
    "trace: tell that timeouts have a slot",
    "kunit: " + "x" * 68,
)


def advice(complaints):
    return [complaint.split(": ")[1] for complaint in complaints]


class PatternTest(unittest.TestCase):
    def test_prose(self):
        for pattern in english.PROSE:
            with self.subTest(pattern.what):
                found = advice(english.judge("a.md", pattern.example))
                self.assertIn(pattern.what, found)

    def test_subjects(self):
        for pattern in english.SUBJECT:
            with self.subTest(pattern.what):
                found = advice(english.judge_subject("1234567", pattern.example))
                self.assertEqual(found, [pattern.what])

    def test_prose_of_subjects(self):
        found = advice(english.judge_subject("1234567", "worker: count each time-out"))
        self.assertEqual(found, ["timeout is one word"])

    def test_good_prose(self):
        for text in GOOD:
            with self.subTest(text):
                self.assertEqual(list(english.judge("a.md", text)), [])

    def test_good_subjects(self):
        for subject in GOOD_SUBJECTS:
            with self.subTest(subject):
                self.assertEqual(list(english.judge_subject("1234567", subject)), [])


class ProseTest(unittest.TestCase):
    def check(self, path, text, *lines):
        """Expects complaints about these lines."""
        found = [int(complaint.split(":")[1])
                 for complaint in english.judge(path, text)]
        self.assertEqual(found, list(lines))

    def test_c_comments(self):
        self.check("a.h", f"/* {BAD} */\nint a; // {BAD}\n/**\n * @b: {BAD}\n */\n", 1, 2, 4)

    def test_c_line_comments(self):
        self.check("a.c", "// The list is full: the worker does the\n// same.\nint a;\n"
                          "// The caller says\n// What is due.\n", 1)

    def test_c_code(self):
        self.check("a.c", f'int he;\nchar *s = "/* {BAD}";\nchar c = \'"\'; /* {BAD} */\n', 3)

    def test_promela(self):
        self.check("a.pml", f"/* {BAD} */\nbool he\n", 1)

    def test_python(self):
        self.check("a.py", f'"""{BAD}"""\nhe = """{BAD}"""\n# {BAD}\nhe += "# {BAD}"\n', 3, 1)

    def test_python_without_suffix(self):
        self.check("a", f'#!/usr/bin/env python3\n"""{BAD}"""\n', 2)

    def test_shell(self):
        self.check("a.sh", f'#!/bin/sh\n# {BAD}\necho "{BAD}" he\n', 2)

    def test_make(self):
        self.check("Makefile", f"# {BAD}\nhe: all ## {BAD}\n\techo he\n", 1, 2)

    def test_markdown(self):
        self.check("a.md", f"# {BAD}\n\n```\nhe\n```\n`he` waits.\n\n- {BAD}\n", 1, 8)

    def test_markdown_table(self):
        self.check("a.md", f"| a | {BAD} |\n|---|---|\n| the same `a` | b |\n", 1)

    def test_man_page(self):
        self.check("a.4", f".Sh A\n{BAD}\n.Bd -literal\nhe\n.Ed\nhe\n", 2, 6)

    def test_sentence_over_lines(self):
        self.check("a.c", "/*\n * The list is full. What\n * is due waits, as does the\n"
                          " * same. Both do the\n * same.\n */\n", 2, 3, 4)

    def test_new_paragraph(self):
        self.check("a.md", f"The title\n\n{BAD}\n", 3)

    def test_within_a_sentence(self):
        self.check("a.c", "/* The caller says\n * What is due. */\n")


@unittest.skipUnless(shutil.which("git"), "no git")
class HistoryTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.env = {name: value for name, value in os.environ.items()
                    if not name.startswith("GIT_") and name != "ENGLISH_BASE"}
        self.env |= {"HOME": folder.name, "GIT_CONFIG_NOSYSTEM": "1"}
        for role in ("AUTHOR", "COMMITTER"):
            self.env |= {f"GIT_{role}_NAME": "a", f"GIT_{role}_EMAIL": "a@example.org"}

    def git(self, *args):
        done = subprocess.run(["git", *args], cwd=self.folder, env=self.env, check=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        return done.stdout.strip()

    def put(self, name, text):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def commit(self, subject, **files):
        for name, text in files.items():
            self.put(f"{name}.md", text)
        self.git("add", "--all")
        self.git("commit", "--quiet", "--allow-empty", "--message", subject)

    def start(self):
        """The lint comes with the second commit."""
        self.git("init", "--quiet", "--initial-branch=main")
        self.commit("Old subject.", old="The end\n")
        self.bring_lint()

    def bring_lint(self):
        self.put(english.LINT, "")
        self.commit("Bring the lint.")

    def check(self, status, *begins, **env):
        """Expects an exit status, and lines that begin so."""
        done = subprocess.run([sys.executable, "-B", english.__file__], cwd=self.folder,
                              env=self.env | env, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True, check=False)
        lines = done.stdout.splitlines()
        self.assertEqual((done.returncode, len(lines)), (status, len(begins)), done)
        for line, begin in zip(lines, begins):
            self.assertTrue(line.startswith(begin), line)

    def test_nothing_new(self):
        self.start()
        self.check(0)

    def test_committed_lines(self):
        self.start()
        self.commit("doc: tell more", old=f"{BAD}\n\nThe end\n\n{BAD}\n", new=BAD)
        self.check(1, "new.md:1: ", "old.md:1: ", "old.md:5: ")

    def test_lines_from_before_the_lint(self):
        self.git("init", "--quiet", "--initial-branch=main")
        self.commit("Old subject.", old=BAD)
        self.bring_lint()
        self.check(1, "old.md:1: ")

    def test_uncommitted_lines(self):
        self.start()
        self.put("old.md", f"The end\n\n{BAD}\n")
        self.check(1, "old.md:3: ")

    def test_untracked_files(self):
        self.start()
        self.put(".gitignore", "build\n")
        self.put("build/a.md", BAD)
        self.put("a b.md", BAD)
        self.check(1, "a b.md:1: ")

    def test_deleted_file(self):
        self.start()
        (self.folder / "old.md").unlink()
        self.check(0)

    def test_new_subjects(self):
        self.start()
        self.commit("New subject")
        name = self.git("rev-parse", "--short", "HEAD")
        self.check(1, f"{name}: does not begin with a subsystem and a verb: New subject")

    def test_merges(self):
        self.start()
        self.git("checkout", "--quiet", "-b", "side")
        self.commit("New subject")
        self.git("checkout", "--quiet", "main")
        self.git("merge", "--quiet", "--no-ff", "--message", "Merge it.", "side")
        self.check(1, self.git("rev-parse", "--short", "side"))

    def test_lint_comes_with_a_merge(self):
        self.git("init", "--quiet", "--initial-branch=main")
        self.commit("Old subject.", old="The end\n")
        self.git("checkout", "--quiet", "-b", "side")
        self.bring_lint()
        self.git("checkout", "--quiet", "main")
        self.commit("Another old subject.", old="The beginning\n")
        self.git("merge", "--quiet", "--message", "Merge it.", "side")
        self.check(0)
        self.commit("New subject")
        self.check(1, self.git("rev-parse", "--short", "HEAD"))

    def test_lint_comes_back(self):
        self.start()
        (self.folder / english.LINT).unlink()
        self.commit("Remove the lint")
        self.bring_lint()
        self.check(1, *(self.git("rev-parse", "--short", name)
                        for name in ("HEAD", "HEAD", "HEAD~1")))

    def test_lint_not_committed(self):
        self.git("init", "--quiet")
        self.commit("Old subject.", old="The end\n")
        self.put(english.LINT, f"# {BAD}\n")
        self.check(1, f"{english.LINT}:1: ")

    def test_named_base(self):
        self.start()
        self.check(1, self.git("rev-parse", "--short", "HEAD"),
                   self.git("rev-parse", "--short", "HEAD"), ENGLISH_BASE="HEAD~1")

    def test_unknown_base(self):
        self.start()
        self.check(2, "", ENGLISH_BASE="none")

    def test_shallow_clone(self):
        self.start()
        self.commit("New subject", new="The beginning\n")
        self.git("clone", "--quiet", "--depth=1", self.folder.as_uri(), "clone")
        self.folder /= "clone"
        self.check(0)
        self.put("new.md", f"The beginning\n\n{BAD}\n")
        self.check(1, "new.md:3: ")

    def test_tarball(self):
        self.start()
        self.put("tarball/new.md", BAD)
        self.folder /= "tarball"
        self.check(0, "skipped: no git history")

    def test_no_git(self):
        self.start()
        self.put("new.md", BAD)
        self.check(0, "skipped: no git history", PATH="")

    def test_no_commit(self):
        self.git("init", "--quiet")
        self.put("new.md", BAD)
        self.check(0, "skipped: no git history")


if __name__ == "__main__":
    unittest.main()
