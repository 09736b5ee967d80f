// SPDX-License-Identifier: GPL-2.0-only
#include <err.h>

#include <linux/hwheel.h>

#include "record.h"

#define RECORD_BUFFER	0x100000
#define DIGITS		20		/* of the largest 64-bit number */

void record_open(struct record *record, const char *folder, const char *name)
{
	char path[4096];

	snprintf(path, sizeof(path), "%s/%s.rec", folder, name);
	record->file = fopen(path, "we");
	if (!record->file)
		err(1, "%s", path);
	setvbuf(record->file, NULL, _IOFBF, RECORD_BUFFER);
	record->lines = 0;
	record_line(record, "hwheel-records", 1);
}

/* Several times as fast as printf(), which would be the dearest part of a job */
static void write_number(FILE *file, uint64_t number)
{
	char digits[DIGITS];
	char *first = digits + DIGITS;

	do {
		*--first = '0' + number % 10;
		number /= 10;
	} while (number);
	fwrite_unlocked(first, 1, digits + DIGITS - first, file);
}

void record_numbers(struct record *record, const char *word, const uint64_t *numbers,
		    unsigned int count)
{
	fputs_unlocked(word, record->file);
	for (unsigned int i = 0; i < count; i++) {
		putc_unlocked(' ', record->file);
		write_number(record->file, numbers[i]);
	}
	putc_unlocked('\n', record->file);
	record->lines++;
}

void record_arm(struct record *record, uint64_t id, uint64_t cookie, uint64_t clock,
		uint64_t delay)
{
	record_line(record, "arm", id, cookie, clock, delay);
}

void record_cancel(struct record *record, uint64_t id, int result, uint64_t clock)
{
	record_line(record, "cancel", id, -result, clock);
}

void record_event(struct record *record, const struct hwheel_event *event, uint64_t clock)
{
	record_line(record, "event", event->id, event->cookie, event->deadline_ns,
		    event->fired_ns, event->type, clock);
}

void record_close(struct record *record)
{
	unsigned long lines = record->lines;

	record_line(record, "end", lines);
	if (ferror(record->file) || fclose(record->file))
		err(1, "record file");
}
