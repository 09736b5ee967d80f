#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Takes the blocks out of the documents, so that they are tested.

blocks.py OUT DOCUMENT...

Each block of commands or code has a comment before it that says where it is tested:

    <!-- test: vm -->                 in the test VM
    <!-- test: tree GROUP -->         in a clean Debian 12, by make check-packages
    <!-- test: tree GROUP as FILE --> is left there as FILE
    <!-- test: is FILE, tree GROUP --> it is what FILE has below its licence line, and is there
    <!-- test: none: WHY -->          nowhere, and why

OUT/NUMBER.LANGUAGE has a block, OUT/list a line for each: its number, language, document and
line, and the words of the comment. blocks.py refuses all that could hide from the test: a block
without such a comment, or one that is indented instead of fenced.
"""

import pathlib
import re
import sys

MARKER = re.compile(r"^<!-- test: (.*) -->$")
WORDS = re.compile(r"vm|tree [a-z]+( as \S+)?|is \S+, tree [a-z]+|none: .+")
FENCE = re.compile(r"^```(\w+)?$")
UNTESTED = ("text",)


class BadDocument(Exception):
    pass


def refuse(where, what):
    raise BadDocument(f"{where}: {what}")


def checked(where, words, language):
    if not language:
        refuse(where, "a block that does not say what it is")
    if language not in UNTESTED and not words:
        refuse(where, "nothing says where this is tested")
    if words and not WORDS.fullmatch(words):
        refuse(where, f"not a place: {words}")


def blocks(path):
    """Yields (place, words of the comment, language, lines of the block)."""
    words = language = inside = None
    before = ""
    for number, line in enumerate(pathlib.Path(path).read_text().split("\n"), 1):
        where = f"{path}:{number}"
        fence = FENCE.match(line)
        if inside is not None and line == "```":
            yield start, words, language, inside
            words = inside = None
        elif inside is not None:
            inside.append(line)
        elif fence:
            language, inside, start = fence[1], [], where
            checked(where, words, language)
        elif MARKER.match(line):
            words = MARKER.match(line)[1]
        elif words and line:
            refuse(where, "a block is to follow the comment")
        elif line.startswith(("    ", "\t")) and not before:
            refuse(where, "a block without a fence")
        before = line
    if inside is not None:
        refuse(path, "a block without an end")


def take(out, documents):
    listed = []
    for path in documents:
        for where, words, language, lines in blocks(path):
            if not words:
                continue
            number = f"{len(listed):02}"
            (out / f"{number}.{language}").write_text("\n".join(lines) + "\n")
            listed.append(f"{number} {language} {where} {words}\n")
    (out / "list").write_text("".join(listed))


def main():
    if len(sys.argv) < 3:
        print(__doc__, file=sys.stderr)
        return 2
    try:
        take(pathlib.Path(sys.argv[1]), sys.argv[2:])
    except BadDocument as wrong:
        print(wrong, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
