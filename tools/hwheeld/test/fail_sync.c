// SPDX-License-Identifier: GPL-2.0-only
/*
 * A library to be preloaded, for a disk that fails or hangs. While the file named by FAIL_SYNC
 * exists, fsync() and fdatasync() fail. If there is a file of the name in HANG_SYNC with ".loop"
 * behind it, the next one of them in the first thread, and with ".writer" in another one, renames
 * the file to NAME.hangs, and hangs until a test removes that.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

static int is_there(const char *name)
{
	const char *path = getenv(name);

	return path && !access(path, F_OK);
}

static void hang_if_told(void)
{
	const char *path = getenv("HANG_SYNC");
	char flag[4096], hangs[4096 + 8];

	if (!path)
		return;
	snprintf(flag, sizeof(flag), "%s.%s", path, gettid() == getpid() ? "loop" : "writer");
	snprintf(hangs, sizeof(hangs), "%s.hangs", flag);
	if (rename(flag, hangs))
		return;
	while (!access(hangs, F_OK))
		usleep(1000);
}

static int sync_or_fail(long call, int fd)
{
	hang_if_told();
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
