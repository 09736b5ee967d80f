# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# A clean Debian 12 in a folder: made once by debootstrap and kept in the cache as an
# archive. MACHINE from the environment, a Debian architecture, is another machine's: QEMU
# runs its programs, and the kernel calls QEMU for them. Needs messages.sh, packages.sh, cache.sh,
# archive.sh.
: "${cache:?}"

# shellcheck source=selftests/harness/kernels/debian_kernel.sh
. "$(dirname "${BASH_SOURCE[0]}")/../kernels/debian_kernel.sh"

suite=bookworm
machine=${MACHINE-}
tree_name=debian-12${machine:+-$machine}
enter=$(dirname "$(realpath "${BASH_SOURCE[0]}")")/enter.sh
archives=$cache/debian-12-debs

# tree_sources FORMAT [FILTER]: of what this machine's own packages come from
tree_sources() {
	apt-get indextargets --format "$@" 'Created-By: Packages' 'Origin: Debian' \
		'Component: main' | grep -E "[ ]$suite(-security|-updates)?[ ]" | sort -u
}

tree_mirror() {
	# shellcheck disable=SC2016 # apt's variables
	tree_sources '$(REPO_URI) $(CODENAME) ' "Codename: $suite" | head -n 1 | cut -d' ' -f1
}

tree_make() {
	local folder=$1 mirror

	mirror=$(tree_mirror)
	[ -n "$mirror" ] || { say "apt has no source of Debian 12 ($suite)"; return 1; }
	say "debootstrap: Debian 12${machine:+ for $machine} (some minutes)"
	as_root debootstrap ${machine:+--arch="$machine"} --variant=minbase "$suite" \
		"$folder/tree" "$mirror" \
		>"$folder/log" 2>&1 ||
		{ tail -n 5 "$folder/log" >&2; as_root rm -rf "$folder/tree"; return 1; }
	as_root tar -cf "$folder/tree.tar" -C "$folder/tree" . &&
		as_root rm -rf "$folder/tree"
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

# tree_unpack TREE: a fresh one, with the sources of this machine
tree_unpack() {
	local tree=$1

	tree_emulator && cache_fill "$tree_name" tree_make || return
	mkdir -p "$archives"
	as_root rm -rf "$tree" && as_root mkdir -p "$tree" &&
		as_root tar -xf "$cache/$tree_name/tree.tar" -C "$tree" || return
	# shellcheck disable=SC2016 # apt's variables
	tree_sources 'deb $(REPO_URI) $(CODENAME) main' |
		as_root tee "$tree/etc/apt/sources.list" >/dev/null
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
# afterwards, whatever becomes of it. What hangs ends after an hour. The cache gets what apt has
# downloaded.
tree_run() {
	local status=0

	as_root timeout -k 10 "${TREE_TIMEOUT:-3600}" \
		unshare --mount --pid --fork --kill-child "$enter" "$@" </dev/null || status=$?
	debs_share "$1/var/cache/apt/archives" "$archives"
	return $status
}
