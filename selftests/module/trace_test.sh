#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
#
# Tracepoints: that they are there, and tell what happens. Run as root where nobody else
# uses hwheel or tracing; needs hwheel.ko, client, mapped_life, populate and common.sh beside it.
# Prints TAP.

cd "$(dirname "$0")" || exit 1
# shellcheck source=selftests/harness/common.sh
. ./common.sh

tracefs=/sys/kernel/tracing
events=$tracefs/events/hwheel
names="drain file_arm file_cancel file_expire file_refresh file_stop mapped_act mapped_end timeout_arm
       timeout_cancel timeout_expire_entry timeout_expire_exit timeout_refresh worker_sleep
       worker_throttled worker_wake"

# Here, or where older systems have it
find_tracefs() {
	[ -e $tracefs/trace ] || mount -t tracefs tracefs $tracefs 2>/dev/null
	[ -e $tracefs/trace ]
}

all_there() {
	[ "$(for event in "$events"/*/; do basename "$event"; done | sort | xargs)" = \
	  "$(echo "$names" | xargs)" ] && return
	diagnose "$(ls $events)"
	return 1
}

# perf, trace-cmd and bpftrace read these; strings would have to be copied and measured.
formats_are_plain() {
	for event in $names; do
		grep -q '^print fmt: "wheel=%p' "$events/$event/format" &&
			! grep -qE '__data_loc|__rel_loc|__get_str' "$events/$event/format" &&
			continue
		diagnose "$(cat "$events/$event/format")"
		return 1
	done
}

# Room for all, in one order, and with addresses that tell timeouts apart
set_up() {
	echo nop >$tracefs/current_tracer &&
		echo 8192 >$tracefs/buffer_size_kb &&
		echo counter >$tracefs/trace_clock &&
		echo 0 >$tracefs/options/hash-ptr &&
		echo 0 >$events/enable &&
		echo >$tracefs/trace &&
		echo 1 >$tracefs/tracing_on
}

# Something for each event
use() {
	quietly ./client load && quietly ./mapped_life
}

# Prints the recorded events as lines "EVENT: FIELD=VALUE..."
recorded() {
	grep -v '^#' $tracefs/trace | sed 's/^.* [0-9]*: \([a-z_]*: wheel=\)/\1/'
}

nothing_was_lost() {
	lost=$(cat $tracefs/per_cpu/cpu*/stats | grep -E '^(overrun|dropped events): [^0]')
	[ -z "$lost" ] && return
	diagnose "$lost"
	return 1
}

# value NAME: of the statistics when the worker was at rest
value() {
	sed -n "s/^$1 //p" "$work/statistics"
}

# The worker is at rest when its last word was that it sleeps until it is woken.
at_rest() {
	recorded | tail -n 1 | grep -q "^worker_sleep: .*deep=1"
}

# A work item makes the file.
default_is_shown() {
	ls /sys/kernel/debug/hwheel/u0-* >/dev/null 2>&1
}

# The wheel is there before, and nobody uses it before the first event nor after the last.
record_count() {
	await only_system_wheel || return
	exec 3<>/dev/hwheel
	quietly ./client keep <&3 && set_up && echo 1 >$events/enable || return
	quietly ./client count <&3
	status=$?
	await default_is_shown
	await at_rest || status=1
	recorded >"$work/trace"
	cp /sys/kernel/debug/hwheel/u0-* "$work/statistics" || status=1
	exec 3<&-
	echo 0 >$events/enable
	[ $status -eq 0 ] && nothing_was_lost || return
	cp "$work/output" "$work/expected"
	diagnose "$(cut -d: -f1 "$work/trace" | sort | uniq -c)"
}

# expected NAME: what client says to have done
expected() {
	sed -n "s/^$1 //p" "$work/expected"
}

# recorded_times TIMES PATTERN
recorded_times() {
	[ "$(grep -cE "$2" "$work/trace")" -eq "$1" ] && return
	diagnose "$(grep -cE "$2" "$work/trace") of $2, not $1"
	return 1
}

