// SPDX-License-Identifier: GPL-2.0-only
/*
 * Each key has its versions, newest last; a version that was deleted has no value. What is to
 * happen is a list of events, by time. What a client gets waits in its inbox until reap().
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "fake_store.h"
#include "memory.h"

#define FAKE_MS		1000000ULL

/* One way takes at most so long, a delayed txn so long after it was given up. */
#define FAKE_WAY_NS	(8 * FAKE_MS)
#define FAKE_DELAY_NS	(20000 * FAKE_MS)

/* So often a session's client gives a sign of life in its time. */
#define FAKE_BEATS	3

struct fake_version {
	uint64_t revision;
	uint64_t session;		/* with which it ends; 0: with none */
	void *value;
	size_t size;
};

struct fake_key {
	char name[CONSENSUS_KEY];
	struct fake_version *versions;
	size_t count;
};

struct fake_session {
	struct fake_session *next;
	uint64_t id;
	uint64_t end_ns;
};

struct fake_client {
	struct consensus store;
	struct fake_client *next;
	struct fake *fake;
	const struct consensus_events *events;
	void *owner;
	struct fake_event *inbox;
	enum fake_fate fate;		/* of the next txn */
	uint64_t cut_until_ns;
	uint64_t lie_until_ns;
	uint64_t session_ns;
	uint64_t session;		/* as the client sees it */
	uint64_t sure_ns;
	struct consensus_mark mark;
	bool is_restored;		/* the client has seen it */
	bool is_closed;
	char watch_from[CONSENSUS_KEY];
	char watch_end[CONSENSUS_KEY];
	uint64_t watch_next;		/* revision; 0: no watch */
	bool is_beating;
};

/* A copy of what a txn asks for, as it is on its way after its sender has given it up */
struct fake_request {
	struct consensus_check checks[CONSENSUS_CHANGES];
	struct consensus_put puts[CONSENSUS_CHANGES];
	struct consensus_delete deletes[CONSENSUS_CHANGES];
	size_t checks_count, puts_count, deletes_count;
	uint64_t session;		/* of the client, when it was sent */
	size_t copies;			/* events that have it */
	bool is_refused;		/* its sender was told so: it never happens */
	char *bytes;			/* keys and values */
};

enum fake_what {
	FAKE_TXN_ARRIVES,
	FAKE_TXN_ENDS,
	FAKE_RANGE_ARRIVES,
	FAKE_RANGE_ENDS,
	FAKE_BEAT,			/* the client gives a sign of life */
	FAKE_BEAT_ARRIVES,
	FAKE_BEAT_ENDS,
	FAKE_WATCH,			/* looks whether there is something for the watch */
	FAKE_WATCH_ENDS,
};

struct fake_event {
	struct fake_event *prev, *next;
	uint64_t at_ns;
	enum fake_what what;
	struct fake_client *client;
	struct fake_request *request;
	struct consensus_txn *txn;	/* NULL: its sender has an answer, or no interest */
	struct consensus_range *range;
	enum consensus_outcome outcome;
	int error;
	uint64_t revision;
	uint64_t session;
	uint64_t sent_ns;
	uint64_t seen;			/* the revision that its client had seen when it was sent */
	bool is_lost;			/* the answer */
	struct consensus_item *items;
	size_t count;
	bool has_more;
};

struct fake {
	uint64_t now_ns;
	uint64_t revision;
	uint64_t compacted;
	uint64_t identity;
	uint64_t next_session;
	uint64_t quota;
	uint64_t random;
	unsigned int per_mille;
	struct fake_key *keys;
	size_t count, room;
	struct fake_session *sessions;
	struct fake_client *clients;
	struct fake_event *events;	/* by time */
};

unsigned int fake_random(struct fake *fake, unsigned int below)
{
	fake->random = fake->random * 6364136223846793005ULL + 1442695040888963407ULL;
	return (unsigned int)((fake->random >> 33) % below);
}

static bool fake_happens(struct fake *fake)
{
	return fake->per_mille && fake_random(fake, 1000) < fake->per_mille;
}

static uint64_t fake_way_ns(struct fake *fake)
{
	return (1 + fake_random(fake, (unsigned int)(FAKE_WAY_NS / FAKE_MS))) * FAKE_MS;
}

/* The keys */

