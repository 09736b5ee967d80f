// SPDX-License-Identifier: GPL-2.0-only
/*
 * How much memory a pending timeout takes: by how much the machine's free memory shrinks
 * when very many are armed, so that all is in it, whoever allocates it.
 *
 * Free is also what each CPU keeps for the next one who wants a page. Not in it: what a
 * program names its timeouts by, an id or a descriptor, as that is a field of something
 * that it has anyway.
 */
#include <fcntl.h>
#include <malloc.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "commands.h"
#include "measure.h"

#define MANY	100000
#define MOST	1000000

/* Larger allocations get pages of their own. */
#define THRESHOLD	65536

/* The memory that was freed a moment ago is free then. */
#define QUIET_NS	SEC

static void empty_caches(void)
{
	int fd = open("/proc/sys/vm/drop_caches", O_WRONLY);

	must(fd >= 0 && write(fd, "3", 1) == 1 && !close(fd), "drop_caches");
}

/* In pages; of a line of zoneinfo, 0 if it tells of something else */
static long free_in(const char *line)
{
	long nr;

	if (sscanf(line, " pages free %ld", &nr) == 1 || sscanf(line, " count: %ld", &nr) == 1)
		return nr;
	return 0;
}

static long free_memory(void)
{
	long pages = 0;
	char line[256];
	FILE *file;

	empty_caches();
	sleep_ns(QUIET_NS);
	file = fopen("/proc/zoneinfo", "r");
	must(file, "zoneinfo");
	while (fgets(line, sizeof(line), file))
		pages += free_in(line);
	fclose(file);
	return pages * sysconf(_SC_PAGESIZE);
}

static void memory_of(const struct facility *facility, unsigned int n)
{
	long taken;

	measure_open(facility, n);
	taken = free_memory();
	measure_fill(facility, n);
	taken -= free_memory();
	facility->close();
	report("memory.user", facility->name, n, "bytes", (double)taken / n);
}

/*
 * As many as it takes no more than seconds to make. What the program itself frees goes
 * back at once, and it gets no huge pages, which it might fill later.
 */
void bench_memory(void)
{
	unsigned int n;

	must(mallopt(M_MMAP_THRESHOLD, THRESHOLD), "mallopt");
	must(!prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0), "PR_SET_THP_DISABLE");
	for (n = MANY; n <= MOST; n *= 10) {
		memory_of(&hwheel, n);
		memory_of(&library, n);
		memory_of(&io_uring, n);
		memory_of(&heap, n);
	}
	memory_of(&timerfd, MANY);
	memory_of(&posix, MANY);
}
