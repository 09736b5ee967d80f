#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# run.sh [OPTION]...: builds the module and its KUnit tests into a user-mode kernel
# and runs them in simulated time. Options are kunit.py's; a kernel that is built
# with others has a folder of its own. From the environment:
#   FILTER   which suites or cases, a glob such as 'hwheel_slots' or '*.*stop*'
#   KSRC     a kernel source tree; default: Debian's, in the cache
#   SEED     where the random tests start
#   OPS      operations of the model test
#   SOAK     timeouts of the soak; a hundred million need a TIMEOUT of 1200 or so
#   MACHINE  i386, a user-mode kernel of 32 bits; or s390x, a kernel of big endian in QEMU,
#            where time is real and most suites are skipped. Both are without KASAN. The
#            table of machines tells which there are.
#   TIMEOUT  seconds until a run counts as hung; default 300
#   RAW      if set, the kernel's lines are printed as they come, not the results
#   HWHEEL_JOB  a name, for runs of several checkouts at a time: each has its own place in
#            the source, build folder and lock
# What the kernel printed is kept in build/kunit.log, the tests' results as KTAP in
# build/kunit.tap; build/kunit is the project's folder in the kernel's build folder. The
# names end with -MACHINE if there is one.
set -euo pipefail

top=$(dirname "$(dirname "$(realpath "$0")")")
config=$top/kunit/.kunitconfig
machine=${MACHINE-}
result=$top/build/kunit${machine:+-$machine}
log=$result.log
tap=$result.tap
job=${HWHEEL_JOB-}

# shellcheck source=selftests/harness/debian.sh
. "$top/selftests/harness/debian.sh"
# shellcheck source=selftests/harness/complaints.sh
. "$top/selftests/harness/complaints.sh"

# One run at a time: all checkouts share their place in the source and the build folders.
lock() {
	[ -z "${HWHEEL_KUNIT_LOCKED-}" ] || return 0
	mkdir -p "$cache"
	export HWHEEL_KUNIT_LOCKED=1
	flock -n "$cache/kunit$job.lock" true || say "kunit: waiting for another run"
	exec flock -o "$cache/kunit$job.lock" "$0" "$@"
}

# An earlier version of this script has put another line there.
put_line() {
	local file=$1 line=$2

	[ "$(grep hwheel "$file")" != "$line" ] || return 0
	sed -i '/hwheel/d' "$file"
	sed -i "$3$line" "$file"
}

# Makes the checkout a folder of the kernel source.
graft() {
	local misc=$1/drivers/misc

	ln -sfnT "$top" "$misc/hwheel$job"
	# shellcheck disable=SC2016 # make's variable, not the shell's
	put_line "$misc/Kconfig" \
		'source "drivers/misc/hwheel$(HWHEEL_JOB)/module/Kconfig"' '/^endmenu/i '
	# shellcheck disable=SC2016
	put_line "$misc/Makefile" 'obj-y += hwheel$(HWHEEL_JOB)/' "\$a "
}

make_compiler() {
	echo "CC=$machine_triplet-gcc-$(gcc -dumpversion)"
}

# Sets the options of kunit.py for the machine.
choose_machine() {
	local option

	if [ -z "$machine" ]; then
		# As other architectures do with KASAN, whose red zones fill a stack sooner
		options=(--kconfig_add CONFIG_KERNEL_STACK_ORDER=3)
		return
	fi
	machine_named "$machine"
	case $machine_kunit in
	um)   options=(--make_options "SUBARCH=$machine_arch" --make_options "$(make_compiler)"
		       --kconfig_add CONFIG_64BIT=n) ;;
	qemu) options=("--arch=$machine_arch" "--cross_compile=$machine_triplet-"
		       --make_options "$(make_compiler)"
		       --kconfig_add CONFIG_UML_TIME_TRAVEL_SUPPORT=n
		       --kconfig_add CONFIG_INPUT=y) ;;
	*)    die "KUnit does not run on $machine" ;;
	esac
	for option in KASAN KASAN_OUTLINE; do
		options+=(--kconfig_add "CONFIG_$option=n")
	done
}

