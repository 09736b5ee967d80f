#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# pack.sh ARCHIVE: in a clean Debian 12, installs podman and leaves in ARCHIVE what a VM needs to run
# it: the programs, the libraries that they are linked with, and their configuration.
set -euo pipefail

packages=(podman crun conmon uidmap util-linux busybox-static)
programs=(podman crun conmon newuidmap newgidmap unshare setpriv)
settings=(/etc/containers /usr/share/containers /etc/passwd /etc/group)

# The loader's line has no arrow. conmon's place is in no PATH of podman's, but in its settings.
libraries() {
	ldd "$@" | grep -oE '/[^ ():]+ \(' | cut -d' ' -f1 | sort -u
}

apt-get -q update || true
apt-get -q -y --no-install-recommends install "${packages[@]}"
mapfile -t paths < <(which "${programs[@]}")
[ ${#paths[@]} -eq ${#programs[@]} ]
mapfile -t files < <(libraries "${paths[@]}")
files+=("${paths[@]}" /bin/busybox)
for folder in "${settings[@]}"; do
	[ ! -e "$folder" ] || files+=("$folder")
done
tar -chpf "$1" -C / "${files[@]#/}"
