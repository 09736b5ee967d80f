# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# What a person sees while something slow goes on. Always on stderr: stdout
# carries results.

say() {
	printf '  %s\n' "$*" >&2
}

die() {
	printf '%s: %s\n' "${0##*/}" "$*" >&2
	exit 1
}
