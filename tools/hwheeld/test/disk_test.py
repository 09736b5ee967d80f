#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""disk_test.py HWHEELD FOLDER FAIL_SYNC FAIL_ALLOC [TEST...]: a disk, or memory, that is full or fails.
For root, who may mount.

Prints TAP.
"""
import contextlib
import http.client
import itertools
import mmap
import os
import random
import re
import resource
import select
import signal
import subprocess
import sys
import threading
import time

from daemon import Client, Daemon, Tap, equal, true, until

program, base, fail_sync, fail_alloc = sys.argv[1:5]
MEGABYTE = 1 << 20


def run(*command):
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


class Disk:
    """A file system in a file"""

    def __init__(self, name, size):
        self.image = f"{base}/{name}.image"
        self.folder = f"{base}/{name}"
        os.makedirs(self.folder)
        with open(self.image, "wb") as stream:
            stream.truncate(size)
        run("mkfs.ext4", "-q", "-F", self.image)
        run("mount", "-o", "loop", self.image, self.folder)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        run("umount", self.folder)


class FlakyDisk:
    """A file system on a disk whose writes fail, on demand"""

    def __init__(self, name, size):
        self.name = name
        self.sectors = size // 512
        self.folder = f"{base}/{name}"
        self.device = f"/dev/mapper/{name}"
        # There is no udev to make the device's node.
        os.environ["DM_DISABLE_UDEV"] = "1"
        os.makedirs(self.folder)
        with open(f"{base}/{name}.image", "wb") as stream:
            stream.truncate(size)
        self.loop = subprocess.run(["losetup", "--find", "--show", f"{base}/{name}.image"],
                                   check=True, stdout=subprocess.PIPE, text=True).stdout.strip()
        run("dmsetup", "create", name, "--table", self.table("linear"))
        run("mkfs.ext4", "-q", "-F", self.device)
        self.mount()

    def table(self, kind, *words):
        return " ".join(("0", str(self.sectors), kind, self.loop, "0", *words))

    def load(self, table):
        run("dmsetup", "reload", self.name, "--table", table)
        run("dmsetup", "suspend", self.name)
        run("dmsetup", "resume", self.name)

    def fail(self):
        """It works for 0 s, and fails for an hour."""
        self.load(self.table("flakey", "0", "3600", "1", "error_writes"))

    def heal(self):
        self.load(self.table("linear"))

    def mount(self):
        run("mount", self.device, self.folder)

    def unmount(self):
        run("umount", self.folder)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.unmount()
        run("dmsetup", "remove", self.name)
        run("losetup", "--detach", self.loop)


def fill(client, many):
    """Puts until the disk is full; returns what was accepted, and the status of the refusal."""
    accepted = set()
    for number in range(100000):
        if many:
            keys = [f"{number}-{i}" for i in range(8)]
            answer = client.put_many([{"key": key, "delay": 1000, "payload": 4000 * "x"}
                                      for key in keys])
        else:
            keys = [str(number)]
            answer = client.put(keys[0], delay=1000, payload=30000 * "x")
        if answer.status not in (200, 201):
            for key in keys:
                equal(client.get(key).status, 404)
            return accepted, answer
        accepted |= set(keys)
    raise AssertionError("it was never full")


def listed(client):
    found, path = set(), "/timeouts?limit=1000"
    while path:
        page = client.request("GET", path).json
        found |= {timeout["key"] for timeout in page["timeouts"]}
        path = f"/timeouts?limit=1000&after={page['next']}" if "next" in page else None
    return found


def are_there(client, accepted):
    equal(listed(client), accepted)


def a_full_disk(name, many):
    with Disk(name, 24 * MEGABYTE) as disk:
        with open(f"{disk.folder}/filler", "wb") as stream:
            stream.write(2 * MEGABYTE * b"x")
        with Daemon(program, f"{disk.folder}/hwheeld") as daemon:
            client = daemon.client()
            accepted, answer = fill(client, many)
            equal(answer.status, 507)
            true("disk is full" in answer.json["error"], answer.text)
            are_there(client, accepted)
            daemon.kill()
            daemon.start()
            client = daemon.client()
            are_there(client, accepted)
            os.unlink(f"{disk.folder}/filler")
            equal(client.put("after", delay=1000).status, 201)
            equal(client.cancel(accepted.pop()).status, 204)
            are_there(client, accepted | {"after"})
            daemon.restart()
            are_there(daemon.client(), accepted | {"after"})
            daemon.is_sound()


def a_full_disk_refuses_a_put():
    a_full_disk("one", False)


def a_full_disk_refuses_a_batch():
    a_full_disk("many", True)


def fill_up(disk):
    """No byte is left for anybody."""
    with open(f"{disk.folder}/rest", "wb", buffering=0) as stream:
        for size in (MEGABYTE, 4096, 1):
            with contextlib.suppress(OSError):
                while stream.write(size * b"x"):
                    pass
        os.fsync(stream.fileno())


def put_until_it_is_full(client, size, disk):
    """The disk is given away at once. Returns the keys that were accepted."""
    accepted = set()
    for number, much in ((50, size), (1, 60000)):
        while True:
            keys = [str(len(accepted) + key) for key in range(number)]
            answer = client.put_many([{"key": key, "delay": 0, "payload": much * "x",
                                       "queue": "q"} for key in keys])
            if answer.status != 200:
                break
            if not accepted:
                fill_up(disk)
            accepted |= set(keys)
        equal(answer.status, 507)
        true("disk is full" in answer.json["error"], answer.text)
    fill_up(disk)
    return accepted


def is_full(client):
    equal(client.request("GET", "/health").status, 200)
    equal(client.request("GET", "/health/accept").status, 503)
    true(b'refuses{reason="disk"} 1' in client.request("GET", "/metrics").text, "disk")


def a_full_disk_drains(name, size):
    """Leases end again and again, which no reserve is large enough for; then all is ended."""
    with Disk(name, 40 * MEGABYTE) as disk:
        with Daemon(program, f"{disk.folder}/hwheeld") as daemon:
            client = daemon.client()
            accepted = put_until_it_is_full(client, size, disk)
            print(f"# {len(accepted)} timeouts of {size} bytes")
            for _ in range(2):
                taken = 0
                while taken < 3 * len(accepted):
                    taken += len(client.take("q", max=1000, wait=30, lease="20ms"))
                is_full(client)
                daemon.kill()
                client = daemon.start().client()
                are_there(client, accepted)
            ways = itertools.cycle(("ack", "cancel", "return"))
            while accepted:
                for timeout, way in zip(client.take("q", max=100, wait=30, lease=600), ways):
                    key, token = timeout["key"], timeout["token"]
                    if way == "ack":
                        equal(client.ack(token), 204)
                    else:
                        equal(client.request("POST", f"/leases/{token}/return").status, 204)
                    if way == "cancel":
                        equal(client.cancel(key).status, 204)
                    accepted -= set() if way == "return" else {key}
            are_there(client, set())
            until(lambda: client.request("GET", "/health/accept").status == 200, "it accepts")
            equal(client.put("after", delay=1000).status, 201)
            daemon.restart()
            are_there(daemon.client(), {"after"})
            os.unlink(f"{disk.folder}/rest")
            daemon.is_sound()


def a_full_disk_of_small_timeouts_drains():
    a_full_disk_drains("small", 20)


def a_full_disk_of_large_timeouts_drains():
    a_full_disk_drains("large", 20000)


def a_full_disk_is_written_over():
    """One client alone restarts many at once, and takes: a step of cleaning always has room."""
    with Disk("over", 40 * MEGABYTE) as disk:
        with Daemon(program, f"{disk.folder}/hwheeld") as daemon:
            client = daemon.client()
            keys = sorted(put_until_it_is_full(client, 700, disk))
            for turn in range(60):
                some = [keys[(turn * 137 + i) % len(keys)] for i in range(500)]
                equal(client.put_many([{"key": key, "delay": 0, "payload": 700 * "x", "queue": "q"}
                                       for key in some]).status, 200)
                client.take("q", max=1000, lease="20ms")
            is_full(client)


def a_full_disk_is_written_over_by_large_batches(seed=1):
    """Larger ones than the defaults allow: each is accepted, or refused, and the rest goes on."""
    chance = random.Random(seed)
    with Disk("large-batches", 40 * MEGABYTE) as disk:
        with Daemon(program, f"{disk.folder}/hwheeld", body=32 << 20, batch=100000) as daemon:
            client = daemon.client()
            keys = sorted(put_until_it_is_full(client, 20000, disk))
            statuses = []
            for turn in range(100):
                some = chance.sample(keys, chance.randrange(20, 200))
                statuses.append(client.put_many(
                    [{"key": key, "delay": 0, "payload": 20000 * "y", "queue": "q"}
                     for key in some]).status)
                # A small one is always accepted, and what there is can be taken.
                equal(client.put(keys[turn], delay=0, queue="q", payload="y").status, 200)
                true(client.take("q", wait=30, lease="20ms"), "nothing is due")
            print(f"# {statuses.count(200)} batches were accepted, {statuses.count(507)} refused")
            equal(set(statuses), {200, 507})
            daemon.kill()
            client = daemon.start().client()
            are_there(client, set(keys))
            while keys:
                for timeout in client.take("q", max=100, wait=30, lease=600):
                    equal(client.ack(timeout["token"]), 204)
                    keys.remove(timeout["key"])


def a_full_disk_refuses_many_clients():
    with Disk("clients", 24 * MEGABYTE) as disk:
        with Daemon(program, f"{disk.folder}/hwheeld") as daemon:
            accepted, threads, wrong = set(), [], []

            def put(number):
                client = daemon.client()
                for turn in range(1000):
                    key = f"{number}-{turn}"
                    status = client.put(key, delay=1000, payload=20000 * "x").status
                    if status != 201:
                        wrong.extend([] if status == 507 else [status])
                        return
                    accepted.add(key)
            for number in range(16):
                threads.append(threading.Thread(target=put, args=(number,)))
                threads[-1].start()
            for thread in threads:
                thread.join()
            equal(wrong, [])
            are_there(daemon.client(), accepted)
            daemon.kill()
            daemon.start()
            are_there(daemon.client(), accepted)


def a_failing_disk_makes_it_unknown():
    flag = f"{base}/fails"
    os.environ |= {"LD_PRELOAD": fail_sync, "FAIL_SYNC": flag}
    try:
        with Daemon(program, f"{base}/failing") as daemon:
            client = daemon.client()
            client.put("before", delay=1000)
            client.put("due", delay=0, queue="q")
            until(lambda: client.get("due").json["state"] == "due", "due")
            with open(flag, "wb"):
                pass
            answer = client.put("during", delay=1000)
            equal(answer.status, 503)
            true("may have happened" in answer.json["error"], answer.text)
            equal(client.request("GET", "/health").status, 503)
            answer = client.cancel("before")
            equal(answer.status, 503)
            true("nothing has changed" in answer.json["error"], answer.text)
            equal(client.cancel("during").status, 503)
            equal(client.request("POST", "/queues/q/take?max=1").status, 503)
            equal(client.get("before").status, 200)
            os.unlink(flag)
            until(lambda: client.request("GET", "/health").status == 200, "it recovers")
            known = client.get("during").status
            equal(client.put("after", delay=1000).status, 201)
            equal([t["key"] for t in client.take("q", wait=30)], ["due"])
            daemon.kill()
            daemon.start()
            client = daemon.client()
            equal([client.get(key).status for key in ("before", "during", "after")],
                  [200, known, 200])
            daemon.is_sound()
    finally:
        del os.environ["LD_PRELOAD"]


def put_while_it_fails(client):
    """Returns the keys of which nobody knows whether they are there."""
    unknown = set()
    for number in range(20):
        answer = client.put(f"during-{number}", delay=1000)
        equal(answer.status, 503)
        if "may have happened" in answer.json["error"]:
            unknown.add(f"during-{number}")
    return unknown


def a_disk_that_fails_to_write_loses_nothing():
    with FlakyDisk("flaky", 24 * MEGABYTE) as disk:
        with Daemon(program, f"{base}/on-flaky", database=f"{disk.folder}/log.sqlite") as daemon:
            client = daemon.client()
            accepted = {f"before-{number}" for number in range(50)}
            for key in accepted:
                equal(client.put(key, delay=1000).status, 201)
            equal(client.cancel(accepted.pop()).status, 204)
            disk.fail()
            unknown = put_while_it_fails(client)
            true(unknown, "none of them is unknown")
            equal(client.request("GET", "/health").status, 503)
            equal(client.get(min(accepted)).status, 200)
            daemon.kill()
            disk.unmount()
            disk.heal()
            disk.mount()
            daemon.start()
            client = daemon.client()
            equal(client.put("after", delay=1000).status, 201)
            found = listed(client)
            true(accepted | {"after"} <= found <= accepted | {"after"} | unknown, found)
            daemon.is_sound()


class HangingDisk:
    """A daemon whose thread "loop" or "writer" hangs as it synchronises the disk, on demand"""

    def __init__(self, name, **settings):
        self.flag = f"{base}/{name}-sync"
        self.daemon = Daemon(program, f"{base}/{name}", **settings)

    def __enter__(self):
        os.environ |= {"LD_PRELOAD": fail_sync, "HANG_SYNC": self.flag}
        self.daemon.start()
        # The first commit synchronises twice.
        equal(self.daemon.client().put("first", delay=1000).status, 201)
        return self

    def __exit__(self, *_):
        del os.environ["LD_PRELOAD"]
        if self.daemon.process.poll() is None:
            self.daemon.kill()

    def hang(self, thread, key):
        """Returns the clients whose timeouts KEY0, KEY1, ... the thread is to commit."""
        with open(f"{self.flag}.{thread}", "wb"):
            pass
        if thread == "writer":
            with stopped(self.daemon):
                clients = [begin(self.daemon, f"{key}{number}") for number in range(4)]
            until(lambda: self.hangs(thread), "it hangs")
            return clients
        # Behind a slow commit the writer has the next one.
        for number in itertools.count():
            client = begin(self.daemon, f"{key}{number}")
            until(lambda: self.hangs(thread) or is_answered(client), "it hangs, or has answered")
            if not is_answered(client):
                return [client]
            equal(client.answer().status, 201)

    def hangs(self, thread):
        return os.path.exists(f"{self.flag}.{thread}.hangs")

    def release(self, thread):
        os.unlink(f"{self.flag}.{thread}.hangs")


def is_answered(client):
    return select.select([client.connection.sock], [], [], 0)[0]


@contextlib.contextmanager
def stopped(daemon):
    """The daemon does nothing meanwhile."""
    daemon.signal(signal.SIGSTOP)
    os.waitid(os.P_PID, daemon.process.pid, os.WSTOPPED | os.WNOWAIT)
    yield
    daemon.signal(signal.SIGCONT)


def begin(daemon, key, **wish):
    """Returns a client that has asked, and was not answered yet."""
    client = daemon.client()
    client.send("PUT", f"/timeouts/{key}", wish or {"delay": 1000})
    return client


def a_hanging_disk_has_a_limit_of_time():
    with HangingDisk("hanging", request_time="1s") as disk:
        for thread in ("loop", "writer"):
            clients = disk.hang(thread, f"{thread}-a")
            clients += [begin(disk.daemon, f"{thread}-b{number}") for number in range(8)]
            for answer in map(Client.answer, clients):
                equal(answer.status, 503)
                true("may have happened" in answer.json["error"], answer.text)
            disk.release(thread)
            until(lambda: disk.daemon.client().get(f"{thread}-b7").status == 200, "it happens")
        equal(disk.daemon.stop(), 0)


def a_disk_that_stalls_keeps_nobody_else_waiting():
    """Whichever thread commits; a long poll gets what becomes due meanwhile as it is stored."""
    with HangingDisk("stalls") as disk:
        daemon, poll = disk.daemon, disk.daemon.client()
        for turn, thread in enumerate(("loop", "writer", "loop", "loop")):
            poll.send("POST", "/queues/q/take?wait=30")
            until(lambda: polls(daemon.client()), "it waits")
            clients = disk.hang(thread, f"a{turn}-")
            key = clients[0].sent[1].split("/")[2]
            clients.append(begin(daemon, f"b{turn}", delay=0, queue="q"))
            client = daemon.client()
            equal(client.request("GET", "/health").status, 200)
            equal(client.get("first").status, 200)
            equal(client.get(key).status, 404)
            true("first" in listed(client), "it is listed")
            disk.release(thread)
            equal({client.answer().status for client in clients}, {201})
            taken = poll.answer().json["timeouts"]
            equal([timeout["key"] for timeout in taken], [f"b{turn}"])
            equal(client.ack(taken[0]["token"]), 204)
            equal(client.cancel(key).status, 204)
        equal(daemon.stop(), 0)


def polls(client):
    return sum(queue["polls"] for queue in client.request("GET", "/queues").json["queues"])


def a_stalled_disk_does_not_hide_the_stop():
    with HangingDisk("stopped", grace="200ms") as disk:
        other = disk.daemon.client()
        equal(other.get("first").status, 200)
        clients = disk.hang("loop", "a")
        disk.daemon.signal(signal.SIGTERM)
        until(lambda: "stopping" in disk.daemon.said(), "it stops")
        equal(other.get("first").status, 503)
        disk.release("loop")
        equal(clients[0].answer().status, 201)
        equal(disk.daemon.wait(), 0)


def a_request_that_came_while_the_daemon_was_stopped_is_answered():
    """Its time is over when the loop goes on."""
    with Daemon(program, f"{base}/late", request_time="1s") as daemon:
        client = daemon.client()
        equal(client.put("a", delay=1000).status, 201)
        with stopped(daemon):
            client.send("GET", "/timeouts/a")
            over = time.monotonic() + 1.1
            until(lambda: time.monotonic() > over, "its time is over")
        equal(client.answer().status, 200)
        daemon.is_sound()


def a_lease_that_ended_while_the_daemon_was_stopped_is_in_nobodys_way():
    """The acknowledgement comes too late: then PUT and DELETE do not."""
    with Daemon(program, f"{base}/leases") as daemon:
        tokens, acks = {}, {key: daemon.client() for key in "ab"}
        for key, client in acks.items():
            client.put(key, delay=0, queue=key)
            tokens[key] = client.take(key, wait=30, lease="500ms")[0]["token"]
        over = time.monotonic() + 0.6
        with stopped(daemon):
            for key, client in acks.items():
                client.send("DELETE", f"/leases/{tokens[key]}")
            put, cancel = begin(daemon, "a"), daemon.client()
            cancel.send("DELETE", "/timeouts/b")
            until(lambda: time.monotonic() > over, "the leases have ended")
        equal([client.answer().status for client in acks.values()], [410, 410])
        equal((put.answer().status, cancel.answer().status), (200, 204))
        daemon.is_sound()


class FailingMemory:
    """A daemon in which the allocation fails that the test counts to"""

    def __init__(self, name):
        with open(f"{base}/{name}.count", "wb") as stream:
            stream.write(bytes(4096))
        with open(f"{base}/{name}.count", "r+b") as stream:
            self.left = mmap.mmap(stream.fileno(), 4096)
        self.daemon = Daemon(program, f"{base}/{name}")
        self.daemon.environment = {"LD_PRELOAD": fail_alloc, "FAIL_ALLOC": f"{base}/{name}.count"}

    def fail(self, number, many=1):
        self.left[:16] = number.to_bytes(8, "little") + many.to_bytes(8, "little")

    def has_failed(self):
        left, many = (int.from_bytes(self.left[at:at + 8], "little", signed=True) for at in (0, 8))
        return left == 1 - many


def no_allocation_that_fails_is_noticed():
    """One of a round of requests, each time a later one; what it needs, a reserve has."""
    memory = FailingMemory("allocations")
    with memory.daemon as daemon:
        client = daemon.client()
        for number in itertools.count(random.randrange(1, 6), 5):
            memory.fail(number)
            key, queue = f"k{number}", f"q{number % 3}"
            equal(client.put(key, delay=0, queue=queue, payload=100 * "x").status, 201)
            equal(client.put_many([{"key": f"{key}-{k}", "delay": 1000} for k in "abc"]).status,
                  200)
            taken = client.take(queue, wait=30)
            equal([timeout["key"] for timeout in taken], [key])
            equal(client.get(key).json["state"], "leased")
            equal(client.ack(taken[0]["token"]), 204)
            for path in ("/timeouts?limit=3&payload=1", "/queues", "/metrics", "/cluster",
                         "/health"):
                equal(client.request("GET", path).status, 200)
            # It tries whether there is memory beside the reserve.
            true(client.request("GET", "/health/accept").status in (200, 503), "accept")
            equal({client.cancel(f"{key}-{k}").status for k in "abc"}, {204})
            equal(client.request("PUT", "/timeouts/x", b'{"delay":1,"delay":2}').status, 400)
            other = daemon.client()
            equal(other.get("x").status, 404)
            other.close()
            if not memory.has_failed():
                break
        print(f"# up to the allocation {number}")
        true(number > 100, "hardly any has failed")
        daemon.is_sound()


def insist(daemon, *request):
    """Asks until there is an answer that is not for want of memory."""
    while True:
        true(daemon.process.poll() is None, daemon.said())
        client = daemon.client()
        with contextlib.suppress(ConnectionError, http.client.HTTPException):
            answer = client.request(*request)
            if answer.status not in (503, 507):
                return answer
            true("no memory" in answer.text.decode() or "too many" in answer.text.decode(),
                 answer.text)
        daemon.hang_up()


def where_memory_ends_nothing_is_lost():
    """
    From some allocation of a round on, each time a later one, no reserve helps those who may go
    without: a connection may end, and a request may be refused.
    """
    memory = FailingMemory("ends")
    with memory.daemon as daemon:
        for number in itertools.count(random.randrange(1, 10), 9):
            key, many = f"k{number}", [{"key": f"m{number}-{k}", "delay": 1000} for k in "abc"]
            client = daemon.client()
            memory.fail(number, 200)
            true(insist(daemon, "PUT", f"/timeouts/{key}", {"delay": 0, "queue": key}).status in
                 (200, 201), "put")
            equal(insist(daemon, "POST", "/timeouts", {"timeouts": many}).status, 200)
            taken = []
            while not taken:
                taken = insist(daemon, "POST", f"/queues/{key}/take?wait=30&lease=200ms") \
                    .json["timeouts"]
            equal([timeout["key"] for timeout in taken], [key])
            for path in ("/timeouts?limit=3", "/queues", "/metrics", "/cluster", "/health",
                         "/openapi.json", f"/timeouts/{many[0]['key']}"):
                equal(insist(daemon, "GET", path).status, 200)
            while insist(daemon, "GET", f"/timeouts/{key}").status == 200:
                for timeout in insist(daemon, "POST", f"/queues/{key}/take?lease=200ms&wait=30") \
                        .json["timeouts"] if not taken else taken:
                    insist(daemon, "DELETE", f"/leases/{timeout['token']}")
                taken = []
            for wish in many:
                true(insist(daemon, "DELETE", f"/timeouts/{wish['key']}").status in (204, 404),
                     "cancel")
            if not memory.has_failed():
                break
            client.close()
            daemon.hang_up()
        memory.fail(0, 0)
        print(f"# up to the allocation {number}")
        true(number > 100, "hardly any has failed")
        equal(listed(daemon.client()), set())
        daemon.restart()
        equal(listed(daemon.client()), set())
        daemon.is_sound()


def without_memory_new_timeouts_are_refused():
    with Daemon(program, f"{base}/memory") as daemon:
        client = daemon.client()
        limit, accepted = resource.RLIMIT_DATA, set()
        for number in range(100):
            equal(client.put(f"before-{number}", delay=0, queue="q").status, 201)
            accepted.add(f"before-{number}")
        resource.prlimit(daemon.process.pid, limit, (data_of(daemon) + 4 * MEGABYTE, -1))
        for number in range(10000):
            answer = client.put(f"more-{number}", delay=1000, payload=60000 * "x")
            if answer.status != 201:
                break
            accepted.add(f"more-{number}")
        equal(answer.status, 507)
        true("no memory" in answer.json["error"], answer.text)
        print(f"# {number} large timeouts fit")
        equal(client.request("GET", "/health").status, 200)
        equal(client.request("GET", "/health/accept").status, 503)
        are_there(client, accepted)
        while taken := client.take("q", max=10):
            for timeout in taken:
                equal(client.ack(timeout["token"]), 204)
                accepted.remove(timeout["key"])
        for key in sorted(accepted)[:50]:
            equal(client.cancel(key).status, 204)
            accepted.remove(key)
        resource.prlimit(daemon.process.pid, limit, (-1, -1))
        equal(client.put("after", delay=1000).status, 201)
        are_there(client, accepted | {"after"})
        daemon.restart()
        are_there(daemon.client(), accepted | {"after"})
        daemon.is_sound()


def data_of(daemon):
    with open(f"/proc/{daemon.process.pid}/status", encoding="ascii") as stream:
        return int(re.search(r"VmData:\s*(\d+)", stream.read())[1]) * 1024


def without_memory_large_requests_end_nobody():
    """Each one is answered, or loses its connection; small ones go on."""
    with Daemon(program, f"{base}/hungry", batch=100000) as daemon:
        client = daemon.client()
        keys = {f"small-{number}" for number in range(100)}
        equal(client.put_many([{"key": key, "delay": 0, "queue": "q"} for key in sorted(keys)])
              .status, 200)
        for number in range(100):
            equal(client.put(f"large-{number}", delay=0, queue="large",
                             payload=60000 * "\1").status, 201)
        resource.prlimit(daemon.process.pid, resource.RLIMIT_DATA,
                         (data_of(daemon) + 4 * MEGABYTE, -1))
        objects = b'{"timeouts":[' + b",".join(250000 * [b"{}"]) + b"]}"
        requests = (("POST", "/queues/large/take?max=100&lease=100ms"),
                    ("GET", "/timeouts?limit=1000&payload=1"), ("GET", "/timeouts/large-1"),
                    ("POST", "/timeouts", objects), ("GET", "/metrics"), ("GET", "/queues"),
                    ("POST", "/queues/q/take?max=1000&lease=100ms"),
                    ("PUT", "/timeouts/new", {"delay": 1000, "payload": 65000 * "x"}))
        statuses, ended = set(), 0
        for _ in range(2):
            others = [(daemon.client(), request) for request in 10 * requests]
            for other, request in others:
                with contextlib.suppress(ConnectionError):
                    other.send(*request)
            for other, _ in others:
                try:
                    statuses.add(other.answer().status)
                except (ConnectionError, http.client.HTTPException):
                    ended += 1
            daemon.hang_up()
        print(f"# statuses {sorted(statuses)}, and {ended} of 160 connections ended")
        equal(statuses & {503, 507} == set(), False)
        equal(daemon.client().request("GET", "/health").status, 200)
        client = daemon.client()
        while keys:
            for timeout in client.take("q", max=100, wait=30):
                if client.ack(timeout["token"]) == 204:
                    keys.remove(timeout["key"])
        resource.prlimit(daemon.process.pid, resource.RLIMIT_DATA, (-1, -1))
        equal(client.put("after", delay=1000).status, 201)
        found = listed(client)
        daemon.restart()
        equal(listed(daemon.client()), found)
        equal(found - {"new"}, {"after"} | {f"large-{number}" for number in range(100)})
        daemon.is_sound()


def main():
    tap = Tap()
    print("TAP version 13", flush=True)
    os.makedirs(base, exist_ok=True)
    for test in (a_full_disk_of_small_timeouts_drains, a_full_disk_of_large_timeouts_drains,
                 a_full_disk_is_written_over,
                 a_full_disk_is_written_over_by_large_batches, a_full_disk_refuses_a_put,
                 a_full_disk_refuses_a_batch, a_full_disk_refuses_many_clients, a_failing_disk_makes_it_unknown,
                 a_disk_that_fails_to_write_loses_nothing, a_hanging_disk_has_a_limit_of_time,
                 a_disk_that_stalls_keeps_nobody_else_waiting,
                 a_stalled_disk_does_not_hide_the_stop,
                 a_request_that_came_while_the_daemon_was_stopped_is_answered,
                 a_lease_that_ended_while_the_daemon_was_stopped_is_in_nobodys_way,
                 no_allocation_that_fails_is_noticed, where_memory_ends_nothing_is_lost,
                 without_memory_new_timeouts_are_refused,
                 without_memory_large_requests_end_nobody):
        if not sys.argv[5:] or test.__name__ in sys.argv[5:]:
            tap.run(test)
    sys.exit(tap.end())


main()
