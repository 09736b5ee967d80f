// SPDX-License-Identifier: GPL-2.0-only
/*
 * load KIND WHERE CLIENTS OPERATION MILLISECONDS PENDING SEED: puts load on a keeper of timeouts,
 * which has PENDING of them, as-0 and so on; prints how many operations ended in how many ns.
 *
 *	KIND	   hwheeld, redis, beanstalkd: WHERE is a Unix socket, or several with commas
 *		   between them, which clients take in turns; table: WHERE is an SQLite database
 *	OPERATION  put: put; recent: put, and cancel that; random: put, and cancel any of those
 *		   pending;
 *		   life: put 16 that are due at once, take them, acknowledge each one
 *
 * An operation is one request that has to be on disk: a put, a cancel, a take or an
 * acknowledgment. Requests of redis are transactions that are sent with one write(); a take is a
 * poll and a transaction. Jobs of beanstalkd have no keys, but ids, which begin at 1 with those
 * pending; a take is as many reserves as there are jobs, in one write(), and is not on disk. The
 * table has a connection for each client, in a thread of its own. One
 * thread with epoll drives all clients of the others.
 */
#include <errno.h>
#include <pthread.h>

#include <sqlite3.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define LIFE	16
#define ROOM	131072

static char payload[101];	/* digits */

enum operation { PUT, RECENT, RANDOM, LIFE_OF_ALL };

static const char *kind, *where;
static enum operation operation;
static unsigned long clients, milliseconds, pending;
static unsigned long long end_ns;

struct client {
	int fd;
	unsigned int number;
	unsigned int step;
	unsigned long long turn;
	unsigned long done;
	unsigned short random[3];
	char key[64];
	char queue[32];			/* of its own, in each run */
	int replies;			/* that are to come */
	size_t length;
	char *in;
	char *out;
	char tokens[LIFE][40];
	size_t taken;
	pthread_t thread;
};

static unsigned long long now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (unsigned long long)now.tv_sec * 1000000000 + (unsigned long long)now.tv_nsec;
}

static unsigned long long wall_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (unsigned long long)now.tv_sec * 1000 + (unsigned long long)now.tv_nsec / 1000000;
}

#define ATTRIBUTE(...)	__attribute__((__VA_ARGS__))

ATTRIBUTE(noreturn)
static void die(const char *what)
{
	fprintf(stderr, "load: %s: %s\n", what, strerror(errno));
	exit(1);
}

/* Keys */

static void new_key(struct client *client)
{
	sprintf(client->key, "key-%u-%llu", client->number, client->turn++);
}

/* One of those pending, which no other client cancels */
static void old_key(struct client *client)
{
	unsigned long n = (unsigned long)nrand48(client->random) % (pending / clients);

	if (operation == RANDOM && pending)
		sprintf(client->key, "as-%lu", n * clients + client->number);
}

static void key_of_life(struct client *client, unsigned int i)
{
	sprintf(client->key, "life-%s-%u", client->queue, i);
}

/* HTTP */

static size_t http(char *out, const char *method, const char *path, const char *body)
{
	return (size_t)sprintf(out, "%s %s HTTP/1.1\r\nHost: h\r\nContent-Length: %zu\r\n\r\n%s",
			       method, path, strlen(body), body);
}

static size_t http_put(struct client *client, const char *delay, const char *queue)
{
	char path[128], body[256];

	sprintf(path, "/timeouts/%s", client->key);
	sprintf(body, "{\"delay\":%s,\"queue\":\"%s\",\"payload\":\"%s\"}", delay, queue, payload);
	return http(client->out, "PUT", path, body);
}

static size_t http_cancel(struct client *client)
{
	char path[128];

	sprintf(path, "/timeouts/%s", client->key);
	return http(client->out, "DELETE", path, "");
}

static size_t http_take(struct client *client)
{
	char path[128];

	sprintf(path, "/queues/%s/take?max=%zu&wait=10&lease=60", client->queue,
		LIFE - client->taken);
	return http(client->out, "POST", path, "");
}

static size_t http_ack(struct client *client, unsigned int i)
{
	char path[128];

	sprintf(path, "/leases/%s", client->tokens[i]);
	return http(client->out, "DELETE", path, "");
}

