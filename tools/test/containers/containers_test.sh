#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
#
# What doc/containers.md says, in Debian's podman, without systemd. Needs hwheel.ko, hwheelctl and
# contained beside it. Leaves /results/containers_test.tap.

cd "$(dirname "$0")" || exit 1
# shellcheck source=selftests/harness/common.sh
. ./common.sh

gid=900		# of the group hwheel, on this machine
joe=1000	# a user who is a member
some=100000	# timeouts, of 128 bytes each, mapped ones of 72 and more
endless=100000000	# of them: more than this machine has memory for
limit=32m	# of a container's memory

# The files of a container, which needs no image: two programs, and busybox
make_container() {
	mkdir -p /c/bin /c/dev /c/etc /c/proc /c/run /c/sys /c/tmp
	cp hwheelctl contained /bin/busybox /c/bin
	for name in dd grep ls sh sleep; do
		ln -s busybox "/c/bin/$name"
	done
	echo root:x:0:0::/:/bin/sh >/c/etc/passwd
	echo root:x:0: >/c/etc/group
}

# No systemd makes cgroups here or keeps a journal, and a tmpfs has no overlays.
configure_podman() {
	printf '%s\n' '[containers]' 'log_driver = "k8s-file"' '[engine]' 'runtime = "crun"' \
		'cgroup_manager = "cgroupfs"' 'events_logger = "none"' >/etc/containers/containers.conf
	printf '%s\n' '[storage]' 'driver = "vfs"' 'runroot = "/run/containers"' \
		'graphroot = "/var/lib/containers"' >/etc/containers/storage.conf
}

add_joe() {
	echo "joe:x:$joe:$joe::/home/joe:/bin/sh" >>/etc/passwd
	printf '%s\n' "joe:x:$joe:" "hwheel:x:$gid:joe" >>/etc/group
	echo joe:100000:65536 | tee /etc/subuid >/etc/subgid
	mkdir -p /home/joe /run/user/$joe
	chown $joe:$joe /home/joe /run/user/$joe
	chmod 700 /run/user/$joe
}

# As udev's rule does
open_to_group() {
	chown 0:$gid /dev/hwheel && chmod 660 /dev/hwheel
}

prepare() {
	hostname containers
	make_container
	configure_podman
	add_joe
	export HOME=/root
	quietly load && open_to_group
}

# pod OPTION... COMMAND...: in a container of root's
pod() {
	podman run --rm --network none "$@" >"$work/out" 2>"$work/err"
}

# rootless OPTION... COMMAND...: in one of joe's
rootless() {
	HOME=/home/joe XDG_RUNTIME_DIR=/run/user/$joe /usr/bin/setpriv --reuid $joe --regid $joe \
		--groups $joe,$gid podman run --rm --network none "$@" >"$work/out" 2>"$work/err"
}

# ends STATUS COMMAND...
ends() {
	local expected=$1 status

	shift
	"$@"
	status=$?
	[ $status -eq "$expected" ] && return
	diagnose "status $status of $*: $(cat "$work/out" "$work/err")"
	return 1
}

says() {
	grep -qE -- "$1" "$work/out" "$work/err" && return
	diagnose "nowhere '$1': $(cat "$work/out" "$work/err")"
	return 1
}

arms() {
	ends 0 "$@" hwheelctl arm 5ms && says '^cookie 0 expired' &&
		! grep 'the wheel is in hwheelctl itself' "$work/err"
}

# arms_itself WHY COMMAND...: the device cannot be opened, and hwheelctl does without.
arms_itself() {
	local why=$1

	shift
	ends 0 "$@" hwheelctl arm 5ms && says '^cookie 0 expired' && says "$why" &&
		says 'the wheel is in hwheelctl itself'
}

is_refused() {
	arms_itself 'is not open to you' "$@"
}

# --- the device ---

needs_the_device() {
	arms_itself 'podman run --device /dev/hwheel' pod --rootfs /c
}

gets_the_device() {
	arms pod --device /dev/hwheel --rootfs /c
}

mount_is_not_enough() {
	is_refused pod --volume /dev/hwheel:/dev/hwheel --rootfs /c
}

reading_is_not_enough() {
	is_refused pod --device /dev/hwheel:/dev/hwheel:r --rootfs /c
}

# --- groups ---

user_needs_the_group() {
	is_refused pod --device /dev/hwheel --user 1000:1000 --rootfs /c &&
		arms pod --device /dev/hwheel --user 1000:1000 --group-add $gid --rootfs /c
}

# There the users 0 to 65535 are others on this machine.
elsewhere="--device /dev/hwheel --uidmap 0:100000:65536"

# The node belongs to root of the namespace, and its group may only read.
namespace_owns_a_node() {
	# shellcheck disable=SC2086 # words
	ends 0 pod $elsewhere --rootfs /c ls -ln /dev/hwheel && says "^crw-r----- +1 0 +$gid " &&
		arms pod $elsewhere --rootfs /c &&
		is_refused pod $elsewhere --user 1000:1000 --group-add $gid --rootfs /c
}

# It is the machine's node, whose group has no number in there.
rootless_keeps_groups() {
	ends 0 rootless --device /dev/hwheel --rootfs /c ls -ln /dev/hwheel &&
		says '^crw-rw---- +1 65534 +65534 ' &&
		is_refused rootless --device /dev/hwheel --rootfs /c &&
		is_refused rootless --device /dev/hwheel --group-add $gid --rootfs /c &&
		arms rootless --device /dev/hwheel --group-add keep-groups --rootfs /c
}

