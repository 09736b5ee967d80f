#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
#
# hwheelctl: what each command prints, its messages and exit codes. Run as root where nobody
# else uses hwheel; needs hwheel.ko and hwheelctl beside it, Debian's setpriv, debugfs and tracefs.
# Leaves JSON in /results for json_test.py. Prints TAP.

cd "$(dirname "$0")" || exit 1
# shellcheck source=selftests/harness/common.sh
. ./common.sh

commands="info arm watch load list stats top"

# ctl STATUS ARGUMENT...: hwheelctl exits with it; leaves $work/out and $work/err
ctl() {
	local expected=$1 status

	shift
	./hwheelctl "$@" >"$work/out" 2>"$work/err" </dev/null
	status=$?
	[ $status -eq "$expected" ] && return
	diagnose "hwheelctl $*: status $status, not $expected: $(cat "$work/err")"
	return 1
}

# shows FILE PATTERN
shows() {
	grep -qE -- "$2" "$1" && return
	diagnose "nowhere '$2': $(cat "$1")"
	return 1
}

# says PATTERN, warns PATTERN: on stdout, on stderr
says() {
	shows "$work/out" "$1"
}

warns() {
	shows "$work/err" "$1"
}

# field NAME: the number behind it in a line of $work/out
field() {
	awk -v name="$1" '$1 == name { print $2; exit }' "$work/out"
}

# keep NAME: what was printed is looked at outside
keep() {
	cp "$work/out" "/results/$1.json"
}

narrow() {
	awk 'length($0) > 79 { print "# too wide: " $0; bad = 1 } END { exit bad }' "$work/out"
}

# --- help and usage ---

help_leads() {
	ctl 0 --help && narrow && says 'modprobe hwheel' && says 'hwheelctl load --time' || return
	for command in $commands; do
		says "^  $command +[a-z]" || return
	done
}

each_has_examples() {
	for command in $commands; do
		ctl 0 "$command" --help && narrow && says '^Examples:' &&
			says "^ +(sudo )?hwheelctl $command" || return
	done
}

help_is_a_command() {
	for command in $commands; do
		ctl 0 "$command" --help && mv "$work/out" "$work/help" && ctl 0 help "$command" &&
			cmp "$work/help" "$work/out" || return
	done
	ctl 0 --help && mv "$work/out" "$work/help" && ctl 0 help && cmp "$work/help" "$work/out" &&
		ctl 0 help help && cmp "$work/help" "$work/out"
}

# Without a load there is one wheel, the kernel's, and no file. A file has its process and wheel.
alone_it_shows_the_state() {
	await only_system_wheel && ctl 0 &&
		says "^module: hwheel $(cat /sys/module/hwheel/version)$" && says '^wheel: system-1$' &&
		! grep -q '^file' "$work/out" && busy --tick 2ms || return
	ctl 0 && says '^  kind: hashed, tick 2 ms, 4096 slots$' && says '^  pending: [1-9]' &&
		narrow && says "^file: [0-9]+ of hwheelctl \($load\)$" &&
		says '^  timeouts: mapped, at most 65536$' && as_joe 0 &&
		says '^module: ' && says '^wheels: for root alone' && ! grep -q '^file' "$work/out"
	status=$?
	idle && return $status
}

versions_agree() {
	ctl 0 --version && [ "$(cat "$work/out")" = "hwheelctl $(cat /sys/module/hwheel/version)" ]
}

usage_is_2() {
	ctl 2 nothing && warns 'no such command' && ctl 2 help nothing &&
		warns 'no such command' && ctl 2 arm &&
		ctl 2 info more && ctl 2 list more && ctl 2 stats a b && ctl 2 top a b &&
		ctl 2 arm 1s --cookie 1x && ctl 2 load --cancel 101 && ctl 2 load --batch 0 &&
		ctl 2 load --rate 1000000001 &&
		ctl 2 load --cancel 60 --refresh 60 && ctl 2 watch --events nix &&
		ctl 2 top --interval 0s && warns '--help'
}

durations_are_read() {
	for duration in 0ns 10ns 0.5us 1ms 0.001s 0.00001m 0.0000001d; do
		ctl 0 arm $duration || return
	done
}