static void http_taken(struct client *client)
{
	const char *at = client->in;

	while (client->taken < LIFE && (at = strstr(at, "\"token\":\""))) {
		at += 9;
		memcpy(client->tokens[client->taken], at, 32);
		client->tokens[client->taken++][32] = 0;
	}
}

/* Bytes of the answer, or 0: not all of it is there */
static size_t http_length(const char *in, size_t length)
{
	const char *end = memmem(in, length, "\r\n\r\n", 4), *body;
	size_t whole;

	if (!end)
		return 0;
	body = strcasestr(in, "\r\nContent-Length: ");
	whole = (size_t)(end + 4 - in) + (body && body < end ? strtoul(body + 18, NULL, 10) : 0);
	return length >= whole ? whole : 0;
}

/* Redis */

static size_t redis_add(char *out, int count, ...)
{
	size_t length = (size_t)sprintf(out, "*%d\r\n", count);
	va_list words;

	va_start(words, count);
	for (int i = 0; i < count; i++) {
		const char *word = va_arg(words, const char *);

		length += (size_t)sprintf(out + length, "$%zu\r\n%s\r\n", strlen(word), word);
	}
	va_end(words);
	return length;
}

static size_t redis_put(struct client *client, unsigned long long due, const char *set)
{
	char *out = client->out, score[32];
	size_t length;

	sprintf(score, "%llu", due);
	length = redis_add(out, 1, "MULTI");
	length += redis_add(out + length, 4, "HSET", "payloads", client->key, payload);
	length += redis_add(out + length, 4, "ZADD", set, score, client->key);
	length += redis_add(out + length, 1, "EXEC");
	client->replies = 4;
	return length;
}

static size_t redis_cancel(struct client *client, const char *set)
{
	size_t length = redis_add(client->out, 1, "MULTI");

	length += redis_add(client->out + length, 3, "ZREM", set, client->key);
	length += redis_add(client->out + length, 3, "HDEL", "payloads", client->key);
	length += redis_add(client->out + length, 1, "EXEC");
	client->replies = 4;
	return length;
}

static size_t redis_poll(struct client *client, const char *set)
{
	char now[32], count[32];

	sprintf(now, "%llu", wall_ms());
	sprintf(count, "%d", LIFE);
	client->replies = 1;
	return redis_add(client->out, 7, "ZRANGEBYSCORE", set, "-inf", now, "LIMIT", "0", count);
}

/* All that the poll has found, in one transaction */
static size_t redis_take(struct client *client, const char *set)
{
	size_t length = redis_add(client->out, 1, "MULTI");
	char until[32];

	sprintf(until, "%llu", wall_ms() + 60000);
	for (unsigned int i = 0; i < LIFE; i++) {
		key_of_life(client, i);
		length += redis_add(client->out + length, 3, "ZREM", set, client->key);
		length += redis_add(client->out + length, 4, "ZADD", "leases", until, client->key);
		length += redis_add(client->out + length, 3, "HGET", "payloads", client->key);
	}
	length += redis_add(client->out + length, 1, "EXEC");
	client->replies = 2 + 3 * LIFE;
	return length;
}

static size_t reply_length(const char *in, size_t length)
{
	const char *end = memmem(in, length, "\r\n", 2);
	size_t at, part;
	long count;

	if (!end)
		return 0;
	at = (size_t)(end + 2 - in);
	count = strtol(in + 1, NULL, 10);
	if (*in == '-')
		die(in);
	if (*in == '$' && count >= 0)
		return length >= at + (size_t)count + 2 ? at + (size_t)count + 2 : 0;
	for (; *in == '*' && count > 0; count--) {
		part = reply_length(in + at, length - at);
		if (!part)
			return 0;
		at += part;
	}
	return at;
}

/* beanstalkd */

/* Bytes of the reply, or 0: not all of it is there. A job follows its line. */
static size_t line_length(const char *in, size_t length)
{
	const char *end = memmem(in, length, "\r\n", 2);
	size_t whole = end ? (size_t)(end + 2 - in) : 0, job;

	if (end && sscanf(in, "RESERVED %*u %zu", &job) == 1)
		whole += job + 2;
	return length >= whole ? whole : 0;
}