build_dir_of() {
	local ksrc=$1 version hash

	shift
	version=$(make -s --no-print-directory -C "$ksrc" kernelversion)
	hash=$( (realpath "$ksrc" && cat "$config" && printf %s "$*") | sha256sum)
	echo "$cache/kunit-$version-${hash:0:8}$job"
}

# A job's folder begins as a copy of the one without: only the module is built anew.
begin_with_copy() {
	local build=$1 source=${1%"$job"}

	[ -n "$job" ] && [ -e "$source/linux" ] || return 0
	cache_fill "${build##*/}" flock "$cache/kunit.lock" cp -aT "$source"
}

# make looks at names and times only, and so would take another checkout's objects
# for this one's.
forget_other_checkout() {
	[ "$(cat "$1/checkout" 2>/dev/null)" != "$top" ] || return 0
	rm -rf "$1/drivers/misc/hwheel"*
	mkdir -p "$1"
	echo "$top" >"$1/checkout"
}

# kunit.py configures the kernel each time, which takes longer than making it: a job's is
# made without, once it is there.
choose_step() {
	local ksrc=$1 build=$2

	step=(run --jobs="$(nproc)")
	[ -n "$job" ] && [ -z "$machine" ] && [ -e "$build/linux" ] || return 0
	step=(exec)
	make -s -C "$ksrc" ARCH=um O="$build" --jobs="$(nproc)" linux
}

run_kernel() {
	local ksrc=$1 build=$2 args=(--kernel_args=time-travel=inf-cpu) step

	shift 2
	[ -z "${SEED-}" ] || args+=("--kernel_args=hwheel.model_seed=$SEED"
				      "--kernel_args=hwheel.soak_seed=$SEED")
	[ -z "${OPS-}" ] || args+=("--kernel_args=hwheel.model_ops=$OPS")
	[ -z "${SOAK-}" ] || args+=("--kernel_args=hwheel.soak_timeouts=$SOAK")
	[ -z "${RAW-}" ] || args+=(--raw_output=all)
	[ -z "${FILTER-}" ] || args+=("$FILTER")

	rm -f "$build/test.log"
	choose_step "$ksrc" "$build" || return
	(cd "$ksrc" && PYTHONUNBUFFERED=1 tools/testing/kunit/kunit.py "${step[@]}" --arch=um \
		--build_dir="$build" --kunitconfig="$config" --timeout="${TIMEOUT:-300}" \
		"$@" "${args[@]}" </dev/null)
}

# Keeps the results and their comments; other lines are the kernel's.
keep() {
	rm -f "$log" "$tap"
	[ -e "$1/test.log" ] || die "the kernel was not built or did not start"
	cp "$1/test.log" "$log"
	grep -E '^ *(KTAP version|1\.\.|(not )?ok |# )' "$log" >"$tap" || true
}

# What the long tests say of themselves: kunit.py shows the comments of failures only.
show_counts() {
	sed -nE 's/^ *# (every_kind_of_transition_happened|none_lost_none_early): (.*[^0-9 ].*)$/  \2/p' \
		"$tap" | grep -v ' pass:' || true
}

# Some tests ask for a complaint, and say so.
complained() {
	sed '/hwheel: a complaint is asked for$/,/hwheel: the complaint was asked for$/s/.*//' \
		"$log" | grep -nE "^$complaints"
}

judge() {
	[ "$1" -eq 0 ] || die "failed (the kernel's log: $log)"
	if complained >&2; then
		die "the kernel complained (its log: $log)"
	fi
	grep -qE '^ +ok ' "$tap" || die "no test ran (FILTER=${FILTER-})"
}

lock "$@"
options=()
choose_machine
chosen=$("$top/selftests/harness/needs.sh" source kunit ${machine:+foreign})
ksrc=${chosen#KSRC=}
build=$(build_dir_of "$ksrc" "${options[@]}" "$@")
[ -e "$build/vmlinux" ] || say "kunit: the first build takes some minutes"
graft "$ksrc"
begin_with_copy "$build"
forget_other_checkout "$build"
mkdir -p "$top/build"
ln -sfnT "$build/drivers/misc/hwheel$job" "$result"

status=0
run_kernel "$ksrc" "$build" "${options[@]}" "$@" || status=$?
keep "$build"
show_counts
judge "$status"
