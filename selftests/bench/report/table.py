# SPDX-License-Identifier: GPL-2.0-only
"""The table: what hwheel takes, what others take, and how many times as much that is.

It is made of rows of text, so that it can be printed or become a part of a page.
"""

import itertools

# The number of timeouts, unless others were measured
N = 100000

# The hierarchical wheel is hwheel's, too, and has each metric that the hashed one has. A peer that
# searches for the timeout to cancel has a second column, for the number at which each operation
# takes least.
HIERARCHICAL = "hierarchical"
IN_KERNEL = (HIERARCHICAL, "timer_list", "hrtimer", "delayed_work")
BEST = " at best"
IN_PROGRAMS = ("mapped", "timerfd", "posix", "io_uring" + BEST, "io_uring", "heap")

# Title, hwheel's metric, and that of others; a sum where they are several, of those that the
# other has: a timerfd has to be created before it is armed, an io_uring timeout is not.
OPERATIONS = (
    ("arm", "op.arm", "op.arm"),
    ("arm, absolute", "op.arm_at", "op.arm_at"),
    ("arm, with a limit", "op.arm_limited", "op.arm"),
    ("refresh to later", "op.refresh_later", "op.refresh_later"),
    ("refresh to later, relative", "op.refresh_later_relative", "op.refresh_later_relative"),
    ("refresh to earlier", "op.refresh_earlier", "op.refresh_earlier"),
    ("refresh to earlier, while queued", "op.refresh_earlier_queued", "op.refresh_earlier"),
    ("cancel, while queued", "op.cancel_queued", "op.cancel_queued"),
    ("cancel, when filed", "op.cancel_filed", "op.cancel_filed"),
)
WORKER = (
    ("file one that was armed", "op.drain", ""),
    ("move one that is due earlier", "op.move", ""),
    ("drop one cancelled while queued", "op.drop", ""),
    ("unlink one cancelled when filed", "op.unlink", ""),
    ("file again one that is due later", "op.refile", ""),
    ("expire, with an empty callback", "op.expire", "op.expire"),
)
LIVES = (
    ("arm, cancel while queued", "life.arm_cancel_queued"),
    ("absolute arm, cancel while queued", "life.arm_at_cancel_queued"),
    ("arm, cancel when filed", "life.arm_cancel_filed"),
    ("absolute arm, cancel when filed", "life.arm_at_cancel_filed"),
    ("arm, expire", "life.arm_expire"),
    ("absolute arm, expire", "life.arm_at_expire"),
    ("arm, 10 refreshes, cancel", "life.refresh10_cancel"),
)
PROGRAMS = (
    ("arm", "user.arm", "user.create user.arm"),
    ("refresh", "user.refresh", "user.refresh"),
    ("cancel", "user.cancel", "user.cancel"),
    ("arm and cancel", "user.life_arm_cancel_single", "user.life_arm_cancel"),
    ("arm, 256 in a batch", "user.submit_arm", "user.create user.arm"),
    ("refresh, 256 in a batch", "user.submit_refresh", "user.refresh"),
    ("cancel, 256 in a batch", "user.submit_cancel", "user.cancel"),
    ("arm and cancel, 256 in a batch", "user.life_arm_cancel", "user.life_arm_cancel"),
    ("arm and cancel, with the worker's part", "user.life_arm_cancel_with_worker",
     "user.life_arm_cancel"),
    ("arm, cancel when filed, with the worker's", "user.life_arm_cancel_filed_with_worker",
     "user.life_arm_cancel"),
    ("the worker's part, while queued", "user.worker_arm_cancel", ""),
    ("the worker's part, when filed", "user.worker_arm_cancel_filed", ""),
    ("read an event, 256 at a time", "user.read", "user.read"),
    ("arm, expire, read, with the worker's", "user.life_arm_expire_read_with_worker", ""),
    ("the worker's part of it", "user.worker_arm_expire", ""),
)
# Here the number is that of threads.
THREADS = "threads."

