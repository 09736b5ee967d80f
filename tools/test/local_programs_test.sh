#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# local_programs_test.sh TOOLS FOLDER: hwheelctl, the examples and the demonstration where no module
# is loaded: their wheels are in the processes. In a network of their own. Prints TAP.
set -u

if [ -z "${IN_NETWORK-}" ]; then
	[ "$(id -u)" = 0 ] || root=--map-root-user
	IN_NETWORK=1 exec unshare --net ${root+"$root"} "$0" "$@"
fi

here=$(dirname "$(realpath "$0")")
tools=$(realpath "$1") folder=$(realpath -m "$2")
rm -rf "$folder"
mkdir -p "$folder/run"
for file in "$tools"/hwheelctl "$tools"/examples/* "$tools/test/many_clients" "$here/examples.sh" \
	"$here"/../../selftests/harness/{common,tap}.sh; do
	[[ $file = *.d ]] || ln -s "$file" "$folder"
done
cd "$folder" || exit 1
# shellcheck source=selftests/harness/common.sh
. ./common.sh
# shellcheck source=tools/test/examples.sh
. ./examples.sh
work=$folder/run

nc() {
	busybox nc "$@"
}

# says_the_place COMMAND...: it succeeds, and says once on stderr where its wheel is.
says_the_place() {
	"$@" >"$work/out" 2>"$work/err" &&
		[ "$(grep -c 'the wheel is in hwheelctl itself' "$work/err")" = 1 ] && return
	diagnose "$*: $(cat "$work/out" "$work/err")"
	return 1
}

ctl_info() {
	says_the_place ./hwheelctl info && grep -q '^place  *process$' "$work/out"
}

ctl_arm() {
	says_the_place ./hwheelctl arm 20ms 1ms --cookie 7 &&
		[ "$(cut -d' ' -f1-3 "$work/out")" = $'cookie 8 expired\ncookie 7 expired' ]
}

# As many as the handle holds, and more threads
ctl_load() {
	says_the_place ./hwheelctl load --quiet --count 60000 --rate 0 --delay 200ms --refresh 20 &&
		says_the_place ./hwheelctl load --quiet --calls --threads 3 --count 3000 --rate 0 \
			--delay 50ms --tick 1ms
}

# What looks at the module says that there is none.
ctl_list() {
	./hwheelctl list >"$work/out" 2>"$work/err"
	[ $? = 3 ] && grep -q 'sudo modprobe hwheel' "$work/err"
}

demonstration() {
	quietly "$tools/demo/$1" "$work" && grep -q ', 0 early: as it should be$' "$work/output" &&
		[ -s "$work/$1.json" ]
}

busybox ip link set lo up
echo "TAP version 13"
if [ -e /dev/hwheel ] || loaded; then
	skip "hwheelctl" "the module is loaded"
else
	report "hwheelctl info" ctl_info
	report "hwheelctl arm" ctl_arm
	report "hwheelctl load" ctl_load
	report "hwheelctl list" ctl_list
fi
report_examples
for demo in first rpc heartbeat mass; do
	report "demonstration: $demo" demonstration "$demo"
done
tap_end
