# SPDX-License-Identifier: GPL-2.0-only
"""Can the tests fail? Makes mutants of the module, and sees which test notices each.

usage: [N=20] [SEED=1] [ONLY="ID..."] [LANES=2] [RECORD=FILE] python3 kunit/mutants [check]

SEED picks N mutants; ONLY has globs of ids in their place. KUnit judges a mutant, and where it does
not notice, kselftests (the file reached). A survivor in a function and by a rule that the file
accepted has is no fault, and what does not compile counts neither way. Nothing that RECORD has is
run again. Fails if the tests do not pass without a fault, or if no mutant compiles.
"""

import collections
import concurrent.futures
import contextlib
import fcntl
import fnmatch
import os
import pathlib
import queue
import re
import resource
import shutil
import signal
import subprocess
import sys
import threading
import time

import rules

HERE = pathlib.Path(__file__).resolve().parent
TOP = HERE.parents[1]
WORK = pathlib.Path(os.environ.get("HWHEEL_CACHE") or os.path.expanduser(
    os.environ.get("XDG_CACHE_HOME", "~/.cache")) + "/hwheel") / "mutants"
ARGUMENTS = ["mem=1G", "console=tty", "kunit_shutdown=halt", "time-travel=inf-cpu",
             "hwheel.model_seed=1", "hwheel.soak_seed=1", "hwheel.model_ops=100000",
             "hwheel.soak_timeouts=100000"]
# Suites that take seconds come last.
LONG = re.compile(r"/(slots|stats|wheel|kinds|model|soak)_test")
CALLED = "(gcc .*-o vmlinux .*)", r"(scripts/kallsyms .*) \S+", r"(gcc .*) -c -o \S+kallsyms.o .*"


def output(*command, **more):
    return subprocess.run(command, check=True, text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, **more).stdout


def is_engine(mutant):
    """Do KUnit's suites of the engine reach the code?"""
    return mutant.file.startswith(("engine/", "include/"))


class Run:
    """A kernel with KUnit: the cases that passed, and what noticed. One with a mutant hangs if it
    takes twice the processor time of the whole run without, or waits far longer than a busy
    machine explains."""

    words = output("bash", "-c", f". {TOP}/selftests/harness/complaints.sh && "
                   "echo \"$complaints\"").strip()

    def __init__(self, lane, whole=None):
        self.passed, self.suite, self.catcher, self.asked = [], "boot", "", False
        used, begun = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime, time.monotonic()
        cpu, wall = (2 * whole.cpu + 10, 5 * whole.wall + 600) if whole else (3600, 3600)
        with subprocess.Popen(["timeout", f"{wall:.0f}", "prlimit", f"--cpu={cpu:.0f}",
                               lane / "linux", *ARGUMENTS],
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, start_new_session=True) as process:
            ended = any(self.take(line.decode(errors="replace")) for line in process.stdout)
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
        self.cpu = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - used
        self.wall = time.monotonic() - begun
        if not ended or not self.catcher and whole and len(self.passed) < len(whole.passed):
            self.catcher = f"{self.suite} does not end behind {''.join(self.passed[-1:])}"
        if self.catcher and not whole:
            sys.exit(f"mutants: without a fault: {self.catcher}")

    def take(self, line):
        """Returns whether there is no more to read."""
        if found := re.match(r"    # Subtest: (\S+)", line):
            self.suite = found[1]
        elif found := re.match(r"    (not )?ok \d+ (\S+)", line):
            self.passed.append(f"{self.suite}.{found[2]}")
            self.catcher = self.passed[-1] if found[1] else ""
        elif found := re.search("hwheel: (a complaint is|the complaint was) asked for", line):
            self.asked = found[1].endswith("is")
        elif not self.asked and re.match(self.words, line):
            self.catcher = f"{self.suite} behind {''.join(self.passed[-1:])}: {line.strip()}"
        return self.catcher or "reboot: System halted" in line