# Lateness on hierarchical wheels: metrics are hierarchical.WHEEL_WHAT.
LATENESS = "hierarchical."
LATENESS_HEADING = "Hierarchical wheels, deadlines within 2,000 ticks"
LATENESS_HEADS = {"worst": "worst, in ticks", "late": "more than 2 ticks late",
                  "worker": "worker's instructions"}

# Mapped timeouts, and those that a program keeps itself
INSIDE = ("heap", "wheel")
MAPPED = (
    ("arm", "program.arm"),
    ("arm, still queued from before", "program.arm_queued"),
    ("refresh to later", "program.refresh"),
    ("cancel, while queued", "program.cancel_queued"),
    ("cancel, when filed", "program.cancel_filed"),
    ("arm and cancel, with the worker's", "program.arm_cancel"),
    ("1,000 again and again, with the worker's", "program.working_set"),
    ("arm, expire, take, with the worker's", "program.arm_expire_take"),
)


def same(rows):
    return tuple((title, metric, metric) for title, metric in rows)


def nanoseconds(rows):
    """The same in ns: op.arm is ns.arm, life.arm_expire is ns.life_arm_expire."""
    def name(metrics):
        for group in ("life.", "program."):
            metrics = metrics.replace(group, f"ns.{group.rstrip('.')}_")
        return metrics.replace("op.", "ns.")

    return tuple((title, name(own), name(other)) for title, own, other in rows)


# Heading, number of timeouts, rows, others
SECTIONS = (
    ("Callers in the kernel, instructions", N, OPERATIONS, IN_KERNEL),
    ("The worker, or the interrupt, instructions", N, WORKER, IN_KERNEL),
    ("From arm to end, callers and worker, instructions", N, same(LIVES), IN_KERNEL),
    ("Programs, their part and the kernel's, instructions", N, PROGRAMS, IN_PROGRAMS),
    ("Mapped timeouts, and a program's own, absolute times, instructions", N, same(MAPPED),
     INSIDE),
    ("Mapped timeouts, and a program's own, absolute times, ns", N, nanoseconds(same(MAPPED)),
     INSIDE),
    ("Callers in the kernel, ns", 10 * N, nanoseconds(OPERATIONS), IN_KERNEL),
    ("The worker, or the interrupt, ns", 10 * N, nanoseconds(WORKER), IN_KERNEL),
    ("From arm to end, callers and worker, ns", 10 * N, nanoseconds(same(LIVES)), IN_KERNEL),
)


def nearest(results, metric, impl, n):
    """The largest number with which it was measured that is not beyond n, or None"""
    return max((m for m in results.numbers(metric, impl) if m <= n), default=None)


def total_at(results, metrics, impl, n):
    """Of the last metric and those before it, as far as there are any"""
    values = [results.value(metric, impl, n) for metric in metrics.split(" ")]
    return sum(value for value in values if value is not None), n


def total(results, metrics, name, n):
    """(value, number) of hwheel, or of one of the others; None if that was not measured"""
    impl, last = name.removesuffix(BEST), metrics.split(" ")[-1]
    if name.endswith(BEST):
        return min((total_at(results, metrics, impl, at)
                    for at in results.numbers(last, impl)), default=None)
    at = nearest(results, last, impl, n)
    return None if at is None else total_at(results, metrics, impl, at)


def amount(value):
    """With a tenth, if it was measured with tenths and that is worth telling"""
    whole = isinstance(value, int) or value >= 1000
    return f"{value:,.0f}" if whole else f"{value:,.1f}"


def times(peer, own):
    return f"{peer / own:.2f}" if own else "-"


def is_a_part(own, impl):
    """Mapped timeouts have a worker, too, whose part these figures of theirs do not have."""
    return impl == "mapped" and own.endswith("_with_worker")


def row_of(results, row, impls, n):
    """The title, hwheel's value, and (value, ratio) of each other; None if there is none."""
    title, own, other = row
    mine = total(results, own, "hwheel", n)
    if mine is None:
        return None
    cells = []
    for impl in impls:
        metrics = own if impl == HIERARCHICAL else other
        theirs = None if is_a_part(own, impl) else total(results, metrics, impl, n)
        cells.append(theirs and (amount(theirs[0]), times(theirs[0], mine[0]), theirs[1]))
    return title, amount(mine[0]), cells


