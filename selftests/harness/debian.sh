# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# What Debian has: packages, which are installed if they are missing; a cache folder with what was
# downloaded or unpacked once; archives of other machines and releases; kernels. Needs messages.sh.

# shellcheck source=selftests/harness/vm/machines.sh
. "$(dirname "${BASH_SOURCE[0]}")/vm/machines.sh"

# Debian packages: installed when they are missing, and only then.

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

# The cache folder: what was downloaded or unpacked once.

cache=${HWHEEL_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/hwheel}

# cache_locked NAME COMMAND...: what fills NAME runs once at a time; whatever else is missing
# can be made meanwhile. No process that COMMAND leaves behind inherits the lock.
cache_locked() {
	local lock=$cache/$1.lock

	shift
	mkdir -p "$cache"
	(
		flock -n 9 || { say "cache: waiting for another run"; flock 9; }
		"$@" 9>&-
	) 9>"$lock"
}

# cache_fill NAME COMMAND...: COMMAND fills a folder, which is its last argument; the folder
# is called NAME once it is complete, so that an interrupted run leaves nothing that looks
# complete.
cache_fill() {
	[ -e "$cache/$1" ] || cache_locked "$1" cache_fill_locked "$@"
}

cache_fill_locked() {
	local name=$1 partial=$cache/$1.partial

	shift
	[ ! -e "$cache/$name" ] || return 0
	rm -rf "$partial"
	mkdir -p "$partial"
	if "$@" "$partial"; then
		mv -T "$partial" "$cache/$name"
	else
		rm -rf "$partial"
		return 1
	fi
}

# Debian's archives: that of this machine, by the name of its architecture; that of another
# architecture; and, as ARCHITECTURE:SUITE, a suite of another release. apt has a folder of its
# own for each but the first, so that it offers nothing else here than before: packages from
# there are downloaded, never installed.

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

# Netty's own test of its timer, in the cache: no binary package has it, so it comes out of
# Debian's source package.

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

# The libraries that programs for another machine are built with, and the busybox that this machine
# runs first: all static, as the machine has no other library.

sysroot_fetch() {
	say "sysroot: downloading what programs for $machine_debian need"
	archive_download "$machine_debian" "$1" busybox-static liburing-dev &&
		archive_unpack "$1" || return
	[ -e "$1/bin/busybox" ] || ln -s usr/bin "$1/bin"
}

sysroot_path() {
	echo "$cache/sysroot-$machine_debian"
}

# Fills that folder for the machine that was chosen.
sysroot() {
	cache_fill "sysroot-$machine_debian" sysroot_fetch
}

# Kernels of a newer Debian than this one, from its backports. The programs that build modules for
# them, and their compiler, want that Debian's C library: each program is told where the cache
# has it, and nothing is installed.

newer_suite=trixie
newer_release=deb13

# Prints the number of this machine's release. One that is not released yet has none, and is newer
# than all others.
own_release() {
	# shellcheck source=/dev/null
	(. /etc/os-release && echo "${VERSION_ID:-999}")
}

# Is a kernel of a newer Debian than this one? Its version names the release.
is_newer_kernel() {
	local own

	own=$(own_release)
	[[ $1 =~ \+deb([0-9]+) ]] && [ "${BASH_REMATCH[1]}" -gt "${own%%.*}" ]
}

# Prints the archive that has a kernel's packages.
kernel_archive() {
	if is_newer_kernel "$1"; then
		echo "$machine_debian:$newer_suite-backports"
	else
		echo "$machine_debian"
	fi
}

# Prints the name of the package of the compiler that the kernel with these headers was made with.
newer_compiler() {
	sed -nE 's/^CC .*(gcc-[0-9]+)$/\1/p' "$1/.kernelvariables"
}