/* Where the key is, or would be */
static size_t fake_place(const struct fake *fake, const char *name)
{
	size_t low = 0, high = fake->count;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (strcmp(fake->keys[middle].name, name) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static struct fake_key *fake_find(const struct fake *fake, const char *name)
{
	size_t place = fake_place(fake, name);

	return place < fake->count && !strcmp(fake->keys[place].name, name) ?
	       &fake->keys[place] : NULL;
}

static struct fake_key *fake_add(struct fake *fake, const char *name)
{
	size_t place = fake_place(fake, name);

	if (fake->count == fake->room) {
		fake->room = 2 * fake->room + 16;
		fake->keys = memory_need(realloc(fake->keys, fake->room * sizeof(*fake->keys)));
	}
	memmove(&fake->keys[place + 1], &fake->keys[place],
		(fake->count - place) * sizeof(*fake->keys));
	fake->count++;
	fake->keys[place] = (struct fake_key) { 0 };
	snprintf(fake->keys[place].name, CONSENSUS_KEY, "%s", name);
	return &fake->keys[place];
}

/* The version as of @revision; NULL: the key was not there */
static const struct fake_version *fake_version(const struct fake_key *key, uint64_t revision)
{
	for (size_t i = key->count; i--;)
		if (key->versions[i].revision <= revision)
			return key->versions[i].value ? &key->versions[i] : NULL;
	return NULL;
}

static const struct fake_version *fake_newest(const struct fake *fake, const char *name)
{
	const struct fake_key *key = fake_find(fake, name);

	return key ? fake_version(key, fake->revision) : NULL;
}

/* @value: NULL deletes. */
static void fake_set(struct fake *fake, const char *name, const void *value, size_t size,
		     uint64_t session)
{
	struct fake_key *key = fake_find(fake, name) ?: fake_add(fake, name);

	size_t room = key->count ? 2 * key->count : 1;

	if (!(key->count & (key->count - 1)))
		key->versions = memory_need(realloc(key->versions, room * sizeof(*key->versions)));
	key->versions[key->count++] = (struct fake_version) {
		.revision = fake->revision, .session = session, .size = size,
		.value = value ? memory_copy(value, size) : NULL,
	};
}

static void fake_drop_version(struct fake_key *key, size_t at)
{
	free(key->versions[at].value);
	memmove(&key->versions[at], &key->versions[at + 1],
		(key->count - at - 1) * sizeof(*key->versions));
	key->count--;
	if (!key->count) {
		free(key->versions);
		key->versions = NULL;
	} else if (!(key->count & (key->count - 1))) {
		key->versions = memory_need(realloc(key->versions,
						    key->count * sizeof(*key->versions)));
	}
}

uint64_t fake_bytes(const struct fake *fake)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < fake->count; i++)
		for (size_t j = 0; j < fake->keys[i].count; j++)
			bytes += strlen(fake->keys[i].name) + fake->keys[i].versions[j].size;
	return bytes;
}

/* Events */

static struct fake_event *fake_event(struct fake_client *client, enum fake_what what,
				     uint64_t at_ns)
{
	struct fake_event *event = memory_get(1, sizeof(*event)), *it;
	struct fake *fake = client->fake;

	event->what = what;
	event->client = client;
	event->at_ns = at_ns;
	for (it = fake->events; it && it->at_ns <= at_ns; it = it->next)
		;
	if (it)
		DL_PREPEND_ELEM(fake->events, it, event);
	else
		DL_APPEND(fake->events, event);
	return event;
}

static void fake_free_event(struct fake_event *event)
{
	for (size_t i = 0; i < event->count; i++) {
		free((void *)event->items[i].key);
		free((void *)event->items[i].value);
	}
	free(event->items);
	if (event->request && !--event->request->copies) {
		free(event->request->bytes);
		free(event->request);
	}
	free(event);
}

static void fake_item(struct fake_event *event, const char *key,
		      const struct fake_version *version)
{
	event->items = memory_need(realloc(event->items,
					   (event->count + 1) * sizeof(*event->items)));
	event->items[event->count++] = (struct consensus_item) {
		.key = memory_copy(key, strlen(key)), .size = version->size,
		.value = version->value ? memory_copy(version->value, version->size) : NULL,
		.revision = version->revision,
	};
}

/* Txns */

