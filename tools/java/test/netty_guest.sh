#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash disable=SC3040 # busybox knows pipefail
#
# Guest script of make check T=netty: runs Netty's own test of its timer in a VM that counts
# instructions, with the jar that has a class in the place of Netty's. That test has bounds of
# time, which a busy machine would miss; in this VM only what is done takes time. The JVM has a
# small compiler and room for all objects, because with the larger one and a garbage collection
# neither this timer nor Netty's keeps to the bound of testExecutionOnTime on one CPU.
set -o pipefail

cd "$(dirname "$0")" || exit 1
tar -xf jre.tar -C / && rm jre.tar
path=netty-tests.jar:hwheel-override.jar:cancelled-tests.jar:hwheel-tests.jar:hwheel.jar
/jre/bin/java -XX:+UseSerialGC -Xms400m -Xmx400m -Xmn250m -XX:TieredStopAtLevel=1 \
	-cp "$path$(printf ':%s' /jre/jars/*.jar)" \
	io.hwheel.TapRunner io.netty.util.HashedWheelTimerTest 2>&1 | tee /results/netty.tap
