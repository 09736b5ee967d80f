# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
#
# For guests whose kernel counts the lines that it runs (CONFIG_GCOV_KERNEL). gcov.py reads what
# these functions leave.

counted=/sys/kernel/debug/gcov

# copy_counts FOLDER: the kernel makes these files as they are read, so that only cat copies them.
copy_counts() {
	local file name

	find $counted -name '*.gcda' | while read -r file; do
		name=$1/${file#"$counted"/}
		mkdir -p "${name%/*}"
		cat "$file" >"$name"
	done
}

# pack_counts FOLDER ARCHIVE: with copies in FOLDER
pack_counts() {
	copy_counts "$1" && tar -C "$1" -cf "$2" .
}
