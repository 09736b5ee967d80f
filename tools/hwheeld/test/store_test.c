// SPDX-License-Identifier: GPL-2.0-only
/* Records, the store, its time, and the index, without the module. */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "kselftest_harness.h"

#include "clock/now.h"
#include "log/clean.h"
#include "log/log.h"
#include "queue/change.h"
#include "queue/timeout.h"
#include "store/database.h"
#include "store/store.h"
#include "text.h"

static struct record example(void)
{
	return (struct record) {
		.type = RECORD_RESTART, .absolute = true, .deliveries = 7, .at_ns = 1ULL << 40,
		.wall_ns = 3, .deadline_ns = ~0ULL, .lease_ns = 5, .token = "0123456789abcde",
		.key = { "key", 3, 0, 0 }, .queue = "queue", .queue_length = 5,
		.payload = "pay\0load", .payload_length = 8,
	};
}

TEST(a_record_comes_back)
{
	struct record record = example(), back;
	unsigned char bytes[256];
	size_t size = record_size(&record);

	ASSERT_LE(size, sizeof(bytes));
	record_encode(&record, bytes);
	ASSERT_TRUE(record_decode(&back, bytes, size));
	EXPECT_EQ(RECORD_RESTART, back.type);
	EXPECT_TRUE(back.absolute);
	EXPECT_EQ(7, back.deliveries);
	EXPECT_EQ(1ULL << 40, back.at_ns);
	EXPECT_EQ(3, back.wall_ns);
	EXPECT_EQ(~0ULL, back.deadline_ns);
	EXPECT_EQ(5, back.lease_ns);
	EXPECT_EQ(0, memcmp("0123456789abcde", back.token, TOKEN_SIZE));
	EXPECT_EQ(3, back.key.length);
	EXPECT_EQ(0, memcmp("key", back.key.text, 3));
	EXPECT_EQ(0, memcmp("queue", back.queue, 5));
	EXPECT_EQ(8, back.payload_length);
	EXPECT_EQ(0, memcmp("pay\0load", back.payload, 8));
}

TEST(a_damaged_record_is_refused)
{
	struct record record = example(), back;
	unsigned char bytes[256];
	size_t size = record_size(&record);

	record_encode(&record, bytes);
	for (size_t i = 0; i < 8 * size; i++) {
		bytes[i / 8] ^= (unsigned char)(1 << i % 8);
		EXPECT_FALSE(record_decode(&back, bytes, size));
		bytes[i / 8] ^= (unsigned char)(1 << i % 8);
	}
	for (size_t cut = 0; cut < size; cut++)
		EXPECT_FALSE(record_decode(&back, bytes, cut));
	EXPECT_FALSE(record_decode(&back, bytes, size + 1));
}

TEST(a_record_of_random_bytes_is_within_them)
{
	unsigned char bytes[300];
	struct record record;
	int found = 0;

	srandom(1);
	for (int turn = 0; turn < 200000; turn++) {
		size_t size = (size_t)random() % sizeof(bytes);

		for (size_t i = 0; i < size; i++)
			bytes[i] = (unsigned char)(random() % 4 ? 0 : random());
		bytes[0] = 2;
		memset(bytes + 6, 0, 2);
		if (size >= 72) {
			uint32_t left = (uint32_t)size - 72 - bytes[3] - bytes[4];
			uint64_t sum;

			/* The lengths fit, or not. */
			bytes[5] = 0;
			if (random() % 2)
				memcpy(bytes + 8, &left, sizeof(left));
			sum = XXH64(bytes + 72, size - 72, XXH64(bytes, 64, 0));
			memcpy(bytes + 64, &sum, sizeof(sum));
		}
		if (!record_decode(&record, bytes, size))
			continue;
		found++;
		EXPECT_EQ(size, record_size(&record));
		EXPECT_GE(record.payload, (const char *)bytes);
		EXPECT_LE(record.payload + record.payload_length, (const char *)bytes + size);
	}
	EXPECT_LT(0, found);
}

/* The store */

#define REQUESTS	10

static bool finds_all;

/* In place of database_has(), see tools/Makefile */
__typeof__(database_has) __real_database_has, __wrap_database_has;

int __wrap_database_has(struct database *database, uint64_t seq)
{
	return finds_all ? 1 : __real_database_has(database, seq);
}

FIXTURE(store)
{
	char folder[64];
	char path[80];
	struct store *store;
	struct record records[REQUESTS][2];
	struct store_request requests[REQUESTS];
};

