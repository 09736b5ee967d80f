#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Prints a manual page that is made of kernel-doc.

kernel_doc.py hwheel.4: the device; hwheel.4.in has what its header does not say
kernel_doc.py hwheel.9: the module's exported symbols
kernel_doc.py libhwheel.3: the library
kernel_doc.py hwheel_local.3: its wheel inside the program
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
Page = collections.namedtuple("Page", "header include sources licence about private also")
PAGES = {
    "hwheel.9": Page(
        "module/include/linux/hwheel.h", "linux/hwheel.h", "module/engine/*.c", "GPL-2.0-only",
        "timeouts of the hwheel kernel module, for kernel code",
        # Their fields belong to the module alone.
        ("struct hwheel_node", "struct hwheel_timeout"),
        ("libhwheel 3", "hwheel 4")),
    "hwheel.4": Page(
        "module/include/uapi/linux/hwheel.h", "linux/hwheel.h", None, "GPL-2.0-only",
        "timeouts on a hashed wheel timer", (),
        ("hwheelctl 1", "timerfd_create 2", "libhwheel 3", "hwheel 9")),
    "libhwheel.3": Page(
        "tools/libhwheel.h", "libhwheel.h", None, "LGPL-2.1-only OR MIT",
        "timeouts from the hwheel kernel module", (),
        ("hwheelctl 1", "hwheel_local 3", "hwheel 4", "hwheel 9")),
    "hwheel_local.3": Page(
        "tools/hwheel_local.h", "hwheel_local.h", None, "LGPL-2.1-only OR MIT",
        "a timing wheel inside a program", (),
        ("epoll_wait 2", "poll 2", "timerfd_create 2", "libhwheel 3")),
}
EXAMPLES = {"libhwheel.3": "tools/examples/first.c", "hwheel_local.3": "tools/examples/local.c"}


def read(path):
    return pathlib.Path(TOP, path).read_text(encoding="utf-8")


def literal(text):
    text = textwrap.dedent(text).strip("\n").expandtabs(8).replace("\\", "\\e")
    return f".Bd -literal\n{text}\n.Ed"


def documented(text):
    """Yields (name, lines of the comment below it, declaration) for each kernel-doc comment."""
    for comment, code in re.findall(
            r"^/\*\*\n(.*?)^ \*/\n(struct \w+ {.*?^}.*?;|#define.*?$|[a-z].*?[{;])?", text,
            re.M | re.S):
        lines = [line[2:].rstrip() for line in comment.splitlines()]
        doc, name = re.match(r" (DOC: )?([\w ]*\w)", lines[0]).groups()
        yield name, lines, "" if doc else code


def split_arguments(text):
    """A comma within parentheses separates arguments of a callback."""
    return [" ".join(each.split()) for each in re.split(r",(?![^(]*\))", text)]


def prototype(name, code, header):
    """A macro has the types of the function that it calls."""
    if macro := re.match(rf"#define {name}\((.*?)(?:\.\.\.)?\)", code):
        code = re.search(rf"^[a-z][^;]*\b__{name}\(.*?;", header, re.M | re.S)[0]
    result, arguments = re.match(r"(?:static inline )?(.*?)\s*\w+\((.*)\)", code, re.S).groups()
    quoted = " ".join(f'"{each}"' for each in split_arguments(arguments)
                      if not macro or re.search(r"\w+(?=\)\(|$)", each)[0] in macro[1])
    return f'.Ft "{result}"\n.Fn {name} {quoted}'


def sentences(words):
    """mdoc wants each sentence to begin a line, and short lines. A macro's @_name is shown as name."""
    text = re.sub(r"(\w+)\(\)", r"\\fB\1\\fP()", re.sub(r"@_?(\w+)", r"\\fI\1\\fP", " ".join(words)))
    return [line for part in re.split(r"(?<=[.?!]) +(?=[A-Z(\\-])", text)
            for line in textwrap.wrap(part, 79, break_long_words=False, break_on_hyphens=False)]


def overview(lines):
    """Returns paragraphs; one with lines that are indented by a tab is literal."""
    parts = [part for part in "\n".join(lines).split("\n\n") if part.strip()]
    return "\n".join(literal(part.replace("\n ", "\n")) if re.search("^\t", part, re.M) else
                     "\n".join([".Pp"] * bool(number) + sentences(part.split()))
                     for number, part in enumerate(parts))


def constants(header):
    """Returns the constants with their comments, as they are in the header."""
    return literal("\n".join(re.findall(
        r"^((?:/\*(?!\*)(?:(?!\*/)[^{])*\*/\n)?(?:#define HWHEEL_\w+\s[^\n]*\n)+)", header, re.M)))


def described(name, lines, code):
    """Returns a subsection: summary, fields or arguments, paragraphs, context and result."""
    if lines[0].startswith(" DOC:"):
        return f".Ss {name}\n{overview(lines[1:])}"
    summary = lines[0].partition(" - ")[2]
    out = [f".Ss {name}",
           *sentences([summary[0].upper() + summary[1:] + ("" if summary[-1] == "?" else ".")])]
    tagged, words = False, []
    for line in [*map(str.strip, lines[1:]), ""]:
        field = re.match(r"@_?(\w+): *(.*)", line)
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
    return "\n".join((out[:-1] if out[-1] == ".Pp" else out) + code)


def symbols(page, header):
    """Returns {name: (lines, declaration)} of all that is public, in the order of the header."""
    found = {name: each for name, *each in documented(header) if name not in page.private}
    exported = set()
    for path in sorted(TOP.glob(page.sources)) if page.sources else []:
        text = read(path)
        names = set(re.findall(r"^EXPORT_SYMBOL_GPL\((?:__)?(\w+)\)", text, re.M))
        found.update((name, each) for name, *each in documented(text) if name in names)
        exported |= names
    if missing := exported - set(found):
        sys.exit(f"no kernel-doc: {', '.join(sorted(missing))}")
    return dict(sorted(found.items(), key=lambda each: re.search(
        rf"^(#define |[a-z][^(;]*[ *])?{each[0]}( {{|\()|^ \* DOC: {each[0]}$", header,
        re.M).start()))


def main(name):
    page = PAGES[name]
    header = read(page.header)
    found = symbols(page, header)
    title, section = name.split(".")
    about = found.pop(title)[0][1:]
    functions = [each for each, (_, code) in found.items() if code and "struct " not in each]
    day = datetime.date.fromtimestamp(int(os.environ.get("SOURCE_DATE_EPOCH", time.time())))
    print(f'.\\" SPDX-License-Identifier: {page.licence}', day.strftime(f".Dd %B {day.day}, %Y"),
          f".Dt {title.upper()} {section}", ".Os", ".Sh NAME",
          " ,\n".join(f".Nm {each}" for each in functions or [title]), f".Nd {page.about}",
          ".Sh SYNOPSIS", f".In {page.include}",
          *(prototype(each, found[each][1], header) for each in functions),
          ".Sh DESCRIPTION", overview(about),
          *(described(each, lines, [] if functions else [literal(code)] if code else [])
            for each, (lines, code) in found.items()), sep="\n")
    if name in EXAMPLES:
        print(".Sh EXAMPLES", literal(read(EXAMPLES[name]).partition("\n")[2]), sep="\n")
    if section == "4":
        print(".Ss Constants", constants(header), read("tools/man/hwheel.4.in").strip(), sep="\n")
    print(".Sh SEE ALSO", " ,\n".join(f".Xr {each}" for each in page.also), sep="\n")


if __name__ == "__main__":
    main(sys.argv[1])
