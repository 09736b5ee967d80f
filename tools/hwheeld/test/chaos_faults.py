#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""chaos_faults.py check | TOOLS FOLDER [GLOB]: can the checker fail? Puts faults into hwheeld.

check only looks whether each fault fits the sources as they are. TOOLS is a build folder of tools/.
Each fault replaces text in a copy of the sources, which is then built as a node without the module;
three of them are disturbed by what shows the fault, and the checker has to find a violation. Some guards stand before others: to show what one guards from, a
fault takes away what would hide it. Prints TAP.
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

# name: of the fault; changes: (file, old, new) each; shown: the disturbances; rules: some of which
# are broken
Fault = collections.namedtuple("Fault", "name changes shown rules")

# An owner that does not learn that its session has ended, as one that was paused: the epoch alone
# keeps it from writing.
STAYS = ("nodes/shard.c",
         "\t\tif (shards.list[i].state == SHARD_OWNED)\n\t\t\tshard_leave(&shards.list[i]);\n",
         "")
ANY = {"lost", "cancelled", "restarted", "again", "leased", "numbered", "vanished", "resurrected",
       "early", "invented", "takeover"}

TAKE_COUNT = ("static size_t take_count(const struct request *request, "
              "const struct queue *queue)\n")

FAULTS = [
    Fault("no check of the epoch", [
        STAYS,
        ("consensus/commit.c", "part->shard_path, shard->epoch);",
         "part->shard_path, -1);"),
        ("nodes/shard.c", "shard->path, shards.node, shard->epoch);",
         "shard->path, shards.node, -1);")],
        ["pause"], ANY),
    Fault("a check of the epoch in firing only", [
        STAYS,
        ("consensus/commit.c", "struct commit *commit_new(void)\n",
         "static bool fires[4096];\n\nstruct commit *commit_new(void)\n"),
        ("consensus/commit.c", "\tif (all > part->room) {\n",
         "\tfires[part->shard] |= record->type == RECORD_LEASE;\n\tif (all > part->room) {\n"),
        ("consensus/commit.c", "part->shard_path, shard->epoch);",
         "part->shard_path,\n\t\t\t  fires[part->shard] ? shard->epoch : -1);\n"
         "\tfires[part->shard] = false;"),
        ("nodes/shard.c", "shard->path, shards.node, shard->epoch);",
         "shard->path, shards.node, -1);")],
        ["pause"], ANY),
    Fault("a lock that is not checked", [
        STAYS,
        ("nodes/shard.c",
         "\t} else if (call->error == ZNODEEXISTS) {\n\t\tshard_look_at_lock(shard);\n",
         "\t} else if (call->error == ZNODEEXISTS) {\n\t\tshard->epoch = 0;\n"
         "\t\tshard->tenure++;\n\t\tshard->state = SHARD_WAITING;\n\t\tshard_start_loads();\n"),
        ("consensus/commit.c", "part->shard_path, shard->epoch);",
         "part->shard_path, -1);")],
        ["pause", "kill"], ANY),
    Fault("a shard that is loaded before its lock is held", [
        ("nodes/shard.c", "\t\tshard->tenure++;\n\t\tshard->state = SHARD_WAITING;\n"
         "\t\tshard_start_loads();\n",
         "\t\tshard->state = SHARD_OWNED;\n"
         "\t\tshards.events->gained((unsigned int)(shard - shards.list));\n"
         "\t\tshard_go_on(shard);\n"),
        ("nodes/shard.c", "\t\tshard->next = next;\n\t\tshard->state = SHARD_OWNED;\n"
         "\t\tshards.events->gained(number);\n\t\tshard_go_on(shard);\n",
         "\t\tshard->next = next;\n\t\tshard_take_over(shard);\n"),
        ("nodes/shard.c", "SHARD_FREE && shards.is_connected && shard->is_wanted)\n\t\tshard_take_over(shard);\n",
         "SHARD_FREE && shards.is_connected && shard->is_wanted) {\n\t\tif (shard->next) {\n"
         "\t\t\tshard_take_over(shard);\n\t\t\treturn;\n\t\t}\n\t\tshard->tenure++;\n"
         "\t\tshard->state = SHARD_WAITING;\n\t\tshard_start_loads();\n\t}\n"),
        ("nodes/shard.c", "\tshard->state = SHARD_LEAVING;\n",
         "\tshard->state = SHARD_LEAVING;\n\tshard->next = 0;\n"),
        ("nodes/shard.c", "static void shard_go_on(struct shard *shard);\n",
         "static void shard_go_on(struct shard *shard);\n"
         "static void shard_take_over(struct shard *shard);\n")],
        ["restart_beside_paused"], ANY),
    Fault("a cancel that is answered before its commit", [
        ("queue/cancel.c", "\tchange->apply = cancel_apply;\n\tchange_submit(change);\n",
         "\tchange->apply = cancel_apply;\n\tanswer_empty(request, MHD_HTTP_NO_CONTENT);\n"
         "\tchange->request = NULL;\n\tchange_submit(change);\n")],
        ["kill_leader", "kill", "kill_all_servers"], {"cancelled", "resurrected"}),
    Fault("an ignored clock offset", [
        ("clock/shared.c", "\tnow_follow(line.offset_ns, line.bound_ns, line.boot_ns);\n",
         "\tnow_follow(0, line.bound_ns, line.boot_ns);\n")],
        ["kill"], {"early", "lost", "leased", "again"}),
    Fault("an ignored correction of ensemble time", [
        ("clock/reckoning.c", "\tline->offset_ns += reckoning->correction.ns;\n", ""),
        ("clock/reckoning.c", "\tother.offset_ns += reckoning->correction.ns;\n", "")],
        ["shift_leader", "kill"], {"early", "lost", "leased", "again"}),
    Fault("a leader change that steps ensemble time", [
        ("clock/reckoning.c",
         "\tcorrection->ns = reckoning_low(&line, boot_ns) - "
         "reckoning_top(&sample->leader, boot_ns);\n",
         "\t(void)line;\n\tcorrection->ns = reckoning->correction.ns;\n")],
        ["shift_leader", "kill"], {"early", "lost", "leased", "again"}),
    Fault("a lease that is not committed before take answers", [
        ("queue/take.c", "\tchange->apply = take_apply;\n\tchange_submit(change);\n",
         "\ttake_apply(change);\n\tchange->request = NULL;\n\tchange->apply = take_nothing;\n"
         "\tchange_submit(change);\n"),
        ("queue/take.c", TAKE_COUNT,
         "static void take_nothing(struct change *change)\n{\n\t(void)change;\n}\n\n"
         + TAKE_COUNT)],
        ["kill_all_servers", "kill"], {"leased", "numbered", "again"}),
    Fault("a request to another node that is sent again", [
        ("nodes/peer.c", "\tbool again = call->was_sent;\n", "\tbool again = false;\n"),
        ("nodes/peer.c", "\tcall->status = (unsigned int)status;\n",
         "\tcall->status = (unsigned int)status;\n"
         "\tcall->was_sent = code != CURLE_COULDNT_CONNECT;\n")],
        ["kill"], {"invented", "resurrected", "vanished"}),
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
    copy(folder, tools)
    for path, text in changed(folder, fault).items():
        path.write_text(text)
    made = folder / "out/hwheeld"
    subprocess.run(["make", "-s", "-C", folder / "tools/hwheeld", f"O={folder}/out",
                    made / "hwheeld", made / "other_clock.so"], check=True)
    return made / "hwheeld"


def rules_of(output):
    """Of the line that says how many violations there are"""
    for line in output.splitlines():
        if line.startswith("# AssertionError: ") and " violations: " in line:
            return set(line.split(" violations: ")[1].split(", "))
    return set()


def is_found(base, tools, fault):
    folder = base / fault.name.replace(" ", "-")
    shutil.rmtree(folder, ignore_errors=True)
    program = build(folder, tools, fault)
    run = subprocess.run(
        [sys.executable, "-B", TOP / "tools/hwheeld/test/chaos.py", folder / "run", str(SECONDS),
         program, "--seed", str(SEED), "--session", str(SESSION), "--pause", str(PAUSE),
         "--only", *fault.shown],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False, text=True)
    (folder / "output").write_text(run.stdout)
    rules = rules_of(run.stdout)
    true(rules & fault.rules, f"{sorted(rules)}; {folder}/output has what it printed")
    print(f"# found: {', '.join(sorted(rules))}")


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
