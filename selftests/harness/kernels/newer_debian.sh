# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# Kernels of a newer Debian than this one, from its backports. The programs that build modules for
# them, and their compiler, want that Debian's C library: each program is told where the cache
# has it, and nothing is installed. Needs messages.sh, packages.sh, cache.sh, archive.sh.
: "${cache:?}"

# shellcheck source=selftests/harness/vm/machines.sh
. "$(dirname "${BASH_SOURCE[0]}")/../vm/machines.sh"

newer_suite=trixie
# shellcheck disable=SC2034 # debian_kernel.sh reads it.
newer_release=deb13

# Prints the number of this machine's release. One that is not released yet has none, and is newer
# than all others.
own_release() {
	# shellcheck source=/dev/null
	(. /etc/os-release && echo "${VERSION_ID:-999}")
}

# Is a kernel of a newer Debian than this one? Its version names the release.
is_newer_kernel() {
	local own

	own=$(own_release)
	[[ $1 =~ \+deb([0-9]+) ]] && [ "${BASH_REMATCH[1]}" -gt "${own%%.*}" ]
}

# Prints the archive that has a kernel's packages.
kernel_archive() {
	if is_newer_kernel "$1"; then
		echo "$machine_debian:$newer_suite-backports"
	else
		echo "$machine_debian"
	fi
}

# Prints the name of the package of the compiler that the kernel with these headers was made with.
newer_compiler() {
	sed -nE 's/^CC .*(gcc-[0-9]+)$/\1/p' "$1/.kernelvariables"
}

newer_compiler_fetch() {
	local compiler=$1 folder=$2 triplet=${machine_triplet//_/-}

	archive_download "$machine_debian:$newer_suite" "$folder" libc6 "$compiler-$triplet" \
		"${compiler/gcc/cpp}-$triplet" "lib$compiler-dev" && archive_unpack "$folder"
}

# newer_libraries FOLDER PLACE: the programs in FOLDER run when it is at PLACE. The libraries beside
# the C library are this machine's.
newer_libraries() {
	local folder=$1 libraries=$2/usr/lib/$machine_triplet loader program

	loader=$(basename "$folder/usr/lib/$machine_triplet"/ld-linux-*)
	while read -r program; do
		patchelf --print-interpreter "$program" >/dev/null 2>&1 || continue
		patchelf --set-interpreter "$libraries/$loader" \
			--set-rpath "$libraries:/usr/lib/$machine_triplet" "$program" || return
	done < <(find "$folder"/usr/{bin,lib/linux-kbuild-*,libexec} -type f -perm -100)
}

# newer_headers FOLDER PLACE KVER: completes the headers that were unpacked in FOLDER. Without vmlinux
# no types are put into modules, which would take that Debian's pahole.
newer_headers() {
	local folder=$1 place=$2 headers=$1/usr/src/linux-headers-$3 compiler

	packages patchelf libssl3 libelf1 libmpc3 libisl23 || return
	compiler=$(newer_compiler "$headers")
	newer_compiler_fetch "$compiler" "$folder" && newer_libraries "$folder" "$place" || return
	sed -i "s|^CC .*|CC = $place/usr/bin/$machine_triplet-$compiler|" "$headers/.kernelvariables"
	sed -i "s|=/usr/src/|=$place/usr/src/|" "$headers/Makefile"
	rm -f "$headers/vmlinux"
}
