// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "consensus/mark.h"
#include "say.h"

int mark_read(const char *path, struct consensus_mark *mark)
{
	static const char format[] = "%" SCNx64 " %" SCNu64;
	FILE *stream = fopen(path, "re");
	int count;

	*mark = (struct consensus_mark) { 0 };
	if (!stream && errno == ENOENT)
		return 0;
	count = stream ? fscanf(stream, format, &mark->identity, &mark->revision) : 0;
	if (stream)
		fclose(stream);
	if (count == 2)
		return 0;
	say(LOG_ERR, "%s: this is no mark of a store; remove it if the store is right", path);
	return -EINVAL;
}

/* Renamed, so that it is whole */
void mark_write(const char *path, const struct consensus_mark *mark)
{
	static const char format[] = "%" PRIx64 " %" PRIu64 "\n";
	char beside[4096];
	bool is_written;
	FILE *stream;

	if (!mark->identity)
		return;
	snprintf(beside, sizeof(beside), "%s.new", path);
	stream = fopen(beside, "we");
	is_written = stream && fprintf(stream, format, mark->identity, mark->revision) > 0;
	if (stream && fclose(stream))
		is_written = false;
	if (!is_written || rename(beside, path))
		say(LOG_ERR, "%s: %m", path);
}
