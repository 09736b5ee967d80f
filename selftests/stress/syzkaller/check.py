#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Compares dev_hwheel.txt and its constants with the header that they describe.

check.py INCLUDE

INCLUDE is the folder that has linux/hwheel.h. Every constant, and the place and the size
of every field, is written as a static assertion, which the compiler then judges. A
struct named like one of the header, with or without something behind it, is that one. Each call has
to be one that manager.json enables.
"""

import fnmatch
import json
import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).parent
TEXT = (HERE / "dev_hwheel.txt").read_text(encoding="utf-8")
CONSTS = (HERE / "dev_hwheel.txt.const").read_text(encoding="utf-8")
ENABLED = json.loads((HERE / "manager.json").read_text(encoding="utf-8"))["enable_syscalls"]
HEADER = (pathlib.Path(sys.argv[1]) / "linux/hwheel.h").read_text(encoding="utf-8")

SIZES = {"int32": "4", "int64": "8", "hwheel_id": "8", "hwheel_deadline": "8", "hwheel_time": "8",
         "hwheel_map_word": "8"}

# Numbers in the description that have no name there
NUMBERS = (
    "offsetof(struct hwheel_map_header, head) == 256",
    "sizeof(struct hwheel_map_list) == 128",
    "sizeof(struct hwheel_map_record) == 32",
    "HWHEEL_MAP_PENDING == 0 && HWHEEL_MAP_CANCELLED == 2",
    "HWHEEL_MAP_QUEUED == 4",
    "IORING_POLL_ADD_MULTI == 1",
)


def size_of(syzlang):
    """The size in C of a type, which its last word tells unless it is an array or a pointer."""
    if match := re.fullmatch(r"array\[(?:const\[0, )?(\w+)\]?, (\w+)\]", syzlang):
        return f"{SIZES[match[1]]} * {match[2]}"
    if syzlang.startswith("ptr64["):
        return "8"
    return SIZES[re.findall("|".join(SIZES), syzlang)[-1]]


def struct_of(name):
    structs = re.findall(r"^struct (\w+) \{", HEADER, re.M)
    return max((s for s in structs if f"{name}_".startswith(f"{s}_")), key=len)


def struct_assertions(name, body):
    struct, offset = f"struct {struct_of(name)}", "0"
    for field, syzlang in re.findall(r"^\t(\w+)\t+(.*?)(?:\t\(\w+\))?$", body, re.M):
        size = size_of(syzlang)
        yield f"offsetof({struct}, {field}) == {offset}"
        yield f"sizeof((({struct} *)0)->{field}) == {size}"
        offset += f" + {size}"
    yield f"sizeof({struct}) == {offset}"


def const_assertions():
    for name, value in re.findall(r"^([A-Z]\w+) = (\d+)$", CONSTS, re.M):
        yield f"(unsigned long long)({name}) == {value}ULL"


def assertions():
    yield from NUMBERS
    yield from const_assertions()
    for name, body in re.findall(r"^(hwheel_\w+) \{\n(.*?)^\}", TEXT, re.M | re.S):
        yield from struct_assertions(name, body)


def undescribed():
    """Commands of the header that the description lacks, or has no number for."""
    for name in re.findall(r"^#define (HWHEEL_IOC_\w+)\s+_IO", HEADER, re.M):
        if f"const[{name}]" not in TEXT or f"{name} = " not in CONSTS:
            yield name


def disabled():
    """Calls of the description that manager.json does not enable."""
    return (call for call in re.findall(r"^(\w+\$\w+)\(", TEXT, re.M)
            if not any(fnmatch.fnmatchcase(call, pattern) for pattern in ENABLED))


def main():
    lines = ["#define _GNU_SOURCE", "#include <fcntl.h>", "#include <stddef.h>",
             "#include <sys/mman.h>", "#include <time.h>", "#include <linux/hwheel.h>",
             "#include <linux/io_uring.h>",
             "#define O_RDWR_NONBLOCK (O_RDWR | O_NONBLOCK)",
             "#define MAP_SHARED_FIXED (MAP_SHARED | MAP_FIXED)"]
    lines += [f'_Static_assert({a}, "");' for a in assertions()]
    status = subprocess.run(["gcc", "-I", sys.argv[1], "-fsyntax-only", "-x", "c", "-"],
                            input="\n".join(lines), text=True, check=False).returncode
    for name in undescribed():
        print(f"dev_hwheel.txt: {name} is missing")
        status = 1
    for call in disabled():
        print(f"manager.json: {call} is missing")
        status = 1
    return status


if __name__ == "__main__":
    sys.exit(main())
