// SPDX-License-Identifier: GPL-2.0-only
/*
 * etcd_load SERVERS CA CERTIFICATE KEY ROOT CHAINS BYTES MILLISECONDS: what etcd commits for one
 * client that does nothing else. Each of CHAINS has one txn on its way, as an owner of a shard has:
 * it checks the tail's revision, and puts a new tail and a commit of BYTES. Prints how many txns
 * ended in how many ns.
 */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "consensus/consensus.h"

#define MOST	64
#define TAIL	40

struct chain {
	struct consensus_txn txn;
	struct consensus_check check;
	struct consensus_put puts[2];
	char tail[CONSENSUS_KEY], log[CONSENSUS_KEY];
	unsigned long number;
};

static struct consensus *store;
static struct chain chains[MOST];
static char value[CONSENSUS_BYTES], tail[TAIL];
static unsigned long done, left;
static unsigned long long end_ns;

static unsigned long long now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (unsigned long long)now.tv_sec * 1000000000 + (unsigned long long)now.tv_nsec;
}

static void send(struct chain *chain)
{
	snprintf(chain->log, sizeof(chain->log), "log/%04zu/%016lx", chain - chains,
		 ++chain->number);
	store->ops->txn(store, &chain->txn);
}

static void ended(struct consensus_txn *txn)
{
	struct chain *chain = (struct chain *)txn;

	if (txn->outcome != CONSENSUS_DONE) {
		fprintf(stderr, "etcd_load: %s\n", strerror(-txn->error));
		exit(1);
	}
	chain->check.revision = txn->revision;
	done++;
	left--;
	if (now_ns() < end_ns) {
		left++;
		send(chain);
	}
}

static void begin(struct chain *chain, size_t size)
{
	snprintf(chain->tail, sizeof(chain->tail), "shards/%04zu", chain - chains);
	chain->check.key = chain->tail;
	chain->puts[0] = (struct consensus_put) { chain->log, value, size, false };
	chain->puts[1] = (struct consensus_put) { chain->tail, tail, sizeof(tail), false };
	chain->txn.checks = &chain->check;
	chain->txn.checks_count = 1;
	chain->txn.puts = chain->puts;
	chain->txn.puts_count = 2;
	chain->txn.done = ended;
	left++;
	send(chain);
}

static void note_session(void *owner, uint64_t id)
{
}

int main(int argc, char **argv)
{
	const struct consensus_events events = { .session = note_session };
	struct consensus_settings settings = { .session_ns = 10000000000ULL, .quota = ~0ULL };
	unsigned long long since;
	struct pollfd readable;

	if (argc != 9 || strtoul(argv[6], NULL, 10) > MOST ||
	    strtoul(argv[7], NULL, 10) > CONSENSUS_VALUE)
		return 2;
	settings.servers = argv[1];
	settings.ca = argv[2];
	settings.certificate = argv[3];
	settings.key = argv[4];
	settings.root = argv[5];
	for (size_t i = 0; i < sizeof(value); i++)
		value[i] = (char)random();
	store = etcd_open(&settings, &events, NULL);
	if (!store)
		return 1;
	readable = (struct pollfd) { .fd = store->ops->fd(store), .events = POLLIN };
	while (!store->ops->session(store)) {
		poll(&readable, 1, -1);
		store->ops->reap(store);
	}
	since = now_ns();
	end_ns = since + strtoull(argv[8], NULL, 10) * 1000000;
	for (unsigned long i = 0; i < strtoul(argv[6], NULL, 10); i++)
		begin(&chains[i], strtoul(argv[7], NULL, 10));
	while (left) {
		poll(&readable, 1, -1);
		store->ops->reap(store);
	}
	printf("%lu %llu\n", done, now_ns() - since);
	store->ops->close(store);
	return 0;
}
