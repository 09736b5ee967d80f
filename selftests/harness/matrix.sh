#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# matrix.sh KERNEL...: for each of these kernels: builds the module without a warning,
# runs the kselftests in a machine with two CPUs or more, and a bounded torture.
# build/matrix/KERNEL/ has the results of each, build/matrix.tap the test points, build/matrix.md a
# row for each suite, from which doc/results.md is written. The last line says how many points
# passed, failed and were skipped. KERNEL is one of
#   cloud, rt, 6.12-cloud, 6.12-rt, ...   flavours as Debian names its packages: the
#                      current version of each; or a version
#   newest             that of a newer Debian's backports
#   arm64, arm64-6.12, arm64-16k, armhf, i386, s390x   those of other machines
#   native, kasan      user-mode kernels, of which selftests/harness/uml/ tells
#   kcsan, faults      ones built for the VM, of which selftests/harness/kernels/ tells
# or one that needs no such machine: kunit (simulated time, with the soak), kunit-i386,
# kunit-s390x (MACHINE of kunit/run.sh), model (spin), litmus (herd7)
# MAKE comes from the Makefile. From the environment:
#   SOAK       how many timeouts it has (100000000)
#   SUITES     which suites (gcc clang kselftest torture fire; kasan and kcsan have wrong,
#              too, and faults has one of its own), or quick, which is a bounded kselftest
#   CALLS, OPS, RELOADS, OFFLINE, KILLS, PENDING   how long torture and fire are
#   TIMEOUT    seconds that kselftest (7200), quick and KUnit may take: a busy machine needs more
#   CLANG      the compiler: one that is new enough for all of them
#   RESULT     the name that matrix.tap and matrix.md get, as another one may run at the same time
set -uo pipefail
shopt -s extglob

cd "$(dirname "$(realpath "$0")")/../.." || exit

# shellcheck source=selftests/harness/messages.sh
. selftests/harness/messages.sh
# shellcheck source=selftests/harness/packages.sh
. selftests/harness/packages.sh
# shellcheck source=selftests/harness/cache.sh
. selftests/harness/cache.sh
# shellcheck source=selftests/harness/archive.sh
. selftests/harness/archive.sh
# shellcheck source=selftests/harness/kernels/debian_kernel.sh
. selftests/harness/kernels/debian_kernel.sh

clang=${CLANG:-clang-19}
result=build/${RESULT:-matrix}
parts=()

# Debian's kernels are made with gcc, and make chooses options by their configuration, which says
# so. These variables say otherwise.
as_clang=(CC="$clang" CONFIG_CC_IS_GCC= CONFIG_CC_IS_CLANG=y CONFIG_GCC_VERSION=0
	  CONFIG_CLANG_VERSION="${clang#*-}0000"
	  CONFIG_CC_IMPLICIT_FALLTHROUGH=-Wimplicit-fallthrough
	  CONFIG_FTRACE_MCOUNT_USE_CC= CONFIG_FTRACE_MCOUNT_USE_OBJTOOL=y)

# warns_not NAME ARGUMENT...: builds all modules anew; the log is NAME.log. Only warnings about our
# files count: make has some of its own, and so has another compiler that reads a kernel's headers.
warns_not() {
	local log=$here/$1.log

	rm -rf "${here:?}/$1"
	"$MAKE" --no-print-directory _test_modules "${machine[@]}" W=1 \
		MODULE="$here/$1" TEST_MODULES="$here/$1/test" "${@:2}" >"$log" 2>&1 ||
		{ tail -n 20 "$log"; return 1; }
	! grep -E "^(${here}[^ ]+|[^/ ][^ ]*\.[ch]:[^ ]*) (warning|error):|modpost:|objtool:" "$log"
}

target() {
	"$MAKE" --no-print-directory "${machine[@]}" KSRC="$KSRC" BUILD="$here" "$@"
}

# Prints the commit that is checked out, with a mark if the files differ from it.
commit_now() {
	git describe --always --dirty --abbrev=12 2>/dev/null || echo unknown
}

# Prints the commit that was run, which is known if the files did not change meanwhile.
commit_of_run() {
	local now

	now=$(commit_now)
	[ "$now" = "$commit" ] && echo "$commit" || echo "$commit-dirty"
}