static int ended[REQUESTS + 1];
static int endings;

static void done(struct store_request *request)
{
	if (request->outcome == STORE_UNKNOWN)
		return;
	ended[endings++ % (REQUESTS + 1)] = (int)request->records->seq;
}

FIXTURE_SETUP(store)
{
	snprintf(self->folder, sizeof(self->folder), "/tmp/store_test.XXXXXX");
	ASSERT_NE(NULL, mkdtemp(self->folder));
	snprintf(self->path, sizeof(self->path), "%s/log", self->folder);
	self->store = sqlite_store_open(self->path, "FULL");
	ASSERT_NE(NULL, self->store);
	endings = 0;
}

FIXTURE_TEARDOWN(store)
{
	char command[128];

	if (self->store)
		self->store->ops->close(self->store);
	snprintf(command, sizeof(command), "rm -rf %s", self->folder);
	EXPECT_EQ(0, system(command));
}

#define store_data	FIXTURE_DATA(store)

static void submit(struct __test_metadata *_metadata, store_data *self, int i)
{
	struct store_request *request = &self->requests[i];

	for (int part = 0; part < 2; part++)
		self->records[i][part] = example();
	*request = (struct store_request) {
		.records = self->records[i], .count = 2, .done = done,
	};
	self->store->ops->submit(self->store, request);
	EXPECT_EQ(1 + 2 * (uint64_t)i, request->records->seq);
}

static void wait_for(store_data *self, int count)
{
	struct pollfd event = { .fd = self->store->fd, .events = POLLIN };

	while (endings < count) {
		poll(&event, 1, -1);
		self->store->ops->reap(self->store);
	}
}

static uint64_t loaded[64];
static int loads;

static void each(void *data, struct record *record)
{
	(void)data;
	loaded[loads++ % 64] = record->key.length == 3 ? record->seq : 0;
}

static void reopen(struct __test_metadata *_metadata, store_data *self)
{
	self->store->ops->close(self->store);
	self->store = sqlite_store_open(self->path, "FULL");
	ASSERT_NE(NULL, self->store);
	loads = 0;
	ASSERT_EQ(0, self->store->ops->load(self->store, each, NULL));
}

TEST_F(store, two_requests_are_committed_at_once)
{
	submit(_metadata, self, 0);
	submit(_metadata, self, 1);
	EXPECT_EQ(0, endings);
	self->store->ops->flush(self->store);
	EXPECT_EQ(2, endings);
	EXPECT_EQ(STORE_COMMITTED, self->requests[0].outcome);
	reopen(_metadata, self);
	ASSERT_EQ(4, loads);
	for (int i = 0; i < 4; i++)
		EXPECT_EQ(i + 1, loaded[i]);
}

/* Others follow it, as they followed each other before. */
TEST_F(store, the_first_behind_a_large_commit_waits_for_more)
{
	for (int i = 0; i < 4; i++)
		submit(_metadata, self, i);
	self->store->ops->flush(self->store);
	wait_for(self, 4);
	submit(_metadata, self, 4);
	self->store->ops->flush(self->store);
	EXPECT_EQ(4, endings);
	wait_for(self, 5);
	submit(_metadata, self, 5);
	self->store->ops->flush(self->store);
	EXPECT_EQ(6, endings);
}

TEST_F(store, many_requests_are_one_commit_of_the_writer)
{
	struct store_figures figures;

	for (int i = 0; i < REQUESTS; i++)
		submit(_metadata, self, i);
	self->store->ops->flush(self->store);
	wait_for(self, REQUESTS);
	for (int i = 0; i < REQUESTS; i++) {
		EXPECT_EQ(STORE_COMMITTED, self->requests[i].outcome);
		EXPECT_EQ(1 + 2 * i, ended[i]);
	}
	figures = self->store->figures;
	EXPECT_EQ(1, figures.commits);
	EXPECT_EQ(2 * REQUESTS, figures.records);
}

TEST_F(store, close_commits_what_waits)
{
	for (int i = 0; i < REQUESTS; i++)
		submit(_metadata, self, i);
	self->store->ops->flush(self->store);
	reopen(_metadata, self);
	EXPECT_EQ(REQUESTS, endings);
	EXPECT_EQ(2 * REQUESTS, loads);
}

TEST_F(store, the_oldest_end_is_cleaned_with_a_commit)
{
	for (int i = 0; i < 3; i++)
		submit(_metadata, self, i);
	self->requests[2].clean_before = 4;
	self->store->ops->flush(self->store);
	wait_for(self, 3);
	reopen(_metadata, self);
	ASSERT_EQ(3, loads);
	EXPECT_EQ(4, loaded[0]);
	EXPECT_EQ(6, loaded[2]);
}

