#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Tests of the benchmark's results: what is read, compared, judged and rendered."""

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

import compare
import page
import plots
import results
import table
import targets

IN_KERNEL = ("hwheel", "timer_list", "hrtimer", "delayed_work")
OPERATIONS = targets.OPERATIONS
PAGE = f"# title\n\n{page.BEGIN}old\n{page.END}\nbehind\n"


def measured(*rows):
    found = results.Results()
    for metric, impl, n, value, *unit in rows:
        found.add(metric, impl, n, unit[0] if unit else "instructions", value)
    return found


def changed(found, metric, impl, n, value):
    """The same, but for one value, which is left out if it is None"""
    rows = [(*key, old, unit) for key, (unit, old) in found.rows.items()]
    rows = [row for row in rows if row[:3] != (metric, impl, n)]
    return measured(*rows, *([(metric, impl, n, value)] if value is not None else []))


def good_mapped():
    bounds = {"arm": 45, "arm_queued": 36, "cancel_queued": 35, "cancel_filed": 44,
              "refresh": 36, "arm_cancel": 108, "working_set": 72, "arm_expire_take": 200}
    rows = [(f"program.{operation}", "hwheel", n, value * part)
            for operation, value in bounds.items()
            for n, part in ((1000, 1), (100000, 1), (1000000, 1.15))]
    rows += [(f"program.{operation}", "heap", 100000, value)
             for operation, value in bounds.items()]
    rows += [(f"user.{operation}", impl, 100000, 50) for operation in targets.CALLS
             for impl in ("mapped", "heap")]
    return rows + [("memory.user", "mapped", 100000, 80, "bytes")]


def good():
    """Each target is met exactly."""
    rows = [(f"op.{operation}", "hwheel", n, {1000: 20, 100000: 21, 1000000: 23}[n])
            for operation in OPERATIONS for n in (1000, 100000, 1000000)
            if operation not in ("arm", "arm_at", "cancel_filed", "refresh_later")]
    for operation, value in (("arm", 110), ("arm_at", 60), ("cancel_filed", 40),
                             ("refresh_later", 30)):
        rows += [(f"op.{operation}", "hwheel", n, value) for n in (1000, 100000, 1000000)]
    rows += [("op.refresh_later", "timer_list", 100000, 300)]
    parts = {"arm_at_cancel_queued": 28, "arm_cancel_queued": 40, "arm_at_cancel_filed": 42,
             "arm_cancel_filed": 55, "arm_at_expire": 42, "arm_expire": 55,
             "refresh10_cancel": 60}
    for life, value in parts.items():
        rows += [(f"life.{life}", "hwheel", 100000, value),
                 (f"life.{life}", "timer_list", 100000, 100),
                 (f"life.{life}", "hrtimer", 100000, 200)]
    rows += [("ns.life_arm_at_cancel_filed", impl, 1000000, value, "ns")
             for impl, value in (("hwheel", 50), ("timer_list", 50), ("hrtimer", 1000))]
    rows += [("user.life_arm_cancel", "hwheel", 100000, 500),
             ("user.life_arm_cancel", "timerfd", 100000, 4000),
             ("user.life_arm_cancel", "io_uring", 1, 500),
             ("user.life_arm_cancel", "io_uring", 16000, 90000),
             ("user.cancel_newest_first", "hwheel", 1000, 100),
             ("user.cancel_newest_first", "hwheel", 16000, 115),
             ("user.cancel_newest_first", "io_uring", 1000, 1000),
             ("user.cancel_newest_first", "io_uring", 16000, 16000),
             ("memory.in_kernel", "hwheel", 1, 64, "bytes"),
             ("memory.user", "hwheel", 1000000, 160, "bytes"),
             ("memory.user", "hwheel", 1000, 300, "bytes"),
             ("idle.empty", "hwheel", 0, 0, "1/min"), ("idle.empty", "heap", 0, 9, "1/min"),
             ("lateness.idle_1ms_p50", "hwheel", 1000, 0.5, "ticks"),
             ("lateness.idle_1ms_early", "hwheel", 1000, 0, "count"),
             ("life.arm_expire", "hierarchical", 100000, 200)]
    rows += [(f"hierarchical.{wheel}_worst", impl, n, 2, "ticks")
             for impl, n, wheel in targets.LATE]
    return measured(*rows, *good_mapped())