# --- memory ---

# in_background NAME OPTION... COMMAND...
in_background() {
	local name=$1

	shift
	podman run --rm --network none --name "$name" --device /dev/hwheel "$@" \
		>"$work/$name" 2>"$work/$name.err" </dev/null &
	background=$!
}

end_background() {
	podman kill "$1" >"$work/killed" 2>&1
	wait "$background"
}

# The value of a line of the container's cgroup
charged() {
	sed -n "s/^$2 //p" /sys/fs/cgroup/libpod_parent/libpod-*/"$1"
}

# Of the machine, in KiB
available() {
	sed -n 's/^MemAvailable: *\([0-9]*\) kB/\1/p' /proc/meminfo
}

filled() {
	grep -q '^armed' "$work/filler"
}

# holds COMMAND...: while a container keeps timeouts
holds() {
	local status

	await filled && "$@"
	status=$?
	[ $status -eq 0 ] || diagnose "$(cat "$work/filler" "$work/filler.err")"
	end_background filler
	return $status
}

# The cgroup of the container pays for all of them, as kernel memory.
all_are_charged() {
	grep -q "^armed $some: Success" "$work/filler" &&
		[ "$(charged memory.stat kernel)" -gt $((some * $1)) ] && return
	diagnose "kernel: $(charged memory.stat kernel)"
	return 1
}

# The machine lacks not much more than the limit and podman, and its programs arm.
limit_holds() {
	local taken=$(($1 - $(available)))

	diagnose "$(cat "$work/filler"); $taken KiB are taken, $(charged memory.events max) times at the limit"
	grep -qE '^armed [1-9][0-9]*: Cannot allocate memory' "$work/filler" &&
		[ "$taken" -lt $((128 * 1024)) ] &&
		[ "$(charged memory.events oom_kill)" -eq 0 ] && ./hwheelctl arm 5ms >"$work/out"
}

memory_is_charged() {
	in_background filler --rootfs /c contained fill $some && holds all_are_charged 128 &&
		in_background filler --rootfs /c contained fill $some mapped && holds all_are_charged 64
}

# limit_refuses [mapped]
limit_refuses() {
	local before

	before=$(available)
	in_background filler --memory $limit --ulimit memlock=-1:-1 --rootfs /c \
		contained fill $endless "$@" && holds limit_holds "$before"
}

# The kernel kills a program that touches 16 MiB, for which there is room only without timeouts.
touches_beside() {
	ends "$1" pod --device /dev/hwheel --memory $limit --ulimit memlock=-1:-1 --rootfs /c \
		sh -c "contained fill $2 >/tmp/filled & until grep -q ^armed /tmp/filled; do sleep 0.1; done
		       exec dd if=/dev/zero of=/dev/null bs=16M count=1"
}

others_are_killed() {
	touches_beside 0 1000 && touches_beside 137 $endless
}

# --- wheels ---

wheel_is_there() {
	./hwheelctl list | grep -q '^p[0-9]'
}

own_wheel() {
	ends "$1" pod --device /dev/hwheel "$2" "$3" --rootfs /c hwheelctl arm 5ms --tick 5ms
}

# Containers that root runs are an account each, with a user namespace or without.
each_container_has_its_wheels() {
	local status

	quietly unload && quietly load max_user_wheels=1 && chmod 666 /dev/hwheel || return
	in_background holder --rootfs /c hwheelctl arm 1h --tick 5ms
	await wheel_is_there && own_wheel 0 --user 0 &&
		own_wheel 0 --uidmap 0:100000:65536
	status=$?
	end_background holder
	return $status
}

# --- time namespaces ---

# later SECONDS [mapped]: in a container whose clock is so far ahead, its own absolute deadlines
later() {
	local seconds=$1 now deadline

	shift
	now=$(cut -d. -f1 /proc/uptime)
	/usr/bin/unshare --time --fork --monotonic "$seconds" --boottime "$seconds" \
		podman run --rm --network none --device /dev/hwheel --rootfs /c \
		contained deadline "$@" >"$work/out" 2>"$work/err" || return
	deadline=$(cat "$work/out")
	diagnose "at $now here, a deadline of $deadline there"
	[ "$deadline" -ge $((now + seconds)) ] && [ "$deadline" -lt $((now + seconds + 600)) ]
}

deadlines_are_the_containers() {
	later 1000000 && later 1000000 mapped && later 0 && return
	diagnose "$(cat "$work/out" "$work/err")"
	return 1
}

all() {
	report "podman and the machine are prepared" prepare
	report "a container has no device of its own, and hwheelctl tells how to pass it" needs_the_device
	report "--device passes it" gets_the_device
	report "a volume does not: the container's cgroup is closed to the device" mount_is_not_enough
	report "a device for reading alone is not enough" reading_is_not_enough
	report "a user who is not root needs the group's number" user_needs_the_group
	report "in a user namespace the node is for its root alone" namespace_owns_a_node
	report "a rootless container keeps the groups of its user" rootless_keeps_groups
	report "the container's cgroup is charged" memory_is_charged
	report "at its limit arming fails, and the machine goes on" limit_refuses
	report "mapping, too" limit_refuses mapped
	report "another program that needs pages there is killed" others_are_killed
	report "each container of root has wheels of its own" each_container_has_its_wheels
	report "absolute deadlines are on the clock of the container" deadlines_are_the_containers
}

tap() {
	begin
	all
	quietly unload
	end
}

tap 2>&1 | tee /results/containers_test.tap
! grep -q '^not ok' /results/containers_test.tap
