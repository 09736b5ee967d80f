# SPDX-License-Identifier: GPL-2.0-only
"""What was measured, gathered and shown.

usage: bench gather OUT.json ABOUT.json FOLDER...
"""

import sys

import results


def gather(out, about, *folders):
    found, abouts = results.read_folders(folders)
    results.write_json(out, list(found))
    results.write_json(about, abouts)


COMMANDS = {"gather": gather}


def main(arguments):
    if len(arguments) < 2 or arguments[1] not in COMMANDS:
        print(__doc__.split("\n\n")[1], end="", file=sys.stderr)
        return 2
    try:
        return COMMANDS[arguments[1]](*arguments[2:]) or 0
    except results.BadResults as error:
        print(f"bench: {error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv))
