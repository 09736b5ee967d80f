/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How a process of root's comes to another account: as another user, in a cgroup, or in a user
 * namespace.
 */
#ifndef _HWHEEL_SELFTESTS_ACCOUNTS_H
#define _HWHEEL_SELFTESTS_ACCOUNTS_H

#include "common.h"

#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#define HIERARCHY	"/tmp/hwheel_cgroups"

/* All return 0 or a negative errno. */

static inline int write_text(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC), ret = 0;

	if (fd < 0)
		return -errno;
	if (write(fd, text, strlen(text)) != (ssize_t)strlen(text))
		ret = -errno;
	close(fd);
	return ret;
}

static inline int become(uid_t uid)
{
	return setresuid(uid, uid, uid) ? -errno : 0;
}

static inline int mount_cgroups(void)
{
	if (mkdir(HIERARCHY, 0700) && errno != EEXIST)
		return -errno;
	return mount("none", HIERARCHY, "cgroup2", 0, NULL) ? -errno : 0;
}

static inline int unmount_cgroups(void)
{
	return umount(HIERARCHY) || rmdir(HIERARCHY) ? -errno : 0;
}

/* @group: below HIERARCHY; is made if it is not there */
static inline int join(const char *group)
{
	char path[300];

	if (mkdir(group, 0755) && errno != EEXIST)
		return -errno;
	snprintf(path, sizeof(path), "%s/cgroup.procs", group);
	return write_text(path, "0");
}

/* A new user namespace, in which root is root */
static inline int enter_namespace(void)
{
	if (unshare(CLONE_NEWUSER))
		return -errno;
	return write_text("/proc/self/uid_map", "0 0 1");
}

#endif /* _HWHEEL_SELFTESTS_ACCOUNTS_H */
