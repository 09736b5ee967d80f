#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# needs.sh NEED...: gets what is missing on this machine and prints what was chosen as NAME=VALUE.
# NEED is a name of the table of tests: one of the packages below, or a kernel:
#   headers  of the kernel to build for: the running one, else Debian's
#   vm       QEMU, Debian's cloud kernel and its headers; or the kernel KVER, and that of KDIR
#   shared   a kernel for it that mounts folders of this machine; shell: so, unless SHARE is empty
#   kernel_NAME  one of another flavour or machine, as NAME: cloud, rt, 6.12-cloud, newest, arm64...
#   source   a kernel source, for its test harnesses and checkers
#   native, kasan, durable   user-mode kernels, and kcsan, faults, syzkaller_kasan, syzkaller_kcsan
#            for the VM, of which kernels/ tells
#   foreign  what KUnit is built with for MACHINE, a Debian architecture
# KVER, KDIR, KSRC and NETTY_SRC from the environment are taken as they are; UML_KSRC is the source of
# user-mode kernels, of Linux 7.1 or later.
set -euo pipefail

harness=$(dirname "$(realpath "$0")")
# shellcheck source=selftests/harness/debian.sh
. "$harness/debian.sh"
# shellcheck source=selftests/harness/kernels/custom_kernel.sh
. "$harness/kernels/custom_kernel.sh"
# shellcheck source=selftests/stress/syzkaller/syzkaller.sh
. "$harness/../stress/syzkaller/syzkaller.sh"

build="gcc make libc6-dev"
kunit="$build python3 bc flex bison libelf-dev"
declare -A packages_of=(
	[headers]=$build
	[programs]=$build
	[local_tests]=$build
	[local_programs]="busybox-static util-linux"
	[runner]=python3
	[tools]="$build libjson-c-dev libtracefs-dev libtraceevent-dev liburing-dev python3"
	[valgrind]=valgrind
	[loops]="$build libev-dev libevent-dev libuv1-dev"
	[loops_source]="$build cmake patch"
	[hwheeld]="$build libcurl4-openssl-dev libgnutls28-dev libjemalloc-dev libjson-c-dev libmicrohttpd-dev
		libsqlite3-dev libxxhash-dev uthash-dev curl dmsetup e2fsprogs
		iproute2 mount openssl python3 python3-jsonschema"
	[network]="nftables slirp4netns"
	[hwheeld_bench]="beanstalkd redis-server"
	[tools_tests]="tmux trace-cmd bpftrace strace util-linux pkg-config binutils mandoc libuv1-dev g++"
	[kunit]=$kunit
	[coverage]="$kunit gcovr"
	[uml]="$kunit busybox-static cpio xz-utils"
	[spin]="spin gcc tcc libc6-dev"
	[clang]=${CLANG:-clang-19}
	[packaging]="build-essential dpkg-dev debhelper dh-dkms dh-python fakeroot lintian
		default-jdk-headless libnetty-java maven-repo-helper"
	[debian]="mmdebstrap arch-test autodep8 autopkgtest piuparts"
	[java_bench]="$build default-jdk-headless libnetty-java"
	[lint]="sparse shellcheck codespell perl mandoc"
	[man]=man-db
	[patch]="$build bc bison flex git patch perl unifdef"
	[gnuplot]="python3 gnuplot-nox"
	[java]="$build python3 default-jdk-headless libasm-java libnetty-java junit5"
	[java_25]=patchelf
)

need_headers() {
	local kver=${KVER-} kdir=${KDIR-}

	if [ -n "$kdir" ]; then
		# A kernel tree of the caller's own says itself what it is.
		kver=${kver:-$(make -s --no-print-directory -C "$kdir" kernelrelease)}
	elif [ -z "$kver" ]; then
		kver=$(uname -r)
		if [ ! -e "/lib/modules/$kver/build" ] && has_apt; then
			say "no headers for the running kernel $kver: building for Debian's stock kernel"
			kver=$(kernel_of_flavour vm)
		fi
	fi
	[ -n "$kdir" ] || kdir=$(kernel_headers "$kver")
	echo "KVER=$kver KDIR=$kdir"
}

