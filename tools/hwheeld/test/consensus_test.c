// SPDX-License-Identifier: GPL-2.0-only
/*
 * What every adapter of consensus.h has to do: on the fake store, and on etcd if there is one. With
 * etcd.py around it the environment names three servers, which are stopped and filled here.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "kselftest_harness.h"

#include "consensus/consensus.h"
#include "fake_store.h"

#define MS		1000000ULL
#define CLIENTS		3
#define SERVERS		3
#define SESSION_NS	(3000 * MS)
#define QUOTA		(24U << 20)

/* How long something may take on a busy machine; the fake store's time is its own. */
#define PATIENCE_NS	(60000 * MS)

#define MOST_CHANGES	4096
#define TEXT		64

struct client {
	struct consensus *store;	/* NULL: none */
	uint64_t session;		/* as the last event says */
	unsigned int sessions;
	unsigned int gaps;
	size_t count;			/* of changes */
	struct {
		char key[CONSENSUS_KEY];
		char value[TEXT];
		bool is_there;
		uint64_t revision;
	} changes[MOST_CHANGES];
};

static struct fake *fake;		/* NULL: etcd */
static struct client clients[CLIENTS];
static char root[32];
static struct consensus_settings settings;

/* The machinery: clients, time, servers */

static void client_session(void *owner, uint64_t id)
{
	struct client *client = owner;

	client->session = id;
	client->sessions += id != 0;
}

static void client_changed(void *owner, const struct consensus_item *changes, size_t count,
			   uint64_t revision)
{
	struct client *client = owner;

	for (size_t i = 0; i < count && client->count < MOST_CHANGES; i++) {
		size_t place = client->count++;

		snprintf(client->changes[place].key, CONSENSUS_KEY, "%s", changes[i].key);
		snprintf(client->changes[place].value, TEXT, "%.*s", (int)changes[i].size,
			 changes[i].value ? (const char *)changes[i].value : "");
		client->changes[place].is_there = changes[i].value;
		client->changes[place].revision = changes[i].revision;
	}
}

static void client_gap(void *owner)
{
	((struct client *)owner)->gaps++;
}

static const struct consensus_events client_events = {
	.session = client_session, .changed = client_changed, .gap = client_gap,
};

static struct client *open_client(size_t number)
{
	struct client *client = &clients[number];

	memset(client, 0, sizeof(*client));
	client->store = fake ? fake_open(fake, &settings, &client_events, client) :
			       etcd_open(&settings, &client_events, client);
	return client;
}

static void close_client(struct client *client)
{
	if (client->store)
		client->store->ops->close(client->store);
	client->store = NULL;
}

static uint64_t now_ns(void)
{
	struct timespec now;

	if (fake)
		return fake_now(fake);
	clock_gettime(CLOCK_BOOTTIME, &now);
	return (uint64_t)now.tv_sec * 1000 * MS + (uint64_t)now.tv_nsec;
}

/* Waits for something, a moment at most. */
static void step(void)
{
	struct pollfd fds[CLIENTS];
	nfds_t count = 0;

	if (fake) {
		fake_step(fake, fake_now(fake) + 10 * MS);
		return;
	}
	for (size_t i = 0; i < CLIENTS; i++)
		if (clients[i].store)
			fds[count++] = (struct pollfd) {
				.fd = clients[i].store->ops->fd(clients[i].store), .events = POLLIN,
			};
	poll(fds, count, 10);
	for (size_t i = 0; i < CLIENTS; i++)
		if (clients[i].store)
			clients[i].store->ops->reap(clients[i].store);
}

static void pass(uint64_t ns)
{
	uint64_t end = now_ns() + ns;

	while (now_ns() < end)
		step();
}

/* Whether @condition has come in time; it is looked at again and again. */
#define COMES(condition) ({						\
	uint64_t end = now_ns() + PATIENCE_NS;				\
	bool has_come;							\
	while (!(has_come = (condition)) && now_ns() < end)		\
		step();							\
	has_come;							\
})

#define UNTIL(condition)	ASSERT_TRUE(COMES(condition))

static void control(const char *command)
{
	char line[1024];

	snprintf(line, sizeof(line), "%s %s", getenv("ETCD_CONTROL"), command);
	if (system(line))
		fprintf(stderr, "# failed: %s\n", command);
}

/* The server that a client asks first, as long as it answers */
static void signal_server(size_t number, int signal)
{
	const char *at = getenv("ETCD_PIDS");

	for (size_t i = 0; i < number; i++)
		at = strchr(at, ',') + 1;
	kill((pid_t)strtol(at, NULL, 10), signal);
}

/* What the client sends now gets no answer in time. */
static void silence(struct client *client)
{
	if (fake)
		fake_next(client->store, FAKE_DELAYS);
	else
		signal_server(0, SIGSTOP);
}

static void end_silence(void)
{
	if (!fake)
		signal_server(0, SIGCONT);
}

/* Calls that wait */

struct waiting_txn {
	struct consensus_txn txn;
	bool is_done;
};

static void txn_done(struct consensus_txn *txn)
{
	((struct waiting_txn *)txn)->is_done = true;
}

