# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# Debian's kernels: headers are installed if they are for this machine, an image never is (it
# goes into the cache, and so do headers that want one installed beside them, or are for
# another machine), the source is unpacked there. Needs messages.sh, packages.sh, cache.sh,
# archive.sh.
: "${cache:?}"

# shellcheck source=selftests/harness/vm/machines.sh
. "$(dirname "${BASH_SOURCE[0]}")/../vm/machines.sh"
# shellcheck source=selftests/harness/kernels/newer_debian.sh
. "$(dirname "${BASH_SOURCE[0]}")/newer_debian.sh"

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
	has_apt || die "no headers for the kernel $kver: KDIR= names a kernel's build folder"
	machine_choose "$kver" && archive_find "$(kernel_archive "$kver")" "$package" || return
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
