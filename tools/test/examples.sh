# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
#
# Each example is run, and does what it says, wherever its wheel is. A test sources this file in the
# folder that has the examples; it needs common.sh, the folder $work, nc and a network of its own.

first_program() {
	./first >"${work:?}/out" && grep -qE '^cookie 42, [0-9]+ ns after its deadline$' "$work/out"
}

# heard WHAT TIMES
heard() {
	[ "$(grep -c "$1" "$work/heartbeat")" -eq "$2" ]
}

# connection N: the server's name for the Nth one
connection() {
	sed -n 's/: connected$//p' "$work/heartbeat" | sed -n "$1p"
}

# connect FIFO: what comes through it is sent
connect() {
	mkfifo "$1"
	nc 127.0.0.1 7007 <"$1" >/dev/null &
}

beat_until_timeout() {
	for _ in $(seq 200); do
		echo beat >&5
		heard 'timed out' 1 && return
		sleep 0.1
	done
	return 1
}

# start_heartbeat MILLISECONDS: the server, and a first client, which beats through descriptor 5
start_heartbeat() {
	rm -f "$work/heartbeat" "$work/beats" "$work/silence"
	./heartbeat 7007 "$1" >"$work/heartbeat" 2>&1 &
	server=$!
	await grep -qs ready "$work/heartbeat" || return
	connect "$work/beats"
	beater=$!
	exec 5>"$work/beats"
}

# One client beats, one is silent, one hangs up. The silent one is closed although the other
# has been there for longer.
heartbeat_once() {
	start_heartbeat 5000 || return
	await heard connected 1 || return
	connect "$work/silence"
	silent=$!
	exec 6>"$work/silence"
	await heard connected 2 || return
	echo bye | nc 127.0.0.1 7007 >/dev/null
	await heard 'hung up' 1 && beat_until_timeout &&
		grep -q "^$(connection 2): timed out$" "$work/heartbeat" && exec 5>&- &&
		await heard "^$(connection 1): hung up$" 1
	status=$?
	exec 5>&- 6>&-
	kill $server "$beater" $silent 2>/dev/null
	wait $server "$beater" $silent 2>/dev/null
	diagnose "$(cat "$work/heartbeat")"
	return $status
}

# Should the machine stand still for as long as the timeout, the one that beats is closed,
# too; if refreshes did nothing it would be each time.
heartbeat_server() {
	for attempt in 1 2 3; do
		heartbeat_once && return
		diagnose "that was attempt $attempt"
	done
	return 1
}

# ten_thousand_once SERVER MILLISECONDS: on a machine that stands still for so long, clients that
# speak are closed, too.
ten_thousand_once() {
	rm -f "$work/server"
	ulimit -n 20000
	"$1" 7008 "$2" >"$work/server" 2>&1 &
	server=$!
	await grep -qs ready "$work/server" &&
		./many_clients 7008 10000 >"$work/clients" 2>&1 &&
		grep -q '^10000 connected, 1000 hung up, 8000 silent ones closed, 1000 spoke, 0 wrong$' \
			"$work/clients" && await grep -q '^open 0, ' "$work/server" &&
		grep -q ' hung up 2000, timed out 8000$' "$work/server"
	status=$?
	kill $server
	wait $server 2>/dev/null
	[ $status -eq 0 ] || diagnose "$(cat "$work/server" "$work/clients")"
	return $status
}

# ten_thousand SERVER
ten_thousand() {
	for idle in 10000 40000 160000; do
		ten_thousand_once "$1" $idle && return
		diagnose "that was with $idle ms"
	done
	return 1
}

# The even ones are answered, those in time that have not expired half-way.
libuv_loop() {
	./libuv 1000 400 >"$work/out" &&
		awk '$2 == "answered," && $4 == "expired," && $5 == 1000 {
			good = $1 > 0 && $1 <= 500 && $1 + $3 == 1000
		     } END { exit !good }' "$work/out" && return
	diagnose "$(cat "$work/out")"
	return 1
}

# Three in any 100 ms, in the order of their delays, and none before its own.
delay_queue() {
	start=$(awk '{ printf "%d", $1 * 1000 }' /proc/uptime)
	for n in 200 0 100 50 150 300 250; do
		for _ in 1 2 3; do
			echo "$n $n"
		done
	done | ./delay_queue 3 100 >"$work/out" &&
		awk -v start="$start" '
			{ at[NR] = $1 }
			$1 < (start + $2) * 1000000 { print "# too soon: " $0; exit 1 }
			$2 < last { print "# out of order: " $0; exit 1 }
			NR > 3 && at[NR] - at[NR - 3] < 100000000 { print "# too many: " $0; exit 1 }
			{ last = $2 }
			END { if (NR != 21) exit 1 }' "$work/out" && return
	diagnose "$(cat "$work/out")"
	return 1
}

# Attempts count in a file; the third one succeeds.
retry_queue() {
	cat >"$work/job" <<-EOF
		echo x >>$work/attempts
		[ \$(wc -l <$work/attempts) -ge 3 ]
	EOF
	./retry "sh $work/job" false true >"$work/out"
	[ $? -eq 1 ] && [ "$(wc -l <"$work/attempts")" -eq 3 ] &&
		grep -q "^true: done, attempt 1$" "$work/out" &&
		grep -q "^sh $work/job: attempt 1 failed, next in 100 ms$" "$work/out" &&
		grep -q "^sh $work/job: attempt 2 failed, next in 200 ms$" "$work/out" &&
		grep -q "^sh $work/job: done, attempt 3$" "$work/out" &&
		grep -q "^false: attempt 4 failed, next in 800 ms$" "$work/out" &&
		grep -q "^false: given up after 5 attempts$" "$work/out" && return
	diagnose "$(cat "$work/out")"
	return 1
}

# Each line is as far from the third one before it as the interval, at least.
rate_limit() {
	seq 20 | ./rate_limit 3 100 >"$work/out" &&
		awk '{ at[NR] = $1; if ($2 != NR) exit 1 }
		     NR > 3 && at[NR] - at[NR - 3] < 100000000 { print "# too soon: " $0; exit 1 }
		     END { if (NR != 20) exit 1 }' "$work/out" && return
	diagnose "$(cat "$work/out")"
	return 1
}

# The line is there before the program is, and the input stays open.
wheel_inside() {
	mkfifo "$work/input" && exec 7<>"$work/input" && echo line >&7 || return
	./local 200 <&7 >"$work/out"
	status=$?
	exec 7>&-
	[ $status -eq 0 ] && printf 'line\nidle\n' | cmp -s - "$work/out" && return
	diagnose "$(cat "$work/out")"
	return 1
}

uring_loop() {
	./io_uring 50 4 20 >"$work/out" && grep -q '^50 chains, 200 steps$' "$work/out" && return
	diagnose "$(cat "$work/out")"
	return 1
}

report_examples() {
	report "first" first_program
	report "heartbeat" heartbeat_server
	report "idle_server with 10,000 connections" ten_thousand ./idle_server
	if [ -x libuv ]; then
		report "libuv" libuv_loop
		report "uv_server with 10,000 connections" ten_thousand ./uv_server
	else
		skip "libuv" "this machine has no libuv"
		skip "uv_server with 10,000 connections" "this machine has no libuv"
	fi
	report "delay_queue" delay_queue
	report "retry" retry_queue
	report "rate_limit" rate_limit
	report "io_uring" uring_loop
	report "local" wheel_inside
}
