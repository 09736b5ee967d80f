#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
#
# Guest script of the measurement of lateness, in a VM with two CPUs.
set -e

insmod hwheel.ko
./user_bench lateness >/results/lateness
cat /results/lateness
rmmod hwheel