class KUnit:
    """The kernel without a fault, which kunit/run.sh builds, and the commands that made it."""

    def __init__(self, top, mutants):
        self.top = top
        env = {**os.environ, "HWHEEL_JOB": "-mutants", "FILTER": "hwheel_timens"}
        output(top / "kunit/run.sh", env=env)
        place = (top / "build/kunit").resolve()
        self.folder, self.place = place.parents[2], "/".join(place.parts[-3:])
        self.source = f"{(self.folder / 'source').resolve()}/{self.place}"
        names = output("ar", "t", "vmlinux.a", cwd=self.folder).split()
        self.others = [name for name in names if not name.startswith(self.place)]
        self.own = {name: (self.folder / re.sub(r"([^/]*)$", r".\1.cmd", name, count=1)).read_text(
            encoding="utf-8") for name in names if name.startswith(self.place)}
        (self.folder / "vmlinux").unlink()
        made = output("make", "-C", self.folder, "ARCH=um", "V=1", "vmlinux", env=env)
        self.link, self.symbols, self.assemble = (
            re.findall(rf"^\+ {pattern}$", made, re.MULTILINE)[-1] for pattern in CALLED)
        self.whole = {engine: self.run(top, {}, engine) for engine in set(map(is_engine, mutants))}

    def users_of(self, mutant):
        """The objects of a source; of a header the objects that call the function, also by another."""
        texts = {path: path.read_text(encoding="utf-8")
                 for path in self.top.glob("[mk]*/**/*.[ch]")}
        called, more = set(), {mutant.function}
        while called != more:
            called, calls = more, re.compile(rf"\b({'|'.join(more)})\b")
            more = called | {name[1] for path, text in texts.items() if path.suffix == ".h"
                             for body in rules.BODY.finditer(text)
                             if calls.search(body[2]) and (name := rules.NAME.search(body[1]))}
        files = [str(path.relative_to(self.top)) for path, text in texts.items()
                 if calls.search(text) and (path.suffix == ".c" or "kunit" in path.parts)]
        return [name for name, text in self.own.items() if f"module/{mutant.file}" in text and
                (mutant.file.endswith(".c") or any(file in text for file in files))]

    def shell(self, command):
        output("sh", "-c", command, cwd=self.folder)

    def compile(self, lane, name):
        command = self.own[name].partition(" := ")[2].partition("\n")[0]
        self.shell(command.replace(self.source, str(lane)).replace(self.place, str(lane)))
        return name.replace(self.place, str(lane))

    def run(self, lane, made, engine, whole=None):
        """With all suites, or those of the device. The log names functions by a table of symbols,
        which stays right, as what is compiled anew comes behind those functions."""
        own = [name for name in self.own if "/kunit/" in name and (engine or "/device/" in name)]
        own.sort(key=lambda name: bool(LONG.search(name)))
        own += [name for name in self.own if "/kunit/" not in name]
        (lane / "objects").write_text("\n".join(made.get(name, name) for name in self.others + own),
                                      encoding="utf-8")
        link = self.link.replace("-o vmlinux ", f"-o {lane}/linux ").replace(
            " vmlinux.a ", f" @{lane}/objects ")
        table = f"{WORK}/symbols-{engine:d}"
        if not whole:
            self.shell(f"{link} && nm -n {lane}/linux | sed -f source/scripts/mksysmap >{table} && "
                       f"{self.symbols} {table} >{table}.S && "
                       f"{self.assemble} -c -o {table}.o {table}.S")
        self.shell(re.sub(r"\S+\.kallsyms\.o", f"{table}.o", link))
        return Run(lane, whole)

    def judge(self, mutant, lane):
        engine = is_engine(mutant)
        with put_into(mutant, lane):
            made = {name: self.compile(lane, name) for name in self.users_of(mutant)}
            return self.run(lane, made, engine, self.whole[engine]).catcher


