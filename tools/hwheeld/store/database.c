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
#include "say.h"
#include "store/database.h"

enum { BEGIN, COMMIT, ROLLBACK, INSERT, CLEAN, HAS, MARK, STATEMENTS };

static const char *sql[STATEMENTS] = {
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
#define PAGE_BYTES	1024

/* The write-ahead log goes to the database when it has so many pages, and begins anew. */
#define LOG_PAGES	3500

/* A log that a large commit has made longer is cut to this, which is more than these pages. */
#define LOG_BYTES_MOST	4194304

/*
 * Bytes that a file beside the database takes up. With a full disk, SQLite could not even open the
 * database again, as it has to write for that: then the file gives way.
 */
#define RESERVE		8388608

#define CREATE_TIME \
	"CREATE TABLE IF NOT EXISTS time (one INTEGER PRIMARY KEY, boot_id, at_ns, wall_ns, offset_ns)"

struct database {
	sqlite3 *handle;
	struct sqlite3_stmt *statements[STATEMENTS];
	char *reserve;				/* path of the file that takes up space */
	bool reserved;
	unsigned char *bytes;			/* a record while it is written */
	size_t size;
};

static void complain(const struct database *database, const char *what)
{
	say(LOG_ERR, "store: %s: %s", what, sqlite3_errmsg(database->handle));
}

static int run(struct database *database, const char *text)
{
	return sqlite3_exec(database->handle, text, NULL, NULL, NULL);
}

/*
 * With EXCLUSIVE no other process can open it, and no shared memory is needed. The log is checked
 * in at once: what a connection before this one could not synchronise is written again.
 */
static int set_up(struct database *database, const char *synchronous)
{
	char pragma[64];
	int status = SQLITE_OK;
	const char *const steps[] = {
		"PRAGMA page_size=" TEXT_OF(PAGE_BYTES),
		"PRAGMA wal_autocheckpoint=" TEXT_OF(LOG_PAGES),
		"PRAGMA locking_mode=EXCLUSIVE",
		"PRAGMA journal_mode=WAL",
		"PRAGMA journal_size_limit=" TEXT_OF(LOG_BYTES_MOST),
		pragma,
		"CREATE TABLE IF NOT EXISTS log (seq INTEGER PRIMARY KEY, record BLOB)",
		"CREATE TABLE IF NOT EXISTS space (one INTEGER PRIMARY KEY, bytes BLOB)",
		CREATE_TIME,
		"PRAGMA wal_checkpoint(TRUNCATE)",
	};

	snprintf(pragma, sizeof(pragma), "PRAGMA synchronous=%s", synchronous);
	for (size_t i = 0; i < ARRAY_SIZE(steps) && status == SQLITE_OK; i++)
		status = run(database, steps[i]);
	return status;
}

static int prepare(struct database *database)
{
	int status = SQLITE_OK;

	for (size_t i = 0; i < STATEMENTS && status == SQLITE_OK; i++)
		status = sqlite3_prepare_v3(database->handle, sql[i], -1, SQLITE_PREPARE_PERSISTENT,
					    &database->statements[i], NULL);
	return status;
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

/* Payloads are nobody else's business. */
static int open_private(struct database *database, const char *path)
{
	mode_t before = umask(0077);
	int status = sqlite3_open_v2(path, &database->handle, SQLITE_OPEN_READWRITE |
				     SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, NULL);

	umask(before);
	return status;
}

/*
 * SQLite begins the write-ahead log anew when all of it is in the database. Writing over what a
 * file has costs much less than making the file longer. So the log gets its length at once, where
 * there is room for that.
 */
static void stretch_log(struct database *database)
{
	if (run(database, "INSERT INTO space (one, bytes) VALUES (1, zeroblob("
		TEXT_OF(LOG_PAGES) " * " TEXT_OF(PAGE_BYTES) "))") ||
	    run(database, "DELETE FROM space") || run(database, "PRAGMA wal_checkpoint(RESTART)"))
		say(LOG_NOTICE, "store: the log of SQLite stays short: %s",
		    sqlite3_errmsg(database->handle));
}

/* After a commit that succeeded; another one tries again. */
static void take_reserve(struct database *database)
{
	int fd;

	if (database->reserved)
		return;
	fd = open(database->reserve, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0)
		return;
	database->reserved = !posix_fallocate(fd, 0, RESERVE);
	close(fd);
	if (database->reserved)
		stretch_log(database);
	else
		unlink(database->reserve);
}

static int open_with_reserve(struct database *database, const char *path, const char *synchronous)
{
	int status = open_private(database, path);

	if (status == SQLITE_OK)
		status = set_up(database, synchronous);
	if ((status & 0xff) == SQLITE_FULL) {
		say(LOG_WARNING, "store: the disk is full: using the space of %s",
		    database->reserve);
		unlink(database->reserve);
		status = set_up(database, synchronous);
	}
	return status == SQLITE_OK ? prepare(database) : status;
}

struct database *database_open(const char *path, const char *synchronous)
{
	struct database *database = calloc(1, sizeof(*database));

	if (!database || asprintf(&database->reserve, "%s-reserve", path) < 0)
		return NULL;
	if (open_with_reserve(database, path, synchronous) != SQLITE_OK) {
		complain(database, path);
		database_close(database);
		return NULL;
	}
	return database;
}

/* Runs a statement that returns no rows. */
static int step(struct database *database, int which)
{
	sqlite3_stmt *statement = database->statements[which];
	int status = sqlite3_step(statement);

	sqlite3_reset(statement);
	return status == SQLITE_DONE ? SQLITE_OK : status;
}

static bool load_row(sqlite3_stmt *rows, store_each each, void *data)
{
	uint64_t seq = (uint64_t)sqlite3_column_int64(rows, 0);
	const unsigned char *bytes = sqlite3_column_blob(rows, 1);
	struct record record;

	if (!bytes || !record_decode(&record, bytes, (size_t)sqlite3_column_bytes(rows, 1))) {
		say(LOG_ERR, "store: record %llu is damaged", (unsigned long long)seq);
		return false;
	}
	return each(data, seq, &record);
}

int database_load(struct database *database, store_each each, void *data)
{
	static const char all[] = "SELECT seq, record FROM log ORDER BY seq";
	sqlite3_stmt *rows;
	int status;

	status = sqlite3_prepare_v2(database->handle, all, -1, &rows, NULL);
	while (status == SQLITE_OK || status == SQLITE_ROW) {
		status = sqlite3_step(rows);
		if (status == SQLITE_ROW && !load_row(rows, each, data))
			status = SQLITE_CORRUPT;
	}
	sqlite3_finalize(rows);
	if (status == SQLITE_DONE)
		return 0;
	complain(database, "load");
	return -EIO;
}

uint64_t database_next(struct database *database)
{
	sqlite3_stmt *row;
	uint64_t next = 1;

	if (sqlite3_prepare_v2(database->handle, "SELECT max(seq) FROM log", -1, &row, NULL))
		return 0;
	if (sqlite3_step(row) == SQLITE_ROW)
		next = (uint64_t)sqlite3_column_int64(row, 0) + 1;
	sqlite3_finalize(row);
	return next;
}

/* The last record may be younger than the last mark. */
static void take_last_record(struct database *database, struct store_time *time)
{
	static const char text[] = "SELECT record FROM log ORDER BY seq DESC LIMIT 1";
	struct record record;
	sqlite3_stmt *row;

	if (sqlite3_prepare_v2(database->handle, text, -1, &row, NULL))
		return;
	if (sqlite3_step(row) == SQLITE_ROW && sqlite3_column_blob(row, 0) &&
	    record_decode(&record, sqlite3_column_blob(row, 0),
			  (size_t)sqlite3_column_bytes(row, 0)) && record.at_ns > time->at_ns) {
		time->at_ns = record.at_ns;
		time->wall_ns = record.wall_ns;
	}
	sqlite3_finalize(row);
}

void database_time(struct database *database, struct store_time *time)
{
	static const char text[] = "SELECT boot_id, at_ns, wall_ns, offset_ns FROM time";
	sqlite3_stmt *row;

	*time = (struct store_time) { 0 };
	if (sqlite3_prepare_v2(database->handle, text, -1, &row, NULL))
		return;
	if (sqlite3_step(row) == SQLITE_ROW) {
		snprintf(time->boot_id, sizeof(time->boot_id), "%s", sqlite3_column_text(row, 0));
		time->at_ns = (uint64_t)sqlite3_column_int64(row, 1);
		time->wall_ns = (uint64_t)sqlite3_column_int64(row, 2);
		time->offset_ns = sqlite3_column_int64(row, 3);
	}
	sqlite3_finalize(row);
	take_last_record(database, time);
}

int database_mark(struct database *database, const struct store_time *time)
{
	sqlite3_stmt *mark = database->statements[MARK];
	int status;

	sqlite3_bind_text(mark, 1, time->boot_id, -1, SQLITE_STATIC);
	sqlite3_bind_int64(mark, 2, (sqlite3_int64)time->at_ns);
	sqlite3_bind_int64(mark, 3, (sqlite3_int64)time->wall_ns);
	sqlite3_bind_int64(mark, 4, time->offset_ns);
	status = step(database, MARK);
	sqlite3_clear_bindings(mark);
	if (status == SQLITE_OK)
		take_reserve(database);
	return status == SQLITE_OK ? 0 : -EIO;
}

static unsigned char *room_for(struct database *database, size_t size)
{
	unsigned char *bytes;

	if (size <= database->size)
		return database->bytes;
	bytes = realloc(database->bytes, size);
	if (!bytes)
		return NULL;
	database->bytes = bytes;
	database->size = size;
	return bytes;
}

static int insert(struct database *database, uint64_t seq, const struct record *record)
{
	sqlite3_stmt *statement = database->statements[INSERT];
	size_t size = record_size(record);
	unsigned char *bytes = room_for(database, size);

	if (!bytes)
		return SQLITE_NOMEM;
	record_encode(record, bytes);
	sqlite3_bind_int64(statement, 1, (sqlite3_int64)seq);
	sqlite3_bind_blob(statement, 2, bytes, (int)size, SQLITE_STATIC);
	return step(database, INSERT);
}

static int clean(struct database *database, uint64_t before)
{
	sqlite3_bind_int64(database->statements[CLEAN], 1, (sqlite3_int64)before);
	return step(database, CLEAN);
}

static int write_request(struct database *database, const struct store_request *request)
{
	int status = SQLITE_OK;

	for (size_t i = 0; i < request->count && status == SQLITE_OK; i++)
		status = insert(database, request->seq + i, &request->records[i]);
	if (status == SQLITE_OK && request->clean_before)
		status = clean(database, request->clean_before);
	return status;
}

/* A single record is its own transaction. */
static int write_list(struct database *database, const struct store_request *list)
{
	int status;

	if (!list->next && list->count == 1 && !list->clean_before)
		return write_request(database, list);
	status = step(database, BEGIN);
	for (; list && status == SQLITE_OK; list = list->next)
		status = write_request(database, list);
	return status == SQLITE_OK ? step(database, COMMIT) : status;
}

/*
 * Of these SQLite has written less than a commit, so that nobody will ever read it. After any
 * other error the commit may be on disk; memory may also run out behind the last write.
 */
static bool is_refusal(int status)
{
	switch (status & 0xff) {
	case SQLITE_FULL:
	case SQLITE_BUSY:
	case SQLITE_TOOBIG:
	case SQLITE_CONSTRAINT:
		return true;
	}
	return false;
}

/* A negative errno */
static int error_of(int status)
{
	switch (status & 0xff) {
	case SQLITE_FULL:
		return -ENOSPC;
	case SQLITE_NOMEM:
		return -ENOMEM;
	}
	return -EIO;
}

enum store_outcome database_commit(struct database *database, const struct store_request *list,
				   int *error)
{
	int status = write_list(database, list);

	*error = 0;
	if (status == SQLITE_OK)
		return STORE_COMMITTED;
	complain(database, "commit");
	*error = error_of(status);
	if (!sqlite3_get_autocommit(database->handle))
		step(database, ROLLBACK);
	return is_refusal(status) ? STORE_REFUSED : STORE_UNKNOWN;
}

int database_has(struct database *database, uint64_t seq)
{
	sqlite3_stmt *statement = database->statements[HAS];
	int status;

	sqlite3_bind_int64(statement, 1, (sqlite3_int64)seq);
	status = sqlite3_step(statement);
	sqlite3_reset(statement);
	if (status == SQLITE_ROW)
		return 1;
	return status == SQLITE_DONE ? 0 : -EIO;
}
