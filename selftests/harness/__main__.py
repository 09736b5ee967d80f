# SPDX-License-Identifier: GPL-2.0-only
"""Runs tests of the table (selftests/harness/tests): gets and builds what they need, boots each
machine once, and writes build/check.tap.

python3 -B selftests/harness SET|NAME...       quick, check or all, or tests, MACHINE:NAME, machines; globs
python3 -B selftests/harness --on MACHINE,... [NAME]...  all of these machines, or these tests there
python3 -B selftests/harness --list [SET]      the rows

The last line says how many test points passed, failed and were skipped. build/check has what each
job printed and what its machine left, and build/check.md a row for each job, of which doc/results.md
is made: test points, the operations of random tests and states of models, minutes, commit.

From the environment: with FIRST kselftests end at the first test point that fails; MORE has the
seconds that a test may take beyond three times those of the table, 1800 if it is not set.
"""
import argparse
import concurrent.futures
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time

import ktap
import machines
import table

HERE = os.path.dirname(os.path.relpath(__file__))
LANES = 2
LOGS = "build/check"
# A test that has not ended after so many times its seconds, and the second number, hangs: machines
# may be busy, those that look for faults have no times of their own, and some build a kernel.
PATIENCE, MORE = 3, int(os.environ.get("MORE") or 1800)
DONE = re.compile(r"^ *# .*?\b(?:operations|states|programs)=(\d+)", re.MULTILINE)


def say(text):
    print(f"  {text}", file=sys.stderr, flush=True)


def minutes(seconds):
    return f"{int(seconds) // 60} min {int(seconds) % 60:02} s"


class Needs:
    """What tests need: met once, whoever asks first. needs.sh gets packages and kernels, and prints
    variables; build.sh builds, for the kernel that was chosen."""

    def __init__(self):
        self.lock = threading.Lock()
        self.met = {}

    def meet(self, need, env, log):
        key = (need, env.get("KVER"))
        with self.lock:
            lock, found = self.met.setdefault(key, (threading.Lock(), {}))
        with lock:
            if "env" not in found:
                found["env"] = self.get(need, env, log)
            return found["env"]

    def get(self, need, env, log):
        got = subprocess.run([f"{HERE}/needs.sh", need], env=env, stdout=subprocess.PIPE,
                             stderr=log, stdin=subprocess.DEVNULL, text=True, check=True).stdout
        variables = dict(word.split("=", 1) for word in got.split())
        subprocess.run([f"{HERE}/build.sh", need], env=env | variables, stdout=log, stderr=log,
                       stdin=subprocess.DEVNULL, check=True)
        return variables

    def env(self, needs, log, out, **more):
        top = os.getcwd()
        env = {"STRICT": "1"} | os.environ | {"TOP": top, "OUT": f"{top}/{out}",
                                              "TOOLS": f"{top}/build/tools",
                                              "JAVA": f"{top}/build/java",
                                              "PROGRAMS": f"{top}/build/selftests"} | more
        for need in needs:
            env |= self.meet(need, env, log)
            if need in machines.MACHINES and "KVER" in env:
                env["BOOT"] = " ".join(machines.boot_words(need, env))
            if "SYSROOT" in env:
                env["PROGRAMS"] = f"{top}/build/selftests-{env['ARCH']}"
            if "KVER" in env:
                env |= {"MODULE": f"{top}/build/module-{env['KVER']}",
                        "MODULES": f"{top}/build/modules-{env['KVER']}"}
        return env


def read(path):
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError:
        return ""