static char *fake_copy(char **to, const void *from, size_t size)
{
	char *copy = *to;

	if (size)
		memcpy(copy, from, size);
	*to += size;
	return copy;
}

static char *fake_copy_text(char **to, const char *text)
{
	return text ? fake_copy(to, text, strlen(text) + 1) : NULL;
}

/* Bytes of all keys and values, each with one byte more */
static size_t fake_size(const struct consensus_txn *txn)
{
	size_t size = 0;

	for (size_t i = 0; i < txn->checks_count; i++)
		size += strlen(txn->checks[i].key) + 1;
	for (size_t i = 0; i < txn->puts_count; i++)
		size += strlen(txn->puts[i].key) + 1 + txn->puts[i].size;
	for (size_t i = 0; i < txn->deletes_count; i++)
		size += strlen(txn->deletes[i].key) + 2 +
			(txn->deletes[i].end ? strlen(txn->deletes[i].end) : 0);
	return size;
}

static struct fake_request *fake_request(const struct fake_client *client,
					 const struct consensus_txn *txn)
{
	struct fake_request *request = memory_get(1, sizeof(*request));
	char *to = memory_get(fake_size(txn), 1);

	request->bytes = to;
	request->session = client->session;
	request->checks_count = txn->checks_count;
	request->puts_count = txn->puts_count;
	request->deletes_count = txn->deletes_count;
	for (size_t i = 0; i < txn->checks_count; i++) {
		request->checks[i] = txn->checks[i];
		request->checks[i].key = fake_copy_text(&to, txn->checks[i].key);
	}
	for (size_t i = 0; i < txn->puts_count; i++) {
		request->puts[i] = txn->puts[i];
		request->puts[i].key = fake_copy_text(&to, txn->puts[i].key);
		request->puts[i].value = fake_copy(&to, txn->puts[i].value, txn->puts[i].size);
	}
	for (size_t i = 0; i < txn->deletes_count; i++) {
		request->deletes[i].key = fake_copy_text(&to, txn->deletes[i].key);
		request->deletes[i].end = fake_copy_text(&to, txn->deletes[i].end);
	}
	return request;
}

static bool fake_has_session(const struct fake *fake, uint64_t id)
{
	const struct fake_session *session;

	LL_FOREACH(fake->sessions, session)
		if (session->id == id)
			return true;
	return false;
}

static int fake_refusal(const struct fake *fake, const struct fake_request *request)
{
	uint64_t more = 0;

	for (size_t i = 0; i < request->checks_count; i++) {
		const struct fake_version *version = fake_newest(fake, request->checks[i].key);

		if ((version ? version->revision : 0) != request->checks[i].revision)
			return -ESTALE;
	}
	for (size_t i = 0; i < request->puts_count; i++) {
		more += strlen(request->puts[i].key) + request->puts[i].size;
		if (request->puts[i].in_session && !fake_has_session(fake, request->session))
			return -ENOENT;
	}
	return more && fake_bytes(fake) + more > fake->quota ? -ENOSPC : 0;
}

static void fake_delete(struct fake *fake, const struct consensus_delete *delete)
{
	for (size_t i = fake_place(fake, delete->key); i < fake->count; i++) {
		const char *name = fake->keys[i].name;

		if (delete->end ? strcmp(name, delete->end) >= 0 : strcmp(name, delete->key))
			break;
		if (fake_version(&fake->keys[i], fake->revision))
			fake_set(fake, name, NULL, 0, 0);
	}
}

static void fake_look_for_watches(struct fake *fake)
{
	struct fake_client *client;

	LL_FOREACH(fake->clients, client)
		if (client->watch_next)
			fake_event(client, FAKE_WATCH, fake->now_ns + fake_way_ns(fake));
}

static int fake_do(struct fake *fake, const struct fake_request *request)
{
	int error = fake_refusal(fake, request);

	if (error)
		return error;
	fake->revision++;
	for (size_t i = 0; i < request->puts_count; i++) {
		const struct consensus_put *put = &request->puts[i];

		fake_set(fake, put->key, put->value, put->size,
			 put->in_session ? request->session : 0);
	}
	for (size_t i = 0; i < request->deletes_count; i++)
		fake_delete(fake, &request->deletes[i]);
	fake_look_for_watches(fake);
	return 0;
}

