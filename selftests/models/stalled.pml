/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * mapped.pml with a thread that stops for ever, once, between setting QUEUED and the end of its
 * push, which is the KICK if the list was ASLEEP. That leaves one record unseen, and no other, as
 * each thread has a list of its own.
 *
 * Without this is violated:
 * NO_LIST_EACH: stuck[1] || ...
 */
#define HAS_STOPS
#define FIRST		2
#define SECOND		1

#include "mapped.pml"