counts_match() {
	recorded_times "$(expected armed)" '^timeout_arm: wheel=[0-9a-f]+ timeout=[0-9a-f]+ deadline=[0-9]+$' &&
		recorded_times "$(expected cancelled)" '^timeout_cancel: .* queued=[01]$' &&
		recorded_times "$(expected refreshed_later)" '^timeout_refresh: .* earlier=0$' &&
		recorded_times "$(expected refreshed_earlier)" '^timeout_refresh: .* earlier=1$' &&
		recorded_times "$(expected expired)" '^timeout_expire_entry: ' &&
		recorded_times "$(expected expired)" '^timeout_expire_exit: '
}

# The process that has opened the file is this one, not the one that uses it.
files_match() {
	of_file="wheel_id=[0-9]+ owner=$$ id=[1-9][0-9]* cookie=[0-9]+ deadline=[0-9]+$"
	refreshed=$(($(expected refreshed_later) + $(expected refreshed_earlier)))
	recorded_times "$(expected armed)" "^file_arm: wheel=[0-9a-f]+ $of_file" &&
		recorded_times "$(expected cancelled)" "^file_cancel: .* $of_file" &&
		recorded_times "$refreshed" "^file_refresh: .* $of_file" &&
		recorded_times "$(expected expired)" "^file_expire: .* $of_file"
}

callback_is_named() {
	recorded_times "$(expected expired)" 'function=entry_expire( \[hwheel\])? deadline='
}

# The statistics were 0 before.
statistics_agree() {
	drained=$(awk '/^drain: / { sub(/.*timeouts=/, ""); sum += $0 } END { print sum + 0 }' \
		"$work/trace")
	queued=$(grep -c '^timeout_cancel: .*queued=1' "$work/trace")
	[ "$drained" -gt 0 ] && [ "$drained" -eq "$(value drained)" ] &&
		[ "$queued" -eq "$(value cancelled_queued)" ] &&
		[ "$(value expired)" -eq "$(grep -c '^timeout_expire_entry' "$work/trace")" ] &&
		[ "$(value armed)" -eq "$(grep -c '^timeout_arm' "$work/trace")" ] && return
	diagnose "drained $drained queued $queued: $(cat "$work/statistics")"
	return 1
}

# The wheel is one, an exit follows its entry, a timeout expires with the deadline that it
# got last, and each pass of the worker wakes, drains, expires and perhaps sleeps, at later and later
# edges. awk compares text: with an e among its digits, an address looks like a number beyond all.
lifes_make_sense() {
	awk '
		function bad(what) { print what ": " $0; wrong = 1; exit }
		{ for (i = 2; i <= NF; i++) { split($i, pair, "="); f[pair[1]] = pair[2] } }
		!wheel { wheel = f["wheel"] "" }
		f["wheel"] != wheel { bad("another wheel") }
		inside && $1 != "timeout_expire_exit:" && $1 !~ /^timeout_(arm|refresh|cancel):|^file_/ {
			bad("in a callback")
		}
		$1 == "timeout_arm:" {
			if (f["timeout"] in deadline) bad("armed while pending")
			deadline[f["timeout"]] = f["deadline"] ""
		}
		$1 == "timeout_refresh:" {
			if (!(f["timeout"] in deadline)) bad("not pending")
			deadline[f["timeout"]] = f["deadline"] ""
		}
		$1 == "timeout_cancel:" {
			if (!(f["timeout"] in deadline)) bad("not pending")
			delete deadline[f["timeout"]]
		}
		$1 == "timeout_expire_entry:" {
			if (deadline[f["timeout"]] != f["deadline"]) bad("deadline")
			if (state != "drain") bad("expired in no pass")
			delete deadline[f["timeout"]]
			inside = f["timeout"] ""
		}
		$1 == "timeout_expire_exit:" {
			if (inside != f["timeout"]) bad("no entry")
			inside = ""
		}
		$1 == "worker_wake:" {
			if (state != "" && state != "sleep" && state != "drain") bad("order")
			if (f["edge"] + 0 < edge + 0) bad("back in time")
			edge = f["edge"]
			if (!passes) first = edge
			state = "wake"
			passes++
		}
		$1 == "drain:" {
			if (state != "wake") bad("order")
			state = "drain"
		}
		$1 == "worker_sleep:" {
			if (state != "drain") bad("order")
			state = "sleep"
		}
		END { if (wrong || edge + 0 <= first + 0) exit 1 }
	' "$work/trace" >"$work/output" && return
	diagnose "$(cat "$work/output")"
	return 1
}

