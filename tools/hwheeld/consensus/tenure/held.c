// SPDX-License-Identifier: GPL-2.0-only
/* selftests/models/held.pml has what goes on here. */
#include <errno.h>
#include <stddef.h>

#include "consensus/tenure/state.h"

static void tenure_released(struct consensus_txn *txn)
{
	struct tenure *tenure = (struct tenure *)((char *)txn - offsetof(struct tenure, release));

	tenure->is_releasing = false;
	if (txn->outcome == CONSENSUS_DONE && tenure->held == tenure->release_check.revision)
		tenure->held = 0;
	else if (txn->error == -ESTALE && tenure->state == TENURE_FREE)
		tenure_read_anew(tenure);
}

/* By its revision: a deletion that is delayed must not delete the key that a later fence puts. */
void tenure_release(struct tenure *tenure)
{
	struct consensus *store = tenure->tenures->store;
	const char *key = tenure->release_key;

	if (tenure->state != TENURE_FREE || !tenure->held || tenure->is_releasing)
		return;
	tenure->is_releasing = true;
	chain_held_key(tenure->shard, tenure->tenures->id, tenure->release_key);
	tenure->release_check = (struct consensus_check) { key, tenure->held };
	tenure->release_delete = (struct consensus_delete) { key, NULL };
	tenure->release = (struct consensus_txn) {
		.checks = &tenure->release_check, .checks_count = 1,
		.deletes = &tenure->release_delete, .deletes_count = 1, .done = tenure_released,
	};
	store->ops->txn(store, &tenure->release);
}

void tenure_note_held(struct tenure *tenure, uint64_t revision)
{
	if (revision > tenure->held)
		tenure->held = revision;
}

/*
 * A fence that was doubled may put this node's key once more, after the end of the log was lost:
 * for a shard that this node does not have.
 */
void tenures_changed(struct tenures *tenures, const struct consensus_item *changes, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		uint64_t node;
		unsigned int shard = chain_held_shard(changes[i].key, &node);
		struct tenure *tenure = shard < tenures->count ? &tenures->list[shard] : NULL;

		if (!tenure)
			continue;
		if (changes[i].value && node == tenures->id) {
			tenure_note_held(tenure, changes[i].revision);
			tenure_release(tenure);
		} else if (!changes[i].value && tenure->state == TENURE_READING) {
			tenure_read_anew(tenure);
		}
	}
}

void tenures_look(struct tenures *tenures)
{
	for (unsigned int i = 0; i < tenures->count; i++)
		if (tenures->list[i].state == TENURE_FREE ||
		    tenures->list[i].state == TENURE_READING)
			tenure_read_anew(&tenures->list[i]);
}

void tenures_end_session(struct tenures *tenures)
{
	for (unsigned int i = 0; i < tenures->count; i++) {
		struct tenure *tenure = &tenures->list[i];

		tenure->held = 0;
		tenure->is_leaving = tenure->state == TENURE_FENCING ||
				     tenure->state == TENURE_LOADING ||
				     tenure->state == TENURE_OWNED;
		if (tenure->is_leaving)
			tenure_leave_if_idle(tenure);
	}
}
