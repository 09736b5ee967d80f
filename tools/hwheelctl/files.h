/* SPDX-License-Identifier: GPL-2.0-only */
/* Open files of the device: those of all processes, or of those that one may look at. */
#ifndef FILES_H
#define FILES_H

#include <stddef.h>
#include <stdint.h>

struct open_file {
	int pid;
	int fd;
	char command[32];
	uint64_t wheel;		/* its id */
	uint64_t pending;
	uint64_t events;
	uint64_t max_timeouts;
};

struct files {
	struct open_file *all;
	size_t count;
};

/* Several descriptors of one file count as several. 0 or a negative errno */
int files_read(struct files *files);
void files_free(struct files *files);

#endif /* FILES_H */
