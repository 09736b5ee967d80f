# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# Kernels that Debian has not: small ones that look for faults, built in the cache from
# Debian's source. The name of a kernel names the files NAME.config of this folder that tell what is
# in it, as NAME or NAME+NAME. Needs messages.sh, debian.sh.
: "${cache:?}"

configs=$(dirname "$(realpath "${BASH_SOURCE[0]}")")

# Sets fragments to the files that tell what is in the kernel NAME.
custom_kernel_fragments() {
	local name

	fragments=("$configs/base.config")
	for name in ${1//+/ }; do
		fragments+=("$configs/$name.config")
	done
}

# Prints the version of the kernel NAME, which tells one configuration from another.
custom_kernel_version() {
	local ksrc=$1 name=$2 hash fragments

	custom_kernel_fragments "$name"
	hash=$(cat "${fragments[@]}" | sha256sum)
	echo "$(make -s -C "$ksrc" kernelversion)-$name-${hash:0:8}"
}

# kconfig drops an option of a fragment if one is missing that it depends on.
custom_kernel_check() {
	local config=$1 missing

	shift
	missing=$(grep -h '^CONFIG' "$@" | grep -vxFf "$config") || return 0
	say "kernel: the configuration lacks" "$missing"
	return 1
}

# kunit/run.sh makes a checkout a folder of the source, which may be gone by now.
custom_kernel_regraft() {
	local graft=$1/drivers/misc/hwheel

	if grep -q misc/hwheel "$1/drivers/misc/Kconfig" && [ ! -e "$graft/module" ]; then
		ln -sfnT "$(realpath "$configs/../../..")" "$graft"
	fi
}

custom_kernel_configure() {
	local ksrc=$1 build=$2

	shift 2
	custom_kernel_regraft "$ksrc"
	make -s -C "$ksrc" O="$build" tinyconfig >&2 || return
	"$ksrc/scripts/kconfig/merge_config.sh" -m -O "$build" "$build/.config" \
		"$@" >"$build/merge.log" &&
		make -s -C "$ksrc" O="$build" olddefconfig >&2 &&
		custom_kernel_check "$build/.config" "$@"
}

# The objects are large, and modules need none of them. The kernel is one for x86, as base.config
# names the devices of that machine: other machines are tested with Debian's kernels. With KCOV,
# syzkaller looks whether mmap() is counted, and wants no more of the kernel.
custom_kernel_make() {
	local ksrc=$1 kver=$2 name=$3 folder=$4 fragments

	say "kernel: building $kver (some minutes)"
	mkdir "$folder/build"
	custom_kernel_fragments "$name"
	custom_kernel_configure "$ksrc" "$folder/build" "${fragments[@]}" || return
	make -s -C "$ksrc" O="$folder/build" LOCALVERSION="-${kver#*-}" KCOV_INSTRUMENT_mmap.o=y \
		-j"$(nproc)" bzImage modules >"$folder/build/log" 2>&1 ||
		{ tail -n 20 "$folder/build/log" >&2; return 1; }
	mv "$folder/build/arch/x86/boot/bzImage" "$folder/vmlinuz"
	find "$folder/build" -name '*.[oa]' ! -path '*/tools/*' ! -path '*/scripts/*' -delete
}

# Prints the version of the kernel NAME and the folder that modules for it are built in.
custom_kernel() {
	local name=$1 ksrc=$2 kver

	kver=$(custom_kernel_version "$ksrc" "$name") || return
	cache_fill "kernel-$kver" custom_kernel_make "$ksrc" "$kver" "$name" || return
	echo "$kver $cache/kernel-$kver/build"
}
