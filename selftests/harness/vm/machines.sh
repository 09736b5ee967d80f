# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# The table of machines. machine_choose KVER reads the row of a kernel into variables that
# begin with machine_, named as the columns.

machines=$(dirname "$(realpath "${BASH_SOURCE[0]}")")/machines

# shellcheck disable=SC2034 # read by the caller
machine_choose() {
	local kernels

	# shellcheck disable=SC2053 # a pattern
	while read -r kernels machine_debian machine_arch machine_triplet machine_console \
		machine_channel machine_module machine_package machine_qemu; do
		[[ $kernels == '#'* || $1 != $kernels ]] || return 0
	done <"$machines"
	die "no machine runs the kernel $1"
}

# Does the machine run what is built for this one?
machine_is_foreign() {
	[ "$machine_debian" != "$(dpkg --print-architecture)" ]
}