/* Jobs of a life are in a tube of the client's own. */
static void open_tube(const struct client *client)
{
	char text[128], answer[256];
	size_t length = (size_t)sprintf(text, "use %s\r\nwatch %s\r\nignore default\r\n",
					client->queue, client->queue);
	ssize_t got = 0;

	if (write(client->fd, text, length) != (ssize_t)length)
		die("write");
	for (unsigned int lines = 0; lines < 3; lines += answer[got - 1] == '\n') {
		if (read(client->fd, answer + got, 1) != 1 || ++got == sizeof(answer))
			die("tube");
	}
}

/* Keeps the ids of the jobs that were put or taken. */
static void beanstalkd_answered(struct client *client)
{
	const char *at = client->in;

	if (strncmp(at, "DELETED", 7) && strncmp(at, "NOT_FOUND", 9) &&
	    sscanf(at, "INSERTED %39s", client->tokens[0]) != 1 && strncmp(at, "RESERVED", 8))
		die(at);
	for (int i = 0; *at == 'R' && i < client->replies; i++) {
		if (sscanf(at, "RESERVED %39s", client->tokens[i]) != 1)
			die(at);
		at += line_length(at, client->length - (size_t)(at - client->in));
		client->taken++;
	}
}

/* What a client asks next */

static size_t ask_beanstalkd(struct client *client)
{
	bool lives = operation == LIFE_OF_ALL;
	size_t length = 0;

	client->replies = 1;
	if (lives ? client->step < LIFE : client->step % 2 == 0)
		return (size_t)sprintf(client->out, "put 0 %d 60 %zu\r\n%s\r\n",
				       lives ? 0 : 100000, strlen(payload), payload);
	if (lives && client->step == LIFE) {
		client->taken = 0;
		client->replies = LIFE;
		for (unsigned int i = 0; i < LIFE; i++)
			length += (size_t)sprintf(client->out + length,
						  "reserve-with-timeout 10\r\n");
		return length;
	}
	if (operation == RANDOM) {
		old_key(client);
		sprintf(client->tokens[0], "%lu", strtoul(client->key + 3, NULL, 10) + 1);
	}
	return (size_t)sprintf(client->out, "delete %s\r\n",
			       client->tokens[lives ? client->step - LIFE - 1 : 0]);
}

static size_t ask_http(struct client *client)
{
	if (operation != LIFE_OF_ALL) {
		if (client->step % 2) {
			old_key(client);
			return http_cancel(client);
		}
		new_key(client);
		return http_put(client, "100000", "default");
	}
	if (client->step < LIFE) {
		client->taken = 0;
		key_of_life(client, client->step);
		return http_put(client, "0", client->queue);
	}
	if (client->taken < LIFE) {
		client->step = LIFE;
		return http_take(client);
	}
	return http_ack(client, client->step - LIFE - 1);
}

static size_t ask_redis(struct client *client)
{
	const char *set = "timeouts";

	if (operation != LIFE_OF_ALL) {
		if (client->step % 2) {
			old_key(client);
			return redis_cancel(client, set);
		}
		new_key(client);
		return redis_put(client, wall_ms() + 100000000, set);
	}
	set = client->queue;
	if (client->step < LIFE) {
		key_of_life(client, client->step);
		return redis_put(client, wall_ms(), set);
	}
	if (client->step == LIFE)
		return redis_poll(client, set);
	if (client->step == LIFE + 1)
		return redis_take(client, set);
	key_of_life(client, client->step - LIFE - 2);
	return redis_cancel(client, "leases");
}

static bool is_redis(void)
{
	return !strcmp(kind, "redis");
}

static bool is_beanstalkd(void)
{
	return !strcmp(kind, "beanstalkd");
}

static void ask(struct client *client)
{
	size_t length = is_redis() ? ask_redis(client) :
			is_beanstalkd() ? ask_beanstalkd(client) : ask_http(client);

	client->length = 0;
	if (write(client->fd, client->out, length) != (ssize_t)length)
		die("write");
}

static bool is_whole(struct client *client)
{
	size_t at = 0, part;

	if (!is_redis() && !is_beanstalkd())
		return http_length(client->in, client->length);
	for (int i = 0; i < client->replies; i++) {
		part = is_redis() ? reply_length(client->in + at, client->length - at) :
				    line_length(client->in + at, client->length - at);
		if (!part)
			return false;
		at += part;
	}
	return true;
}

