#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# matrix.sh: for each of Debian's kernels: builds the module with gcc and with clang,
# where no warning may come, runs the kselftests in a VM with two CPUs, and a bounded
# torture. build/matrix/KVER/ has what came of each, build/matrix.tap the test points.
# The last line says how many passed, failed and were skipped. MAKE comes from the
# Makefile. From the environment:
#   KERNELS  which ones; versions, or flavours as Debian names their packages, which
#            stand for the current version of each
#   CLANG    the compiler: the oldest that has all that these kernels are built with
set -uo pipefail

cd "$(dirname "$(realpath "$0")")/../.." || exit

# shellcheck source=selftests/lib/say.sh
. selftests/lib/say.sh
# shellcheck source=selftests/lib/packages.sh
. selftests/lib/packages.sh
# shellcheck source=selftests/lib/cache.sh
. selftests/lib/cache.sh
# shellcheck source=selftests/lib/kernel.sh
. selftests/lib/kernel.sh

flavours="cloud rt 6.12-cloud 6.12-rt"
clang=${CLANG:-clang-16}
out=$PWD/build/matrix
parts=()
rows=()

# Debian's kernels are made with gcc, and their configurations say so, for make to choose
# options by: here it is told otherwise.
as_clang=(CC="$clang" CONFIG_CC_IS_GCC= CONFIG_CC_IS_CLANG=y CONFIG_GCC_VERSION=0
	  CONFIG_CLANG_VERSION="${clang#*-}0000"
	  CONFIG_CC_IMPLICIT_FALLTHROUGH=-Wimplicit-fallthrough
	  CONFIG_FTRACE_MCOUNT_USE_CC= CONFIG_FTRACE_MCOUNT_USE_OBJTOOL=y)

# warns_not NAME ARGUMENT...: builds all modules anew; the log is NAME.log. make has
# warnings of its own, and so have headers of a kernel that another compiler is used for:
# those about our files count.
warns_not() {
	local log=$here/$1.log

	rm -rf "${here:?}/$1"
	"$MAKE" --no-print-directory _test_modules KVER="$kver" KDIR="$kdir" W=1 \
		MODULE="$here/$1" TEST_MODULES="$here/$1/test" "${@:2}" >"$log" 2>&1 ||
		{ tail -n 20 "$log"; return 1; }
	! grep -E "^${here}[^ ]+: (warning|error):|modpost:|objtool:" "$log"
}

target() {
	"$MAKE" --no-print-directory KVER="$kver" KDIR="$kdir" KSRC="$KSRC" \
		BUILD="$here" "$@"
}

# part NAME TAP... -- COMMAND...: TAP files are what COMMAND writes. An old one must
# not stand for it. Leaves the counts in $counts.
part() {
	local name=$1 taps=() status mine

	shift
	while [ "$1" != -- ]; do
		taps+=("$1")
		shift
	done
	shift
	rm -f "${taps[@]}"
	printf '\n== %s: %s\n' "$kver" "$name"
	"$@" && status=0 || status=$?
	mine=(--part "$kver $name" "$status" "${taps[@]}")
	parts+=("${mine[@]}")
	counts=$(python3 -B selftests/lib/tap.py --out "$here/part.tap" "${mine[@]}" | tail -n 1)
	rows+=("| $kver | $name | $counts | $SECONDS s |")
	SECONDS=0
}

# choose KERNEL: a version or a flavour. Sets kver and kdir.
choose() {
	local vars

	case $1 in
	*-*-*) kver=$1 ;;
	*)     kver=$(kernel_of_flavour "$1") || die "Debian offers no kernel $1" ;;
	esac
	vars=$(KVER=$kver selftests/lib/setup.sh vm) || exit
	kdir=${vars##*KDIR=}
	here=$out/$kver
	mkdir -p "$here"
	SECONDS=0
}

mkdir -p "$out"
vars=$(selftests/lib/setup.sh source programs matrix) || exit
KSRC=${vars##*KSRC=}
# The others are what torture is.
quick=$(cd selftests && printf '%s\n' *_test.sh | sed 's/\.sh$//' |
	grep -vxE 'fuzz_test|torture_test' | tr '\n' ' ')
for kernel in ${KERNELS:-$flavours}; do
	choose "$kernel"
	part gcc -- warns_not gcc
	part clang -- warns_not clang "${as_clang[@]}"
	part kselftest "$here/selftests.tap" -- target _selftests SCRIPTS="$quick"
	part torture "$here/torture.tap" -- target _torture
done

printf '\n'
printf '%s\n' "| kernel | suite | test points | time |" "|---|---|---|---|" "${rows[@]}" |
	tee build/matrix.md
printf '\n'
python3 -B selftests/lib/tap.py --out build/matrix.tap "${parts[@]}"
