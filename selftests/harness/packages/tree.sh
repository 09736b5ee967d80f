# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# A clean Debian 12 in a folder: made once by mmdebstrap and kept in the cache as an
# archive. MACHINE from the environment, a Debian architecture, is another machine's: QEMU
# runs its programs, and the kernel calls QEMU for them, which takes minutes for what apt does in a
# moment. So packages that are needed before a test begins are part of the archive.
# Needs messages.sh, packages.sh, cache.sh, archive.sh.
: "${cache:?}"

# shellcheck source=selftests/harness/kernels/debian_kernel.sh
. "$(dirname "${BASH_SOURCE[0]}")/../kernels/debian_kernel.sh"

suite=bookworm
machine=${MACHINE-}
enter=$(dirname "$(realpath "${BASH_SOURCE[0]}")")/enter.sh
archives=$cache/debian-12-debs

# Prints lines of a sources.list: what this machine's own packages come from.
tree_sources() {
	# shellcheck disable=SC2016 # apt's variables
	apt-get indextargets --format 'deb $(REPO_URI) $(CODENAME) main' 'Created-By: Packages' \
		'Origin: Debian' 'Component: main' | grep -E " $suite(-security|-updates)? " | sort -u
}

# tree_bootstrap SOURCES OPTION... FOLDER
tree_bootstrap() {
	local folder=${*: -1}

	as_root env DEB_BUILD_PROFILES=pkg.hwheel.nojava mmdebstrap --mode=root --variant=minbase \
		--architectures="${machine:-$(dpkg --print-architecture)}" \
		"${@:2:$#-2}" "$suite" "$folder/tree.tar" - <<<"$1" >"$folder/log" 2>&1 ||
		{ tail -n 5 "$folder/log" >&2; return 1; }
}

# tree_make OPTION... FOLDER: the programs that unpack packages are this machine's. mmdebstrap ends
# if a list cannot be had; those of updates are sometimes out of step with their checksums.
tree_make() {
	local sources

	sources=$(tree_sources) || { say "apt has no source of Debian 12 ($suite)"; return 1; }
	say "mmdebstrap: Debian 12${machine:+ for $machine} (some minutes)"
	tree_bootstrap "$sources" "$@" && return
	say "mmdebstrap: once more, without the lists of updates"
	tree_bootstrap "$(grep " $suite " <<<"$sources")" "$@"
}

# tree_name OPTION...: prints that of a tree in the cache.
tree_name() {
	local hash

	hash=$( (printf '%s\n' "$@" && cat debian/control) | sha256sum)
	echo "debian-12${machine:+-$machine}-${hash:0:8}"
}

# This machine's processor may run the other one's programs.
tree_emulator() {
	local processor

	[ -n "$machine" ] || return 0
	machine_named "$machine"
	processor=$(machine_processor)
	[ "$processor" != "$(uname -m)" ] || return 0
	packages qemu-user-static binfmt-support || return
	as_root update-binfmts --enable "qemu-$processor"
}

# tree_unpack TREE OPTION...: a fresh one, with the sources of this machine. The options are
# mmdebstrap's.
tree_unpack() {
	local tree=$1 name

	shift
	name=$(tree_name "$@")
	tree_emulator && cache_fill "$name" tree_make "$@" || return
	mkdir -p "$archives"
	as_root rm -rf "$tree" && as_root mkdir -p "$tree" &&
		as_root tar -xf "$cache/$name/tree.tar" -C "$tree" || return
	tree_sources | as_root tee "$tree/etc/apt/sources.list" >/dev/null
	as_root cp -L /etc/resolv.conf "$tree/etc/resolv.conf" &&
		debs_share "$archives" "$tree/var/cache/apt/archives"
}

# debs_share FROM TO: links packages that apt has downloaded, or copies them to another file system.
# Each tree has a folder of its own, which its apt locks.
debs_share() {
	local options

	for options in -lu -pu; do
		as_root find "$1" -maxdepth 1 -name '*.deb' -exec cp $options -t "$2" {} + 2>/dev/null &&
			return
	done
	say "apt: packages cannot be copied from $1 to $2"
	return 1
}

# tree_run TREE COMMAND...: as root in there, with all that it mounts and starts gone
# afterwards, whatever becomes of it. A command that hangs ends after an hour. The cache gets what apt has
# downloaded.
tree_run() {
	local status=0

	as_root timeout -k 10 "${TREE_TIMEOUT:-3600}" \
		unshare --mount --pid --fork --kill-child "$enter" "$@" </dev/null || status=$?
	debs_share "$1/var/cache/apt/archives" "$archives"
	return $status
}
