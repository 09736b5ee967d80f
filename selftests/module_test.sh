#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
#
# Loading and unloading hwheel.ko: parameters, an open file, and leaks. Run as
# root where nobody else uses the module; needs hwheel.ko and churn beside it.
# Prints TAP. A module that was loaded before is loaded again at the end.

cd "$(dirname "$0")" || exit 1
module=hwheel
rounds=50
number=0
failures=0
work=/tmp/module_test.$$

diagnose() {
	echo "$*" | sed 's/^/# /'
}

# report NAME COMMAND...: one test, which passes if the command succeeds.
report() {
	name=$1
	shift
	number=$((number + 1))
	if "$@"; then
		echo "ok $number $name"
	else
		echo "not ok $number $name"
		failures=$((failures + 1))
	fi
}

loaded() {
	[ -d /sys/module/$module ]
}

load() {
	insmod ./$module.ko "$@" 2>$work/insmod
}

unload() {
	rmmod $module 2>$work/rmmod
}

clear_log() {
	dmesg -c >/dev/null
}

# quietly COMMAND...: its output is shown only if it fails.
quietly() {
	"$@" >$work/output 2>&1 && return
	diagnose "$* failed: $(cat $work/output)"
	return 1
}

load_and_unload() {
	quietly load && [ -c /dev/hwheel ] && quietly unload &&
		! loaded && [ ! -e /dev/hwheel ]
}

loading_twice_fails() {
	quietly load || return
	if load; then
		diagnose "loaded twice"
		return 1
	fi
	quietly ./churn load && quietly unload
}

# An open file, whatever it was opened for, keeps the module.
refused_while_open() {
	quietly load || return
	exec 3</dev/hwheel
	if unload; then
		diagnose "unloaded under an open file"
		exec 3<&-
		return 1
	fi
	diagnose "$(cat $work/rmmod)"
	users=$(cat /sys/module/$module/refcnt)
	quietly ./churn load
	works=$?
	exec 3<&-
	[ "$users" -eq 1 ] && [ $works -eq 0 ] && quietly unload && ! loaded
}

# rejected PARAMETER VALUE BOUNDS: the log names all three.
rejected() {
	clear_log
	if load "$1=$2"; then
		diagnose "loaded with $1=$2"
		unload
		return 1
	fi
	! loaded && [ ! -e /dev/hwheel ] || return
	dmesg | grep -qF "$module: $1=$2 is out of range $3" && return
	diagnose "the log does not say so: $(dmesg)"
	return 1
}

# What is no number at all is refused by the kernel itself, which names it too.
malformed() {
	clear_log
	if load "$1=$2"; then
		diagnose "loaded with $1=$2"
		unload
		return 1
	fi
	! loaded || return
	dmesg | grep -q "invalid for parameter .$1" && return
	diagnose "the log does not say so: $(dmesg)"
	return 1
}

# One of two that are wrong is enough, and nothing is left behind for the next.
rejected_then_loaded() {
	rejected slots 0 1..1048576 && load_and_unload
}

# effective NAME=VALUE: among what the device says of itself
effective() {
	./churn info >$work/info && grep -qx "$1" $work/info && return
	diagnose "not $1: $(cat $work/info)"
	return 1
}

# accepted LOAD PARAMETER EFFECTIVE: the module takes it, tells, and works.
accepted() {
	quietly load "$2" || return
	effective "$3" && { [ "$1" = idle ] || quietly ./churn load; }
	works=$?
	quietly unload && [ $works -eq 0 ]
}

defaults() {
	quietly load || return
	effective tick_ns=10000000 && effective slots=512 &&
		effective max_timeouts=65536 && effective max_pending=0
	told=$?
	quietly unload && [ $told -eq 0 ]
}

# Both at their largest: the turn of the wheel takes 120 years.
largest_wheel() {
	quietly load tick_ns=3600000000000 slots=1048576 || return
	effective tick_ns=3600000000000 && effective slots=1048576
	told=$?
	quietly unload && [ $told -eq 0 ]
}

