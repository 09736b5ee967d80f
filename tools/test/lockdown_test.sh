#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
#
# hwheelctl in a kernel that is locked down. Nothing takes that back, and no module can be loaded
# any more: so this is the last test in its machine. Run as root; needs hwheelctl beside it, the
# module loaded, debugfs and tracefs. Prints TAP.

cd "$(dirname "$0")" || exit 1
# shellcheck source=selftests/harness/tap.sh
. ./tap.sh

work=/tmp/lockdown
lockdown=/sys/kernel/security/lockdown

watch_explains_itself() {
	./hwheelctl watch 2>$work/err
	[ $? -eq 4 ] && grep -q 'locked down' $work/err && grep -q '(confidentiality)' $work/err &&
		return
	diagnose "$(cat $work/err)"
	return 1
}

# The message says that these work.
the_rest_works() {
	./hwheelctl list >$work/out && ./hwheelctl stats >>$work/out &&
		./hwheelctl top --once --interval 10ms >>$work/out &&
		[ "$(grep -c '^system-1' $work/out)" -eq 3 ] && return
	diagnose "$(cat $work/out)"
	return 1
}

mkdir -p $work
echo "TAP version 13"
[ -e $lockdown ] || mount -t securityfs securityfs /sys/kernel/security
if echo confidentiality >$lockdown; then
	report "watch explains itself" watch_explains_itself
	report "list, stats and top work" the_rest_works
else
	skip "watch explains itself" "this kernel cannot be locked down"
	skip "list, stats and top work" "this kernel cannot be locked down"
fi
tap_end
