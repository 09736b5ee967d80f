#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
#
# Guest script of the measurements in a VM that counts instructions. What the program
# prints goes to /results.
set -e

insmod hwheel.ko
./user_bench operations >/results/operations
cat /results/operations
rmmod hwheel
