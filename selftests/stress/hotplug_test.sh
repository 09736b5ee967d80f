#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
#
# hotplug_test.sh [TIMES [OPS [CALLS]]]: CPUs go away and come back, so many times (20) at
# least, while hwheel_torture.ko makes OPS calls (200000), the fuzzer CALLS (20000), and
# wheels whose worker may run on one CPU only lose that. What they choose comes from SEED of
# the environment, if there is one. Run as root where nobody else uses the module, on two
# CPUs at least, of which some can be taken offline; needs hwheel.ko, hwheel_torture.ko,
# hwheel_place.ko, fuzz and common.sh beside it. Prints TAP. A module that was
# loaded before is loaded again at the end.

cd "$(dirname "$0")" || exit 1
# shellcheck source=selftests/harness/common.sh
. ./common.sh
times=${1:-20}
ops=${2:-200000}
calls=${3:-20000}
cpus=/sys/devices/system/cpu
parameters=/sys/module/hwheel_place/parameters
verdict=/sys/module/hwheel_torture/parameters/verdict
second=$cpus/cpu1/online
# The programs at work see a CPU go about each time, if any can.
tries=$((times + 10))

# A line "CPU PARTNERS" for each CPU that went away: the programs that were at work then
log=$work/hotplug
torturing=$work/torturing
fuzzing=$work/fuzzing

# Those that can be taken offline
switches() {
	ls $cpus/cpu*/online 2>/dev/null
}

at_work() {
	[ -e "$torturing" ] && echo torture
	[ -e "$fuzzing" ] && echo fuzz
}

# An attempt may fail, as something else is going on with CPUs.
switch() {
	echo 0 >"$1" 2>/dev/null || return
	echo "${1%/online}" "$(at_work | tr '\n' ' ')" >>"$log"
	echo 1 >"$1"
}

# All of them but the first may be gone at a time.
switch_all() {
	local gone=

	for cpu in $(switches); do
		echo 0 >"$cpu" 2>/dev/null && gone=all
	done
	[ -z "$gone" ] || echo $gone "$(at_work | tr '\n' ' ')" >>"$log"
	for cpu in $(switches); do
		echo 1 >"$cpu"
	done
}

switch_until() {
	while [ ! -e "$1" ]; do
		for cpu in $(switches); do
			switch "$cpu"
		done
		switch_all
	done
}

# times_of TEXT: how often CPUs went away while those were at work
times_of() {
	grep -c "$1" "$log"
}

# often_enough WHO COMMAND...: again, if CPUs went away less often than they should; not for
# ever, as it may be that none can
often_enough() {
	local who=$1

	shift
	for _ in $(seq $tries); do
		"$@" || return
		[ "$(times_of "$who")" -lt "$times" ] || return 0
	done
	diagnose "CPUs went away $(times_of "$who") times only"
	return 1
}

torture_once() {
	local status passed operations

	touch "$torturing"
	insmod ./hwheel_torture.ko ops="$ops" cover=0 seed="${SEED:-0}"
	status=$?
	rm "$torturing"
	[ $status -eq 0 ] && [ "$(cat $verdict)" = passed ]
	passed=$?
	operations=$(dmesg | sed -n 's/.*torture: operations=//p' | tail -n 1)
	tortured=$((tortured + operations))
	rmmod hwheel_torture
	return $passed
}

torture() {
	tortured=0
	often_enough torture torture_once || { diagnose "$(dmesg | grep torture)"; return 1; }
	diagnose "cpu_offline_in_torture=$(times_of torture)"
	diagnose "operations=$tortured"
}

fuzz_once() {
	local status

	touch "$fuzzing"
	# shellcheck disable=SC2086 # no seed is none
	./fuzz "$calls" 4 ${SEED-} >"$work/fuzz" 2>&1
	status=$?
	rm "$fuzzing"
	fuzzed=$((fuzzed + calls))
	return $status
}

fuzz() {
	fuzzed=0
	often_enough fuzz fuzz_once || { diagnose "$(cat "$work/fuzz")"; return 1; }
	diagnose "cpu_offline_in_fuzz=$(times_of fuzz)"
	diagnose "operations=$fuzzed"
}

# with_hotplug COMMAND...
with_hotplug() {
	local status switcher

	: >"$log"
	switch_until "$work/stop" &
	switcher=$!
	"$@"
	status=$?
	touch "$work/stop"
	wait $switcher
	rm "$work/stop"
	return $status
}

# Both at a time, until each has seen enough
both() {
	local status torturer

	torture >"$work/torture_says" &
	torturer=$!
	fuzz
	status=$?
	wait $torturer || status=1
	cat "$work/torture_says"
	return $status
}

# Something else may be going on with CPUs.
take_second() {
	await sh -c "echo 0 >$second" 2>/dev/null
}

# The worker is in a callback while CPU 1 arms a timeout, and goes away.
queued_on_dead() {
	local found

	quietly load && quietly insmod ./hwheel_place.ko || return
	echo 1 >$parameters/strand && take_second && echo 1 >$parameters/found
	found=$?
	echo 1 >$second
	quietly rmmod hwheel_place && quietly unload && return $found
}

# That it runs on another CPU than it is told to is what the module complains of.
elsewhere() {
	dmesg | grep -q "runs where it must not"
}

# The kernel moves the worker elsewhere: there, or underway, it fires what is due.
fires_meanwhile() {
	local firing fired

	echo "$1" >$parameters/fire &
	firing=$!
	take_second
	fired=$?
	wait $firing && echo 0 >$parameters/fire || fired=1
	echo 1 >$second
	return $fired
}

# A worker that was moved is no longer one of CPU 1 alone, so each is a new one.
moves() {
	local moved

	clear_log
	quietly insmod ./hwheel_place.ko cpus=1 || return
	! elsewhere && fires_meanwhile "$1" && elsewhere
	moved=$?
	quietly rmmod hwheel_place && return $moved
}

move_at_any_time() {
	for delay in 0 1 3 10 30 100 300; do
		moves $delay || { diagnose "with a delay of $delay ms"; return 1; }
	done
}

worker_moved() {
	local moved

	quietly load || return
	move_at_any_time
	moved=$?
	quietly unload && return $moved
}

begin
if [ ! -w $second ]; then
	skip "CPUs that go away" "CPU 1 can't be taken offline"
	end
	exit
fi
quietly load
report "torture and the fuzzer while CPUs go away" with_hotplug both
report "nobody holds it" await unused
quietly unload
report "what a CPU submitted that is gone is found" queued_on_dead
report "the worker of a CPU that is gone works elsewhere" worker_moved
end
