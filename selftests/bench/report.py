#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Shows, compares and draws measurements: a file with a JSON object in each line.

usage: report.py show FILE
       report.py compare BASE FILE
       report.py plot FILE PICTURE.svg

A measurement is {"metric": GROUP.NAME, "impl", "n", "unit", "value"}: of what, by whom, with how
many timeouts or threads. Objects without a metric describe the run. compare fails if an instruction
count has risen by more than 3 %; other units measure the machine, and what else it did.
"""

import itertools
import json
import subprocess
import sys

RISE = 1.03
N, MANY = 100000, 1000000
LIVES = ("arm_cancel_queued", "arm_at_cancel_queued", "arm_cancel_filed", "arm_at_cancel_filed",
         "arm_expire", "arm_at_expire", "refresh10_cancel")
MAPPED = ("arm", "arm_queued", "refresh", "cancel_queued", "cancel_filed", "arm_cancel",
          "working_set", "arm_expire_take")
CALLS = ("arm", "refresh", "cancel", "life_arm_cancel")


class Rows(dict):
    """Values by (metric, impl, n); those that were not measured raise KeyError."""

    def __init__(self, path):
        super().__init__()
        self.units, self.about = {}, []
        with open(path, encoding="ascii") as file:
            for line in file:
                self.add(json.loads(line), line)

    def add(self, row, line):
        if "metric" not in row:
            self.about.append(row)
            return
        key = row["metric"], row["impl"], row["n"]
        if key in self or not isinstance(row["value"], (int, float)):
            raise ValueError(f"not a measurement, or measured twice: {line}")
        self[key], self.units[row["metric"]] = row["value"], row["unit"]

    def of(self, metric, impl="hwheel", n=N):
        return self[metric, impl, n]

    def part(self, metric, peer, n=N, impl="hwheel"):
        return self[metric, impl, n] / self[metric, peer, n]

    def each(self, impl, start, end=""):
        return [value for (metric, by, _), value in self.items()
                if by == impl and metric.startswith(start) and metric.endswith(end)]


# What it is, its bound, and what finds it in the rows
GOALS = (
    ("arm, absolute: instructions", 60, lambda r: r.of("op.arm_at")),
    ("arm: instructions", 110, lambda r: r.of("op.arm")),
    ("cancel: instructions", 40, lambda r: r.of("op.cancel_filed")),
    ("refresh to later: instructions", 30, lambda r: r.of("op.refresh_later")),
    ("absolute arm + cancel before filing, part of timer_list's", 0.28,
     lambda r: r.part("life.arm_at_cancel_queued", "timer_list")),
    ("arm + cancel before filing, part of timer_list's", 0.40,
     lambda r: r.part("life.arm_cancel_queued", "timer_list")),
    ("absolute arm + cancel after filing, part of timer_list's", 0.42,
     lambda r: r.part("life.arm_at_cancel_filed", "timer_list")),
    ("arm + cancel after filing, part of timer_list's", 0.55,
     lambda r: r.part("life.arm_cancel_filed", "timer_list")),
    ("absolute arm + expire, part of timer_list's", 0.42,
     lambda r: r.part("life.arm_at_expire", "timer_list")),
    ("arm + expire, part of timer_list's", 0.55, lambda r: r.part("life.arm_expire", "timer_list")),
    ("refresh to later, part of mod_timer()", 0.10,
     lambda r: r.part("op.refresh_later", "timer_list")),
    ("any life, part of hrtimer's", 0.30,
     lambda r: max(r.part(f"life.{life}", "hrtimer") for life in LIVES)),
    ("ns: absolute arm + cancel after filing, 1,000,000, part of timer_list's", 1.0,
     lambda r: r.part("ns.life_arm_at_cancel_filed", "timer_list", MANY)),
    ("ns: absolute arm + cancel after filing, 1,000,000, part of hrtimer's", 0.05,
     lambda r: r.part("ns.life_arm_at_cancel_filed", "hrtimer", MANY)),
    ("ns: 1,000,000 in cold memory, filed, part of one list's", 0.3,
     lambda r: r.part("cold.file_64", "one_list", MANY)),
    ("ns: 1,000,000 in cold memory, expired, part of one chain's", 0.5,
     lambda r: r.part("cold.expire_64", "one_list", MANY)),
    ("ns: 1,000,000 in cold memory, unlinked after a cancel, part of one list's", 0.35,
     lambda r: r.part("cold.unlink_64", "one_list", MANY)),
    ("arm + cancel in batches of 256, part of timerfd's create + settime + close", 1 / 8,
     lambda r: r.part("user.life_arm_cancel", "timerfd")),
    ("arm + cancel in batches, part of io_uring's add + remove where that is least", 1.0,
     lambda r: r.of("user.life_arm_cancel") / min(r.each("io_uring", "user.life_arm_cancel"))),
    ("cancel newest first, of 16,000, times that of 1,000", 1.15,
     lambda r: r.of("user.cancel_newest_first", n=16000) /
     r.of("user.cancel_newest_first", n=1000)),
    ("memory in the kernel: bytes", 64, lambda r: r.of("memory.in_kernel", n=1)),
    ("memory of programs: bytes", 160, lambda r: r.of("memory.user", n=MANY)),
    ("wake-ups when idle: per minute", 0,
     lambda r: max(r.each("hwheel", "idle.") + r.each("mapped", "idle."))),
    ("early", 0, lambda r: max(r.each("hwheel", "lateness.", "_early"))),
    ("mapped: absolute arm: instructions", 50, lambda r: r.of("program.arm")),
    ("mapped: absolute arm, still queued from before: instructions", 47,
     lambda r: r.of("program.arm_queued")),
    ("mapped: cancel, while queued: instructions", 38, lambda r: r.of("program.cancel_queued")),
    ("mapped: cancel, when filed: instructions", 46, lambda r: r.of("program.cancel_filed")),
    ("mapped: refresh to later: instructions", 38, lambda r: r.of("program.refresh")),
    ("mapped: hwheel_set() that moves: instructions", 40, lambda r: r.of("program.set_moves")),
    ("mapped: hwheel_set() that arms: instructions", 62, lambda r: r.of("program.set_arms")),
    ("mapped: arm + cancel, with the worker's: instructions", 113,
     lambda r: r.of("program.arm_cancel")),
    ("mapped: arm + cancel 1,000 again and again, with the worker's: instructions", 72,
     lambda r: r.of("program.working_set")),
    ("mapped: arm + expire + take, with the worker's: instructions", 210,
     lambda r: r.of("program.arm_expire_take")),
    ("mapped: memory of programs: bytes", 80, lambda r: r.of("memory.user", "mapped")),
    ("mapped: any operation at 1,000,000, times that at 1,000", 1.15,
     lambda r: max(r.of(f"program.{name}", n=MANY) / r.of(f"program.{name}", n=1000)
                   for name in MAPPED)),
    ("mapped: any operation or life, part of a heap's", 1.0,
     lambda r: max(r.part(f"program.{name}", "heap") for name in MAPPED)),
    ("mapped: any operation, batches of 256, part of a heap's at its best", 1.0,
     lambda r: max(r.part(f"user.{name}", "heap", impl="mapped") for name in CALLS)),
    ("wheel inside: arm: instructions", 47, lambda r: r.of("program.arm", "local")),
    ("wheel inside: move to later: instructions", 14, lambda r: r.of("program.refresh", "local")),
    ("wheel inside: cancel: instructions", 13, lambda r: r.of("program.cancel_filed", "local")),
    ("wheel inside: arm + cancel: instructions", 60,
     lambda r: r.of("program.arm_cancel", "local")),
    ("wheel inside: arm + expire: instructions", 143,
     lambda r: r.of("program.arm_expire_take", "local")),
    ("local handle: arm: instructions", 146, lambda r: r.of("program.arm", "open_local")),
    ("local handle: move to later: instructions", 104,
     lambda r: r.of("program.refresh", "open_local")),
    ("local handle: cancel: instructions", 106,
     lambda r: r.of("program.cancel_filed", "open_local")),
    ("wheel inside a libuv server: part of all instructions", 0.005,
     lambda r: max((r.of(f"server.user_{way}", "wheel", 10000) -
                    r.of(f"server.user_{way}", "none", 10000)) /
                   r.of(f"server.{way}", "wheel", 10000) for way in ("at_once", "in_turn"))),
    ("wheel inside: wake-ups of a server with requests, times an exact heap's", 1.1,
     lambda r: r.part("server.wakeups", "heap", 91000, "local")),
    ("wheel inside: wake-ups when idle: per minute", 0, lambda r: max(r.each("local", "idle."))),
    ("arm + expire on 2 levels of 512: instructions", 200,
     lambda r: r.of("life.arm_expire", "hierarchical")),
    ("any hierarchical wheel: worst lateness in ticks", 2,
     lambda r: max(r.each("hwheel", "hierarchical.", "_worst") +
                   r.each("mapped", "hierarchical.", "_worst"))),
)


def judge(rows):
    """A line for each goal whose measurements are there"""
    for title, bound, find in GOALS:
        try:
            seen = find(rows)
        except (KeyError, ValueError):
            continue
        yield [title, f"{bound:g}", f"{seen:,.4g}", "met" if seen <= bound else "MISSED"]


def amount(value, own=None):
    text = f"{value:,.0f}" if value >= 1000 else f"{value:,.3f}".rstrip("0").rstrip(".")
    return f"{text} ({value / own:.2f})" if own else text


def markdown(heads, lines):
    yield ""
    yield f"| {' | '.join(heads)} |"
    yield f"| --- |{' --: |' * (len(heads) - 1)}"
    for line in lines:
        yield f"| {' | '.join(line)} |"


def tables(rows):
    """One for each group, with a column for each implementation"""
    for group, keys in itertools.groupby(sorted(rows, key=lambda key: key[0].split(".")[0]),
                                         lambda key: key[0].split(".")[0]):
        keys = list(keys)
        impls = list(dict.fromkeys(impl for _, impl, _ in keys))
        lines = []
        for metric, n in dict.fromkeys((metric, n) for metric, _, n in keys):
            own = rows.get((metric, "hwheel", n))
            values = [(impl, rows.get((metric, impl, n))) for impl in impls]
            lines.append([metric, f"{n:,}", rows.units[metric],
                          *("" if value is None else amount(value, impl != "hwheel" and own)
                            for impl, value in values)])
        yield from markdown([group, "n", "unit", *impls], lines)


def show(path):
    rows = Rows(path)
    print(*map(json.dumps, rows.about), *tables(rows),
          *markdown(["goal", "at most", "seen", ""], judge(rows)), sep="\n")


def compare(base, path):
    before, after = Rows(base), Rows(path)
    common = [key for key in before if key in after and after.units[key[0]] == "instructions"]
    risen = [key for key in common if after[key] > before[key] * RISE]
    for metric, impl, n in risen:
        key = metric, impl, n
        print(f"risen: {metric} of {impl} at {n:,}: {before[key]:g} -> {after[key]:g} instructions")
    print(f"{len(risen)} of {len(common)} instruction counts have risen by more than 3 %")
    if risen or not common:
        raise ValueError("FAILED")


def plot(path, picture):
    """Bars: what each life in the kernel takes, beside its peers"""
    rows = Rows(path)
    impls = ("hwheel", "timer_list", "hrtimer", "delayed_work")
    data = [" ".join([life, *(f"{rows[f'life.{life}', impl, N]:g}" for impl in impls)])
            for life in LIVES[:-1] if (f"life.{life}", "hwheel", N) in rows]
    if not data:
        return
    bars = ", ".join(f"$data using {i + 2}{':xtic(1)' if not i else ''} title '{impl}'"
                     for i, impl in enumerate(impls))
    script = "\n".join(["$data << EOD", *data, "EOD",
                        "set terminal svg noenhanced size 800,440", f"set output '{picture}'",
                        f"set title 'Lives: instructions, {N:,} timeouts'", "set yrange [0:*]",
                        "set style data histogram", "set style fill solid",
                        "set xtics rotate by -25", f"plot {bars}"])
    subprocess.run(["gnuplot"], input=script, text=True, check=True)


COMMANDS = {"show": (show, 1), "compare": (compare, 2), "plot": (plot, 2)}

if __name__ == "__main__":
    command, count = COMMANDS.get("".join(sys.argv[1:2]), (None, 0))
    if not command or len(sys.argv) != 2 + count:
        sys.exit(__doc__.split("\n\n")[1])
    try:
        command(*sys.argv[2:])
    except (KeyError, OSError, ValueError) as error:
        sys.exit(f"bench: {error}")
