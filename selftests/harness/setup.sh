#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# setup.sh NEED...: gets what is missing on this machine and prints what was
# chosen as variables for make. NEED is one of
#   module   headers of the kernel to build for: the running one, else Debian's
#   vm       QEMU, Debian's cloud kernel and its headers
#   shell    a kernel for it that mounts folders of this machine
#   source   a kernel source, for its test harnesses and checkers
#   tools    what libhwheel, hwheelctl and the examples are built with
#   hwheeld  what the daemon of durable timeouts is built and tested with
#   cluster  what hwheeld with ZooKeeper is tested with
#   hwheeld_bench  what it is measured beside
#   cluster_bench  what tells of a server's heap
#   tools_test  what is in a VM to test them: a terminal, tracers
#   programs what the test programs need beyond these, also as 32-bit ones
#   kunit    what a user-mode kernel is built with
#   coverage that, and what lists the lines that tests reach
#   kunit_foreign  and what KUnit is run with on MACHINE, a Debian architecture
#   uml      that, and what one with a userspace is started with
#   native, kasan  a user-mode kernel with two CPUs to test in, or one that finds wrong
#            accesses, locks and leaks as well
#   kcsan, faults  a kernel for the VM that finds data races, or makes allocations
#            and copies fail, and its headers
#   gcov     a kernel for the VM that counts the lines of the module, and its headers
#   syzkaller  that, built in the cache from its source (SYZKALLER_SRC: a copy of its repository)
#   syzkaller_kasan, syzkaller_kcsan  a kernel for the VM that finds wrong accesses, or data races,
#            and tells syzkaller what was reached, and its headers
#   model    what the models are checked with
#   clang    what the module is built with beside gcc
#   deb      what Debian packages are built and checked with
#   packages a clean Debian 12 to try them in
#   lint     the checkers
#   patch    what a patch series for a kernel tree is made and tried with
#   bench    what plots are drawn with
#   java     what Netty's timer is built and tested with
#   java_uml a user-mode kernel that a JVM runs in
#   java_netty  the source of Netty, for its own test of its timer
# KVER, KDIR, KSRC and NETTY_SRC from the environment are taken as they are.
set -euo pipefail

harness=$(dirname "$(realpath "$0")")
# shellcheck source=selftests/harness/messages.sh
. "$harness/messages.sh"
# shellcheck source=selftests/harness/packages.sh
. "$harness/packages.sh"
# shellcheck source=selftests/harness/cache.sh
. "$harness/cache.sh"
# shellcheck source=selftests/harness/archive.sh
. "$harness/archive.sh"
# shellcheck source=selftests/harness/netty_source.sh
. "$harness/netty_source.sh"
# shellcheck source=selftests/harness/sysroot.sh
. "$harness/sysroot.sh"
# shellcheck source=selftests/harness/vm/emulator.sh
. "$harness/vm/emulator.sh"
# shellcheck source=selftests/harness/kernels/debian_kernel.sh
. "$harness/kernels/debian_kernel.sh"
# shellcheck source=selftests/harness/kernels/custom_kernel.sh
. "$harness/kernels/custom_kernel.sh"

# shellcheck source=selftests/stress/syzkaller/syzkaller.sh
. "$harness/../stress/syzkaller/syzkaller.sh"

build_tools=(gcc make libc6-dev)

print_kernel() {
	echo "KVER=$1 KDIR=${2:-/lib/modules/$1/build}"
}

# A kernel tree of the caller's own says itself what it is.
release_of() {
	make -s --no-print-directory -C "$1" kernelrelease
}

