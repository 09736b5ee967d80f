// SPDX-License-Identifier: GPL-2.0-only
/*
 * A library to be preloaded, for a disk that is full: while the file named by FULL_DISK exists, no
 * file gets longer. What files have can be written.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static int is_too_long(int fd, off_t end)
{
	const char *path = getenv("FULL_DISK");
	struct stat file;

	return path && !access(path, F_OK) && !fstat(fd, &file) && S_ISREG(file.st_mode) &&
	       end > file.st_size;
}

/* The names of 64 bits, as all files are compiled for them */
ssize_t pwrite(int fd, const void *data, size_t size, off_t offset)
{
	if (!is_too_long(fd, offset + (off_t)size))
		return syscall(SYS_pwrite64, fd, data, size, offset);
	errno = ENOSPC;
	return -1;
}

int posix_fallocate(int fd, off_t offset, off_t size)
{
	int error = is_too_long(fd, offset + size) ? ENOSPC : 0;

	return error ?: syscall(SYS_fallocate, fd, 0, offset, size) ? errno : 0;
}
