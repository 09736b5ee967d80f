#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Make a table and JSON of the instructions that were counted.

usage: bench.py FOLDER OUT.json

FOLDER holds the file bench of the guest script. Behind what timer_list and hrtimer
take is how many times as much as hwheel that is. Instructions are counted, not time:
cache misses and waiting for locks are not in it.
"""

import json
import sys

KINDS = ("hwheel", "timer_list", "hrtimer")

# Title, and hwheel's operations of which it is the sum; a peer's, if it has any.
CALLS = (
    ("arm", "arm", "arm"),
    ("arm, absolute", "arm_at", "arm_at"),
    ("arm, with max_pending", "arm_limited", "arm"),
    ("refresh, later", "later", "later"),
    ("refresh, later, absolute", "later_at", "later_at"),
    ("refresh, earlier, absolute", "earlier_at", "earlier_at"),
    ("the same, while queued", "earlier_at_queued", "earlier_at"),
    ("cancel", "cancel", "cancel"),
    ("cancel, while queued", "cancel_queued", "cancel"),
)
WORKER = (
    ("file one that was armed", "file", ""),
    ("unlink a cancelled one", "unlink", ""),
    ("drop one cancelled while queued", "drop", ""),
    ("file again, after a refresh", "refile", ""),
    ("expire, with an empty callback", "expire", "expire"),
)
LIVES = (
    ("arm, cancel within a tick", "arm cancel_queued drop", "arm cancel"),
    ("arm, cancel later", "arm file cancel unlink", "arm cancel"),
    ("arm, expire", "arm file expire", "arm expire"),
)
PARTS = (("Callers", CALLS), ("The worker, or the interrupt", WORKER),
         ("From arm to end, callers and worker", LIVES))


def read_results(path):
    """Returns what is known about the machine, and {kind: {operation: count}}."""
    about, counts = {}, {}
    with open(path, encoding="ascii") as file:
        for line in file:
            word, rest = line.rstrip("\n").split(" ", 1)
            if word == "bench":
                kind, operation, count = rest.split(" ")
                counts.setdefault(kind, {})[operation] = float(count)
            else:
                about[word] = rest
    if counts["check"]["ten_nops"] != 10:
        sys.exit("bench.py: the VM did not count instructions")
    return about, counts


def total(counts, operations):
    return round(sum(counts[operation] for operation in operations.split()), 1)


def row_of(counts, own, peers):
    """{kind: count} of one row of the table"""
    row = {"hwheel": total(counts["hwheel"], own)}
    if peers:
        row.update((kind, total(counts[kind], peers)) for kind in KINDS[1:])
    return row


def cell(row, kind):
    if kind not in row:
        return f"{'':20}"
    return f"{row[kind]:12.1f} {'(' + format(row[kind] / row['hwheel'], '.2f') + ')':>7}"


def show(title, row):
    print(f"  {title:33}{row['hwheel']:8.1f}{''.join(cell(row, kind) for kind in KINDS[1:])}"
          .rstrip())


def main(arguments):
    if len(arguments) != 3:
        print(__doc__.split("\n\n")[1], file=sys.stderr)
        return 2
    about, counts = read_results(f"{arguments[1]}/bench")
    result = {**about, "unit": "instructions", "operations": {}}
    print(f"{'Instructions per operation':35}{'hwheel':>8}{'timer_list':>12}{'hrtimer':>20}")
    for heading, rows in PARTS:
        print(heading)
        for title, own, peers in rows:
            row = row_of(counts, own, peers)
            show(title, row)
            result["operations"][own.replace(" ", "+")] = {"title": title, **row}
    with open(arguments[2], "w", encoding="ascii") as file:
        json.dump(result, file, indent=2)
        file.write("\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
