#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# run.sh SYZKALLER DROPBEAR KERNEL MODULE OUT TIME WORD...: syzkaller in the folder SYZKALLER calls
# MODULE (hwheel.ko) in a machine with KERNEL for TIME, as timeout(1) takes it, and begins with
# the programs in seeds/ and those that earlier runs of this syzkaller with such a kernel have
# found. WORDs are put on the kernel's command line. OUT gets its log, figures and crashes.
# report.py judges them.
set -euo pipefail

here=$(dirname "$(realpath "$0")")
syzkaller=$1 dropbear=$2 kernel=$3 module=$4 out=$5 limit=$6 words="${*:7}"

# shellcheck source=selftests/harness/debian.sh
. "$here/../../harness/debian.sh"

# syzkaller makes 0 of the numbers of a program that do not fit its description, and does not tell.
# A syzkaller with another description begins anew, therefore.
corpus=$cache/syzkaller-corpus/$(basename "$out")-${syzkaller##*-}.db

copy_dropbear() {
	local libraries=$out/root/lib/x86_64-linux-gnu name

	mkdir -p "$libraries" "$out/root/lib64" "$out/root/usr/sbin" "$out/root/etc/dropbear"
	cp "$dropbear/usr/sbin/dropbear" "$out/root/usr/sbin"
	for name in libtomcrypt.so.1 libtommath.so.1 libgmp.so.10 libz.so.1 libcrypt.so.1 libc.so.6; do
		find "$dropbear" -name $name -exec cp -L {} "$libraries" \;
	done
	find "$dropbear" -path '*-gnu/ld-linux-x86-64.so.2' -exec cp -L {} "$out/root/lib64" \;
}

# root has no password, and one key.
copy_users() {
	ssh-keygen -q -t ed25519 -N '' -f "$out/key"
	install -D -m 600 "$out/key.pub" "$out/root/root/.ssh/authorized_keys"
	chmod 700 "$out/root/root" "$out/root/root/.ssh"
	echo 'root:*:0:0::/root:/bin/sh' >"$out/root/etc/passwd"
	echo '127.0.0.1 localhost' >"$out/root/etc/hosts"
	echo /bin/sh >"$out/root/etc/shells"
}

make_initramfs() {
	mkdir -p "$out"/root/{bin,dev,proc,root,sys,tmp}
	cp "$(command -v busybox || echo /bin/busybox)" "$out/root/bin/busybox"
	install -m 755 "$here/init" "$out/root/init"
	install -m 755 "$syzkaller"/bin/linux_amd64/syz-exec{utor,prog} "$out/root"
	cp "$module" "$out/root/hwheel.ko"
	nm -u "$module" | awk '{ print $2 }' >"$out/root/calls"
	copy_dropbear
	copy_users
	(cd "$out/root" && find . | cpio -o -H newc -R 0:0 --quiet) >"$out/initramfs"
	rm -rf "$out/root"
}

# An earlier run may have found crashes that nobody has looked at.
keep_crashes() {
	local kept

	[ -n "$(ls "$out/work/crashes" 2>/dev/null)" ] || return 0
	kept=$out-$(date +%Y%m%d-%H%M%S)
	mv "$out" "$kept"
	say "syzkaller: the crashes of the run before are in $kept/work/crashes"
}

configure() {
	: >"$out/no-image"
	sed -e "s|@OUT@|$out|; s|@SYZKALLER@|$syzkaller|; s|@KERNEL@|$kernel|; s|@WORDS@|$words|" \
		"$here/manager.json" >"$out/manager.json"
}

syz_db() {
	"$syzkaller/bin/syz-db" -os linux -arch amd64 "$@" >>"$out/seeds.log" 2>&1
}

# Packed programs are named after their text.
check_seeds() {
	local seed name

	for seed in "$here"/seeds/*; do
		name=$(sha1sum <"$seed")
		[ -e "$out/seeds/${name%% *}" ] ||
			die "$seed: syzkaller reads another program: see $out/seeds.log, $out/seeds"
	done
}

begin_with_corpus() {
	mkdir -p "$out"/{seeds,work} "$(dirname "$corpus")"
	syz_db pack "$here/seeds" "$out/work/corpus.db" ||
		die "syzkaller does not read the seeds: see $out/seeds.log"
	syz_db unpack "$out/work/corpus.db" "$out/seeds"
	check_seeds
	[ ! -e "$corpus" ] || syz_db merge "$out/work/corpus.db" "$corpus"
}

keep_corpus() {
	cp "$out/work/corpus.db" "$corpus.new" && mv "$corpus.new" "$corpus"
}

# timeout interrupts syz-manager, which then ends its machine.
call() {
	local status=0

	timeout --foreground -s INT -k 60 "$limit" "$syzkaller/bin/syz-manager" \
		-config "$out/manager.json" -bench "$out/bench" >"$out/log" 2>&1 || status=$?
	[ $status -eq 124 ] || { tail -n 20 "$out/log" >&2; die "syzkaller ended with $status"; }
}

[ ! -d "$out" ] || [ -e "$out/manager.json" ] || die "$out holds something else than a run"
keep_crashes
rm -rf "$out"
mkdir -p "$out"
configure
make_initramfs
begin_with_corpus
trap keep_corpus EXIT
say "syzkaller: calling the module for $limit ($out/log)"
call
