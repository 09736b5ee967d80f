# SPDX-License-Identifier: GPL-2.0-only
"""What the benchmark is to show, and whether it does: computed, never asserted.

A target is a title, a bound, and a function that finds in the results what is seen, and
what that was computed from; None if that was not measured. A value above the bound
misses the target.
"""

import collections

N = 100000
FEW, MANY = 1000, 1000000
FEW_NEWEST, MANY_NEWEST = 1000, 16000
FLAT = 1.15

OPERATIONS = ("arm", "arm_at", "refresh_later", "refresh_earlier", "cancel_queued",
              "cancel_filed", "drain", "drop", "unlink", "expire")
MAPPED = ("arm", "arm_queued", "refresh", "cancel_queued", "cancel_filed", "arm_cancel",
          "working_set", "arm_expire_take")
CALLS = ("arm", "refresh", "cancel", "life_arm_cancel")
LIVES = ("arm_cancel_queued", "arm_at_cancel_queued", "arm_cancel_filed",
         "arm_at_cancel_filed", "arm_expire", "arm_at_expire", "refresh10_cancel")

# Measurements of the worst lateness on hierarchical wheels: implementation, number, wheel
LATE = (("hwheel", MANY, "1ms_2x512"), ("hwheel", MANY, "1ms_3x512"),
        ("hwheel", 200000, "1ms_2x512"), ("hwheel", 200000, "1ms_4x64"),
        ("hwheel", MANY, "10ms_2x512"), ("hwheel", 20000, "200us_2x512"),
        ("mapped", N, "1ms_2x512"))

Target = collections.namedtuple("Target", "title bound find")
Verdict = collections.namedtuple("Verdict", "title bound seen detail word")


def divide(own, peer, what=""):
    """Returns one value as a part of another, and the arithmetic; None if one is missing."""
    if own is None or not peer:
        return None
    return own / peer, f"{what}{own:,.1f} / {peer:,.1f}"


def worst(found):
    """The largest of what was found; nothing if one of them is missing"""
    found = list(found)
    return max(found) if found and None not in found else None


def cost(metric, n=N, impl="hwheel"):
    def find(results):
        value = results.value(metric, impl, n)
        return None if value is None else (value, "")

    return find


def part_of(peer, metric, peers_metric=None, n=N):
    """hwheel's as a part of the peer's"""
    def find(results):
        return divide(results.value(metric, "hwheel", n),
                      results.value(peers_metric or metric, peer, n))

    return find


def part_of_best(peer, metric, n=N):
    """And if that depends on the number, of the least"""
    def find(results):
        least = min((results.value(metric, peer, m) for m in results.numbers(metric, peer)),
                    default=None)
        return divide(results.value(metric, "hwheel", n), least)

    return find


def any_of(group, names, impl, peer):
    """The worst of several metrics, as a part of the peer's"""
    def find(results):
        return worst(divide(results.value(f"{group}.{name}", impl, N),
                            results.value(f"{group}.{name}", peer, N), f"{name}: ")
                     for name in names)

    return find


def growth(group, names):
    def find(results):
        return worst(divide(results.value(f"{group}.{name}", "hwheel", MANY),
                            results.value(f"{group}.{name}", "hwheel", FEW), f"{name}: ")
                     for name in names)

    return find


def growth_of_cancel(results):
    def grows(impl):
        values = [results.value("user.cancel_newest_first", impl, n)
                  for n in (MANY_NEWEST, FEW_NEWEST)]
        return divide(*values)

    own, other = grows("hwheel"), grows("io_uring")
    if own and other:
        return own[0], f"{own[1]}; io_uring: {other[0]:,.1f} times as much"
    return own


def each(impl, *, group, tail=""):
    """The worst of a group of metrics, at any number"""
    def find(results):
        return worst((row["value"], f"{row['metric']}") for row in results
                     if row["impl"] == impl and row["metric"].startswith(group) and
                     row["metric"].endswith(tail))

    return find


def at_most(metric):
    """With as many timeouts as it was measured with"""
    def find(results):
        n = max(results.numbers(metric, "hwheel"), default=None)
        return None if n is None else (results.value(metric, "hwheel", n),
                                       f"of {n:,}" if n > 1 else "")

    return find