durations_are_refused() {
	for duration in '' 5 1. .5s 1.s 1x 1ss 0.1ns 1.0000000001s 0.00000000001s 1e3s 1dd \
		1d5 5124096h 213504d 1..0s 1.0.0s; do
		ctl 2 arm "$duration" || return
	done
	ctl 2 arm 5 && warns 'unit is missing' && ctl 2 top --interval 0s &&
		warns '--interval 0s: an interval must be longer than 0'
}

# Each of these is 200: the event brings it back.
numbers_are_read() {
	for number in 200 0xc8 0.2k 2e2 2E2 0.0002M 0.0000002G; do
		ctl 0 arm 1ms --cookie $number && says '^cookie 200 ' || return
	done
	ctl 0 arm 1ms --cookie 18.446744073709551614e18 && says '^cookie 18446744073709551614 '
}

numbers_are_refused() {
	for number in '' x k e3 1. .5k 1..0 1e 1e20 1kk 1ke3 0x 0xg -1 18446744073709551616 \
		0x10000000000000000 20000000T 1.5 0.0001k; do
		ctl 2 arm 1ms "--cookie=$number" && warns "--cookie $number: not a " || return
	done
	ctl 2 load --threads 1k && warns '--threads 1k: more than 256'
}

# --- what is missing ---

# Commands that look at the module
not_loaded_is_3() {
	quietly unload || return
	ctl 3 && warns 'sudo modprobe hwheel' || return
	for command in $commands; do
		case $command in info|arm|load) continue ;; esac
		ctl 3 "$command" && warns 'sudo modprobe hwheel' || return
	done
	quietly load
}

says_the_place() {
	warns "$1" && warns 'the wheel is in hwheelctl itself'
}

# Commands that need a wheel
a_wheel_in_the_process() {
	quietly unload && ctl 0 info && says_the_place 'sudo modprobe hwheel' &&
		says '^place  *process$' && ctl 0 info --json && says '"place":"process"' &&
		ctl 0 arm 10ms 1ms --cookie 7 && says_the_place 'sudo modprobe hwheel' &&
		says '^cookie 8 expired' && says '^cookie 7 expired' &&
		ctl 0 load --quiet --count 2000 --rate 0 --delay 50ms --threads 3 --refresh 10 &&
		says_the_place 'sudo modprobe hwheel' &&
		[ "$(grep -c 'in hwheelctl itself' "$work/err")" -eq 1 ] &&
		ctl 0 load --quiet --calls --count 2000 --rate 0 --delay 50ms --tick 1ms &&
		quietly load && ctl 0 info && says '^place  *kernel$' &&
		! grep -q 'in hwheelctl itself' "$work/err"
}

# as_joe STATUS ARGUMENT...: as ctl, by somebody who is not root
as_joe() {
	local expected=$1 status

	shift
	/usr/bin/setpriv --reuid 1000 --regid 1000 --clear-groups ./hwheelctl "$@" \
		>"$work/out" 2>"$work/err" </dev/null
	status=$?
	[ $status -eq "$expected" ] && return
	diagnose "hwheelctl $* by others: status $status: $(cat "$work/err")"
	return 1
}

not_permitted_is_4() {
	as_joe 0 info && says_the_place 'sudo chgrp .*/dev/hwheel' &&
		as_joe 0 arm 1ms && says_the_place 'sudo chgrp' &&
		as_joe 4 list && warns sudo && as_joe 4 stats && warns sudo && as_joe 4 top &&
		as_joe 4 watch && warns sudo && as_joe 0 list --files
}

# What the message says is done; then all but what is for root alone works.
chgrp_helps() {
	chgrp 1000 /dev/hwheel && chmod g+rw /dev/hwheel && as_joe 0 info &&
		! grep -q 'in hwheelctl itself' "$work/err" && as_joe 0 arm 1ms && as_joe 4 stats && warns sudo &&
		as_joe 4 top --once --interval 100ms && as_joe 4 list && as_joe 4 watch
	status=$?
	chgrp 0 /dev/hwheel && chmod 600 /dev/hwheel
	return $status
}

