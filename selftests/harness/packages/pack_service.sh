#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# pack_service.sh OUT: the archive OUT gets what a VM needs to run hwheeld under systemd, as the
# packages have installed it on this machine: systemd and udev, the daemon, a client, and all that
# these are linked with.
set -euo pipefail

# Files besides those of systemd and udev, some of them by several names
others=(/usr/sbin/hwheeld /usr/bin/hwheelctl /usr/bin/setpriv /bin/dash /bin/sh /bin/kmod
	/sbin/modprobe /bin/sleep /etc/hwheeld.conf /etc/group /etc/passwd
	/lib/systemd/system/hwheeld.service /usr/lib/udev/rules.d/60-hwheel.rules)

# Prints the files of packages.
files_of() {
	local path

	dpkg -L "$@" | while IFS= read -r path; do
		[ ! -f "$path" ] || echo "$path"
	done | grep -vE '^/usr/share/(doc|man|locale|bash-completion|zsh)/|/hwdb'
}

# Prints what programs among the files are linked with, and the loader. Scripts are with nothing.
libraries() {
	local file

	while IFS= read -r file; do
		[ ! -x "$file" ] || ldd "$file" 2>/dev/null || true
	done | grep -oE '/[^ ():]+ \(' | cut -d' ' -f1 | sort -u
}

# Prints where files are: folders such as /bin are links, and files may be links, too.
places() {
	local file

	while IFS= read -r file; do
		echo "$(realpath "$(dirname "$file")")/${file##*/}"
		realpath "$file"
	done | sort -u
}

# Prints which folders in / are links; not each machine has lib64.
links() {
	find / -maxdepth 1 -type l -printf '%f\n'
}

list=$(mktemp -d)
{ files_of systemd libsystemd-shared udev; printf '%s\n' "${others[@]}"; } >"$list/files"
libraries <"$list/files" >"$list/libraries"
{ cat "$list/files" "$list/libraries" | places | sed 's|^/||'; links; } >"$list/all"
tar -C / -cf "$1" --files-from "$list/all"
rm -r "$list"
