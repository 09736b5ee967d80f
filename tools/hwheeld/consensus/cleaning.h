/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A request that cleans the log. Its records may be too many for one commit: they are appended in
 * several, and get numbers when all of them are there. The request ends then, and what is old is
 * removed. If a commit is refused, some records are in the log twice, which means nothing new, and
 * nothing is removed.
 */
#ifndef CLEANING_H
#define CLEANING_H

#include "store/store.h"

/* Calls done() of the request. One cleaning at a time. */
void cleaning_begin(struct store_request *request);

/* Is it waiting for the connection? Then one of these goes on. */
void cleaning_read_back(void);
void cleaning_give_up(void);

bool cleaning_is_busy(void);
bool cleaning_is_unknown(void);

#endif /* CLEANING_H */
