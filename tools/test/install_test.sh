#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# install_test.sh DESTDIR: what make install leaves there can be used, and make uninstall
# removes all of it. KVER and KDIR come from the environment. Prints TAP.
set -uo pipefail

cd "$(dirname "$(realpath "$0")")/../.." || exit
dest=$1
prefix=/opt/hwheel
root=$dest$prefix
header=$root/include/libhwheel.h
local_header=$root/include/hwheel_local.h
uapi=$dest/usr/include/linux/hwheel.h
ctl=$root/bin/hwheelctl
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# shellcheck source=selftests/harness/tap.sh
. selftests/harness/tap.sh

make_there() {
	make --no-print-directory "$@" DESTDIR="$dest" PREFIX="$prefix"
}

all_there() {
	local file

	make_there install && for file in bin/hwheelctl include/libhwheel.h include/hwheel_local.h lib/libhwheel.a \
		lib/libhwheel.so lib/libhwheel.so.0 lib/pkgconfig/hwheel.pc \
		share/man/man1/hwheelctl.1 share/man/man3/libhwheel.3 share/man/man3/hwheel_local.3 \
		share/man/man4/hwheel.4 \
		share/man/man9/hwheel.9 share/man/man9/hwheel_cancel_sync.9 \
		share/bash-completion/completions/hwheelctl lib/udev/rules.d/60-hwheel.rules \
		share/doc/hwheel/examples/modprobe.conf; do
		[ -e "$root/$file" ] || { echo "no $file"; return 1; }
	done
}

from_pkg_config() {
	PKG_CONFIG_PATH=$root/lib/pkgconfig PKG_CONFIG_SYSROOT_DIR=$dest pkg-config "$@" hwheel
}

versions_agree() {
	local version

	version=$(sed -n 's/^MODULE_VERSION("\(.*\)");$/\1/p' module/main.c)
	[ "$(from_pkg_config --modversion)" = "$version" ] &&
		[ "$("$ctl" --version)" = "hwheelctl $version" ] &&
		[ "$(readlink "$root/lib/libhwheel.so.0")" = "libhwheel.so.$version" ] &&
		grep -E "^## $version( |$)" CHANGELOG.md &&
		grep -x "version = \"$version\"" tools/python/pyproject.toml &&
		grep -x "__version__ = \"$version\"" tools/python/hwheel/__init__.py &&
		grep -x "PACKAGE_VERSION=\"$version\"" dkms.conf &&
		[ "$(sed -n '1s/^hwheel (\(.*\)) .*/\1/p' debian/changelog)" = "$version" ]
}

needed() {
	readelf -d "$1" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p'
}

# With the device or without
runs() {
	LD_LIBRARY_PATH=$root/lib "$1" | grep '^cookie 42,'
}

shared() {
	local flags

	read -ra flags < <(from_pkg_config --cflags --libs)
	gcc "-I$dest/usr/include" tools/examples/first.c "${flags[@]}" -o "$work/shared" &&
		needed "$work/shared" | grep -x 'libhwheel.so.0' && runs "$work/shared"
}

# Before glibc 2.34 threads are a library of their own.
static() {
	gcc "-I$dest/usr/include" "-I$root/include" tools/examples/first.c \
		"$root/lib/libhwheel.a" -pthread -o "$work/static" &&
		! needed "$work/static" | grep hwheel && runs "$work/static" &&
		from_pkg_config --static --libs | grep -w -- -pthread
}

cplusplus() {
	printf '#include <%s>\n' libhwheel.h hwheel_local.h | gcc -xc++ -fsyntax-only -Wall -Wextra -Werror \
		"-I$dest/usr/include" "-I$root/include" -
}

# Those that the header declares
functions() {
	sed -n 's/^[a-z].*[ *]\(hwheel_[a-z_]*\)(.*/\1/p' "$header" | sort
}

# The others of that header are inline.
local_functions() {
	grep -v '^static' "$local_header" | sed -n 's/^[a-z].*[ *]\(hwheel_local_[a-z_]*\)(.*/\1/p' |
		grep -v '_fn$'
}

exported() {
	nm -D --defined-only "$root/lib/libhwheel.so" | sed -n 's/.* T //p' | sort
}

exports_versions() {
	[ "$(functions | wc -l)" -gt 20 ] &&
		diff <({ functions; local_functions; } | sort | sed 's/$/@@HWHEEL_0.1/') <(exported)
}

# Other globals of the static library are not to collide with a program's own.
hides_the_rest() {
	! nm --defined-only "$root/lib/libhwheel.a" | grep -E ' [A-Z] ' | grep -v ' hwheel_'
}

