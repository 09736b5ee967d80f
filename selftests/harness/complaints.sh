# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# Complaints of kernels, and how to leave out data races of others. The expression matches the
# beginning of a complaint: a stack trace, a warning that may lack one, or a checker that turns itself
# off.

# shellcheck disable=SC2034 # for the scripts that read the log
complaints='([a-z]+: )?(BUG: |\[ BUG: |BUG [^ ]+ \(|kernel BUG at |WARNING: |Oops|Kernel panic'
complaints+='|Call Trace:|general protection fault|UBSAN: |KASAN: |KCSAN: '
complaints+='|INFO: (task .* blocked|possible |trying to register|rcu'
complaints+='|.*detected stalls?|.*self-detected)|kmemleak: [0-9]+ new|ODEBUG: Out of memory'
complaints+='|huh, entered softirq|turning off the locking correctness)'

# Known races of the kernel with itself. A sleeper reads a pointer that its timer sets, and only
# compares it with NULL. A reader of the clock reads what the tick may be changing, and then looks
# whether it has. A kworker reads from the word of a work item whether another item is linked to it,
# whether the item was inactive, or its color, while queue_work_on() sets a bit of that word that is
# set already.
known_races=(
	'data-race in hrtimer_wakeup / schedule_hrtimeout_range'
	'data-race in ktime_get_mono_fast_ns'
	'data-race in move_linked_works / queue_work_on'
	'data-race in __pwq_activate_work / queue_work_on'
	'data-race in process_scheduled_works / queue_work_on'
)

# without_races_of_others TEXT: blanks out the titles of KCSAN's reports that are not about it: of the
# two innermost frames of each stack, the function with the access and its caller, none has that in
# it. Further out stand callers that asked the kernel for something, and the code that an interrupt
# came upon; behind the stacks, from "Reported by" on, stands the task's work item. A report ends with
# a rule; in one that has none, all that follows up to the next one is taken to be its own, and
# anything that is named there counts.
without_races_of_others() {
	awk -v races="$1" -v known="$(IFS='|'; echo "${known_races[*]}")" '
		function flush(ours) {
			if (!inside)
				return
			print ours && title !~ known ? title : ""
			for (i = 0; i < nr; i++)
				print lines[i]
			inside = 0
		}
		/BUG: KCSAN/ {
			flush(named)
			inside = 1
			title = $0
			nr = depth = 0
			named = raced = index($0, races)
			next
		}
		!inside { print; next }
		{ lines[nr++] = $0 }
		/ by (task|interrupt) |reordered to/ { depth = 0 }
		/Reported by / { depth = 3 }
		/[+]0x[0-9a-f]+[/]0x/ { depth++ }
		index($0, races) { named = 1; raced = raced || depth <= 2 }
		/==========/ { flush(raced) }
		END { flush(named) }
	'
}
