# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# What Debian has: packages, which are installed if they are missing; a cache folder with what was
# downloaded or built once; archives of other machines and releases; kernels.

# shellcheck source=selftests/harness/messages.sh
. "$(dirname "${BASH_SOURCE[0]}")/messages.sh"
# shellcheck source=selftests/harness/vm/machines.sh
. "$(dirname "${BASH_SOURCE[0]}")/vm/machines.sh"

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

# One apt at a time: it waits for dpkg's lock, but not for that of the package lists.
apt_get() {
	as_root env DEBIAN_FRONTEND=noninteractive LC_ALL=C \
		flock -o /run/lock/hwheel-apt apt-get -qq -o DPkg::Lock::Timeout=300 \
		--no-install-recommends "$@" </dev/null >/dev/null
}

packages_update() {
	say "apt: updating the package lists"
	apt_get update
}

# packages PACKAGE...: installs each package that is missing. The usual reason for a failure is lists
# that are missing or too old.
packages() {
	local missing

	has_apt || { say "this machine has no apt. Install what is in Debian's packages $*"; return 1; }
	mapfile -t missing < <(packages_missing "$@")
	[ ${#missing[@]} -gt 0 ] || return 0
	as_root true || { say "only root can install the missing packages ${missing[*]}"; return 1; }
	apt-get -qq --print-uris install "${missing[@]}" >/dev/null 2>&1 || packages_update || return
	say "apt: installing ${missing[*]}"
	apt_get install "${missing[@]}" || { packages_update && apt_get install "${missing[@]}"; }
}

# packages_to_build PACKAGE...: the packages that a build needs. Without apt they are taken to be
# there, and the compiler names the header that is missing.
packages_to_build() {
	! has_apt || packages "$@"
}

cache=${HWHEEL_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/hwheel}
mkdir -p "$cache"

# cache_locked NAME COMMAND...: what fills NAME runs once at a time; whatever else is missing
# can be made meanwhile. No process that COMMAND leaves behind inherits the lock.
cache_locked() {
	local lock=$cache/$1.lock

	shift
	(
		flock -n 9 || { say "cache: waiting for another run"; flock 9; }
		"$@" 9>&-
	) 9>"$lock"
}

# cache_fill NAME COMMAND...: COMMAND fills the folder NAME, which is its last argument. A folder that
# an interrupted run left is filled anew.
cache_fill() {
	[ -e "$cache/$1/.complete" ] || cache_locked "$1" cache_fill_locked "$@"
}

cache_fill_locked() {
	local folder=$cache/$1

	[ ! -e "$folder/.complete" ] || return 0
	rm -rf "$folder"
	mkdir "$folder"
	"${@:2}" "$folder" && touch "$folder/.complete"
}

# Debian's archives: that of this machine, by the name of its architecture; that of another
# architecture, which comes from where this one's packages come from; and, as ARCHITECTURE:SUITE, a
# suite of another release. apt has a folder of its own for each but the first, so that it offers
# nothing else here than before: packages from there are downloaded, never installed.

# The server of this Debian's packages, which has its other suites, too
archive_mirror() {
	# shellcheck disable=SC2016 # apt's variable, not the shell's
	apt-get indextargets --format '$(REPO_URI)' \
		'Created-By: Packages' 'Origin: Debian' 'Label: Debian' | sed -n 1p | grep .
}

# The signature of the lists is checked with Debian's keys, and all else against them.
archive_sources() {
	local keys=/usr/share/keyrings/debian-archive-keyring.gpg mirror

	mirror=$(archive_mirror) || { packages_update && mirror=$(archive_mirror); } ||
		{ say "apt: no source of Debian's is configured"; return 1; }
	printf "%s [signed-by=$keys] $mirror $1 main\n" deb deb-src
}

archive_configure() {
	local arch=${1%%:*} suite=${1#"${1%%:*}"} folder=$2

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
	archive_sources "${suite#:}" >"$folder/sources.list" || return
	cat >>"$folder/apt.conf" <<-EOF
		Dir::Etc::SourceList "$folder/sources.list";
		Dir::Etc::SourceParts "/dev/null";
	EOF
}

# A list that cannot be had is no reason to do without the others.
archive_update_locked() {
	say "apt: looking what there is for ${1/:/ in }"
	archive_configure "$1" "$2" || return
	APT_CONFIG=$2/apt.conf LC_ALL=C apt-get -qq update >&2 || true
}

archive_try() {
	local config=$cache/apt-${1/:/-}/apt.conf

	if [ "$1" = "$(machine_here)" ]; then
		LC_ALL=C "${@:2}"
	else
		[ -e "$config" ] && APT_CONFIG=$config LC_ALL=C "${@:2}"
	fi
}

# archive ARCHIVE COMMAND ARGUMENT...: a command of apt's that changes nothing here. One that fails
# is tried again with new lists.
archive() {
	local name=apt-${1/:/-}

	! archive_try "$@" 2>/dev/null || return 0
	if [ "$1" = "$(machine_here)" ]; then
		packages_update
	else
		cache_locked "$name" archive_update_locked "$1" "$cache/$name"
	fi && archive_try "$@"
}

# archive_depends ARCHIVE PACKAGE BEGINNING: what PACKAGE depends on and begins so, without that
archive_depends() {
	archive "$1" apt-cache depends --important "$2" | sed -nE "s/^ *\|?Depends: $3//p" | grep .
}

# archive_unpack ARCHIVE FOLDER PACKAGE...: downloads and unpacks them there.
archive_unpack() {
	local deb

	(cd "$2" && archive "$1" apt-get -q download -o APT::Sandbox::User=root "${@:3}" >&2) || return
	for deb in "$2"/*.deb; do
		dpkg-deb -x "$deb" "$2" && rm "$deb" || return
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

# Netty's own test of its timer: no binary package has it. The source package's own archive is what
# Netty released; Debian's changes are apart.
netty_fetch() {
	local release

	release=$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)
	say "apt: getting the source of Netty, for its own test of its timer"
	(cd "$1" && archive "$(machine_here):$release" apt-get -qq source --download-only --tar-only \
		netty >&2) && tar -xf "$1"/netty_*.orig.tar.* -C "$1" --strip-components=1 --wildcards \
		'*/common/src/test/java/io/netty/util/HashedWheelTimerTest.java' &&
		rm "$1"/netty_*
}

# Prints the folder: of the version that is installed.
netty_source() {
	local version

	# shellcheck disable=SC2016 # dpkg-query's variable, not the shell's
	version=$(dpkg-query -W -f '${Version}' libnetty-java) || return
	cache_fill "netty-${version#*:}" netty_fetch && echo "$cache/netty-${version#*:}"
}

# redocly_fetch FOLDER: what lints a description of an API, from npm's registry; the last version but
# one asks for a part that is not there
redocly_fetch() {
	say "npm: getting @redocly/cli"
	npm install --silent --no-audit --no-fund --prefix "$1" @redocly/cli@1.34.20 >&2
}

# loops_fetch FOLDER: libuv and libevent as they were released, for their own tests of timers
loops_fetch() {
	local release name

	release=$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)
	say "apt: getting the sources of libuv and libevent, for their own tests of timers"
	(cd "$1" && archive "$(machine_here):$release" apt-get -qq source --download-only --tar-only \
		libuv1 libevent >&2) || return
	for name in libuv libevent; do
		mkdir "$1/$name" && tar -xf "$1/$name"*_*.orig.tar.* -C "$1/$name" \
			--strip-components=1 && rm "$1/$name"*_* || return
	done
}

# Prints the folder of this Debian's ones.
loops_source() {
	local name

	has_apt || return
	name=loops-$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)
	cache_fill "$name" loops_fetch && echo "$cache/$name"
}

# A later JVM than Debian 12 has, with the C library that it was built with, which patchelf has it
# take. $1/java is a script, as other programs must not be run with that library.
java_25_fetch() {
	local lib jvm

	lib=$1/usr/lib/$(uname -m)-linux-gnu
	say "apt: downloading OpenJDK 25 of Debian 13 (not installed)"
	archive_unpack "$(machine_here):trixie" "$1" openjdk-25-jre-headless libc6 libgcc-s1 \
		libstdc++6 zlib1g || return
	jvm=$(echo "$1"/usr/lib/jvm/java-25-openjdk-*)
	patchelf --set-interpreter "$(echo "$lib"/ld-linux*)" "$jvm"/{bin/java,lib/jspawnhelper} ||
		return
	# Its configuration is where Debian has it.
	find "$jvm" -type l -lname '/etc/*' -printf '%l %p\n' |
		while read -r to link; do ln -sfn "$1$to" "$link"; done
	cat >"$1/java" <<-EOF && chmod +x "$1/java"
		#!/bin/sh
		LD_LIBRARY_PATH=$lib\${LD_LIBRARY_PATH:+:\$LD_LIBRARY_PATH} exec $jvm/bin/java "\$@"
	EOF
}

# Prints the path of the JVM.
java_25() {
	cache_fill java-25 java_25_fetch && echo "$cache/java-25/java"
}

# hwheeld takes etcd 3.5.16 and later, which Debian 13 has. Its programs need no other library.
etcd_fetch() {
	say "apt: unpacking etcd of Debian 13 (not installed)"
	archive_unpack "$(machine_here):trixie" "$1" etcd-server etcd-client
}

# Prints the folder of etcd and etcdctl.
etcd() {
	cache_fill etcd etcd_fetch && echo "$cache/etcd/usr/bin"
}

# The libraries that programs for another machine are built with, and the busybox that this machine
# runs first: all static, as the machine has no other library.
sysroot_fetch() {
	say "sysroot: downloading what programs for $machine_debian need"
	archive_unpack "$machine_debian" "$1" busybox-static liburing-dev || return
	[ -e "$1/bin/busybox" ] || ln -s usr/bin "$1/bin"
}

# emulator PACKAGE...: QEMU for the machine that was chosen, and these packages. Where the table of
# machines names it as PACKAGE:SUITE it is unpacked; Debian 12 has the libraries that it needs.
emulator() {
	local package=${machine_package%:*} archive depends

	if [ "$package" = "$machine_package" ]; then
		packages "$@" "$package"
		return
	fi
	archive=$(machine_here):${machine_package#*:}
	mapfile -t depends < <(archive "$archive" apt-cache depends --important "$package" |
		sed -n 's/^ *Depends: <\(.*\)>$/\1/p')
	packages "$@" "${depends[@]}" && cache_fill "${machine_package/:/-}" emulator_fetch "$archive"
}

emulator_fetch() {
	say "qemu: unpacking ${machine_package/:/ of } (not installed)"
	archive_unpack "$1" "$2" "${machine_package%:*}" qemu-system-common qemu-system-data seabios
}

# Debian's kernels: nothing of them is installed. All that is needed is unpacked in the cache.

# The kernels that have names of their own, and the end of the name of their headers' package
declare -A flavours=(
	[vm]=cloud-$(machine_here 2>/dev/null)
	[newest]=cloud-amd64
	[shared]=$(machine_here 2>/dev/null)
	[arm64]=cloud-arm64
	[arm64-6.12]=6.12-cloud-arm64
	[arm64-16k]=6.12-arm64-16k
	[armhf]=armmp-lpae
	[i386]=686-pae
	[s390x]=s390x
)

# Prints the package of the headers of a flavour: one of these, or as Debian names those for
# amd64, cloud, rt, 6.12-cloud, 6.12-rt.
headers_of_flavour() {
	echo "linux-headers-${flavours[$1]-$1-amd64}"
}

# A kernel of the next Debian, from its backports, on Debian 12
is_newer_kernel() {
	[[ $1 == *+deb13* ]] && grep -qs '^VERSION_ID="12"' /etc/os-release
}

# Prints the archive that has a kernel's packages.
kernel_archive() {
	if is_newer_kernel "$1"; then
		echo "$machine_debian:trixie-backports"
	else
		echo "$machine_debian"
	fi
}

# Prints the version of the current kernel of a flavour.
kernel_of_flavour() {
	local meta name=$1

	meta=$(headers_of_flavour "$name")
	machine_choose "$meta"
	archive_depends "$(kernel_archive "${name/newest/+deb13}")" "$meta" linux-headers-
}

# newer_programs KVER FOLDER: the programs that build modules for a newer Debian's kernel, and its
# compiler, want that Debian's C library: each program in FOLDER is told where it is. The libraries
# beside the C library are this machine's.
newer_programs() {
	local folder=$2 headers=$2/usr/src/linux-headers-$1 triplet=${machine_triplet//_/-}
	local libraries=$2/usr/lib/$machine_triplet compiler program

	packages patchelf libssl3 libelf1 libmpc3 libisl23 || return
	compiler=$(sed -nE 's/^CC .*(gcc-[0-9]+)$/\1/p' "$headers/.kernelvariables")
	archive_unpack "$machine_debian:trixie" "$folder" libc6 "$compiler-$triplet" \
		"${compiler/gcc/cpp}-$triplet" "lib$compiler-dev" || return
	while read -r program; do
		patchelf --print-interpreter "$program" >/dev/null 2>&1 || continue
		patchelf --set-interpreter "$libraries"/ld-linux-x86-64.so.2 \
			--set-rpath "$libraries:/usr/lib/$machine_triplet" "$program" || return
	done < <(find "$folder"/usr/{bin,lib/linux-kbuild-*,libexec} -type f -perm -100)
	sed -i "s|^CC .*|CC = $folder/usr/bin/$machine_triplet-$compiler|" "$headers/.kernelvariables"
}

# The programs that make modules are this machine's, for whichever machine. All find each other by
# their absolute paths. Without vmlinux no types are put into modules, which would take pahole.
headers_fetch() {
	local kver=$1 folder=$2 package=linux-headers-$1 archive common kbuild

	archive=$(kernel_archive "$kver")
	common=$(archive_depends "$archive" "$package" linux-headers-) &&
		kbuild=$(archive_depends "$archive" "$package" linux-kbuild-) || return
	say "kernel: unpacking $package (not installed)"
	archive_unpack "$archive" "$folder" "$package" "linux-headers-$common" &&
		archive_unpack "$(machine_here)${archive#"$machine_debian"}" "$folder" \
			"linux-kbuild-$kbuild" || return
	sed -i "s#\(=\|^include \)/usr/src/#\1$folder/usr/src/#" "$folder/usr/src/$package/Makefile"
	rm -f "$folder/usr/src/$package/vmlinux"
	! is_newer_kernel "$kver" || newer_programs "$kver" "$folder"
}

# Prints the folder that modules for a kernel are built in.
kernel_headers() {
	local kver=$1

	if [ -e "/lib/modules/$kver/build" ]; then
		echo "/lib/modules/$kver/build"
		return
	fi
	{ has_apt && machine_choose "$kver" &&
		cache_fill "headers-$kver" headers_fetch "$kver"; } ||
		die "no headers for the kernel $kver: KDIR= names a kernel's build folder"
	echo "$cache/headers-$kver/usr/src/linux-headers-$kver"
}

kernel_image_path() {
	echo "$cache/kernel-$1/vmlinuz"
}

# The image, in a package that later kernels have apart, the modules with which a machine mounts a
# folder of this one, and the one with which s390x sends results
kernel_image_fetch() {
	local kver=$1 folder=$2 package=linux-image-$1 archive

	archive=$(kernel_archive "$kver")
	! archive_depends "$archive" "$package" linux-binary- | grep -qxF "$kver" ||
		package=linux-binary-$kver
	say "kernel: downloading $package (not installed on this machine)"
	mkdir "$folder/deb"
	archive_unpack "$archive" "$folder/deb" "$package" &&
		find "$folder/deb" -type f -name 'vmlinuz*' -exec mv {} "$folder/vmlinuz" \; &&
		find "$folder/deb" -regex '.*/\(9p.*\|netfs\|fscache\|virtio.*\)\.ko' \
			-exec mv -t "$folder" {} + && rm -r "$folder/deb"
}

kernel_image() {
	machine_choose "$1" && cache_fill "kernel-$1" kernel_image_fetch "$1"
}

source_fetch() {
	say "kernel: unpacking $2 (a minute at most)"
	mkdir "$3/deb"
	archive_unpack "$1" "$3/deb" "$2" &&
		tar -xf "$3"/deb/usr/src/*.tar.xz --strip-components=1 -C "$3" && rm -r "$3/deb"
}

# kernel_source ARCHIVE PACKAGE: prints the folder of the newest source that is unpacked, or unpacks
# that of today.
kernel_source() {
	local folder version

	packages xz-utils || return
	folder=$(find "$cache" -maxdepth 2 -path "*/$2.*/.complete" -printf '%h\n' | sort -V | tail -n 1)
	if [ -z "$folder" ]; then
		version=$(archive "$1" apt-cache show --no-all-versions "$2" |
			sed -n 's/^Version: //p' | grep .) || return
		folder=$cache/linux-source-${version%%\~*}
		cache_fill "${folder##*/}" source_fetch "$1" "$2" || return
	fi
	echo "$folder"
}