/* A cancel of what is cancelled already answers so, and counts for all kinds. */
static void judge(struct client *client)
{
	if (is_beanstalkd()) {
		beanstalkd_answered(client);
		return;
	}
	if (!is_redis() && client->in[9] != '2' && strncmp(client->in + 9, "404", 3))
		die(client->in);
	if (!is_redis() && operation == LIFE_OF_ALL && client->step == LIFE)
		http_taken(client);
}

static void go_on(struct client *client)
{
	unsigned int steps = operation == LIFE_OF_ALL ? (is_redis() ? 2 : 1) + 2 * LIFE :
			     operation == PUT ? 1 : 2;
	bool poll = is_redis() && operation == LIFE_OF_ALL && client->step == LIFE;

	client->done += !poll;
	if (!(operation == LIFE_OF_ALL && !is_redis() && client->step == LIFE &&
	      client->taken < LIFE))
		client->step = (client->step + 1) % steps;
}

static void hear(struct client *client)
{
	ssize_t got = read(client->fd, client->in + client->length, ROOM - client->length - 1);

	if (got <= 0)
		die("read");
	client->length += (size_t)got;
	client->in[client->length] = 0;
	if (!is_whole(client))
		return;
	judge(client);
	go_on(client);
	if (now_ns() < end_ns)
		ask(client);
	else
		client->length = ROOM;
}

static int connect_to(const char *path, int length)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	snprintf(address.sun_path, sizeof(address.sun_path), "%.*s", length, path);
	if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof(address)))
		die(address.sun_path);
	return fd;
}

/* The next path of the list */
static int connect_in_turns(void)
{
	static const char *at;
	const char *path = at && *at ? at + 1 : where;

	at = strchrnul(path, ',');
	return connect_to(path, (int)(at - path));
}

static void drive(struct client *all)
{
	struct epoll_event events[64];
	int epoll = epoll_create1(0), count;
	unsigned long left = clients;

	for (unsigned long i = 0; i < clients; i++) {
		struct epoll_event event = { .events = EPOLLIN, .data.ptr = &all[i] };

		all[i].fd = connect_in_turns();
		if (is_beanstalkd())
			open_tube(&all[i]);
		epoll_ctl(epoll, EPOLL_CTL_ADD, all[i].fd, &event);
		ask(&all[i]);
	}
	while (left) {
		count = epoll_wait(epoll, events, 64, -1);
		for (int i = 0; i < count; i++) {
			struct client *client = events[i].data.ptr;

			hear(client);
			left -= client->length == ROOM;
		}
	}
}

/* A table that is polled */

static void run(sqlite3 *handle, const char *text)
{
	char *error = NULL;

	if (sqlite3_exec(handle, text, NULL, NULL, &error)) {
		fprintf(stderr, "load: %s: %s\n", text, error);
		exit(1);
	}
}

static sqlite3 *open_table(void)
{
	static const char create[] =
	"CREATE TABLE IF NOT EXISTS timeouts (key PRIMARY KEY, queue, due, payload) WITHOUT ROWID";
	sqlite3 *handle;

	if (sqlite3_open(where, &handle))
		die(where);
	sqlite3_busy_timeout(handle, 60000);
	run(handle, "PRAGMA journal_mode=WAL");
	run(handle, "PRAGMA synchronous=FULL");
	run(handle, create);
	run(handle, "CREATE INDEX IF NOT EXISTS by_due ON timeouts (queue, due)");
	return handle;
}

static void table_put(sqlite3_stmt *put, struct client *client, const char *queue,
		      unsigned long long due)
{
	sqlite3_bind_text(put, 1, client->key, -1, SQLITE_STATIC);
	sqlite3_bind_text(put, 2, queue, -1, SQLITE_STATIC);
	sqlite3_bind_int64(put, 3, (sqlite3_int64)due);
	sqlite3_bind_text(put, 4, payload, -1, SQLITE_STATIC);
	if (sqlite3_step(put) != SQLITE_DONE)
		die("put");
	sqlite3_reset(put);
}

static void table_cancel(sqlite3_stmt *cancel, struct client *client)
{
	sqlite3_bind_text(cancel, 1, client->key, -1, SQLITE_STATIC);
	if (sqlite3_step(cancel) != SQLITE_DONE)
		die("cancel");
	sqlite3_reset(cancel);
}

