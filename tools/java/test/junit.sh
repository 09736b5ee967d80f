#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# junit.sh FOLDER JAVA JARS CLASS...: runs test classes of tools/java with a JVM, with these jars of
# the folder first in the class path, and Debian's after them. Prints TAP.
set -euo pipefail

folder=$1 java=$2 path=
shift 2
read -ra first <<<"$1"
shift

debian="netty-common netty-buffer netty-transport netty-resolver netty-handler jctools-core asm
	asm-commons asm-tree junit-jupiter-api junit-jupiter-engine junit-platform-engine
	junit-platform-launcher junit-platform-commons opentest4j apiguardian-api"

for jar in "${first[@]}" hwheel-tests hwheel module-tests; do
	path+=$folder/$jar.jar:
done
for jar in $debian; do
	path+=${JARS:-/usr/share/java}/$jar.jar:
done
# One carrier for all virtual threads
exec "$java" -Xmx1200m -Djdk.virtualThreadScheduler.parallelism=1 \
	-Djdk.virtualThreadScheduler.maxPoolSize=1 -cp "${path%:}" io.hwheel.TapRunner \
	"${@/#/io.hwheel.}"
