#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Tests the parser of documents.py."""

import unittest

import documents


class Blocks(unittest.TestCase):
    def refused(self, text, why):
        with self.assertRaisesRegex(documents.BadDocument, why):
            documents.blocks("D.md", text)

    def test_takes_them_with_their_place(self):
        self.assertEqual(
            documents.blocks("D.md", "# A\n<!-- test: vm -->\n```sh\na\n\nb\n```\n\n"
                             "<!-- test: tree make as K -->\n```make\nc\n```\n"),
            [("D.md:3", "vm", "sh", "a\n\nb\n"), ("D.md:10", "tree make as K", "make", "c\n")])

    def test_text_is_not_tested(self):
        self.assertEqual(documents.blocks("D.md", "```text\n$ a\n```\n"), [])

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
