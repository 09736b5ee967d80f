/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A store in the process, in simulated time: what consensus.h promises and nothing more. It loses,
 * delays and doubles what clients send, ends sessions, compacts what is watched, fills up, and
 * loses what it accepted, on demand or at random. One seed is one history.
 */
#ifndef FAKE_STORE_H
#define FAKE_STORE_H

#include "consensus/consensus.h"

/* What may become of a txn */
enum fake_fate {
	FAKE_ARRIVES,
	FAKE_LOSES_REQUEST,	/* unknown; it never happens */
	FAKE_LOSES_ANSWER,	/* unknown; it happened */
	FAKE_DELAYS,		/* unknown; it arrives later, when its sender has given it up */
	FAKE_DOUBLES,		/* it arrives again later; the answer is the first one */
	FAKE_RETRIES,		/* a client library sends it twice; the answer is the second one */
	FAKE_FATES,
};

struct fake;

struct fake *fake_new(unsigned int seed);
void fake_free(struct fake *fake);

/* A client, which is a node's store; settings as of any adapter. close() is its operation. */
struct consensus *fake_open(struct fake *fake, const struct consensus_settings *settings,
			    const struct consensus_events *events, void *owner);

/* Time: that of all clients; it begins at 1 s. */
uint64_t fake_now(const struct fake *fake);

/* Goes on to the next thing that happens, and reaps it; to @until_ns if nothing happens before. */
void fake_step(struct fake *fake, uint64_t until_ns);

/* From 0 to @below - 1, as the seed has it */
unsigned int fake_random(struct fake *fake, unsigned int below);

/* Faults of one client's calls */

/* The next txn has this fate. */
void fake_next(struct consensus *client, enum fake_fate fate);

/* Each call has a fate other than FAKE_ARRIVES so often, in a thousand. */
void fake_faults(struct fake *fake, unsigned int per_mille);

/* Nothing of the client arrives, and it hears nothing, until then. */
void fake_cut(struct consensus *client, uint64_t until_ns);

/* A deposed server answers the client's signs of life until then; they have no effect. */
void fake_lie(struct consensus *client, uint64_t until_ns);

/* Faults of the store */

void fake_end_session(struct consensus *client);
void fake_compact(struct fake *fake);
void fake_set_quota(struct fake *fake, uint64_t bytes);
uint64_t fake_bytes(const struct fake *fake);

/* Loses the last change of the key, though it was done. */
void fake_lose(struct fake *fake, const char *key);

/* The store is as it was at this revision, as after a backup is restored. */
void fake_restore(struct fake *fake, uint64_t revision);

uint64_t fake_revision(const struct fake *fake);

/* The newest value of a key; NULL if there is none */
const void *fake_get(const struct fake *fake, const char *key, size_t *size, uint64_t *revision);

#endif /* FAKE_STORE_H */
