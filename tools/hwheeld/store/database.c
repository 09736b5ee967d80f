// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "hwheelctl/array.h"
#include "memory.h"
#include "say.h"
#include "store/database.h"

enum { BEGIN, COMMIT, ROLLBACK, INSERT, CLEAN, HAS, MARK, STATEMENTS };

static const char *const database_sql[STATEMENTS] = {
	[BEGIN]	   = "BEGIN IMMEDIATE",
	[COMMIT]   = "COMMIT",
	[ROLLBACK] = "ROLLBACK",
	[INSERT]   = "INSERT INTO log (seq, record) VALUES (?1, ?2)",
	[CLEAN]	   = "DELETE FROM log WHERE seq < ?1",
	[HAS]	   = "SELECT 1 FROM log WHERE seq = ?1",
	[MARK]	   = "REPLACE INTO time VALUES (1, ?1, ?2, ?3, ?4)",
};

#define TEXT(number)	#number
#define TEXT_OF(macro)	TEXT(macro)

/* Pages are small, as a commit writes whole ones, and a record has 200 bytes or so. */
#define DATABASE_PAGE		1024

/* The write-ahead log goes to the database when it has so many pages, and begins anew. */
#define DATABASE_LOG_PAGES	3500

/* A log that a large commit has made longer is cut to this, which is more than these pages. */
#define DATABASE_LOG_MOST	4194304

/*
 * Bytes that a file beside the database takes up. With a full disk, SQLite could not even open the
 * database again, as it has to write for that: then the file gives way.
 */
#define DATABASE_RESERVE	8388608

#define DATABASE_CREATE_TIME \
	"CREATE TABLE IF NOT EXISTS time (one INTEGER PRIMARY KEY, boot_id, at_ns, wall_ns, offset_ns)"

struct database {
	sqlite3 *handle;
	struct sqlite3_stmt *statements[STATEMENTS];
	char *reserve;				/* path of the file that takes up space */
	bool is_reserved;
	unsigned char *bytes;			/* a record while it is written */
	size_t size;
};

static int database_run(struct database *database, const char *text)
{
	return sqlite3_exec(database->handle, text, NULL, NULL, NULL);
}

/* Runs a statement that returns no rows. */
static int database_step(struct database *database, int which)
{
	sqlite3_stmt *statement = database->statements[which];
	int status = sqlite3_step(statement);

	sqlite3_reset(statement);
	return status == SQLITE_DONE ? SQLITE_OK : status;
}

/* Opening */

/*
 * With EXCLUSIVE no other process can open it, and no shared memory is needed. The log is checked
 * in at once: what a connection before this one could not synchronise is written again.
 */
static int database_set_up(struct database *database, const char *synchronous)
{
	char pragma[64];
	int status = SQLITE_OK;
	const char *const steps[] = {
		"PRAGMA page_size=" TEXT_OF(DATABASE_PAGE),
		"PRAGMA wal_autocheckpoint=" TEXT_OF(DATABASE_LOG_PAGES),
		"PRAGMA locking_mode=EXCLUSIVE",
		"PRAGMA journal_mode=WAL",
		"PRAGMA journal_size_limit=" TEXT_OF(DATABASE_LOG_MOST),
		pragma,
		"CREATE TABLE IF NOT EXISTS log (seq INTEGER PRIMARY KEY, record BLOB)",
		"CREATE TABLE IF NOT EXISTS space (one INTEGER PRIMARY KEY, bytes BLOB)",
		DATABASE_CREATE_TIME,
		"PRAGMA wal_checkpoint(TRUNCATE)",
	};

	snprintf(pragma, sizeof(pragma), "PRAGMA synchronous=%s", synchronous);
	for (size_t i = 0; i < ARRAY_SIZE(steps) && status == SQLITE_OK; i++)
		status = database_run(database, steps[i]);
	return status;
}

/* Payloads are nobody else's business. */
static int database_open_handle(struct database *database, const char *path,
				const char *synchronous)
{
	mode_t before = umask(0077);
	int status = sqlite3_open_v2(path, &database->handle, SQLITE_OPEN_READWRITE |
				     SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, NULL);

	umask(before);
	if (status == SQLITE_OK)
		status = database_set_up(database, synchronous);
	if ((status & 0xff) == SQLITE_FULL) {
		say(LOG_WARNING, "store: the disk is full: using the space of %s",
		    database->reserve);
		unlink(database->reserve);
		status = database_set_up(database, synchronous);
	}
	for (size_t i = 0; i < STATEMENTS && status == SQLITE_OK; i++)
		status = sqlite3_prepare_v3(database->handle, database_sql[i], -1,
					    SQLITE_PREPARE_PERSISTENT,
					    &database->statements[i], NULL);
	return status;
}

