// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "consensus/mark.h"
#include "say.h"

/* All marks have the same size. */
#define MARK_FORMAT	"%016" PRIx64 " %020" PRIu64 " %016" PRIx64 "\n"
#define MARK_SIZE	(16 + 1 + 20 + 1 + 16 + 1)

/* Held until the process ends: a session that one process ends is no other one's. */
static int mark_lock(const char *path)
{
	char beside[4096];
	int fd;

	snprintf(beside, sizeof(beside), "%s.lock", path);
	fd = open(beside, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (fd >= 0 && !flock(fd, LOCK_EX | LOCK_NB))
		return 0;
	say(LOG_ERR, "%s: %s", beside, errno == EWOULDBLOCK ? "another hwheeld uses it" :
	    strerror(errno));
	return -EINVAL;
}

int mark_read(const char *path, struct consensus_mark *mark)
{
	static const char format[] = "%" SCNx64 " %" SCNu64 " %" SCNx64;
	FILE *stream;
	int count;

	*mark = (struct consensus_mark) { 0 };
	if (mark_lock(path))
		return -EINVAL;
	stream = fopen(path, "re");
	if (!stream && errno == ENOENT)
		return 0;
	count = stream ? fscanf(stream, format, &mark->identity, &mark->revision,
				  &mark->session) : 0;
	if (stream)
		fclose(stream);
	if (count == 3)
		return 0;
	say(LOG_ERR, "%s: this is no mark of a store; remove it if the store is right", path);
	return -EINVAL;
}

/*
 * Over the mark that is there, which a disk does as a whole, as it is less than a sector. A disk
 * that hangs keeps nobody waiting, as nothing is synchronized: after a loss of power the file may
 * have what it had up to a minute before. An earlier session ends by itself. An earlier revision
 * notices a backup that is older than that.
 */
static bool mark_replace(const char *path, const char text[MARK_SIZE])
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	struct stat is;
	bool is_written = fd >= 0 && !fstat(fd, &is) && is.st_size == MARK_SIZE &&
			  pwrite(fd, text, MARK_SIZE, 0) == MARK_SIZE;

	if (fd >= 0)
		close(fd);
	return is_written;
}

/* Synchronized and renamed, so that it is whole */
static bool mark_create(const char *path, const char text[MARK_SIZE])
{
	char beside[4096];
	bool is_written;
	int fd;

	snprintf(beside, sizeof(beside), "%s.new", path);
	fd = open(beside, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	is_written = fd >= 0 && write(fd, text, MARK_SIZE) == MARK_SIZE && !fsync(fd);
	if (fd >= 0)
		close(fd);
	return is_written && !rename(beside, path);
}

void mark_write(const char *path, const struct consensus_mark *mark)
{
	char text[MARK_SIZE + 1];

	if (!mark->identity)
		return;
	snprintf(text, sizeof(text), MARK_FORMAT, mark->identity, mark->revision, mark->session);
	if (!mark_replace(path, text) && !mark_create(path, text))
		say(LOG_ERR, "%s: %m", path);
}
