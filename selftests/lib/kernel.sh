# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# Debian's kernels: headers are installed, an image never is (it goes into the
# cache), the source is unpacked there. Needs say.sh, packages.sh, cache.sh.

stock_headers=linux-headers-cloud-amd64
source_package=linux-source-6.12

kernel_headers() {
	[ -e "/lib/modules/$1/build" ] || packages "linux-headers-$1"
}

# shellcheck disable=SC2154 # cache.sh sets it
kernel_image_path() {
	echo "$cache/kernel-$1/vmlinuz"
}

kernel_image_unpack() {
	local kver=$1 folder=$2

	dpkg-deb --fsys-tarfile "$folder"/*.deb |
		tar -xO "./boot/vmlinuz-$kver" >"$folder/vmlinuz" &&
		rm "$folder"/*.deb
}

# apt checks what it downloads against the signed package lists.
kernel_image_fetch() {
	local kver=$1 folder=$2 package=linux-image-$1

	packages_known "$package" || packages_update || return
	say "kernel: downloading $package (not installed on this machine)"
	(cd "$folder" && LC_ALL=C apt-get -q download -o APT::Sandbox::User=root \
		"$package" 2>&1 | apt_progress) &&
		kernel_image_unpack "$kver" "$folder"
}

kernel_image() {
	cache_fill "kernel-$1" kernel_image_fetch "$1"
}

stock_installed() {
	# shellcheck disable=SC2016 # dpkg-query's variable, not the shell's
	dpkg-query -W -f '${Depends}' "$stock_headers" |
		sed -nE 's/^linux-headers-([^ ,]+).*/\1/p'
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
	say "kernel: unpacking $source_package (a minute at most)"
	tar -xf "/usr/src/$source_package.tar.xz" --strip-components=1 -C "$1"
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
