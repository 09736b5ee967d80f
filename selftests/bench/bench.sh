#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# bench.sh [ROW]...: measures rows of the table rows, all that have seconds there if none is named.
# build/bench.json gets a JSON object in each line, build/bench.txt tables of them, build/bench.svg
# a picture. From the environment: BASE, an earlier bench.json, whose instruction counts may
# not have risen.
set -euo pipefail

cd "$(dirname "$(realpath "$0")")/../.."
# shellcheck source=selftests/harness/messages.sh
. selftests/harness/messages.sh

build=$PWD/build out=$PWD/build/bench here=selftests/bench
report=(python3 -B "$here/report.py")

# fields MACHINE FIELD: of its rows that were chosen; all machines for "*"
fields() {
	awk -F ' *[|] *' -v machine="$1" -v field="$2" -v names=" $names " '
		/^#/ || (machine != "*" && $2 != machine) { next }
		names == "  " ? $3 != "" : index(names, " " $1 " ") {
			print field == "command" ? $1 " " $4 : $field
		}' $here/rows
}

# modules VARIABLES: builds those of a kernel, unless it was the last one; sets kver and kdir.
modules() {
	local word

	[ "$1" != "${built-}" ] || return 0
	for word in $1; do
		case $word in
		KVER=*) kver=${word#*=} ;;
		KDIR=*) kdir=${word#*=} ;;
		esac
	done
	# shellcheck disable=SC2086 # several words
	env $1 selftests/harness/build.sh modules >"$out/build.log" 2>&1 ||
		{ tail -n 20 "$out/build.log" >&2; die "the modules of $kver cannot be built"; }
	built=$1
}

program() {
	make --no-print-directory -C tools O="$build/tools" "$build/tools/libhwheel.a" \
		"$build/tools/examples/uv_server"
	gcc -O2 -std=gnu11 -D_GNU_SOURCE -Wall -Wextra -Werror -static -Imodule/include/uapi \
		-Itools $here/user/*.c "$build/tools/libhwheel.a" -luring -luv_a -levent_core \
		-lev -lm -pthread -Wl,--no-warnings -Wl,--wrap=ioctl -o "$out/user_bench"
}

# boot RUN OPTION...: RUN boots a machine, whose modules were built.
boot() {
	"$@" --out "$out/$machine" --timeout 3600 --guest $here/guest.sh \
		"$build/module-$kver/hwheel.ko" "$build/modules-$kver"/selftests/bench/*.ko \
		"$out/user_bench" "$build/tools/examples/uv_server" "$out/chosen" "${engines[@]}"
}

# engine NAME OPTION...: hwheel.ko for the rows of cold memory, with these of the compiler
engine() {
	local module=$build/module-$kver-$1

	# shellcheck disable=SC2086 # several words
	env $uml_vars MODULE="$module" KCFLAGS="-include $PWD/$here/x86_barriers.h ${*:2}" \
		selftests/harness/build.sh module >"$out/build.log" 2>&1 ||
		{ tail -n 20 "$out/build.log" >&2; die "the module $1 cannot be built"; }
	cp "$module/hwheel.ko" "$out/$1.ko"
	engines+=("$out/$1.ko")
}

vm() {
	[ -n "${vm_vars-}" ] || vm_vars=$(selftests/harness/needs.sh vm)
	modules "$vm_vars"
	boot selftests/harness/vm/run_vm.sh --kver "$kver" --programs "$@"
}

uml() {
	[ -n "${uml_vars-}" ] || uml_vars=$(selftests/harness/needs.sh native)
	modules "$uml_vars"
	if grep -q '^cold' "$out/chosen"; then
		engine cold_hwheel
		engine cold_one_list -DHWHEEL_LISTS=1 -DHWHEEL_CHAINS=1
	fi
	boot selftests/harness/uml/run_uml.sh --kdir "$kdir" "$@"
}

# The kernel is this machine's own.
here() {
	local name command

	mkdir -p "$out/here"
	kver=$(uname -r)
	ln -sf "$out/user_bench" "$build/tools/examples/uv_server" "$out/here"
	while read -r name command; do
		(cd "$out/here" && eval "$command") >"$out/here/$name"
		cat "$out/here/$name"
	done <"$out/chosen"
}

# Runs the rows of the machine that were chosen.
measure() {
	engines=()
	fields "$machine" command >"$out/chosen"
	[ -s "$out/chosen" ] || return 0
	say "$machine: $(fields "$machine" 1 | tr '\n' ' ')"
	case $machine in
	counted|quiet) sed -i '1i check ./user_bench check' "$out/chosen" ;;
	esac
	# A busy host keeps the CPU from the timer's interrupts, for which the kernel looks.
	case $machine in
	counted) vm --icount --mem 2048 ;;
	quiet)   vm --icount --append "tsc=reliable nowatchdog psi=0" ;;
	two)     vm --append no_timer_check ;;
	native)  uml ;;
	native2) uml --smp 2 ;;
	here)    here ;;
	esac
	printf '{"machine": "%s", "kernel": "%s"}\n' "$machine" "$kver" >"$out/$machine/about"
}

names=$*
for name; do
	[ -n "$(names=$name fields '*' 1)" ] || die "no row is named $name: see $here/rows"
done
rm -rf "$out"
mkdir -p "$out"
# It may be the last run's result, and is read first.
[ -z "${BASE-}" ] || cp "$BASE" "$out/base.json"
selftests/harness/needs.sh programs tools loops valgrind gnuplot >/dev/null
program
for machine in here counted quiet two native native2; do
	measure
done
cat "$out"/*/about >"$build/bench.json"
for name in $(fields '*' 1); do
	cat "$out"/*/"$name" >>"$build/bench.json"
done
"${report[@]}" plot "$build/bench.json" "$build/bench.svg"
"${report[@]}" show "$build/bench.json" | tee "$build/bench.txt"
[ -z "${BASE-}" ] || "${report[@]}" compare "$out/base.json" "$build/bench.json"
