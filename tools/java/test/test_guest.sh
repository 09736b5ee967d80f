#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash disable=SC3040,SC2317 # busybox knows pipefail; run_test calls
#
# Guest script of Netty's timer on the wheel: runs the JUnit tests that the file tests names, without
# the module, as a user that may not open the device, and with all there is. Test points go to the console and to /results/NAME.tap.
set -o pipefail

cd "$(dirname "$0")" || exit 1
# shellcheck source=tools/java/jvm.sh
. ./jvm.sh

bad=0
tests=/hwheel/hwheel-tests.jar:/hwheel/hwheel.jar
debian=$(jars netty-common netty-buffer netty-transport netty-resolver netty-handler jctools-core \
	junit-jupiter-api junit-jupiter-engine junit-platform-engine junit-platform-launcher \
	junit-platform-commons opentest4j apiguardian-api)

# run_test NAME COMMAND...
run_test() {
	local name=$1

	shift
	echo "# $name"
	"$@" 2>&1 | tee "/results/$name.tap" || bad=1
}

# classes OPTION... NAME...: the test classes of that name
classes() {
	jvm -XX:+UseSerialGC -Xmx640m -cp "$tests$debian" "$@"
}

unavailable() {
	classes "-Dtest.reason=$1" io.hwheel.TapRunner io.hwheel.UnavailableTest
}

# As a user without rights
unprivileged() {
	/usr/bin/setpriv --reuid 65534 --regid 65534 --clear-groups \
		java -Xshare:auto -XX:+UseSerialGC -Dio.hwheel.library=/hwheel/libhwheel_jni.so \
		"-Dtest.reason=may not open" -cp "$tests$debian" io.hwheel.TapRunner \
		io.hwheel.UnavailableTest
}

# With the jar that has a class in the place of Netty's
override() {
	tests=/hwheel/hwheel-override.jar:$tests classes io.hwheel.TapRunner io.hwheel.OverrideTest
}

# With all of the heap from the beginning, and a small compiler: the JVM wants little memory when
# there is none.
shortage() {
	classes -Xms640m -XX:TieredStopAtLevel=1 io.hwheel.TapRunner io.hwheel.ShortageTest
}

# With the interface of Netty 4.2
cancelled() {
	jvm -XX:+UseSerialGC -cp "/hwheel/cancelled-tests.jar:$tests$debian" io.hwheel.TapRunner \
		io.hwheel.CancelledTest
}

mount_jvm
while read -r name; do
	[ "$name" = without_module ] || [ -e /sys/module/hwheel ] || insmod hwheel.ko || exit 1
	case $name in
	without_module) run_test "$name" unavailable "not loaded" ;;
	*_class)        run_test "$name" classes io.hwheel.TapRunner "io.hwheel.${name%_class}Test" ;;
	*)              run_test "$name" "$name" ;;
	esac
done <tests
run_test rmmod sh -c 'rmmod hwheel && echo "ok 1 - no timer holds the module" && echo 1..1'
exit $bad
