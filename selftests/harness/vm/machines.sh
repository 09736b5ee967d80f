# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# The table of machines. machine_choose KVER and machine_named DEBIAN read the row of a kernel, or
# of an architecture, into variables that begin with machine_, named as the columns. Need
# messages.sh.

machines=$(dirname "$(realpath "${BASH_SOURCE[0]}")")/machines

# machine_find COMMAND...: the first row of which COMMAND is true
# shellcheck disable=SC2034 # read by the caller
machine_find() {
	while read -r machine_kernels machine_debian machine_arch machine_triplet machine_kunit \
		machine_console machine_channel machine_module machine_package machine_qemu; do
		[[ $machine_kernels == '#'* ]] || ! "$@" || return 0
	done <"$machines"
	return 1
}

# shellcheck disable=SC2053 # a pattern
machine_runs() {
	[[ $1 == $machine_kernels ]]
}

machine_is() {
	[ "$1" = "$machine_debian" ]
}

# Prints Debian's name of this machine's architecture.
machine_here() {
	dpkg --print-architecture
}

# A kernel whose version names no machine is one for this machine.
machine_choose() {
	machine_find machine_runs "$1" || machine_named "$(machine_here)"
}

machine_named() {
	machine_find machine_is "$1" || die "no machine is named $1"
}

# Does the machine run what is built for this one?
machine_is_foreign() {
	[ "$machine_debian" != "$(machine_here)" ]
}
