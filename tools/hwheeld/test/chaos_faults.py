#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""chaos_faults.py check | TOOLS FOLDER [GLOB]: can the checker fail? Puts faults into hwheeld.

check only looks whether each fault fits the sources as they are. TOOLS is a build folder of tools/.
Each fault replaces text in a copy of the sources, which is then built as a node without the module;
three of them are disturbed by what shows the fault, and the checker has to find a violation. What a
client can see for moments only, history_test has to find. Some guards stand before others: to show
what one guards from, a fault takes away what would hide it. Prints TAP.
"""
import collections
import fnmatch
import os
import pathlib
import shutil
import subprocess
import sys

from daemon import Tap, true

TOP = pathlib.Path(__file__).resolve().parents[3]
PARTS = ("tools", "module/include", "module/main.c")
SECONDS = 60
SEED = 1
SESSION = 4
# Of a client between two puts: little, as some faults show within milliseconds only
PAUSE = 0.005

HISTORIES = 10000

# name: of the fault; changes: (file, old, new) each; shown: the disturbances; none: by history_test
Fault = collections.namedtuple("Fault", "name changes shown")

# An owner that does not notice that its session has ended, as one that was paused: the check of the
# tail alone keeps it from writing.
STAYS = [("consensus/shards.c",
          "\t       now_clock_ns(CLOCK_BOOTTIME) < shards.store->ops->sure_ns(shards.store);\n",
          "\t       true;\n"),
         ("consensus/cluster.c", "\n\t       cluster.consensus->ops->session(cluster.consensus);\n",
          "\n\t       true;\n"),
         ("consensus/cluster.c", "\telse\n\t\ttenures_end_session(shards_tenures());\n", "")]

TAKE_COUNT = ("static size_t take_count(const struct request *request, "
              "const struct queue *queue)\n")

FAULTS = [
    Fault("no check of the tail", [
        *STAYS,
        ("consensus/tenure/group.c",
         "\tgroup->checks[group->txn.checks_count++] =\n"
         "\t\t(struct consensus_check) { tail, tenure->revision };\n", "")],
        ["pause"]),
    Fault("a check of the tail in fences only", [
        *STAYS,
        ("consensus/tenure/group.c",
         "\tgroup->checks[group->txn.checks_count++] =\n"
         "\t\t(struct consensus_check) { tail, tenure->revision };\n",
         "\tif (tenure->state == TENURE_FENCING)\n"
         "\t\tgroup->checks[group->txn.checks_count++] =\n"
         "\t\t\t(struct consensus_check) { tail, tenure->revision };\n")],
        ["pause"]),
    Fault("a node that does not wait for the owner before it", [
        ("consensus/tenure/reading.c", "\t\ttenures->list[held].is_held = true;\n", "")],
        []),
    Fault("a node that deletes the key of its next fence", [
        ("consensus/tenure/held.c",
         ".checks = &tenure->release_check, .checks_count = 1,\n", "\n")],
        []),
    Fault("a cancel that is answered before its commit", [
        ("queue/cancel.c", "\tchange->apply = cancel_apply;\n\tchange_submit(change);\n",
         "\tchange->apply = cancel_apply;\n\tanswer_empty(request, MHD_HTTP_NO_CONTENT);\n"
         "\tchange->request = NULL;\n\tchange_submit(change);\n")],
        ["kill_leader", "kill", "kill_all_servers"]),
    Fault("an ignored clock offset", [
        ("nodes/keeper.c", "\tnow_follow(line.offset_ns, line.bound_ns, line.boot_ns);\n",
         "\tnow_follow(0, line.bound_ns, line.boot_ns);\n")],
        ["kill"]),
    Fault("a keeper that begins the time anew", [
        ("clock/reckoning.c", "\tline.offset_ns = reckoning_low(&line, boot_ns);\n",
         "\tline.offset_ns = 0;\n")],
        ["kill"]),
    Fault("a lease that is not committed before take answers", [
        ("queue/take.c", "\tchange->apply = take_apply;\n\tchange_submit(change);\n",
         "\ttake_apply(change);\n\tchange->request = NULL;\n\tchange->apply = take_nothing;\n"
         "\tchange_submit(change);\n"),
        ("queue/take.c", TAKE_COUNT,
         "static void take_nothing(struct change *change)\n{\n\t(void)change;\n}\n\n"
         + TAKE_COUNT)],
        ["kill_all_servers", "kill"]),
    Fault("a request to another node that is sent again", [
        ("nodes/peer.c", "\tonce_set(handle, &call->was_sent);\n", ""),
        ("nodes/peer.c", "\tpeer_release(call);\n\tcall->done(call);\n",
         "\tcall->was_sent = code != CURLE_COULDNT_CONNECT;\n"
         "\tpeer_release(call);\n\tcall->done(call);\n")],
        ["kill"]),
]


def changed(folder, fault):
    """The texts of the files that the fault changes, by their paths"""
    texts = {}
    for name, old, new in fault.changes:
        path = folder / "tools/hwheeld" / name
        text = texts.get(path) or path.read_text()
        true(text.count(old) == 1, f"{fault.name}: {name} has {text.count(old)} times: {old}")
        texts[path] = text.replace(old, new)
    return texts


def copy(folder, tools):
    """With the objects of what has not changed"""
    for part in PARTS:
        source, target = TOP / part, folder / part
        if source.is_dir():
            shutil.copytree(source, target, symlinks=True)
        else:
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, target)
    shutil.copytree(tools / "obj", folder / "out/obj")
    shutil.copytree(tools / "hwheeld/obj", folder / "out/hwheeld/obj")


def build(folder, tools, fault):
    """Returns the folder of what was built."""
    copy(folder, tools)
    for path, text in changed(folder, fault).items():
        path.write_text(text)
    made = folder / "out/hwheeld"
    targets = ("hwheeld", "other_clock.so") if fault.shown else ("history_test",)
    subprocess.run(["make", "-s", "-C", folder / "tools/hwheeld", f"O={folder}/out",
                    *(made / target for target in targets)], check=True)
    return made


def broken_of(output):
    """The promises, of the line with the number of violations, or what a history broke"""
    for line in output.splitlines():
        if line.startswith("# AssertionError: ") and " violations: " in line:
            return line.split(" violations: ")[1]
        if line.startswith("# seed ") and ": " in line:
            return line.split(": ")[1]
    return None


def is_found(base, tools, fault):
    folder = base / fault.name.replace(" ", "-")
    shutil.rmtree(folder, ignore_errors=True)
    made = build(folder, tools, fault)
    chaos = [sys.executable, "-B", TOP / "tools/hwheeld/test/chaos.py", folder / "run",
             str(SECONDS), made / "hwheeld", "--seed", str(SEED), "--session", str(SESSION),
             "--pause", str(PAUSE), "--only", *fault.shown]
    histories = [made / "history_test", str(HISTORIES), str(SEED)]
    run = subprocess.run(chaos if fault.shown else histories, stdout=subprocess.PIPE,
                         stderr=subprocess.STDOUT, check=False, text=True)
    (folder / "output").write_text(run.stdout)
    broken = broken_of(run.stdout)
    true(broken, f"nothing is found; {folder}/output has what it printed")
    print(f"# found: {broken}")


def check():
    for fault in FAULTS:
        changed(TOP, fault)


def main():
    if sys.argv[1:] == ["check"]:
        check()
        return
    tools, base = (pathlib.Path(path).resolve() for path in sys.argv[1:3])
    tap = Tap()
    print("TAP version 13", flush=True)
    for fault in FAULTS:
        if sys.argv[3:] and not fnmatch.fnmatch(fault.name, sys.argv[3]):
            continue

        def point(fault=fault):
            is_found(base, tools, fault)
        point.__name__ = fault.name
        tap.run(point)
    sys.exit(tap.end())


if __name__ == "__main__":
    main()