TEST_F(store, an_unknown_outcome_becomes_known)
{
	struct rlimit limit, none = { 512, RLIM_INFINITY };

	signal(SIGXFSZ, SIG_IGN);
	submit(_metadata, self, 0);
	self->store->ops->flush(self->store);
	wait_for(self, 1);
	ASSERT_EQ(0, getrlimit(RLIMIT_FSIZE, &limit));
	none.rlim_max = limit.rlim_max;
	ASSERT_EQ(0, setrlimit(RLIMIT_FSIZE, &none));
	submit(_metadata, self, 1);
	self->store->ops->flush(self->store);
	/* The writer has it if the disk was slow. */
	while (!self->store->ops->is_lost(self->store))
		self->store->ops->reap(self->store);
	EXPECT_EQ(STORE_UNKNOWN, self->requests[1].outcome);
	submit(_metadata, self, 2);
	self->store->ops->flush(self->store);
	wait_for(self, 2);
	EXPECT_EQ(STORE_REFUSED, self->requests[2].outcome);
	self->store->ops->recover(self->store);
	EXPECT_TRUE(self->store->ops->is_lost(self->store));
	ASSERT_EQ(0, setrlimit(RLIMIT_FSIZE, &limit));
	self->store->ops->recover(self->store);
	EXPECT_FALSE(self->store->ops->is_lost(self->store));
	EXPECT_EQ(STORE_REFUSED, self->requests[1].outcome);
	EXPECT_EQ(3, endings);
	submit(_metadata, self, 3);
	self->store->ops->flush(self->store);
	wait_for(self, 4);
	EXPECT_EQ(STORE_COMMITTED, self->requests[3].outcome);
	reopen(_metadata, self);
	ASSERT_EQ(4, loads);
	EXPECT_EQ(2, loaded[1]);
	EXPECT_EQ(7, loaded[2]);
}

/* A commit that failed behind its last write is there, and its request has no error then. */
TEST_F(store, a_commit_that_is_found_has_no_error)
{
	struct rlimit limit, none = { 512, RLIM_INFINITY };

	signal(SIGXFSZ, SIG_IGN);
	ASSERT_EQ(0, getrlimit(RLIMIT_FSIZE, &limit));
	none.rlim_max = limit.rlim_max;
	ASSERT_EQ(0, setrlimit(RLIMIT_FSIZE, &none));
	submit(_metadata, self, 0);
	self->store->ops->flush(self->store);
	EXPECT_EQ(STORE_UNKNOWN, self->requests[0].outcome);
	EXPECT_EQ(-EIO, self->requests[0].error);
	ASSERT_EQ(0, setrlimit(RLIMIT_FSIZE, &limit));
	finds_all = true;
	self->store->ops->recover(self->store);
	finds_all = false;
	EXPECT_EQ(STORE_COMMITTED, self->requests[0].outcome);
	EXPECT_EQ(0, self->requests[0].error);
	EXPECT_EQ(1, endings);
}

TEST_F(store, a_damaged_row_is_not_passed_over)
{
	sqlite3 *database;

	submit(_metadata, self, 0);
	self->store->ops->flush(self->store);
	self->store->ops->close(self->store);
	ASSERT_EQ(SQLITE_OK, sqlite3_open(self->path, &database));
	ASSERT_EQ(SQLITE_OK, sqlite3_exec(database, "UPDATE log SET record = x'01' WHERE seq = 2",
					  NULL, NULL, NULL));
	sqlite3_close(database);
	self->store = sqlite_store_open(self->path, "FULL");
	ASSERT_NE(NULL, self->store);
	loads = 0;
	EXPECT_EQ(0, self->store->ops->load(self->store, each, NULL));
	EXPECT_TRUE(self->store->is_damaged);
	EXPECT_EQ(1, loads);
	EXPECT_EQ(0, self->store->ops->discard(self->store));
	EXPECT_EQ(0, self->store->ops->load(self->store, each, NULL));
	EXPECT_FALSE(self->store->is_damaged);
	EXPECT_EQ(2, loads);
}