class Job:
    """Tests that run together: one on this machine, or all of another machine in one boot"""

    def __init__(self, name, rows):
        self.name = name
        self.rows = rows
        self.out = f"{LOGS}/{name.replace(':', '-')}"
        self.seconds = sum(row.seconds for row in rows)
        self.timeout = PATIENCE * self.seconds + MORE
        self.ended = False
        self.since = None

    def call(self, command, env, log, timeout):
        """Returns the status. A command that hangs is killed; a machine has a timeout of its own."""
        process = subprocess.Popen(command, env=env, stdin=subprocess.DEVNULL, stdout=log,
                                   stderr=log, start_new_session=True)
        try:
            return process.wait(timeout)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            say(f"{self.name}: hangs, after {minutes(timeout)}")
            return 124

    def here(self, row, env, path):
        with open(path, "wb") as log:
            status = self.call(["bash", "-o", "pipefail", "-c", row.command], env, log,
                               self.timeout)
        text = read(path)
        if row.kind == "command":
            return [(ktap.FAILED if status else ktap.PASSED, f"status {status}")]
        return self.reader.points(text, status)

    def run(self, needs, reader, bound):
        self.reader = reader
        self.since = time.monotonic()
        first = self.rows[0]
        tests = [row for row in self.rows if row.kind != "after"]
        with open(f"{self.out}.log", "wb") as log:
            if first.machine == "host":
                env = needs.env(first.needs, log, self.out)
                return [(first.name, self.here(first, env, f"{self.out}.log"))]
            if first.machine == "kunit":
                env, found = needs.env((), log, self.out), self.kunit(tests, log) if tests else []
            else:
                env, found = self.boot(tests, needs, log, bound)
            return found + [(row.name, self.here(row, env, f"{LOGS}/{row.name}.log"))
                            for row in self.rows if row.kind == "after"]

    def kunit(self, rows, log):
        env = {"TIMEOUT": "900"} | os.environ
        env |= {"FILTER": rows[0].name} if len(rows) == 1 else {}
        status = self.call(["kunit/run.sh"], env, log, self.timeout)
        suites = self.reader.suites(read("build/kunit.tap"))
        found = [(row.name, suites.pop(row.name, [(ktap.FAILED, "it did not run")]))
                 for row in rows]
        if len(rows) > 1:
            found += [(name, points + [(ktap.FAILED, "the table does not have it")])
                      for name, points in suites.items()]
        return found + [("kunit", [(ktap.FAILED if status else ktap.PASSED, "status")])]

    def boot(self, rows, needs, log, bound):
        name = self.rows[0].machine
        kernel, _, (builds, _, _) = machines.machine(name)
        wanted = dict.fromkeys([kernel, *builds, *(need for row in rows for need in row.needs)])
        programs = " ".join(machines.plain(row) for row in rows if row.kind == "kselftest")
        env = needs.env(wanted, log, self.out, TESTS=programs)
        # A user-mode kernel runs no 32-bit programs, and other machines are tested with their own.
        if "SYSROOT" in env or env.get("ARCH") == "um":
            rows = [row for row in rows if not row.name.endswith("_32")]
        # On other machines all is short that may be.
        bound = bound if name == "vm" or not bound else 2
        command = machines.boot(name, rows, env, self.out, bound, self.timeout)
        status = self.call(command, env, log, self.timeout + MORE)
        found = [(row.name, self.reader.points(read(f"{self.out}/{machines.plain(row)}.tap"), 0))
                 for row in rows]
        guest = read(f"{self.out}/guest.tap")
        found.append((name, (self.reader.points(guest, 0) if guest else []) +
                      [(ktap.FAILED if status else ktap.PASSED, f"{name}: the machine")]))
        return env, found


def points_of(found):
    return [point for _, of_one in found for point in of_one]


def failures(found):
    return [f"{name}: {point}" for name, of_one in found for verdict, point in of_one
            if verdict == ktap.FAILED]


def jobs_of(rows):
    """The longest come first, so that none of them is left alone at the end."""
    grouped = {}
    for row in rows:
        grouped.setdefault(row.name if row.machine == "host" else row.machine, []).append(row)
    jobs = [Job(name, rows) for name, rows in grouped.items()]
    return sorted(jobs, key=lambda job: -job.seconds)


def last_line(job):
    lines = read(f"{job.out}.log").splitlines()
    return lines[-1][:80] if lines else ""


def show_progress(jobs, stop):
    """Twice a minute: what runs, and how long the rest takes by the table"""
    while not stop.wait(30):
        now = time.monotonic()
        left = sum(max(0, job.seconds - (now - job.since if job.since else 0))
                   for job in jobs if not job.ended)
        for job in jobs:
            if job.since and not job.ended:
                say(f"{job.name}: {last_line(job)}")
        say(f"about {minutes(left / LANES)} left")


