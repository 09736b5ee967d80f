# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# Matches the beginning of a kernel's complaint: a stack trace, a warning that may lack one, or a
# checker that turns itself off.

# shellcheck disable=SC2034 # for the scripts that read the log
complaints='([a-z]+: )?(BUG: |\[ BUG: |BUG [^ ]+ \(|kernel BUG at |WARNING: |Oops|Kernel panic'
complaints+='|Call Trace:|general protection fault|UBSAN: |KASAN: |KCSAN: '
complaints+='|INFO: (task .* blocked|possible |trying to register|rcu'
complaints+='|.*detected stalls?|.*self-detected)|kmemleak: [0-9]+ new|ODEBUG: Out of memory'
complaints+='|huh, entered softirq|turning off the locking correctness)'
