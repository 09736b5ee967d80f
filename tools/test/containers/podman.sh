#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# podman.sh ARCHIVE: copies to ARCHIVE what a VM needs to run podman. The first call installs Debian's
# podman in a clean Debian 12, which is gone afterwards, and keeps the archive in the cache.
set -euo pipefail

cd "$(dirname "$(realpath "$0")")/../../.."
for lib in messages debian; do
	# shellcheck source=/dev/null
	. "selftests/harness/$lib.sh"
done
: "${cache:?}"

pack() {
	# shellcheck disable=SC2016 # mmdebstrap's variable
	debian_12 /dev/null --format=null --customize-hook="copy-in tools/test/containers/pack.sh /" \
		--customize-hook='chroot "$1" /pack.sh /podman.tar' \
		--customize-hook="download /podman.tar $1/podman.tar"
}

cache_fill debian-12-podman pack
cp "$cache/debian-12-podman/podman.tar" "$1"