/* @first, @second: keys; ends are NULL for one key. */
static bool fake_meet(const char *first, const char *first_end, const char *second,
		      const char *second_end)
{
	return (second_end ? strcmp(first, second_end) < 0 : strcmp(first, second) <= 0) &&
	       (first_end ? strcmp(second, first_end) < 0 : strcmp(second, first) <= 0);
}

static bool fake_is_key(const char *key)
{
	return *key && strlen(key) < CONSENSUS_KEY;
}

/* Refusals before anything is sent */
static int fake_judge(const struct consensus_txn *txn)
{
	if (txn->checks_count > CONSENSUS_CHANGES ||
	    txn->puts_count + txn->deletes_count > CONSENSUS_CHANGES ||
	    fake_size(txn) > CONSENSUS_BYTES)
		return -E2BIG;
	for (size_t i = 0; i < txn->checks_count; i++)
		if (!fake_is_key(txn->checks[i].key))
			return -EINVAL;
	for (size_t i = 0; i < txn->puts_count; i++) {
		if (!fake_is_key(txn->puts[i].key))
			return -EINVAL;
		for (size_t j = 0; j < i; j++)
			if (!strcmp(txn->puts[i].key, txn->puts[j].key))
				return -EINVAL;
		for (size_t j = 0; j < txn->deletes_count; j++)
			if (fake_meet(txn->puts[i].key, NULL, txn->deletes[j].key,
				      txn->deletes[j].end))
				return -EINVAL;
	}
	for (size_t i = 0; i < txn->deletes_count; i++)
		if (!fake_is_key(txn->deletes[i].key))
			return -EINVAL;
	return 0;
}

static enum fake_fate fake_choose(struct fake_client *client)
{
	enum fake_fate fate = client->fate;

	client->fate = FAKE_ARRIVES;
	if (client->fake->now_ns < client->cut_until_ns)
		return FAKE_LOSES_REQUEST;
	if (fate == FAKE_ARRIVES && fake_happens(client->fake))
		fate = 1 + fake_random(client->fake, FAKE_FATES - 1);
	return fate;
}

static struct fake_event *fake_send(struct fake_client *client, struct fake_request *request,
				    struct consensus_txn *txn, uint64_t at_ns)
{
	struct fake_event *event = fake_event(client, FAKE_TXN_ARRIVES, at_ns);

	event->request = request;
	event->txn = txn;
	event->seen = client->mark.revision;
	request->copies++;
	return event;
}

static struct fake_event *fake_end_txn(struct fake_client *client, struct consensus_txn *txn,
				       uint64_t at_ns, enum consensus_outcome outcome, int error)
{
	struct fake_event *event = fake_event(client, FAKE_TXN_ENDS, at_ns);

	event->txn = txn;
	event->outcome = outcome;
	event->error = error;
	return event;
}

static void fake_txn(struct consensus *store, struct consensus_txn *txn)
{
	struct fake_client *client = (struct fake_client *)store;
	struct fake *fake = client->fake;
	uint64_t now = fake->now_ns, first = now + fake_way_ns(fake);
	uint64_t late = now + CONSENSUS_PATIENCE_NS +
			fake_random(fake, FAKE_DELAY_NS / FAKE_MS) * FAKE_MS;
	int error = client->is_restored ? -ENOTRECOVERABLE : fake_judge(txn);
	struct fake_request *request;
	enum fake_fate fate;

	if (error) {
		fake_end_txn(client, txn, now, CONSENSUS_REFUSED, error);
		return;
	}
	fate = fake_choose(client);
	request = fake_request(client, txn);
	request->copies++;
	if (fate == FAKE_ARRIVES || fate == FAKE_DOUBLES)
		fake_send(client, request, txn, first);
	if (fate == FAKE_LOSES_ANSWER || fate == FAKE_RETRIES)
		fake_send(client, request, NULL, first);
	if (fate == FAKE_DELAYS || fate == FAKE_DOUBLES)
		fake_send(client, request, NULL, late);
	if (fate == FAKE_RETRIES)
		fake_send(client, request, txn, first + fake_way_ns(fake));
	if (fate == FAKE_LOSES_REQUEST || fate == FAKE_LOSES_ANSWER || fate == FAKE_DELAYS)
		fake_end_txn(client, txn, now + CONSENSUS_PATIENCE_NS, CONSENSUS_UNKNOWN,
			     -ETIMEDOUT);
	if (!--request->copies) {
		free(request->bytes);
		free(request);
	}
}

