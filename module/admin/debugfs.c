// SPDX-License-Identifier: GPL-2.0-only
/*
 * /sys/kernel/debug/hwheel/NAME-ID: what a wheel is like and its statistics, a name and a
 * value on each line. Not an interface to rely on: lines come and go.
 */
#include <linux/debugfs.h>
#include <linux/hwheel.h>
#include <linux/seq_file.h>
#include <linux/workqueue.h>

#include "debugfs.h"
#include "engine/wheel.h"

#define FILE_NAME_MAX	(HWHEEL_NAME_MAX + 11)

static struct dentry *folder;
static struct workqueue_struct *adder;

static const char * const kinds[] = {
	[HWHEEL_IS_SIMPLE]	 = "simple",
	[HWHEEL_IS_HASHED]	 = "hashed",
	[HWHEEL_IS_HIERARCHICAL] = "hierarchical",
};

static void show_wheel(struct seq_file *m, const struct hwheel *wheel)
{
	seq_printf(m, "name %s\n", wheel->name);
	seq_printf(m, "creator %s\n", wheel->creator);
	seq_printf(m, "clock %s\n", wheel->clock == CLOCK_BOOTTIME ?
				    "boottime" : "monotonic");
	seq_printf(m, "tick_ns %llu\n", wheel->tick);
	seq_printf(m, "kind %s\n", kinds[hwheel_kind(wheel)]);
	seq_printf(m, "slots %u\n", wheel->slots.mask + 1);
	seq_printf(m, "levels %u\n", wheel->slots.levels);
	seq_printf(m, "max_pending %llu\n", wheel->max_pending);
	seq_printf(m, "stopped %s\n", READ_ONCE(wheel->special) & HWHEEL_STOPPING ? "yes" : "no");
}

#define COUNTER(name)	{ #name, offsetof(struct hwheel_stats, name) }

static const struct counter {
	const char	*name;
	size_t		offset;
} counters[] = {
	COUNTER(pending),
	COUNTER(armed),
	COUNTER(refreshed_later),
	COUNTER(refreshed_earlier),
	COUNTER(cancelled_queued),
	COUNTER(cancelled_filed),
	COUNTER(expired),
	COUNTER(handed_back),
	COUNTER(passes),
	COUNTER(visited),
	COUNTER(moved),
	COUNTER(wakeups),
	COUNTER(drained),
	COUNTER(drained_max),
	COUNTER(lag),
	COUNTER(lag_max),
	COUNTER(overlong),
	COUNTER(contained),
};

static void show_stats(struct seq_file *m, const struct hwheel_stats *stats)
{
	const struct counter *counter;
	unsigned int i;

	for (counter = counters; counter < counters + ARRAY_SIZE(counters); counter++)
		seq_printf(m, "%s %llu\n", counter->name,
			   *(const u64 *)((const char *)stats + counter->offset));
	seq_puts(m, "lateness");
	for (i = 0; i < HWHEEL_LATENESS_BINS; i++)
		seq_printf(m, " %llu", stats->lateness[i]);
	seq_putc(m, '\n');
}

/* The only sources are the mapped files of the device. */
static void show_mapped(struct seq_file *m, const struct hwheel_source_counts *counts)
{
	seq_printf(m, "mapped_pending %llu\n", READ_ONCE(counts->filed));
	seq_printf(m, "mapped_drained %llu\n", READ_ONCE(counts->drained));
	seq_printf(m, "mapped_expired %llu\n", READ_ONCE(counts->expired));
	seq_printf(m, "mapped_stopped %llu\n", READ_ONCE(counts->stopped));
}

static int wheel_show(struct seq_file *m, void *v)
{
	const struct hwheel *wheel = m->private;
	struct hwheel_stats stats;

	hwheel_get_stats(wheel, &stats);
	show_wheel(m, wheel);
	show_stats(m, &stats);
	show_mapped(m, &wheel->sourced);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(wheel);

/* A wheel works without its file, so nobody looks whether there is one. */
void hwheel_debugfs_add(struct hwheel *wheel)
{
	char name[FILE_NAME_MAX];

	snprintf(name, sizeof(name), "%s-%u", wheel->name, wheel->id);
	wheel->file = debugfs_create_file(name, 0400, folder, wheel, &wheel_fops);
}

static void add_file(struct work_struct *work)
{
	hwheel_debugfs_add(container_of(work, struct hwheel, add_file));
}

/* For a program, which waits for no lock of debugfs so: whoever uses the folder may hold these. */
void hwheel_debugfs_add_later(struct hwheel *wheel)
{
	INIT_WORK(&wheel->add_file, add_file);
	queue_work(adder, &wheel->add_file);
}

void hwheel_debugfs_remove(struct hwheel *wheel)
{
	if (wheel->own)
		cancel_work_sync(&wheel->add_file);
	debugfs_remove(wheel->file);
	wheel->file = NULL;
}

int hwheel_debugfs_init(void)
{
	folder = debugfs_create_dir("hwheel", NULL);
	adder = alloc_workqueue("hwheel_debugfs", WQ_UNBOUND, 0);
	return adder ? 0 : -ENOMEM;
}

void hwheel_debugfs_exit(void)
{
	debugfs_remove(folder);
	if (adder)
		destroy_workqueue(adder);
}
