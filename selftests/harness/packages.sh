# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# Debian packages: installed when they are missing, and only then. Needs messages.sh.

# Debian and the distributions that are made from it have both.
has_apt() {
	command -v apt-get >/dev/null && command -v dpkg-query >/dev/null
}

packages_missing() {
	local name

	for name; do
		dpkg-query -W -f '${db:Status-Abbrev}' "$name" 2>/dev/null |
			grep -q '^.i' || echo "$name"
	done
}

# Nobody can type a password where there is no terminal.
as_root() {
	if [ "$(id -u)" -eq 0 ]; then
		"$@"
	elif sudo -n true 2>/dev/null; then
		sudo -n "$@"
	elif [ -t 0 ] && [ -t 2 ] && command -v sudo >/dev/null; then
		sudo "$@"
	else
		return 1
	fi
}

# Shows the big downloads and the errors, as the rest of apt's chatter tells little.
apt_progress() {
	sed -nuE 's/^(Get:[0-9]+) [^ ]+ [^ ]+ [^ ]+ ([^ ]+) .*(\[([0-9]+,[0-9]+ kB|.* MB)\])$/    \1 \2 \3/p
		s/^(Need to get .*)$/    \1/p
		s/^([EW]: .*)$/    \1/p' >&2
}

# One apt at a time: it waits for dpkg's lock, but not for that of the package lists.
apt_get() {
	as_root env DEBIAN_FRONTEND=noninteractive LC_ALL=C \
		flock -o /run/lock/hwheel-apt apt-get -q -y -o DPkg::Lock::Timeout=300 "$@" </dev/null 2>&1 |
		apt_progress
}

packages_update() {
	say "apt: updating the package lists"
	apt_get update
}

packages_known() {
	local name

	for name; do
		apt-cache show --no-all-versions "$name" >/dev/null 2>&1 || return
	done
}

packages_install() {
	apt_get install --no-install-recommends "$@"
}

packages_without_apt() {
	say "this machine has no apt. Install what is in these packages of Debian's:"
	say "$*"
	return 1
}

packages_refuse() {
	say "these packages are missing, and only root can install them:"
	say "apt-get install --no-install-recommends $*"
	return 1
}

# Lists that are missing or too old are the usual reason for a failure.
packages() {
	local missing

	has_apt || packages_without_apt "$@" || return
	mapfile -t missing < <(packages_missing "$@")
	[ ${#missing[@]} -gt 0 ] || return 0
	as_root true || packages_refuse "${missing[@]}" || return

	packages_known "${missing[@]}" || packages_update || return
	say "apt: installing ${missing[*]}"
	packages_install "${missing[@]}" && return
	packages_update && packages_install "${missing[@]}"
}

# packages_to_build PACKAGE...: the packages that a build needs. Without apt they are taken to be
# there, and the compiler names the header that is missing.
packages_to_build() {
	! has_apt || packages "$@"
}