static void fake_txn_arrives(struct fake_event *event)
{
	struct fake_client *client = event->client;
	struct fake *fake = client->fake;
	int error = event->request->is_refused ? -ENOSPC : fake_do(fake, event->request);
	struct fake_event *end;

	if (!event->txn)
		return;
	end = fake_end_txn(client, event->txn, fake->now_ns + fake_way_ns(fake),
			   error ? CONSENSUS_REFUSED : CONSENSUS_DONE, error);
	end->revision = fake->revision;
	end->seen = event->seen;
	event->request->is_refused = error == -ENOSPC;
	event->txn = NULL;
}

/* Ranges */

static void fake_range(struct consensus *store, struct consensus_range *range)
{
	struct fake_client *client = (struct fake_client *)store;
	struct fake *fake = client->fake;
	bool is_lost = fake->now_ns < client->cut_until_ns || fake_happens(fake);
	struct fake_event *event;

	if (is_lost) {
		event = fake_event(client, FAKE_RANGE_ENDS, fake->now_ns + CONSENSUS_PATIENCE_NS);
		event->error = -EIO;
	} else {
		event = fake_event(client, FAKE_RANGE_ARRIVES, fake->now_ns + fake_way_ns(fake));
	}
	event->range = range;
	event->seen = client->mark.revision;
}

static void fake_range_arrives(struct fake_event *event)
{
	struct fake *fake = event->client->fake;
	const struct consensus_range *range = event->range;
	struct fake_event *end = fake_event(event->client, FAKE_RANGE_ENDS,
					    fake->now_ns + fake_way_ns(fake));

	end->range = event->range;
	end->revision = fake->revision;
	end->seen = event->seen;
	event->range = NULL;
	if (range->revision && range->revision < fake->compacted) {
		end->error = -ESTALE;
		return;
	}
	for (size_t i = fake_place(fake, range->from); i < fake->count; i++) {
		const struct fake_version *version =
			fake_version(&fake->keys[i], range->revision ?: fake->revision);

		if (strcmp(fake->keys[i].name, range->end) >= 0)
			break;
		if (version && end->count == range->most)
			end->has_more = true;
		if (version && end->count < range->most)
			fake_item(end, fake->keys[i].name, version);
	}
}

/* Sessions */

static void fake_end(struct fake *fake, struct fake_session *session)
{
	bool has_keys = false;

	for (size_t i = 0; i < fake->count; i++) {
		const struct fake_version *version = fake_version(&fake->keys[i], fake->revision);

		has_keys |= version && version->session == session->id;
	}
	fake->revision += has_keys;
	for (size_t i = 0; i < fake->count; i++) {
		const struct fake_version *version = fake_version(&fake->keys[i], fake->revision);

		if (version && version->session == session->id)
			fake_set(fake, fake->keys[i].name, NULL, 0, 0);
	}
	LL_DELETE(fake->sessions, session);
	free(session);
	fake_look_for_watches(fake);
}

static void fake_end_old_sessions(struct fake *fake)
{
	struct fake_session *session, *next;

	LL_FOREACH_SAFE(fake->sessions, session, next)
		if (session->end_ns <= fake->now_ns)
			fake_end(fake, session);
}

static void fake_beat_arrives(struct fake_event *event)
{
	struct fake_client *client = event->client;
	struct fake *fake = client->fake;
	struct fake_session *session;
	struct fake_event *end;
	uint64_t id = 0;

	LL_FOREACH(fake->sessions, session)
		if (session->id == event->session)
			break;
	if (!event->session) {
		session = memory_get(1, sizeof(*session));
		session->id = ++fake->next_session;
		LL_PREPEND(fake->sessions, session);
	}
	if (fake->now_ns < client->lie_until_ns && event->session) {
		id = event->session;
	} else if (session) {
		session->end_ns = fake->now_ns + client->session_ns;
		id = session->id;
	}
	end = fake_event(client, FAKE_BEAT_ENDS, fake->now_ns + fake_way_ns(fake));
	end->session = id;
	end->sent_ns = event->sent_ns;
	end->is_lost = fake_happens(fake);
}