# mentions PAGE WORD...: each of them
mentions() {
	local page=$root/share/man/$1 word missing=0

	shift
	for word; do
		grep -qwF -- "$word" "$page" || { echo "nothing about $word"; missing=1; }
	done
	[ $# -gt 0 ] && return $missing
}

functions_are_documented() {
	local words

	mapfile -t words < <(functions)
	mentions man3/libhwheel.3 "${words[@]}" &&
		diff <(functions) <(sed -n 's/^\.Nm \(hwheel_[a-z_]*\).*/\1/p' \
			"$root/share/man/man3/libhwheel.3" | sort)
}

# Inline ones, too, but for those that are internal
local_page_has_all() {
	local words

	mapfile -t words < <(sed -n 's|^ \* \(hwheel_local_[a-z_]*\)() - .*|\1|p' "$local_header")
	[ ${#words[@]} -gt 15 ] && mentions man3/hwheel_local.3 "${words[@]}" &&
		! grep -vxFf <(printf '%s\n' "${words[@]}" hwheel_local_aim) <(local_functions)
}

# man hwheel_arm shows the page that has it.
functions_have_pages() {
	local name

	[ "$(functions | wc -l)" -gt 20 ] || return
	for name in $(functions) hwheel_local_run; do
		grep -q "^\.Nm $name\b" "$root/share/man/man3/$name.3" ||
			{ echo "no page $name"; return 1; }
	done
	grep -q '^\.Nm hwheel_cancel_sync' "$root/share/man/man9/hwheel_cancel_sync.9"
}

# All that the header defines, with the fields of its structures, and each errno that it names
device_is_documented() {
	local words

	mapfile -t words < <(grep -oE '\bHWHEEL_[A-Z_]+|\bE[A-Z]{3,}\b' "$uapi" |
		grep -vE '_$|_MAGIC|EPOLL' | sort -u)
	mentions man4/hwheel.4 "${words[@]}" || return
	mapfile -t words < <(sed -n '/^struct/,/^}/s/^\t__[us][0-9]* \([a-z_0-9]*\).*;/\1/p
		s/^\(struct hwheel_[a-z]*\) {/\1/p' "$uapi" | sort -u)
	mentions man4/hwheel.4 "${words[@]}"
}

commands() {
	"$ctl" --help | sed -n '/^Commands:/,/^$/s/^  \([a-z]*\) .*/\1/p'
}

# long_options COMMAND, but for those that all have
long_options() {
	"$ctl" "$1" --help | grep -oE -- '--[a-z]+' | grep -vE -- '--(help|usage|version)$' | sort -u
}

commands_are_documented() {
	local command words

	[ "$(commands | wc -l)" -eq 15 ] || return
	for command in $(commands); do
		mapfile -t words < <(long_options "$command" | sed 's/^-//')
		mentions man1/hwheelctl.1 "$command" "${words[@]}" || return
	done
}

errnos_of_the_library() {
	local words

	mapfile -t words < <(grep -oE '\-E[A-Z]{3,}\b' "$header" | sed 's/^-//' | sort -u)
	mentions man3/libhwheel.3 "${words[@]}"
}

# complete_at WORD...: what Bash would offer for the last one
complete_at() {
	PATH=$root/bin:$PATH bash -c '
		. "$1"
		shift
		COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
		_hwheelctl
		echo ${COMPREPLY[*]}
	' bash "$root/share/bash-completion/completions/hwheelctl" "$@"
}

completes() {
	[ "$(complete_at hwheelctl l)" = "load list" ] &&
		[ "$(complete_at hwheelctl load --t)" = "--threads= --time= --tick=" ] &&
		[ "$(complete_at hwheelctl watch --ev)" = "--events=" ] &&
		[ "$(complete_at hwheelctl arm --j)" = "--json" ] &&
		[ -z "$(complete_at hwheelctl info x)" ] &&
		[ "$(complete_at hwheelctl "" | tr ' ' '\n' | grep -c '^[a-z]')" -eq 15 ]
}

leaves_nothing() {
	make_there uninstall && [ -z "$(find "$dest" ! -type d)" ] && return
	find "$dest" ! -type d
	return 1
}

rm -rf "$dest"
echo "TAP version 13"
report "make install installs all" quietly all_there
report "the version is one everywhere" quietly versions_agree
report "a program with the shared library" quietly shared
report "a program with the static library" quietly static
report "the header is one for C++, too" quietly cplusplus
report "what the header declares is exported, with a version, and nothing else" \
	quietly exports_versions
report "nothing else is in the way in the static library" quietly hides_the_rest
report "libhwheel(3) has every function" quietly functions_are_documented
report "hwheel_local(3) has every function" quietly local_page_has_all
report "each function has a manual page by its name" quietly functions_have_pages
report "libhwheel(3) has every errno" quietly errnos_of_the_library
report "hwheel(4) has all that the header has" quietly device_is_documented
report "hwheelctl(1) has every command and option" quietly commands_are_documented
report "Bash completes" quietly completes
report "make uninstall removes all of it" quietly leaves_nothing
tap_end
