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

enum { BEGIN, COMMIT, ROLLBACK, INSERT, CLEAN, REMOVE, HAS, MARK, STATEMENTS };

static const char *const database_sql[STATEMENTS] = {
	[BEGIN]	   = "BEGIN IMMEDIATE",
	[COMMIT]   = "COMMIT",
	[ROLLBACK] = "ROLLBACK",
	[INSERT]   = "INSERT INTO log (seq, record) VALUES (?1, ?2)",
	[CLEAN]	   = "DELETE FROM log WHERE seq < ?1",
	[REMOVE]   = "DELETE FROM log WHERE seq = ?1",
	[HAS]	   = "SELECT 1 FROM log WHERE seq = ?1",
	[MARK]	   = "REPLACE INTO time VALUES (1, ?1, ?2, ?3, ?4)",
};

#define TEXT(number)	#number
#define TEXT_OF(macro)	TEXT(macro)

/* Pages are small, as a commit writes whole ones, and a record has 200 bytes or so. */
#define DATABASE_PAGE		1024

/* The write-ahead log goes to the database when it has so many pages, and begins anew. */
#define DATABASE_LOG_PAGES	3500

/*
 * Bytes of the write-ahead log: those pages with their frames, and behind them the largest commit
 * that a full disk has to take, a step of cleaning. A log that a larger commit has made longer is
 * cut.
 */
#define DATABASE_LOG_LENGTH	8388608

/* Bytes of a database that is new */
#define DATABASE_LEAST		4194304

#define DATABASE_CREATE_TIME \
	"CREATE TABLE IF NOT EXISTS time (one INTEGER PRIMARY KEY, boot_id, at_ns, wall_ns, offset_ns)"

struct database {
	sqlite3 *handle;
	struct sqlite3_stmt *statements[STATEMENTS];
	int fd;					/* of the database, open as long as the handle */
	int log;				/* of the write-ahead log */
	uint64_t room;				/* bytes that are allocated */
	uint64_t limit;				/* of them, which SQLite was told of */
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
		"PRAGMA journal_size_limit=" TEXT_OF(DATABASE_LOG_LENGTH),
		pragma,
		"CREATE TABLE IF NOT EXISTS log (seq INTEGER PRIMARY KEY, record BLOB)",
		"DROP TABLE IF EXISTS space",
		DATABASE_CREATE_TIME,
		"PRAGMA wal_checkpoint(RESTART)",
	};

	snprintf(pragma, sizeof(pragma), "PRAGMA synchronous=%s", synchronous);
	for (size_t i = 0; i < ARRAY_SIZE(steps) && status == SQLITE_OK; i++)
		status = database_run(database, steps[i]);
	return status;
}

/*
 * After a checkpoint SQLite cuts the file behind its last page. What is allocated stays: the files
 * of a process that are cut are this database and its write-ahead log.
 */
static struct {
	ino_t inode;
	uint64_t room;
} database_kept;

static int database_truncate(int fd, off_t size)
{
	struct stat file;

	if (!fstat(fd, &file) && file.st_ino == database_kept.inode &&
	    (uint64_t)size <= __atomic_load_n(&database_kept.room, __ATOMIC_RELAXED))
		return 0;
	return ftruncate(fd, size);
}

uint64_t database_room(const struct database *database)
{
	return database->room;
}

int database_reserve(struct database *database, uint64_t bytes)
{
	uint64_t room = (bytes + DATABASE_PAGE - 1) / DATABASE_PAGE * DATABASE_PAGE;
	struct stat log;
	int error = fstat(database->log, &log) ? errno : 0;

	/* Where a file system has no such call, the C library writes into the file instead. */
	if (!error && log.st_size < DATABASE_LOG_LENGTH)
		error = posix_fallocate(database->log, 0, DATABASE_LOG_LENGTH);
	if (!error && room > database->room) {
		error = posix_fallocate(database->fd, (off_t)database->room,
					(off_t)(room - database->room));
		/* Others may have what it got of that. */
		if (error && ftruncate(database->fd, (off_t)database->room))
			error = errno;
	}
	if (error)
		return -error;
	if (room > database->room)
		__atomic_store_n(&database->room, room, __ATOMIC_RELAXED);
	__atomic_store_n(&database_kept.room, database->room, __ATOMIC_RELAXED);
	return 0;
}

/* SQLite refuses with SQLITE_FULL what needs more. */
static int database_set_limit(struct database *database)
{
	uint64_t room = __atomic_load_n(&database->room, __ATOMIC_RELAXED);
	char pragma[64];
	int status;

	if (room == database->limit)
		return SQLITE_OK;
	snprintf(pragma, sizeof(pragma), "PRAGMA max_page_count=%llu",
		 (unsigned long long)room / DATABASE_PAGE);
	status = database_run(database, pragma);
	if (status == SQLITE_OK)
		database->limit = room;
	return status;
}

/* Zeros are no frames of SQLite's. */
static void database_lengthen_log(const struct database *database)
{
	static const char zeros[65536];
	struct stat file;

	if (fstat(database->log, &file))
		return;
	while (file.st_size < DATABASE_LOG_LENGTH) {
		ssize_t written = pwrite(database->log, zeros, sizeof(zeros), file.st_size);

		if (written <= 0)
			return;
		file.st_size += written;
	}
}

/*
 * Payloads are nobody else's business. What the database has is kept before SQLite's first
 * checkpoint, which would cut it.
 */
