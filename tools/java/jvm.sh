# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
#
# What the guest scripts of make check T=java and make check T=java_bench share: the machine's own JVM and
# jars, which they see and cannot change.

# mounted FOLDER: as it is on the machine
mounted() {
	mkdir -p "/$1"
	mount -t hostfs -o "ro,/$1" none "/$1"
}

mount_jvm() {
	mounted usr
	mounted etc
	ln -s usr/lib /lib
	ln -s usr/lib64 /lib64
	export PATH="$PATH:/usr/bin:/usr/sbin"
}

# jars NAME...: a class path of Debian's jars
jars() {
	printf ':/usr/share/java/%s.jar' "$@"
}

# jvm OPTION... CLASS ARGUMENT...
jvm() {
	java -Xshare:auto -Dio.hwheel.library=/hwheel/libhwheel_jni.so "$@"
}
