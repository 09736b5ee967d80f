/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The SQLite database: one row per record in a table with an integer key, so that rows are
 * appended at one end and removed from the other. One thread at a time uses it.
 *
 * On a full disk no file may have to grow. The write-ahead log gets a length at once that the
 * largest commit fits into, and keeps it; writing over what a file has also costs much less than
 * making it longer. The database may have as many pages as are allocated for it. The loop asks for
 * them before it accepts what needs them.
 *
 * The write-ahead log is synchronised with each commit (synchronous=FULL). When that fails, the
 * connection stays open: SQLite writes the next commit to the same place, so that the one that
 * failed cannot come back. (A new connection would read the failed commit from the page cache, and
 * would append to pages that are not on disk.)
 */
#ifndef DATABASE_H
#define DATABASE_H

#include "store/store.h"

struct database;

struct database *database_open(const char *path, const char *synchronous);
void database_close(struct database *database);

/* Names records that are damaged, and stops calling @each there. */
int database_load(struct database *database, store_each each, void *data, bool *is_damaged);

/* Removes records that are damaged. */
int database_discard(struct database *database);

void database_time(struct database *database, struct store_time *time);
int database_mark(struct database *database, const struct store_time *time);

/*
 * Takes up space on disk: the database may have so many bytes. Returns 0 or a negative errno. Any
 * thread may call it; what it gets is used from the next commit on.
 */
int database_reserve(struct database *database, uint64_t bytes);
uint64_t database_room(const struct database *database);

/* The number of the next record */
uint64_t database_next(struct database *database);

/*
 * Commits a list of requests as one transaction. @error: out: a negative errno if it is not
 * committed.
 */
enum store_outcome database_commit(struct database *database, const struct store_request *list,
				   int *error);

/* Is the record there? Negative errno if that cannot be told. */
int database_has(struct database *database, uint64_t seq);

#endif /* DATABASE_H */
