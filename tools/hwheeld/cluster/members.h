/* SPDX-License-Identifier: GPL-2.0-only */
/* The nodes that live: /members/NAME, ephemeral. Each node owns shards by their names. */
#ifndef MEMBERS_H
#define MEMBERS_H

#include <stddef.h>

void members_begin(const char *node);
void members_end(void);

/* There is a connection: joins, and reads who else is there. */
void members_connected(void);
void members_changed(const char *path);

size_t members_count(void);
const char *members_name(size_t index);

#endif /* MEMBERS_H */
