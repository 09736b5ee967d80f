#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""durable_bench.py HWHEELD LOAD FOLDER OUT [NAME=VALUE...]: hwheeld beside what else there is.

Redis (appendfsync always, transactions in one write, a sorted set that is polled every 10 ms),
beanstalkd (-f0, where it is installed) and a table of SQLite do the same work on the same disk, in
rounds that take turns. OUT gets all figures as JSON. NAME is rounds (5; 0: only what depends on the
wheel), ms (1000), pending (1000000), lateness (10000), wheel (text), data (folder of hwheeld's
database, if not FOLDER).
"""
import contextlib
import json
import math
import os
import random
import shutil
import socket
import sqlite3
import statistics
import subprocess
import sys
import time

from several import post_all
from daemon import Daemon, until

program, load, base, out = sys.argv[1:5]
options = {"rounds": "5", "ms": "1000", "pending": "1000000", "lateness": "10000",
           "wheel": "of the module"} | dict(word.split("=", 1) for word in sys.argv[5:])
ROUNDS, MS, PENDING = (int(options[name]) for name in ("rounds", "ms", "pending"))
TICKS = os.sysconf("SC_CLK_TCK")
# Of what is pending, as load.c has it
PAYLOAD = "0123456789" * 10
FAR = 100000
BATCH = 500


def cpu_seconds(pid):
    with open(f"/proc/{pid}/stat", encoding="utf-8") as stream:
        fields = stream.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def wakeups(pid):
    """Of all its threads"""
    total = 0
    for thread in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{thread}/status", encoding="utf-8") as stream:
            total += sum(int(line.split()[1]) for line in stream if "ctxt_switches" in line)
    return total


def has_settled(pid):
    """Its clients are gone, so that only the socket for new ones is left, and its threads sleep."""
    files = [os.readlink(f"/proc/{pid}/fd/{name}") for name in os.listdir(f"/proc/{pid}/fd")]
    threads = os.listdir(f"/proc/{pid}/task")
    return (sum(name.startswith("socket:") for name in files) == 1 and
            all(state(f"/proc/{pid}/task/{thread}/stat") == "S" for thread in threads))


def state(path):
    with open(path, encoding="utf-8") as stream:
        return stream.read().rsplit(")", 1)[1].split()[0]


def data(folder):
    """Where a database is: a user-mode kernel has sockets in its own memory only."""
    if "data" not in options:
        return folder
    path = f"{options['data']}/{os.path.basename(folder)}"
    shutil.rmtree(path, ignore_errors=True)
    os.makedirs(path)
    return path


class Hwheeld:
    kind = "hwheeld"

    def __init__(self, folder):
        self.daemon = Daemon(program, folder, tick="10ms", timeouts=3000000,
                             database=f"{data(folder)}/log.sqlite")
        self.daemon.poison = False
        self.where = self.daemon.socket

    def __enter__(self):
        self.daemon.start()
        self.pid = self.daemon.process.pid
        return self

    def __exit__(self, *_):
        self.daemon.stop()

    def fill(self, count):
        batches = ([{"key": f"as-{i}", "delay": FAR, "payload": PAYLOAD}
                    for i in range(first, min(first + BATCH, count))]
                   for first in range(0, count, BATCH))
        post_all(self.daemon, (json.dumps({"timeouts": batch}) for batch in batches), 1)


class Peer:
    def __init__(self, folder):
        self.folder = folder
        self.where = f"{folder}/{self.kind}.sock"
        os.makedirs(folder, exist_ok=True)


class Redis(Peer):
    kind = "redis"

    def __enter__(self):
        self.process = subprocess.Popen(
            ["redis-server", "--port", "0", "--unixsocket", self.where, "--dir", self.folder,
             "--appendonly", "yes", "--appendfsync", "always", "--save", "",
             "--auto-aof-rewrite-percentage", "0"], stdout=subprocess.DEVNULL)
        until(lambda: os.path.exists(self.where), "redis")
        self.pid = self.process.pid
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()

    def fill(self, count):
        due = int((time.time() + FAR) * 1000)
        with subprocess.Popen(["redis-cli", "-s", self.where, "--pipe"], stdin=subprocess.PIPE,
                              stdout=subprocess.DEVNULL, text=True) as client:
            client.stdin.writelines(
                f"HSET payloads as-{i} {PAYLOAD}\r\nZADD timeouts {due} as-{i}\r\n"
                for i in range(count))


class Beanstalkd(Peer):
    kind = "beanstalkd"

    def start(self, sync):
        self.process = subprocess.Popen(["beanstalkd", "-l", f"unix:{self.where}", "-b",
                                         self.folder, sync])
        self.pid = self.process.pid
        until(self.answers, "beanstalkd")

    def answers(self):
        with socket.socket(socket.AF_UNIX) as client:
            return not client.connect_ex(self.where)

    def __enter__(self):
        self.start("-f0")
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()

    def fill(self, count):
        """Without a synchronisation for each put, which the daemon has before and behind."""
        put = f"put 0 {FAR} 60 {len(PAYLOAD)}\r\n{PAYLOAD}\r\n".encode()
        self.__exit__()
        self.start("-F")
        with socket.socket(socket.AF_UNIX) as client, client.makefile("rb") as answers:
            client.connect(self.where)
            for first in range(0, count, BATCH):
                lines = min(BATCH, count - first)
                client.sendall(put * lines)
                for _ in range(lines):
                    assert answers.readline().startswith(b"INSERTED")
        self.__exit__()
        self.start("-f0")


class Table:
    kind = "table"
    pid = None

    def __init__(self, folder):
        os.makedirs(folder, exist_ok=True)
        self.where = f"{folder}/table.sqlite"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def fill(self, count):
        run(self, 1, "recent", 0, ms=1)     # makes the table
        due = int((time.time() + FAR) * 1000)
        with sqlite3.connect(self.where) as table:
            table.executemany("REPLACE INTO timeouts VALUES (?, 'default', ?, ?)",
                              ((f"as-{i}", due, PAYLOAD) for i in range(count)))


KEEPERS = [Hwheeld, Redis, *([Beanstalkd] if shutil.which("beanstalkd") else []), Table]


def run(keeper, clients, operation, seed, ms=MS, pending=0):
    """Operations a second, and the keeper's CPU time for each one in us"""
    before = cpu_seconds(keeper.pid) if keeper.pid else None
    text = subprocess.run([load, keeper.kind, keeper.where, str(clients), operation, str(ms),
                           str(pending), str(seed)], check=True, stdout=subprocess.PIPE).stdout
    done, ns = (int(word) for word in text.split())
    cpu = (cpu_seconds(keeper.pid) - before) / done * 1e6 if keeper.pid else None
    return {"rate": done / ns * 1e9, "cpu_us": cpu}


