#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# inside.sh STEP: what make check-packages, and make deb for another machine, do in the clean
# tree, where the packages are in /debs and the project is in /src.
set -euo pipefail

built=/root/built
version=$(sed -n 's/^PACKAGE_VERSION="\(.*\)"$/\1/p' /src/dkms.conf)

apt() {
	apt-get -q -y --no-install-recommends "$@"
}

# The version of the kernel whose headers are here; there is no kernel.
kver() {
	local folders=(/lib/modules/*)

	[ ${#folders[@]} -eq 1 ] && echo "${folders[0]##*/}"
}

# Prints the names of the packages in /debs: those for another machine have no Java.
names() {
	local deb

	for deb in /debs/*.deb; do
		dpkg-deb -f "$deb" Package
	done
}

# All files but what apt, dpkg, the linker and depmod note, what a boot makes anew, and the users
# and groups that stay
files() {
	find / -xdev \( -path /proc -o -path /dev -o -path /debs -o -path /src -o -path /tmp \
		-o -path /root -o -path /var/cache -o -path /var/log -o -path /var/lib/apt \
		-o -path /var/lib/dpkg -o -path /var/lib/systemd -o -path /etc/ld.so.cache \
		-o -path /run \) -prune \
		-o ! -path '/etc/*group*' ! -path '/etc/*passwd*' ! -path '/etc/*shadow*' \
		! -path '/lib/modules/*/modules.*' ! -path '/usr/lib/modules/*/modules.*' -print | sort
}

# A list that cannot be had is no reason to do without the others.
update() {
	apt update || true
}

# Leaves them beside the sources. Without Java: it is the same on each machine, and an emulated one
# takes very long to compile it.
step_build() {
	cd /src
	DEB_BUILD_OPTIONS=noautodbgsym dpkg-buildpackage -b -us -uc -Ppkg.hwheel.nojava
}

# The machine has what one has that is to use the module, and what this test needs.
step_prepare() {
	[ -e "/lib/modules/$(kver)/build/Makefile" ]
	update
	files >/root/before
}

step_install() {
	local packages

	mapfile -t packages < <(names)
	apt install /debs/*.deb
	[ ${#packages[@]} -ge 5 ]
	[ "$(dpkg-query -W -f '${db:Status-Abbrev}\n' "${packages[@]}" | grep -c '^ii')" \
		-eq ${#packages[@]} ]
}

step_dkms() {
	dkms status | tee /dev/stderr | grep -qE "^hwheel/$version, $(kver), $(uname -m): installed" &&
		[ "$(modinfo -k "$(kver)" -F version hwheel)" = "$version" ] &&
		modinfo -k "$(kver)" -F vermagic hwheel | grep -q "^$(kver) "
}

# What the README says to do
step_module() {
	mkdir -p "$built/sample"
	cp /src/selftests/module/hwheel_sample.c "$built/sample/"
	cat >"$built/sample/Kbuild" <<-EOF
		obj-m := hwheel_sample.o
		ccflags-y := -I/usr/src/hwheel-headers-$version/include
	EOF
	make -C "/lib/modules/$(kver)/build" M="$built/sample" modules KBUILD_MODPOST_WARN= \
		KBUILD_EXTRA_SYMBOLS="/var/lib/dkms/hwheel/kernel-$(kver)-$(uname -m)/Module.symvers"
	mv "$built/sample/hwheel_sample.ko" "$built/"
}

# As a program's package would
step_programs() {
	local example=/usr/share/doc/libhwheel-dev/examples/first.c flags

	read -ra flags < <(pkg-config --cflags --libs hwheel)
	gcc "$example" "${flags[@]}" -o "$built/shared"
	ldd "$built/shared" | grep 'libhwheel\.so\.0 => /'
	read -ra flags < <(pkg-config --static --cflags --libs hwheel)
	gcc -static "$example" "${flags[@]}" -o "$built/static"
	/src/debian/tests/library
}

step_tools() {
	[ "$(hwheelctl --version)" = "hwheelctl $version" ]
	hwheelctl --help | grep '^First steps:'
	man 1 hwheelctl | grep -w hwheelctl
	man 4 hwheel | grep -w HWHEEL_IOC_ARM
	man 3 libhwheel | grep -w hwheel_next_events
	man hwheel_arm | grep -F 'LIBHWHEEL(3)'
	man 9 hwheel_arm | grep -F 'HWHEEL(9)'
	[ -f /usr/share/bash-completion/completions/hwheelctl ]
}

# It loads the library, and says in Python's way that there is no device.
step_python() {
	python3 -c "import hwheel; assert hwheel.__version__ == '$version'"
	[ -e /dev/hwheel ] || python3 -c 'import errno, hwheel
try:
	hwheel.Wheel()
except OSError as error:
	assert error.errno == errno.ENOENT'
}

# Without a JVM, which it does not bring along
step_java() {
	[ -f /usr/share/java/hwheel.jar ] && [ -f /usr/share/java/hwheel-override.jar ]
	[ -f "/usr/lib/$(uname -m)-linux-gnu/jni/libhwheel_jni.so" ]
	[ -f "/usr/share/maven-repo/io/hwheel/hwheel/$version/hwheel-$version.pom" ]
	[ -f "/usr/share/maven-repo/io/hwheel/hwheel/$version/hwheel-$version.jar" ]
}

# Not started, as the module is not loaded
step_daemon() {
	getent passwd hwheeld | grep -E '^hwheeld:x:[1-9][0-9]{0,2}:'
	[ -f /etc/hwheeld.conf ] && [ -f /lib/systemd/system/hwheeld.service ]
	! ldd /usr/sbin/hwheeld | grep 'not found'
}

step_group() {
	getent group hwheel | grep -E '^hwheel:x:[1-9][0-9]{0,2}:$'
}

# Prints what programs are linked with, and the loader.
libraries() {
	ldd "$@" | grep -oE '/[^ ():]+ \(' | cut -d' ' -f1 | sort -u
}

# For the VM: what was installed, and what of Debian uses it
step_pack() {
	local programs=(/usr/bin/hwheelctl /usr/bin/setpriv "$built/shared")

	# By one name only, as /bin is /usr/bin where systemd runs.
	programs+=("$(command -v udevadm)")
	mapfile -t libs < <(libraries "${programs[@]}")
	tar -chf /root/debian.tar "${programs[@]}" "${libs[@]}" /lib/systemd/systemd-udevd \
		/usr/lib/udev/rules.d/60-hwheel.rules /etc/group /etc/passwd "$built" \
		/lib/modules/"$(kver)"/{updates,modules.*}
}

# For another VM, in which systemd starts the daemon
step_pack_service() {
	/src/selftests/harness/packages/pack_service.sh /root/service.tar
}

step_purge() {
	local packages

	mapfile -t packages < <(names)
	dpkg -L "${packages[@]}" | sort -u >/root/had
	apt purge --autoremove -o APT::AutoRemove::RecommendsImportant=false \
		-o APT::AutoRemove::SuggestsImportant=false "${packages[@]}"
	[ ! -e /var/lib/dkms/hwheel ]
	! modinfo -k "$(kver)" hwheel
}

# Of what there was, too, everything is still there.
step_nothing_left() {
	grep -q '^/usr/bin/hwheelctl$' /root/had
	diff /root/before <(files)
	getent group hwheel
	getent passwd hwheeld
}

# Without packages
step_checkout() {
	apt install dkms
	cp -r /src /root/hwheel
	cd /root/hwheel
	dkms add .
	dkms build "hwheel/$version" -k "$(kver)"
	dkms install "hwheel/$version" -k "$(kver)"
	step_dkms
	dkms remove "hwheel/$version" --all
	! modinfo -k "$(kver)" hwheel
}

# What debian/tests has, and DKMS's own test, which the runner wants to do only where it can undo all:
# this tree is thrown away.
step_autopkgtest() {
	update
	apt install autopkgtest autodep8
	autopkgtest --ignore-restrictions=breaks-testbed --no-built-binaries /debs/*.deb /src/ \
		--output-dir /root/autopkgtest -- null
	grep -E '^library +PASS' /root/autopkgtest/summary
	grep -E '^dkms-autopkgtest +PASS' /root/autopkgtest/summary
}

"step_$1"
