#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# out_of_tree.sh --kver KVER --kdir KDIR --dest DESTDIR --out DIR
#
# That modules of others can use hwheel: builds the sample module in a folder outside
# the project, with nothing but what make install DESTDIR=... left, and runs it in a VM
# with the module that was installed. DIR then holds sample_test.tap and console.log.
set -euo pipefail

here=$(dirname "$(realpath "$0")")
# shellcheck source=selftests/harness/messages.sh
. "$here/../harness/messages.sh"

kver='' kdir='' dest='' out=''

parse() {
	while [ $# -gt 1 ]; do
		case $1 in
		--kver) kver=$2 ;;
		--kdir) kdir=$2 ;;
		--dest) dest=$(realpath "$2") ;;
		--out)  out=$2 ;;
		*)      die "unknown option $1" ;;
		esac
		shift 2
	done
	if [ -z "$kver" ] || [ -z "$kdir" ] || [ -z "$dest" ] || [ -z "$out" ]; then
		die "--kver, --kdir, --dest and --out are needed"
	fi
}

# Prints the one path that matches; two would leave open which one was tested.
only() {
	if [ $# -ne 1 ] || [ ! -e "$1" ]; then
		die "not exactly one of: $*"
	fi
	echo "$1"
}

build() {
	local devel

	devel=$(only "$dest"/usr/src/hwheel-*)
	cp "$here/hwheel_sample.c" "$work/"
	printf '%s\n' 'obj-m := hwheel_sample.o' "ccflags-y := -I$devel/include" >"$work/Kbuild"
	make -C "$kdir" M="$work" KBUILD_EXTRA_SYMBOLS="$devel/$kver/Module.symvers" \
		KBUILD_MODPOST_WARN= modules >&2
}

write_guest() {
	cat >"$work/sample_guest.sh" <<-'EOF'
		set -o pipefail
		sh ./sample_test.sh 2>&1 | tee /results/sample_test.tap
	EOF
}

parse "$@"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM
build
write_guest
"$here/../harness/vm/run_vm.sh" --kver "$kver" --out "$out" --quiet --guest "$work/sample_guest.sh" \
	"$(only "$dest/lib/modules/$kver"/updates/hwheel.ko)" \
	"$work/hwheel_sample.ko" "$here/sample_test.sh" "$here/../harness/common.sh" \
	"$here/../harness/tap.sh"
