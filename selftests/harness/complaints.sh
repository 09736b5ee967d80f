# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# What a kernel complains with, as a regular expression for the beginning of what it says:
# a stack trace, or what may have been one, and that one of those who look gives up.

# shellcheck disable=SC2034 # for who reads the log
complaints='([a-z]+: )?(BUG: |\[ BUG: |BUG [^ ]+ \(|kernel BUG at |WARNING: |Oops|Kernel panic'
complaints+='|Call Trace:|general protection fault|UBSAN: |KASAN: |KCSAN: '
complaints+='|INFO: (task .* blocked|possible |trying to register|rcu'
complaints+='|.*detected stalls?|.*self-detected)|kmemleak: [0-9]+ new|ODEBUG: Out of memory'
complaints+='|huh, entered softirq|turning off the locking correctness)'