static int database_open_files(struct database *database, const char *path)
{
	sqlite3_vfs *vfs = sqlite3_vfs_find(NULL);
	mode_t before = umask(0077);
	struct stat file;
	char *log = NULL;

	if (asprintf(&log, "%s-wal", path) > 0) {
		database->fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
		database->log = open(log, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	}
	umask(before);
	free(log);
	if (database->fd < 0 || database->log < 0 || fstat(database->fd, &file))
		return SQLITE_CANTOPEN;
	database->room = (uint64_t)file.st_size / DATABASE_PAGE * DATABASE_PAGE;
	database_kept.room = database->room;
	database_kept.inode = file.st_ino;
	return vfs->xSetSystemCall(vfs, "ftruncate", (sqlite3_syscall_ptr)database_truncate);
}

/* What the files have is allocated, too; holes are filled. A full disk stops no start. */
static int database_take_room(struct database *database)
{
	int is_kept = 1;

	sqlite3_file_control(database->handle, NULL, SQLITE_FCNTL_PERSIST_WAL, &is_kept);
	database_lengthen_log(database);
	if ((database->room && posix_fallocate(database->fd, 0, (off_t)database->room)) ||
	    database_reserve(database, DATABASE_LEAST))
		say(LOG_WARNING, "store: the disk is full");
	return database_set_limit(database);
}

static int database_open_handle(struct database *database, const char *path,
				const char *synchronous)
{
	int status = database_open_files(database, path);

	if (status == SQLITE_OK)
		status = sqlite3_open_v2(path, &database->handle, SQLITE_OPEN_READWRITE |
					 SQLITE_OPEN_NOMUTEX, NULL);
	if (status == SQLITE_OK)
		status = database_set_up(database, synchronous);
	if (status == SQLITE_OK)
		status = database_take_room(database);
	for (size_t i = 0; i < STATEMENTS && status == SQLITE_OK; i++)
		status = sqlite3_prepare_v3(database->handle, database_sql[i], -1,
					    SQLITE_PREPARE_PERSISTENT,
					    &database->statements[i], NULL);
	return status;
}

static void database_complain(const struct database *database, const char *what)
{
	say(LOG_ERR, "store: %s: %s", what, database->handle ? sqlite3_errmsg(database->handle) :
	    strerror(errno));
}

struct database *database_open(const char *path, const char *synchronous)
{
	struct database *database = memory_get(1, sizeof(*database));

	database->fd = -1;
	database->log = -1;
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
	/* The write-ahead log keeps its length, for a start with a full disk. */
	database_run(database, "PRAGMA journal_size_limit=-1");
	sqlite3_close(database->handle);
	close(database->fd);
	close(database->log);
	free(database->bytes);
	free(database);
}

/* Reading */

static bool database_decode(sqlite3_stmt *row, int column, struct record *record)
{
	const unsigned char *bytes = sqlite3_column_blob(row, column);

	return bytes && record_decode(record, bytes, (size_t)sqlite3_column_bytes(row, column));
}

/*
 * Calls @each for all records, sound or not, with what could be read; a false one ends it. Returns
 * 0 or a negative errno.
 */
static int database_walk(struct database *database, void *data,
			 bool (*each)(void *data, struct record *record, int size, bool is_sound))
{
	static const char all[] = "SELECT seq, record FROM log ORDER BY seq";
	struct record record;
	sqlite3_stmt *rows;
	int status;

	status = sqlite3_prepare_v2(database->handle, all, -1, &rows, NULL);
	while (status == SQLITE_OK || status == SQLITE_ROW) {
		bool is_sound;

		status = sqlite3_step(rows);
		if (status != SQLITE_ROW)
			break;
		is_sound = database_decode(rows, 1, &record);
		record.seq = (uint64_t)sqlite3_column_int64(rows, 0);
		if (!each(data, &record, sqlite3_column_bytes(rows, 1), is_sound))
			status = SQLITE_CORRUPT;
	}
	sqlite3_finalize(rows);
	if (status != SQLITE_DONE)
		database_complain(database, "load");
	return status == SQLITE_DONE ? 0 : -EIO;
}

struct load {
	store_each each;
	void *data;
	bool is_damaged;
};

/* A damaged one may have ended any timeout: without it, none can be served as if nothing were. */
static bool database_load_one(void *data, struct record *record, int size, bool is_sound)
{
	struct load *load = data;

	if (!is_sound)
		say(LOG_CRIT, "store: record %llu, of %d bytes, is damaged, and nothing is served",
		    (unsigned long long)record->seq, size);
	load->is_damaged |= !is_sound;
	if (!load->is_damaged)
		load->each(load->data, record);
	return true;
}

int database_load(struct database *database, store_each each, void *data, bool *is_damaged)
{
	struct load load = { .each = each, .data = data };
	int error = database_walk(database, &load, database_load_one);

	*is_damaged = load.is_damaged;
	if (load.is_damaged)
		say(LOG_CRIT, "store: restore a copy, or remove it: POST /cluster/shards/0/accept");
	return error;
}

/* A row that the walk is at may be removed. */
static bool database_discard_one(void *data, struct record *record, int size, bool is_sound)
{
	struct database *database = data;

	if (is_sound)
		return true;
	say(LOG_WARNING, "store: record %llu, of %d bytes, is removed, as it is damaged",
	    (unsigned long long)record->seq, size);
	sqlite3_bind_int64(database->statements[REMOVE], 1, (sqlite3_int64)record->seq);
	return database_step(database, REMOVE) == SQLITE_OK;
}

int database_discard(struct database *database)
{
	return database_walk(database, database, database_discard_one);
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
			status = database_insert(database, list->records[i].seq, &list->records[i]);
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
	int status = database_set_limit(database) ?: database_write(database, list);

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
