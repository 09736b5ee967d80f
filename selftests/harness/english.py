#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Finds the English that CONTRIBUTING.md rules out in the tree and in new commit subjects.

english.py reads the repository in the current folder: the files that git knows or does not ignore,
and the subjects of the commits since ENGLISH_BASE; without it, since the commit that added this
file.

The lint reads comments and docstrings of code, and the text of documents. It skips a tree
that is no git repository.
"""

import ast
import collections
import io
import os
import pathlib
import re
import subprocess
import sys
import tokenize

LINT = "selftests/harness/english.py"

# After one of these verbs "what" is the subject. Another word there is a noun, as in "What
# programs call".
VERB = ("is|are|was|were|has|had|have|may|can|cannot|could|must|might|should|will|would|does|"
        "did|needs|takes|goes|went|comes|came|runs|stays|remains|follows|happens|waits|ends|"
        "ended|starts|begins|fails|failed|makes|costs|looks|holds|keeps|gets|gives|reads|"
        "writes|calls|uses|falls|lies|stands|becomes|belongs|depends|matters|changes|counts")
QUESTION = r"(?!.*\?\W*$)"
IS = "".join(rf"(?<!\b{word} )" for word in
             "is are was were be been not all stay stays remain remains exactly".split())

# A subject never begins with one of these words.
NOT_VERBS = "a|an|the|its|this|more|new|no|some|what|who"
# An imperative may end as an inflected verb does.
IMPERATIVES = "bias|bring|embed|exceed|feed|focus|need|ping|proceed|shed|speed|string|succeed"

# The test demands that each pattern finds its example.
Pattern = collections.namedtuple("Pattern", "what regex example")

PROSE = (
    # The reader has to guess which thread or program the sentence is about.
    Pattern("name the subject instead of who", rf"(?:^W|[:;] w)ho(?:ever)?\b{QUESTION}",
            "Who waits for that frees it when it gets the lock."),
    # A clause as the subject hides the verb of the sentence.
    Pattern("name the subject instead of what",
            rf"(?:^W|; w)hat(?:ever)?\s(?:(?:{VERB})\b|[^.;:]*\b(?:is|are) what\b){QUESTION}",
            "What is due becomes a backlog."),
    # Threads and programs are things, and people have roles: the owner, the caller.
    Pattern("name the thing or the person", r"\b(?:[Hh]e|[Hh]im|[Hh]is|[Hh]imself)\b",
            "The one that waits: the state of his task."),
    # Many readers do not know the subjunctive.
    Pattern("say whether or even", r"\b[Bb]e it\b",
            "There was an ARM, be it one that failed."),
    # Readers expect the subject first.
    Pattern("put the subject before the verb",
            rf"(?:^So (?:is|are|was|were|does|did|has|have)\b|\bso (?:is|are|was|were|does|did) "
            rf"(?:an?|the|these|this|those|that|its|each|every|it|they|what|we)\b|"
            rf"\bso (?:do|have) (?:they|we|you|(?:the |these |those )?\w+s[.,;:])){QUESTION}",
            "The lock is free, and so is the list."),
    # An adjective names nothing, so the reader has to look back.
    Pattern("name what is the same",
            rf"\b{IS}the same(?=$|[.,;:)]| (?:for|of|with)\b)",
            "Like the first, the second does the same."),
    # One spelling makes each place easy to find.
    Pattern("timeout is one word", r"\b[Tt]ime-outs?\b",
            "Each time-out fires once."),
)

SUBJECT = (
    # Developers search the log by subsystem.
    Pattern("does not begin with a subsystem and a verb", r"^(?![a-z0-9 .,/_-]+: [a-z])",
            "Count the wheels"),
    # The log reads as a list of orders.
    Pattern("does not begin with an imperative",
            rf"^[^:]+: (?:(?:{NOT_VERBS})\b|(?!(?:{IMPERATIVES})\b)[a-z]+(?:ing|ed|[^s]s)\b)",
            "worker: adds a limit"),
    # The second verb names the change: "count the wheels".
    Pattern("has the form have X do", r": have\b",
            "registry: have the list count the wheels"),
    # A subject is a title.
    Pattern("ends with a period", r"\.$",
            "registry: count the wheels."),
    # git log indents subjects, and a terminal has 80 columns.
    Pattern("is longer than 75 characters", r"^.{76}",
            "registry: count the wheels of all users that have a file open on the device node"),
)

# C_TOKEN matches strings, too, because no comment begins within one.
C_TOKEN = re.compile(r'"(?:\\.|[^"\\\n])*"|' r"'(?:\\.|[^'\\\n])*'|"
                     r"(?P<comment>/\*.*?\*/|(?:^[ \t]*//[^\n]*\n?)+|//[^\n]*)", re.S | re.M)
C_MARKS = re.compile(r"^\s*(?:/\*+|\*(?!/)|//+)?|\*/\s*$")
HASH = re.compile(r"^\s*#+(?!!)(.*)|.*\s##\s(.*)")
FENCE = re.compile(r"\s*(?:```|~~~)")
MACRO = re.compile(r"\.(\w\w|\\\")\s*")
MAN_BREAKS = {"Sh", "Ss", "Pp", "It", "Bl", "El", "Bd", "Ed", "Nd"}

# Items, headings, rows, fields of kernel-doc and empty lines begin a paragraph.
MARKS = re.compile(r"\s*(?:(?:[-*+|>]|#+|\d+\.|@[\w.]+:|<!--)\s+)*[\"'(*_|]*")
BREAK = re.compile(r"\s*(?:[-*+|>]\s|#+\s|\d+\.\s|@[\w.]+:|<!--|$)")
# A stop and a capital part sentences. A bar parts the cells of a row.
STOP = re.compile(r"[.?!:][\"')*_]*\s+[\"'(*_]*(?=[A-Z])|\s\|\s[\"'(*_]*")
CODE = re.compile(r"`[^`]*`|\]\([^)]*\)")


def c_prose(text):
    """Returns a block for each comment: a list of (line, text)."""
    blocks = []
    for match in C_TOKEN.finditer(text):
        if comment := match["comment"]:
            line = text.count("\n", 0, match.start()) + 1
            blocks.append([(number, C_MARKS.sub("", each))
                           for number, each in enumerate(comment.split("\n"), line)])
    return blocks


def runs(pieces):
    """Returns a block for each run of successive lines."""
    blocks = []
    for line, text in pieces:
        if not blocks or blocks[-1][-1][0] != line - 1:
            blocks.append([])
        blocks[-1].append((line, text))
    return blocks


def hash_prose(text):
    matches = ((line, HASH.match(each)) for line, each in enumerate(text.split("\n"), 1))
    return runs((line, match[1] or match[2] or "") for line, match in matches if match)


def docstrings(text):
    """Yields the nodes of the docstrings."""
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, kinds) and ast.get_docstring(node) is not None:
            yield node.body[0]


def python_prose(text):
    lines = text.split("\n")
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    blocks = runs((token.start[0], token.string.lstrip("#!")) for token in tokens
                  if token.type == tokenize.COMMENT)
    for node in docstrings(text):
        numbers = range(node.lineno, node.end_lineno + 1)
        blocks.append([(line, lines[line - 1].replace('"""', "")) for line in numbers])
    return blocks


