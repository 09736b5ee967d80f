#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
#
# Guest script of the measurements in a VM that counts instructions. What each prints goes
# to a file in /results.
set -e

insmod hwheel.ko
for command in idle operations; do
	./user_bench $command >/results/$command
	cat /results/$command
done
rmmod hwheel