static void send_txn(struct client *client, struct waiting_txn *waiting)
{
	waiting->is_done = false;
	waiting->txn.done = txn_done;
	client->store->ops->txn(client->store, &waiting->txn);
}

static void wait_txn(struct waiting_txn *waiting)
{
	while (!waiting->is_done)
		step();
}

/*
 * Puts one value if the key has this revision. Any other outcome than unknown comes back; a server
 * may be at an election.
 */
static struct consensus_txn put_if(struct client *client, const char *key, uint64_t revision,
				   const char *value)
{
	struct consensus_check check = { key, revision };
	struct consensus_put put = { key, value, strlen(value), false };
	struct waiting_txn waiting = { .txn = { .checks = &check, .puts = &put,
						.checks_count = 1, .puts_count = 1 } };

	send_txn(client, &waiting);
	wait_txn(&waiting);
	return waiting.txn;
}

static struct consensus_txn delete_all(struct client *client, const char *from, const char *end)
{
	struct consensus_delete delete = { from, end };
	struct waiting_txn waiting = { .txn = { .deletes = &delete, .deletes_count = 1 } };

	send_txn(client, &waiting);
	wait_txn(&waiting);
	return waiting.txn;
}

/* What a range found, copied */
struct found {
	struct consensus_range range;
	bool is_done;
	size_t count;
	struct {
		char key[CONSENSUS_KEY];
		char value[TEXT];
		size_t size;
		uint64_t revision;
	} items[256];
};

static void range_done(struct consensus_range *range)
{
	struct found *found = (struct found *)range;

	found->is_done = true;
	found->count = range->count < 256 ? range->count : 256;
	for (size_t i = 0; i < found->count; i++) {
		snprintf(found->items[i].key, CONSENSUS_KEY, "%s", range->items[i].key);
		snprintf(found->items[i].value, TEXT, "%.*s",
			 (int)(range->items[i].size < TEXT ? range->items[i].size : TEXT - 1),
			 (const char *)range->items[i].value);
		found->items[i].size = range->items[i].size;
		found->items[i].revision = range->items[i].revision;
	}
}

/* Asks again while nothing is known. */
static void find(struct client *client, struct found *found, const char *from, const char *end,
		 size_t most, uint64_t revision)
{
	do {
		found->range = (struct consensus_range) {
			.from = from, .end = end, .most = most, .revision = revision,
			.done = range_done,
		};
		found->is_done = false;
		client->store->ops->range(client->store, &found->range);
		while (!found->is_done)
			step();
	} while (found->range.error == -EIO);
}

static struct found found;

/* 0: no such key */
static uint64_t revision_of(struct client *client, const char *key)
{
	char end[CONSENSUS_KEY + 1];

	snprintf(end, sizeof(end), "%s\1", key);
	find(client, &found, key, end, 1, 0);
	return found.count ? found.items[0].revision : 0;
}

static void compact_all(void)
{
	char command[64];

	if (fake) {
		fake_compact(fake);
		return;
	}
	find(&clients[0], &found, "a", "b", 1, 0);
	snprintf(command, sizeof(command), "compact %llu",
		 (unsigned long long)found.range.revision);
	control(command);
}

FIXTURE(store)
{
	struct client *one, *other;
};

FIXTURE_VARIANT(store)
{
	bool is_etcd;
};

FIXTURE_VARIANT_ADD(store, fake)
{
	.is_etcd = false,
};

FIXTURE_VARIANT_ADD(store, etcd)
{
	.is_etcd = true,
};

FIXTURE_SETUP(store)
{
	static unsigned int tests;

	if (variant->is_etcd && !getenv("ETCD_SERVERS"))
		SKIP(return, "no etcd is there");
	fake = variant->is_etcd ? NULL : fake_new(1);
	snprintf(root, sizeof(root), "test%ld.%u", (long)getpid(), ++tests);
	settings = (struct consensus_settings) {
		.servers = getenv("ETCD_SERVERS"), .root = root, .ca = getenv("ETCD_CA"),
		.certificate = getenv("ETCD_CERTIFICATE"), .key = getenv("ETCD_KEY"),
		.session_ns = SESSION_NS, .quota = QUOTA,
	};
	self->one = open_client(0);
	self->other = open_client(1);
	ASSERT_NE(NULL, self->one->store);
	ASSERT_NE(NULL, self->other->store);
	UNTIL(self->one->session && self->other->session);
}

FIXTURE_TEARDOWN(store)
{
	for (size_t i = 0; i < CLIENTS; i++)
		close_client(&clients[i]);
	if (fake)
		fake_free(fake);
}

/* Txns */