static void database_complain(const struct database *database, const char *what)
{
	say(LOG_ERR, "store: %s: %s", what, sqlite3_errmsg(database->handle));
}

struct database *database_open(const char *path, const char *synchronous)
{
	struct database *database = memory_get(1, sizeof(*database));

	if (asprintf(&database->reserve, "%s-reserve", path) < 0)
		abort();
	if (database_open_handle(database, path, synchronous) == SQLITE_OK)
		return database;
	database_complain(database, path);
	database_close(database);
	return NULL;
}

void database_close(struct database *database)
{
	for (size_t i = 0; i < STATEMENTS; i++)
		sqlite3_finalize(database->statements[i]);
	sqlite3_close(database->handle);
	free(database->reserve);
	free(database->bytes);
	free(database);
}

/* Reading */

static bool database_decode(sqlite3_stmt *row, int column, struct record *record)
{
	const unsigned char *bytes = sqlite3_column_blob(row, column);

	return bytes && record_decode(record, bytes, (size_t)sqlite3_column_bytes(row, column));
}

int database_load(struct database *database, store_each each, void *data)
{
	static const char all[] = "SELECT seq, record FROM log ORDER BY seq";
	struct record record;
	sqlite3_stmt *rows;
	int status;

	status = sqlite3_prepare_v2(database->handle, all, -1, &rows, NULL);
	while (status == SQLITE_OK || status == SQLITE_ROW) {
		uint64_t seq;

		status = sqlite3_step(rows);
		if (status != SQLITE_ROW)
			break;
		seq = (uint64_t)sqlite3_column_int64(rows, 0);
		if (!database_decode(rows, 1, &record)) {
			say(LOG_ERR, "store: record %llu is damaged", (unsigned long long)seq);
			status = SQLITE_CORRUPT;
		} else if (!each(data, seq, &record)) {
			status = SQLITE_CORRUPT;
		}
	}
	sqlite3_finalize(rows);
	if (status == SQLITE_DONE)
		return 0;
	database_complain(database, "load");
	return -EIO;
}

/* The statement is at its first row; NULL: there is none, and *@status is not SQLITE_OK then. */
static sqlite3_stmt *database_row(struct database *database, const char *text, int *status)
{
	sqlite3_stmt *row = NULL;

	*status = sqlite3_prepare_v2(database->handle, text, -1, &row, NULL);
	if (*status == SQLITE_OK && sqlite3_step(row) == SQLITE_ROW)
		return row;
	sqlite3_finalize(row);
	return NULL;
}

uint64_t database_next(struct database *database)
{
	int status;
	sqlite3_stmt *row = database_row(database, "SELECT max(seq) FROM log", &status);
	uint64_t last = row ? (uint64_t)sqlite3_column_int64(row, 0) : 0;

	sqlite3_finalize(row);
	return status == SQLITE_OK ? last + 1 : 0;
}

/* The last record may be younger than the last mark. */
void database_time(struct database *database, struct store_time *time)
{
	static const char last[] = "SELECT record FROM log ORDER BY seq DESC LIMIT 1";
	static const char mark[] = "SELECT boot_id, at_ns, wall_ns, offset_ns FROM time";
	struct record record;
	int status;
	sqlite3_stmt *row = database_row(database, mark, &status);

	*time = (struct store_time) { 0 };
	if (row) {
		snprintf(time->boot_id, sizeof(time->boot_id), "%s", sqlite3_column_text(row, 0));
		time->at_ns = (uint64_t)sqlite3_column_int64(row, 1);
		time->wall_ns = (uint64_t)sqlite3_column_int64(row, 2);
		time->offset_ns = sqlite3_column_int64(row, 3);
	}
	sqlite3_finalize(row);
	row = database_row(database, last, &status);
	if (row && database_decode(row, 0, &record) && record.at_ns > time->at_ns) {
		time->at_ns = record.at_ns;
		time->wall_ns = record.wall_ns;
	}
	sqlite3_finalize(row);
}

