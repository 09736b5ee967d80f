#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
#
# Guest script of make check T=java_bench, in a VM that counts instructions: measures the timer, and
# that of each Netty whose jar is there, one JVM after the other. Leaves JSON in /results.
set -e

# measure NAME NETTY: NAME is that of the timer.
measure() {
	local name=$1 path

	path=/hwheel/hwheel-bench.jar:/hwheel/hwheel.jar:$2$(printf ':%s' /jre/jars/*.jar)
	java -Xms700m -Xmx700m -Xmn300m -cp "$path" io.hwheel.Bench "$name" operations memory \
		"/results/$name-many.json"
	java -Xms128m -Xmx128m -cp "$path" io.hwheel.Bench "$name" footprint idle lateness \
		"/results/$name-few.json"
}

java() {
	/jre/bin/java -XX:+UseSerialGC -XX:+AlwaysPreTouch "$@"
}

cd "$(dirname "$0")"
tar -xf jre.tar -C / && rm jre.tar
measure hwheel ''
measure netty-4.1 ''
[ ! -e netty-4.2.jar ] || measure netty-4.2 /hwheel/netty-4.2.jar
