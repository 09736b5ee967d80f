#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# build_packages.sh DIR: builds the Debian packages from a copy of the sources, as packaging writes
# into debian/, leaves them in DIR, and has lintian look at them. The whole output is in
# DIR/log. With MACHINE from the environment, a Debian architecture, they are built in a clean
# Debian 12 of such a machine.
set -euo pipefail

cd "$(dirname "$(realpath "$0")")/../../.."
# shellcheck source=selftests/harness/messages.sh
. selftests/harness/messages.sh
for lib in packages cache archive packages/tree; do
	# shellcheck source=/dev/null
	. "selftests/harness/$lib.sh"
done

out=$1

# What git would have in a commit of what is here, or all of a tree without git
sources() {
	git ls-files -z --cached --others --exclude-standard 2>/dev/null ||
		find . -path ./build -prune -o -type f -print0
}

# A file that is deleted, and not yet in git, is not there.
copy_sources() {
	mkdir "$out/source"
	sources | tar -c --null --ignore-failed-read --warning=no-failed-read -T - | tar -x -C "$out/source"
}

# Root owns what is built there. This machine's apt installs what the build depends on, and the
# tree's dpkg unpacks it.
build_in_tree() {
	local tree=$out/tree status=0 depends

	# shellcheck disable=SC2016 # variables of mmdebstrap
	depends='APT_CONFIG=$MMDEBSTRAP_APT_CONFIG apt-get -y --no-install-recommends \
		-o "DPkg::Chroot-Directory=$1" build-dep .'
	tree_unpack "$tree" --include=build-essential --customize-hook="$depends" &&
		as_root mv "$out/source" "$tree/src" || return
	tree_run "$tree" /src/selftests/harness/packages/inside.sh build &&
		cp "$tree"/*.{deb,buildinfo,changes} "$out/" || status=$?
	as_root rm -rf "$tree"
	return $status
}

build() {
	if [ -n "$machine" ]; then
		build_in_tree
	else
		(cd "$out/source" && DEB_BUILD_OPTIONS=noautodbgsym dpkg-buildpackage -b -us -uc)
	fi
}

rm -rf "$out"
mkdir -p "$out"
out=$(realpath "$out")
copy_sources
say "deb: building the packages${machine:+ for $machine}"
build >"$out/log" 2>&1 ||
	{ tail -n 20 "$out/log" >&2; die "failed; the whole log is $out/log"; }
rm -rf "$out/source"
lintian --fail-on error --tag-display-limit 0 "$out"/*.changes | tee -a "$out/log"
ls "$out"/*.deb