TEST_F(store, a_txn_puts_and_deletes)
{
	struct consensus_put puts[] = { { "a", "1", 1, false }, { "b", "", 0, false } };
	struct consensus_delete deletes[] = { { "c", NULL }, { "d", "e" }, { "nothing", NULL } };
	struct waiting_txn txn = { .txn = { .puts = puts, .puts_count = 2, .deletes = deletes,
					    .deletes_count = 3 } };
	struct consensus_txn before = put_if(self->one, "c", 0, "old");

	ASSERT_EQ(CONSENSUS_DONE, before.outcome);
	EXPECT_EQ(0, before.error);
	ASSERT_EQ(CONSENSUS_DONE, put_if(self->one, "d1", 0, "old").outcome);
	ASSERT_EQ(CONSENSUS_DONE, put_if(self->one, "d2", 0, "old").outcome);
	ASSERT_EQ(CONSENSUS_DONE, put_if(self->one, "e", 0, "stays").outcome);
	send_txn(self->one, &txn);
	wait_txn(&txn);
	ASSERT_EQ(CONSENSUS_DONE, txn.txn.outcome);
	EXPECT_GT(txn.txn.revision, before.revision);
	find(self->other, &found, "a", "z", 100, 0);
	ASSERT_EQ(0, found.range.error);
	ASSERT_EQ(3, found.count);
	EXPECT_STREQ("a", found.items[0].key);
	EXPECT_STREQ("1", found.items[0].value);
	EXPECT_STREQ("b", found.items[1].key);
	EXPECT_EQ(0, found.items[1].size);
	EXPECT_STREQ("e", found.items[2].key);
	EXPECT_EQ(txn.txn.revision, found.items[0].revision);
	EXPECT_EQ(txn.txn.revision, found.items[1].revision);
	EXPECT_GE(found.range.revision, txn.txn.revision);
	EXPECT_FALSE(found.range.has_more);
}

TEST_F(store, bytes_of_any_value_come_back)
{
	static unsigned char bytes[TEXT - 1];
	struct consensus_put put = { "bytes", bytes, sizeof(bytes), false };
	struct waiting_txn txn = { .txn = { .puts = &put, .puts_count = 1 } };

	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (unsigned char)(i % 3 ? 255 - i : 0);
	bytes[0] = 1;
	send_txn(self->one, &txn);
	wait_txn(&txn);
	ASSERT_EQ(CONSENSUS_DONE, txn.txn.outcome);
	find(self->other, &found, "bytes", "bytet", 1, 0);
	ASSERT_EQ(1, found.count);
	EXPECT_EQ(sizeof(bytes), found.items[0].size);
	EXPECT_EQ(1, found.items[0].value[0]);
}

TEST_F(store, a_check_that_does_not_hold_refuses_all)
{
	struct consensus_check checks[] = { { "a", 0 }, { "b", 0 } };
	struct consensus_put puts[] = { { "a", "new", 3, false }, { "c", "new", 3, false } };
	struct waiting_txn txn = { .txn = { .checks = checks, .checks_count = 2, .puts = puts,
					    .puts_count = 2 } };
	uint64_t revision = put_if(self->one, "a", 0, "old").revision;

	send_txn(self->other, &txn);
	wait_txn(&txn);
	EXPECT_EQ(CONSENSUS_REFUSED, txn.txn.outcome);
	EXPECT_EQ(-ESTALE, txn.txn.error);
	EXPECT_EQ(0, txn.txn.revision);
	EXPECT_EQ(revision, revision_of(self->one, "a"));
	EXPECT_EQ(0, revision_of(self->one, "c"));
	checks[0].revision = revision;
	send_txn(self->other, &txn);
	wait_txn(&txn);
	EXPECT_EQ(CONSENSUS_DONE, txn.txn.outcome);
	EXPECT_EQ(txn.txn.revision, revision_of(self->one, "a"));
	/* A key that was deleted and put again has another revision. */
	ASSERT_EQ(CONSENSUS_DONE, delete_all(self->one, "a", NULL).outcome);
	ASSERT_EQ(CONSENSUS_DONE, put_if(self->one, "a", 0, "again").outcome);
	EXPECT_EQ(CONSENSUS_REFUSED, put_if(self->other, "a", revision, "late").outcome);
}

TEST_F(store, a_new_owner_fences_the_one_before)
{
	uint64_t first = put_if(self->one, "tail", 0, "one's").revision;
	struct consensus_txn fence = put_if(self->other, "tail", first, "the other one's");
	struct consensus_txn late = put_if(self->one, "tail", first, "late");

	ASSERT_EQ(CONSENSUS_DONE, fence.outcome);
	EXPECT_EQ(CONSENSUS_REFUSED, late.outcome);
	EXPECT_EQ(-ESTALE, late.error);
	EXPECT_EQ(fence.revision, revision_of(self->one, "tail"));
}

/* As by a client library that sends a call again when its answer is lost */
TEST_F(store, a_double_is_refused)
{
	struct consensus_check check = { "tail", 0 };
	struct consensus_put put = { "tail", "it", 2, false };
	struct waiting_txn txns[2];

	for (size_t i = 0; i < 2; i++) {
		txns[i] = (struct waiting_txn) { .txn = { .checks = &check, .checks_count = 1,
							  .puts = &put, .puts_count = 1 } };
		send_txn(self->one, &txns[i]);
	}
	wait_txn(&txns[0]);
	wait_txn(&txns[1]);
	EXPECT_EQ(1, (txns[0].txn.outcome == CONSENSUS_DONE) +
		     (txns[1].txn.outcome == CONSENSUS_DONE));
	EXPECT_EQ(1, (txns[0].txn.error == -ESTALE) + (txns[1].txn.error == -ESTALE));
}