def markdown_prose(text):
    """Fenced code is no prose."""
    pieces, fenced = [], False
    for line, each in enumerate(text.split("\n"), 1):
        if FENCE.match(each):
            fenced = not fenced
        elif not fenced:
            pieces.append((line, each))
    return runs(pieces)


def man_prose(text):
    """A macro's arguments are words of the sentence around it."""
    block, literal = [], False
    for line, each in enumerate(text.split("\n"), 1):
        macro = MACRO.match(each)
        breaks = bool(macro) and macro[1] in MAN_BREAKS
        if breaks:
            literal = macro[1] == "Bd"
        if not literal:
            words = each[macro.end():] if macro else each
            block += [(line, ""), (line, words), (line, "")] if breaks else [(line, words)]
    return [block]


def reader_of(path, text):
    """Returns the function that finds the prose in a file."""
    suffix = pathlib.PurePath(path).suffix
    if suffix in (".c", ".h", ".pml"):
        return c_prose
    if suffix == ".py" or re.match(r"#!.*python", text):
        return python_prose
    if suffix == ".md":
        return markdown_prose
    return man_prose if re.fullmatch(r"\.[1-9]", suffix) else hash_prose


def paragraphs(block):
    found = [[]]
    for line, text in block:
        if BREAK.match(text):
            found.append([])
            text = text[MARKS.match(text).end():]
        elif not found[-1]:
            text = text[MARKS.match(text).end():]
        if text.strip():
            found[-1].append((line, text.strip()))
    return filter(None, found)


