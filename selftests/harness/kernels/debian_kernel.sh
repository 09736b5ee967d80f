# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# Debian's kernels: headers are installed, an image never is (it goes into the
# cache, and so do headers that want one installed beside them), the source is
# unpacked there. Needs messages.sh, packages.sh, cache.sh.
: "${cache:?}"

stock_headers=linux-headers-cloud-amd64
source_package=linux-source-6.12

# Prints what package $1 depends on and whose name begins with $2, without that.
depends() {
	LC_ALL=C apt-cache depends --important "$1" |
		sed -nE "s/^ *\|?Depends: $2//p"
}

# Prints the version of the current kernel of a flavour as Debian names it: cloud, rt,
# 6.12-cloud, 6.12-rt.
kernel_of_flavour() {
	local meta=linux-headers-$1-amd64

	packages_known "$meta" || packages_update || return
	depends "$meta" linux-headers- | grep .
}

debs_fetch() {
	local folder=$1

	shift
	(cd "$folder" && LC_ALL=C apt-get -q download -o APT::Sandbox::User=root \
		"$@" 2>&1 | apt_progress)
}

# They find each other by their absolute paths.
headers_unpack() {
	local kver=$1 folder=$2 deb

	for deb in "$folder"/*.deb; do
		dpkg-deb -x "$deb" "$folder" && rm "$deb" || return
	done
	sed -i "s|^include /usr/src/|include $cache/headers-$kver/usr/src/|" \
		"$folder/usr/src/linux-headers-$kver/Makefile"
}

headers_fetch() {
	local kver=$1 folder=$2 package=linux-headers-$1 needed

	mapfile -t needed < <(depends "$package" '' | grep -E '^linux-(headers|kbuild)-')
	say "kernel: unpacking $package (not installed: it wants an image installed)"
	debs_fetch "$folder" "$package" "${needed[@]}" && headers_unpack "$kver" "$folder"
}

# Prints the folder that modules for kernel $1 are built in. The headers of 6.12 and
# later hold types that pahole puts into modules.
kernel_headers() {
	local kver=$1 package=linux-headers-$1

	if [ ! -e "/lib/modules/$kver/build" ]; then
		packages_known "$package" || packages_update || return
		if depends "$package" linux-image- | grep -q .; then
			packages pahole || return
			cache_fill "headers-$kver" headers_fetch "$kver" || return
			echo "$cache/headers-$kver/usr/src/$package"
			return
		fi
		packages "$package" || return
	fi
	echo "/lib/modules/$kver/build"
}

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
	debs_fetch "$folder" "$package" && kernel_image_unpack "$kver" "$folder"
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
