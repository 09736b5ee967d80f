#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
#
# Guest script of make check T=java_bench, in a VM that counts instructions: measures the timer beside Netty's.
# The first JVM may have a million timeouts in a file, the second one's timers have as many as
# any program gets. Leaves JSON in /results.
set -e

# measure NAME OPTION... PART...
measure() {
	local name=$1

	shift
	/jre/bin/java -XX:+UseSerialGC -XX:+AlwaysPreTouch \
		-Dio.hwheel.library=/hwheel/libhwheel_jni.so \
		-cp "/hwheel/hwheel-bench.jar:/hwheel/hwheel.jar$(printf ':%s' /jre/jars/*.jar)" \
		"$@" "/results/$name.json"
}

cd "$(dirname "$0")"
tar -xf jre.tar -C / && rm jre.tar
insmod hwheel.ko max_user_bytes=$((1 << 50))
measure many -Xms700m -Xmx700m -Xmn300m -Dio.hwheel.maxTimeouts=2097152 io.hwheel.Bench \
	operations memory
measure few -Xms128m -Xmx128m io.hwheel.Bench footprint idle lateness
rmmod hwheel
