#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Prints hwheel(9), made of the kernel-doc at the exported symbols."""

import datetime
import os
import pathlib
import re
import sys
import textwrap
import time

MODULE = pathlib.Path(__file__).resolve().parents[2] / "module"
HEADER = (MODULE / "include/linux/hwheel.h").read_text(encoding="utf-8")
# Their fields belong to the module alone.
PRIVATE = ("struct hwheel_node", "struct hwheel_timeout")

HEAD = """.\\" SPDX-License-Identifier: GPL-2.0-only
.Dd {date}
.Dt HWHEEL 9
.Os
.Sh NAME
{names}
.Nd timeouts of the hwheel kernel module, for kernel code
.Sh SYNOPSIS
.In linux/hwheel.h
{prototypes}
.Sh DESCRIPTION
{blocks}
.Sh SEE ALSO
.Xr libhwheel 3 ,
.Xr hwheel 4"""


def documented(text):
    """Yields (name, lines of the comment below it, declaration) for each kernel-doc comment."""
    for comment, code in re.findall(r"^/\*\*\n(.*?)^ \*/\n(.*?[{;]|#define.*?$)?", text, re.M | re.S):
        lines = [line[2:].lstrip("*").strip() for line in comment.splitlines()]
        yield re.match(r"[\w ]*\w|DOC", lines[0])[0], lines, code


def split_arguments(text):
    """A comma within parentheses separates arguments of a callback."""
    return [" ".join(each.split()) for each in re.split(r",(?![^(]*\))", text)]


def prototype(name, code):
    """A macro has the types of the function that it calls."""
    if macro := re.match(rf"#define {name}\((.*?)(?:\.\.\.)?\)", code):
        code = re.search(rf"^[a-z][^;]*\b__{name}\(.*?;", HEADER, re.M | re.S)[0]
    result, arguments = re.match(r"(?:static inline )?(.*?)\s*\w+\((.*)\)", code, re.S).groups()
    quoted = " ".join(f'"{each}"' for each in split_arguments(arguments)
                      if not macro or re.search(r"\w+$", each)[0] in macro[1])
    return f'.Ft "{result}"\n.Fn {name} {quoted}'


def sentences(words):
    """mdoc wants each sentence to begin a line, and short lines."""
    text = re.sub(r"(\w+)\(\)", r"\\fB\1\\fP", re.sub(r"@(\w+)", r"\\fI\1\\fP", " ".join(words)))
    return [line for part in re.split(r"(?<=[.?!]) +(?=[A-Z(\\-])", text)
            for line in textwrap.wrap(part, 79, break_long_words=False, break_on_hyphens=False)]


def described(name, lines):
    """Returns a subsection: summary, fields or arguments, paragraphs, context and result."""
    summary = lines[0].partition(" - ")[2]
    out = [f".Ss {name}",
           *sentences([summary[0].upper() + summary[1:] + ("" if summary[-1] == "?" else ".")])]
    tagged, words = False, []
    for line in [*lines[1:], ""]:
        field = re.match(r"@(\w+): *(.*)", line)
        section = re.match(r"(Context|Return): *(.*)", line)
        if line and not field and not section:
            words.append(line)
            continue
        out += sentences(words)
        words = [(field or section)[2]] if field or section else []
        if field:
            out += [] if tagged else [".Bl -tag -width Ds"]
            out.append(f".It Fa {field[1]}")
            tagged = True
        elif tagged:
            out.append(".El")
            tagged = False
        if not field:
            out += [".Pp"] if out[-1] != ".Pp" else []
            out += [f"\\fB{section[1]}\\fP:"] if section else []
    return "\n".join(out[:-1] if out[-1] == ".Pp" else out)


def symbols():
    """Returns {name: (lines, declaration)} of all that is public, in the order of the header."""
    found = {name: each for name, *each in documented(HEADER) if name not in PRIVATE}
    exported = set()
    for path in sorted((MODULE / "engine").glob("*.c")):
        text = path.read_text(encoding="utf-8")
        names = set(re.findall(r"^EXPORT_SYMBOL_GPL\((?:__)?(\w+)\)", text, re.M))
        found.update((name, each) for name, *each in documented(text) if name in names)
        exported |= names
    if missing := exported - set(found):
        sys.exit(f"no kernel-doc: {', '.join(sorted(missing))}")
    return dict(sorted(found.items(), key=lambda each: re.search(
        rf"^(#define |[a-z][^(;]*[ *])?{each[0]}( {{|\(|:)|^ \* {each[0]}:", HEADER, re.M).start()))


def main():
    found = symbols()
    about = "\n".join(found.pop("DOC")[0][1:]).strip().split("\n\n")
    functions = [name for name in found if not name.startswith("struct ")]
    day = datetime.date.fromtimestamp(int(os.environ.get("SOURCE_DATE_EPOCH", time.time())))
    print(HEAD.format(
        date=day.strftime(f"%B {day.day}, %Y"),
        names=" ,\n".join(f".Nm {name}" for name in functions),
        prototypes="\n".join(prototype(name, found[name][1]) for name in functions),
        blocks="\n".join(["\n.Pp\n".join("\n".join(sentences(part.split())) for part in about),
                          *(described(name, lines) for name, (lines, _) in found.items())])))


if __name__ == "__main__":
    main()
