#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# needs.sh NEED...: gets what is missing on this machine and prints what was chosen as NAME=VALUE.
# NEED is a name of the table of tests: one of the packages below, or a kernel:
#   headers  of the kernel to build for: the running one, else Debian's
#   vm       QEMU, Debian's cloud kernel and its headers; or the kernel KVER, and that of KDIR
#   shared   a kernel for it that mounts folders of this machine; shell: so, unless SHARE is empty
#   source   a kernel source, for its test harnesses and checkers
#   native, kasan, durable, cluster_uml   user-mode kernels, of which uml/ tells
#   kcsan, faults, gcov, syzkaller_kasan, syzkaller_kcsan   kernels for the VM, of which kernels/ tells
#   kernel_NAME  one of another flavour or machine, as NAME: cloud, rt, 6.12-cloud, newest, arm64...
#   foreign  what KUnit is built with for MACHINE, a Debian architecture
# KVER, KDIR, KSRC and NETTY_SRC from the environment are taken as they are.
set -euo pipefail

harness=$(dirname "$(realpath "$0")")
# shellcheck source=selftests/harness/messages.sh
. "$harness/messages.sh"
# shellcheck source=selftests/harness/debian.sh
. "$harness/debian.sh"
# shellcheck source=selftests/harness/vm/emulator.sh
. "$harness/vm/emulator.sh"
# shellcheck source=selftests/harness/kernels/custom_kernel.sh
. "$harness/kernels/custom_kernel.sh"
# shellcheck source=selftests/stress/syzkaller/syzkaller.sh
. "$harness/../stress/syzkaller/syzkaller.sh"

build="gcc make libc6-dev"
kunit="$build python3 bc flex bison libelf-dev"
declare -A packages_of=(
	[runner]=python3
	[tools]="$build libjson-c-dev libtracefs-dev libtraceevent-dev liburing-dev python3"
	[loops]="libev-dev libevent-dev libuv1-dev"
	[hwheeld]="$build libcurl4-openssl-dev libjemalloc-dev libjson-c-dev libmicrohttpd-dev
		libsqlite3-dev libxxhash-dev libzookeeper-mt-dev uthash-dev curl dmsetup e2fsprogs
		iproute2 mount openssl python3"
	[zookeeper]="default-jre-headless libfaketime nftables slirp4netns zookeeper"
	[cluster_bench]=default-jdk-headless
	[hwheeld_bench]=redis-server
	[tools_tests]="tmux trace-cmd bpftrace util-linux pkg-config binutils mandoc libuv1-dev g++"
	[kunit]=$kunit
	[coverage]="$kunit gcovr"
	[uml]="$kunit busybox-static cpio xz-utils"
	[spin]="spin gcc libc6-dev"
	[clang]=${CLANG:-clang-19}
	[packaging]="build-essential dpkg-dev debhelper dh-dkms dh-python fakeroot lintian
		default-jdk-headless libnetty-java maven-repo-helper"
	[debian]="mmdebstrap arch-test autodep8 autopkgtest piuparts"
	[java_bench]="$build default-jdk-headless libnetty-java"
	[lint]="sparse shellcheck codespell perl mandoc"
	[patch]="$build bc bison flex git patch perl unifdef"
	[gnuplot]="python3 gnuplot-nox"
	[java]="$build python3 default-jdk-headless libnetty-java junit5"
)

print_kernel() {
	echo "KVER=$1 KDIR=${2:-/lib/modules/$1/build}"
}

need_headers() {
	local running kdir

	running=$(uname -r)
	# shellcheck disable=SC2086 # several packages
	packages_to_build $build
	if [ -n "${KDIR-}" ]; then
		# A kernel tree of the caller's own says itself what it is.
		print_kernel "${KVER:-$(make -s --no-print-directory -C "$KDIR" kernelrelease)}" "$KDIR"
	elif [ -n "${KVER-}" ]; then
		kdir=$(kernel_headers "$KVER")
		print_kernel "$KVER" "$kdir"
	elif [ -e "/lib/modules/$running/build" ]; then
		print_kernel "$running"
	elif ! has_apt; then
		die "no headers for the running kernel $running: KDIR= names a kernel's build folder"
	else
		say "no headers for the running kernel $running: building for Debian's stock kernel"
		running=$(kernel_stock)
		print_kernel "$running"
	fi
}

