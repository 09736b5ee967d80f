#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
#
# Guest script of make shell: a login shell, the module loaded. The power goes
# off when it ends. Without a terminal, it runs the lines that came instead.
#
# With SHARE, a folder of the machine that has started this one, the shell is Bash with that
# machine's files, which can be read, and the folder, which can be written to.

root=/tmp/root
path=/hwheel
shell='sh -i'

mount_shared() {
	local options=trans=virtio,version=9p2000.L,msize=262144

	mkdir -p $root && mount -t 9p -o "$options,ro" root $root || exit
	for folder in dev proc sys; do
		mount -o rbind /$folder $root/$folder
	done
	for folder in tmp run; do
		mount -t tmpfs -o mode=1777 tmpfs $root/$folder
	done
	# The folder may be one of these.
	mkdir -p "$root$SHARE" && mount -t 9p -o $options share "$root$SHARE" || exit
	mkdir -p $root/run/hwheel && mount -o bind /hwheel $root/run/hwheel
	manual_pages
	path=/run/hwheel:$SHARE/build/tools/examples:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
	shell="chroot $root /usr/bin/env -C $SHARE /bin/bash --norc -i"
}

# man finds pages in folders of its own sort.
manual_pages() {
	local page

	for page in /hwheel/*.[1-9]; do
		mkdir -p "$root/run/man/man${page##*.}"
		cp "$page" "$root/run/man/man${page##*.}"
	done
	export MANPATH=/run/man:
}

insmod /hwheel/hwheel.ko || exit
[ -z "${SHARE-}" ] || mount_shared
export PATH="$path:/bin" PS1='hwheel# '

if [ -e /hwheel/stdin ]; then
	# shellcheck disable=SC2086 # words
	${shell% -i} -s </hwheel/stdin
	exit
fi

terminal=/dev/$(sed 's/.* //' /sys/class/tty/console/active)
exec <>"$terminal" >&0 2>&1
stty rows "${SIZE%,*}" cols "${SIZE#*,}"
echo
echo "hwheel.ko is loaded. On the PATH from /hwheel:"
for file in /hwheel/*; do
	case $file in
	*.ko|*.sh|*.[1-9]) ;;
	*) printf '%s ' "${file##*/}" ;;
	esac
done
echo
[ -z "${SHARE-}" ] || echo "Yours to write to: $SHARE. The other files of this machine can be read."
echo "Try: hwheelctl help"
# shellcheck disable=SC2086 # words
setsid -c $shell
exit 0