# part NAME LOG TAP -- COMMAND...: LOG and TAP are what COMMAND writes, if it does; old ones
# must not stand for them. LOG tells of operations, TAP of test points.
part() {
	local name=$1 log=$2 tap=$3 status taps=()

	shift 4
	[ ! -e "$log" ] || : >"$log"
	rm -f "$tap"
	printf '\n== %s: %s\n' "$kernel" "$name"
	SECONDS=0
	"$@" && status=0 || status=$?
	[ -z "$tap" ] || taps=("$tap")
	parts+=(--part "$kernel $name" "$status" "${taps[@]}")
	python3 -B selftests/harness/row.py "$title" "$sanitizer" "$name" "$(commit_of_run)" \
		"$SECONDS" "$status" "$log" "${taps[@]}" >>"$result.md" ||
		die "no row of $kernel $name"
}

suite_gcc() {
	part gcc '' '' -- warns_not gcc
}

suite_clang() {
	selftests/harness/setup.sh clang || die "there is no $clang"
	part clang '' '' -- warns_not clang "${as_clang[@]}"
}

# All but the scripts that torture is made of
suite_kselftest() {
	local quick

	quick=$(basename -s .sh selftests/{module,stress}/*_test.sh |
		grep -vxE 'fuzz_test|torture_test' | tr '\n' ' ')
	part kselftest "$here/selftests-run/console.log" "$here/selftests.tap" -- \
		target _selftests SCRIPTS="$quick" TIMEOUT="${TIMEOUT:-7200}"
}

# For make check-all, in minutes: without the tests that are slow and find no more on one machine
# than on another. The torture of quick_bounds would take a quarter of a slow machine's time.
suite_quick() {
	local tests="close_test epoll_test input_test map_ioctl_test map_memory_test map_race_test"

	tests+=" map_scribble_test map_test query_test read_test share_race_test share_test"
	tests+=" stop_test submit_test timens_test uring_test"
	sed 's/^torture_test .*/torture_test 100000/' selftests/harness/quick_bounds >"$here/bounds"
	part quick "$here/selftests-run/console.log" "$here/selftests.tap" -- \
		target _selftests QUICK=1 QUICK_BOUNDS="$here/bounds" TESTS="$tests" \
		SCRIPTS="fuzz_test torture_test unload_test"
}

suite_torture() {
	part torture "$here/torture/console.log" "$here/torture.tap" -- \
		target _torture FIRES=
}

# A machine with too little memory for all that is to be pending would skip that. A machine whose
# CPUs stay, such as a user-mode kernel, would skip even more.
fires_everything() {
	local may="kmemleak looks for leaks"

	[[ " ${machine[*]} " != *" ARCH=um "* ]] || may+="|can't be taken offline"
	target _torture RUN=fire TORTURES= &&
		! grep -i '# skip' "$here"/fire/*.tap | grep -vE "$may"
}

suite_fire() {
	part fire "$here/fire/console.log" "$here/fire.tap" -- fires_everything
}

suite_kunit() {
	part kunit "build/$kernel.tap" "build/$kernel.tap" -- \
		env MACHINE="${kernel##kunit?(-)}" TIMEOUT="${TIMEOUT:-1200}" \
		"$MAKE" --no-print-directory kunit
}

# The soak of KUnit, for very long
suite_soak() {
	part soak build/kunit.tap build/kunit.tap -- \
		env SOAK="${SOAK:-100000000}" TIMEOUT=7200 FILTER=hwheel_soak \
		"$MAKE" --no-print-directory kunit
}

suite_model() {
	part model build/model.tap build/model.tap -- \
		"$MAKE" --no-print-directory _model
}

suite_litmus() {
	part litmus build/litmus.tap build/litmus.tap -- \
		"$MAKE" --no-print-directory _litmus KSRC="$KSRC"
}

# Does this kernel find the faults that it looks for?
suite_wrong() {
	part wrong "" "$here/wrong.tap" -- target _wrong
}

# No test may be skipped because its kernel lacks the means to make a call fail.
fails_everything() {
	local tests="fail_test fail_test_32 record_border_test record_border_test_32"

	target _selftests TESTS="$tests" SCRIPTS= &&
		! grep -i '# skip' "$here/selftests.tap"
}

suite_faults() {
	part faults "$here/selftests-run/console.log" "$here/selftests.tap" -- \
		fails_everything
}

# Prints variables for make that tell of the kernel $1.
variables() {
	local kver

	case $1 in
	kunit*|model|litmus)
		echo KVER= ;;
	native)
		selftests/harness/setup.sh native ;;
	kasan|kcsan|faults)
		selftests/harness/setup.sh "$1" ;;
	[0-9]*-*-*)
		KVER=$1 selftests/harness/setup.sh vm ;;
	*)
		kver=$(kernel_of_flavour "$1") || die "Debian offers no kernel $1"
		KVER=$kver selftests/harness/setup.sh vm ;;
	esac
}

# bounds NAME=VALUE...: how long some suites are, unless somebody has said so
bounds() {
	local bound name

	for bound; do
		name=${bound%%=*}
		machine+=("$name=${!name:-${bound#*=}}")
	done
}

# The kernels that have names of their own are of slow machines, or come from backports.
has_own_name() {
	[ -n "${flavours[$1]-}" ]
}

few_suites() {
	suites="gcc kselftest torture"
	bounds CALLS=20000 OPS=300000
}

# Sets the suites, and the name of what they look for.
traits() {
	sanitizer='' suites="gcc clang kselftest torture fire"
	case $1 in
	kasan)  sanitizer="KASAN, lockdep, kmemleak, UBSAN, debug objects"
		suites="wrong gcc kselftest torture fire"
		bounds CALLS=100000 OPS=500000 RELOADS=20 KILLS=300 PENDING=1000000 ;;
	kcsan)  sanitizer="KCSAN, lockdep" suites="wrong kselftest torture fire"
		machine+=(VM="selftests/harness/vm/run_vm.sh --races [hwheel" WRONG=--racy)
		bounds CALLS=100000 OPS=300000 RELOADS=10 OFFLINE=20 KILLS=200 \
			PENDING=300000 ;;
	kunit)  sanitizer="simulated time, KASAN, lockdep, UBSAN" suites="kunit soak" ;;
	kunit-*) sanitizer="lockdep, UBSAN" suites=kunit
		[ "$machine_kunit" != um ] || sanitizer="simulated time, $sanitizer" ;;
	model)  sanitizer="spin, exhaustive" suites=model ;;
	litmus) sanitizer="herd7, the memory model of $(make -s -C "$KSRC" kernelversion)"
		suites=litmus ;;
	faults) sanitizer="fail-nth, KASAN, lockdep, kmemleak" suites=faults ;;
	*)	! has_own_name "$1" || few_suites ;;
	esac
	suites=${SUITES:-$suites}
}

# Prints what KUnit runs on, where that is another machine.
kunit_title() {
	[ "$machine_kunit" = um ] && echo "user-mode, 32 bits" || echo "$machine_debian"
}

# A kernel that was built here has the hash of its configuration in its version.
choose() {
	local vars

	kernel=$1
	vars=$(variables "$kernel") || exit
	read -ra machine <<<"$(tr '\n' ' ' <<<"$vars")"
	title=${machine[0]#KVER=}
	[[ $kernel != kunit-* ]] || machine_named "${kernel#*-}"
	case $kernel in
	native|kasan) title="${title%%-*} user-mode, SMP, PREEMPT" ;;
	kcsan|faults) title="${title%%-*} SMP, PREEMPT" ;;
	kunit)        title="$(make -s -C "$KSRC" kernelversion) user-mode" ;;
	kunit-*)      title="$(make -s -C "$KSRC" kernelversion) $(kunit_title)" ;;
	model)        title="models" ;;
	litmus)       title="litmus tests" ;;
	esac
	here=$PWD/build/matrix/$kernel
	mkdir -p "$here"
	traits "$kernel"
}

[ $# -gt 0 ] || die "KERNEL is needed"
mkdir -p build
rm -f "$result.tap"
printf '| %s |\n| %s |\n' \
	"kernel | sanitizer | suite | operations | passed | skipped | failed | minutes | at" \
	"--- | --- | --- | --: | --: | --: | --: | --: | ---" >"$result.md"
commit=$(commit_now)
vars=$(selftests/harness/setup.sh source programs) || exit
KSRC=${vars##*KSRC=}
for kernel; do
	choose "$kernel"
	for suite in $suites; do
		declare -F "suite_$suite" >/dev/null || die "no suite is named $suite"
		"suite_$suite"
	done
done

printf '\n'
cat "$result.md"
printf '\n'
python3 -B selftests/harness/tap.py --out "$result.tap" "${parts[@]}"