TEST_F(store, an_answer_to_the_second_of_two_is_read_back)
{
	struct consensus_txn txn;

	if (variant->is_etcd)
		SKIP(return, "the adapter sends nothing twice");
	fake_next(self->one->store, FAKE_RETRIES);
	txn = put_if(self->one, "tail", 0, "it");
	EXPECT_EQ(CONSENSUS_REFUSED, txn.outcome);
	EXPECT_NE(0, revision_of(self->one, "tail"));
	EXPECT_STREQ("it", found.items[0].value);
}

TEST_F(store, what_gets_no_answer_is_unknown_and_read_back)
{
	uint64_t first = put_if(self->one, "tail", 0, "first").revision, is;
	struct consensus_txn txn;

	ASSERT_NE(0, first);
	silence(self->one);
	txn = put_if(self->one, "tail", first, "second");
	EXPECT_EQ(CONSENSUS_UNKNOWN, txn.outcome);
	EXPECT_EQ(-ETIMEDOUT, txn.error);
	/* By another server; a read sees the one before, or this one. */
	is = revision_of(self->one, "tail");
	EXPECT_NE(0, is);
	/* The same again, unchanged, until it is known. */
	while (is == first) {
		put_if(self->one, "tail", first, "second");
		is = revision_of(self->one, "tail");
	}
	EXPECT_STREQ("second", found.items[0].value);
	end_silence();
	pass((fake ? 30000 : 2000) * MS);
	EXPECT_EQ(is, revision_of(self->one, "tail"));
}

TEST_F(store, a_late_txn_is_fenced)
{
	uint64_t first = put_if(self->other, "tail", 0, "first").revision, fence = 0;

	silence(self->one);
	EXPECT_EQ(CONSENSUS_UNKNOWN, put_if(self->one, "tail", first, "late").outcome);
	/* A new owner reads the tail and puts its own on it, until that is known. */
	while (!fence) {
		uint64_t is = revision_of(self->other, "tail");

		fence = strcmp(found.items[0].value, "fence") ? 0 : is;
		if (!fence)
			put_if(self->other, "tail", is, "fence");
	}
	end_silence();
	pass((fake ? 30000 : 3000) * MS);
	EXPECT_EQ(fence, revision_of(self->one, "tail"));
}

TEST_F(store, calls_on_their_way_end_with_close)
{
	struct consensus_put put = { "a", "1", 1, false };
	struct waiting_txn txn = { .txn = { .puts = &put, .puts_count = 1 } };

	found.range = (struct consensus_range) { .from = "a", .end = "b", .most = 1,
						 .done = range_done };
	found.is_done = false;
	send_txn(self->one, &txn);
	self->one->store->ops->range(self->one->store, &found.range);
	EXPECT_FALSE(txn.is_done);
	close_client(self->one);
	EXPECT_TRUE(txn.is_done);
	EXPECT_EQ(CONSENSUS_UNKNOWN, txn.txn.outcome);
	EXPECT_TRUE(found.is_done);
	EXPECT_EQ(-EIO, found.range.error);
}

/* Limits */

TEST_F(store, limits_are_exact)
{
	static char names[CONSENSUS_CHANGES + 1][8];
	static struct consensus_put puts[CONSENSUS_CHANGES + 1];
	static struct consensus_check checks[CONSENSUS_CHANGES + 1];
	struct waiting_txn txn = { .txn = { .checks = checks, .puts = puts } };

	for (size_t i = 0; i <= CONSENSUS_CHANGES; i++) {
		snprintf(names[i], sizeof(names[i]), "k%03zu", i);
		puts[i] = (struct consensus_put) { names[i], "v", 1, false };
		checks[i] = (struct consensus_check) { names[i], 0 };
	}
	txn.txn.puts_count = CONSENSUS_CHANGES + 1;
	send_txn(self->one, &txn);
	EXPECT_FALSE(txn.is_done);
	wait_txn(&txn);
	EXPECT_EQ(CONSENSUS_REFUSED, txn.txn.outcome);
	EXPECT_EQ(-E2BIG, txn.txn.error);
	txn.txn.puts_count = 1;
	txn.txn.checks_count = CONSENSUS_CHANGES + 1;
	send_txn(self->one, &txn);
	wait_txn(&txn);
	EXPECT_EQ(-E2BIG, txn.txn.error);
	EXPECT_EQ(0, revision_of(self->one, "k000"));
	txn.txn.puts_count = CONSENSUS_CHANGES;
	txn.txn.checks_count = CONSENSUS_CHANGES;
	send_txn(self->one, &txn);
	wait_txn(&txn);
	EXPECT_EQ(CONSENSUS_DONE, txn.txn.outcome);
	find(self->one, &found, "k", "l", 200, 0);
	EXPECT_EQ(CONSENSUS_CHANGES, found.count);
}