pending_limit() {
	quietly load "max_pending=$1" || return
	effective "max_pending=$1" && quietly ./churn limit
	works=$?
	quietly unload && [ $works -eq 0 ]
}

# Closed by the exit a moment before: rmmod has to end what is pending.
unload_at_once() {
	for _ in 1 2 3 4 5; do
		quietly load || return
		./churn load >$work/output && unload || return
	done
}

threads() {
	grep -l "^Name:.*$module" /proc/[0-9]*/status 2>/dev/null | wc -l
}

no_thread_stays() {
	quietly load || return
	during=$(threads)
	quietly unload || return
	after=$(threads)
	diagnose "$during while loaded, $after afterwards"
	[ "$during" -ge 1 ] && [ "$after" -eq 0 ]
}

# Where the objects of the module and of what it uses come from. A stock kernel
# merges caches of one size, so the module's is an alias of another, which stays
# when the module goes.
find_caches() {
	quietly load || return
	for cache in /sys/kernel/slab/hwheel* /sys/kernel/slab/kmalloc-* \
		     /sys/kernel/slab/radix_tree_node /sys/kernel/slab/task_struct; do
		readlink -f "$cache"
	done | sort -u >$work/caches
	diagnose "hwheel_entry is $(readlink /sys/kernel/slab/hwheel_entry)"
	quietly unload
}

# A slab that a CPU allocates from counts as full. So the cache is shrunk right
# before it is read, with no process started in between, and as reading allocates
# too, the least of some readings counts.
objects_in() {
	least=
	for _ in 1 2 3 4 5; do
		echo 1 >"$1/shrink"
		read -r objects _ <"$1/objects"
		if [ -z "$least" ] || [ "$objects" -lt "$least" ]; then
			least=$objects
		fi
	done
}

# Prints "CACHE OBJECTS" for these caches, and the number of mapped regions, without
# those that are free but not purged yet.
count_objects() {
	while read -r cache; do
		[ -d "$cache" ] || continue
		objects_in "$cache"
		echo "${cache##*/} $least"
	done <$work/caches
	echo "vmalloc $(grep -vc unpurged /proc/vmallocinfo)"
}

# Caches that grew by at least $1 between the two counts
grown() {
	awk -v least="$1" '
		NR == FNR { before[$1] = $2; next }
		$2 - before[$1] >= least { print $1, before[$1], "->", $2 }
	' $work/before $work/after
}

churn_rounds() {
	for _ in $(seq "$1"); do
		quietly load && quietly ./churn load && quietly unload || return
	done
}

# Lowers what was counted to what is counted now.
count_again() {
	count_objects >$work/now
	awk '
		NR == FNR { now[$1] = $2; next }
		{ print $1, $1 in now && now[$1] < $2 ? now[$1] : $2 }
	' $work/now $work/after >$work/least
	mv $work/least $work/after
}

# What leaks once a round adds up to one object a round, and what leaks with each
# file or timeout to more. What the kernel keeps for itself (a stack of a thread
# that has exited, objects to be freed after a grace period, a slab of a CPU) comes
# and goes, and does not grow with the rounds: half an object a round is the
# tolerance, and what is less a little later was no leak. The first rounds only warm
# up.
leaks_nothing() {
	find_caches || return
	churn_rounds 5 || return
	count_objects >$work/before
	churn_rounds $rounds || return
	count_objects >$work/after
	for _ in $(seq 20); do
		leak=$(grown $((rounds / 2)))
		[ -n "$leak" ] || break
		# Grace periods pass while a VM has nothing else to do.
		sleep 0.5
		count_again
	done
	diagnose "compared: $(cut -d' ' -f1 $work/after | tr '\n' ' ')"
	diagnose "grown by one or more: $(grown 1 | tr '\n' ';')"
	# It would be worth nothing if it had not seen any.
	[ -z "$leak" ] && [ "$(wc -l <$work/after)" -gt 20 ]
}

