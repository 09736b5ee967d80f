#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""gather.py FOLDER FILE: puts what both JVMs of make java-bench have measured into one file, and
prints it, one line for each figure with a column for each timer."""

import json
import pathlib
import sys

PARTS = ("many", "few")


def load(folder):
    return [result for part in PARTS
            for result in json.loads((folder / f"{part}.json").read_text(encoding="utf-8"))]


def key(result):
    return tuple((name, result[name]) for name in result if name not in ("impl", "value"))


def show(results):
    table = {}
    for result in results:
        table.setdefault(key(result), {})[result["impl"]] = result["value"]
    for names, values in table.items():
        what = ", ".join(f"{name} {value}" for name, value in names if name != "metric")
        figures = "  ".join(f"{impl} {value:,.1f}" for impl, value in values.items())
        print(f"{dict(names)['metric']:34} {what:60} {figures}")


def main():
    results = load(pathlib.Path(sys.argv[1]))
    pathlib.Path(sys.argv[2]).write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    show(results)


if __name__ == "__main__":
    main()
