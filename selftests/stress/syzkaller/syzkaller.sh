# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# syzkaller, built in the cache from its source together with the description of this folder, and
# the programs that its machine needs. Needs debian.sh.
: "${cache:?}"

# The last commit whose folder vendor/ has all that it is built from: with it the build asks no
# other server.
syzkaller_commit=475a4c203afb8b7d3af51c4fd32bb170ff32a45e
syzkaller_address=https://github.com/google/syzkaller
syzkaller_go=golang-1.23
syzkaller_folder=$(dirname "$(realpath "${BASH_SOURCE[0]}")")

# Another description or pseudo-call makes another syzkaller, another comment of the description
# does not.
syzkaller_name() {
	local hash

	hash=$({ grep -hv '^#' "$syzkaller_folder"/dev_hwheel.txt{,.const} &&
		cat "$syzkaller_folder"/pseudo.{h,go}; } | sha256sum)
	echo "syzkaller-${syzkaller_commit:0:12}-${hash:0:8}"
}

go_fetch() {
	say "go: unpacking $syzkaller_go (not installed)"
	archive_unpack "$(machine_here):bookworm-backports" "$1" "$syzkaller_go-go" "$syzkaller_go-src"
}

# The repository, of which the commit is enough.
syzkaller_fetch() {
	say "syzkaller: fetching its source"
	git init -q --bare "$1" && git -C "$1" fetch -q --depth 1 "$syzkaller_address" \
		"$syzkaller_commit" >&2
}

# Prints the folder of a git repository that has the commit.
syzkaller_repository() {
	if [ -n "${SYZKALLER_SRC-}" ]; then
		realpath "$SYZKALLER_SRC"
	else
		cache_fill syzkaller-source syzkaller_fetch && echo "$cache/syzkaller-source"
	fi
}

# Two large files that nothing is built from are left out: a partial copy may lack them.
syzkaller_unpack() {
	local repository

	repository=$(syzkaller_repository) || return
	git --git-dir="$(git -C "$repository" rev-parse --absolute-git-dir)" archive \
		"$syzkaller_commit" ':!pkg/cover/backend/test_data' ':!vendor/*/compute-api.json' |
		tar -x -C "$1" &&
		cp "$syzkaller_folder"/dev_hwheel.txt{,.const} "$1/sys/linux/" &&
		cp "$syzkaller_folder/pseudo.go" "$1/pkg/vminfo/" &&
		cat "$syzkaller_folder/pseudo.h" >>"$1/executor/common_linux.h"
}

# syzkaller_make FOLDER TARGET...: the descriptions of other systems and machines are left out. The
# folder is not a repository, so make is told the commit, which the programs compare.
syzkaller_make() {
	local go=$cache/$syzkaller_go/usr/lib/go-${syzkaller_go#*-}

	env GOROOT="$go" PATH="$go/bin:$PATH" GOTOOLCHAIN=local GOPROXY=off \
		GOFLAGS="-mod=vendor -trimpath" GOCACHE="$cache/go-build" GOPATH="$1/go" \
		make -C "$1" SYZ_ENV=1 NCORES="$(nproc)" REV="${syzkaller_commit:0:12}" \
		TARGETOS=linux TARGETARCH=amd64 \
		GOTAGS="syz_target syz_os_linux syz_arch_amd64" "${@:2}" >>"$1/log" 2>&1 ||
		{ tail -n 20 "$1/log" >&2; return 1; }
}

# Only the programs stay.
syzkaller_build() {
	say "syzkaller: building it (some minutes)"
	mkdir "$1/source"
	syzkaller_unpack "$1/source" || return
	# With GO the descriptions would only be laid out prettily, which takes minutes.
	syzkaller_make "$1/source" descriptions GO=true &&
		syzkaller_make "$1/source" manager execprog executor db || return
	mv "$1/source/bin" "$1/bin"
	chmod -R u+w "$1/source"
	rm -rf "$1/source"
}

# The server that syzkaller calls in its machine, with all of its libraries.
dropbear_fetch() {
	say "dropbear: unpacking it (not installed)"
	archive_unpack "$(machine_here)" "$1" dropbear-bin libtomcrypt1 libtommath1 libgmp10 zlib1g \
		libcrypt1 libc6
}

# Prints where each of these is, as variables for make.
syzkaller() {
	packages git g++ make openssh-client busybox-static cpio python3 || return
	cache_fill "$syzkaller_go" go_fetch && cache_fill dropbear dropbear_fetch &&
		cache_fill "$(syzkaller_name)" syzkaller_build || return
	echo "SYZKALLER=$cache/$(syzkaller_name) DROPBEAR=$cache/dropbear"
}
