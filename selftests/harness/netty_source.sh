# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# Netty's own test of its timer, in the cache: no binary package has it, so it comes out of
# Debian's source package. Needs messages.sh, packages.sh, cache.sh, archive.sh.
: "${cache:?}"

netty_test=common/src/test/java/io/netty/util/HashedWheelTimerTest.java

# netty_apt FOLDER COMMAND...: apt-get, with lists of its own, of source packages only
netty_apt() {
	local folder=$1

	shift
	LC_ALL=C apt-get -q -o APT::Sandbox::User=root -o Dir::Cache="$folder" \
		-o Dir::State::Lists="$folder/lists" -o Dir::Etc::SourceParts=/dev/null \
		-o Dir::Etc::SourceList="$folder/sources.list" "$@" 2>&1 | apt_progress
}

# The source package's own archive is what Netty released; Debian's changes are apart.
netty_fetch() {
	local folder=$1 apt=$1/apt release

	release=$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)
	say "apt: getting the source of Netty, for its own test of its timer"
	mkdir -p "$apt"/{lists,archives}/partial
	archive_source "$release" | sed 's/^deb /deb-src /' >"$apt/sources.list" || return
	netty_apt "$apt" update || return
	(cd "$apt" && netty_apt "$apt" source --download-only --tar-only netty) || return
	tar -xf "$apt"/netty_*.orig.tar.* -C "$folder" --strip-components=1 \
		--wildcards "*/$netty_test" && rm -r "$apt"
}

# Prints the folder: of the version that is installed.
netty_source() {
	local version

	# shellcheck disable=SC2016 # dpkg-query's variable, not the shell's
	version=$(dpkg-query -W -f '${Version}' libnetty-java) || return
	cache_fill "netty-${version#*:}" netty_fetch && echo "$cache/netty-${version#*:}"
}