# shellcheck disable=SC2086 # several packages
qemu_packages() {
	emulator $build busybox-static cpio python3
}

# The compiler for another machine. (The package without the compiler's version cannot be installed
# beside the 32-bit libraries of this machine.)
foreign_packages() {
	packages "gcc-$(gcc -dumpversion)-${machine_triplet//_/-}" "libc6-dev-$machine_debian-cross"
}

# The machine's emulator and kernel come from Debian's archive.
need_vm() {
	local kver=${KVER-} kdir=${KDIR-}

	machine_choose "${kver:-$stock_headers}"
	qemu_packages
	if [ -n "$kver" ]; then
		[ -n "$kdir" ] || kdir=$(kernel_headers "$kver")
		kernel_image "$kver" || die "Debian offers no kernel $kver"
	else
		kver=$(kernel_stock_bootable)
	fi
	print_kernel "$kver" "$kdir"
	machine_is_foreign || return 0
	foreign_packages && sysroot || return
	echo "ARCH=$machine_arch CROSS_COMPILE=$machine_triplet-" \
	     "CC=$machine_triplet-gcc-$(gcc -dumpversion) SYSROOT=$(sysroot_path)"
}

# need_flavour NAME
need_flavour() {
	[[ ${KVER:=$1} == [0-9]*-*-* ]] || KVER=$(kernel_of_flavour "$1") ||
		die "Debian offers no kernel $1"
	need_vm
}

need_shared() {
	[ -n "${KVER-}" ] || KVER=$(kernel_of_flavour shared) ||
		die "no kernel here mounts folders: make shell SHARE= does without"
	need_vm
}

need_source() {
	local ksrc=${KSRC-}

	[ -n "$ksrc" ] || ksrc=$(kernel_source)
	echo "KSRC=$ksrc"
}

need_foreign() {
	machine_named "$MACHINE"
	[ "$machine_kunit" != qemu ] || emulator
	foreign_packages
}

# need_uml_kernel NAME...
need_uml_kernel() {
	need uml
	"$harness/uml/build_uml.sh" "$@"
}

# need_built NAME
need_built() {
	local ksrc=${KSRC-} built

	machine_choose "$1"
	qemu_packages
	packages bc flex bison libelf-dev
	[ -n "$ksrc" ] || ksrc=$(kernel_source)
	built=$(custom_kernel "$1" "$ksrc")
	# shellcheck disable=SC2086 # two words
	print_kernel $built
}

need_java_netty() {
	local source=${NETTY_SRC-}

	need java
	[ -n "$source" ] || source=$(netty_source)
	echo "NETTY_SRC=$source"
}

# Not gcc-multilib: where a cross compiler is installed, that would have to go for it.
need_programs() {
	# shellcheck disable=SC2086 # several packages
	packages $build && packages liburing-dev "gcc-$(gcc -dumpversion)-multilib"
}

need_archive() {
	has_apt || die "a VM needs apt, which gets its kernel; make module and make -C tools do without"
}

need() {
	# shellcheck disable=SC2086 # several packages
	[ -z "${packages_of[$1]-}" ] || packages_to_build ${packages_of[$1]}
	case $1 in
	vm|shared|shell|kernel_*) need_archive ;;
	esac
	case $1 in
	headers|vm|shared|source|programs|foreign|java_netty) "need_$1" ;;
	shell)           if [ -z "${SHARE-here}" ]; then need_vm; else need_shared; fi ;;
	native)          need_uml_kernel smp test ;;
	kasan)           need_uml_kernel smp test kasan ;;
	durable)         need_uml_kernel smp test durable ;;
	cluster_uml)     need_uml_kernel smp test durable cluster ;;
	kcsan|faults|gcov) need_built "$1" ;;
	syzkaller_k*)    need_built "${1#syzkaller_}+syzkaller" ;;
	syzkaller)       syzkaller ;;
	kernel_*)        need_flavour "${1#kernel_}" ;;
	esac
}

for name; do
	need "$name"
done
