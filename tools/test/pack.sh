#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# pack.sh ARCHIVE PROGRAM...: programs that are installed here, with the libraries that they
# are linked with, for a VM that has none: to be unpacked in its root folder. A terminal in
# it needs what terminals can do, and a locale.
set -euo pipefail

archive=$1
shift

programs=()
for name; do
	programs+=("$(PATH=$PATH:/usr/sbin:/sbin command -v "$name")")
done

# ldd prints "NAME => PATH (ADDRESS)", and of the loader itself just the path.
libraries() {
	ldd "${programs[@]}" | grep -oE '/[^ ():]+ \(' | cut -d' ' -f1 | sort -u
}

mapfile -t files < <(libraries)
files+=("${programs[@]}" /usr/lib/locale/C.utf8 /lib/terminfo/t/tmux-256color
	/lib/terminfo/s/screen /lib/terminfo/l/linux)
tar -chf "$archive" -C / "${files[@]#/}"