# The group is the device's: its members may open it. A group has a name in /etc/group.
usermod_helps() {
	mkdir -p /etc && echo 'hwheel:x:998:' >/etc/group &&
		chgrp 998 /dev/hwheel && chmod 660 /dev/hwheel &&
		as_joe 0 info && says_the_place 'sudo usermod -aG hwheel ' && warns 'next login' &&
		! grep -q chgrp "$work/err" &&
		/usr/bin/setpriv --reuid 1000 --regid 1000 --groups 998 ./hwheelctl info >"$work/out"
	status=$?
	rm /etc/group
	as_joe 0 info && says_the_place 'sudo chgrp' || status=1
	chgrp 0 /dev/hwheel && chmod 600 /dev/hwheel
	return $status
}

# A container sees /sys, but has a /dev of its own.
no_device_here() {
	mv /dev/hwheel "$work/device" && ctl 0 info && says_the_place 'no /dev/hwheel here' &&
		warns 'podman run --device /dev/hwheel'
	status=$?
	mv "$work/device" /dev/hwheel && ctl 0 info && return $status
}

limits_have_names() {
	quietly unload && quietly load max_timeouts=2 max_user_wheels=0 max_pending=1 || return
	ctl 1 arm 1h 1h && warns 'arm: .* max_pending=1\.' &&
		ctl 1 arm 1s --tick 1ms && warns 'this tick: .* max_user_wheels=0 or max_user_bytes=[0-9]*\.' &&
		ctl 1 load --tick 1ms && warns 'load: .* max_user_wheels=0 or max_user_bytes=[0-9]*\.' &&
		quietly unload && quietly load max_timeouts=2 &&
		ctl 1 arm 1h 1h 1h && warns 'arm: .* max_timeouts=2 or max_user_bytes=[0-9]*\.'
	status=$?
	quietly unload && quietly load && return $status
}

ranges_are_told() {
	ctl 1 arm 1s --tick 1us && warns 'Invalid argument' && warns 'tick of 50us to 1h' &&
		ctl 1 load --slots 2M && warns '1048576 slots' && ctl 1 load --levels 9 &&
		warns '2 to 8 levels' && ctl 0 arm 1ms --tick 50us &&
		ctl 0 load --count 1 --delay 1ms --tick 1h --slots 1048576 --levels 8 --seed 1 \
			--cancel 100
}

mount_helps() {
	umount /sys/kernel/debug && umount /sys/kernel/tracing || return
	ctl 1 list && warns 'sudo mount -t debugfs debugfs /sys/kernel/debug' && ctl 1 watch &&
		warns 'sudo mount -t tracefs tracefs /sys/kernel/tracing' && ctl 1 stats
	status=$?
	mount -t debugfs debugfs /sys/kernel/debug && mount -t tracefs tracefs /sys/kernel/tracing
	[ $status -eq 0 ] && ctl 0 list
}

no_such_wheel() {
	ctl 1 stats nix && warns 'no wheel nix' && warns 'hwheelctl list' && ctl 1 top nix &&
		ctl 1 load --tick 1ns && warns 'Invalid argument'
}

# --- info and arm ---

info_tells() {
	ctl 0 info && says '^tick +10 ms$' && says '^slots +4096 x 1 level$' &&
		says '^kind +hashed$' && says '^timeouts per file  65536$' && says '^features .* map' &&
		ctl 0 info --json && keep info
}

# The sooner ones first; those of one moment in any order
arm_waits_for_all() {
	ctl 0 arm 300ms 1ms --cookie 7 && [ "$(wc -l <"$work/out")" -eq 2 ] &&
		head -n 1 "$work/out" | grep -q '^cookie 8 expired [0-9.]* us after its deadline' &&
		says '^cookie 7 expired' && ctl 0 arm 1ms 2ms 3ms --json && keep arm
}

arm_has_a_tick() {
	ctl 0 arm 1ms --tick 50us && says 'ticks' && ctl 1 arm 1s --tick 1us && warns 'this tick'
}

# --- list, with a load in the background ---

busy() {
	./hwheelctl load --quiet --time 1h --delay 1h "$@" >"$work/load" 2>&1 </dev/null &
	load=$!
	await holds_something
}

holds_something() {
	./hwheelctl list --files | awk -v pid="$load" '$2 == pid && $6 > 0 { found = 1 }
		END { exit !found }'
}

idle() {
	kill -INT "$load" && wait "$load"
}

