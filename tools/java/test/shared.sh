#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# shared.sh JAVA: one JVM arms timeouts, and ends, and another one takes them: the example of
# libhwheel for Java 22 and later. LD_LIBRARY_PATH has the library. Prints TAP.
set -uo pipefail

java=$1
example=$(dirname "$0")/../example/SharedTimeouts.java

shared() {
	"$java" -XX:+UseSerialGC --enable-native-access=ALL-UNNAMED "$example" "$@"
}

exec 3<>/dev/hwheel
shared arm 3 7 1 && shared arm 3 8 3600000 && [ "$(shared take 3)" = "expired: 7" ] ||
	echo -n "not "
echo "ok 1 - another process takes what one has armed"
[[ $(shared arm 99 1 1 2>&1) = *"hwheel_open_fd: errno 9"* ]] || echo -n "not "
echo "ok 2 - a function's errno is reported"
echo 1..2
