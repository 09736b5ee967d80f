#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Prints a manual page that is made of kernel-doc.

kernel_doc.py hwheel.9: the module's exported symbols
kernel_doc.py libhwheel.3: the library
"""

import collections
import datetime
import os
import pathlib
import re
import sys
import textwrap
import time

TOP = pathlib.Path(__file__).resolve().parents[2]
Page = collections.namedtuple("Page", "header sources licence about include private example also")
PAGES = {
    "hwheel.9": Page(
        "module/include/linux/hwheel.h", "module/engine/*.c", "GPL-2.0-only",
        "timeouts of the hwheel kernel module, for kernel code", "linux/hwheel.h",
        # Their fields belong to the module alone.
        ("struct hwheel_node", "struct hwheel_timeout"), None, ("libhwheel 3", "hwheel 4")),
    "libhwheel.3": Page(
        "tools/libhwheel.h", "", "LGPL-2.1-only OR MIT",
        "timeouts from the hwheel kernel module", "libhwheel.h", (), "tools/examples/first.c",
        ("hwheelctl 1", "hwheel 4", "hwheel 9")),
}

LITERAL = "\n.Bd -literal\n{}\n.Ed\n"


def read(path):
    return pathlib.Path(TOP, path).read_text(encoding="utf-8")


def literal(text):
    return LITERAL.format(textwrap.dedent(text).strip("\n").replace("\\", "\\e")).strip()


def documented(text):
    """Yields (name, lines of the comment below it, declaration) for each kernel-doc comment."""
    for comment, code in re.findall(r"^/\*\*\n(.*?)^ \*/\n(.*?[{;]|#define.*?$)?", text,
                                    re.M | re.S):
        lines = [line[2:].rstrip() for line in comment.splitlines()]
        yield re.match(r" ([\w ]*\w)", lines[0])[1], lines, code


def split_arguments(text):
    """A comma within parentheses separates arguments of a callback."""
    return [" ".join(each.split()) for each in re.split(r",(?![^(]*\))", text)]


def prototype(name, code, header):
    """A macro has the types of the function that it calls."""
    if macro := re.match(rf"#define {name}\((.*?)(?:\.\.\.)?\)", code):
        code = re.search(rf"^[a-z][^;]*\b__{name}\(.*?;", header, re.M | re.S)[0]
    result, arguments = re.match(r"(?:static inline )?(.*?)\s*\w+\((.*)\)", code, re.S).groups()
    quoted = " ".join(f'"{each}"' for each in split_arguments(arguments)
                      if not macro or re.search(r"\w+$", each)[0] in macro[1])
    return f'.Ft "{result}"\n.Fn {name} {quoted}'


def sentences(words):
    """mdoc wants each sentence to begin a line, and short lines."""
    text = re.sub(r"(\w+)\(\)", r"\\fB\1\\fP()", re.sub(r"@(\w+)", r"\\fI\1\\fP", " ".join(words)))
    return [line for part in re.split(r"(?<=[.?!]) +(?=[A-Z(\\-])", text)
            for line in textwrap.wrap(part, 79, break_long_words=False, break_on_hyphens=False)]


def overview(lines):
    """Returns paragraphs; one that is indented by a tab is literal."""
    parts = [part for part in "\n".join(lines).split("\n\n") if part.strip()]
    return "\n".join(literal(part) if part.startswith("\t") else
                     "\n".join([".Pp"] * bool(number) + sentences(part.split()))
                     for number, part in enumerate(parts))


def described(name, lines):
    """Returns a subsection: summary, fields or arguments, paragraphs, context and result."""
    summary = lines[0].partition(" - ")[2]
    out = [f".Ss {name}",
           *sentences([summary[0].upper() + summary[1:] + ("" if summary[-1] == "?" else ".")])]
    tagged, words = False, []
    for line in [*map(str.strip, lines[1:]), ""]:
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


def symbols(page, header):
    """Returns {name: (lines, declaration)} of all that is public, in the order of the header."""
    found = {name: each for name, *each in documented(header) if name not in page.private}
    exported = set()
    for path in sorted(TOP.glob(page.sources)) if page.sources else ():
        text = read(path)
        names = set(re.findall(r"^EXPORT_SYMBOL_GPL\((?:__)?(\w+)\)", text, re.M))
        found.update((name, each) for name, *each in documented(text) if name in names)
        exported |= names
    if missing := exported - set(found):
        sys.exit(f"no kernel-doc: {', '.join(sorted(missing))}")
    return dict(sorted(found.items(), key=lambda each: re.search(
        rf"^(#define |[a-z][^(;]*[ *])?{each[0]}( {{|\(|:)|^ \* {each[0]}:", header, re.M).start()))


def main(name):
    page = PAGES[name]
    header = read(page.header)
    found = symbols(page, header)
    about = found.pop("DOC")[0][1:]
    functions = [each for each in found if not each.startswith("struct ")]
    day = datetime.date.fromtimestamp(int(os.environ.get("SOURCE_DATE_EPOCH", time.time())))
    title, section = name.upper().split(".")
    print(f'.\\" SPDX-License-Identifier: {page.licence}',
          day.strftime(f".Dd %B {day.day}, %Y"), f".Dt {title} {section}", ".Os", ".Sh NAME",
          " ,\n".join(f".Nm {each}" for each in functions), f".Nd {page.about}",
          ".Sh SYNOPSIS", f".In {page.include}",
          *(prototype(each, found[each][1], header) for each in functions),
          ".Sh DESCRIPTION", overview(about),
          *(described(each, lines) for each, (lines, _) in found.items()), sep="\n")
    if page.example:
        print(".Sh EXAMPLES", literal(read(page.example).partition("\n")[2]), sep="\n")
    print(".Sh SEE ALSO", " ,\n".join(f".Xr {each}" for each in page.also), sep="\n")


if __name__ == "__main__":
    main(sys.argv[1])