need_module() {
	local running kdir

	running=$(uname -r)
	packages_to_build "${build_tools[@]}"
	if [ -n "${KDIR-}" ]; then
		print_kernel "${KVER:-$(release_of "$KDIR")}" "$KDIR"
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

qemu_packages() {
	emulator "${build_tools[@]}" busybox-static cpio python3
}

# The compiler for another machine. (The package without the compiler's version cannot be installed
# beside the 32-bit libraries of this machine.)
foreign_packages() {
	packages "gcc-$(gcc -dumpversion)-${machine_triplet//_/-}" \
		"libc6-dev-$machine_debian-cross"
}

print_foreign() {
	foreign_packages && sysroot || return
	echo "ARCH=$machine_arch CROSS_COMPILE=$machine_triplet-" \
	     "CC=$machine_triplet-gcc-$(gcc -dumpversion) SYSROOT=$(sysroot_path)"
}

# The machine's emulator and kernel come from Debian's archive.
need_archive() {
	has_apt ||
		die "a VM needs apt, which gets its kernel; make module and make -C tools do without"
}

need_vm() {
	local kver=${KVER-} kdir=${KDIR-}

	need_archive
	if [ -n "$kver" ]; then
		machine_choose "$kver"
		qemu_packages
		[ -n "$kdir" ] || kdir=$(kernel_headers "$kver")
		kernel_image "$kver" || die "Debian offers no kernel $kver"
	else
		machine_choose "$stock_headers"
		qemu_packages
		kver=$(kernel_stock_bootable)
	fi
	print_kernel "$kver" "$kdir"
	! machine_is_foreign || print_foreign
}

# A kernel that can mount folders of this machine, unless the caller has chosen one
need_shell() {
	need_archive
	[ -n "${KVER-}" ] || KVER=$(kernel_of_flavour shared) ||
		die "no kernel here mounts folders: make shell SHARE= does without"
	need_vm
}

need_source() {
	local ksrc=${KSRC-}

	[ -n "$ksrc" ] || ksrc=$(kernel_source)
	echo "KSRC=$ksrc"
}

need_tools() {
	packages_to_build "${build_tools[@]}" libjson-c-dev libtracefs-dev libtraceevent-dev \
		liburing-dev python3
}

need_hwheeld() {
	packages_to_build "${build_tools[@]}" libcurl4-openssl-dev libjemalloc-dev libjson-c-dev \
		libmicrohttpd-dev libsqlite3-dev libxxhash-dev libzookeeper-mt-dev uthash-dev
	packages curl dmsetup e2fsprogs iproute2 mount openssl python3
}

need_cluster() {
	packages default-jre-headless libfaketime nftables slirp4netns zookeeper
}

# jcmd tells how much of a heap is alive.
need_cluster_bench() {
	packages default-jdk-headless
}

need_hwheeld_bench() {
	packages redis-server
}

need_tools_test() {
	packages tmux trace-cmd bpftrace util-linux pkg-config binutils mandoc libuv1-dev
}

# Not gcc-multilib: where a cross compiler is installed, that would have to go for it.
need_programs() {
	packages "${build_tools[@]}"
	packages liburing-dev "gcc-$(gcc -dumpversion)-multilib"
}

need_kunit() {
	packages "${build_tools[@]}" python3 bc flex bison libelf-dev
}

need_coverage() {
	need_kunit
	packages gcovr
}

need_kunit_foreign() {
	machine_named "$MACHINE"
	need_kunit
	[ "$machine_kunit" != qemu ] || emulator
	foreign_packages
}

need_uml() {
	need_kunit
	packages busybox-static cpio xz-utils
}

need_native() {
	need_uml
	"$harness/uml/build_uml.sh" smp test
}

need_kasan() {
	need_uml
	"$harness/uml/build_uml.sh" smp test kasan
}

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

need_kcsan() {
	need_built kcsan
}

need_faults() {
	need_built faults
}

need_gcov() {
	need_built gcov
}

need_syzkaller() {
	syzkaller
}

need_syzkaller_kasan() {
	need_built kasan+syzkaller
}

need_syzkaller_kcsan() {
	need_built kcsan+syzkaller
}

need_model() {
	packages spin gcc libc6-dev
}

need_clang() {
	packages "${CLANG:-clang-19}"
}

need_deb() {
	need_tools
	need_hwheeld
	packages build-essential dpkg-dev debhelper dh-dkms dh-python fakeroot lintian \
		default-jdk-headless libnetty-java maven-repo-helper
}

need_packages() {
	packages mmdebstrap arch-test
}

need_lint() {
	packages sparse shellcheck codespell perl mandoc
}

need_patch() {
	packages "${build_tools[@]}" bc bison flex git patch perl unifdef
}

need_bench() {
	packages python3 gnuplot-nox
}

need_java() {
	packages "${build_tools[@]}" python3 default-jdk-headless libnetty-java junit5
}

# That of hwheeld's tests: it has the machine's own files, which a JVM is read from.
need_java_uml() {
	need_uml
	"$harness/uml/build_uml.sh" smp test durable
}

need_java_netty() {
	local source=${NETTY_SRC-}

	[ -n "$source" ] || source=$(netty_source)
	echo "NETTY_SRC=$source"
}

for need; do
	"need_$need"
done
