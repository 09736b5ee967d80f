# SPDX-License-Identifier: GPL-2.0-only
"""Can the tests fail? Makes mutants of the module, and sees which test notices each.

[N=20] [SEED=1] [ONLY="ID..."] [KSELFTESTS=y] [LANES=2] [RECORD=FILE] python3 kunit/mutants [check]
[N=20] ... KSRC=/unpacked/kernel/source python3 kunit/mutants local

SEED picks N mutants; ONLY has globs of ids in their place. KUnit judges each. A mutant that it
does not notice, in a file that reached lists, is left to kselftests, which judge with KSELFTESTS. A
mutant that does not compile is broken. A mutant that RECORD has is not run again. Fails if the
tests do not pass without a fault, or if no mutant is killed or survives. With local it makes
mutants of the wheel inside a program, which local_test judges.
"""
import collections
import concurrent.futures
import fcntl
import fnmatch
import os
import pathlib
import re
import shutil
import subprocess
import sys
import threading

import rules

TOP = pathlib.Path(__file__).resolve().parents[2]
LOCAL = sys.argv[1:] == ["local"]
NAME = "mutants-local" if LOCAL else "mutants"
JOB = os.environ.get("HWHEEL_JOB", "") + "-" + NAME
# Without a fault it takes a tenth of these seconds. One that waits computes: time is simulated.
KERNEL = ["prlimit", "--cpu=120", "./linux", "mem=1G", "console=tty", "kunit_shutdown=halt",
          "time-travel=inf-cpu", "hwheel.model_seed=1", "hwheel.soak_seed=1",
          "hwheel.model_ops=100000", "hwheel.soak_timeouts=100000"]
CALLED = "(gcc .*-o vmlinux .*)", r"(scripts/kallsyms .*) \S+", r"(gcc .*) -c -o \S+kallsyms.o .*"
# Suites that take seconds come last.
LONG = re.compile(r"/(slots|stats|wheel|kinds|model|soak)_test")
PIPE = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT,
        "errors": "replace"}
COMPLAINT = re.compile(subprocess.check_output(
    ["bash", "-c", ". selftests/harness/complaints.sh && printf %s \"$complaints\""],
    cwd=TOP, text=True))


def output(*command, **more):
    return subprocess.run(command, check=True, **PIPE, **more).stdout


def run_kernel(lane):
    """Returns what notices a fault, if anything does."""
    suite, case, asked = "boot", "", False
    with subprocess.Popen(KERNEL, cwd=lane, **PIPE) as process:
        try:
            for line in process.stdout:
                if found := re.match(r"    # Subtest: (\S+)", line):
                    suite = found[1]
                elif found := re.match(r"    (not )?ok \d+ (\S+)", line):
                    case = f"{suite}.{found[2]}"
                    if found[1]:
                        return case
                elif found := re.search("hwheel: (a complaint is|the complaint was) asked", line):
                    asked = found[1].endswith("is")
                elif not asked and COMPLAINT.match(line):
                    return f"{suite} behind {case}: {line.strip()}"
                elif "reboot: System halted" in line:
                    return "" if case else "no test"
            return f"{suite} does not end behind {case}"
        finally:
            process.kill()


class Local:
    """The wheel inside a program, and its test, which has the wheel in it: each case is a process,
    and a program that computes for ever is ended. The random operations notice most."""

    root = "tools"

    def __init__(self, lane):
        if catcher := self.judge(None, lane):
            sys.exit(f"mutants: without a fault: {catcher}")

    def judge(self, _, lane):
        output("gcc", "-O1", "-std=gnu11", "-D_GNU_SOURCE", f"-I{lane}/tools", "-isystem",
               f"{os.environ['KSRC']}/tools/testing/selftests", "-o", lane / "local_test",
               lane / "tools/test/local_test.c")
        for chosen in "-f", "-F":
            said = subprocess.run(["prlimit", "--cpu=4", lane / "local_test", chosen, "random"],
                                  check=False, env=os.environ | {"OPERATIONS": "1000000"},
                                  **PIPE).stdout
            if failed := re.search(r"^not ok \d+ (.*)", said, re.MULTILINE):
                return failed[1]
            if not re.search(r"^ok ", said, re.MULTILINE):
                return "no test"
        return ""


