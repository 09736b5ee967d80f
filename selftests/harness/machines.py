# SPDX-License-Identifier: GPL-2.0-only
"""The machines that tests run on: what each needs, and one boot of it for all tests that are to run
there. A machine leaves a file NAME.tap of each in its folder."""
import glob
import os
import shlex

VM = "selftests/harness/vm/run_vm.sh --kver {KVER}"
UML = "selftests/harness/uml/run_uml.sh --kdir {KDIR}"
FOLDERS = ("module", "stress", "fault")
# Programs that tests start
HELPERS = ("client", "fuzz", "holders", "kill_midcall", "mapped_life", "populate", "reload_clients")


def lines_of(rows, bound):
    return "".join(f"{plain(row)} {row.argument(bound)}\n" for row in rows)


def plain(row):
    return row.name.rpartition(":")[2]


def selftests(rows, env, write, bound):
    """Programs and scripts that run with the module loaded, and all that these load and start"""
    files = [write("tests", lines_of(rows, bound)), write("seed", env.get("SEED", "")),
             write("first", env.get("FIRST", ""))]
    for row in rows:
        name = plain(row)
        files += (glob.glob(f"selftests/*/{name}.sh") if row.kind == "script" else
                  [f"{env['PROGRAMS']}/{name}"])
    files += [f"{env['PROGRAMS']}/{name}" for name in HELPERS]
    for folder in FOLDERS:
        files += sorted(glob.glob(f"{env['MODULES']}/selftests/{folder}/*.ko"))
    return files + ["selftests/harness/common.sh", "selftests/harness/tap.sh",
                    "selftests/module/leaks.sh"]


def tools(rows, env, write, bound):
    """With a terminal, tracers and what else is not busybox"""
    built = env["TOOLS"]
    files = [write("tests", lines_of(rows, bound)), f"{built}/hwheelctl", f"{built}/debian.tar",
             *glob.glob(f"{built}/libhwheel.so.*"), *glob.glob(f"{built}/examples/*"),
             f"{built}/test/first_shared", f"{built}/test/many_clients",
             "tools/examples/tracing.sh", "tools/test/examples.sh",
             "selftests/harness/common.sh", "selftests/harness/tap.sh"]
    for row in rows:
        script = f"tools/test/{row.name}.sh"
        files.append(script if os.path.exists(script) else f"{built}/test/{row.name}")
    return [file for file in files if not file.endswith(".d")]


def inside(rows, env, write, _):
    """Commands in a user-mode kernel that has this machine's files"""
    commands = write("tests", "".join(f"{row.name} {expand(row.command, env)}\n" for row in rows))
    return [write("inside", f"{env['TOP']}/selftests/harness/uml/inside.sh {commands}")]


def expand(text, env):
    for name in sorted(env, key=len, reverse=True):
        text = text.replace(f"${name}", env[name])
    return text


SELFTESTS = (("modules", "programs"), "selftests/harness/selftests_guest.sh", selftests)
DURABLE = "--append checkout={TOP} "

# NAME: (kernel, boot, (needs, guest, files)). A kernel is a need that prints KVER and KDIR.
MACHINES = {
    "vm": ("vm", VM, SELFTESTS),
    "tools": ("vm", f"{VM} --mem 2048 --one-thread",
              (("module", "tools", "tools_tests"), "tools/test/tools_guest.sh", tools)),
    "native": ("native", f"{UML} --smp 2 --mem 2560", SELFTESTS),
    "kasan": ("kasan", f"{UML} --smp 2 --mem 2560", SELFTESTS),
    "kcsan": ("kcsan", f"{VM} --mem 2560 --races [hwheel", SELFTESTS),
    "faults": ("faults", f"{VM} --mem 2560", SELFTESTS),
    "durable": ("durable", f"{UML} --smp 2 --mem 1024 {DURABLE}",
                (("module",), "selftests/harness/uml/enter.sh", inside)),
}


def machine(name):
    """Any other name is that of a kernel of Debian's, for whatever machine it is."""
    return MACHINES.get(name) or (f"kernel_{name}", f"{VM} --mem 2560", SELFTESTS)


def boot_words(name, env):
    return shlex.split(machine(name)[1].format(**env))


def boot(name, rows, env, out, bound, timeout):
    """Returns the command that boots the machine, which leaves its results in out."""
    os.makedirs(f"{out}.in", exist_ok=True)

    def write(file, text):
        with open(f"{out}.in/{file}", "w", encoding="utf-8") as stream:
            stream.write(text)
        return os.path.abspath(f"{out}.in/{file}")

    _, guest, files = machine(name)[2]
    return [*boot_words(name, env), "--out", out, "--timeout", str(timeout), "--guest", guest,
            f"{env['MODULE']}/hwheel.ko", *files(rows, env, write, bound)]