def section(results, heading, n, rows, impls):
    """The rows of a section that were measured, and the others that occur in it"""
    found = [row_of(results, row, impls, n) for row in rows]
    found = [row for row in found if row]
    used = [i for i in range(len(impls)) if any(row[2][i] for row in found)]
    found = [(title, own, [cells[i] for i in used]) for title, own, cells in found]
    return heading, n, [impls[i] for i in used], found


def sections(results):
    found = (section(results, *description) for description in SECTIONS)
    return [part for part in found if part[3]]


def at(impl, rows, i, n):
    """The name, and the number where that is another one than that of the section"""
    if impl.endswith(BEST):
        return impl
    numbers = {row[2][i][2] for row in rows if row[2][i]} - {n}
    return f"{impl} at {min(numbers):,}" if numbers else impl


def shown_metrics():
    names = (row[1:] for _, _, rows, _ in SECTIONS for row in rows)
    return {metric for own, other in names for metric in (own, *other.split(" ")) if metric}


def others(results):
    """What no section shows: (metric, number, unit, [(impl, value)])"""
    def key(row):
        return row["metric"], row["n"], row["unit"]

    rest = [row for row in results if row["metric"] not in shown_metrics() and
            not row["metric"].startswith((THREADS, LATENESS))]
    return [(*about, [(row["impl"], amount(row["value"])) for row in rows])
            for about, rows in itertools.groupby(sorted(rest, key=key), key)]


def threads(results):
    """[(metric, impl, unit, [(number of threads, value, times that of one thread)])]"""
    def key(row):
        return row["metric"], row["impl"], row["unit"]

    found = [row for row in results if row["metric"].startswith(THREADS)]
    for about, rows in itertools.groupby(found, key):
        cells = [(row["n"], row["value"]) for row in rows]
        alone = dict(cells).get(1)
        yield *about, [(n, amount(value), times(value, alone)) for n, value in cells]


def lateness(results):
    """[(wheel, n, impl, one value for each of LATENESS_HEADS)]"""
    found = {}
    for row in results:
        if row["metric"].startswith(LATENESS):
            wheel, what = row["metric"].removeprefix(LATENESS).rsplit("_", 1)
            found.setdefault((wheel, row["n"], row["impl"]), {})[what] = row["value"]
    return [(wheel, f"{n:,}", impl, *(f"{values[what]:,.6g}" if what in values else ""
                                      for what in LATENESS_HEADS))
            for (wheel, n, impl), values in found.items()]


def text_cell(cell):
    if cell is None:
        return " " * 20
    value, ratio, _ = cell
    return f"{value:>11} {'(' + ratio + ')':>8}"


def text(results):
    """Lines for a terminal"""
    yield "In brackets: how many times as much as hwheel. Where it is less than 1, hwheel loses."
    yield ""
    for heading, n, impls, rows in sections(results):
        yield f"{heading}; {n:,} timeouts"
        heads = "".join(f"{at(impl, rows, i, n):>20}" for i, impl in enumerate(impls))
        yield f"{'':40}{'hwheel':>9}{heads}"
        for title, own, cells in rows:
            yield f"  {title:38}{own:>9}{''.join(map(text_cell, cells))}".rstrip()
        yield ""
    if lateness(results):
        yield LATENESS_HEADING
        heads = ("", "timeouts", "", *LATENESS_HEADS.values())
        for wheel, n, impl, *values in (heads, *lateness(results)):
            yield f"  {wheel:12}{n:>10} {impl:8}" + "".join(f"{value:>24}" for value in values)
        yield ""
    for metric, impl, unit, cells in threads(results):
        values = ", ".join(f"{n} {value} ({ratio})" for n, value, ratio in cells)
        yield f"  {metric}, {impl}, by the number of threads, {unit} each: {values}"
    if others(results):
        yield "All else"
    for metric, n, unit, values in others(results):
        cells = ", ".join(f"{impl} {value}" for impl, value in values)
        yield f"  {metric:38} {n:>9,}  {unit}: {cells}"