class KUnit:
    """The kernel without a fault, which kunit/run.sh builds, and the commands that made it"""

    root = "module"

    def __init__(self, lane):
        env = os.environ | {"HWHEEL_JOB": JOB, "FILTER": "hwheel_timens"}
        output(lane / "kunit/run.sh", env=env)
        place = (lane / "build/kunit").resolve()
        self.folder, self.place = place.parents[2], "/".join(place.parts[-3:])
        self.source = f"{(self.folder / 'source').resolve()}/{self.place}"
        names = output("ar", "t", "vmlinux.a", cwd=self.folder).split()
        self.names = sorted(names, key=lambda name: bool(LONG.search(name)))
        self.own = {name: (self.folder / re.sub(r"([^/]*)$", r".\1.cmd", name, count=1)).read_text()
                    for name in names if name.startswith(self.place)}
        (self.folder / "vmlinux").unlink()
        made = output("make", "-C", self.folder, "ARCH=um", "V=1", "vmlinux", env=env)
        self.link, self.table, self.assemble = (
            re.findall(rf"^\+ {called}$", made, re.MULTILINE)[-1] for called in CALLED)
        for engine in (False, True):
            if catcher := self.run(lane, {}, engine):
                sys.exit(f"mutants: without a fault: {catcher}")

    def users_of(self, mutant):
        """The objects of a source, or of all sources that call a header's function in the end."""
        files, called, more = [f"module/{mutant.file}"], set(), {mutant.function}
        if mutant.file.endswith(".h"):
            while called != more:
                called, calls = more, re.compile(rf"\b({'|'.join(more)})\b")
                more = called | {name for path in TOP.glob("[mk]*/**/*.h") for name, _, _, body
                                 in rules.functions(path.read_text()) if calls.search(body)}
            files = [str(path.relative_to(TOP)) for path in TOP.glob("[mk]*/**/*.c")
                     if calls.search(path.read_text())]
        return [name for name, text in self.own.items() if any(file in text for file in files)]

    def run(self, lane, made, engine):
        """With all suites, or those of the device. A test reads the name of a function."""
        (lane / "objects").write_text("\n".join(
            made.get(name, name) for name in self.names if engine or "kunit/engine/" not in name))
        link = self.link.replace("vmlinux.a", f"@{lane}/objects")
        link = link.replace("-o vmlinux", f"-o {lane}/linux")
        output("sh", "-ec", f"""{link}
            nm -n {lane}/linux | sed -f source/scripts/mksysmap >{lane}/symbols
            {self.table} {lane}/symbols >{lane}/symbols.S
            {self.assemble} -c -o {lane}/symbols.o {lane}/symbols.S
            {re.sub("[^ ]+[.]kallsyms[.]o", f"{lane}/symbols.o", link)}""", cwd=self.folder)
        return run_kernel(lane)

    def judge(self, mutant, lane):
        made = {name: name.replace(self.place, str(lane)) for name in self.users_of(mutant)}
        for name in made:
            command = re.search(" := (.*)", self.own[name])[1].replace(self.source, str(lane))
            output("sh", "-c", command.replace(self.place, str(lane)), cwd=self.folder)
        return self.run(lane, made, mutant.file.startswith(("engine/", "include/")))


def kselftests(lane, tests):
    """As run_kernel(), in another user-mode kernel with the module, up to the first that fails"""
    try:
        output("python3", "-B", "selftests/harness", "--on", "native", *tests, cwd=lane,
               env=os.environ | {"SEED": "1", "STRICT": "", "FIRST": "y", "MORE": "300"})
    except subprocess.CalledProcessError as error:
        return (re.findall("failed: .*", error.stdout) or ["kselftests do not end"])[0]
    return ""


def judge(mutant, lane, subject, passed):
    """Returns a verdict, and what noticed the mutant."""
    path = lane / subject.root / mutant.file
    text = path.read_text()
    rows = filter(None, map(str.split, (TOP / "kunit/mutants/reached").read_text().splitlines()))
    tests = next((tests for name, *tests in rows if re.match(name, mutant.file)), [])
    behind = tests and os.environ.get("KSELFTESTS")
    if behind and tests not in passed and (catcher := kselftests(lane, tests)):
        sys.exit(f"mutants: without a fault: {catcher}")
    passed.append(tests)
    path.write_text(text[:mutant.start] + mutant.new + text[mutant.end:])
    try:
        catcher = subject.judge(mutant, lane) or behind and kselftests(lane, tests)
    except subprocess.CalledProcessError:
        return "broken", ""
    finally:
        path.write_text(text)
    return ("killed", catcher) if catcher else ("left" if tests and not behind else "survived", "")


def copy_project(here):
    here.lane = TOP / "build" / NAME / threading.current_thread().name
    shutil.rmtree(here.lane, ignore_errors=True)
    shutil.copytree(TOP, here.lane, ignore=shutil.ignore_patterns(".git", "build"))


def main():
    # The make that began this hands no variables on.
    os.environ.pop("MAKEFLAGS", None)
    if LOCAL:
        mutants = [one for file in ("hwheel_local.h", "libhwheel/hwheel_local.c")
                   for one in rules.mutants_of(file, (TOP / "tools" / file).read_text())]
    else:
        mutants = rules.every(TOP / "module", (TOP / "kunit/mutants/races").read_text())
    if only := (os.environ.get("ONLY") or "").split():
        mutants = [one for one in mutants if any(fnmatch.fnmatch(one.id, glob) for glob in only)]
    else:
        mutants = rules.pick(mutants, os.environ.get("SEED") or "1", os.environ.get("N") or "20")
    if sys.argv[1:] == ["check"]:
        return
    passed, here = [], threading.local()
    copy_project(here)
    record = os.environ.get("RECORD")
    with open(f"/tmp/hwheel{JOB}.lock", "w") as lock, \
         open(record or TOP / f"build/{NAME}.txt", "a+" if record else "w+") as file:
        fcntl.flock(lock, fcntl.LOCK_EX)
        file.seek(0)
        known = dict(line.split("\t")[1::-1] for line in file)
        subject = (Local if LOCAL else KUnit)(here.lane)

        def test(mutant):
            if mutant.id not in known:
                known[mutant.id], catcher = judge(mutant, here.lane, subject, passed)
                print(known[mutant.id], mutant.id, catcher, sep="\t", file=file, flush=True)
                print(f"  {known[mutant.id]:9} {mutant.id}  {catcher}", flush=True)
            return known[mutant.id]

        with concurrent.futures.ThreadPoolExecutor(
                int(os.environ.get("LANES") or 2), "lane", copy_project, [here]) as threads:
            count = collections.Counter(threads.map(test, mutants))
    empty = not count["killed"] + count["survived"]
    print("not ok" if empty else "ok", "1 - mutants:",
          ", ".join(f"{number} {verdict}" for verdict, number in count.items()))
    print("1..1")
    sys.exit(empty)


main()
