# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
#
# Counts the kernel's objects and pages, for tests that look for leaks. Needs common.sh.
: "${work:?}"

group=

# Where cgroups are, if those count memory. The mount stays.
find_hierarchy() {
	root=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/mounts)
	if [ -z "$root" ]; then
		root=/sys/fs/cgroup
		mount -t cgroup2 none $root 2>"$work/mount" || return
	fi
	grep -qw memory "$root/cgroup.controllers" &&
		echo +memory >"$root/cgroup.subtree_control"
}

# Prints how many of the kernel's pages that a group is charged for have no figure of their own: those
# of timeouts, two or so of each process, and what is not known exactly. smaps has the size of a page;
# where it has not, that is 4 KiB.
pages_of() {
	cat /proc/self/smaps "$1/memory.stat" 2>"$work/pages" | awk '
		BEGIN { page = 4096 }
		$1 == "KernelPageSize:" { page = 1024 * $2 }
		$1 == "kernel" { n += $2 }
		/^(slab|kernel_stack|pagetables|percpu|vmalloc) / { n -= $2 }
		END { print int(n / page) }'
}

# The kernel sums up every 2 s what groups are charged.
count_pages() {
	let_go
	echo "pages $(pages_of "$group")"
}

# From now on this shell and its children are in a cgroup of their own, if there is a hierarchy.
enter_group() {
	find_hierarchy || return
	group=$root/hwheel_count
	mkdir "$group" && trap leave_group EXIT && echo $$ >"$group/cgroup.procs"
}

leave_group() {
	trap - EXIT
	echo $$ >"$root/cgroup.procs" && rmdir "$group"
	group=
}

# Where the objects of what the module uses come from
find_caches() {
	for cache in /sys/kernel/slab/kmalloc-* /sys/kernel/slab/task_struct; do
		readlink -f "$cache"
	done | sort -u >"$work/caches"
}

# A slab that a CPU allocates from counts as full. So the cache is shrunk right
# before it is read, with no process started and no file opened in between, and as
# reading allocates too, the least of some readings counts.
objects_in() {
	least=
	for _ in 1 2 3 4 5; do
		exec 8>"$1/shrink" 9<"$1/objects"
		echo 1 >&8
		read -r objects _ <&9
		if [ -z "$least" ] || [ "$objects" -lt "$least" ]; then
			least=$objects
		fi
	done
	exec 8>&- 9<&-
}

# Prints "CACHE OBJECTS" for these caches, and the number of mapped regions, without
# those that are free but not purged yet.
count_objects() {
	while read -r cache; do
		[ -d "$cache" ] || continue
		objects_in "$cache"
		echo "${cache##*/} $least"
	done <"$work/caches"
	echo "vmalloc $(grep -vc unpurged /proc/vmallocinfo)"
}

# grown LEAST [FROM TO]: caches that grew by at least so many between two counts
grown() {
	awk -v least="$1" '
		NR == FNR { before[$1] = $2; next }
		$2 - before[$1] >= least { print $1, before[$1], "->", $2 }
	' "$work/${2:-before}" "$work/${3:-after}"
}

# Lowers what was counted to what is counted now.
count_again() {
	"count_$kind" >"$work/now"
	awk '
		NR == FNR { now[$1] = $2; next }
		{ print $1, $1 in now && now[$1] < $2 ? now[$1] : $2 }
	' "$work/now" "$work/after" >"$work/least"
	mv "$work/least" "$work/after"
}

# Counting opens files, and what the kernel allocates for these is freed in batches, every
# 5 s, unless memory is short: a count is worth little while those of another are still there.
let_go() {
	echo 2 >/proc/sys/vm/drop_caches
	sleep 3
}

# How much more there is after so many rounds, in $work/before and $work/after
count_rounds() {
	"count_$kind" >"$work/before"
	repeat "$rounds" "$@" || return
	"count_$kind" >"$work/after"
	for _ in 1 2 3; do
		[ -n "$(grown $((rounds / 2)))" ] || break
		let_go
		count_again
	done
}

# Prints the names in the last count.
all_counted() {
	cut -d' ' -f1 "$work/after"
}

# also_grown LEAST [FROM TO]: prints those of $leaking that have grown by that, too.
also_grown() {
	{ echo "$leaking"; grown "$@" | cut -d' ' -f1; } | sort | uniq -d
}

# leaks_no objects|pages ROUNDS COMMAND...: what leaks once a round adds up to one a round, and
# what leaks with each file or timeout to more. What the kernel keeps for itself (a stack of
# a thread that has exited, objects to be freed after a grace period, a slab of a CPU, its sheaf of
# freed objects) comes and goes, and does not grow with the rounds: half an object a round is the
# tolerance. A leak stays a little later, grows as much again each time, and is still there when
# the next rounds begin: two caches that grow one after the other have none. The first rounds only
# warm up.
leaks_no() {
	kind=$1 rounds=$2 leaking=
	shift 2
	repeat 5 "$@" || return
	let_go
	for _ in 1 2 3; do
		count_rounds "$@" || return
		[ -n "$leaking" ] || { cp "$work/before" "$work/first" && leaking=$(all_counted); }
		leaking=$(also_grown $((rounds / 2)))
		diagnose "grown by one or more: $(grown 1 | tr '\n' ';')"
		[ -n "$leaking" ] || break
	done
	[ -z "$leaking" ] || leaking=$(also_grown "$rounds" first before)
	diagnose "compared: $(all_counted | tr '\n' ' ')"
	[ -z "$leaking" ]
}

# Few caches prove nothing.
leaks_no_objects_in() {
	leaks_no objects "$@" && [ "$(all_counted | wc -l)" -gt 20 ]
}

# report_leaks NAME COMMAND...: one test that takes many rounds. A kernel with kmemleak or KCSAN takes
# long for them. kmemleak finds more leaks at the end of a run than rounds do, and KCSAN finds no more
# races in them.
report_leaks() {
	if [ -e /sys/kernel/debug/kmemleak ]; then
		skip "$1" "kmemleak looks for leaks here"
	elif [ -e /sys/kernel/debug/kcsan ]; then
		skip "$1" "kernels without KCSAN count objects"
	else
		report "$@"
	fi
}

# leaks_nothing_in ROUNDS COMMAND...: neither objects nor pages. In a group there are more
# objects, that tell whose the others are, and come and go with these.
leaks_nothing_in() {
	leaks_no_objects_in "$@" || return
	if [ -n "$group" ]; then
		leaks_no pages "$@"
	elif enter_group; then
		leaks_no pages "$@"
		leak=$?
		leave_group
		return $leak
	else
		diagnose "no pages are counted: no cgroup v2 with memory here"
	fi
}