TEST_F(store, the_largest_value_is_taken)
{
	static char value[CONSENSUS_BYTES];
	struct consensus_put put = { "large", value, CONSENSUS_VALUE, false };
	struct waiting_txn txn = { .txn = { .puts = &put, .puts_count = 1 } };

	memset(value, 'x', sizeof(value));
	send_txn(self->one, &txn);
	wait_txn(&txn);
	EXPECT_EQ(CONSENSUS_DONE, txn.txn.outcome);
	find(self->other, &found, "large", "largf", 1, 0);
	ASSERT_EQ(1, found.count);
	EXPECT_EQ(CONSENSUS_VALUE, found.items[0].size);
	put.size = CONSENSUS_BYTES;
	send_txn(self->one, &txn);
	wait_txn(&txn);
	EXPECT_EQ(CONSENSUS_REFUSED, txn.txn.outcome);
	EXPECT_EQ(-E2BIG, txn.txn.error);
	delete_all(self->one, "large", NULL);
}

TEST_F(store, wrong_keys_are_refused)
{
	char name[CONSENSUS_KEY + 1] = "";
	struct consensus_put puts[] = { { "a", "1", 1, false }, { "a", "2", 1, false } };
	struct consensus_delete delete = { "0", "b" };
	struct waiting_txn txn = { .txn = { .puts = puts, .puts_count = 2 } };

	send_txn(self->one, &txn);
	wait_txn(&txn);
	EXPECT_EQ(-EINVAL, txn.txn.error);
	txn.txn.puts_count = 1;
	txn.txn.deletes = &delete;
	txn.txn.deletes_count = 1;
	send_txn(self->one, &txn);
	wait_txn(&txn);
	EXPECT_EQ(CONSENSUS_REFUSED, txn.txn.outcome);
	EXPECT_EQ(-EINVAL, txn.txn.error);
	EXPECT_EQ(-EINVAL, put_if(self->one, "", 0, "").error);
	memset(name, 'k', CONSENSUS_KEY);
	EXPECT_EQ(-EINVAL, put_if(self->one, name, 0, "").error);
	name[CONSENSUS_KEY - 1] = 0;
	EXPECT_EQ(CONSENSUS_DONE, put_if(self->one, name, 0, "").outcome);
	EXPECT_NE(0, revision_of(self->one, name));
}

/* Ranges */

static void put_pages(struct client *client, unsigned int count)
{
	char name[16];

	for (unsigned int i = 0; i < count; i++) {
		snprintf(name, sizeof(name), "page/%02u", i);
		put_if(client, name, 0, name);
	}
}

TEST_F(store, pages_are_as_when_the_first_one_was_read)
{
	char from[CONSENSUS_KEY] = "page/", name[16];
	size_t count = 0, pages = 0;
	uint64_t revision = 0;

	put_pages(self->one, 25);
	put_if(self->one, "pagf", 0, "behind the end");
	do {
		find(self->other, &found, from, "page0", 10, revision);
		ASSERT_EQ(0, found.range.error);
		EXPECT_EQ(found.range.has_more, count < 20);
		EXPECT_EQ(count < 20 ? 10 : 5, found.count);
		revision = found.range.revision;
		for (size_t i = 0; i < found.count; i++) {
			snprintf(name, sizeof(name), "page/%02zu", count++);
			EXPECT_STREQ(name, found.items[i].key);
			EXPECT_STREQ(name, found.items[i].value);
		}
		snprintf(from, sizeof(from), "%s\1", name);
		/* Nothing of this is seen. */
		ASSERT_EQ(CONSENSUS_DONE, delete_all(self->one, "page/24", NULL).outcome);
		put_if(self->one, "page/155", 0, "new");
		pages++;
	} while (found.range.has_more && pages < 10);
	EXPECT_EQ(3, pages);
	find(self->other, &found, "page/", "page0", 100, 0);
	EXPECT_EQ(25, found.count);
	find(self->other, &found, "page/", "page0", 25, 0);
	EXPECT_FALSE(found.range.has_more);
	find(self->other, &found, "q", "r", 25, 0);
	EXPECT_EQ(0, found.range.error);
	EXPECT_EQ(0, found.count);
}

/* Several at a time, of any length, as a new owner loads */
TEST_F(store, long_pages_come_whole)
{
	static char value[60 << 10];
	static struct found pages[4];
	struct consensus_put put = { NULL, value, sizeof(value), false };
	struct waiting_txn txn = { .txn = { .puts = &put, .puts_count = 1 } };
	char name[16];

	put.key = name;
	memset(value, 'x', sizeof(value));
	for (unsigned int i = 0; i < 40; i++) {
		snprintf(name, sizeof(name), "long/%02u", i);
		send_txn(self->one, &txn);
		wait_txn(&txn);
		ASSERT_EQ(CONSENSUS_DONE, txn.txn.outcome);
	}
	for (unsigned int turn = 1; turn <= 40; turn++) {
		for (size_t i = 0; i < 4; i++) {
			pages[i].range = (struct consensus_range) { .from = "long/", .end = "long0",
								    .most = turn,
								    .done = range_done };
			pages[i].is_done = false;
			self->other->store->ops->range(self->other->store, &pages[i].range);
		}
		for (size_t i = 0; i < 4; i++) {
			while (!pages[i].is_done)
				step();
			EXPECT_EQ(0, pages[i].range.error);
			EXPECT_EQ(turn, pages[i].count);
			EXPECT_EQ(sizeof(value), pages[i].items[turn - 1].size);
		}
	}
	delete_all(self->one, "long/", "long0");
}

