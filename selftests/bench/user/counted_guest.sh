#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
#
# Guest script of the measurements in a VM that counts instructions. What each prints goes
# to a file in /results.
set -e

# The kernel charges allocations of programs to a group, as on most machines.
enter_group() {
	mkdir /tmp/cgroup
	mount -t cgroup2 none /tmp/cgroup
	echo +memory >/tmp/cgroup/cgroup.subtree_control
	mkdir /tmp/cgroup/bench
	echo $$ >/tmp/cgroup/bench/cgroup.procs
}

insmod hwheel.ko
enter_group
for command in memory idle lateness_counted mapped lives operations; do
	./user_bench $command >/results/$command
	cat /results/$command
done
insmod hwheel_size.ko
cat /sys/module/hwheel_size/parameters/results >/results/size
cat /results/size
rmmod hwheel_size
rmmod hwheel
