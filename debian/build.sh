#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# build.sh DIR: builds the Debian packages from a copy of the sources, as packaging writes into
# debian/, leaves them in DIR, and has lintian look at them. The whole output is in DIR/log. With
# MACHINE from the environment, a Debian architecture, a clean Debian 12 of such a machine builds
# them, without Java, which an emulated machine takes very long to compile.
set -euo pipefail

cd "$(dirname "$(realpath "$0")")/.."
for lib in messages debian; do
	# shellcheck source=/dev/null
	. "selftests/harness/$lib.sh"
done

export DEB_BUILD_OPTIONS=noautodbgsym
build="dpkg-buildpackage -b -us -uc"

# Prints the files that a commit would have, or all files of a tree without git
sources() {
	git ls-files -z --cached --others --exclude-standard 2>/dev/null ||
		find . -path ./build -prune -o -type f -print0
}

# Root owns what is built there. This machine's apt installs what the build depends on.
build_emulated() {
	export DEB_BUILD_PROFILES=pkg.hwheel.nojava
	# shellcheck disable=SC2016 # variables of mmdebstrap
	debian_12 /dev/null --format=null --include=build-essential \
		--customize-hook='APT_CONFIG=$MMDEBSTRAP_APT_CONFIG apt-get -y build-dep . \
			--no-install-recommends -o "DPkg::Chroot-Directory=$1"' \
		--customize-hook="copy-in $out/source /" \
		--customize-hook='chroot "$1" sh -c '"'cd /source && $build'" \
		--customize-hook="cp \"\$1\"/*.deb \"\$1\"/*.buildinfo \"\$1\"/*.changes $out"
}

rm -rf "$1"
mkdir -p "$1/source"
out=$(realpath "$1")
# A file that is deleted, and not yet in git, is not there.
sources | tar -c --null --ignore-failed-read --warning=no-failed-read -T - | tar -x -C "$out/source"
say "deb: building the packages${MACHINE:+ for $MACHINE}"
if [ -n "${MACHINE-}" ]; then
	build_emulated
else
	(cd "$out/source" && $build)
fi >"$out/log" 2>&1 || { tail -n 20 "$out/log" >&2; die "failed; the whole log is $out/log"; }
rm -rf "$out/source"
lintian --fail-on error --tag-display-limit 0 "$out"/*.changes | tee -a "$out/log"
ls "$out"/*.deb