TARGETS = (
    Target("arm, absolute: instructions", 60, cost("op.arm_at")),
    Target("arm: instructions", 110, cost("op.arm")),
    Target("cancel: instructions", 40, cost("op.cancel_filed")),
    Target("refresh to later: instructions", 30, cost("op.refresh_later")),
    Target("absolute arm + cancel before filing, part of timer_list's", 0.28,
           part_of("timer_list", "life.arm_at_cancel_queued")),
    Target("arm + cancel before filing, part of timer_list's", 0.40,
           part_of("timer_list", "life.arm_cancel_queued")),
    Target("absolute arm + cancel after filing, part of timer_list's", 0.42,
           part_of("timer_list", "life.arm_at_cancel_filed")),
    Target("arm + cancel after filing, part of timer_list's", 0.55,
           part_of("timer_list", "life.arm_cancel_filed")),
    Target("absolute arm + expire, part of timer_list's", 0.42,
           part_of("timer_list", "life.arm_at_expire")),
    Target("arm + expire, part of timer_list's", 0.55,
           part_of("timer_list", "life.arm_expire")),
    Target("refresh to later, part of mod_timer()", 0.10,
           part_of("timer_list", "op.refresh_later")),
    Target("any life, part of hrtimer's", 0.30,
           any_of("life", LIVES, "hwheel", "hrtimer")),
    Target("ns: absolute arm + cancel after filing, 1,000,000, part of timer_list's", 1.0,
           part_of("timer_list", "ns.life_arm_at_cancel_filed", n=MANY)),
    Target("ns: absolute arm + cancel after filing, 1,000,000, part of hrtimer's", 0.05,
           part_of("hrtimer", "ns.life_arm_at_cancel_filed", n=MANY)),
    Target("any operation at 1,000,000, times that at 1,000", FLAT,
           growth("op", OPERATIONS)),
    Target("arm + cancel in batches of 256, part of timerfd's create + settime + close",
           1 / 8, part_of("timerfd", "user.life_arm_cancel")),
    Target("arm + cancel in batches, part of io_uring's add + remove where that is least", 1.0,
           part_of_best("io_uring", "user.life_arm_cancel")),
    Target("cancel newest first, of 16,000, times that of 1,000", FLAT, growth_of_cancel),
    Target("memory in the kernel: bytes", 64, at_most("memory.in_kernel")),
    Target("memory of programs: bytes", 160, at_most("memory.user")),
    Target("wake-ups when idle: per minute", 0, each("hwheel", group="idle.")),
    Target("early", 0, each("hwheel", group="lateness.", tail="_early")),
    Target("mapped: absolute arm: instructions", 45, cost("program.arm")),
    Target("mapped: absolute arm, still queued from before: instructions", 36,
           cost("program.arm_queued")),
    Target("mapped: cancel, while queued: instructions", 35, cost("program.cancel_queued")),
    Target("mapped: cancel, when filed: instructions", 44, cost("program.cancel_filed")),
    Target("mapped: refresh to later: instructions", 36, cost("program.refresh")),
    Target("mapped: arm + cancel, with the worker's: instructions", 108,
           cost("program.arm_cancel")),
    Target("mapped: arm + cancel 1,000 again and again, with the worker's: instructions", 72,
           cost("program.working_set")),
    Target("mapped: arm + expire + take, with the worker's: instructions", 200,
           cost("program.arm_expire_take")),
    Target("mapped: memory of programs: bytes", 80, cost("memory.user", impl="mapped")),
    Target("mapped: any operation at 1,000,000, times that at 1,000", FLAT,
           growth("program", MAPPED)),
    Target("mapped: any operation or life, part of a heap's", 1.0,
           any_of("program", MAPPED, "hwheel", "heap")),
    Target("mapped: any operation, batches of 256, part of a heap's at its best", 1.0,
           any_of("user", CALLS, "mapped", "heap")),
    Target("arm + expire on 2 levels of 512: instructions", 200,
           cost("life.arm_expire", impl="hierarchical")),
    *(Target(f"hierarchical wheel {wheel}, {impl}, {n:,}: worst lateness in ticks", 2,
             cost(f"hierarchical.{wheel}_worst", n, impl)) for impl, n, wheel in LATE),
)


def judge(results):
    for target in TARGETS:
        found = target.find(results)
        if found is None:
            yield Verdict(target.title, f"{target.bound:g}", "", "", "not measured")
            continue
        seen, detail = found
        yield Verdict(target.title, f"{target.bound:g}",
                      f"{seen:,.4g}" if seen < 10000 else f"{seen:,.0f}", detail,
                      "met" if seen <= target.bound else "MISSED")


def text(results):
    verdicts = list(judge(results))
    yield f"{'Target':76}{'at most':>8}{'seen':>10}"
    for verdict in verdicts:
        detail = f"  ({verdict.detail})" if verdict.detail else ""
        yield (f"  {verdict.title:74}{verdict.bound:>8}{verdict.seen:>10}  {verdict.word}"
               f"{detail}")
    missed = sum(verdict.word != "met" for verdict in verdicts)
    yield f"{len(verdicts) - missed} of {len(verdicts)} targets met"