newer_compiler_fetch() {
	local compiler=$1 folder=$2 triplet=${machine_triplet//_/-}

	archive_download "$machine_debian:$newer_suite" "$folder" libc6 "$compiler-$triplet" \
		"${compiler/gcc/cpp}-$triplet" "lib$compiler-dev" && archive_unpack "$folder"
}

# newer_libraries FOLDER PLACE: the programs in FOLDER run when it is at PLACE. The libraries beside
# the C library are this machine's.
newer_libraries() {
	local folder=$1 libraries=$2/usr/lib/$machine_triplet loader program

	loader=$(basename "$folder/usr/lib/$machine_triplet"/ld-linux-*)
	while read -r program; do
		patchelf --print-interpreter "$program" >/dev/null 2>&1 || continue
		patchelf --set-interpreter "$libraries/$loader" \
			--set-rpath "$libraries:/usr/lib/$machine_triplet" "$program" || return
	done < <(find "$folder"/usr/{bin,lib/linux-kbuild-*,libexec} -type f -perm -100)
}

# newer_headers FOLDER PLACE KVER: completes the headers that were unpacked in FOLDER. Without vmlinux
# no types are put into modules, which would take that Debian's pahole.
newer_headers() {
	local folder=$1 place=$2 headers=$1/usr/src/linux-headers-$3 compiler

	packages patchelf libssl3 libelf1 libmpc3 libisl23 || return
	compiler=$(newer_compiler "$headers")
	newer_compiler_fetch "$compiler" "$folder" && newer_libraries "$folder" "$place" || return
	sed -i "s|^CC .*|CC = $place/usr/bin/$machine_triplet-$compiler|" "$headers/.kernelvariables"
	sed -i "s|=/usr/src/|=$place/usr/src/|" "$headers/Makefile"
	rm -f "$headers/vmlinux"
}

# Debian's kernels: headers are installed if they are for this machine, an image never is (it
# goes into the cache, and so do headers that want one installed beside them, or are for
# another machine), the source is unpacked there.

stock_headers=linux-headers-cloud-$(machine_here)
source_package=linux-source-6.12

# Ubuntu has kernels for virtual machines, too, and one source.
if grep -qs '^ID=ubuntu' /etc/os-release; then
	stock_headers=linux-headers-virtual
	source_package=linux-source
fi

# The kernels that have names of their own, and the end of the name of their headers' package
declare -A flavours=(
	[newest]=cloud-amd64
	[shared]=$(machine_here)
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

# Prints the version of the current kernel of a flavour.
kernel_of_flavour() {
	local meta archive

	meta=$(headers_of_flavour "$1")
	machine_choose "$meta"
	archive=$machine_debian
	[ "$1" != newest ] || archive=$(kernel_archive "+$newer_release")
	archive_find "$archive" "$meta" || return
	archive_depends "$archive" "$meta" linux-headers- | grep .
}

# The programs that make modules are this machine's, for whichever machine. All find each
# other by their absolute paths.
headers_fetch() {
	local kver=$1 folder=$2 package=linux-headers-$1 archive here common kbuild

	archive=$(kernel_archive "$kver")
	here=$(machine_here)${archive#"$machine_debian"}
	common=$(archive_depends "$archive" "$package" linux-headers-) || return
	kbuild=$(archive_depends "$archive" "$package" linux-kbuild-) || return
	say "kernel: unpacking $package (not installed)"
	archive_download "$archive" "$folder" "$package" "linux-headers-$common" &&
		archive_download "$here" "$folder" "linux-kbuild-$kbuild" &&
		archive_unpack "$folder" || return
	sed -i "s|^include /usr/src/|include $cache/headers-$kver/usr/src/|" \
		"$folder/usr/src/$package/Makefile"
	! is_newer_kernel "$kver" || newer_headers "$folder" "$cache/headers-$kver" "$kver"
}

headers_unpacked() {
	cache_fill "headers-$1" headers_fetch "$1" || return
	echo "$cache/headers-$1/usr/src/linux-headers-$1"
}

# The headers of 6.12 and later hold types that pahole puts into modules.
headers_want_image() {
	archive_depends "$(kernel_archive "$1")" "linux-headers-$1" linux-image- | grep -q .
}

# Prints the folder that modules for kernel $1 are built in.
kernel_headers() {
	local kver=$1 package=linux-headers-$1

	if [ -e "/lib/modules/$kver/build" ]; then
		echo "/lib/modules/$kver/build"
		return
	fi
	{ has_apt && machine_choose "$kver" && archive_find "$(kernel_archive "$kver")" "$package"; } ||
		die "no headers for the kernel $kver: KDIR= names a kernel's build folder"
	if headers_want_image "$kver"; then
		packages pahole || return
	elif ! machine_is_foreign && ! is_newer_kernel "$kver"; then
		packages "$package" && echo "/lib/modules/$kver/build"
		return
	fi
	headers_unpacked "$kver"
}

kernel_image_path() {
	echo "$cache/kernel-$1/vmlinuz"
}

# The modules with which a machine mounts a folder of this one, each after those that it needs.
# Kernels for clouds have none.
share_modules=(virtio_ring virtio virtio_pci_modern_dev virtio_pci_legacy_dev virtio_pci netfs fscache
	       9pnet 9pnet_virtio 9p)

# Prints where the package has them, if it has them.
share_paths() {
	local paths name

	paths=$(dpkg-deb --fsys-tarfile "$1" | tar -t) || return
	grep -q '/9p\.ko$' <<<"$paths" || return 0
	for name in "${share_modules[@]}"; do
		grep "/$name\.ko$" <<<"$paths"
	done
	return 0
}

# The image, the module that the machine needs before anything else, if there is one, and those
# with which it mounts a folder
image_unpack() {
	local kver=$1 folder=$2 wanted=(--wildcards "*/vmlinuz*") shared

	[ "$machine_module" = - ] || wanted+=("./lib/modules/$kver/$machine_module")
	mapfile -t shared < <(share_paths "$folder"/*.deb)
	dpkg-deb --fsys-tarfile "$folder"/*.deb |
		tar -x --transform='s|.*/||' --transform='s|^vmlinuz.*|vmlinuz|' \
			-C "$folder" "${wanted[@]}" "${shared[@]}" &&
		rm "$folder"/*.deb
}

# Prints those that the cache has, in their order.
kernel_share_modules() {
	local folder name

	folder=$(dirname "$(kernel_image_path "$1")")
	[ -e "$folder/9p.ko" ] || return
	for name in "${share_modules[@]}"; do
		[ ! -e "$folder/$name.ko" ] || echo "$folder/$name.ko"
	done
}

# Prints the package that the image is in: later kernels have it apart.
image_package() {
	archive_find "$1" "linux-image-$2" || return
	if archive_depends "$1" "linux-image-$2" linux-binary- | grep -qxF "$2"; then
		echo "linux-binary-$2"
	else
		echo "linux-image-$2"
	fi
}

# apt checks what it downloads against the signed package lists.
kernel_image_fetch() {
	local kver=$1 folder=$2 archive package

	archive=$(kernel_archive "$kver")
	package=$(image_package "$archive" "$kver") || return
	say "kernel: downloading $package (not installed on this machine)"
	archive_download "$archive" "$folder" "$package" && image_unpack "$kver" "$folder"
}

kernel_image() {
	machine_choose "$1" && cache_fill "kernel-$1" kernel_image_fetch "$1"
}

# A package that only depends on one of a kernel's may do so through another one.
stock_installed() {
	local kver=${stock_headers#linux-headers-}

	while [[ $kver != [0-9]* ]]; do
		# shellcheck disable=SC2016 # dpkg-query's variable, not the shell's
		kver=$(dpkg-query -W -f '${Depends}' "linux-headers-$kver" |
			sed -nE 's/^(.*, )?linux-headers-([^ ,]+).*/\2/p' | grep .) || return
	done
	echo "$kver"
}

# Prints the version of Debian's current cloud kernel, its headers installed.
kernel_stock() {
	packages "$stock_headers" && stock_installed
}

# Like it, for the VM: the image must be there, too. Debian drops old ones from
# its lists, so headers that were installed long ago may have none any more.
kernel_stock_bootable() {
	local kver

	kver=$(kernel_stock) || return
	if ! kernel_image "$kver"; then
		packages_update && packages_install "$stock_headers" || return
		kver=$(stock_installed)
		kernel_image "$kver" || return
	fi
	echo "$kver"
}

kernel_source_unpack() {
	local archive

	say "kernel: unpacking $source_package (a minute at most)"
	archive=$(find -L /usr/src -maxdepth 2 -name "$source_package*.tar.*" | sort -V | tail -n 1)
	tar -xf "$archive" --strip-components=1 -C "$1"
}

# Prints the folder of the unpacked source.
kernel_source() {
	local name

	packages "$source_package" xz-utils || return
	# shellcheck disable=SC2016 # dpkg-query's variable, not the shell's
	name=linux-source-$(dpkg-query -W -f '${Version}' "$source_package")
	name=${name%%\~*}
	cache_fill "$name" kernel_source_unpack && echo "$cache/$name"
}
