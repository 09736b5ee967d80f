#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""The judge passes good records and fails each kind of doctored ones. Prints TAP."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True  # leave no __pycache__ in the source tree
sys.path.append(os.path.join(os.path.dirname(__file__), "../../selftests/harness"))
import judge  # noqa: E402
import unit  # noqa: E402

MS = judge.MSEC
TICK = 10 * MS
LATE = 3 * MS
ENOENT = 2

# A small one, so that each test is quick
JOB = judge.JOB._replace(requests=6, unanswered=2, connections=4, silent=1, timeouts=5,
                         cancels=3)


def arm(ident, delay, cookie=None, clock=0):
    return f"arm {ident} {ident if cookie is None else cookie} {clock} {delay}"


def event(ident, due, cookie=None, fired=None, kind=1):
    fired = due + LATE if fired is None else fired
    return f"event {ident} {ident if cookie is None else cookie} {due} {fired} {kind} {fired + 1}"


def job_file(*lines):
    return ["hwheel-records 1", "seed 1", f"tick {TICK}", *lines]


def good_first():
    return job_file(arm(7, 500 * MS, 0), arm(8, 1000 * MS, 1), arm(9, 1500 * MS, 2),
                    event(7, 500 * MS, 0), f"cancel 8 0 {504 * MS}", event(9, 1500 * MS, 2))


def good_rpc():
    arms = [arm(i + 1, 1000 * MS, i) for i in range(6)]
    cancels = [f"cancel {i + 1} 0 {5 * MS}" for i in range(4)]
    return job_file(*arms, *cancels, event(5, 1000 * MS, 4), event(6, 1000 * MS, 5))


def good_rpc_server():
    return ["hwheel-records 1", "silent 4", "silent 5", "answered 4"]


def good_heartbeat():
    """Ports 1 to 4; 4 falls silent after 200 ms; the others hang up at 3 s."""
    arms = [arm(i + 10, 500 * MS, i) for i in range(1, 5)]
    cancels = [f"cancel {i + 10} 0 {3001 * MS}" for i in range(1, 4)]
    beats = [f"beat {i + 10} 30 {2950 * MS}" for i in range(1, 4)]
    return job_file(*arms, event(14, 700 * MS, 4), *cancels, *beats, f"beat 14 2 {200 * MS}",
                    f"refreshes 100 {2 * MS}", f"settimes 100 {5 * MS}")


def good_heartbeat_clients():
    clients = [f"client {i} 0 30 0" for i in range(1, 4)]
    return ["hwheel-records 1", *clients, f"client 4 1 2 {704 * MS}"]


def good_mass():
    arms = [arm(i, i * 100 * MS) for i in range(1, 6)]
    cancels = [f"cancel {i} 0 {i * 50 * MS}" for i in range(1, 4)]
    return job_file(*arms, *cancels, event(4, 400 * MS), event(5, 500 * MS))


class JudgeTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)
        self.files = {"first": good_first(), "rpc": good_rpc(), "rpc-server": good_rpc_server(),
                      "heartbeat": good_heartbeat(), "mass": good_mass(),
                      "heartbeat-clients": good_heartbeat_clients()}

    def path(self, name):
        return os.path.join(self.folder, name + ".rec")

    def write(self):
        for name, lines in self.files.items():
            with open(self.path(name), "w", encoding="ascii") as file:
                file.write("\n".join(lines + [f"end {len(lines)}", ""]))

    def replace(self, name, old, new):
        """Replaces one line of a good file; removes it if new is None."""
        lines = self.files[name]
        at = lines.index(old)
        lines[at:at + 1] = [] if new is None else [new]

    def judge(self):
        return judge.judge(self.folder, JOB, say=lambda line: None)

    def passes(self):
        self.write()
        run, problems = self.judge()
        self.assertEqual(list(problems.lines()), [])
        self.assertIs(run["pass"], True)
        return run

    def fails(self, message, write=True):
        if write:
            self.write()
        run, problems = self.judge()
        self.assertIs(run["pass"], False)
        self.assertIn(message, "\n".join(problems.lines()))
        return run

    def test_good_records_pass_with_the_right_numbers(self):
        lateness = {"p50": 0.3, "p99": 0.3, "max": 0.3}
        self.assertEqual(self.passes(), {
            "events": {"expected": 2, "seen": 2, "early": 0},
            "heartbeat": {"connections": 4, "silent": 1, "detected": 1, "missed": 0, "false": 0,
                          "refreshes_per_second": {"hwheel": 50000, "timerfd": 20000}},
            "rpc": {"sent": 6, "cancelled": 4, "fired": 2, "early": 0},
            "mass": {"armed": 5, "cancelled": 3, "fired": 2, "early": 0,
                     "lateness_ticks": lateness},
            "pass": True})

    def test_percentiles_are_nearest_rank(self):
        self.assertEqual(judge.percentiles(range(1, 201)), {"p50": 100, "p99": 198, "max": 200})

    # --- what a slow machine may do ---

    def test_a_cancel_too_late_passes_if_it_fires(self):
        self.replace("mass", f"cancel 3 0 {150 * MS}", event(3, 300 * MS))
        self.files["mass"].append(f"cancel 3 {ENOENT} {310 * MS}")
        self.assertEqual(self.passes()["mass"]["fired"], 3)

    def test_an_answer_too_late_passes_if_it_fires(self):
        self.replace("rpc", f"cancel 4 0 {5 * MS}", event(4, 1000 * MS, 3))
        self.files["rpc"].append(f"cancel 4 {ENOENT} {1004 * MS}")
        self.assertEqual(self.passes()["rpc"]["fired"], 3)

    def test_a_stalled_client_passes_and_is_not_false(self):
        self.replace("heartbeat", f"cancel 11 0 {3001 * MS}", event(11, 2000 * MS, 1))
        self.replace("heartbeat", f"beat 11 30 {2950 * MS}", f"beat 11 20 {1500 * MS}")
        self.files["heartbeat"].append(f"late 11 {2004 * MS}")
        self.replace("heartbeat-clients", "client 1 0 30 0", f"client 1 0 20 {2004 * MS}")
        run = self.passes()
        self.assertEqual(run["heartbeat"]["detected"], 1)
        self.assertEqual(run["heartbeat"]["false"], 0)

    def test_an_event_on_the_very_edge_passes(self):
        self.replace("mass", event(4, 400 * MS), f"event 4 4 {400 * MS} {400 * MS} 1 {400 * MS}")
        self.assertEqual(self.passes()["mass"]["early"], 0)

    def test_a_cancel_refused_on_the_very_edge_passes(self):
        self.replace("mass", f"cancel 3 0 {150 * MS}", f"cancel 3 {ENOENT} {300 * MS}")
        self.files["mass"].append(event(3, 300 * MS, fired=300 * MS))
        self.passes()

    # --- files ---

    def test_a_missing_file_fails(self):
        del self.files["mass"]
        run = self.fails("mass.rec: [Errno 2]")
        self.assertEqual(run["mass"]["armed"], 0)
        self.assertIsNone(run["mass"]["lateness_ticks"]["max"])

    def test_an_empty_file_fails(self):
        self.write()
        open(self.path("rpc"), "w", encoding="ascii").close()
        self.fails("the first line is not", write=False)

    def test_a_file_cut_off_at_any_byte_fails(self):
        self.write()
        with open(self.path("first"), encoding="ascii") as file:
            text = file.read()
        for length in range(len(text)):
            with open(self.path("first"), "w", encoding="ascii") as file:
                file.write(text[:length])
            self.fails("first.rec", write=False)

    def test_a_lost_line_fails(self):
        self.write()
        with open(self.path("mass"), encoding="ascii") as file:
            text = file.read().replace(f"cancel 1 0 {50 * MS}\n", "")
        with open(self.path("mass"), "w", encoding="ascii") as file:
            file.write(text)
        self.fails("cut off", write=False)

    def test_a_line_that_is_no_record_fails(self):
        for line in ("arm 1 2 3", "arm 1 2 3 -4", "arm 1 2 3 x", "army 1 2 3 4", "",
                     "arm  1 2 3 4", "arm 1 2 3 4 5"):
            self.files["mass"] = good_mass() + [line]
            self.fails("mass.rec: line")

    def test_bytes_that_are_no_text_fail(self):
        self.write()
        with open(self.path("mass"), "ab") as file:
            file.write(b"\xff\xfe")
        self.fails("mass.rec", write=False)

    # --- events ---

    def test_an_early_event_fails(self):
        self.replace("mass", event(4, 400 * MS), event(4, 400 * MS, fired=400 * MS - 1))
        self.assertEqual(self.fails("mass: early: 4")["mass"]["early"], 1)

    def test_an_event_read_before_its_deadline_fails(self):
        self.replace("first", event(7, 500 * MS, 0), f"event 7 0 {500 * MS} {501 * MS} 1 {499 * MS}")
        self.assertEqual(self.fails("first: early")["events"]["early"], 1)

    def test_an_event_with_a_deadline_that_is_too_soon_fails(self):
        self.replace("rpc", event(5, 1000 * MS, 4), event(5, 999 * MS, 4))
        self.fails("whose deadline is before the one asked for: 5")

    def test_an_event_from_the_future_fails(self):
        self.replace("mass", event(4, 400 * MS), f"event 4 4 {400 * MS} {420 * MS} 1 {410 * MS}")
        self.fails("an event read before it was fired: 4")

    def test_a_lost_event_fails(self):
        for name, line in (("first", event(9, 1500 * MS, 2)), ("rpc", event(5, 1000 * MS, 4)),
                           ("mass", event(5, 500 * MS))):
            good = list(self.files[name])
            self.replace(name, line, None)
            self.fails(f"{name}: lost")
            self.files[name] = good

    def test_a_second_event_fails(self):
        self.files["mass"].append(event(5, 500 * MS))
        self.fails("a second event for one timeout: 5")

    def test_an_event_for_an_unknown_id_fails(self):
        self.files["mass"].append(event(99, 500 * MS))
        self.fails("an event for an unknown id: 99")

    def test_an_event_for_a_cancelled_id_fails(self):
        self.files["mass"].append(event(1, 100 * MS))
        self.fails("an event for a cancelled timeout: 1")

    def test_a_cancelled_time_out_that_fires_fails(self):
        self.files["first"].append(event(8, 1000 * MS, 1))
        self.fails("first: events: 3 instead of 2")

    def test_another_cookie_fails(self):
        self.replace("mass", event(4, 400 * MS), event(4, 400 * MS, cookie=5))
        self.fails("an event with another cookie: 4")

    def test_another_type_fails(self):
        self.replace("mass", event(4, 400 * MS), event(4, 400 * MS, kind=2))
        self.fails("an event of type 2: 4")

    # --- arms and cancels ---

    def test_an_id_given_twice_fails(self):
        self.replace("mass", arm(2, 200 * MS), arm(1, 200 * MS))
        self.fails("an id was given twice: 1")

    def test_an_id_of_0_fails(self):
        self.replace("mass", arm(4, 400 * MS), arm(0, 400 * MS))
        self.fails("the id is 0")

    def test_a_refused_cancel_without_an_event_fails(self):
        self.replace("mass", f"cancel 3 0 {150 * MS}", f"cancel 3 {ENOENT} {310 * MS}")
        self.fails("mass: lost: neither cancelled nor fired: 3")

    def test_a_cancel_refused_before_the_deadline_fails(self):
        self.replace("mass", f"cancel 3 0 {150 * MS}", f"cancel 3 {ENOENT} {150 * MS}")
        self.files["mass"].append(event(3, 300 * MS))
        self.fails("said to have expired before its deadline: 3")

    def test_a_cancel_that_succeeds_twice_fails(self):
        self.files["mass"].append(f"cancel 3 0 {151 * MS}")
        self.fails("cancelled, but it had ended before: 3")

    def test_a_cancel_that_succeeds_after_the_event_fails(self):
        self.files["mass"].append(f"cancel 4 0 {450 * MS}")
        self.fails("cancelled, but it had ended before: 4")

    def test_a_cancel_with_another_error_fails(self):
        self.replace("mass", f"cancel 3 0 {150 * MS}", f"cancel 3 22 {150 * MS}")
        self.fails("cancel failed: EINVAL: 3")

    def test_a_cancel_of_an_unknown_id_fails(self):
        self.files["mass"].append(f"cancel 99 0 {150 * MS}")
        self.fails("cancel of an id that was never given: 99")

    # --- a program that did less than it should ---

    def test_another_delay_fails(self):
        self.replace("first", arm(9, 1500 * MS, 2), arm(9, 15 * MS, 2))
        self.fails("armed with another delay")

    def test_fewer_time_outs_fail(self):
        self.replace("mass", arm(4, 400 * MS), None)
        self.replace("mass", event(4, 400 * MS), None)
        self.fails("mass: armed: 4 instead of 5")

    def test_fewer_cancels_fail(self):
        self.replace("mass", f"cancel 3 0 {150 * MS}", event(3, 300 * MS))
        self.fails("mass: cancels tried: 2 instead of 3")

    def test_fewer_of_the_first_fail(self):
        self.replace("first", arm(8, 1000 * MS, 1), None)
        self.replace("first", f"cancel 8 0 {504 * MS}", None)
        self.fails("first: timeouts armed: 2 instead of 3")

    def test_none_of_the_first_cancelled_fails(self):
        self.replace("first", f"cancel 8 0 {504 * MS}", event(8, 1000 * MS, 1))
        self.fails("first: timeouts cancelled: 0 instead of 1")

    def test_fewer_requests_fail(self):
        self.replace("rpc", arm(4, 1000 * MS, 3), None)
        self.replace("rpc", f"cancel 4 0 {5 * MS}", None)
        self.fails("rpc: requests sent: 5 instead of 6")

    def test_another_deadline_of_a_request_fails(self):
        self.replace("rpc", arm(4, 1000 * MS, 3), arm(4, 900 * MS, 3))
        self.fails("rpc: armed with another delay")

    def test_fewer_answers_fail(self):
        self.replace("rpc-server", "answered 4", "answered 3")
        self.fails("rpc: requests answered: 3 instead of 4")

    def test_an_answer_that_does_not_cancel_fails(self):
        self.replace("rpc", f"cancel 4 0 {5 * MS}", event(4, 1000 * MS, 3))
        self.fails("rpc: not cancelled once if answered, else never: 4")

    def test_a_server_that_answers_all_fails(self):
        self.replace("rpc-server", "silent 5", None)
        self.fails("rpc: requests left unanswered: 1 instead of 2")

    def test_a_missing_tick_fails(self):
        self.replace("mass", f"tick {TICK}", None)
        self.fails("mass: no tick recorded")

    # --- heartbeats ---

    def test_a_false_close_fails(self):
        self.replace("heartbeat", f"cancel 11 0 {3001 * MS}", event(11, 2000 * MS, 1))
        self.replace("heartbeat", f"beat 11 30 {2950 * MS}", f"beat 11 20 {1600 * MS}")
        self.replace("heartbeat-clients", "client 1 0 30 0", f"client 1 0 20 {2004 * MS}")
        run = self.fails("heartbeat: falsely closed: port 1")
        self.assertEqual(run["heartbeat"]["false"], 1)

    def test_a_close_without_a_time_out_fails(self):
        self.replace("heartbeat-clients", "client 1 0 30 0", f"client 1 0 20 {2004 * MS}")
        self.fails("heartbeat: falsely closed: port 1")

    def test_a_missed_silence_fails(self):
        self.replace("heartbeat", event(14, 700 * MS, 4), f"cancel 14 0 {13000 * MS}")
        self.replace("heartbeat-clients", f"client 4 1 2 {704 * MS}", "client 4 1 2 0")
        run = self.fails("heartbeat: missed: port 4")
        self.assertEqual(run["heartbeat"]["detected"], 0)

    def test_a_silent_client_that_was_never_closed_fails(self):
        self.replace("heartbeat-clients", f"client 4 1 2 {704 * MS}", "client 4 1 2 0")
        run = self.fails("heartbeat: missed: port 4")
        self.assertEqual(run["heartbeat"]["detected"], 0)

    def test_a_refresh_refused_before_the_deadline_fails(self):
        self.replace("heartbeat", f"cancel 11 0 {3001 * MS}", event(11, 3450 * MS, 1))
        self.files["heartbeat"].append(f"late 11 {3000 * MS}")
        self.fails("heartbeat: said to have expired before its deadline: 11")

    def test_a_refresh_that_was_forgotten_fails(self):
        """The refresh succeeded, yet the timeout kept its old deadline."""
        self.replace("heartbeat", f"beat 14 2 {200 * MS}", f"beat 14 3 {300 * MS}")
        self.fails("heartbeat: early: 14")

    def test_another_idle_time_out_fails(self):
        self.replace("heartbeat", arm(11, 500 * MS, 1), arm(11, 400 * MS, 1))
        self.fails("heartbeat: armed with another delay")

    def test_a_connection_that_the_clients_do_not_know_fails(self):
        self.replace("heartbeat-clients", "client 1 0 30 0", None)
        self.fails("heartbeat: clients: 3 instead of 4")

    def test_fewer_connections_fail(self):
        for line in (arm(11, 500 * MS, 1), f"cancel 11 0 {3001 * MS}", f"beat 11 30 {2950 * MS}"):
            self.replace("heartbeat", line, None)
        self.replace("heartbeat-clients", "client 1 0 30 0", None)
        self.fails("heartbeat: connections: 3 instead of 4")

    def test_heartbeats_of_an_unknown_id_fail(self):
        self.files["heartbeat"].append(f"beat 99 30 {2950 * MS}")
        self.fails("heartbeats of an unknown id: 99")

    def test_a_refused_refresh_of_an_unknown_id_fails(self):
        self.files["heartbeat"].append(f"late 99 {2950 * MS}")
        self.fails("a refused refresh of an unknown id: 99")

    def test_an_unknown_client_fails(self):
        self.files["heartbeat-clients"].append("client 5 0 30 0")
        self.fails("heartbeat: a client that the server does not know: 5")

    def test_fewer_silent_clients_fail(self):
        self.replace("heartbeat-clients", f"client 4 1 2 {704 * MS}", f"client 4 0 2 {704 * MS}")
        self.fails("heartbeat: silent clients: 0 instead of 1")

    def test_refreshes_that_were_not_measured(self):
        self.replace("heartbeat", f"refreshes 100 {2 * MS}", None)
        self.fails("heartbeat: no refreshes measured")

    def test_refreshes_that_took_no_time(self):
        self.replace("heartbeat", f"settimes 100 {5 * MS}", "settimes 100 0")
        self.fails("heartbeat: no settimes measured")

    # --- the command ---

    def test_the_command_writes_run_json_and_fails_on_a_small_job(self):
        self.write()
        out = os.path.join(self.folder, "run.json")
        ended = subprocess.run([sys.executable, judge.__file__, self.folder, out],
                               capture_output=True, text=True, check=False)
        self.assertEqual(ended.returncode, 1)
        self.assertIn("FAIL mass: armed: 5 instead of 100,000", ended.stdout)
        with open(out, encoding="ascii") as file:
            self.assertIs(json.load(file)["pass"], False)

    def test_the_command_without_arguments_is_misused(self):
        ended = subprocess.run([sys.executable, judge.__file__], capture_output=True,
                               text=True, check=False)
        self.assertEqual(ended.returncode, 2)
        self.assertIn("usage: judge.py FOLDER OUT.json", ended.stderr)


if __name__ == "__main__":
    sys.exit(unit.main("judge"))
