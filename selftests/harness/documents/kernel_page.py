#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""The manual page of the exported symbols, made of their kernel-doc.

usage: kernel_page.py write KSRC PAGE.9
       kernel_page.py check KSRC PAGE.9

kernel-doc of the kernel tree KSRC reads the comments. Its own manual pages are many, one for each
symbol, in man(7); this makes one in mdoc(7), in the order of the header.
"""

import datetime
import glob
import re
import subprocess
import sys
import textwrap

HEADER = "module/include/linux/hwheel.h"
# Structures whose fields belong to the module alone
PRIVATE = ["hwheel_node", "hwheel_timeout", "hwheel_stop"]
# The arguments of a macro have no types.
MACRO_ARGUMENTS = {"params...": "const struct hwheel_params *params"}

HEAD = """.\\" SPDX-License-Identifier: GPL-2.0-only
.\\" make kernel-page makes this of the comments at the exported symbols.
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
A module embeds a timeout in its own object, arms it on a wheel, and gets a
callback when it is due.
All times are nanoseconds.
{blocks}
.Sh SEE ALSO
.Xr libhwheel 3 ,
.Xr hwheel 4
"""


def kernel_doc(source, *arguments):
    """Of one file: a new kernel's prints no other ones."""
    return subprocess.run([f"{source}/scripts/kernel-doc", "-man", *arguments], check=True,
                          stdout=subprocess.PIPE, text=True).stdout


def blocks_of(text):
    """Yields (name, sections) of each symbol; sections are (title, lines)."""
    for block in re.split(r"^\.TH .*\n", text, flags=re.M)[1:]:
        parts = re.split(r'^\.SH "?([^"\n]*)"?\n', block, flags=re.M)[1:]
        sections = list(zip(parts[::2], (part.splitlines() for part in parts[1::2])))
        yield sections[0][1][0].split(" \\- ")[0], sections


def position(header, name):
    found = re.search(rf"^(#define |[a-z][^(;]*[ *])?{name}( {{|\()", header, re.M)
    return found.start() if found else len(header)


def sentences(text):
    """mdoc wants each sentence to begin a line, and short lines."""
    parts = re.split(r"(?<=[.?!]) +(?=[A-Z(\\-])", text)
    return [line for part in parts
            for line in textwrap.wrap(part, 79, break_long_words=False, break_on_hyphens=False)]


def body(lines):
    """Text and lists: .IP begins an item, an empty line or .PP ends a paragraph."""
    out, text, listing = [], [], False
    for line in [*lines, ""]:
        item = re.match(r'\.IP "(.*)" 12', line)
        if line.strip() not in ("", ".PP") and not item:
            text.append(line.replace("...", "\\&..."))
            continue
        out += sentences(" ".join(text))
        text = []
        if item:
            out += [f".It Fa {item[1]}"] if listing else [".Bl -tag -width Ds", f".It Fa {item[1]}"]
            listing = True
        elif not listing and out[-1:] != [".Pp"]:
            out.append(".Pp")
    while out and out[-1] == ".Pp":
        out.pop()
    return out + ([".El"] if listing else [])


def result_of(name, line, header):
    """A macro has no type: that of the function that it calls."""
    found = re.match(r'\.B "(.*)" ', line) or re.search(rf"^(.*[ *])__{name}\(", header, re.M)
    return found[1].strip()


def prototype(name, lines, header):
    result = result_of(name, lines[0], header)
    arguments = re.findall(r'\.BI "\(?(.*?) *" ', "\n".join(lines[1:]))
    arguments = [MACRO_ARGUMENTS.get(argument, argument) for argument in arguments]
    quoted = " ".join(f'"{argument}"' for argument in arguments)
    return f".Ft \"{result}\"\n.Fn {name} {quoted}"


def summary(line):
    text = re.sub(r"(\w+)\(\)", r"\\fB\1\\fP", line.split(" \\- ")[1])
    return text[0].upper() + text[1:] + ("" if text.endswith("?") else ".")


def described(name, sections):
    out = [f".Ss {name}", *sentences(summary(sections[0][1][0]))]
    for title, lines in sections[1:]:
        if title.upper() in ("SYNOPSIS", "SEE ALSO"):
            continue
        if title.upper() not in ("DESCRIPTION", "ARGUMENTS", "MEMBERS"):
            out += [".Pp", f"\\fB{title.capitalize()}\\fP:"]
        elif title.upper() == "DESCRIPTION":
            out += [".Pp"]
        out += body(lines)
    return "\n".join(out)


def exporters():
    """Yields the files that export symbols, each with their names."""
    for path in sorted(glob.glob("module/engine/*.c")):
        with open(path, encoding="utf-8") as file:
            names = re.findall(r"^EXPORT_SYMBOL_GPL\((?:__)?(\w+)\)", file.read(), re.M)
        if names:
            yield path, names


def all_symbols(source, header):
    """The blocks of all that is public, in the order of the header."""
    files = dict(exporters())
    blocks = [*blocks_of(kernel_doc(source, HEADER))]
    for path in files:
        blocks += blocks_of(kernel_doc(source, "-export", path))
    private = [f"struct {name}" for name in PRIVATE]
    symbols = {name: sections for name, sections in blocks if name not in private}
    missing = {name for names in files.values() for name in names} - set(symbols)
    if missing:
        sys.exit(f"kernel-doc tells nothing of {', '.join(sorted(missing))}")
    return sorted(symbols.items(), key=lambda symbol: position(header, symbol[0]))


def render(source, date):
    with open(HEADER, encoding="utf-8") as file:
        header = file.read()
    symbols = all_symbols(source, header)
    functions = [symbol for symbol in symbols if not symbol[0].startswith("struct ")]
    return HEAD.format(
        date=date, names=" ,\n".join(f".Nm {name}" for name, _ in functions),
        prototypes="\n".join(prototype(name, sections[1][1], header)
                             for name, sections in functions),
        blocks="\n".join(described(*symbol) for symbol in symbols))


def date_of(page):
    return re.search(r"^\.Dd (.*)", page, re.M)[1]


def is_current(source, path):
    with open(path, encoding="utf-8") as file:
        page = file.read()
    return render(source, date_of(page)) == page


def write(source, path):
    if is_current(source, path):
        return
    today = datetime.date.today()
    page = render(source, today.strftime(f"%B {today.day}, %Y"))
    with open(path, "w", encoding="utf-8") as file:
        file.write(page)


def check(source, path):
    if not is_current(source, path):
        sys.exit(f"{path} is not what the comments say; make kernel-page writes it")


if __name__ == "__main__":
    if len(sys.argv) != 4 or sys.argv[1] not in ("write", "check"):
        sys.exit(__doc__.split("\n\n")[1])
    {"write": write, "check": check}[sys.argv[1]](*sys.argv[2:])
