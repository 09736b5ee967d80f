#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
#
# hwheelctl top in a terminal, which is tmux's: what it shows, and that the terminal is left
# as it was found. Run as root where nobody else uses hwheel; needs hwheel.ko and hwheelctl
# beside it. Leaves /results/top.txt. Prints TAP.

cd "$(dirname "$0")" || exit 1
# shellcheck source=selftests/harness/common.sh
. ./common.sh

tmux() {
	command tmux -L hwheel -f /dev/null "$@"
}

keys() {
	tmux send-keys "$@"
}

screen() {
	tmux capture-pane -p
}

shows() {
	screen | grep -qE -- "$1"
}

hides() {
	! shows "$1"
}

# flag NAME: of the terminal
flag() {
	tmux display-message -p "#{$1}"
}

flag_is() {
	[ "$(flag "$1")" = "$2" ]
}

# A shell in the terminal says when it is there; what it prints is not what was typed.
open_terminal() {
	tmux new-session -d -x 80 -y 24 "sh" && tmux set-option -g window-size manual || return
	keys 'PS1=; clear; echo ready' Enter
	await shows '^ready$' && settings before
}

# settings NAME: those of the terminal, once the shell has them back
settings() {
	rm -f "$work/$1"
	keys "stty -g >$work/$1.new && mv $work/$1.new $work/$1" Enter
	await test -s "$work/$1"
}

start_top() {
	keys "./hwheelctl top --interval 200ms $1; echo over=\$?" Enter
	await shows '^WHEEL +PENDING'
}

# top_has_ended STATUS
top_has_ended() {
	await shows "^over=$1\$" && flag_is alternate_on 0 && flag_is cursor_flag 1 &&
		settings after && cmp "$work/before" "$work/after" && return
	diagnose "$(screen)"
	return 1
}

pid_of_top() {
	pidof hwheelctl | tr ' ' '\n' | while read -r pid; do
		tr '\0' ' ' <"/proc/$pid/cmdline" | grep -q ' top ' && echo "$pid"
	done
}

clear_screen() {
	keys 'clear' Enter
	await hides "over="
}

busy() {
	./hwheelctl load --calls --quiet --time 1h --delay 1s --cancel 50 --refresh 20 "$@" \
		>"$work/load" 2>&1 </dev/null &
	load=$!
}

idle() {
	kill "$load" && wait "$load"
}

# Something is armed, and expires, on a wheel, and nothing on the kernel's.
counts() {
	screen | awk '$1 == "all" && $3 > 0 && $4 > 0 && $5 == 0 && $6 > 0 && $7 > 0 && $8 > 0 &&
				$9 > 0 { n++ }
		      $1 == "system-1" && $2 == 0 { n++ }
		      $1 ~ /^p[0-9]+-/ && $3 > 0 { n++ }
		      END { exit n < 3 }'
}

whole_frame() {
	[ "$(screen | grep -c '|')" -eq 16 ] && shows '^ +>= 64 \|' && shows '^hwheelctl top: 2 wheels'
}

shows_what_goes_on() {
	busy --tick 5ms
	start_top && await counts && await whole_frame && flag_is alternate_on 1 &&
		flag_is cursor_flag 0 && screen >/results/top.txt && diagnose "$(screen)" &&
		[ "$(screen | awk '{ if (length($0) > most) most = length($0) } END { print most }')" -le 80 ] &&
		return
	diagnose "$(screen)"
	return 1
}

# resized WIDTH HEIGHT COMMAND...: then that is true, and nothing scrolled away
resized() {
	tmux resize-window -x "$1" -y "$2"
	shift 2
	await "$@" && screen | head -n 1 | grep -q '^hwheelctl top' && return
	diagnose "$(screen)"
	return 1
}

small() {
	[ "$(screen | wc -l)" -eq 10 ] && hides '>= 64' && shows '< 1/2'
}

follows_the_size() {
	resized 80 10 small && resized 120 40 shows '>= 64' && resized 40 24 shows '^ +>= 64 \|' &&
		resized 80 24 whole_frame
}

ends_by_q() {
	keys q
	top_has_ended 0
}

# By signals, the shell sees what it was. 128 and the number
ends_by() {
	clear_screen && start_top "" || return
	if [ "$1" = INT ]; then
		keys C-c
	else
		kill "-$1" "$(pid_of_top)"
	fi
	top_has_ended "$2"
}

# The shell's interrupt would end the list that the command is in.
ends_by_interrupt() {
	clear_screen && keys "./hwheelctl top" Enter && await shows '^WHEEL' && keys C-c &&
		await hides '^WHEEL' && flag_is alternate_on 0 && flag_is cursor_flag 1 &&
		settings after && cmp "$work/before" "$work/after"
}

stopped() {
	grep -q '^State:.T' "/proc/$(pid_of_top)/status"
}

stops_and_goes_on() {
	clear_screen && keys "./hwheelctl top" Enter && await shows '^WHEEL' && keys C-z &&
		await stopped && flag_is alternate_on 0 && settings after &&
		cmp "$work/before" "$work/after" && keys fg Enter && await shows '^WHEEL' &&
		flag_is alternate_on 1 && keys q && await hides '^WHEEL' && flag_is alternate_on 0
}

module_goes_away() {
	clear_screen && idle && start_top "" && await quietly unload && top_has_ended 3 &&
		shows 'modprobe hwheel' && quietly load
}

# top shows the histogram, and that there are more wheels.
sums_up_many() {
	clear_screen && tmux resize-window -x 80 -y 24
	busy --tick 5ms --threads 5
	start_top && await shows '^\.\.\. and 5 more$' && await shows '^hwheelctl top: 6 wheels' &&
		[ "$(screen | grep -c '|')" -eq 16 ] && shows '^ +>= 64 \|' && shows '^all wheels'
	status=$?
	keys q
	idle && top_has_ended 0 && [ $status -eq 0 ] && return
	diagnose "$(screen)"
	return 1
}

# With room for the report below it, and ten seconds for a look at the bar
progress_bar() {
	clear_screen && tmux resize-window -x 80 -y 50
	keys "./hwheelctl load --count 20000 --rate 2000 --delay 100ms; echo over=\$?" Enter
	await shows '^\[#+ +\] +[0-9]+ % +[0-9]+ armed/s' && await shows '^\[#{16}\] 100 %' &&
		await shows '^over=0$' && return
	diagnose "$(screen)"
	return 1
}

begin
quietly load
report "a terminal" open_terminal
report "top shows what goes on" shows_what_goes_on
report "it follows the terminal's size" follows_the_size
report "q ends it, and leaves the terminal as it was" ends_by_q
report "so does SIGTERM" ends_by TERM 143
report "so does SIGHUP" ends_by HUP 129
report "so does Ctrl-C" ends_by_interrupt
report "Ctrl-Z stops it, and leaves the terminal as it was" stops_and_goes_on
report "it says so when the module goes away" module_goes_away
report "it sums up many wheels" sums_up_many
report "load shows a progress bar" progress_bar
tmux kill-server
quietly unload
end