list_shows_wheels() {
	await only_system_wheel && ctl 0 list &&
		says '^system-1 +hashed +10 ms +4096 +0  system_create \[hwheel\]$' || return
	busy --tick 2ms --levels 3 --slots 64 || return
	ctl 0 list && says '^system-1 ' && says ' hierarchical +2 ms +64 +[1-9]' && narrow &&
		ctl 0 list --json && keep list && ctl 0 list --files && says "^hwheelctl +$load .* mapped " &&
		ctl 0 list --files --json && keep files
	status=$?
	idle && [ $status -eq 0 ] && ctl 0 list && [ "$(wc -l <"$work/out")" -eq 2 ]
}

# kind_is KIND OPTION...: a wheel of its own that load makes is of that kind.
kind_is() {
	local kind=$1

	shift
	busy "$@" && ctl 0 list && says "^p[0-9-]+ +$kind " || return
	idle
}

each_kind() {
	kind_is hashed --kind hashed && kind_is hashed --slots 64 &&
		kind_is hierarchical --kind hierarchical && kind_is hierarchical --levels 2 &&
		kind_is simple --kind simple --slots 1048576 && ctl 2 load --kind shared &&
		warns 'not hashed, hierarchical or simple'
}

default_wheel() {
	./hwheelctl list | grep -q '^u0-2 .* 1  '
}

# A new default wheel stays as long as an "arm" waits, and counts that, too.
load_and_hold() {
	quietly unload && quietly load || return
	./hwheelctl arm 1h >/dev/null 2>&1 </dev/null &
	holder=$!
	await default_wheel
}

let_go() {
	kill "$holder" && ! wait "$holder"
}

# --- watch ---

# watching ARGUMENT...: in the background, until it has begun
watching() {
	rm -f "$work/watch_err"
	./hwheelctl watch "$@" >"$work/watch" 2>"$work/watch_err" </dev/null &
	watch=$!
	await grep -qs watching "$work/watch_err"
}

gone() {
	! grep -qs '^State:.[^ZX]' "/proc/$1/status"
}

# Its status; a watch that has not ended in time is killed.
watch_ends() {
	await gone "$watch" || kill -KILL "$watch"
	wait "$watch"
}

instances() {
	ls /sys/kernel/tracing/instances
}

# The timeout that was armed is the one that expires.
watch_sees_a_life() {
	watching --count 2 && ctl 0 arm 1s --cookie 77 && watch_ends || return
	diagnose "$(cat "$work/watch")"
	awk '$4 != "cookie" || $5 != 77 || $6 != "wheel" || $7 !~ /^[0-9]+$/ || $8 !~ /^hwheelctl-[0-9]+$/ {
		exit bad = 1
	     }
	     $2 == "armed" { armed = $3; who = $8; if (!/ due in [0-9.]+ [mun]?s$/) exit bad = 1 }
	     $2 == "expired" && $3 == armed && $8 == who && / after its deadline$/ { seen = 1 }
	     END { exit bad || !seen }' "$work/watch" && [ -z "$(instances)" ]
}

# A load on a wheel of its own is on all wheels but the one that is chosen, and the other process.
watch_filters() {
	load_and_hold && busy --tick 2ms --rate 1000 --delay 50ms --calls || return
	ctl 0 watch --count 3 --pid "$load" --json --events arm,expire &&
		[ "$(grep -c "\"owner\":\"hwheelctl\",\"owner_pid\":$load," "$work/out")" -eq 3 ] &&
		watching --json --count 4 --wheel u0 && ctl 0 arm 1ms 2ms && watch_ends &&
		[ "$(grep -c '"wheel_id":2,' "$work/watch")" -eq 4 ] &&
		ctl 0 watch --wheel 2 --time 300ms && [ ! -s "$work/out" ] &&
		ctl 0 watch --pid 1 --time 300ms && [ ! -s "$work/out" ] &&
		ctl 0 watch --wheel "p$load" --pid "$load" --events cancel --count 1 &&
		ctl 1 watch --wheel nix && warns 'no wheel nix' && ctl 2 watch --pid 5M
	status=$?
	idle && let_go && return $status
}

