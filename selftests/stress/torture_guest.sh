#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash disable=SC3040 # busybox knows pipefail
#
# Guest script of make torture: runs each of its scripts that was brought along, with the
# bound that the file bounds has for it, as "NAME BOUND". What they choose comes from the
# number in the file seed, if there is one in it. The test points go to the console and to
# /results/NAME.tap.
set -o pipefail

bad=0

run() {
	echo "# $*"
	"./$1.sh" "$2" 2>&1 | tee "/results/$1.tap" || bad=$((bad + 1))
}

SEED=$(cat seed) && export SEED
while read -r name bound; do
	[ ! -e "$name.sh" ] || run "$name" "$bound" </dev/null
done <bounds
[ $bad -eq 0 ]