def cases(pending):
    for clients in (1, 64):
        yield clients, "recent", pending
        if pending:
            yield clients, "random", pending
        else:
            yield clients, "life", pending


def measure(pending, figures):
    with contextlib.ExitStack() as stack:
        keepers = [stack.enter_context(make(f"{base}/{make.kind}-{pending}"))
                   for make in (KEEPERS if ROUNDS else (Hwheeld,))]
        for keeper in keepers:
            if pending:
                since = time.monotonic()
                keeper.fill(pending)
                print(f"filled {keeper.kind} in {time.monotonic() - since:.1f} s", flush=True)
        for seed in range(1, ROUNDS + 1):
            for clients, operation, _ in cases(pending):
                for keeper in keepers if seed % 2 else reversed(keepers):
                    found = run(keeper, clients, operation, seed, pending=pending)
                    figures.setdefault((keeper.kind, clients, operation, pending), []).append(found)
        if pending:
            idle(keepers[0], figures)


def idle(keeper, figures):
    """Wake-ups when all of them are pending, and nothing is due"""
    until(lambda: has_settled(keeper.pid), "the daemon has nothing to do")
    before, since = wakeups(keeper.pid), time.monotonic()
    time.sleep(10)
    figures["idle"] = {"pending": PENDING, "seconds": time.monotonic() - since,
                       "wakeups": wakeups(keeper.pid) - before}
    with open(f"/proc/{keeper.pid}/status", encoding="utf-8") as stream:
        figures["idle"]["rss_kb"] = next(int(line.split()[1]) for line in stream
                                         if line.startswith("VmRSS"))