# Nobody but mapped_life.c has mapped timeouts: it arms 120, cancels 50, lets 20 expire and stops
# the others.
record_mapped() {
	set_up && echo 1 >$events/enable && quietly ./mapped_life
	status=$?
	echo 0 >$events/enable
	recorded >"$work/trace"
	[ $status -eq 0 ] && nothing_was_lost
}

mapped_counts_match() {
	place='mapping=[0-9a-f]+ index=[0-9]+'
	rest='wheel_id=[0-9]+ owner=[0-9]+ generation=[0-9]+ cookie=[0-9]+'
	recorded_times 140 "^mapped_act: wheel=[0-9a-f]+ $place state=0 deadline=[0-9]+ $rest$" &&
		recorded_times 50 "^mapped_act: .* state=2 deadline=[0-9]+ $rest$" &&
		recorded_times 190 '^mapped_act: ' &&
		recorded_times 20 "^mapped_end: wheel=[0-9a-f]+ $place deadline=[0-9]+ stopped=0 $rest$" &&
		recorded_times 50 "^mapped_end: .* stopped=1 $rest$"
}

# STOP ends the 20 of the one file; populate has another file.
stops_match() {
	set_up && echo 1 >$events/file_stop/enable && quietly ./populate stop 20
	status=$?
	echo 0 >$events/file_stop/enable
	recorded >"$work/trace"
	stopped=$(grep -cE "^file_stop: .* id=[1-9][0-9]* cookie=[0-9]+ " "$work/trace")
	[ $status -eq 0 ] && [ "$stopped" -ge 20 ] && return
	diagnose "$stopped stopped"
	return 1
}

# only EVENT: enabled alone it is recorded, and nothing else
only() {
	set_up && echo 1 >"$events/$1/enable" && use || return
	recorded >"$work/trace"
	echo 0 >"$events/$1/enable"
	[ "$(cut -d: -f1 "$work/trace" | sort -u)" = "$1" ] && return
	diagnose "$(cut -d: -f1 "$work/trace" | sort | uniq -c)"
	return 1
}

# Root's workers are not held back. Load goes on until an account that has a hundredth of a CPU has
# used up its burst.
throttled() {
	quietly ./client foreign &&
		recorded | grep -qE '^worker_throttled: wheel=[0-9a-f]+ wheel_id=[0-9]+ ns=[1-9][0-9]*$'
}

throttled_alone() {
	quietly unload && quietly load worker_percent=1 && set_up && chmod 666 /dev/hwheel || return
	echo 1 >$events/worker_throttled/enable
	await throttled
	status=$?
	echo 0 >$events/worker_throttled/enable
	quietly unload && quietly load && return $status
}

disabled() {
	set_up && use && [ -z "$(recorded)" ]
}

# Recorded events stay when the module goes, and unloading it while tracing is on does no harm.
unloaded_while_tracing() {
	set_up && echo 1 >$events/enable && use && quietly unload &&
		[ ! -e $events ] && quietly load && [ -e $events/timeout_arm/format ]
}

begin
quietly load
if find_tracefs; then
	report "there are sixteen events" all_there
	report "their formats are plain" formats_are_plain
	report "all of them are recorded" record_count
	report "as often as it happened" counts_match
	report "files tell the ids, and whose they are" files_match
	report "the callback is named" callback_is_named
	report "statistics agree" statistics_agree
	report "each life of a timeout makes sense" lifes_make_sense
	report "mapped timeouts are recorded" record_mapped
	report "as often as they changed" mapped_counts_match
	report "files tell what STOP ends" stops_match
	for event in $names; do
		[ "$event" = worker_throttled ] || report "$event alone" only "$event"
	done
	report "worker_throttled alone" throttled_alone
	report "nothing is recorded when they are disabled" disabled
	report "the module is unloaded while they are enabled" unloaded_while_tracing
else
	skip "tracepoints" "this kernel has no tracefs"
fi
quietly unload
end
