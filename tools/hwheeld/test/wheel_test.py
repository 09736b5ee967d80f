#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""wheel_test.py HWHEELD FOLDER FAIL_MAP: a wheel that is full, with the module. Prints TAP."""
import contextlib
import itertools
import os
import sys
import time

from daemon import Daemon, equal, run_all, true, until

program, base, fail_map = sys.argv[1:4]
folders = (f"{base}/{number}" for number in itertools.count())

# Records that hwheeld asks for when it begins
FIRST = 16384
BATCH = 1000
BESIDE = "hwheeld_alarms_beside_wheel"


def make():
    """A daemon whose wheel does not grow while it is full"""
    daemon = Daemon(program, next(folders))
    daemon.full = f"{daemon.folder}/full"
    daemon.environment = {"LD_PRELOAD": fail_map, "FAIL_MAP": daemon.full}
    return daemon


@contextlib.contextmanager
def no_room(daemon):
    with open(daemon.full, "w", encoding="ascii"):
        pass
    try:
        yield
    finally:
        os.unlink(daemon.full)


def put(client, name, **wish):
    """A batch. Returns its status."""
    return client.put_many([{"key": f"{name}-{i}"} | wish for i in range(BATCH)]).status


def fill(client):
    """Until new timeouts are refused. Returns how many batches there are."""
    for number in range(2 * FIRST // BATCH):
        status = put(client, number, delay=3600)
        if status != 200:
            equal(status, 507)
            return number
    raise AssertionError("it has room for all")


def a_full_wheel_takes_no_new_timeouts(daemon):
    client = daemon.client()
    with no_room(daemon):
        batches = fill(client)
        true(batches * BATCH >= FIRST - BATCH, batches)
        true(client.metric(BESIDE) > 0, "some are beside it")
        answer = client.put("new", delay=3600)
        equal(answer.status, 507)
        true("wheel" in answer.json["error"], answer.json)
        equal(client.get("new").status, 404)
        equal(put(client, 0, delay=1800), 200)
        equal(client.metric("hwheeld_timeouts"), batches * BATCH)
        for i in range(BATCH):
            equal(client.cancel(f"1-{i}").status, 204)
        until(lambda: client.metric(BESIDE) == 0, "those beside it get the room")
        equal(client.put("new", delay=3600).status, 201)
        fill(client)
    until(lambda: client.metric(BESIDE) == 0, "the wheel grows again")
    equal(put(client, "more", delay=3600), 200)


def a_full_wheel_delivers_and_leases(daemon):
    client = daemon.client()
    with no_room(daemon):
        fill(client)
        equal(client.put("0-0", delay=0.05).status, 200)
        first = client.take(wait=30, lease="100ms")
        equal([timeout["key"] for timeout in first], ["0-0"])
        again = client.take(wait=30)
        equal([(timeout["key"], timeout["deliveries"]) for timeout in again], [("0-0", 2)])
        equal(client.ack(first[0]["token"]), 410)
        equal(client.ack(again[0]["token"]), 204)


def what_finds_no_room_as_it_is_loaded_comes_in_time(daemon):
    client = daemon.client()
    for number in range(18):
        equal(put(client, number, delay=3600), 200)
    due = time.time() + 20
    equal(put(client, "due", deadline=due), 200)
    with no_room(daemon):
        client = daemon.restart().client()
        true(client.metric(BESIDE) > 0, "some are beside it")
        equal(client.metric("hwheeld_timeouts"), 19 * BATCH)
        equal(client.put("new", delay=1).status, 507)
        taken = set()
        while len(taken) < BATCH:
            for timeout in client.take(max=BATCH, wait=60):
                true(time.time() >= due, f"{due - time.time()} s early")
                taken.add(timeout["key"])
        equal(taken, {f"due-{i}" for i in range(BATCH)})
        print(f"# {client.metric('hwheeld_lateness_max_seconds'):.3f} s late at most")


TESTS = [a_full_wheel_takes_no_new_timeouts, a_full_wheel_delivers_and_leases,
         what_finds_no_room_as_it_is_loaded_comes_in_time]
run_all([test for test in TESTS if not sys.argv[4:] or test.__name__ in sys.argv[4:]], make)