TEST_F(store, time_comes_back)
{
	struct store_time time = { "boot", 5, 6, -7 }, back;

	self->store->ops->time(self->store, &back);
	EXPECT_STREQ("", back.boot_id);
	ASSERT_EQ(0, self->store->ops->mark(self->store, &time));
	reopen(_metadata, self);
	self->store->ops->time(self->store, &back);
	EXPECT_STREQ("boot", back.boot_id);
	EXPECT_EQ(5, back.at_ns);
	EXPECT_EQ(6, back.wall_ns);
	EXPECT_EQ(-7, back.offset_ns);
	submit(_metadata, self, 0);
	self->store->ops->flush(self->store);
	self->store->ops->time(self->store, &back);
	EXPECT_EQ(1ULL << 40, back.at_ns);
	EXPECT_EQ(3, back.wall_ns);
}

/* Time */

TEST(time_goes_on)
{
	struct store_time none = { "", 0, 0, 0 }, old = { "old", 1000, 500, 0 };
	struct store_time same = { "this", 1000, 500, 123 };

	EXPECT_EQ(0, now_offset(&none, "this", 50, 500));
	EXPECT_EQ(123, now_offset(&same, "this", 50, 999));
	EXPECT_EQ(1000 + 100 - 50, now_offset(&old, "this", 50, 600));
	EXPECT_EQ(1000 - 50, now_offset(&old, "this", 50, 400));
	EXPECT_EQ(1000 - 5000, now_offset(&old, "this", 5000, 500));
}

/* The index */

TEST(timeouts_are_found_until_they_are_removed)
{
	struct key keys[] = { hash_key("one", 3, 0), hash_key("two", 3, 0), hash_key("on", 2, 0) };
	struct record record = { .payload = "payload", .payload_length = 7 };
	struct service service = { 0 };
	struct queue *queue = queue_get(&service, "q", 1, 10);
	struct timeout *one, *two;
	unsigned char token[TOKEN_SIZE] = "token";

	log_begin(&service);
	ASSERT_NE(NULL, queue);
	EXPECT_EQ(NULL, queue_get(&service, "r", 1, 1));
	queue->timeouts = 2;
	one = timeout_add(queue, &keys[0]);
	two = timeout_add(queue, &keys[1]);
	timeout_take_over(one, &record);
	EXPECT_EQ(one, timeout_find(&service, &keys[0]));
	EXPECT_EQ(NULL, timeout_find(&service, &keys[2]));
	timeout_logged(one, 1);
	timeout_logged(two, 2);
	EXPECT_EQ(one, service.logs->oldest);
	timeout_logged(one, 3);
	EXPECT_EQ(two, service.logs->oldest);
	timeout_lease(one, token, 5);
	EXPECT_EQ(one, timeout_find_leased(&service, token));
	timeout_end_lease(one);
	EXPECT_EQ(NULL, timeout_find_leased(&service, token));
	timeout_add_due(two);
	EXPECT_EQ(two, queue->due);
	EXPECT_EQ(timeout_bytes_of(3, 7) + timeout_bytes_of(3, 0), service.timeouts_bytes);
	timeout_remove(two);
	EXPECT_EQ(NULL, queue->due);
	EXPECT_EQ(NULL, timeout_find(&service, &keys[1]));
	timeout_remove(one);
	EXPECT_EQ(0, timeout_count(&service));
	EXPECT_EQ(0, service.timeouts_bytes);
	EXPECT_EQ(0, service.logs->timeouts);
	EXPECT_EQ(0, service.logs->timeouts_bytes);
	free(service.logs);
	EXPECT_EQ(NULL, queue_find(&service, "q", 1));
}

/* A store that commits at once, and whose log has a key for each commit */

#define SINGLES	10000

static struct store_request *submitted;

static void note_submitted(struct store *store, struct store_request *request)
{
	submitted = request;
}

static bool is_never_lost(const struct store *store)
{
	return false;
}

static void commit(struct service *service, struct store_request *request, uint64_t *number)
{
	log_note_commit(service, 0, *number);
	for (size_t i = 0; i < request->count; i++)
		request->records[i].seq = (*number)++;
	request->outcome = STORE_COMMITTED;
	request->error = 0;
	request->done(request);
}

/* Puts @count timeouts, as many in a commit. */
static void put_live(struct service *service, size_t count, size_t each, uint64_t *number)
{
	struct queue *queue = queue_get(service, "q", 1, SIZE_MAX);

	for (size_t i = 0; i < count; i += each) {
		struct change *change = change_new(service, NULL, each);

		for (size_t j = 0; j < each; j++) {
			struct record record = { .payload = "payload", .payload_length = 7 };
			char text[32];
			int length = snprintf(text, sizeof(text), "key-%zu", i + j);
			struct key key = hash_key(text, (uint32_t)length, 0);

			queue->timeouts++;
			change->timeouts[j] = timeout_add(queue, &key);
			timeout_take_over(change->timeouts[j], &record);
			change->timeouts[j]->state = TIMEOUT_PENDING;
			timeout_describe(change->timeouts[j], &change->commit.records[j]);
		}
		change_submit(change);
		commit(service, submitted, number);
	}
}

