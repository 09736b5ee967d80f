#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Make a table and JSON of the instructions that were counted.

usage: bench.py FOLDER OUT.json

FOLDER holds the file bench of the guest script. Behind what others take is how many
times as much as hwheel that is. Instructions are counted, not time:
cache misses and waiting for locks are not in it.
"""

import json
import sys

IN_KERNEL = {"hwheel": "hwheel", "timer_list": "timer_list", "hrtimer": "hrtimer"}
IN_PROGRAMS = {"hwheel": "user", "timerfd": "timerfd"}

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
PROGRAMS = (
    ("a system call", "system_call", ""),
    ("clock_gettime", "clock_gettime", ""),
    ("arm", "arm", "create set"),
    ("refresh", "refresh", "refresh"),
    ("cancel", "cancel", "close"),
    ("arm, 256 in a batch", "submit_arm", "create set"),
    ("refresh, 256 in a batch", "submit_refresh", "refresh"),
    ("cancel, 256 in a batch", "submit_cancel", "close"),
    ("refresh, by a store", "store", "refresh"),
    ("the same, from now", "store_from_now", "refresh"),
    ("read, 256 events at a time", "read", ""),
)
PARTS = (("Callers", CALLS, IN_KERNEL), ("The worker, or the interrupt", WORKER, IN_KERNEL),
         ("From arm to end, callers and worker", LIVES, IN_KERNEL),
         ("Programs, their part and the kernel's; of the worker's nothing", PROGRAMS,
          IN_PROGRAMS))


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


def row_of(counts, kinds, own, peers):
    """{name: count} of one row of the table"""
    return {name: total(counts[kind], own if name == "hwheel" else peers)
            for name, kind in kinds.items() if name == "hwheel" or peers}


def cell(row, name):
    return f"{row[name]:12.1f} {'(' + format(row[name] / row['hwheel'], '.2f') + ')':>7}"


def show(title, row):
    peers = "".join(cell(row, name) for name in row if name != "hwheel")
    print(f"  {title:33}{row['hwheel']:8.1f}{peers}")


def show_heading(heading, kinds):
    print(f"{heading}\n{'':35}{'hwheel':>8}" +
          "".join(f"{name:>12}{'':8}" for name in kinds if name != "hwheel").rstrip())


def main(arguments):
    if len(arguments) != 3:
        print(__doc__.split("\n\n")[1], file=sys.stderr)
        return 2
    about, counts = read_results(f"{arguments[1]}/bench")
    result = {**about, "unit": "instructions", "operations": {}}
    print("Instructions per operation")
    for heading, rows, kinds in PARTS:
        show_heading(heading, kinds)
        for title, own, peers in rows:
            row = row_of(counts, kinds, own, peers)
            show(title, row)
            name = kinds["hwheel"] + ":" + own.replace(" ", "+")
            result["operations"][name] = {"title": title, **row}
    with open(arguments[2], "w", encoding="ascii") as file:
        json.dump(result, file, indent=2)
        file.write("\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
