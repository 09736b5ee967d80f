#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Judge a run of the demonstration from its raw records.

usage: judge.py FOLDER OUT.json

FOLDER holds the record files of the programs (their format: record.h). What
happened is computed here, from what the programs did and saw; their own totals
are not used. Prints a report, writes OUT.json, and exits with 0 if and only if every
condition holds.
"""

import collections
import errno
import json
import os
import sys

MSEC = 10**6
EXPIRED = 1  # HWHEEL_EVENT_EXPIRED

# What the programs were to do; a run that does less fails.
Job = collections.namedtuple("Job", "delays requests unanswered deadline connections silent "
                                    "idle timeouts cancels")
JOB = Job(delays=(500 * MSEC, 1000 * MSEC, 1500 * MSEC),
          requests=20000, unanswered=1000, deadline=1000 * MSEC,
          connections=1000, silent=100, idle=500 * MSEC,
          timeouts=100000, cancels=90000)

EMULATED = """This machine is emulated: QEMU translates each instruction, so work takes many times as long as
on hardware, and the machine stands still while the host runs something else. Timeouts are later
and rates lower than on hardware. doc/performance.md has counts of instructions, which are exact."""

# Word of a line -> how many numbers follow it
FIELDS = {"hwheel-records": 1, "seed": 1, "tick": 1, "arm": 4, "cancel": 3, "event": 6,
          "end": 1, "silent": 1, "answered": 1, "beat": 3, "late": 2, "client": 4,
          "refreshes": 2, "settimes": 2}


class Problems:
    """The problems of the run; nothing else decides about pass or fail."""

    SHOWN = 5

    def __init__(self):
        self.found = collections.OrderedDict()

    def add(self, where, kind, detail=""):
        self.found.setdefault((where, kind), []).append(detail)

    def expect(self, where, what, seen, expected):
        if seen != expected:
            self.add(where, f"{what}: {seen:,} instead of {expected:,}")

    def lines(self):
        for (where, kind), details in self.found.items():
            shown = [detail for detail in details if detail][:self.SHOWN]
            text = f"{where}: {kind}"
            if len(details) > 1:
                text += f" ({len(details):,} times)"
            yield text + (f": {', '.join(shown)}" if shown else "")


class BadRecord(Exception):
    """A record file that is missing, cut off or not understood."""


def parse_line(number, line):
    word, *fields = line.split(" ")
    if FIELDS.get(word) != len(fields):
        raise BadRecord(f"line {number} is not a record: {line[:60]!r}")
    if not all(field.isdecimal() and field.isascii() for field in fields):
        raise BadRecord(f"line {number} has a field that is not a number: {line[:60]!r}")
    return (word, *map(int, fields))


def read_records(path):
    """Returns the records between the first and the last line, as tuples."""
    try:
        with open(path, encoding="ascii", newline="\n") as file:
            lines = file.read().split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise BadRecord(str(error)) from None
    records = [parse_line(number, line) for number, line in enumerate(lines[:-1], 1)]
    if not records or records[0] != ("hwheel-records", 1):
        raise BadRecord("the first line is not 'hwheel-records 1'")
    if lines[-1] or records[-1] != ("end", len(records) - 1):
        raise BadRecord(f"cut off: line {len(records)} is not 'end {len(records) - 1}'")
    return records[1:-1]


class Timeout:
    """One timeout, from arm to outcome."""

    __slots__ = ("id", "cookie", "delay", "due", "cancelled", "refused", "event")

    def __init__(self, ident, cookie, clock, delay):
        self.id = ident
        self.cookie = cookie
        self.delay = delay
        self.due = clock + delay  # a lower bound: the clock was read before the call
        self.cancelled = False
        self.refused = []  # when a cancel or a refresh said that it had expired
        self.event = None

    @property
    def cancels(self):
        return self.cancelled + len(self.refused)

    @property
    def early(self):
        """True if the event was fired, or even read, before the deadline."""
        if not self.event:
            return False
        return min(self.event.fired, self.event.clock) < max(self.due, self.event.deadline)

    @property
    def lateness(self):
        return self.event.fired - self.due


Event = collections.namedtuple("Event", "cookie deadline fired type clock")


class Ledger:
    """All timeouts of one program, and whether each had exactly one outcome."""

    def __init__(self, folder, name, problems):
        self.name = name
        self.problems = problems
        self.timeouts = {}
        self.tick = 0
        self.seed = None
        self.rest = collections.defaultdict(list)  # records of this program only
        for word, *fields in self.load(folder, name):
            getattr(self, f"on_{word}", self.rest[word].append)(fields)
        if not self.tick:
            self.problem("no tick recorded")

    def load(self, folder, name):
        try:
            return read_records(os.path.join(folder, name + ".rec"))
        except BadRecord as error:
            self.problems.add(f"{name}.rec", str(error))
            return []

    def problem(self, kind, detail=""):
        self.problems.add(self.name, kind, str(detail))

    def on_tick(self, fields):
        self.tick, = fields

    def on_seed(self, fields):
        self.seed, = fields

    def on_arm(self, fields):
        ident = fields[0]
        if ident == 0:
            self.problem("armed, but the id is 0")
        if ident in self.timeouts:
            self.problem("an id was given twice", ident)
        self.timeouts[ident] = Timeout(*fields)

    def on_cancel(self, fields):
        ident, result, clock = fields
        timeout = self.timeouts.get(ident)
        if not timeout:
            self.problem("cancel of an id that was never given", ident)
        elif result == errno.ENOENT:
            timeout.refused.append(clock)
        elif result:
            self.problem(f"cancel failed: {errno.errorcode.get(result, result)}", ident)
        else:
            if timeout.cancelled or timeout.event:
                self.problem("cancelled, but it had ended before", ident)
            timeout.cancelled = True

    def on_event(self, fields):
        ident, *rest = fields
        timeout = self.timeouts.get(ident)
        if not timeout:
            self.problem("an event for an unknown id", ident)
        elif timeout.event:
            self.problem("a second event for one timeout", ident)
        else:
            timeout.event = Event(*rest)

    def settle(self):
        """Once all is read and all deadlines are known: looks at every outcome."""
        for timeout in self.timeouts.values():
            self.settle_outcome(timeout)
            if timeout.event:
                self.settle_event(timeout, timeout.event)

    def settle_outcome(self, timeout):
        if timeout.cancelled and timeout.event:
            self.problem("an event for a cancelled timeout", timeout.id)
        if not timeout.cancelled and not timeout.event:
            self.problem("lost: neither cancelled nor fired", timeout.id)
        if any(clock < timeout.due for clock in timeout.refused):
            self.problem("said to have expired before its deadline", timeout.id)

    def settle_event(self, timeout, event):
        if timeout.early:
            self.problem("early", timeout.id)
        if event.deadline < timeout.due:
            self.problem("an event whose deadline is before the one asked for", timeout.id)
        if event.fired > event.clock:
            self.problem("an event read before it was fired", timeout.id)
        if event.cookie != timeout.cookie:
            self.problem("an event with another cookie", timeout.id)
        if event.type != EXPIRED:
            self.problem(f"an event of type {event.type}", timeout.id)

    def count(self, attribute):
        return sum(bool(getattr(timeout, attribute)) for timeout in self.timeouts.values())

    def fired(self):
        return [timeout for timeout in self.timeouts.values() if timeout.event]

    def expect_delays(self, delays):
        """Every timeout was armed with the delay that its cookie stands for."""
        for timeout in self.timeouts.values():
            if timeout.delay != delays(timeout.cookie):
                self.problem("armed with another delay than it was to be", timeout.id)


def percentiles(values):
    """p50, p99 (nearest rank) and max; None of nothing."""
    ranked = sorted(values)

    def rank(percent):
        return ranked[-(-len(ranked) * percent // 100) - 1] if ranked else None

    return {"p50": rank(50), "p99": rank(99), "max": rank(100)}


def in_ticks(values, tick):
    return percentiles(round(value / tick, 3) for value in values) if tick else percentiles([])


def spread(values, unit):
    if values["max"] is None:
        return "none"
    return ", ".join(f"{name} {value:.2f}" for name, value in values.items()) + f" {unit}"


def judge_first(folder, job, problems, say):
    ledger = Ledger(folder, "first", problems)
    ledger.settle()
    ledger.expect_delays(lambda cookie: dict(enumerate(job.delays)).get(cookie))
    cancelled = ledger.count("cancelled")
    problems.expect("first", "timeouts armed", len(ledger.timeouts), len(job.delays))
    problems.expect("first", "timeouts cancelled", cancelled, 1)
    for timeout in ledger.timeouts.values():
        what = f"event {timeout.lateness / MSEC:.3f} ms after it was due" if timeout.event \
            else "cancelled" if timeout.cancelled else "lost"
        say(f"  {timeout.delay // MSEC:>5} ms: {what}")
    result = {"expected": len(ledger.timeouts) - cancelled, "seen": ledger.count("event"),
              "early": ledger.count("early")}
    problems.expect("first", "events", result["seen"], len(job.delays) - 1)
    say(f"  {result['seen']} events of {result['expected']} expected, {result['early']} early")
    return result


def judge_rpc(folder, job, problems, say):
    ledger = Ledger(folder, "rpc", problems)
    server = Ledger.load(ledger, folder, "rpc-server")
    silent = {fields[0] for word, *fields in server if word == "silent"}
    answered = sum(fields[0] for word, *fields in server if word == "answered")
    ledger.settle()
    ledger.expect_delays(lambda cookie: job.deadline)
    problems.expect("rpc", "requests sent", len(ledger.timeouts), job.requests)
    problems.expect("rpc", "requests left unanswered", len(silent), job.unanswered)
    problems.expect("rpc", "requests answered", answered, job.requests - job.unanswered)
    for timeout in ledger.timeouts.values():
        if timeout.cancels != (timeout.cookie not in silent):
            ledger.problem("not cancelled once if answered, else never", timeout.id)
    result = {"sent": len(ledger.timeouts), "cancelled": ledger.count("cancelled"),
              "fired": ledger.count("event"), "early": ledger.count("early")}
    problems.expect("rpc", "cancelled + fired", result["cancelled"] + result["fired"],
                    job.requests)
    say(f"  {result['sent']:,} sent, {result['cancelled']:,} answered in time and cancelled, "
        f"{result['fired']:,} fired, {result['early']} early")
    late = ledger.count("refused")
    if late:
        say(f"  {late:,} of the fired were answered, but too late")
    say("  lateness: " + spread(in_ticks([t.lateness for t in ledger.fired()], ledger.tick),
                                "ticks"))
    return result


Client = collections.namedtuple("Client", "port silent beats closed")


def read_heartbeats(ledger, idle):
    """Takes the server's own record of what it had heard into the timeouts."""
    for ident, _, clock in ledger.rest["beat"]:
        if ident in ledger.timeouts:
            ledger.timeouts[ident].due = clock + idle
        else:
            ledger.problem("heartbeats of an unknown id", ident)
    for ident, clock in ledger.rest["late"]:
        if ident in ledger.timeouts:
            ledger.timeouts[ident].refused.append(clock)
        else:
            ledger.problem("a refused refresh of an unknown id", ident)