TEST_F(store, pages_that_are_compacted_are_stale)
{
	uint64_t revision;

	put_pages(self->one, 5);
	find(self->one, &found, "page/", "page0", 2, 0);
	revision = found.range.revision;
	put_if(self->one, "more", 0, "1");
	put_if(self->one, "more2", 0, "1");
	compact_all();
	find(self->one, &found, "page/01\1", "page0", 2, revision);
	EXPECT_EQ(-ESTALE, found.range.error);
	find(self->one, &found, "page/", "page0", 10, 0);
	EXPECT_EQ(0, found.range.error);
	EXPECT_EQ(5, found.count);
}

/* Watches */

TEST_F(store, a_watch_has_all_changes_in_order)
{
	struct consensus_put puts[] = { { "w/c", "3", 1, false }, { "w/d", "4", 1, false } };
	struct waiting_txn txn = { .txn = { .puts = puts, .puts_count = 2 } };
	uint64_t first = put_if(self->one, "w/a", 0, "1").revision;

	self->other->store->ops->watch(self->other->store, "w/", "w0", first);
	put_if(self->one, "v", 0, "not watched");
	put_if(self->one, "w0", 0, "not watched");
	put_if(self->one, "w/a", first, "2");
	send_txn(self->one, &txn);
	wait_txn(&txn);
	delete_all(self->one, "w/a", NULL);
	UNTIL(self->other->count >= 5);
	pass(100 * MS);
	ASSERT_EQ(5, self->other->count);
	EXPECT_STREQ("w/a", self->other->changes[0].key);
	EXPECT_STREQ("1", self->other->changes[0].value);
	EXPECT_EQ(first, self->other->changes[0].revision);
	EXPECT_STREQ("2", self->other->changes[1].value);
	EXPECT_EQ(txn.txn.revision, self->other->changes[2].revision);
	EXPECT_EQ(txn.txn.revision, self->other->changes[3].revision);
	EXPECT_STREQ("w/a", self->other->changes[4].key);
	EXPECT_FALSE(self->other->changes[4].is_there);
	EXPECT_EQ(0, self->other->gaps);
	/* Another watch ends it, and none ends that. */
	self->other->store->ops->watch(self->other->store, "v", "w", 1 + txn.txn.revision);
	put_if(self->one, "w/a", 0, "5");
	put_if(self->one, "v2", 0, "6");
	UNTIL(self->other->count >= 6);
	EXPECT_STREQ("v2", self->other->changes[5].key);
	self->other->store->ops->watch(self->other->store, NULL, NULL, 0);
	put_if(self->one, "v3", 0, "7");
	pass(200 * MS);
	EXPECT_EQ(6, self->other->count);
}

/* Range at R, apply what is gone, too, and watch from R + 1. */
TEST_F(store, a_compacted_watch_is_a_gap)
{
	uint64_t first = put_if(self->one, "w/a", 0, "1").revision;

	put_if(self->one, "w/b", 0, "2");
	delete_all(self->one, "w/a", NULL);
	compact_all();
	self->other->store->ops->watch(self->other->store, "w/", "w0", first);
	UNTIL(self->other->gaps);
	EXPECT_EQ(0, self->other->count);
	find(self->other, &found, "w/", "w0", 10, 0);
	ASSERT_EQ(1, found.count);
	EXPECT_STREQ("w/b", found.items[0].key);
	self->other->store->ops->watch(self->other->store, "w/", "w0", found.range.revision + 1);
	put_if(self->one, "w/c", 0, "3");
	UNTIL(self->other->count);
	EXPECT_STREQ("w/c", self->other->changes[0].key);
	EXPECT_EQ(1, self->other->gaps);
}

TEST_F(store, a_watch_goes_on_when_its_server_says_nothing)
{
	self->other->store->ops->watch(self->other->store, "w/", "w0", 1 + put_if(self->one, "x", 0,
				       "").revision);
	put_if(self->one, "w/a", 0, "1");
	UNTIL(self->other->count == 1);
	if (fake)
		fake_cut(self->other->store, fake_now(fake) + 20000 * MS);
	else
		signal_server(0, SIGSTOP);
	while (!revision_of(self->one, "w/b"))
		put_if(self->one, "w/b", 0, "2");
	UNTIL(self->other->count == 2 || self->other->gaps);
	end_silence();
	EXPECT_EQ(0, self->other->gaps);
	EXPECT_STREQ("w/b", self->other->changes[1].key);
}

/* Sessions */

static enum consensus_outcome put_in_session(struct client *client, const char *key, int *error)
{
	struct consensus_put put = { key, "here", 4, true };
	struct waiting_txn txn = { .txn = { .puts = &put, .puts_count = 1 } };

	send_txn(client, &txn);
	wait_txn(&txn);
	*error = txn.txn.error;
	return txn.txn.outcome;
}

