# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# What is newer than this Debian: packages of backports. They are downloaded, never
# installed, with package lists of their own, so that apt here offers nothing else than
# before. Needs messages.sh, packages.sh.

backports_suite=trixie-backports

# Whoever has Debian has its backports, too.
backports_mirror() {
	# shellcheck disable=SC2016 # apt's variable, not the shell's
	apt-get indextargets --format '$(REPO_URI)' \
		'Created-By: Packages' 'Origin: Debian' 'Label: Debian' | sed -n 1p
}

# apt_apart FOLDER COMMAND ARGUMENT...
apt_apart() {
	local folder=$1 command=$2

	shift 2
	LC_ALL=C "$command" -q -o APT::Sandbox::User=root -o Dir::Cache="$folder" \
		-o Dir::State::Lists="$folder/lists" -o Dir::Etc::SourceParts=/dev/null \
		-o Dir::Etc::SourceList="$folder/sources.list" "$@"
}

# backports_update FOLDER: gets the package lists into FOLDER. Their signature is checked
# with Debian's keys, and all else against them.
backports_update() {
	local keys=/usr/share/keyrings/debian-archive-keyring.gpg mirror

	mirror=$(backports_mirror)
	[ -n "$mirror" ] || { packages_update && mirror=$(backports_mirror); } || return
	[ -n "$mirror" ] || { say "apt: no source of Debian's is configured"; return 1; }
	say "apt: looking what $backports_suite has"
	mkdir -p "$1/lists/partial" "$1/archives/partial"
	echo "deb [signed-by=$keys] $mirror $backports_suite main" >"$1/sources.list"
	apt_apart "$1" apt-get update 2>&1 | apt_progress
}

# backports_version FOLDER PACKAGE: the version on offer, after backports_update FOLDER
backports_version() {
	apt_apart "$1" apt-cache show --no-all-versions "$2" |
		sed -n 's/^Version: //p'
}

# backports_download FOLDER PACKAGE TO: into the folder TO, after backports_update FOLDER
backports_download() {
	say "apt: downloading $2 (it is not installed on this machine)"
	(cd "$3" && apt_apart "$1" apt-get download "$2" 2>&1 | apt_progress)
}
