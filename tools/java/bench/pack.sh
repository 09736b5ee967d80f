#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# pack.sh JAVA_HOME ARCHIVE JAR...: a JVM with the modules that a timer needs, in /jre, the libraries
# that it is linked with, and the jars in /jre/jars, for a VM that has none of these: to be
# unpacked in its root folder.
set -euo pipefail

home=$1 archive=$2
shift 2

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# ldd prints "NAME => PATH (ADDRESS)", and of the loader itself just the path.
libraries() {
	ldd "$work"/jre/bin/java "$work"/jre/lib/*.so "$work"/jre/lib/server/libjvm.so |
		grep -oE '[[:space:]]/(usr/)?lib[^ ():]+ \(' | tr -d ' \t(' | sort -u
}

"$home/bin/jlink" --add-modules java.base,java.logging,jdk.management,jdk.unsupported --strip-debug \
	--no-header-files --no-man-pages --output "$work/jre"
mkdir "$work/jre/jars"
cp "$@" "$work/jre/jars/"
mapfile -t libs < <(libraries)
tar -chf "$archive" -C "$work" jre -C / "${libs[@]#/}"