TEST_F(store, what_is_put_in_a_session_ends_with_it)
{
	int error;

	EXPECT_EQ(self->one->session, self->one->store->ops->session(self->one->store));
	EXPECT_NE(self->one->session, self->other->session);
	ASSERT_EQ(CONSENSUS_DONE, put_in_session(self->one, "s/one", &error));
	ASSERT_EQ(CONSENSUS_DONE, put_in_session(self->other, "s/other", &error));
	put_if(self->one, "s/stays", 0, "");
	self->other->store->ops->watch(self->other->store, "s/", "s0",
				       revision_of(self->one, "s/stays") + 1);
	/* It goes on as long as its client lives. */
	pass(2 * SESSION_NS);
	EXPECT_NE(0, revision_of(self->other, "s/one"));
	EXPECT_EQ(1, self->one->sessions);
	close_client(self->one);
	UNTIL(self->other->count);
	EXPECT_STREQ("s/one", self->other->changes[0].key);
	EXPECT_FALSE(self->other->changes[0].is_there);
	EXPECT_EQ(0, revision_of(self->other, "s/one"));
	EXPECT_NE(0, revision_of(self->other, "s/other"));
	EXPECT_NE(0, revision_of(self->other, "s/stays"));
}

TEST_F(store, a_session_that_ended_is_followed_by_another_one)
{
	uint64_t first = self->one->session;
	char command[64];
	int error;

	ASSERT_EQ(CONSENSUS_DONE, put_in_session(self->one, "s/one", &error));
	snprintf(command, sizeof(command), "lease revoke %llx", (unsigned long long)first);
	if (fake)
		fake_end_session(self->one->store);
	else
		control(command);
	/* The client has not heard of it yet. */
	EXPECT_EQ(CONSENSUS_REFUSED, put_in_session(self->one, "s/late", &error));
	EXPECT_EQ(-ENOENT, error);
	EXPECT_EQ(0, revision_of(self->other, "s/one"));
	UNTIL(self->one->session && self->one->session != first);
	EXPECT_EQ(2, self->one->sessions);
	EXPECT_EQ(CONSENSUS_DONE, put_in_session(self->one, "s/one", &error));
	EXPECT_NE(0, revision_of(self->other, "s/one"));
}

/* Authority counts from when a sign of life was sent, whoever answered it. */
TEST_F(store, a_client_that_hears_nothing_is_not_sure)
{
	uint64_t sure = self->one->store->ops->sure_ns(self->one->store), now = now_ns();

	EXPECT_GT(sure, now);
	EXPECT_LE(sure, now + SESSION_NS);
	pass(SESSION_NS);
	EXPECT_GT(self->one->store->ops->sure_ns(self->one->store), sure);
	if (fake)
		fake_cut(self->one->store, now_ns() + 3 * SESSION_NS);
	else
		for (size_t i = 0; i < SERVERS; i++)
			signal_server(i, SIGSTOP);
	now = now_ns();
	pass(2 * SESSION_NS);
	EXPECT_LE(self->one->store->ops->sure_ns(self->one->store), now + SESSION_NS);
	EXPECT_LT(self->one->store->ops->sure_ns(self->one->store), now_ns());
	for (size_t i = 0; i < SERVERS && !fake; i++)
		signal_server(i, SIGCONT);
	UNTIL(self->one->store->ops->sure_ns(self->one->store) > now_ns());
}

TEST_F(store, a_deposed_leader_makes_nobody_sure_for_longer)
{
	uint64_t first = self->one->session, sure;
	int error;

	if (variant->is_etcd)
		SKIP(return, "a leader cannot be made to do that here");
	ASSERT_EQ(CONSENSUS_DONE, put_in_session(self->one, "s/one", &error));
	fake_lie(self->one->store, now_ns() + 2 * SESSION_NS);
	while (revision_of(self->other, "s/one"))
		step();
	sure = self->one->store->ops->sure_ns(self->one->store);
	EXPECT_EQ(first, self->one->session);
	EXPECT_LE(sure, now_ns() + SESSION_NS);
	/* What it does in that time is refused. */
	EXPECT_EQ(CONSENSUS_REFUSED, put_in_session(self->one, "s/late", &error));
	EXPECT_EQ(-ENOENT, error);
	UNTIL(self->one->session != first && self->one->session);
}

/* A lock that is granted after the session's time */
TEST_F(store, what_ends_late_is_not_sure)
{
	struct consensus_put put = { "lock", "one", 3, true };
	struct waiting_txn txn = { .txn = { .puts = &put, .puts_count = 1 } };
	uint64_t sure = self->one->store->ops->sure_ns(self->one->store);

	if (variant->is_etcd)
		SKIP(return, "a follower that answers so late cannot be made here");
	fake_cut(self->one->store, now_ns() + 2 * SESSION_NS);
	send_txn(self->one, &txn);
	pass(SESSION_NS);
	wait_txn(&txn);
	EXPECT_NE(CONSENSUS_DONE, txn.txn.outcome);
	EXPECT_LT(sure, now_ns());
	EXPECT_LT(self->one->store->ops->sure_ns(self->one->store), now_ns());
}