# hwheelctl load maps its timeouts; ids and cookies are those of the program.
watch_knows_mapped_ones() {
	busy --rate 1000 --delay 20ms --cancel 0 || return
	ctl 0 watch --count 2000 --json --pid "$load" --events take,end
	status=$?
	idle && [ $status -eq 0 ] && cp "$work/out" /results/watch_mapped.json
}

# differs FROM TO TRACEPOINT: a hwheelctl that reads TO, which the module lacks, instead of FROM
differs() {
	sed "s/$1/$2/g" hwheelctl >"$work/differs" && chmod +x "$work/differs" || return
	"$work/differs" watch --events arm --pid 1 --time 1s >"$work/out" 2>"$work/err"
	[ $? -eq 1 ] && warns "\\(hwheel $(cat /sys/module/hwheel/version)\\) lacks the tracepoint $3," &&
		warns 'modprobe -r hwheel' && [ -z "$(instances)" ] && return
	diagnose "$(cat "$work/err")"
	return 1
}

# A tracepoint that is not there, and one without the field
watch_needs_its_tracepoints() {
	differs file_arm fyle_arm fyle_arm && differs common_pid kommon_pid timeout_arm
}

watch_chooses() {
	watching --json --count 3 --events expire && ctl 0 arm 1ms 2ms 3ms && watch_ends &&
		[ "$(wc -l <"$work/watch")" -eq 3 ] && cp "$work/watch" /results/watch.json
}

# With a name like a tracepoint's, it is seen; with one that is no text, that is told as text.
watch_trusts_no_name() {
	for name in ': timeout_arm: ' "$(printf 'a\033[2J\377')" ; do
		cp hwheelctl "$work/$name" && watching --count 1 --json --events arm || return
		"$work/$name" arm 1s >"$work/out" && watch_ends &&
			grep -qE '"owner":"(: timeout_arm: |a\?\[2J\?)"' "$work/watch" && continue
		diagnose "$(cat "$work/watch")"
		return 1
	done
}

# Before it had shown all that there was it was over.
watch_ends_while_there_is_more() {
	watch_ends_in_time armed arm,expire --calls && watch_ends_in_time ended take,end
}

# watch_ends_in_time WORD EVENTS LOAD_OPTION...
watch_ends_in_time() {
	local word=$1 events=$2

	shift 2
	busy --rate 0 --delay 10ms --cancel 0 "$@" || return
	watching --events "$events" && await grep -q "$word" "$work/watch" && kill -INT $watch &&
		watch_ends && [ -z "$(instances)" ] &&
		ctl 0 watch --time 100ms
	status=$?
	idle && return $status
}

a_full_disk_is_1() {
	./hwheelctl info >/dev/full 2>"$work/err"
	[ $? -eq 1 ] && warns 'written'
}

watch_leaves_nothing() {
	for signal in INT TERM; do
		watching && [ -n "$(instances)" ] && kill -$signal $watch && watch_ends &&
			[ -z "$(instances)" ] || return
	done
	ctl 0 watch --time 100ms && [ -z "$(instances)" ]
}

# --- load, and what is seen of it ---

# What it says of itself
adds_up() {
	[ "$(field armed)" -eq "$1" ] && [ "$(field lost)" -eq 0 ] && [ "$(field early)" -eq 0 ] &&
		[ $(($(field expired) + $(field cancelled) + $(field stopped))) -eq "$1" ] && return
	diagnose "$(cat "$work/out")"
	return 1
}

bars() {
	grep -c '|' "$work/out"
}

load_adds_up() {
	ctl 0 load --count 3000 --rate 20000 --delay 200ms --cancel 40 --refresh 20 || return
	adds_up 3000 && [ "$(bars)" -eq 16 ] && says '^ +p99 ' && narrow &&
		[ "$(field cancelled)" -gt 0 ] && [ "$(field refreshed)" -gt 0 ] &&
		[ "$(field expired)" -gt 0 ] && [ ! -s "$work/err" ]
}

load_has_threads() {
	ctl 0 load --count 4001 --rate 0 --threads 3 --delay 100ms --batch 1 --cancel 0 --json &&
		keep load_threads
}

# More than a file may hold: it waits until there is room.
load_waits_for_room() {
	quietly unload && quietly load max_timeouts=100 &&
		ctl 0 load --count 1000 --rate 0 --delay 50ms --cancel 10 && adds_up 1000
	status=$?
	quietly unload && quietly load && [ $status -eq 0 ]
}

