#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash disable=SC3040 # busybox knows pipefail
#
# Guest script of the tools' tests: runs those that the file tests names, each with the module
# loaded. Test points go to the console and to /results/NAME.tap.
set -o pipefail

bad=0

run_test() {
	echo "# $1"
	[ -e /sys/module/hwheel ] || insmod hwheel.ko
	"./$1" 2>&1 | tee "/results/${1%.sh}.tap" || bad=1
}

prepare() {
	tar -xf debian.tar -C / && rm debian.tar || exit 1
	ln -s libhwheel.so.* libhwheel.so.0
	mkdir -p /dev/pts
	mount -t devpts devpts /dev/pts
	mount -t tracefs tracefs /sys/kernel/tracing
	# Others than root are to reach the programs, too.
	chmod 755 / /hwheel
}

export PATH="/hwheel:/bin:/usr/bin:/usr/sbin" LANG=C.UTF-8 TERM=linux SHELL=/bin/sh
prepare
while read -r test _; do
	[ -x "$test" ] || test=$test.sh
	run_test "$test" </dev/null
done <tests
exit $bad
