# SPDX-License-Identifier: GPL-2.0-only
"""The table of tests: its rows, and which of them somebody asks for."""
import dataclasses
import fnmatch
import os
import re

SETS = ("quick", "check", "all", "hand")


@dataclasses.dataclass(frozen=True)
class Row:
    name: str
    kind: str
    machine: str
    also: tuple         # machines that run it in make check-all as well
    by_hand: tuple      # and those that do when they are named, which the table has as -MACHINE
    set: str            # the smallest one that it is in
    seconds: int
    needs: tuple
    command: str

    def on(self, machine):
        return dataclasses.replace(self, machine=machine, name=f"{machine}:{self.name}", also=(),
                                   by_hand=())

    def argument(self, bound):
        """NAME=TEXT: what the environment has as NAME, else TEXT; NAME:=TEXT: but in make check alone.
        A run that is told to take its time, bound 0, leaves it to the test; make check-all is 1."""
        name, sign, text = re.fullmatch(r"(?:([A-Z_]+)(:?=))?(.*)", self.command).groups()
        return os.environ.get(name or "") or (text if bound > (sign == ":=") or not name else "")


def parse(line):
    name, kind, machines, of_set, seconds, needs, *command = line.strip().split(None, 6)
    machine, *also = machines.split(",")
    if of_set not in SETS:
        raise ValueError(f"{name} is in no set: {of_set}")
    return Row(name, kind, machine, tuple(one for one in also if one[0] != "-"),
               tuple(one[1:] for one in also if one[0] == "-"), of_set, int(seconds),
               () if needs == "-" else tuple(needs.split(",")), command[0] if command else "")


def read(path):
    with open(path, encoding="utf-8") as file:
        rows = [parse(line) for line in file if line.strip() and not line.startswith("#")]
    names = [row.name for row in rows]
    if len(set(names)) < len(names):
        raise ValueError(f"twice in {path}: {sorted(n for n in names if names.count(n) > 1)}")
    return rows


def of_set(rows, name):
    """Those of the set and of all that are smaller; all has those of other machines, too."""
    rank = SETS.index(name)
    chosen = [row for row in rows if SETS.index(row.set) <= rank and row.set != "hand"]
    if name == "all":
        chosen += [row.on(machine) for row in rows for machine in row.also]
    return chosen


def named(rows, pattern):
    """Rows by NAME or MACHINE:NAME; either may be a glob."""
    every = rows + [row.on(machine) for row in rows for machine in row.also + row.by_hand]
    found = [row for row in every if fnmatch.fnmatchcase(row.name, pattern)
             or fnmatch.fnmatchcase(f"{row.machine}:{row.name}", pattern)]
    if not found:
        raise ValueError(f"no test is named {pattern}; selftests/harness/tests has all")
    return found


def of_machine(rows, machine):
    """What check-all runs there; a kernel that no row names gets those of the VM."""
    own = [row if row.machine == machine else row.on(machine)
           for row in rows if machine in (row.machine, *row.also, *row.by_hand)]
    return own or [row.on(machine) for row in rows if row.machine == "vm" and row.set != "hand"]