# That the count sees what is held: the same with a module that is still loaded
# and a file that holds time-outs.
leak_would_be_seen() {
	find_caches || return
	count_objects >$work/before
	quietly load || return
	exec 3<>/dev/hwheel
	./churn hold <&3 >$work/output || diagnose "$(cat $work/output)"
	count_objects >$work/after
	seen=$(grown 500)
	exec 3<&-
	diagnose "$seen"
	quietly unload && [ -n "$seen" ]
}

refuse_values() {
	report "tick_ns=0 is refused" rejected tick_ns 0 50000..3600000000000
	report "tick_ns=49999 is refused" rejected tick_ns 49999 50000..3600000000000
	report "tick_ns above an hour is refused" \
		rejected tick_ns 3600000000001 50000..3600000000000
	report "tick_ns=2^64-1 is refused" \
		rejected tick_ns 18446744073709551615 50000..3600000000000
	report "slots=0 is refused" rejected slots 0 1..1048576
	report "slots=1048577 is refused" rejected slots 1048577 1..1048576
	report "slots=2^32 is refused" rejected slots 4294967296 1..1048576
	report "slots=2^32+1 is refused" rejected slots 4294967297 1..1048576
	report "max_timeouts=0 is refused" rejected max_timeouts 0 1..16777216
	report "max_timeouts=16777217 is refused" rejected max_timeouts 16777217 1..16777216
	report "max_timeouts=2^32+1 is refused" rejected max_timeouts 4294967297 1..16777216
	report "max_pending=2^63 is refused" \
		rejected max_pending 9223372036854775808 0..9223372036854775807
	report "max_pending=2^64-1 is refused" \
		rejected max_pending 18446744073709551615 0..9223372036854775807
}

refuse_nonsense() {
	for parameter in tick_ns slots max_timeouts max_pending; do
		report "$parameter=many is refused" malformed $parameter many
		report "$parameter=-1 is refused" malformed $parameter -1
		report "$parameter=2^64 is refused" malformed $parameter 18446744073709551616
	done
}

accept_values() {
	report "defaults" defaults
	report "tick_ns=50000 works" accepted busy tick_ns=50000 tick_ns=50000
	report "tick_ns=50001 is rounded to 8 ns" accepted busy tick_ns=50001 "tick_ns=5000[08]"
	report "a tick of an hour loads" accepted idle tick_ns=3600000000000 tick_ns=3600000000000
	report "slots=1 works" accepted busy slots=1 slots=1
	report "slots=2 works" accepted busy slots=2 slots=2
	report "slots=1000 is rounded up" accepted busy slots=1000 slots=1024
	report "slots=1048576 works" accepted busy slots=1048576 slots=1048576
	report "slots=1048575 is rounded up" accepted busy slots=1048575 slots=1048576
	report "the largest wheel loads" largest_wheel
	report "max_timeouts=1 works" accepted busy max_timeouts=1 max_timeouts=1
	report "max_timeouts=16777216 works" accepted busy max_timeouts=16777216 \
		max_timeouts=16777216
	report "max_pending=2^63-1 works" accepted busy max_pending=9223372036854775807 \
		max_pending=9223372036854775807
	report "max_pending=2 is exact" pending_limit 2
	report "max_pending=1000 is exact" pending_limit 1000
}

mkdir -p $work
was_loaded=false
if loaded; then
	was_loaded=true
	rmmod $module || exit 1
fi

echo "TAP version 13"
report "loads and unloads" load_and_unload
report "is not loaded twice" loading_twice_fails
report "rmmod is refused while a file is open" refused_while_open
refuse_values
refuse_nonsense
report "loads after a refusal" rejected_then_loaded
accept_values
report "unloads at once after use" unload_at_once
report "no thread stays" no_thread_stays
report "the leak test sees what is held" leak_would_be_seen
report "$rounds rounds leak nothing" leaks_nothing
echo "1..$number"

$was_loaded && load
rm -rf $work
[ $failures -eq 0 ]
