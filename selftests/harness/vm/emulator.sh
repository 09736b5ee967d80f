# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# QEMU for the machine that was chosen: Debian's, which is installed, or, where the table of
# machines names it as PACKAGE:SUITE, that of another suite, which is unpacked in the cache.
# Needs messages.sh, debian.sh.
: "${cache:?}"

# shellcheck source=selftests/harness/vm/machines.sh
. "$(dirname "${BASH_SOURCE[0]}")/machines.sh"

emulator_is_own() {
	[[ $machine_package != *:* ]]
}

emulator_archive() {
	echo "$(machine_here):${machine_package#*:}"
}

emulator_folder() {
	echo "$cache/${machine_package/:/-}"
}

# Debian 12 has the libraries that QEMU of another suite needs.
emulator_libraries() {
	local libraries

	mapfile -t libraries < <(archive "$(emulator_archive)" apt-cache depends --important \
		"${machine_package%:*}" | sed -n 's/^ *Depends: <\(.*\)>$/\1/p')
	packages "${libraries[@]}"
}

emulator_fetch() {
	say "qemu: unpacking ${machine_package/:/ of } (not installed)"
	archive_download "$(emulator_archive)" "$1" "${machine_package%:*}" \
		qemu-system-common qemu-system-data seabios && archive_unpack "$1"
}

# emulator PACKAGE...: gets it, and these packages in one go.
emulator() {
	if emulator_is_own; then
		packages "$@" "$machine_package"
	else
		packages "$@" && cache_fill "${machine_package/:/-}" emulator_fetch &&
			emulator_libraries
	fi
}

# Sets qemu to the machine's command.
emulator_command() {
	local folder

	read -ra qemu <<<"$machine_qemu"
	emulator_is_own && return
	folder=$(emulator_folder)
	export QEMU_MODULE_DIR=$folder/usr/lib
	qemu=("$folder/usr/bin/${qemu[0]}" -L "$folder/usr/share/qemu"
	      -L "$folder/usr/share/seabios" "${qemu[@]:1}")
}