int database_has(struct database *database, uint64_t seq)
{
	sqlite3_stmt *statement = database->statements[HAS];
	int status;

	sqlite3_bind_int64(statement, 1, (sqlite3_int64)seq);
	status = sqlite3_step(statement);
	sqlite3_reset(statement);
	return status == SQLITE_ROW ? 1 : status == SQLITE_DONE ? 0 : -EIO;
}

/* Writing */

/*
 * After a commit that succeeded; another one tries again. SQLite begins the write-ahead log anew
 * when all of it is in the database. Writing over what a file has costs much less than making the
 * file longer. So the log gets its length at once, where there is room for that.
 */
static void database_take_reserve(struct database *database)
{
	int fd = database->is_reserved ? -1 :
		 open(database->reserve, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	if (fd < 0)
		return;
	database->is_reserved = !posix_fallocate(fd, 0, DATABASE_RESERVE);
	close(fd);
	if (!database->is_reserved)
		unlink(database->reserve);
	else if (database_run(database, "INSERT INTO space (one, bytes) VALUES (1, zeroblob("
			      TEXT_OF(DATABASE_LOG_PAGES) " * " TEXT_OF(DATABASE_PAGE) "))") ||
		 database_run(database, "DELETE FROM space") ||
		 database_run(database, "PRAGMA wal_checkpoint(RESTART)"))
		say(LOG_NOTICE, "store: the log of SQLite stays short: %s",
		    sqlite3_errmsg(database->handle));
}

int database_mark(struct database *database, const struct store_time *time)
{
	sqlite3_stmt *mark = database->statements[MARK];
	int status;

	sqlite3_bind_text(mark, 1, time->boot_id, -1, SQLITE_STATIC);
	sqlite3_bind_int64(mark, 2, (sqlite3_int64)time->at_ns);
	sqlite3_bind_int64(mark, 3, (sqlite3_int64)time->wall_ns);
	sqlite3_bind_int64(mark, 4, time->offset_ns);
	status = database_step(database, MARK);
	sqlite3_clear_bindings(mark);
	if (status == SQLITE_OK)
		database_take_reserve(database);
	return status == SQLITE_OK ? 0 : -EIO;
}

static int database_insert(struct database *database, uint64_t seq, const struct record *record)
{
	sqlite3_stmt *statement = database->statements[INSERT];
	size_t size = record_size(record);

	if (size > database->size) {
		free(database->bytes);
		database->bytes = malloc(size);
		database->size = database->bytes ? size : 0;
	}
	if (!database->bytes)
		return SQLITE_NOMEM;
	record_encode(record, database->bytes);
	sqlite3_bind_int64(statement, 1, (sqlite3_int64)seq);
	sqlite3_bind_blob(statement, 2, database->bytes, (int)size, SQLITE_STATIC);
	return database_step(database, INSERT);
}

/* A single record is its own transaction. */
static int database_write(struct database *database, const struct store_request *list)
{
	bool is_single = !list->next && list->count == 1 && !list->clean_before;
	int status = is_single ? SQLITE_OK : database_step(database, BEGIN);

	for (; list && status == SQLITE_OK; list = list->next) {
		for (size_t i = 0; i < list->count && status == SQLITE_OK; i++)
			status = database_insert(database, list->seq + i, &list->records[i]);
		if (status != SQLITE_OK || !list->clean_before)
			continue;
		sqlite3_bind_int64(database->statements[CLEAN], 1,
				   (sqlite3_int64)list->clean_before);
		status = database_step(database, CLEAN);
	}
	return status == SQLITE_OK && !is_single ? database_step(database, COMMIT) : status;
}

/*
 * A commit that is refused was written less than whole, so that nobody will ever read it. After any
 * other error it may be on disk; memory may also run out behind the last write.
 */
enum store_outcome database_commit(struct database *database, const struct store_request *list,
				   int *error)
{
	int status = database_write(database, list);

	*error = 0;
	if (status == SQLITE_OK)
		return STORE_COMMITTED;
	database_complain(database, "commit");
	if (!sqlite3_get_autocommit(database->handle))
		database_step(database, ROLLBACK);
	switch (status & 0xff) {
	case SQLITE_FULL:
		*error = -ENOSPC;
		return STORE_REFUSED;
	case SQLITE_BUSY:
	case SQLITE_TOOBIG:
	case SQLITE_CONSTRAINT:
		*error = -EIO;
		return STORE_REFUSED;
	default:
		*error = (status & 0xff) == SQLITE_NOMEM ? -ENOMEM : -EIO;
		return STORE_UNKNOWN;
	}
}
