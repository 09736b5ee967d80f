# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# Debian's archives: that of this machine, by the name of its architecture; that of another
# architecture; and, as ARCHITECTURE:SUITE, a suite of another release. apt has a folder of its
# own for each but the first, so that it offers nothing else here than before: packages from
# there are downloaded, never installed. Needs messages.sh, packages.sh, cache.sh.
: "${cache:?}"

archive_is_own() {
	[ "$1" = "$(dpkg --print-architecture)" ]
}

archive_folder() {
	echo "$cache/apt-${1/:/-}"
}

# The server of this Debian's packages has its other suites, too.
archive_mirror() {
	# shellcheck disable=SC2016 # apt's variable, not the shell's
	apt-get indextargets --format '$(REPO_URI)' \
		'Created-By: Packages' 'Origin: Debian' 'Label: Debian' | sed -n 1p
}

# The signature of the lists is checked with Debian's keys, and all else against them.
archive_source() {
	local keys=/usr/share/keyrings/debian-archive-keyring.gpg mirror

	mirror=$(archive_mirror)
	[ -n "$mirror" ] || { packages_update && mirror=$(archive_mirror); } || return
	[ -n "$mirror" ] || { say "apt: no source of Debian's is configured"; return 1; }
	echo "deb [signed-by=$keys] $mirror $1 main"
}

# Another architecture comes from where this one's packages come from.
archive_configure() {
	local folder=$1 arch=${2%%:*} suite=${2#"${2%%:*}"}

	mkdir -p "$folder"/{lists,archives}/partial
	: >"$folder/status"
	cat >"$folder/apt.conf" <<-EOF
		APT::Architecture "$arch";
		APT::Architectures { "$arch"; };
		APT::Sandbox::User "root";
		Acquire::Languages "none";
		Dir::Cache "$folder";
		Dir::State::Lists "$folder/lists";
		Dir::State::Status "$folder/status";
	EOF
	[ -n "$suite" ] || return 0
	archive_source "${suite#:}" >"$folder/sources.list" || return
	cat >>"$folder/apt.conf" <<-EOF
		Dir::Etc::SourceList "$folder/sources.list";
		Dir::Etc::SourceParts "/dev/null";
	EOF
}

# archive ARCHIVE COMMAND ARGUMENT...: a command of apt's that changes nothing here
archive() {
	local name=$1

	shift
	if archive_is_own "$name"; then
		LC_ALL=C "$@"
	else
		APT_CONFIG=$(archive_folder "$name")/apt.conf LC_ALL=C "$@"
	fi
}

# A list that cannot be had is no reason to do without the others.
archive_update_locked() {
	local folder

	folder=$(archive_folder "$1")
	say "apt: looking what there is for ${1/:/ in }"
	archive_configure "$folder" "$1" || return
	archive "$1" apt-get -q update 2>&1 | apt_progress || true
}

archive_update() {
	if archive_is_own "$1"; then
		packages_update
	else
		cache_locked "apt-${1/:/-}" archive_update_locked "$1"
	fi
}

# Of an archive whose lists were never there, it knows nothing.
archive_knows() {
	local name=$1 package

	archive_is_own "$name" || [ -e "$(archive_folder "$name")/apt.conf" ] || return
	shift
	for package; do
		archive "$name" apt-cache show --no-all-versions "$package" >/dev/null 2>&1 ||
			return
	done
}

# archive_find ARCHIVE PACKAGE...: looks again if one is not known
archive_find() {
	archive_knows "$@" || { archive_update "$1" && archive_knows "$@"; }
}

archive_version() {
	archive "$1" apt-cache show --no-all-versions "$2" | sed -n 's/^Version: //p'
}

# archive_depends ARCHIVE PACKAGE BEGINNING: what PACKAGE depends on and begins so, without that
archive_depends() {
	archive "$1" apt-cache depends --important "$2" | sed -nE "s/^ *\|?Depends: $3//p"
}

archive_get() {
	local name=$1 folder=$2

	shift 2
	(cd "$folder" && archive "$name" apt-get -q download -o APT::Sandbox::User=root \
		"$@" 2>&1 | apt_progress)
}

# archive_download ARCHIVE FOLDER PACKAGE...: into FOLDER. Lists that are too old are the usual
# reason for a failure.
archive_download() {
	local name=$1 packages=("${@:3}")

	archive_find "$name" "${packages[@]}" ||
		{ say "apt: there is no ${packages[*]} for ${name/:/ in }"; return 1; }
	archive_get "$@" || { archive_update "$name" && archive_get "$@"; }
}

# archive_unpack FOLDER: unpacks what was downloaded there.
archive_unpack() {
	local deb

	for deb in "$1"/*.deb; do
		dpkg-deb -x "$deb" "$1" && rm "$deb" || return
	done
}

# debian_12 OUT OPTION...: mmdebstrap makes a clean Debian 12 in OUT, for MACHINE from the
# environment, a Debian architecture, or for this one. It comes from where this machine's packages
# come from. For another machine QEMU runs the programs, and takes minutes.
debian_12() {
	local out=$1 machine=${MACHINE-} sources

	shift
	packages mmdebstrap arch-test ${machine:+qemu-user-static binfmt-support} || return
	[ -z "$machine" ] || as_root update-binfmts --enable || return
	# shellcheck disable=SC2016 # apt's variables
	sources=$(apt-get indextargets --format 'deb $(REPO_URI) $(CODENAME) main' \
		'Created-By: Packages' 'Origin: Debian' 'Component: main' |
		grep -E ' bookworm(-security)? ' | sort -u) ||
		{ say "apt has no source of Debian 12 (bookworm)"; return 1; }
	say "mmdebstrap: Debian 12${machine:+ for $machine} (some minutes)"
	as_root mmdebstrap --mode=root --variant=minbase ${machine:+--architectures="$machine"} \
		"$@" bookworm "$out" - <<<"$sources" >&2
}
