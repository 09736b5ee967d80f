/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Record files: what a demonstration program did and saw, for judge.py, which
 * alone decides what it means.
 *
 * A file is text. One line per thing that happened, in the order in which it
 * happened: a word and unsigned numbers, separated by one space. Times are ns of
 * CLOCK_MONOTONIC.
 *
 *   hwheel-records 1		first line: the format's version
 *   seed N			what the random choices were made from
 *   tick NS			the wheel's tick, from INFO
 *   arm ID COOKIE CLOCK DELAY	armed with DELAY; CLOCK was read before the call
 *   cancel ID RESULT CLOCK	RESULT is 0 or an errno; CLOCK was read after the call
 *   event ID COOKIE DEADLINE FIRED TYPE CLOCK
 *				as read; CLOCK was read after the call
 *   end LINES			last line: how many lines are before it
 *
 * rpc's server:
 *   silent COOKIE		it will not answer this request
 *   answered COUNT		it answered so many
 * heartbeat's server, where the cookie is the client's TCP port:
 *   beat ID COUNT CLOCK	last heartbeat whose refresh succeeded: CLOCK was read
 *				after recv() and before the refresh
 *   late ID CLOCK		a heartbeat was read, but the refresh said that the
 *				timeout had expired; CLOCK was read after that
 *   refreshes COUNT NS		so many refreshes by hwheel took so long
 *   settimes COUNT NS		the same by timerfd_settime()
 * heartbeat's clients:
 *   client PORT SILENT BEATS CLOSED
 *				SILENT: 1 if it was to fall silent; BEATS sent;
 *				CLOSED: when it saw that the server had closed the
 *				connection, 0 if never
 */
#ifndef DEMO_RECORD_H
#define DEMO_RECORD_H

#include <stdint.h>
#include <stdio.h>

struct hwheel_event;

struct record {
	FILE *file;
	unsigned long lines;
};

/* All of them end the program with a message when the file cannot be written */
void record_open(struct record *record, const char *folder, const char *name);
void record_numbers(struct record *record, const char *word, const uint64_t *numbers,
		    unsigned int count);
void record_arm(struct record *record, uint64_t id, uint64_t cookie, uint64_t clock,
		uint64_t delay);
void record_cancel(struct record *record, uint64_t id, int result, uint64_t clock);
void record_event(struct record *record, const struct hwheel_event *event, uint64_t clock);
void record_close(struct record *record);

/* record_line(record, word, number, ...) */
#define record_line(record, word, ...)						\
	record_numbers(record, word, (const uint64_t []){ __VA_ARGS__ },	\
		       sizeof((const uint64_t []){ __VA_ARGS__ }) / sizeof(uint64_t))

#endif /* DEMO_RECORD_H */