# Some threads have nothing to do.
load_has_idle_threads() {
	ctl 0 load --count 2 --threads 5 --delay 20ms && adds_up 2
}

load_has_an_end() {
	ctl 0 load --time 300ms --delay 20ms --tick 1ms --json && keep load_time
}

load_is_stopped() {
	busy --cancel 0 && idle && cp "$work/load" "$work/out" && adds_up "$(field armed)" &&
		[ "$(field stopped)" -eq "$(field armed)" ] && [ "$(field armed)" -gt 0 ]
}

# The wheel, freshly made, has equal counts.
stats_agree() {
	load_and_hold && ctl 0 load --calls --count 500 --delay 50ms || return
	stats_agree_of_load
	status=$?
	let_go && return $status
}

stats_agree_of_load() {
	expired=$(field expired)
	cancelled=$(field cancelled)
	ctl 0 stats u0 &&
		says '^u0-2: hashed wheel, tick 10 ms, 4096 slots, made by account_create' &&
		[ "$(field armed)" -eq 501 ] && [ "$(field pending)" -eq 1 ] &&
		[ "$(field expired)" -eq "$expired" ] && [ "$(bars)" -eq 16 ] && narrow &&
		[ $(($(field cancelled_queued) + $(field cancelled_filed))) -eq "$cancelled" ] &&
		[ "$(awk -F'|' 'NF == 2 { sub(/^#* */, "", $2); sum += $2 } END { print sum }' \
			"$work/out")" -eq "$expired" ] &&
		ctl 0 stats 2 --json && keep stats && ctl 0 stats 2 --openmetrics &&
		cp "$work/out" /results/stats.prom
}

# The worker knows of those that expire, and not of those that were cancelled before it came.
stats_agree_of_mapped_ones() {
	load_and_hold && ctl 0 load --count 500 --delay 50ms || return
	expired=$(field expired)
	ctl 0 stats u0 && [ "$(field mapped_expired)" -eq "$expired" ] &&
		[ "$(field mapped_drained)" -ge "$expired" ] && [ "$(field armed)" -eq 1 ] &&
		[ "$(field mapped_pending)" -eq 0 ]
	status=$?
	let_go && return $status
}

# Nobody tells the kernel that a mapped timeout is armed.
takes_but_arms_none() {
	awk '/^p[0-9]+-/ { n++; bad = $3 != 0 || $4 == 0 } END { exit bad || n != 1 }' "$work/out" &&
		return
	diagnose "$(cat "$work/out")"
	return 1
}

top_is_plain() {
	await only_system_wheel && busy --tick 5ms || return
	ctl 0 top --once --interval 500ms && narrow && says '^all wheels ' && says '^system-1 ' &&
		says '^WHEEL +PENDING +ARM/s +TAKE/s' && [ "$(bars)" -eq 16 ] && takes_but_arms_none &&
		! grep -q "$(printf '\033')" "$work/out" &&
		ctl 0 top --json --count 2 --interval 200ms && keep top &&
		ctl 0 top system --once --interval 100ms && says '^system-1 ' && ! grep -q 'all wheels' "$work/out"
	status=$?
	idle && return $status
}

hints() {
	ctl 0 top --once --interval 500ms && narrow &&
		grep -A 1 ' makes [0-9]*[kM]* moves a second .* turn (4 ms):$' "$work/out" |
			grep -q 'levels make these rare'
}

# Four slots make a turn of 4 ms, and load's delays are a second and more. Refreshed timeouts are
# moved as well, but not for their delays.
top_tells_of_far_ones() {
	busy --calls --rate 2000 --delay 2s --cancel 0 --tick 1ms --slots 4 || return
	await hints
	status=$?
	idle && [ $status -eq 0 ] || return
	busy --calls --rate 4000 --delay 400ms --refresh 100 --cancel 0 --tick 1ms --slots 1024 ||
		return
	ctl 0 top --once --interval 1s && ! grep -q ' moves ' "$work/out"
	status=$?
	idle && return $status
}

