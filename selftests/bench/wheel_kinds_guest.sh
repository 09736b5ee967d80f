#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
#
# Guest script of make lives, in a VM that counts instructions. The file life says "KIND NR
# SPREAD": NR timeouts expire on a wheel of that KIND, with delays of up to SPREAD
# seconds, and /results/life tells what that took.
#
# The worker's run time is what the scheduler accounts to its thread, in ns, which are
# instructions here. In it: the start (5,000 instructions), filing what was armed, looking
# for the next edge, moving, expiry with an empty callback, going to sleep and waking up
# (most of what a timeout costs that expires alone), as well as the interrupts that hit
# the thread while it runs. Not in it: the arms, which are insmod's, and the timer
# interrupts that wake the worker, which hit the idle CPU.
set -e

# The time that nobody uses is skipped, so a month is as long as what happens in it. These
# happen every second, or every few of them.
quieten() {
	echo 1000000 >/proc/sys/vm/stat_interval
	echo 0 >/proc/sys/vm/dirty_writeback_centisecs
	echo 0 >/proc/sys/vm/compaction_proactiveness
	for ip in ipv4 ipv6; do
		echo 1000000000 >/proc/sys/net/$ip/neigh/default/interval_probe_time_ms
		echo 1000000000 >/proc/sys/net/$ip/neigh/default/base_reachable_time_ms
	done
}

parameters() {
	case $1 in
	simple)       echo "slots=1048576 simple=1" ;;
	hashed)       echo "slots=512" ;;
	hierarchical) echo "slots=512 levels=3" ;;
	*)            return 1 ;;
	esac
}

# counter NAME: of the wheel's statistics, which come behind what it is like
counter() {
	sed -n "s/^$1 //p" /sys/kernel/debug/hwheel/life-* | tail -n 1
}

await_all() {
	sleep "$1"
	while [ "$(counter pending)" -ne 0 ]; do
		sleep $(($1 / 20 + 1))
	done
}

run_time() {
	worker=$(grep -lx hwheel/life /proc/[0-9]*/comm)
	cut -d' ' -f1 "${worker%comm}schedstat"
}

# What a simple wheel can't take is a result, too; anything else is an error.
is_refused() {
	[ "$1" = simple ] && dmesg | grep -q "hwheel_life: a delay of .* is refused: -34"
}

# live KIND NR SPREAD
live() {
	parameters=$(parameters "$1")
	# shellcheck disable=SC2086 # several parameters
	if ! insmod hwheel_life.ko $parameters nr="$2" spread="$3"; then
		is_refused "$1"
		echo "refused yes"
		return
	fi
	await_all "$3"
	[ "$(counter expired)" -eq "$2" ]
	echo "instructions $(run_time)"
	for name in moved wakeups passes visited lag_max; do
		echo "$name $(counter $name)"
	done
	rmmod hwheel_life
}

quieten
insmod hwheel.ko
read -r kind nr spread <life
{
	echo "kernel $(uname -r)"
	echo "kind $kind"
	echo "nr $nr"
	echo "spread $spread"
	live "$kind" "$nr" "$spread"
} >/tmp/life
rmmod hwheel
# Half a result would be taken for one in later runs.
cat /tmp/life
mv /tmp/life /results/life