/* The client's own clock; the answer comes when it comes. */
static void fake_beat(struct fake_event *event)
{
	struct fake_client *client = event->client;
	struct fake *fake = client->fake;
	struct fake_event *beat;

	fake_event(client, FAKE_BEAT, fake->now_ns + client->session_ns / FAKE_BEATS);
	if (fake->now_ns < client->cut_until_ns)
		return;
	beat = fake_event(client, FAKE_BEAT_ARRIVES, fake->now_ns + fake_way_ns(fake));
	beat->session = client->session;
	beat->sent_ns = fake->now_ns;
}

static void fake_begin_session(struct fake_client *client, uint64_t id, uint64_t sent_ns)
{
	if (client->session && client->session != id)
		return;
	if (sent_ns + client->session_ns > client->sure_ns)
		client->sure_ns = sent_ns + client->session_ns;
	if (client->session == id)
		return;
	client->session = id;
	client->mark.session = id;
	client->events->session(client->owner, id);
}

static void fake_beat_ends(struct fake_event *event)
{
	struct fake_client *client = event->client;

	if (event->is_lost)
		return;
	if (event->session) {
		fake_begin_session(client, event->session, event->sent_ns);
	} else if (client->session) {
		client->session = 0;
		client->sure_ns = 0;
		client->events->session(client->owner, 0);
	}
}

static uint64_t fake_session(const struct consensus *store)
{
	return ((const struct fake_client *)store)->session;
}

static uint64_t fake_sure_ns(const struct consensus *store)
{
	return ((const struct fake_client *)store)->sure_ns;
}

/* Watches */

static void fake_watch(struct consensus *store, const char *from, const char *end,
		       uint64_t revision)
{
	struct fake_client *client = (struct fake_client *)store;

	client->watch_next = from ? revision ?: 1 : 0;
	snprintf(client->watch_from, CONSENSUS_KEY, "%s", from ?: "");
	snprintf(client->watch_end, CONSENSUS_KEY, "%s", from ? end : "");
	if (from)
		fake_event(client, FAKE_WATCH, client->fake->now_ns + fake_way_ns(client->fake));
}

/* The changes of one revision */
static void fake_watch_revision(const struct fake *fake, struct fake_event *end, uint64_t revision)
{
	const struct fake_client *client = end->client;

	for (size_t i = fake_place(fake, client->watch_from); i < fake->count; i++) {
		const struct fake_key *key = &fake->keys[i];

		if (strcmp(key->name, client->watch_end) >= 0)
			break;
		for (size_t j = key->count; j-- && key->versions[j].revision >= revision;)
			if (key->versions[j].revision == revision)
				fake_item(end, key->name, &key->versions[j]);
	}
}

static void fake_watch_arrives(struct fake_event *event)
{
	struct fake_client *client = event->client;
	struct fake *fake = client->fake;
	struct fake_event *end;

	if (!client->watch_next || client->is_closed || client->watch_next > fake->revision)
		return;
	if (fake->now_ns < client->cut_until_ns) {
		fake_event(client, FAKE_WATCH, client->cut_until_ns);
		return;
	}
	end = fake_event(client, FAKE_WATCH_ENDS, fake->now_ns);
	if (client->watch_next <= fake->compacted || fake_happens(fake)) {
		client->watch_next = 0;
		end->error = -ESTALE;
		return;
	}
	for (uint64_t revision = client->watch_next; revision <= fake->revision; revision++)
		fake_watch_revision(fake, end, revision);
	end->revision = fake->revision;
	client->watch_next = fake->revision + 1;
}

static void fake_watch_ends(struct fake_event *event)
{
	struct fake_client *client = event->client;

	if (event->error)
		client->events->gap(client->owner);
	else if (event->count && client->watch_next)
		client->events->changed(client->owner, event->items, event->count,
					event->revision);
}

/* What the client gets */

/* Answers may overtake others: what counts is what was seen before the call. */
static void fake_see(struct fake_client *client, const struct fake_event *event)
{
	if (!event->revision)
		return;
	client->is_restored |= event->revision < event->seen ||
			       client->mark.identity != client->fake->identity;
	if (event->revision > client->mark.revision)
		client->mark.revision = event->revision;
}

static void fake_txn_ends(struct fake_event *event)
{
	struct consensus_txn *txn = event->txn;

	fake_see(event->client, event);
	txn->outcome = event->outcome;
	txn->error = event->error;
	txn->revision = event->outcome == CONSENSUS_DONE ? event->revision : 0;
	txn->done(txn);
}

