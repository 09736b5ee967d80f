# SPDX-License-Identifier: GPL-2.0-only
"""Gathers, shows and compares measurements.

usage: bench gather OUT.json ABOUT.json FOLDER...
       bench add OUT.json ABOUT.json FOLDER...
       bench show RESULTS.json
       bench plot RESULTS.json FOLDER
       bench compare BASE.json RESULTS.json
       bench page PAGE.md RESULTS.json ABOUT.json
       bench check-page PAGE.md RESULTS.json ABOUT.json

add keeps what was measured before, but for what was measured again. The plots that the page
shows are where the results are that it was rendered from.
"""

import json
import os
import sys

import compare
import page
import plots
import results
import table
import targets


def gather(out, about, *folders):
    found, abouts = results.read_folders(folders)
    results.write_json(out, list(found))
    results.write_json(about, abouts)


def add(out, about, *folders):
    before, abouts = results.read_json(out), json.loads(read(about))
    found, new_abouts = results.read_folders(folders)
    before.replace(found)
    results.write_json(out, list(before))
    results.write_json(about, {**abouts, **new_abouts})


def show(path):
    found = results.read_json(path)
    print("\n".join([*table.text(found), "", *targets.text(found)]))


def plot(path, folder):
    for name, drawn in plots.all_plots(results.read_json(path)).items():
        with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
            file.write(plots.draw(drawn))


def compare_with(base, path):
    lines, good = compare.compare(results.read_json(base), results.read_json(path))
    print("\n".join(lines))
    return 0 if good else 1


def read(path):
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except OSError as error:
        raise results.BadResults(str(error)) from None


def rendered(path, found, about):
    folder = os.path.dirname(os.path.relpath(about, os.path.dirname(path) or "."))
    section = page.section(found, json.loads(read(about)), folder)
    return page.render(read(path), section)


def write_page(path, measured, about):
    text = rendered(path, results.read_json(measured), about)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    plot(measured, os.path.dirname(measured))


def check_page(path, measured, about):
    found = results.read_json(measured)
    stale = [name for name, drawn in plots.all_plots(found).items()
             if not plots.shows(read(os.path.join(os.path.dirname(measured), name)), drawn)]
    if rendered(path, found, about) != read(path):
        stale.insert(0, path)
    for name in stale:
        print(f"{name}: is not what {measured} says; make performance renders it",
              file=sys.stderr)
    return 1 if stale else 0


# Command: (function, least number of arguments, most)
COMMANDS = {"gather": (gather, 3, 99), "add": (add, 3, 99), "show": (show, 1, 1),
            "plot": (plot, 2, 2), "compare": (compare_with, 2, 2),
            "page": (write_page, 3, 3), "check-page": (check_page, 3, 3)}


def main(arguments):
    command, least, most = COMMANDS.get("".join(arguments[1:2]), (None, 0, 0))
    if not command or not least <= len(arguments) - 2 <= most:
        print(__doc__.split("\n\n")[1], file=sys.stderr)
        return 2
    try:
        return command(*arguments[2:]) or 0
    except results.BadResults as error:
        print(f"bench: FAILED: {error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv))
