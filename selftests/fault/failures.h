/* SPDX-License-Identifier: GPL-2.0-only */
/* The failures in an operation: how many, where, and how its call ended. */
#ifndef _HWHEEL_FAULT_FAILURES_H
#define _HWHEEL_FAULT_FAILURES_H

#include "site.h"

enum kind { NONE, ALLOCATION, COPY };

/**
 * struct site - a place where something failed
 * @name:   where in which function of ours, and what that called
 * @failed: how often, by kind
 * @err:    what the call told; 0: it could do without
 */
struct site {
	char		name[SITE_SIZE];
	unsigned int	failed[COPY + 1];
	int		err;
};

#define SITES_MAX	64

/**
 * struct tally - how the failures of an operation ended
 * @failed:   how many allocations and copies there were to fail, by kind
 * @told:     of how many the call told, by kind; the others it could do without, or had
 *            done a part before
 * @sites:    where; those that are in use have a name
 */
struct tally {
	unsigned int	failed[COPY + 1];
	unsigned int	told[COPY + 1];
	struct site	sites[SITES_MAX];
};

/* A call whose copy failed may return the part that it did; others must return the error. */
static inline bool is_right(enum kind kind, int ret)
{
	switch (kind) {
	case ALLOCATION:
		return ret >= 0 || ret == -ENOMEM;
	case COPY:
		return ret > 0 || ret == -EFAULT;
	default:
		return ret >= 0;
	}
}

static inline void count_at(struct tally *tally, const char *name, enum kind kind, int err)
{
	struct site *site = tally->sites;

	while (site->name[0] && (strcmp(site->name, name) || site->err != err))
		if (++site == &tally->sites[SITES_MAX])
			return;
	snprintf(site->name, SITE_SIZE, "%s", name);
	site->err = err;
	site->failed[kind]++;
}

static inline void count(struct tally *tally, const char *site, enum kind kind, int ret)
{
	tally->failed[kind]++;
	tally->told[kind] += ret < 0;
	if (kind != NONE)
		count_at(tally, site, kind, ret < 0 ? ret : 0);
}

static inline void tell_sites(const char *operation, const struct tally *tally)
{
	const struct site *site;

	for (site = tally->sites; site < &tally->sites[SITES_MAX] && site->name[0]; site++)
		printf("# site: %-14s %-54s %3u allocations, %u copies: %s\n", operation,
		       site->name, site->failed[ALLOCATION], site->failed[COPY],
		       site->err ? strerror(-site->err) : "goes on");
}

/**
 * struct end - failures that have to end a call
 * @nr:   at least so many sites
 * @site: a glob pattern for their names
 */
struct end {
	unsigned int	nr;
	const char	*site;
};

static inline bool have_ended(const struct tally *tally, const struct end *end)
{
	const struct site *site = tally->sites;
	unsigned int nr = 0;

	for (; site < &tally->sites[SITES_MAX] && site->name[0]; site++)
		nr += site->err && !fnmatch(end->site, site->name, 0);
	return nr >= end->nr;
}

/* Those that have not been met, or NULL if there are none */
static inline const char *find_missing(const struct tally *tally, const struct end *end)
{
	while (end && end->site && have_ended(tally, end))
		end++;
	return end ? end->site : NULL;
}

#endif /* _HWHEEL_FAULT_FAILURES_H */
