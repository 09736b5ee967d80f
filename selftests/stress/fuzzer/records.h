/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _HWHEEL_FUZZER_RECORDS_H
#define _HWHEEL_FUZZER_RECORDS_H

#include <stdbool.h>

#include "../../abi/record.h"

struct caller;
struct file;

/**
 * struct record_fate - what is known of a record
 * @live:       it was armed, and neither cancelled nor its event claimed
 * @withdrawn:  so was its event
 * @deadline:   as the record's word has it; with the other fields, of the last arm
 * @cookie:     as armed
 * @generation: as armed
 */
struct record_fate {
	bool	live;
	bool	withdrawn;
	__u64	deadline;
	__u64	cookie;
	__u32	generation;
};

/**
 * struct records - the mapped timeouts of a file that one thread has for itself
 * @map:   the mapping; no @base: there is none
 * @fates: one for each record that there may be
 * @live:  how many are live
 * @fired: fired_ns of the last event
 */
struct records {
	struct map		map;
	struct record_fate	*fates;
	unsigned int		live;
	__u64			fired;
};

/* Some operations, on a file that is mapped; does nothing to another one. */
void call_records(struct caller *c, struct file *file);

/* The file is stopped: claims all events, and each live record has one. */
void records_to_the_end(struct caller *c, struct file *file);

void records_free(struct records *records);

#endif /* _HWHEEL_FUZZER_RECORDS_H */