/* A node has crashed, and comes again with its mark. */
TEST_F(store, a_session_ends_when_its_node_comes_again)
{
	struct client *third;
	int error;

	ASSERT_EQ(CONSENSUS_DONE, put_in_session(self->one, "s/one", &error));
	self->one->store->ops->mark(self->one->store, &settings.mark);
	EXPECT_EQ(settings.mark.session, self->one->store->ops->session(self->one->store));
	third = open_client(2);
	UNTIL(third->session);
	EXPECT_NE(self->one->session, third->session);
	EXPECT_EQ(0, revision_of(self->other, "s/one"));
	close_client(third);
}

/* Servers */

TEST_F(store, a_restored_store_is_noticed)
{
	struct consensus_mark mark;
	uint64_t revision = put_if(self->one, "a", 0, "1").revision;
	struct client *third;

	self->one->store->ops->mark(self->one->store, &mark);
	mark.session = 0;
	EXPECT_NE(0, mark.identity);
	EXPECT_GE(mark.revision, revision);
	settings.mark = mark;
	third = open_client(2);
	EXPECT_EQ(CONSENSUS_DONE, put_if(third, "b", 0, "1").outcome);
	close_client(third);
	settings.mark.revision = mark.revision + 1000;
	third = open_client(2);
	find(third, &found, "a", "b", 1, 0);
	EXPECT_EQ(-ENOTRECOVERABLE, found.range.error);
	EXPECT_EQ(0, found.count);
	EXPECT_EQ(-ENOTRECOVERABLE, put_if(third, "c", 0, "1").error);
	close_client(third);
	settings.mark = mark;
	settings.mark.identity++;
	third = open_client(2);
	find(third, &found, "a", "b", 1, 0);
	EXPECT_EQ(-ENOTRECOVERABLE, found.range.error);
	EXPECT_EQ(-ENOTRECOVERABLE, put_if(third, "c", 0, "1").error);
	EXPECT_EQ(0, revision_of(self->one, "c"));
}

TEST_F(store, a_server_that_is_not_there_is_no_matter)
{
	char servers[512];
	struct client *third;

	if (!variant->is_etcd)
		SKIP(return, "it has no servers");
	snprintf(servers, sizeof(servers), "https://127.0.0.1:1,%s", getenv("ETCD_SERVERS"));
	settings.servers = servers;
	third = open_client(2);
	EXPECT_EQ(CONSENSUS_DONE, put_if(third, "a", 0, "1").outcome);
	close_client(third);
	settings.servers = "https://127.0.0.1:1";
	third = open_client(2);
	EXPECT_EQ(-ENOTCONN, put_if(third, "b", 0, "1").error);
	close_client(third);
	settings.servers = "http://127.0.0.1:1";
	EXPECT_EQ(NULL, open_client(2)->store);
}

/* An endpoint that drops packets: its connection stays, and nothing comes. */
TEST_F(store, a_server_that_says_nothing_is_left)
{
	uint64_t revision;

	silence(self->one);
	put_if(self->one, "a", 0, "1");
	for (unsigned int i = 0; i < 20; i++) {
		char name[8];

		snprintf(name, sizeof(name), "n%u", i);
		while (!(revision = revision_of(self->one, name)))
			put_if(self->one, name, 0, "1");
		EXPECT_NE(0, revision);
	}
	end_silence();
}

/* The last one: it fills the store, and makes room again. */
TEST_F(store, a_full_store_refuses_and_goes_on_later)
{
	static char value[512 << 10];
	struct consensus_put put = { NULL, value, sizeof(value), false };
	struct waiting_txn txn = { .txn = { .puts = &put, .puts_count = 1 } };
	struct consensus_figures figures;
	unsigned int count = 0;
	char name[16];

	if (fake)
		fake_set_quota(fake, QUOTA);
	put.key = name;
	memset(value, 'x', sizeof(value));
	EXPECT_FALSE(self->one->store->ops->is_full(self->one->store));
	do {
		snprintf(name, sizeof(name), "full/%03u", count++);
		send_txn(self->one, &txn);
		wait_txn(&txn);
	} while (txn.txn.outcome != CONSENSUS_REFUSED && count < 200);
	EXPECT_EQ(-ENOSPC, txn.txn.error);
	UNTIL(self->one->store->ops->is_full(self->one->store));
	self->one->store->ops->figures(self->one->store, &figures);
	EXPECT_EQ(QUOTA, figures.quota);
	EXPECT_GE(figures.bytes, QUOTA / 4 * 3);
	/* What only ends something is taken. */
	EXPECT_EQ(CONSENSUS_DONE, delete_all(self->one, "full/", "full0").outcome);
	compact_all();
	if (!fake) {
		control("defrag");
		control("alarm disarm");
	}
	UNTIL(!self->one->store->ops->is_full(self->one->store));
	EXPECT_EQ(CONSENSUS_DONE, put_if(self->one, "again", 0, "1").outcome);
	EXPECT_EQ(1, self->one->sessions);
}

TEST_HARNESS_MAIN