class Folders(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def write(self, text, name="bench-a/bench"):
        path = self.folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path.parent

    def run_command(self, *arguments):
        """Returns the exit status and all that was said."""
        done = subprocess.run([sys.executable, "-B", pathlib.Path(__file__).parent, *arguments],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              check=False)
        return done.returncode, done.stdout

    def write_results(self, found, name="bench.json"):
        results.write_json(self.folder / name, list(found))
        return self.folder / name


class ReadTest(Folders):
    LINES = "kernel 6.1\ncheck ten_nops 10\nbench op.arm hwheel 1000 instructions 130.5\n"

    def fails(self, text, message):
        with self.assertRaisesRegex(results.BadResults, message):
            results.read_folders([self.write(text)])

    def test_lines(self):
        found, abouts = results.read_folders([self.write(self.LINES)])
        self.assertEqual(list(found), [{"metric": "op.arm", "impl": "hwheel", "n": 1000,
                                        "unit": "instructions", "value": 130.5}])
        self.assertEqual(abouts, {"bench-a": {"kernel": "6.1", "check": "ten_nops 10"}})

    def test_several_files_and_folders(self):
        self.write("bench idle.empty hwheel 0 1/min 0\n", "bench-a/idle")
        other = self.write("bench ns.arm hwheel 1000 ns 15\n", "bench-b/ns")
        found, abouts = results.read_folders([self.write(self.LINES), other])
        self.assertEqual(len(list(found)), 3)
        self.assertEqual(abouts["bench-b"], {})

    def test_the_console_and_folders_are_left_alone(self):
        self.write("bench nonsense\n", "bench-a/console.log")
        (self.write(self.LINES) / "folder").mkdir()
        self.assertEqual(len(list(results.read_folders([self.folder / "bench-a"])[0])), 1)

    def test_a_line_that_is_cut_off(self):
        self.fails(self.LINES + "bench op.arm hwheel 10000 instr", "not a measurement")

    def test_a_line_with_too_many_words(self):
        self.fails(self.LINES + "bench op.arm hwheel 10 instructions 1 2\n", "not a measur")

    def test_values_that_are_no_numbers(self):
        for value in ("nan", "inf", "-inf", "", "x", "1,0", "True"):
            self.fails(self.LINES + f"bench op.drop hwheel 10 instructions {value}\n",
                       "not a measurement")

    def test_numbers_that_are_none(self):
        for n in ("-1", "1.5", "many", ""):
            self.fails(self.LINES + f"bench op.drop hwheel {n} instructions 1\n",
                       "not a measurement")

    def test_names_that_are_none(self):
        for names in ("arm hwheel 10 instructions", "op.drop h-wheel 10 instructions",
                      "op.drop hwheel 10 Instructions", "op.drop  10 instructions"):
            self.fails(self.LINES + f"bench {names} 1\n", "not a measurement")

    def test_what_was_measured_twice(self):
        self.fails(self.LINES + self.LINES, "measured twice: op.arm hwheel 1000")

    def test_nothing(self):
        self.fails("check ten_nops 10\n", "nothing was measured")

    def test_a_folder_that_is_not_there(self):
        with self.assertRaises(results.BadResults):
            results.read_folders([self.folder / "none"])

    def test_a_machine_that_does_not_count(self):
        self.fails(self.LINES.replace("nops 10", "nops 11"), "were not counted: ten_nops 11")

    def test_a_machine_that_does_not_tell(self):
        self.fails(self.LINES.replace("check", "chequers"), "nothing in .*bench-a tells whether")

    def test_each_machine_has_to_tell(self):
        other = self.write("bench user.arm hwheel 1000 instructions 900\n", "bench-b/user")
        with self.assertRaisesRegex(results.BadResults, "nothing in .*bench-b tells whether"):
            results.read_folders([self.write(self.LINES), other])
        self.write("check ten_nops 10\n", "bench-b/machine")
        self.assertEqual(len(list(results.read_folders([self.folder / "bench-a", other])[0])), 2)

    def test_time_needs_no_counting(self):
        results.read_folders([self.write("bench ns.arm hwheel 1000 ns 15\n")])

    def test_json_gives_the_same_back(self):
        path = self.write_results(good())
        self.assertEqual(list(results.read_json(path)), list(good()))
        self.assertEqual(list(json.loads(path.read_text())[0]), list(results.FIELDS))

    def test_json_that_is_something_else(self):
        row = {"metric": "op.arm", "impl": "hwheel", "n": 1, "unit": "ns", "value": 1}
        for bad in ({}, [1], [{}], [{**row, "value": "1"}], [{**row, "value": True}],
                    [{**row, "n": None}], [{**row, "metric": 7}], [row, row]):
            path = self.write(json.dumps(bad), "bad.json") / "bad.json"
            if bad == {}:
                self.assertEqual(list(results.read_json(path)), [])
                continue
            with self.assertRaises(results.BadResults):
                results.read_json(path)

    def test_json_that_is_none(self):
        for text in ("", "[", "nonsense"):
            self.write(text, "bad.json")
            with self.assertRaises(results.BadResults):
                results.read_json(self.folder / "bad.json")

    def test_the_command(self):
        self.write(self.LINES)
        out, about = self.folder / "bench.json", self.folder / "about.json"
        self.assertEqual(self.run_command("gather", out, about, self.folder / "bench-a"), (0, ""))
        self.assertEqual(len(json.loads(out.read_text())), 1)
        self.assertEqual(json.loads(about.read_text())["bench-a"]["kernel"], "6.1")

    def test_adding_keeps_the_others(self):
        out = self.write_results(measured(("op.arm", "hwheel", 1000, 1),
                                          ("op.drop", "hwheel", 1, 2)))
        about = self.folder / "about.json"
        results.write_json(about, {"bench-a": {"kernel": "6.0"}, "bench-b": {"kernel": "5"}})
        self.write(self.LINES + "bench op.move hwheel 1 instructions 3\n")
        self.assertEqual(self.run_command("add", out, about, self.folder / "bench-a"), (0, ""))
        self.assertEqual([row["value"] for row in results.read_json(out)], [130.5, 2, 3])
        self.assertEqual([facts["kernel"] for facts in json.loads(about.read_text()).values()],
                         ["6.1", "5"])

    def test_bad_results_are_not_added(self):
        out = self.write_results(measured(("op.arm", "hwheel", 1000, 1)))
        about = self.folder / "about.json"
        results.write_json(about, {})
        self.write(self.LINES.replace("nops 10", "nops 3"))
        self.assertEqual(self.run_command("add", out, about, self.folder / "bench-a")[0], 1)
        self.assertEqual([row["value"] for row in results.read_json(out)], [1])

    def test_the_command_leaves_nothing_of_bad_results(self):
        self.write(self.LINES.replace("nops 10", "nops 3"))
        out = self.folder / "bench.json"
        status, said = self.run_command("gather", out, self.folder / "about.json",
                                        self.folder / "bench-a")
        self.assertEqual(status, 1)
        self.assertIn("FAILED: instructions were not counted", said)
        self.assertFalse(out.exists())

    def test_the_command_without_arguments_is_misused(self):
        for arguments in ((), ("gather",), ("nonsense", "x"), ("show",), ("show", "a", "b")):
            status, said = self.run_command(*arguments)
            self.assertEqual(status, 2)
            self.assertIn("usage: bench gather", said)


class CompareTest(Folders):
    BASE = (("op.arm", "hwheel", 1000, 100), ("op.drop", "hwheel", 1000, 50),
            ("ns.arm", "hwheel", 1000, 10, "ns"))

    def compare(self, *rows):
        lines, fine = compare.compare(measured(*self.BASE), measured(*rows))
        return "\n".join(lines), fine

    def test_the_same(self):
        said, fine = self.compare(*self.BASE)
        self.assertTrue(fine)
        self.assertEqual(said, "0 of 2 instruction counts have risen by more than 3%")

    def test_three_per_cent_are_not_more(self):
        said, fine = self.compare(("op.arm", "hwheel", 1000, 103),
                                  ("op.drop", "hwheel", 1000, 10))
        self.assertTrue(fine, said)

    def test_a_rise(self):
        said, fine = self.compare(("op.arm", "hwheel", 1000, 103.1),
                                  ("op.drop", "hwheel", 1000, 50))
        self.assertFalse(fine)
        self.assertIn("risen: op.arm of hwheel at 1,000: 100 -> 103.1 instructions", said)
        self.assertIn("FAILED: 1 of 2 instruction counts have risen", said)

    def test_of_nothing_to_something(self):
        lines, fine = compare.compare(measured(("op.arm", "hwheel", 1, 0)),
                                      measured(("op.arm", "hwheel", 1, 1)))
        self.assertFalse(fine, lines)

    def test_time_may_rise(self):
        said, fine = self.compare(*self.BASE[:2], ("ns.arm", "hwheel", 1000, 99, "ns"))
        self.assertTrue(fine, said)

    def test_what_is_new_may_be_anything(self):
        said, fine = self.compare(*self.BASE, ("op.arm", "hwheel", 2000, 999),
                                  ("op.arm", "hrtimer", 1000, 999))
        self.assertTrue(fine, said)

    def test_what_is_missing_is_told(self):
        said, fine = self.compare(self.BASE[0])
        self.assertTrue(fine)
        self.assertIn("not measured now: op.drop of hwheel at 1,000", said)

    def test_nothing_to_compare(self):
        said, fine = self.compare(("op.move", "hwheel", 1000, 1))
        self.assertFalse(fine)
        self.assertIn("FAILED", said)

    def test_the_command(self):
        base = self.write_results(measured(*self.BASE), "base.json")
        after = self.write_results(measured(("op.arm", "hwheel", 1000, 104)), "after.json")
        status, said = self.run_command("compare", base, after)
        self.assertEqual(status, 1)
        self.assertIn("risen: op.arm", said)
        self.assertEqual(self.run_command("compare", base, base)[0], 0)
        self.assertEqual(self.run_command("compare", self.folder / "none.json", after)[0], 1)


class TargetsTest(unittest.TestCase):
    def words(self, found):
        return [verdict.word for verdict in targets.judge(found)]

    def only_missed(self, index, *doctored):
        self.all_missed([index], *doctored)

    def all_missed(self, indexes, *doctored):
        words = self.words(changed(good(), *doctored))
        self.assertEqual([i for i, word in enumerate(words) if word == "MISSED"], indexes)

    def test_all_are_met_by_the_bounds_themselves(self):
        self.assertEqual(set(self.words(good())), {"met"})

    def test_none_is_met_by_nothing(self):
        self.assertEqual(set(self.words(measured(("op.x", "hwheel", 1, 1)))), {"not measured"})

    def test_each_is_missed_by_a_bit_more(self):
        lives = ("arm_at_cancel_queued", "arm_cancel_queued", "arm_at_cancel_filed",
                 "arm_cancel_filed", "arm_at_expire", "arm_expire")
        for i, operation in enumerate(("arm_at", "arm", "cancel_filed")):
            self.only_missed(i, f"op.{operation}", "hwheel", 100000, 110.1)
        for i, life in enumerate(lives):
            self.only_missed(4 + i, f"life.{life}", "hwheel", 100000, 55.1)
        self.only_missed(10, "op.refresh_later", "timer_list", 100000, 299)
        self.only_missed(11, "life.refresh10_cancel", "hwheel", 100000, 60.1)
        self.only_missed(12, "ns.life_arm_at_cancel_filed", "timer_list", 1000000, 49)
        self.only_missed(13, "ns.life_arm_at_cancel_filed", "hrtimer", 1000000, 999)
        for operation in OPERATIONS:
            self.only_missed(14, f"op.{operation}", "hwheel", 1000, 10)
        self.only_missed(15, "user.life_arm_cancel", "timerfd", 100000, 3999)
        self.only_missed(16, "user.life_arm_cancel", "io_uring", 16000, 499)
        self.only_missed(17, "user.cancel_newest_first", "hwheel", 16000, 116)
        self.only_missed(18, "memory.in_kernel", "hwheel", 1, 65)
        self.only_missed(19, "memory.user", "hwheel", 1000000, 161)
        self.only_missed(20, "idle.hour_away", "hwheel", 1, 0.1)
        self.only_missed(21, "lateness.idle_1ms_early", "hwheel", 1000, 1)
        for i, operation in enumerate(("arm", "arm_queued", "cancel_queued", "cancel_filed",
                                       "refresh", "arm_cancel", "working_set",
                                       "arm_expire_take")):
            self.all_missed([22 + i, 32], f"program.{operation}", "hwheel", 100000, 200.1)
            self.only_missed(31, f"program.{operation}", "hwheel", 1000, 30)
            self.only_missed(32, f"program.{operation}", "heap", 100000, 30)
        self.only_missed(30, "memory.user", "mapped", 100000, 80.1)
        for operation in targets.CALLS:
            self.only_missed(33, f"user.{operation}", "mapped", 100000, 50.1)
        self.only_missed(34, "life.arm_expire", "hierarchical", 100000, 200.1)
        for i, (impl, n, wheel) in enumerate(targets.LATE):
            self.only_missed(35 + i, f"hierarchical.{wheel}_worst", impl, n, 2.001)

    def test_refreshing_too_dear(self):
        words = self.words(changed(good(), "op.refresh_later", "hwheel", 100000, 30.1))
        self.assertEqual((words[3], words[10]), ("MISSED", "MISSED"))

    def test_what_is_not_known_is_not_met(self):
        words = self.words(changed(good(), "life.refresh10_cancel", "hrtimer", 100000, None))
        self.assertEqual(words[11], "not measured")
        words = self.words(changed(good(), "op.unlink", "hwheel", 1000, None))
        self.assertEqual(words[14], "not measured")

    def test_others_may_wake_up(self):
        self.assertEqual(set(self.words(changed(good(), "idle.empty", "heap", 0, 6000))),
                         {"met"})

    def test_the_worst_is_named(self):
        verdicts = list(targets.judge(changed(good(), "op.drop", "hwheel", 1000000, 40)))
        self.assertEqual(verdicts[14].detail, "drop: 40.0 / 20.0")

    def test_the_text_counts_them(self):
        lines = list(targets.text(changed(good(), "op.arm", "hwheel", 100000, 111)))
        self.assertIn("41 of 42 targets met", lines[-1])
        self.assertEqual(sum("MISSED" in line for line in lines), 1)


class TableTest(unittest.TestCase):
    FOUND = (("op.arm", "hwheel", 100000, 100), ("op.arm", "timer_list", 100000, 250),
             ("op.expire", "hwheel", 100000, 200), ("op.expire", "timer_list", 100000, 50),
             ("op.drop", "hwheel", 100000, 56), ("op.drop", "hwheel", 1000, 55),
             ("user.arm", "hwheel", 100000, 2000), ("user.create", "timerfd", 10000, 3000),
             ("user.arm", "timerfd", 10000, 1500), ("user.arm", "heap", 100000, 100),
             ("idle.empty", "hwheel", 0, 0, "1/min"))

    def line(self, start, found=FOUND):
        lines = [re.sub(" +", " ", line).strip() for line in table.text(measured(*found))]
        return next(line for line in lines if line.startswith(start))

    def test_how_many_times_as_much(self):
        self.assertEqual(self.line("arm 1"), "arm 100 250 (2.50)")

    def test_a_loss_is_shown(self):
        self.assertEqual(self.line("expire"), "expire, with an empty callback 200 50 (0.25)")

    def test_what_others_do_not_have(self):
        self.assertEqual(self.line("drop"), "drop one cancelled while queued 56")

    def test_a_sum_of_what_there_is(self):
        self.assertEqual(self.line("arm 2"), "arm 2,000 4,500 (2.25) 100 (0.05)")

    def test_another_number_is_told(self):
        self.assertEqual(self.line("hwheel timerfd"), "hwheel timerfd at 10,000 heap")

    def test_the_best_number_has_a_column(self):
        found = self.FOUND + (("user.cancel", "hwheel", 100000, 100),
                              ("user.cancel", "io_uring", 1, 200),
                              ("user.cancel", "io_uring", 256, 150),
                              ("user.cancel", "io_uring", 16000, 70000))
        self.assertEqual(self.line("hwheel timerfd", found),
                         "hwheel timerfd at 10,000 io_uring at best io_uring at 16,000 heap")
        self.assertEqual(self.line("cancel", found), "cancel 100 150 (1.50) 70,000 (700.00)")

    def test_the_hierarchical_wheel_has_a_column(self):
        found = self.FOUND + (("op.drop", "hierarchical", 100000, 84),
                              ("op.arm_limited", "hwheel", 100000, 150),
                              ("op.arm_limited", "hierarchical", 100000, 300))
        self.assertEqual(self.line("drop", found), "drop one cancelled while queued 56 84 (1.50)")
        self.assertEqual(self.line("arm, with", found), "arm, with a limit 150 300 (2.00) 250 (1.67)")

    def test_lateness_of_hierarchical_wheels(self):
        found = [(f"hierarchical.1ms_2x512_{what}", "mapped", 100000, value)
                 for what, value in (("worst", 1.25), ("late", 0), ("worker", 123.5))]
        self.assertEqual(self.line("1ms", found), "1ms_2x512 100,000 mapped 1.25 0 123.5")
        self.assertEqual(self.line("1ms", found[::2]), "1ms_2x512 100,000 mapped 1.25 123.5")

    def test_what_is_in_no_section(self):
        self.assertEqual(self.line("idle"), "idle.empty 0 1/min: hwheel 0")

    def test_threads_have_a_ratio(self):
        found = [("threads.arm_cancel", "heap", n, 100 * n, "ns") for n in (1, 2)]
        self.assertEqual(self.line("threads", found), "threads.arm_cancel, heap, by the number of "
                         "threads, ns each: 1 100 (1.00), 2 200 (2.00)")

    def test_free_of_cost(self):
        self.assertEqual(self.line("arm 0", [("op.arm", "hwheel", 100000, 0),
                                             ("op.arm", "hrtimer", 100000, 1)]),
                         "arm 0 1 (-)")

    def test_every_measurement_is_somewhere(self):
        found = measured(*self.FOUND)
        text = "\n".join(table.text(found))
        for row in found:
            if row["n"] != 1000 and row["impl"] != "timerfd":
                self.assertIn(table.amount(row["value"]), text)


class PlotsTest(unittest.TestCase):
    def test_the_data_are_in_the_plot(self):
        found = measured(("life.arm_at_expire", "hwheel", 1000, 123.4),
                         ("life.arm_at_expire", "hwheel", 10000, 125),
                         ("life.arm_at_expire", "hrtimer", 10000, 500))
        plot = plots.all_plots(found)["bench-arm-at-expire.svg"]
        self.assertIn("1000 123.4 NaN\n10000 125 500\n", plot.data)
        self.assertIn(plot.data, plot.script)

    def test_nothing_measured_nothing_drawn(self):
        self.assertEqual(plots.all_plots(measured(("op.arm", "hwheel", 1000, 1))), {})

    def test_another_value_is_noticed(self):
        name = "bench-lives.svg"
        plot = plots.all_plots(good())[name]
        svg = "<svg>" + plots.comment(plot.data) + "</svg>"
        self.assertTrue(plots.shows(svg, plot))
        other = changed(good(), "life.arm_expire", "hwheel", 100000, 56)
        self.assertFalse(plots.shows(svg, plots.all_plots(other)[name]))


class ReadmeTest(Folders):
    ABOUT = {"bench-kernel": {"kernel": "6.1.0", "check": "ten_nops 10"},
             "bench-counted": {"kernel": "6.1.0"}}

    def setUp(self):
        super().setUp()
        self.path = self.folder / "page.md"
        self.path.write_text(PAGE)
        (self.folder / "doc").mkdir()
        self.files = (self.path, self.write_results(good(), "doc/bench.json"),
                      self.folder / "doc/about.json")
        results.write_json(self.files[2], self.ABOUT)
        for name, plot in plots.all_plots(good()).items():
            (self.folder / "doc" / name).write_text("<svg>" + plots.comment(plot.data))
        section = page.section(good(), self.ABOUT, "doc")
        self.path.write_text(page.render(PAGE, section))

    def check(self):
        return self.run_command("check-page", *self.files)

    def stale(self, *names):
        status, said = self.check()
        self.assertEqual(status, 1)
        self.assertEqual([os.path.basename(line.split(":")[0])
                          for line in said.splitlines()], list(names))

    def doctor(self, path, old, new):
        text = path.read_text()
        self.assertIn(old, text)
        path.write_text(text.replace(old, new, 1))

    def test_what_was_rendered_passes(self):
        self.assertEqual(self.check(), (0, ""))

    def test_rendering_again_changes_nothing(self):
        text = self.path.read_text()
        section = page.section(good(), self.ABOUT, "doc")
        self.assertEqual(page.render(text, section), text)

    def test_what_is_around_it_stays(self):
        text = self.path.read_text()
        self.assertTrue(text.startswith("# title\n\n"))
        self.assertTrue(text.endswith("\nbehind\n"))
        self.assertNotIn("old", text)

    def test_a_figure_typed_by_hand(self):
        self.doctor(self.path, "| 42 |", "| 24 |")
        self.stale("page.md")

    def test_a_word_typed_by_hand(self):
        self.doctor(self.path, "is cheaper", "is dearer")
        self.stale("page.md")

    def test_another_measurement(self):
        self.write_results(changed(good(), "op.drop", "hwheel", 100000, 99), "doc/bench.json")
        self.stale("page.md")

    def test_another_machine(self):
        self.doctor(self.files[2], "6.1.0", "6.2.0")
        self.stale("page.md")

    def test_a_plot_of_something_else(self):
        self.doctor(self.folder / "doc/bench-lives.svg", "42", "24")
        self.stale("bench-lives.svg")

    def test_a_missed_target_says_so(self):
        found = changed(good(), "op.arm", "hwheel", 100000, 111)
        self.assertIn("| arm: instructions | 110 | 111 | MISSED |",
                      page.section(found, self.ABOUT, "doc"))

    def test_lateness_has_a_row(self):
        self.assertIn("| idle_1ms | 1,000 | hwheel | 0.5 |  |  |  | 0 |",
                      page.section(good(), self.ABOUT, "doc"))

    def test_hierarchical_wheels_have_a_row(self):
        self.assertIn("| 1ms_4x64 | 200,000 | hwheel | 2 |  |  |",
                      page.section(good(), self.ABOUT, "doc"))

    def test_threads_have_a_ratio(self):
        found = measured(("threads.arm_cancel", "hwheel", 1, 50, "ns"),
                         ("threads.arm_cancel", "hwheel", 2, 60, "ns"))
        text = page.section(found, self.ABOUT, "doc")
        self.assertIn("|  |  | unit | 1 thread | 2 threads |", text)
        self.assertIn("| arm_cancel | hwheel | ns | 50 | 60 (1.20) |", text)

    def test_facts_are_told_once(self):
        self.assertEqual(list(page.facts(self.ABOUT)), ["- kernel, counted: kernel 6.1.0"])

    def test_comments_that_are_missing(self):
        for text in ("", page.BEGIN, page.END, page.END + page.BEGIN, PAGE + PAGE):
            with self.assertRaises(results.BadResults):
                page.render(text, "new")
        self.path.write_text("# title\n")
        self.assertEqual(self.check()[0], 1)


if __name__ == "__main__":
    unittest.main()