def run(job, *arguments):
    try:
        found = job.run(*arguments)
    except Exception as error:
        found = [(job.name, [(ktap.FAILED, f"{type(error).__name__}: {error}")])]
    job.ended = True
    job.took = time.monotonic() - job.since
    say(f"{job.name}: {ktap.summary(points_of(found))}, in {minutes(job.took)}")
    if failures(found):
        for failure in failures(found):
            say(f"  not ok: {failure}")
        lines = read(f"{job.out}.log").splitlines()
        first = next((n for n, line in enumerate(lines) if line.lstrip().startswith("not ok")),
                     len(lines))
        say(f"see {job.out}.log, where the first failure is:")
        print("\n".join(lines[max(0, first - 40):first + 10]), file=sys.stderr)
    return found


def table_row(job, found, commit):
    points = points_of(found)
    done = sum(map(int, DONE.findall(read(f"{job.out}.log"))))
    counts = [ktap.count(points, verdict) for verdict in (ktap.PASSED, ktap.SKIPPED, ktap.FAILED)]
    return (f"| {job.name} | {' | '.join(map(str, counts))} | {done:,} | {job.took / 60:.1f} | "
            f"{commit} |")


def show(row, needs):
    """A demonstration is watched."""
    with open(f"{LOGS}/{row.name}.log", "wb") as log:
        say(f"{row.name}: building what it needs")
        env = needs.env(row.needs, log, f"{LOGS}/{row.name}")
    return subprocess.call(["bash", "-o", "pipefail", "-c", row.command], env=env)


def choose(rows, arguments):
    if arguments.on:
        asked = [row for name in arguments.on.split(",") for row in table.of_machine(rows, name)
                 if not arguments.what or machines.plain(row) in arguments.what]
        return sorted(asked, key=lambda row: arguments.what and
                      arguments.what.index(machines.plain(row)))
    chosen = {}
    for name in arguments.what:
        for row in (table.of_set(rows, name) if name in table.SETS else
                    table.of_machine(rows, name) if any(name == row.machine for row in rows) else
                    table.named(rows, name)):
            chosen[row.name] = row
    return list(chosen.values())


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", nargs="*", help="quick, check, all, or tests or machines")
    parser.add_argument("--on", help="machines, of which all tests are run")
    parser.add_argument("--list", action="store_true", help="show the rows")
    arguments = parser.parse_args()
    try:
        rows = choose(table.read(f"{HERE}/tests"), arguments)
    except ValueError as error:
        sys.exit(f"harness: {error}")
    if arguments.list:
        return print("\n".join(f"{row.name} {row.machine} {row.seconds}" for row in rows))
    if not rows:
        parser.error("no test is named")
    needs = Needs()
    if rows[0].kind == "demo":
        os.makedirs(LOGS, exist_ok=True)
        sys.exit(show(rows[0], needs))
    # The results of an earlier run must not pass for those of this one.
    shutil.rmtree(LOGS, ignore_errors=True)
    os.makedirs(LOGS)
    with open(f"{LOGS}/needs.log", "wb") as log:
        # For all jobs: the first one that builds the daemon builds its tests, too.
        os.environ |= needs.meet("source", dict(os.environ), log)
    reader = ktap.Reader(os.environ["KSRC"])
    jobs = jobs_of(rows)
    stop = threading.Event()
    threading.Thread(target=show_progress, args=(jobs, stop), daemon=True).start()
    # How long tests go: as in make check, as in make check-all, or as long as they like
    bound = 0 if arguments.on and not arguments.what else 1 if "all" in arguments.what else 2
    with concurrent.futures.ThreadPoolExecutor(LANES) as pool:
        of_jobs = list(pool.map(lambda job: run(job, needs, reader, bound), jobs))
    stop.set()
    found = [one for of_job in of_jobs for one in of_job]
    ktap.write("build/check.tap", found)
    commit = subprocess.run(["git", "describe", "--always", "--dirty", "--abbrev=12"], text=True,
                            stdout=subprocess.PIPE, check=False).stdout.strip()
    with open("build/check.md", "w", encoding="utf-8") as file:
        for job, of_job in zip(jobs, of_jobs):
            print(table_row(job, of_job, commit), file=file)
    for failure in failures(found):
        print(f"failed: {failure}")
    print(ktap.summary(points_of(found)))
    sys.exit(1 if failures(found) else 0)


main()