static void fake_range_ends(struct fake_event *event)
{
	struct consensus_range *range = event->range;

	fake_see(event->client, event);
	range->error = event->client->is_restored ? -ENOTRECOVERABLE : event->error;
	range->items = event->items;
	range->count = range->error ? 0 : event->count;
	range->has_more = event->has_more;
	if (!range->error && !range->revision)
		range->revision = event->revision;
	range->done(range);
}

static void fake_take(struct fake_event *event)
{
	if (event->what == FAKE_TXN_ENDS)
		fake_txn_ends(event);
	else if (event->what == FAKE_RANGE_ENDS)
		fake_range_ends(event);
	else if (event->what == FAKE_BEAT_ENDS)
		fake_beat_ends(event);
	else
		fake_watch_ends(event);
}

static void fake_reap(struct consensus *store)
{
	struct fake_client *client = (struct fake_client *)store;
	struct fake_event *event;

	while ((event = client->inbox)) {
		DL_DELETE(client->inbox, event);
		fake_take(event);
		fake_free_event(event);
	}
}

static void fake_happen(struct fake_event *event)
{
	switch (event->what) {
	case FAKE_TXN_ARRIVES:
		fake_txn_arrives(event);
		break;
	case FAKE_RANGE_ARRIVES:
		fake_range_arrives(event);
		break;
	case FAKE_BEAT:
		fake_beat(event);
		break;
	case FAKE_BEAT_ARRIVES:
		fake_beat_arrives(event);
		break;
	case FAKE_WATCH:
		fake_watch_arrives(event);
		break;
	default:
		DL_APPEND(event->client->inbox, event);
		fake_reap(&event->client->store);
		return;
	}
	fake_free_event(event);
}

/* A client that is closed gets nothing; what it sent arrives all the same. */
void fake_step(struct fake *fake, uint64_t until_ns)
{
	struct fake_event *event = fake->events;
	bool is_early = !event || event->at_ns > until_ns;

	fake->now_ns = is_early ? until_ns : event->at_ns > fake->now_ns ? event->at_ns :
		       fake->now_ns;
	fake_end_old_sessions(fake);
	if (is_early)
		return;
	DL_DELETE(fake->events, event);
	if (event->client->is_closed && event->what != FAKE_TXN_ARRIVES)
		fake_free_event(event);
	else
		fake_happen(event);
}

/* Clients */

/* Nothing to wait for: fake_step() reaps. */
static int fake_fd(const struct consensus *store)
{
	return -1;
}

static bool fake_is_full(const struct consensus *store)
{
	const struct fake *fake = ((const struct fake_client *)store)->fake;

	return fake_bytes(fake) >= fake->quota / 4 * 3;
}

static void fake_mark(const struct consensus *store, struct consensus_mark *mark)
{
	*mark = ((const struct fake_client *)store)->mark;
}

static void fake_figures(const struct consensus *store, struct consensus_figures *figures)
{
	const struct fake *fake = ((const struct fake_client *)store)->fake;

	*figures = (struct consensus_figures) { .bytes = fake_bytes(fake), .quota = fake->quota };
}

static void fake_give_up(struct fake_client *client, struct fake_event *event)
{
	if (event->txn) {
		event->txn->outcome = CONSENSUS_UNKNOWN;
		event->txn->error = -EIO;
		event->txn->revision = 0;
		event->txn->done(event->txn);
		event->txn = NULL;
	} else if (event->range) {
		event->range->error = -EIO;
		event->range->count = 0;
		event->range->done(event->range);
		event->range = NULL;
	}
}

static void fake_close(struct consensus *store)
{
	struct fake_client *client = (struct fake_client *)store;
	struct fake_session *session, *next;
	struct fake_event *event;

	client->is_closed = true;
	DL_FOREACH(client->fake->events, event)
		if (event->client == client)
			fake_give_up(client, event);
	if (client->fake->now_ns < client->cut_until_ns)
		return;
	LL_FOREACH_SAFE(client->fake->sessions, session, next)
		if (session->id == client->session)
			fake_end(client->fake, session);
}