def sentences(paragraph):
    """Yields each sentence, with the line of each of its characters."""
    text = " ".join(text for _, text in paragraph)
    text = CODE.sub(lambda match: "x" * len(match[0]), text)
    lines = [line for line, text in paragraph for _ in text + " "]
    ends = [match.end() for match in STOP.finditer(text)]
    for start, end in zip([0, *ends], [*ends, len(text)]):
        yield text[start:end].rstrip(" |"), lines[start:end]


def judge(path, text):
    """Yields a complaint for each match."""
    source = text.split("\n")
    every = (sentence for block in reader_of(path, text)(text)
             for paragraph in paragraphs(block) for sentence in sentences(paragraph))
    for sentence, lines in every:
        for pattern in PROSE:
            for match in re.finditer(pattern.regex, sentence):
                line = lines[match.start()]
                yield f"{path}:{line}: {pattern.what}: {source[line - 1].strip()}"


def judge_subject(commit, subject):
    """Yields a complaint for each pattern of subjects, and of prose, that is found."""
    sentence = re.sub(r"^[^:]*: *", "", subject)
    for patterns, text in ((SUBJECT, subject), (PROSE, sentence)):
        for pattern in patterns:
            if re.search(pattern.regex, text):
                yield f"{commit}: {pattern.what}: {subject}"


def git(*args):
    done = subprocess.run(["git", "-c", "core.quotePath=off", *args], check=True,
                          stdout=subprocess.PIPE, encoding="utf-8", errors="replace")
    return done.stdout


def has_history():
    """A tarball within another repository has none of its own."""
    if not os.path.exists(".git"):
        return False
    try:
        git("rev-parse", "--quiet", "--verify", "HEAD")
    except (OSError, subprocess.CalledProcessError):
        return False
    return True


def base():
    """Returns the commit since which subjects are new.

    A merge that brings the lint is the base of the branch that merges.
    """
    if named := os.environ.get("ENGLISH_BASE"):
        return git("rev-parse", "--verify", f"{named}^{{commit}}").strip()
    came = git("log", "--first-parent", "-m", "--diff-filter=A", "--format=%H", "--", LINT)
    return came.split()[-1] if came else "HEAD"


def files():
    """Yields the path of each file that git knows or does not ignore."""
    listed = git("ls-files", "-z", "--cached", "--others", "--exclude-standard")
    return filter(os.path.isfile, filter(None, listed.split("\0")))


def complaints(since):
    for path in files():
        yield from judge(path, pathlib.Path(path).read_bytes().decode(errors="replace"))
    for line in git("log", "--no-merges", "--format=%h %s", f"{since}..HEAD").split("\n"):
        if line:
            yield from judge_subject(*line.split(" ", 1))


def main():
    if not has_history():
        print("skipped: no git history")
        return 0
    try:
        found = list(complaints(base()))
    except subprocess.CalledProcessError as error:
        print(error)
        return 2
    print(*found, sep="\n", end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