# The compiler for another machine. (The package without the compiler's version cannot be installed
# beside the 32-bit libraries of this machine.)
foreign_packages() {
	packages "gcc-$(gcc -dumpversion)-${machine_triplet//_/-}" "libc6-dev-$machine_debian-cross"
}

# Prints the version of a flavour's kernel, once its image is there.
image_of_flavour() {
	local kver

	kver=$(kernel_of_flavour "$1") && kernel_image "$kver" && echo "$kver"
}

# need_kernel NAME: a flavour or a version; KVER is another version. Lists that were too old are new
# after the first try.
need_kernel() {
	local kver=${KVER-} kdir=${KDIR-}

	has_apt || die "a VM needs apt, which gets its kernel; make module and make -C tools do without"
	[ -n "$kver" ] || [[ $1 != [0-9]*-*-* ]] || kver=$1
	if [ -n "$kver" ]; then
		kernel_image "$kver" || die "Debian offers no kernel $kver"
	else
		kver=$(image_of_flavour "$1" || image_of_flavour "$1") || die "Debian offers no kernel $1"
	fi
	[ -n "$kdir" ] || kdir=$(kernel_headers "$kver")
	echo "KVER=$kver KDIR=$kdir"
	machine_choose "$kver"
	# shellcheck disable=SC2086 # several packages
	emulator $build busybox-static cpio python3
	machine_is_foreign || return 0
	foreign_packages && cache_fill "sysroot-$machine_debian" sysroot_fetch || return
	echo "ARCH=$machine_arch CROSS_COMPILE=$machine_triplet-" \
	     "CC=$machine_triplet-gcc-$(gcc -dumpversion) SYSROOT=$cache/sysroot-$machine_debian"
}

# Prints the source of user-mode kernels.
uml_source() {
	if [ -n "${UML_KSRC-}" ]; then
		echo "$UML_KSRC"
	else
		kernel_source "$(machine_here):trixie-backports" linux-source-7.3
	fi
}

# need_built ARCH NAME FRAGMENT...
need_built() {
	local ksrc=${KSRC-}

	need uml
	if [ "$1" = um ]; then
		ksrc=$(uml_source)
	else
		machine_choose "$2"
		emulator
		[ -n "$ksrc" ] || ksrc=$(kernel_source "$(machine_here)" linux-source-6.12)
	fi
	custom_kernel "$ksrc" "$@"
}

need() {
	local found

	# shellcheck disable=SC2086 # several packages
	[ -z "${packages_of[$1]-}" ] || packages_to_build ${packages_of[$1]}
	case $1 in
	headers)         need_headers ;;
	shell)           if [ -z "${SHARE-here}" ]; then need vm; else need shared; fi ;;
	vm|shared)       need_kernel "$1" ;;
	kernel_*)        need_kernel "${1#kernel_}" ;;
	native)          need_built um native ;;
	kasan)           need_built um kasan kasan leaks ;;
	durable)         need_built um durable durable ;;
	kcsan)           need_built x86_64 kcsan kcsan ;;
	faults)          need_built x86_64 faults kasan faults ;;
	syzkaller_k*)    need_built x86_64 "$1" "${1#syzkaller_}" syzkaller ;;
	syzkaller)       syzkaller ;;
	source)
		found=${KSRC-}
		[ -n "$found" ] || found=$(kernel_source "$(machine_here)" linux-source-6.12)
		echo "KSRC=$found" ;;
	java_netty)
		need java
		found=${NETTY_SRC-}
		[ -n "$found" ] || found=$(netty_source)
		echo "NETTY_SRC=$found" ;;
	redocly)
		command -v npm >/dev/null || packages npm
		cache_fill redocly redocly_fetch
		echo "REDOCLY=$cache/redocly/node_modules/.bin/redocly" ;;
	# Its test says so where there is none.
	loops_source)    echo "LOOPS_SRC=$(loops_source || true)" ;;
	java_25)         echo "JAVA_25=$(java_25)" ;;
	etcd)            echo "ETCD=$(etcd)" ;;
	foreign)
		machine_named "$MACHINE"
		[ "$machine_kunit" != qemu ] || emulator
		foreign_packages ;;
	# Not gcc-multilib: where a cross compiler is installed, that would have to go for it.
	programs)        packages liburing-dev "gcc-$(gcc -dumpversion)-multilib" ;;
	esac
}

for name; do
	need "$name"
done
