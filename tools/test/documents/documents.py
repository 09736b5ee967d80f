#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Tests that the commands and programs in the documents work.

documents.py KVER MODULE DEST OUT: commands and C programs of the documents run in a VM with MODULE,
which is loaded first; the programs are built with what make install has left in DEST. OUT keeps
what the VM left. What other tests run is counted as skipped. Prints TAP.

documents.py tree GROUP: runs the blocks of that group, in order, on this machine, which is to be
thrown away afterwards. The commands are told that the kernel runs whose headers are here, and apt
that the answer is yes. Blocks of the README and of doc/install.md run in the project, others in an
empty folder.

Each block of commands or code has a comment before it that says where it is tested:

    <!-- test: vm -->                 in the test VM
    <!-- test: tree GROUP -->         in a clean Debian 12, by make check-packages
    <!-- test: tree GROUP as FILE --> is left there as FILE
    <!-- test: in FILE -->            as a part of FILE, which another test runs
    <!-- test: none: WHY -->          nowhere, and why
"""

import collections
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

TOP = pathlib.Path(__file__).resolve().parents[3]
DOCUMENTS = ["doc/install.md", "README.md", "CONTRIBUTING.md", *sorted(
    str(path.relative_to(TOP)) for path in TOP.glob("doc/*.md") if path.name != "install.md")]

MARKER = re.compile(r"<!-- test: (.*) -->")
WORDS = re.compile(r"vm|tree [a-z]+( as \S+)?|in \S+|none: .+")

Block = collections.namedtuple("Block", "where words language text")


class BadDocument(Exception):
    pass


def refuse(where, what):
    raise BadDocument(f"{where}: {what}")


def blocks(name, text):
    """Returns the blocks. Refuses all that could hide one from the test."""
    found, words, inside, before = [], None, None, ""
    for number, line in enumerate(text.split("\n"), 1):
        here = f"{name}:{number}"
        fence, marker = re.fullmatch(r"```(\w*)", line), MARKER.fullmatch(line)
        if inside is not None and line != "```":
            inside.append(line + "\n")
        elif inside is not None:
            if words:
                found.append(Block(where, words, language, "".join(inside)))
            words = inside = None
        elif fence:
            where, language, inside = here, fence[1], []
            if not language:
                refuse(here, "a block that does not say what it is")
            if language != "text" and not words:
                refuse(here, "nothing says where this is tested")
            if words and not WORDS.fullmatch(words):
                refuse(here, f"not a place: {words}")
        elif marker:
            words = marker[1]
        elif words and line:
            refuse(here, "a block is to follow the comment")
        elif line.startswith(("    ", "\t")) and not before:
            refuse(here, "a block without a fence")
        before = line
    if inside is not None:
        refuse(name, "a block without an end")
    return found


def read(name):
    return (TOP / name).read_text(encoding="utf-8")


def all_blocks():
    return [block for name in DOCUMENTS for block in blocks(name, read(name))]


class Tap:
    def __init__(self):
        self.points = self.failed = 0
        print("TAP version 13")

    def report(self, name, problems="", skip=""):
        """A test point, which passes without problems, a text."""
        print(end="".join(f"# {line}\n" for line in problems.splitlines()))
        self.points += 1
        self.failed += bool(problems)
        print(f"{'not ok' if problems else 'ok'} {self.points} - {name}"
              f"{f' # SKIP {skip}' if skip else ''}", flush=True)


def run(*command):
    """Returns what a command printed, if it failed."""
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
                          cwd=TOP, encoding="utf-8", errors="replace")
    return "" if not done.returncode else f"{done.stdout[-4000:]}\nstatus {done.returncode}"


def found(pattern, names):
    return {match for name in names for match in re.findall(pattern, read(name))}


def differences(left, right):
    return "\n".join(sorted(left ^ right))


def check_text(tap):
    """Targets, links and versions, also those in passing"""
    targets = set(re.findall(r"^([a-z-]+):", read("Makefile"), re.M))
    named = found(r"`(?:sudo )?make ([a-z][a-z-]*)", DOCUMENTS)
    tap.report("each target that is named exists",
               "\n".join(named - targets) if len(named) > 10 else "few are named")
    # A link with a scheme leads out of the tree.
    links = [(name, link) for name in DOCUMENTS
             for link in re.findall(r"\]\(([^)#:]+)(?![^)#]*:)", read(name))]
    tap.report("each link leads somewhere", "\n".join(
        f"{name}: {link}" for name, link in links
        if not (TOP / name).parent.joinpath(link).exists()))
    shown = subprocess.run([os.environ.get("MAKE", "make"), "help"], check=True, cwd=TOP,
                           stdout=subprocess.PIPE, text=True).stdout
    tap.report("make help has all targets",
               differences(set(re.findall(r"^  make (\S+) +\S", shown, re.M)), targets))
    tap.report("the README is one page", "it is longer" * (read("README.md").count("\n") > 200))
    # Of paths and DKMS's names
    tap.report("the version is the module's", differences(
        found(r"hwheel(?:-headers)?[-/](\d[\d.]*\d)", DOCUMENTS),
        found(r'(?m)^MODULE_VERSION\("(.*)"\);$', ["module/main.c"])))


def for_the_vm(tap, block, number, dest, work):
    """Programs are static, as there is no libc in the VM."""
    file = work / f"{number:02}.{block.language}"
    file.write_text(block.text, encoding="utf-8")
    if block.language == "c":
        tap.report(f"{block.where} is built", run(
            "gcc", "-static", "-O2", "-Wall", "-Wextra", "-Werror", f"-I{dest}/usr/include",
            f"-I{dest}/usr/local/include", str(file), f"{dest}/usr/local/lib/libhwheel.a", "-o",
            str(file.with_suffix(""))))
        file = file.with_suffix("")
    with open(work / "list", "a", encoding="utf-8") as listed:
        print(file.name, block.where, file=listed)


def test(kver, module, dest, out):
    tap, work = Tap(), pathlib.Path(tempfile.mkdtemp()) / "blocks"
    work.mkdir()
    try:
        every, problem = all_blocks(), ""
    except BadDocument as wrong:
        every, problem = [], str(wrong)
    tap.report("each block says where it is tested", problem)
    check_text(tap)
    for number, block in enumerate(every):
        kind, _, rest = block.words.partition(" ")
        if kind == "vm":
            for_the_vm(tap, block, number, dest, work)
        elif kind == "in":
            tap.report(f"{block.where} is a part of {rest}",
                       "" if block.text in read(rest) else "it is another text")
        else:
            tap.report(block.where, skip="make check-packages does it" if kind == "tree" else rest)
    tap.report("the VM runs what is for it", run(
        "tar", "-cf", f"{work}.tar", "-C", work, ".") or run(
        "selftests/harness/vm/run_vm.sh", "--kver", kver, "--out", out, "--quiet", "--guest",
        "tools/test/documents/documents_guest.sh", module, f"{dest}/usr/local/bin/hwheelctl",
        f"{work}.tar", "selftests/harness/common.sh", "selftests/harness/tap.sh"))
    print(f"1..{tap.points}")
    shutil.rmtree(work.parent)
    return 1 if tap.failed else 0


def stand_in(work, name, command):
    """For a program that would ask the kernel that really runs"""
    (work / name).write_text(f"#!/bin/sh\n{command}\n", encoding="utf-8")
    (work / name).chmod(0o755)


def tree(group):
    work = pathlib.Path(tempfile.mkdtemp())
    kver = min(os.listdir("/lib/modules"))
    stand_in(work, "sudo", 'exec "$@"')
    stand_in(work, "uname", f'[ "$*" = -r ] || exec /bin/uname "$@"; echo {kver}')
    stand_in(work, "modinfo", f'exec /sbin/modinfo -k {kver} "$@"')
    (work / "apt.conf").write_text('APT::Get::Assume-Yes "true";\n'
                                   'APT::Install-Recommends "false";\n', encoding="utf-8")
    os.environ |= {"APT_CONFIG": f"{work}/apt.conf", "USER": "root",
                   "PATH": f"{work}:{os.environ['PATH']}"}
    (work / "empty").mkdir()
    chosen = [block for block in all_blocks() if f"tree {group} " in f"{block.words} "]
    for block in chosen:
        print(f"== {block.where}", flush=True)
        folder = TOP if block.where.startswith(("README", "doc/install")) else work / "empty"
        if file := re.search(r" as (\S+)", block.words):
            (folder / file[1]).write_text(block.text, encoding="utf-8")
        else:
            subprocess.run(["bash", "-exo", "pipefail", "-c", block.text], cwd=folder, check=True,
                           stdin=subprocess.DEVNULL)
    return 0 if chosen else 1


if __name__ == "__main__":
    sys.exit(tree(sys.argv[2]) if sys.argv[1] == "tree" else test(*sys.argv[1:]))
