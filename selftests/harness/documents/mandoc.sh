#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# mandoc.sh: looks at the manual pages, and fails if mandoc finds anything, even a
# matter of style. Pages that they refer to need not be installed here.
set -uo pipefail

cd "$(dirname "$(realpath "$0")")/../../.." || exit

pages=(tools/man/*.[1-9])
mandoc -Tlint "${pages[@]}" 2>/dev/null |
	grep -v 'STYLE: referenced manual not found: Xr ' && exit 1
mandoc -Tascii "${pages[@]}" >/dev/null 2>&1