/* Cleans until nothing is due. Returns how many commits it made. */
static size_t clean_all(struct service *service, uint64_t *number)
{
	size_t commits = 0;

	for (clean(service); submitted; clean(service)) {
		struct store_request *request = submitted;

		submitted = NULL;
		commit(service, request, number);
		commits++;
	}
	return commits;
}

TEST(small_commits_are_joined)
{
	const struct store_ops ops = { .submit = note_submitted, .is_lost = is_never_lost };
	struct store store = { .ops = &ops, .commit = 400000 };
	struct service service = { .store = &store };
	uint64_t number = 1;
	size_t commits;

	log_begin(&service);
	put_live(&service, SINGLES, 1, &number);
	submitted = NULL;
	commits = clean_all(&service, &number);
	EXPECT_LT(0, commits);
	EXPECT_GT(SINGLES / 10, commits);
	EXPECT_LT(SINGLES / 2, service.logs->first);
	EXPECT_EQ(SINGLES, service.logs->timeouts);
}

TEST(large_commits_are_left)
{
	const struct store_ops ops = { .submit = note_submitted, .is_lost = is_never_lost };
	struct store store = { .ops = &ops, .commit = 400000 };
	struct service service = { .store = &store };
	uint64_t number = 1;

	log_begin(&service);
	put_live(&service, 10 * SINGLES, 10, &number);
	submitted = NULL;
	EXPECT_EQ(0, clean_all(&service, &number));
}

TEST(texts_in_urls)
{
	char text[5];
	size_t length;
	uint64_t number;

	EXPECT_TRUE(text_decode("a%2fb%C3", text, 4, &length));
	EXPECT_EQ(4, length);
	EXPECT_EQ(0, memcmp("a/b\303", text, 5));
	EXPECT_TRUE(text_decode("%00", text, 4, &length));
	EXPECT_EQ(1, length);
	EXPECT_FALSE(text_decode("abcde", text, 4, &length));
	EXPECT_FALSE(text_decode("%2", text, 4, &length));
	EXPECT_FALSE(text_decode("%", text, 4, &length));
	EXPECT_FALSE(text_decode("%g0", text, 4, &length));
	EXPECT_TRUE(text_count("10", 10, &number));
	EXPECT_EQ(10, number);
	EXPECT_FALSE(text_count("11", 10, &number));
	EXPECT_FALSE(text_count("0", 10, &number));
	EXPECT_FALSE(text_count(" 1", 10, &number));
	EXPECT_FALSE(text_count("-1", 10, &number));
	EXPECT_FALSE(text_count("99999999999999999999", ~0ULL, &number));
}

TEST(keys_are_utf8)
{
	static const char *const wrong[] = {
		"", "\n", "\x7f", "\xff", "\xc0\x80", "\xc3", "\xe2\x82", "\xed\xa0\x80",
		"\xf4\x90\x80\x80", "\xf0\x80\x80\x80", "\x80",
	};
	char longest[KEY_MAX + 1];

	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++)
		EXPECT_FALSE(text_is_key(wrong[i], strlen(wrong[i])));
	EXPECT_FALSE(text_is_key("a\0b", 3));
	EXPECT_TRUE(text_is_key("\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80", 9));
	memset(longest, 'x', sizeof(longest));
	EXPECT_TRUE(text_is_key(longest, KEY_MAX));
	EXPECT_FALSE(text_is_key(longest, KEY_MAX + 1));
}

TEST(tokens_are_read_as_written)
{
	unsigned char token[TOKEN_SIZE] = "\x01\xfe 3456789abcdef", back[TOKEN_SIZE];
	char text[TEXT_TOKEN];

	text_token(token, text);
	ASSERT_TRUE(text_read_token(text, back));
	EXPECT_EQ(0, memcmp(token, back, TOKEN_SIZE));
	EXPECT_FALSE(text_read_token("", back));
	text[5] = 'G';
	EXPECT_FALSE(text_read_token(text, back));
	text[5] = 0;
	EXPECT_FALSE(text_read_token(text, back));
}

TEST_HARNESS_MAIN
