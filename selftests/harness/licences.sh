#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# licences.sh: each licence that a file names has its text in LICENSES/, each text there is of a
# licence that a file names, and each source names one.
set -uo pipefail

cd "$(dirname "$(realpath "$0")")/../.." || exit

files() {
	find . \( -path ./build -o -path ./.git -o -path ./LICENSES \) -prune -o -type f -print
}

# The header of the device has the older name of GPL-2.0-only, as the kernel's headers do.
named() {
	files | xargs grep -hoE 'SPDX-License-Identifier: [A-Za-z][-A-Za-z0-9. ]+' |
		sed 's/.*: //; s/ \(OR\|WITH\) /\n/g' |
		sed 's/[ -]*$//; s/^GPL-2\.0$/GPL-2.0-only/; /^$/d' | sort -u
}

texts() {
	for text in LICENSES/*.txt; do
		basename "$text" .txt
	done | sort
}

nameless() {
	files | grep -E '\.(c|h|py|sh|java|pml|1|3|4|8)$' |
		xargs grep -LE 'SPDX-License-Identifier: ' | sed 's/$/: names no licence/'
}

diff <(named) <(texts) && ! nameless | grep .
