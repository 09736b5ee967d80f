# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash disable=SC2016
#
# Sourced by the scripts of this folder: files of a kernel tree that make kunit may have used, which
# leaves a line of hwheel's in two of them.

# ungrafted FILE: prints it without them. $(HWHEEL_JOB) is make's.
ungrafted() {
	sed '/drivers\/misc\/hwheel/d; /hwheel\$(HWHEEL_JOB)/d' "$1"
}
