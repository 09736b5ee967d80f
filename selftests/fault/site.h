/* SPDX-License-Identifier: GPL-2.0-only */
/* Where something failed, as the trace tells it. */
#ifndef _HWHEEL_FAULT_SITE_H
#define _HWHEEL_FAULT_SITE_H

#include "../abi/threads.h"
#include "fail_nth.h"

#define MODULE		"/sys/module/hwheel"
#define NAME_SIZE	64
#define SITE_SIZE	(2 * NAME_SIZE)

/*
 * When the trace is read, a module that could not be loaded is gone with the names of
 * its addresses. Where its code was is traced too, and what is how far from its
 * beginning is known from a load before.
 */
#define SYMBOLS_MAX	1024

enum { TEXT, INIT_TEXT, TEXTS };

static struct {
	__u64	start;
	__u64	end;
} texts[TEXTS];

static unsigned int nr_texts;

static struct {
	__u64	offset;
	char	name[NAME_SIZE];
} symbols[SYMBOLS_MAX];

static unsigned int nr_symbols;

static inline void note_symbol(const char *line, __u64 start)
{
	unsigned long long address;
	char type, name[NAME_SIZE];

	if (nr_symbols == SYMBOLS_MAX || !strstr(line, "[hwheel]") ||
	    sscanf(line, "%llx %c %63s", &address, &type, name) != 3 ||
	    (type != 't' && type != 'T') || address < start)
		return;
	symbols[nr_symbols].offset = address - start;
	memcpy(symbols[nr_symbols++].name, name, sizeof(name));
}

/* Of the module, which is loaded */
static inline void note_symbols(void)
{
	FILE *section = fopen(MODULE "/sections/.text", "re");
	FILE *file = fopen("/proc/kallsyms", "re");
	unsigned long long start;
	char line[512];

	if (section && file && fscanf(section, "%llx", &start) == 1)
		while (fgets(line, sizeof(line), file))
			note_symbol(line, start);
	if (section)
		fclose(section);
	if (file)
		fclose(file);
}

/* The module has its functions at one place, and those for its init at another. */
static inline void note_text(const char *line)
{
	const char *text = strstr(line, " text: ");
	const char *start = text ? strstr(text, "start=") : NULL;
	unsigned long long at;
	unsigned int pages;

	if (!start || nr_texts == TEXTS || sscanf(start, "start=%llx pages=%u", &at, &pages) != 2)
		return;
	texts[nr_texts].start = at;
	texts[nr_texts++].end = at + pages * 4096ULL;
}

static inline bool is_in(unsigned int text, __u64 address)
{
	return text < nr_texts && address >= texts[text].start && address < texts[text].end;
}

/* The function of ours at an address, and where it starts; or NULL */
static inline const char *name_of(__u64 address, __u64 *start)
{
	const char *name = NULL;
	unsigned int i;

	*start = texts[INIT_TEXT].start;
	if (is_in(INIT_TEXT, address))
		return "hwheel_init";
	*start = texts[TEXT].start;
	for (i = 0; is_in(TEXT, address) && i < nr_symbols; i++) {
		__u64 at = texts[TEXT].start + symbols[i].offset;

		if (at > address || at < *start)
			continue;
		*start = at;
		name = symbols[i].name;
	}
	return name;
}

/* As the kernel would write it: nothing if it is not ours */
static inline void name_address(char *ours, __u64 address)
{
	__u64 start;
	const char *name = name_of(address, &start);

	if (name)
		snprintf(ours, NAME_SIZE, "%.40s+%#llx", name, address - start);
}

/* What opens and reads our files for us: then we are not on the stack. */
static inline bool is_seq_file(const char *frame)
{
	return !fnmatch("single_open+*", frame, 0) || !fnmatch("seq_read_iter+*", frame, 0);
}

/* Whether a frame of a stack is of a function of ours, and where in it */
static inline bool is_ours(char *ours, const char *frame)
{
	*ours = '\0';
	if (!strncmp(frame, "0x", 2))
		name_address(ours, strtoull(frame, NULL, 16));
	else if (strstr(frame, " [hwheel") || is_seq_file(frame))
		snprintf(ours, NAME_SIZE, "%.*s", (int)strcspn(frame, "/ "), frame);
	return *ours;
}

/* The first frame of a stack that is ours is the site, with what it @called, the one before. */
static inline void note_frame(char *site, char *called, const char *line)
{
	const char *frame = strstr(line, "=> ");
	char ours[NAME_SIZE];

	if (site[0] || !frame)
		return;
	frame += strlen("=> ");
	if (is_ours(ours, frame))
		snprintf(site, SITE_SIZE, "%s %s", ours, called);
	else
		snprintf(called, NAME_SIZE, "%.*s", (int)strcspn(frame, " +"), frame);
}

/* Notes the place in a function of ours, or that it was before the kernel called us. */
static inline bool was_copy(char site[SITE_SIZE])
{
	FILE *trace = fopen(TRACING "trace", "re");
	char line[512], called[NAME_SIZE] = "";
	bool copy = false;

	site[0] = '\0';
	nr_texts = 0;
	while (trace && fgets(line, sizeof(line), trace)) {
		copy |= !!strstr(line, " copy: ");
		note_text(line);
		note_frame(site, called, line);
	}
	if (trace)
		fclose(trace);
	if (!site[0])
		snprintf(site, SITE_SIZE, "(kernel)");
	return copy;
}

#endif /* _HWHEEL_FAULT_SITE_H */
