// SPDX-License-Identifier: GPL-2.0-only
/*
 * Preloaded, it has writes of the database reach the disk only while no file named by FAIL_SYNC
 * exists: fsync() and fdatasync() fail then, as with a disk that does. While a file named by
 * SLOW_SYNC exists, each one takes a second.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

static int is_there(const char *name)
{
	const char *path = getenv(name);

	return path && !access(path, F_OK);
}

static int sync_or_fail(long call, int fd)
{
	if (is_there("SLOW_SYNC"))
		sleep(1);
	if (!is_there("FAIL_SYNC"))
		return (int)syscall(call, fd);
	errno = EIO;
	return -1;
}

int fsync(int fd)
{
	return sync_or_fail(SYS_fsync, fd);
}

int fdatasync(int fd)
{
	return sync_or_fail(SYS_fdatasync, fd);
}
