// SPDX-License-Identifier: GPL-2.0-only
/*
 * Preloaded, it has writes of the database reach the disk only while no file named by FAIL_SYNC
 * exists: fsync() and fdatasync() fail then, as with a disk that does.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

static int fails(void)
{
	const char *path = getenv("FAIL_SYNC");

	return path && !access(path, F_OK);
}

static int sync_or_fail(long call, int fd)
{
	if (!fails())
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
