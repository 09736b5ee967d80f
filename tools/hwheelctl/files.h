/* SPDX-License-Identifier: GPL-2.0-only */
/* Open files of the device: those of all processes, or of those that one may look at. */
#ifndef FILES_H
#define FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <linux/types.h>

#include "process.h"

struct open_file {
	int pid;
	int fd;
	char command[PROCESS_NAME];
	__u64 wheel;		/* its id */
	bool mapped;
	__u64 pending;
	__u64 events;
	__u64 max_timeouts;
};

struct files {
	struct open_file *all;
	size_t count;
};

/* Several descriptors of one file count as several. 0 or a negative errno */
int files_read(struct files *files);
void files_free(struct files *files);

#endif /* FILES_H */
