// SPDX-License-Identifier: GPL-2.0-only

package vminfo

// pseudo.h has this call, so syzkaller need not find out whether the kernel has it.
func init() {
	linuxSyscallChecks["syz_hwheel_time"] = alwaysSupported
}