class Selftests:
    """Kselftests that reach a file, and the module, in another user-mode kernel"""

    def __init__(self, top):
        self.top, self.passed = top, []

    def run(self, tests):
        return subprocess.run(["python3", "-B", "selftests/harness", "--on", "native", *tests],
                              check=False, text=True, cwd=self.top, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, env=os.environ | {"SEED": "1"})

    def judge(self, mutant):
        tests = next((tests for name, *tests in rows_of("reached")
                      if re.match(name, mutant.file)), None)
        if not tests:
            return ""
        if tests not in self.passed:
            if self.run(tests).returncode:
                sys.exit(f"mutants: without a fault: {' '.join(tests)}")
            self.passed.append(tests)
        with put_into(mutant, self.top):
            run = self.run(tests)
        found = re.search(rf"^(failed: |{Run.words}).*", run.stdout, re.MULTILINE)
        return (found[0] if found else "the end of kselftests") if run.returncode else ""


def rows_of(name):
    lines = (HERE / name).read_text(encoding="utf-8").splitlines()
    return [line.split() for line in lines if line and not line.startswith("#")]


@contextlib.contextmanager
def put_into(mutant, top):
    """The project in the folder top has the fault meanwhile."""
    text = (TOP / "module" / mutant.file).read_text(encoding="utf-8")
    path = top / "module" / mutant.file
    path.write_text(text[:mutant.start] + mutant.new + text[mutant.end:], encoding="utf-8")
    try:
        yield
    finally:
        path.write_text(text, encoding="utf-8")


def copy_project(name):
    shutil.rmtree(WORK / name, ignore_errors=True)
    return shutil.copytree(TOP, WORK / name, copy_function=shutil.copy,
                           ignore=shutil.ignore_patterns(".git", "build", "tools", "doc", "debian"))


def chosen():
    mutants = [*rules.every(TOP / "module"), *rules.by_hand(
        TOP / "module", (HERE / "races").read_text(encoding="utf-8"))]
    if only := (os.environ.get("ONLY") or "").split():
        return [one for one in mutants if any(fnmatch.fnmatch(one.id, glob) for glob in only)]
    return rules.pick(mutants, int(os.environ.get("N") or 20), os.environ.get("SEED") or "1")


def judge(mutant, kunit, selftests, lanes, alone):
    """Returns a verdict, and what noticed the mutant."""
    lane = lanes.get()
    try:
        if not (catcher := kunit.judge(mutant, lane)):
            with alone:
                catcher = selftests.judge(mutant)
    except subprocess.CalledProcessError:
        return "broken", ""
    finally:
        lanes.put(lane)
    accepted = mutant.id.split(":")[1:3] in (row[:2] for row in rows_of("accepted"))
    return "killed" if catcher else "accepted" if accepted else "survived", catcher


def main():
    # The make that began this hands no variables on.
    os.environ.pop("MAKEFLAGS", None)
    mutants = chosen()
    if sys.argv[1:] == ["check"]:
        return 0
    record = pathlib.Path(os.environ.get("RECORD") or TOP / "build/mutants.txt")
    record.parent.mkdir(exist_ok=True)
    if not os.environ.get("RECORD"):
        record.write_text("", encoding="utf-8")
    WORK.mkdir(parents=True, exist_ok=True)
    with open(record, "a+", encoding="utf-8") as file, open(WORK / "lock", "wb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        file.seek(0)
        known = {line.split("\t")[1]: line.split("\t")[0] for line in file}
        lanes, alone = queue.SimpleQueue(), threading.Lock()
        for number in range(int(os.environ.get("LANES") or 2)):
            lanes.put(copy_project(f"lane-{number}"))
        top = copy_project("top")
        kunit, selftests = KUnit(top, mutants), Selftests(top)

        def test(mutant):
            if mutant.id in known:
                return known[mutant.id]
            verdict, catcher = judge(mutant, kunit, selftests, lanes, alone)
            print(verdict, mutant.id, catcher, sep="\t", file=file, flush=True)
            print(f"  {verdict:9} {mutant.id}  {catcher}", flush=True)
            return verdict

        with concurrent.futures.ThreadPoolExecutor(lanes.qsize()) as threads:
            verdicts = collections.Counter(threads.map(test, mutants))
    judged = verdicts["killed"] + verdicts["survived"]
    print(f"{verdicts['killed']} of {judged} mutants killed, {verdicts['survived']} survived, "
          f"{verdicts['accepted']} accepted, {verdicts['broken']} do not compile")
    return 0 if judged else 1


if __name__ == "__main__":
    sys.exit(main())
