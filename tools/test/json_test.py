#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Looks at the JSON that hwheelctl printed in the VM. Prints TAP.

json_test.py FOLDER
"""

import itertools
import json
import pathlib
import re
import sys

BINS = 16
COUNTERS = {
    "pending", "armed", "refreshed_later", "refreshed_earlier", "cancelled_queued",
    "cancelled_filed", "expired", "handed_back", "passes", "visited", "moved",
    "wakeups", "drained", "drained_max", "lag", "lag_max", "overlong", "contained",
    "mapped_pending", "mapped_drained", "mapped_expired", "mapped_stopped",
}
WHEEL = COUNTERS | {
    "wheel", "id", "kind", "clock", "creator", "tick_ns", "slots", "levels", "lateness",
}
LOAD = {
    "armed", "refreshed", "cancelled", "too_late", "expired", "stopped", "refused", "lost",
    "early", "arming_ns", "armed_per_second", "tick_ns", "late_p50_ns", "late_p99_ns",
    "late_max_ns", "lateness",
}


def lines(folder, name):
    return [json.loads(line) for line in (folder / f"{name}.json").read_text().splitlines()]


def info(folder):
    (told,) = lines(folder, "info")
    assert told["kind"] == "hashed" and told["clock"] == "monotonic"
    assert told["tick_ns"] == 10_000_000 and told["slots"] == 4096 and told["levels"] == 1
    assert {"submit", "map", "stats"} <= set(told["features"])
    assert told["place"] == "kernel"
    assert set(told) == {"place", "kind", "tick_ns", "slots", "levels", "clock", "max_timeouts",
                         "max_pending", "max_user_bytes", "max_submit", "features"}
    assert told["max_user_bytes"] > 0


def arm(folder):
    events = lines(folder, "arm")
    assert sorted(event["cookie"] for event in events) == [0, 1, 2]
    for event in events:
        assert event["late_ns"] == event["fired_ns"] - event["deadline_ns"] >= 0
        assert set(event) == {"id", "cookie", "deadline_ns", "fired_ns", "late_ns"}


def check_wheel(wheel):
    assert set(wheel) == WHEEL, set(wheel) ^ WHEEL
    assert len(wheel["lateness"]) == BINS
    assert sum(wheel["lateness"]) == wheel["expired"]


def list_(folder):
    (told,) = lines(folder, "list")
    system, own = told["wheels"]
    assert system["wheel"] == "system-1" and system["id"] == 1 and system["pending"] == 0
    assert own["kind"] == "hierarchical" and own["tick_ns"] == 2_000_000
    assert own["slots"] == 64 and own["mapped_pending"] > 0
    for wheel in told["wheels"]:
        assert set(wheel) == WHEEL, set(wheel) ^ WHEEL


def files(folder):
    (told,) = lines(folder, "files")
    (file,) = told["files"]
    wheels = lines(folder, "list")[0]["wheels"]
    assert file["command"] == "hwheelctl" and file["wheel_id"] == wheels[1]["id"]
    assert file["mapped"] and file["pending"] > 0 and file["max_timeouts"] == 65536


def watch(folder):
    events = lines(folder, "watch")
    assert len(events) == 3
    for event in events:
        assert event["event"] == "expire" and event["command"].startswith("hwheel/")
        assert event["late_us"] >= 0 and event["deadline_ns"] > 0 and event["pid"] > 0
        assert event["owner"] == "hwheelctl" and event["owner_pid"] != event["pid"]
        assert event["wheel_id"] > 0 and event["id"] > 0
    assert sorted(event["cookie"] for event in events) == [0, 1, 2]


def watch_mapped(folder):
    """A timeout that ends is one that was taken, with its cookie, unless it was armed before.

    The cookies of hwheelctl load are the earliest deadlines that are not early.
    """
    events = lines(folder, "watch_mapped")
    taken = {event["id"]: event["cookie"] for event in events if event["event"] == "take"}
    ended = [event for event in events if event["event"] == "end" and event["id"] in taken]
    assert len(events) == 2000 and len(ended) > 500
    for event in ended:
        assert event["cookie"] == taken[event["id"]] and event["late_us"] >= 0
        assert event["deadline_ns"] >= event["cookie"]


def check_load(load):
    assert set(load) == LOAD, set(load) ^ LOAD
    assert load["armed"] == load["expired"] + load["cancelled"] + load["stopped"]
    assert load["early"] == load["lost"] == load["stopped"] == 0
    assert sum(load["lateness"]) == load["expired"]
    assert load["late_p50_ns"] <= load["late_p99_ns"] <= load["late_max_ns"]
    assert load["armed_per_second"] > 0


def load_threads(folder):
    (told,) = lines(folder, "load_threads")
    check_load(told)
    assert told["armed"] == told["expired"] == 4001 and told["cancelled"] == 0


def load_time(folder):
    (told,) = lines(folder, "load_time")
    check_load(told)
    assert told["armed"] > 0 and told["arming_ns"] >= 300_000_000
    assert told["tick_ns"] == 1_000_000


def stats(folder):
    (told,) = lines(folder, "stats")
    (wheel,) = told["wheels"]
    check_wheel(wheel)
    assert wheel["armed"] == 501 and wheel["pending"] == 1


def samples(text):
    """Reads OpenMetrics: {name: {labels: value}}, and of each sample the type of its family."""
    found, types = {}, {}
    *body, last = text.splitlines()
    assert last == "# EOF" and text.endswith("\n")
    for line in body:
        if match := re.fullmatch(r"# TYPE (hwheel_[a-z_]+) (counter|gauge|histogram)", line):
            assert match[1] not in types
            types[match[1]] = match[2]
            continue
        if re.fullmatch(r"# HELP (hwheel_[a-z_]+) [^\\]+", line):
            assert line.split()[2] in types
            continue
        name, labels, value = re.fullmatch(r"(hwheel_[a-z_]+)\{(.+)\} (\S+)", line).groups()
        family, suffix = re.fullmatch(r"(.*?)(_total|_bucket|)", name).groups()
        assert suffix == {"counter": "_total", "gauge": "", "histogram": "_bucket"}[types[family]]
        assert labels not in found.setdefault(name, {})
        found[name][labels] = float(value)
    return found


def openmetrics(folder):
    """The figures are those of the JSON, which was printed just before."""
    found = samples((folder / "stats.prom").read_text())
    (wheel,) = lines(folder, "stats")[0]["wheels"]
    for name in COUNTERS - {"wakeups", "passes"}:
        (value,) = found.get(f"hwheel_{name}") or found[f"hwheel_{name}_total"]
        assert value == 'wheel="u0-2"', value
        (value,) = (found.get(f"hwheel_{name}") or found[f"hwheel_{name}_total"]).values()
        assert value == wheel[name], name
    (tick,) = found["hwheel_tick_seconds"].values()
    assert tick == 0.01 and len(found["hwheel_wheel"]) == 1
    buckets = found["hwheel_lateness_ticks_bucket"]
    limits = [float(re.search(r'le="(.+)"', labels)[1]) for labels in buckets]
    assert limits == [2.0 ** n for n in range(-8, 7)] + [float("inf")]
    sums = list(itertools.accumulate(wheel["lateness"]))
    assert list(buckets.values()) == sums and sums[-1] == wheel["expired"] > 0


def top(folder):
    looks = lines(folder, "top")
    assert len(looks) == 2 and looks[0]["time_ns"] < looks[1]["time_ns"]
    for look in looks:
        assert look["interval_ns"] >= 200_000_000
        assert look["wheels"][0]["wheel"] == "system-1" and len(look["wheels"]) == 2
        assert all(set(wheel) == WHEEL for wheel in look["wheels"])
    assert looks[0]["wheels"][1]["mapped_pending"] > 0


TESTS = [info, arm, list_, files, watch, watch_mapped, load_threads, load_time, stats, openmetrics,
         top]


def main():
    folder = pathlib.Path(sys.argv[1])
    failed = 0
    print("TAP version 13", f"1..{len(TESTS)}", sep="\n")
    for number, test in enumerate(TESTS, 1):
        name = f"hwheelctl's JSON: {test.__name__.rstrip('_')}"
        try:
            test(folder)
            print(f"ok {number} - {name}")
        except (AssertionError, KeyError, OSError, ValueError) as error:
            failed += 1
            print(f"# {type(error).__name__} in line {error.__traceback__.tb_next.tb_lineno}"
                  f": {error}", f"not ok {number} - {name}", sep="\n")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
