#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# Guest script of make shell: a login shell, the module loaded. The power goes
# off when it ends. Without a terminal, it runs the lines that came instead.

insmod /hwheel/hwheel.ko || exit

if [ -e /hwheel/stdin ]; then
	sh /hwheel/stdin
	exit
fi

terminal=/dev/$(sed 's/.* //' /sys/class/tty/console/active)
exec <>"$terminal" >&0 2>&1
stty rows "${SIZE%,*}" cols "${SIZE#*,}"
echo
echo "hwheel.ko is loaded. On the PATH from /hwheel:" /hwheel/*
echo "Try: hwheelctl info"
export PS1='hwheel# '
setsid -c sh -i
exit 0
