#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
#
# Guest script of make bench: runs the commands of the file chosen, lines of "NAME COMMAND", with
# the module loaded. What each prints goes to /results/NAME.
set -e

# module NAME PARAMETER...: of a module that measures while it is loaded
module() {
	local name=$1

	shift
	insmod "$name.ko" "$@"
	cat "/sys/kernel/debug/$name"
	rmmod "$name"
}

# The kernel charges allocations of programs to a group, as on most machines.
enter_group() {
	mkdir /tmp/cgroup
	mount -t cgroup2 none /tmp/cgroup
	echo +memory >/tmp/cgroup/cgroup.subtree_control
	mkdir /tmp/cgroup/bench
	echo $$ >/tmp/cgroup/bench/cgroup.procs
}

# These happen every second, or every few of them.
quieten() {
	echo 1000000 >/proc/sys/vm/stat_interval
	echo 0 >/proc/sys/vm/dirty_writeback_centisecs
	echo 0 >/proc/sys/vm/compaction_proactiveness
	for ip in ipv4 ipv6; do
		echo 1000000000 >/proc/sys/net/$ip/neigh/default/interval_probe_time_ms
		echo 1000000000 >/proc/sys/net/$ip/neigh/default/base_reachable_time_ms
	done
}

# counter NAME: of the wheel's statistics, which come behind what it is like
counter() {
	sed -n "s/^$1 //p" /sys/kernel/debug/hwheel/life-* | tail -n 1
}

# live KIND NR SECONDS PARAMETER...: NR timeouts expire on such a wheel, with delays of up to
# SECONDS. The worker's run time is what the scheduler accounts to its thread, in ns, which are
# instructions here: filing, looking for the next edge, moving, expiry with an empty callback,
# going to sleep and waking up, and interrupts that hit the thread while it runs. Not in it: the
# arms, which are insmod's, and the timer interrupts, which hit the idle CPU.
live() {
	local kind=$1 nr=$2 spread=$3 worker took

	shift 3
	insmod hwheel_life.ko "$@" nr="$nr" spread="$spread"
	sleep "$spread"
	while [ "$(counter pending)" -ne 0 ]; do
		sleep $((spread / 20 + 1))
	done
	[ "$(counter expired)" -eq "$nr" ]
	worker=$(grep -lx hwheel/life /proc/[0-9]*/comm)
	took=$(cut -d' ' -f1 "${worker%comm}schedstat")
	printf '{"metric": "kinds.%us", "impl": "%s", "n": %u, "unit": "instructions", "value": %u}\n' \
		"$spread" "$kind" "$nr" $((took / nr))
	rmmod hwheel_life
}

# cold PARAMETER...: beside the module with one list and one chain
cold() {
	local impl

	rmmod hwheel
	for impl in one_list hwheel; do
		insmod cold_$impl.ko
		module hwheel_cold impl=$impl "$@"
		rmmod hwheel
	done
	insmod hwheel.ko
}

# colds N...: in objects of several sizes
colds() {
	local n size

	for n; do
		for size in 64 192 512; do
			cold n="$n" size=$size
		done
	done
}

# kinds NR: of wheels. A simple one refuses a delay of 30 days.
kinds() {
	local spread

	quieten
	for spread in 1 60 3600 2592000; do
		[ $spread -gt 3600 ] || live simple "$1" $spread slots=1048576 simple=1
		live hashed "$1" $spread slots=512
		live hierarchical "$1" $spread slots=512 levels=3
	done
}

# A million timeouts are more than the share of an account in this machine.
insmod hwheel.ko max_user_bytes=$((1 << 50))
enter_group
while read -r name command; do
	eval "$command" >"/results/$name"
	cat "/results/$name"
done <chosen
rmmod hwheel