def quantiles(late):
    late = sorted(late)
    return {"p50_ms": late[len(late) // 2] * 1e3, "p99_ms": late[len(late) * 99 // 100] * 1e3,
            "max_ms": late[-1] * 1e3, "count": len(late)}


def lateness_of_hwheeld():
    """From the deadline until a client has it with a lease that is on disk"""
    count, chance, late = int(options["lateness"]), random.Random(1), []
    with Hwheeld(f"{base}/lateness") as keeper:
        client = keeper.daemon.client()
        for first in range(0, count, 500):
            client.put_many([{"key": str(k), "delay": 4 + chance.random() * 10}
                             for k in range(first, min(first + 500, count))])
        while len(late) < count:
            late += [timeout["late"] for timeout in client.take(max=100, wait=30)]
        commits = client.metric("hwheeld_commits_total")
        return quantiles(late) | {
            "tick_ms": 10, "due_max_ms": client.metric("hwheeld_lateness_max_seconds") * 1e3,
            "commit_ms": client.metric("hwheeld_commit_seconds_sum") / commits * 1e3,
            "commit_max_ms": client.metric("hwheeld_commit_max_seconds") * 1e3}


def sync_times():
    """What the disk takes for 4 KiB that are written again"""
    times = []
    with open(f"{options.get('data', base)}/sync", "wb") as stream:
        stream.write(bytes(1 << 20))
        os.fsync(stream.fileno())
        for _ in range(500):
            stream.seek(0)
            stream.write(bytes(4096))
            stream.flush()
            since = time.perf_counter()
            os.fdatasync(stream.fileno())
            times.append(time.perf_counter() - since)
    times.sort()
    return {"p50_us": times[250] * 1e6, "p99_us": times[495] * 1e6, "max_us": times[-1] * 1e6}


def summary(figures):
    rows = []
    for (kind, clients, operation, pending), found in figures.items():
        rates = [one["rate"] for one in found]
        cpu = [one["cpu_us"] for one in found if one["cpu_us"] is not None]
        rows.append({"kind": kind, "clients": clients, "operation": operation,
                     "pending": pending, "rate": statistics.median(rates),
                     "least": min(rates), "most": max(rates), "rounds": len(rates),
                     "cpu_us": statistics.median(cpu) if cpu else None})
    return rows


def show(result):
    rates = {(r["kind"], r["clients"], r["operation"], r["pending"]): r for r in result["rates"]}
    if rates:
        print("clients operation pending   hwheeld    redis    table  /redis  cpu us: hwheeld redis"
              "  beanstalkd")
    for (kind, *rest), row in rates.items():
        if kind != "hwheeld":
            continue
        other = [rates[(name, *rest)]["rate"] for name in ("redis", "table")]
        print(f"{rest[0]:7} {rest[1]:9} {rest[2]:7} {row['rate']:9.0f} {other[0]:8.0f} "
              f"{other[1]:8.0f} {row['rate'] / other[0]:7.2f} {row['cpu_us']:16.1f} "
              f"{rates[('redis', *rest)]['cpu_us']:5.1f} "
              f"{rates.get(('beanstalkd', *rest), {'rate': math.nan})['rate']:11.0f}")
    for name in ("sync", "sync_after", "lateness", "idle"):
        print(name, json.dumps(result[name]))


def main():
    shutil.rmtree(base, ignore_errors=True)
    os.makedirs(base)
    figures = {}
    result = {"wheel": options["wheel"], "ms": MS, "cpus": os.cpu_count(), "sync": sync_times()}
    result["lateness"] = lateness_of_hwheeld()
    if ROUNDS:
        measure(0, figures)
    measure(PENDING, figures)
    result["idle"] = figures.pop("idle")
    result["sync_after"] = sync_times()
    result["rates"] = summary(figures)
    with open(out, "w", encoding="utf-8") as stream:
        json.dump(result, stream, indent=1)
    show(result)
    shutil.rmtree(base, ignore_errors=True)


main()