static const struct consensus_ops fake_ops = {
	.close = fake_close,
	.fd = fake_fd,
	.reap = fake_reap,
	.txn = fake_txn,
	.range = fake_range,
	.watch = fake_watch,
	.session = fake_session,
	.sure_ns = fake_sure_ns,
	.is_full = fake_is_full,
	.mark = fake_mark,
	.figures = fake_figures,
};

struct consensus *fake_open(struct fake *fake, const struct consensus_settings *settings,
			    const struct consensus_events *events, void *owner)
{
	struct fake_client *client = memory_get(1, sizeof(*client));
	struct fake_session *former;

	client->store.ops = &fake_ops;
	client->fake = fake;
	client->events = events;
	client->owner = owner;
	client->session_ns = settings->session_ns;
	client->mark = settings->mark;
	client->mark.identity = client->mark.identity ?: fake->identity;
	LL_FOREACH(fake->sessions, former)
		if (former->id == settings->mark.session)
			former->end_ns = fake->now_ns;
	LL_PREPEND(fake->clients, client);
	fake_event(client, FAKE_BEAT, fake->now_ns);
	return &client->store;
}

/* Faults */

void fake_next(struct consensus *store, enum fake_fate fate)
{
	((struct fake_client *)store)->fate = fate;
}

void fake_faults(struct fake *fake, unsigned int per_mille)
{
	fake->per_mille = per_mille;
}

void fake_cut(struct consensus *store, uint64_t until_ns)
{
	((struct fake_client *)store)->cut_until_ns = until_ns;
}

void fake_lie(struct consensus *store, uint64_t until_ns)
{
	((struct fake_client *)store)->lie_until_ns = until_ns;
}

void fake_end_session(struct consensus *store)
{
	struct fake_client *client = (struct fake_client *)store;
	struct fake_session *session, *next;

	LL_FOREACH_SAFE(client->fake->sessions, session, next)
		if (session->id == client->session)
			fake_end(client->fake, session);
}

/* Of each key the version as of now stays, and those after it. */
void fake_compact(struct fake *fake)
{
	fake->compacted = fake->revision;
	for (size_t i = 0; i < fake->count; i++)
		while (fake->keys[i].count > 1)
			fake_drop_version(&fake->keys[i], 0);
}

void fake_set_quota(struct fake *fake, uint64_t bytes)
{
	fake->quota = bytes;
}

/* An older version that was compacted cannot come back: the key is gone then. */
void fake_lose(struct fake *fake, const char *name)
{
	struct fake_key *key = fake_find(fake, name);

	if (key && key->count)
		fake_drop_version(key, key->count - 1);
}

void fake_restore(struct fake *fake, uint64_t revision)
{
	for (size_t i = 0; i < fake->count; i++)
		for (size_t j = fake->keys[i].count; j--;)
			if (fake->keys[i].versions[j].revision > revision)
				fake_drop_version(&fake->keys[i], j);
	fake->revision = revision;
	if (fake->compacted > revision)
		fake->compacted = revision;
}

uint64_t fake_revision(const struct fake *fake)
{
	return fake->revision;
}

const void *fake_get(const struct fake *fake, const char *key, size_t *size, uint64_t *revision)
{
	const struct fake_version *version = fake_newest(fake, key);

	*size = version ? version->size : 0;
	*revision = version ? version->revision : 0;
	return version ? version->value : NULL;
}

uint64_t fake_now(const struct fake *fake)
{
	return fake->now_ns;
}

struct fake *fake_new(unsigned int seed)
{
	struct fake *fake = memory_get(1, sizeof(*fake));

	fake->now_ns = 1000 * FAKE_MS;
	fake->revision = 1;
	fake->identity = 1 + seed;
	fake->quota = UINT64_MAX;
	fake->random = seed;
	fake_random(fake, 2);
	return fake;
}

void fake_free(struct fake *fake)
{
	struct fake_session *session, *next_session;
	struct fake_client *client, *next_client;
	struct fake_event *event, *next_event;

	DL_FOREACH_SAFE(fake->events, event, next_event)
		fake_free_event(event);
	LL_FOREACH_SAFE(fake->sessions, session, next_session)
		free(session);
	LL_FOREACH_SAFE(fake->clients, client, next_client)
		free(client);
	for (size_t i = 0; i < fake->count; i++) {
		while (fake->keys[i].count)
			fake_drop_version(&fake->keys[i], 0);
		free(fake->keys[i].versions);
	}
	free(fake->keys);
	free(fake);
}
