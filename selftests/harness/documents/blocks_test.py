#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Tests of blocks.py."""

import pathlib
import tempfile
import unittest

import blocks


class Blocks(unittest.TestCase):
    def taken(self, text):
        with tempfile.TemporaryDirectory() as folder:
            document = pathlib.Path(folder) / "D.md"
            document.write_text(text)
            blocks.take(pathlib.Path(folder), [document])
            found = (pathlib.Path(folder) / "list").read_text().replace(folder, "")
            return found, {file.name: file.read_text()
                           for file in pathlib.Path(folder).glob("0*")}

    def refused(self, text, why):
        with self.assertRaisesRegex(blocks.BadDocument, why):
            self.taken(text)

    def test_takes_them_with_their_place(self):
        found, files = self.taken("# A\n<!-- test: vm -->\n```sh\na\n\nb\n```\n\n"
                                  "<!-- test: tree make as K -->\n```make\nc\n```\n")
        self.assertEqual(found, "00 sh /D.md:3 vm\n01 make /D.md:10 tree make as K\n")
        self.assertEqual(files, {"00.sh": "a\n\nb\n", "01.make": "c\n"})

    def test_text_is_not_tested(self):
        self.assertEqual(self.taken("```text\n$ a\n```\n"), ("", {}))

    def test_a_place_is_for_one_block(self):
        self.refused("<!-- test: vm -->\n```sh\na\n```\n```sh\nb\n```\n", ":5: nothing says")

    def test_nothing_hides(self):
        self.refused("```sh\na\n```\n", ":1: nothing says where")
        self.refused("```\na\n```\n", "does not say what it is")
        self.refused("A:\n\n    make\n", ":3: a block without a fence")
        self.refused("<!-- test: vm -->\n```sh\na\n", "without an end")
        self.refused("<!-- test: none -->\n```sh\na\n```\n", "not a place: none")
        self.refused("<!-- test: some -->\n```sh\na\n```\n", "not a place: some")
        self.refused("<!-- test: vm -->\nA\n```sh\na\n```\n", ":2: a block is to follow")


if __name__ == "__main__":
    unittest.main()
