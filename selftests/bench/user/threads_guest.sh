#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
#
# Guest script of the measurement of threads, in a VM with two CPUs: a user-mode kernel runs one
# thread of a process at a time.
set -e

insmod hwheel.ko
{
	echo "kernel $(uname -r)"
	echo "cpus $(nproc), emulated by a thread of the host each"
	./user_bench threads
} >/results/threads
cat /results/threads
rmmod hwheel
