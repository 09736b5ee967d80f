#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# build.sh NEED...: builds what a need of the table of tests stands for, if it is one of these; the
# environment has what needs.sh chose.
#   module    hwheel.ko for the kernel KVER in KDIR, in build/module-KVER (MODULE=: elsewhere)
#   modules   and those that test it, in build/modules-KVER (MODULES=)
#   programs  the kselftest programs TESTS, all if it is empty, and what they start
#   clang     modules, with another compiler (CLANG=)
#   install   installs what module and tools have built (DESTDIR=, PREFIX=)
#   tools, tools_tests, local_tests, loops, hwheeld, java, java_netty, java_bench   what make -C tools and make -C tools/java build
set -euo pipefail

top=$(dirname "$(dirname "$(dirname "$(realpath "$0")")")")
cd "$top"
out=$top/build
version=$(sed -n 's/^MODULE_VERSION("\(.*\)");$/\1/p' module/main.c)
MODULE=${MODULE:-$out/module-${KVER-}}
MODULES=${MODULES:-$out/modules-${KVER-}}
# Words of the caller's for kbuild, such as W=1
read -ra kbuild <<<"${KBUILD-}"

# mirror FOLDER PATH...: links to the sources, so that no object lands among them, nor those of
# several kernels in one place.
mirror() {
	local to=$1

	shift
	find "$@" -type d -printf "$to/%p\0" | xargs -0 mkdir -p "$to"
	find "$@" \( -name Kbuild -o -name '*.[ch]' ! -name '*.mod.c' \) \
		-exec ln -sf "$top/{}" "$to/{}" \;
	find "$to" -xtype l -delete
}

# make_modules FOLDER WORD... A test run, which is STRICT, takes no warning about our files: make has
# some of its own, and so has another compiler that reads a kernel's headers.
make_modules() {
	local log=$1/build.log

	make -C "$KDIR" ${ARCH:+ARCH="$ARCH"} ${CROSS_COMPILE:+CROSS_COMPILE="$CROSS_COMPILE"} \
		${CC:+CC="$CC"} ${STRICT:+W=1} M="$1" "${@:2}" "${kbuild[@]}" modules 2>&1 |
		tee "$log"
	[ -z "${STRICT-}" ] ||
		! grep -E "^($1[^ ]+|[^/ ][^ ]*\.[ch]:[^ ]*) (warning|error):|modpost:|objtool:" "$log"
}

build_module() {
	mirror "$MODULE" Kbuild module kunit
	make_modules "$MODULE"
	echo "hwheel.ko for $KVER: $MODULE/hwheel.ko"
}

# kbuild does not look whether the symbols of another module have changed.
build_modules() {
	build_module
	mirror "$MODULES" selftests module/include
	rm -f "$MODULES/selftests/Module.symvers"
	make_modules "$MODULES/selftests" KBUILD_EXTRA_SYMBOLS="$MODULE/Module.symvers"
}

# Debian's kernels are made with gcc, and make chooses options by their configuration, which says
# so. These variables say otherwise.
build_clang() {
	local clang=${CLANG:-clang-19}

	MODULE=$MODULE-clang MODULES=$MODULES-clang
	kbuild+=(CC="$clang" CONFIG_CC_IS_GCC= CONFIG_CC_IS_CLANG=y CONFIG_GCC_VERSION=0
		 CONFIG_CLANG_VERSION="${clang#*-}0000"
		 CONFIG_CC_IMPLICIT_FALLTHROUGH=-Wimplicit-fallthrough
		 CONFIG_FTRACE_MCOUNT_USE_CC= CONFIG_FTRACE_MCOUNT_USE_OBJTOOL=y)
	build_modules
}

build_programs() {
	mkdir -p "$PROGRAMS"
	make -j"$(nproc)" -C selftests KSRC="$KSRC" OUTPUT="$PROGRAMS" TESTS="${TESTS-}" \
		${CC:+CC="$CC"} ${SYSROOT:+SYSROOT="$SYSROOT"}
}

build_tools_tests() {
	local more=("$out/tools/test/contained")

	# An x86-64 kernel runs 32-bit programs, too.
	[ "$(uname -m)" != x86_64 ] || more+=("$out/tools/test/"{libhwheel,sharing}_test_32)
	make -j"$(nproc)" -C tools O="$out/tools" tests KSRC="$KSRC" "${more[@]}"
	tools/test/pack.sh "$out/tools/debian.tar" tmux trace-cmd bpftrace strace setpriv
}

build_hwheeld() {
	make -j"$(nproc)" -C tools/hwheeld O="$out/tools" all ${KSRC:+tests KSRC="$KSRC"}
}

# The module, and what others are built against. A distribution keeps the key that its kernel's
# modules are signed with.
build_install() {
	local devel=${DESTDIR-}/usr/src/hwheel-headers-$version sign=()

	[ -e "$KDIR/certs/signing_key.pem" ] || sign=(CONFIG_MODULE_SIG_ALL=)
	make -C tools O="$out/tools" install
	make -C "$KDIR" M="$MODULE" "${sign[@]}" INSTALL_MOD_PATH="${DESTDIR-}" \
		INSTALL_MOD_DIR=updates modules_install
	install -D -m 644 -t "$devel/include/linux" module/include/linux/hwheel.h
	install -D -m 644 -t "$devel/include/uapi/linux" module/include/uapi/linux/hwheel.h
	install -D -m 644 -t "$devel/$KVER" "$MODULE/Module.symvers"
	[ -n "${DESTDIR-}" ] || { ldconfig; depmod -a "$KVER"; }
}

# locked FILE COMMAND...: one build in a folder at a time
locked() (
	exec 9>"$1"
	flock 9
	"${@:2}" 9>&-
)

mkdir -p "$out"
for need; do
	case $need in
	module|modules|install|clang) locked "$MODULE.lock" "build_$need" ;;
	programs|tools_tests|hwheeld) locked "$out/tools.lock" "build_$need" ;;
	local_tests|loops) locked "$out/tools.lock" make -j"$(nproc)" -C tools O="$out/tools" "$need" KSRC="$KSRC" ;;
	tools)      locked "$out/tools.lock" make -j"$(nproc)" -C tools O="$out/tools" ;;
	java)       locked "$out/java.lock" make -C tools/java O="$out/java" tests ;;
	java_netty) locked "$out/java.lock" make -C tools/java O="$out/java" tests netty-tests ;;
	java_bench) locked "$out/java.lock" make -C tools/java O="$out/java" bench ;;
	esac
done
