# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# Kernels that Debian has not, built in the cache: user-mode ones, and small ones for the VM that look
# for faults. FRAGMENTs are files FRAGMENT.config of this folder. Needs debian.sh.
: "${cache:?}"

configs=$(dirname "$(realpath "${BASH_SOURCE[0]}")")

# kunit/run.sh makes a checkout a folder of the source, which may be gone by now.
custom_kernel_regraft() {
	local graft=$1/drivers/misc/hwheel

	if grep -q misc/hwheel "$1/drivers/misc/Kconfig" && [ ! -e "$graft/module" ]; then
		ln -sfnT "$(realpath "$configs/../../..")" "$graft"
	fi
}

# Nothing more than is asked for, as it takes time to build. kconfig drops in silence what it can't
# have.
custom_kernel_configure() {
	KCONFIG_ALLCONFIG=<(cat "${fragments[@]}") "${make[@]}" allnoconfig >&2 || return
	! grep -hE '^(# )?CONFIG_' "${fragments[@]}" | grep -vxFf "$1/.config" >&2 ||
		{ say "kernel: it can't be had with these options"; return 1; }
}

# The objects are large, and modules need none of them. With KCOV, syzkaller looks whether mmap() is
# counted, and wants no more of the kernel.
custom_kernel_make() {
	local arch=$1 kver=$2 build=$3/build
	local make=(make -s -C "$ksrc" ARCH="$1" O="$build") targets=(bzImage modules)

	say "kernel: building $kver (some minutes, this once)"
	mkdir "$build"
	custom_kernel_regraft "$ksrc"
	custom_kernel_configure "$build" || return
	[ "$arch" != um ] || targets=(linux modules)
	"${make[@]}" LOCALVERSION="-${kver#*-}" KCOV_INSTRUMENT_mmap.o=y -j"$(nproc)" \
		"${targets[@]}" >"$build/log" 2>&1 || { tail -n 20 "$build/log" >&2; return 1; }
	[ "$arch" = um ] || mv "$build/arch/x86/boot/bzImage" "$3/vmlinuz"
	find "$build" -name '*.[oa]' ! -path '*/tools/*' ! -path '*/scripts/*' -delete
}

# custom_kernel KSRC ARCH NAME FRAGMENT...: prints its version, which tells one configuration from
# another, and the folder that modules for it are built in, where a user-mode kernel is called linux.
custom_kernel() {
	local ksrc=$1 arch=$2 kver fragments hash

	mapfile -t fragments < <(printf "$configs/%s.config\n" base "$arch" "${@:4}")
	hash=$(cat "${fragments[@]}" | sha256sum)
	kver=$(make -s -C "$ksrc" kernelversion)-$3-${hash:0:8} &&
		cache_fill "kernel-$kver" custom_kernel_make "$arch" "$kver" || return
	echo "KVER=$kver KDIR=$cache/kernel-$kver/build ARCH=$arch"
}
