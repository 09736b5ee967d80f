#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# podman.sh ARCHIVE: copies to ARCHIVE what a VM needs to run podman. The first call installs Debian's
# podman in a clean Debian 12, which is gone afterwards, and keeps the archive in the cache.
set -euo pipefail

cd "$(dirname "$(realpath "$0")")/../../.."
for lib in messages packages cache archive packages/tree; do
	# shellcheck source=/dev/null
	. "selftests/harness/$lib.sh"
done
: "${cache:?}"

pack() {
	local folder=$1 tree=$1/tree status=0

	say "podman: installing it in a clean Debian 12"
	tree_unpack "$tree" && as_root cp tools/test/containers/pack.sh "$tree/" &&
		tree_run "$tree" /pack.sh /podman.tar >"$folder/log" 2>&1 || status=$?
	[ $status -eq 0 ] || tail -n 5 "$folder/log" >&2
	[ $status -ne 0 ] || as_root cat "$tree/podman.tar" >"$folder/podman.tar"
	as_root rm -rf "$tree"
	return $status
}

cache_fill debian-12-podman pack
cp "$cache/debian-12-podman/podman.tar" "$1"