static void table_take(sqlite3_stmt *take, const char *queue)
{
	unsigned long long now = wall_ms();

	sqlite3_bind_int64(take, 1, (sqlite3_int64)now + 60000);
	sqlite3_bind_text(take, 2, queue, -1, SQLITE_STATIC);
	sqlite3_bind_int64(take, 3, (sqlite3_int64)now);
	while (sqlite3_step(take) == SQLITE_ROW)
		;
	if (sqlite3_reset(take))
		die("take");
}

static void live(struct client *client, sqlite3_stmt **statements)
{
	for (unsigned int i = 0; i < LIFE; i++) {
		key_of_life(client, i);
		table_put(statements[0], client, client->queue, wall_ms());
	}
	table_take(statements[2], client->queue);
	for (unsigned int i = 0; i < LIFE; i++) {
		key_of_life(client, i);
		table_cancel(statements[1], client);
	}
	client->done += 2 * LIFE + 1;
}

static const char take[] =
	"UPDATE timeouts SET due = ?1 WHERE queue = ?2 AND due <= ?3 RETURNING key, payload";

static void *run_table(void *data)
{
	static const char *const texts[] = {
		"REPLACE INTO timeouts (key, queue, due, payload) VALUES (?1, ?2, ?3, ?4)",
		"DELETE FROM timeouts WHERE key = ?1",
		take,
	};
	struct client *client = data;
	sqlite3 *handle = open_table();
	sqlite3_stmt *statements[3];

	for (int i = 0; i < 3; i++)
		if (sqlite3_prepare_v2(handle, texts[i], -1, &statements[i], NULL))
			die("prepare");
	while (now_ns() < end_ns) {
		if (operation == LIFE_OF_ALL) {
			live(client, statements);
			continue;
		}
		new_key(client);
		table_put(statements[0], client, "default", wall_ms() + 100000000);
		client->done++;
		if (operation == PUT)
			continue;
		old_key(client);
		table_cancel(statements[1], client);
		client->done++;
	}
	for (int i = 0; i < 3; i++)
		sqlite3_finalize(statements[i]);
	sqlite3_close(handle);
	return NULL;
}

static void run_tables(struct client *all)
{
	sqlite3_close(open_table());
	for (unsigned long i = 0; i < clients; i++)
		if (pthread_create(&all[i].thread, NULL, run_table, &all[i]))
			die("thread");
	for (unsigned long i = 0; i < clients; i++)
		pthread_join(all[i].thread, NULL);
}

static enum operation parse_operation(const char *name)
{
	static const char *const names[] = { "put", "recent", "random", "life" };

	for (unsigned int i = 0; i < 4; i++)
		if (!strcmp(name, names[i]))
			return (enum operation)i;
	fprintf(stderr, "load: %s: no such operation\n", name);
	exit(2);
}

int main(int argc, char **argv)
{
	unsigned long long since, done = 0;
	struct client *all;

	if (argc != 8)
		return 2;
	for (unsigned int i = 0; i < sizeof(payload) - 1; i++)
		payload[i] = (char)('0' + i % 10);
	kind = argv[1];
	where = argv[2];
	clients = strtoul(argv[3], NULL, 10);
	operation = parse_operation(argv[4]);
	milliseconds = strtoul(argv[5], NULL, 10);
	pending = strtoul(argv[6], NULL, 10);
	all = calloc(clients, sizeof(*all));
	for (unsigned long i = 0; i < clients; i++) {
		all[i].number = (unsigned int)i;
		all[i].turn = strtoull(argv[7], NULL, 10) << 32;
		snprintf(all[i].queue, sizeof(all[i].queue), "q%lu-%lu-%lu",
			 strtoul(argv[7], NULL, 10) % 1000000, clients % 1000, i % 1000);
		all[i].random[0] = (unsigned short)(i + strtoul(argv[7], NULL, 10));
		all[i].in = malloc(ROOM);
		all[i].out = malloc(ROOM);
	}
	since = now_ns();
	end_ns = since + milliseconds * 1000000;
	if (!strcmp(kind, "table"))
		run_tables(all);
	else
		drive(all);
	for (unsigned long i = 0; i < clients; i++)
		done += all[i].done;
	printf("%llu %llu\n", done, now_ns() - since);
	return 0;
}
