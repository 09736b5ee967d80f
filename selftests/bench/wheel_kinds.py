#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Make a table and JSON of what timeouts cost that live until they expire.

usage: wheel_kinds.py FOLDER OUT.json

FOLDER holds the folders that wheel_kinds.sh left, each with the file life of the guest script.
Instructions are the worker's from its start to the last expiry, moves are those of
timeouts from one slot to another, both for each timeout; wake-ups are the worker's, in
all. Instructions are counted, not time: cache misses are not in it.
"""

import glob
import json
import sys

KINDS = ("simple", "hashed", "hierarchical")
SPREADS = {1: "1 s", 60: "1 min", 3600: "1 h", 2592000: "30 days"}
TEXTS = ("kernel", "kind", "refused")

MEASURES = (
    ("instructions", lambda life: f"{life['instructions'] / life['nr']:,.0f}"),
    ("moves", lambda life: f"{life['moved'] / life['nr']:,.2f}"),
    ("wake-ups", lambda life: f"{life['wakeups']:,}"),
)


def read_life(path):
    with open(path, encoding="ascii") as file:
        words = dict(line.split() for line in file)
    return {key: value if key in TEXTS else int(value) for key, value in words.items()}


def cell(life, show):
    if life is None:
        return ""
    return "-" if "refused" in life else show(life)


def print_row(cells):
    print("| " + " | ".join(cells) + " |")


def print_table(lives):
    """lives: {(nr, spread): {kind: life}}"""
    heads = [f"{kind}: {measure}" for measure, _ in MEASURES for kind in KINDS]
    print_row(["timeouts", "delays up to"] + heads)
    print_row(["--:"] * (2 + len(heads)))
    for (nr, spread), kinds in sorted(lives.items()):
        print_row([f"{nr:,}", SPREADS.get(spread, f"{spread} s")] +
                  [cell(kinds.get(kind), show) for _, show in MEASURES for kind in KINDS])


def main(arguments):
    if len(arguments) != 3:
        print(__doc__.split("\n\n")[1], file=sys.stderr)
        return 2
    lives = {}
    for path in sorted(glob.glob(f"{arguments[1]}/*/life")):
        life = read_life(path)
        lives.setdefault((life["nr"], life["spread"]), {})[life["kind"]] = life
    print_table(lives)
    with open(arguments[2], "w", encoding="ascii") as file:
        json.dump([life for _, kinds in sorted(lives.items()) for life in kinds.values()],
                  file, indent=2)
        file.write("\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