# step COMMAND: as the help has it, with its arguments
step() {
	sed -n "s/^  sudo \(hwheelctl $1\( [-a-z0-9 ]*[a-z0-9]\)*\)  .*/\1/p" "$work/help"
}

# shown COMMAND: runs it as the help shows it
shown() {
	# shellcheck disable=SC2046 # words
	ctl 0 $(step "$1" | cut -d ' ' -f 2-)
}

two_were_watched() {
	[ "$(grep -c ' expired ' "$work/watched")" -eq 2 ]
}

# The step "watch" sees two timeouts expire.
watch_as_shown() {
	local watch status

	rm -f "$work/watch_err"
	# shellcheck disable=SC2046 # words
	timeout 60 ./$(step watch) >"$work/watched" 2>"$work/watch_err" &
	watch=$!
	await grep -qs watching "$work/watch_err" && shown arm &&
		[ "$(grep -c ' expired ' "$work/out")" -eq 2 ] && await two_were_watched
	status=$?
	kill $watch && wait $watch && return $status
}

# The step "top" sees the load.
load_as_shown() {
	local top status

	# shellcheck disable=SC2046 # words
	./$(step top) >"$work/topped" &
	top=$!
	shown load && says '^ +p99 +[0-9]'
	status=$?
	kill $top
	wait $top
	[ $status -eq 0 ] && shows "$work/topped" '^u0-[0-9]+ +[1-9][0-9]* +0 +[1-9]'
}

# The steps of the help, one after the other, lead to a wheel's histogram. On a busy machine the
# wheel, which goes a second after its last timeout, would be gone before the last step.
help_is_enough() {
	ctl 0 --help && cp "$work/out" "$work/help" && quietly unload && quietly load &&
		watch_as_shown || return
	./hwheelctl arm 1h >/dev/null 2>&1 &
	holder=$!
	load_as_shown && shown stats && says '^ +[<>]=? [0-9/]+ \|#'
	status=$?
	kill $holder
	wait $holder
	return $status
}

begin
quietly load
report "the help shows the way" help_leads
report "each command's help has examples" each_has_examples
report "the steps that it shows are right" help_is_enough
report "help is a command" help_is_a_command
report "hwheelctl alone shows the state" alone_it_shows_the_state
report "hwheelctl and module have the same version" versions_agree
report "wrong usage is 2" usage_is_2
report "durations are read as people write them" durations_are_read
report "what is no duration is refused" durations_are_refused
report "numbers are read as people write them" numbers_are_read
report "a message about what is no number names the option" numbers_are_refused
report "a module that is not loaded is 3, and how to load it" not_loaded_is_3
report "a wheel in the process where the module is not" a_wheel_in_the_process
report "a lack of permission is 4, and what to do" not_permitted_is_4
report "what is to be done helps" chgrp_helps
report "membership in the group of the device helps" usermod_helps
report "a container without the device is told" no_device_here
report "limits have names" limits_have_names
report "the range of what is out of range is told" ranges_are_told
report "what is not mounted, and how to mount it" mount_helps
report "what there is not" no_such_wheel
report "a full disk is 1" a_full_disk_is_1
report "info" info_tells
report "arm waits for all" arm_waits_for_all
report "arm with a tick of its own" arm_has_a_tick
report "list" list_shows_wheels
report "load on each kind of wheel" each_kind
report "watch sees the life of a timeout" watch_sees_a_life
report "watch sees what was chosen" watch_chooses
report "watch filters by process and wheel" watch_filters
report "watch knows ids and cookies of mapped timeouts" watch_knows_mapped_ones
report "watch trusts no name" watch_trusts_no_name
report "watch needs the tracepoints that it reads" watch_needs_its_tracepoints
report "watch ends while there is more" watch_ends_while_there_is_more
report "watch leaves nothing behind" watch_leaves_nothing
report "load adds up" load_adds_up
report "load with threads" load_has_threads
report "load with more threads than timeouts" load_has_idle_threads
report "load with little room" load_waits_for_room
report "load for some time" load_has_an_end
report "load that is stopped" load_is_stopped
report "stats agree" stats_agree
report "stats agree of mapped timeouts" stats_agree_of_mapped_ones
report "top as text" top_is_plain
report "top tells of delays beyond a turn" top_tells_of_far_ones
quietly unload
end