def match_clients(ledger, clients):
    """Pairs each client with the server's timeout for it."""
    by_port = {timeout.cookie: timeout for timeout in ledger.timeouts.values()}
    for client in clients:
        if client.port in by_port:
            yield client, by_port[client.port]
        else:
            ledger.problem("a client that the server does not know", client.port)


def per_second(ledger, word):
    """How often something was done in a second; None if that was not measured."""
    if len(ledger.rest[word]) != 1 or not all(ledger.rest[word][0]):
        ledger.problem(f"no {word} measured")
        return None
    count, ns = ledger.rest[word][0]
    return round(count * 10**9 / ns)


def say_rates(rates, say):
    if all(rates.values()):
        say(f"  {rates['hwheel']:,} refreshes a second by hwheel_refresh_at(), "
            f"{rates['timerfd']:,} by timerfd_settime(): "
            f"{rates['hwheel'] / rates['timerfd']:.1f} times as many")


def judge_heartbeat(folder, job, problems, say):
    ledger = Ledger(folder, "heartbeat", problems)
    clients = [Client(*fields) for word, *fields in ledger.load(folder, "heartbeat-clients")
               if word == "client"]
    read_heartbeats(ledger, job.idle)
    ledger.settle()
    ledger.expect_delays(lambda cookie: job.idle)
    pairs = list(match_clients(ledger, clients))
    silent = [pair for pair in pairs if pair[0].silent]
    detected = [t for client, t in silent if t.event and client.closed]
    missed = [client.port for client, t in silent if not t.event or not client.closed]
    # By the server's own record: it had heard something less than the timeout ago,
    # or it closed without having been told to
    false = [client.port for client, t in pairs if t.early or (client.closed and not t.event)]
    stalled = [client.port for client, t in pairs
               if not client.silent and t.event and not t.early]

    problems.expect("heartbeat", "connections", len(ledger.timeouts), job.connections)
    problems.expect("heartbeat", "clients", len(set(client.port for client in clients)),
                    job.connections)
    problems.expect("heartbeat", "silent clients", len(silent), job.silent)
    for port in missed:
        ledger.problem("missed", f"port {port}")
    for port in false:
        ledger.problem("falsely closed", f"port {port}")
    beats = sum(client.beats for client in clients)
    say(f"  {len(pairs):,} connections, {beats:,} heartbeats, {len(silent)} fell silent: "
        f"{len(detected)} detected, {len(missed)} missed, {len(false)} falsely closed")
    if stalled:
        say(f"  {len(stalled)} more were timed out because this machine stalled: the server "
            "had read nothing from them for the whole timeout")
    delays = [t.lateness for t in detected]
    say("  detection delay: " + spread(percentiles(d / MSEC for d in delays), "ms") + " = "
        + spread(in_ticks(delays, ledger.tick), "ticks"))
    rates = {"hwheel": per_second(ledger, "refreshes"),
             "timerfd": per_second(ledger, "settimes")}
    say_rates(rates, say)
    return {"connections": len(pairs), "silent": len(silent), "detected": len(detected),
            "missed": len(missed), "false": len(false), "refreshes_per_second": rates}


