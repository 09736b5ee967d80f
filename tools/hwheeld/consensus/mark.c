// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "consensus/mark.h"
#include "say.h"

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

/* Renamed, so that it is whole */
void mark_write(const char *path, const struct consensus_mark *mark)
{
	static const char format[] = "%" PRIx64 " %" PRIu64 " %" PRIx64 "\n";
	char beside[4096];
	bool is_written;
	FILE *stream;

	if (!mark->identity)
		return;
	snprintf(beside, sizeof(beside), "%s.new", path);
	stream = fopen(beside, "we");
	is_written = stream && fprintf(stream, format, mark->identity, mark->revision,
					  mark->session) > 0;
	is_written = is_written && !fflush(stream) && !fsync(fileno(stream));
	if (stream && fclose(stream))
		is_written = false;
	if (!is_written || rename(beside, path))
		say(LOG_ERR, "%s: %m", path);
}
