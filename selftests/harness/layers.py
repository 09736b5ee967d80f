#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Checks the includes of module/ against the table of layers in CONTRIBUTING.md, and that those of
tools/hwheeld go one way: no file includes, by whatever way, a file that includes it. There a .c file
and its header count as one.

A line of the table has a folder and names of files, without .c and .h if it means both. A file
includes its own header, and of engine/ and its own folder headers of the lines above its own.
main.c, which starts all, and include/ are in no line.
"""

import graphlib
import os
import pathlib
import re
import sys

TOP = pathlib.Path(__file__).resolve().parents[2]
TABLE = re.search(r"\n```text\n(engine/ .*?)```", (TOP / "CONTRIBUTING.md").read_text(), re.S)[1]


def complaints():
    os.chdir(TOP / "module")
    layers = {}
    for number, (folder, *names) in enumerate(line.split() for line in TABLE.splitlines()):
        for name in names:
            pattern = name if "." in name else f"{name}.[ch]"
            paths = [*map(str, pathlib.Path(folder).glob(pattern))]
            layers = dict.fromkeys(paths, number) | layers
            if not paths:
                yield f"the table of layers has no file {folder}{name}"
    for path in sorted(pathlib.Path().glob("[!i]*/**/*.[ch]")):
        for name in re.findall(r'^#include "(.*)"', path.read_text(), re.M):
            near = os.path.normpath(path.parent / name)
            header = near if near in layers else name
            below = layers.get(header, 99) < layers.get(str(path), 0)
            if header != str(path.with_suffix(".h")) and not (
                    below and header.split("/")[0] in ("engine", path.parts[0])):
                yield f"module/{path}: {name} is not below it in the table of layers"


def circles():
    house = TOP / "tools/hwheeld"
    below = {}
    for path in sorted(house.glob("**/*.[ch]")):
        name = path.relative_to(house)
        if name.parts[0] != "test":
            headers = re.findall(r'^#include "(.*)\.h"', path.read_text(), re.M)
            below.setdefault(str(name.with_suffix("")), set()).update(headers)
    try:
        graphlib.TopologicalSorter({name: headers - {name} for name, headers in below.items()}).prepare()
    except graphlib.CycleError as error:
        yield f"tools/hwheeld: a circle of includes: {' <- '.join(error.args[1])}"


if __name__ == "__main__":
    sys.exit("\n".join([*complaints(), *circles()]) or None)
