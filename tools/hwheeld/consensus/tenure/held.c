// SPDX-License-Identifier: GPL-2.0-only
#include <stddef.h>

#include "consensus/tenure/state.h"

static void tenure_released(struct consensus_txn *txn)
{
	struct tenure *tenure = (struct tenure *)((char *)txn - offsetof(struct tenure, release));

	tenure->is_released |= txn->outcome == CONSENSUS_DONE && tenure->held == tenure->releases;
	tenure->releases = 0;
}

void tenure_release(struct tenure *tenure)
{
	struct consensus *store = tenure->tenures->store;

	if (tenure->state != TENURE_FREE || !tenure->held || tenure->is_released ||
	    tenure->releases)
		return;
	tenure->releases = tenure->held;
	chain_held_key(tenure->shard, tenure->held, tenure->release_key);
	tenure->release_delete = (struct consensus_delete) { tenure->release_key, NULL };
	tenure->release = (struct consensus_txn) {
		.deletes = &tenure->release_delete, .deletes_count = 1, .done = tenure_released,
	};
	store->ops->txn(store, &tenure->release);
}

void tenures_changed(struct tenures *tenures, const struct consensus_item *changes, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		uint64_t owner;
		unsigned int shard = chain_held_shard(changes[i].key, &owner);

		if (shard < tenures->count && !changes[i].value &&
		    tenures->list[shard].state == TENURE_READING)
			tenure_read_anew(&tenures->list[shard]);
	}
}

void tenures_end_session(struct tenures *tenures)
{
	for (unsigned int i = 0; i < tenures->count; i++) {
		struct tenure *tenure = &tenures->list[i];

		tenure->is_leaving = tenure->state == TENURE_FENCING ||
				     tenure->state == TENURE_LOADING ||
				     tenure->state == TENURE_OWNED;
		if (tenure->is_leaving)
			tenure_leave_if_idle(tenure);
	}
}