def judge_mass(folder, job, problems, say):
    ledger = Ledger(folder, "mass", problems)
    ledger.settle()
    tried = ledger.count("cancels")
    refused = ledger.count("refused")
    lateness = in_ticks([timeout.lateness for timeout in ledger.fired()], ledger.tick)
    result = {"armed": len(ledger.timeouts), "cancelled": ledger.count("cancelled"),
              "fired": ledger.count("event"), "early": ledger.count("early"),
              "lateness_ticks": lateness}
    problems.expect("mass", "armed", result["armed"], job.timeouts)
    problems.expect("mass", "cancels tried", tried, job.cancels)
    problems.expect("mass", "cancelled + fired", result["cancelled"] + result["fired"],
                    job.timeouts)
    say(f"  {result['armed']:,} armed, {result['cancelled']:,} cancelled, "
        f"{result['fired']:,} fired, {result['early']} early (seed {ledger.seed})")
    if refused:
        say(f"  {refused:,} of the fired were to be cancelled, but the cancel came too late")
    say("  lateness: " + spread(lateness, "ticks"))
    return result


def judge(folder, job=JOB, say=print):
    """Judges all record files in folder; returns what run.json holds, and problems."""
    problems = Problems()
    run = {}
    for key, title, part in (("events", "first: three timeouts, one cancelled", judge_first),
                             ("rpc", "rpc: deadlines of requests", judge_rpc),
                             ("heartbeat", "heartbeat: idle connections", judge_heartbeat),
                             ("mass", "mass: arm, cancel and fire", judge_mass)):
        say(title)
        run[key] = part(folder, job, problems, say)
    order = ("events", "heartbeat", "rpc", "mass")
    run = {key: run[key] for key in order}
    run["pass"] = not problems.found
    return run, problems


def main(arguments):
    if len(arguments) != 3:
        print(__doc__.split("\n\n")[1], file=sys.stderr)
        return 2
    print(EMULATED)
    run, problems = judge(arguments[1])
    for line in problems.lines():
        print(f"FAIL {line}")
    print("pass" if run["pass"] else "fail")
    with open(arguments[2], "w", encoding="ascii") as file:
        json.dump(run, file, indent=2)
        file.write("\n")
    return 0 if run["pass"] else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv))
