// SPDX-License-Identifier: GPL-2.0-only
/*
 * Statistics: what CPUs and the worker counted, summed up.
 *
 * Each counter has one writer at a time, a CPU or the owner of the slots, but for
 * those of rare events. Ends are summed up before arms: a caller that ended a timeout had read the
 * word that arming released after it was counted, so the reader sees that, too, and the
 * difference is never too low. A canceller counts by control dependency on that word only:
 * that a third CPU then sees the arm, too, LKMM does not promise, but multi-copy atomic
 * machines do, and POWER, whose barriers are cumulative. On any other it would be 0.
 */
#include <linux/completion.h>
#include <linux/cpumask.h>
#include <linux/export.h>
#include <linux/kernel.h>
#include <linux/limits.h>
#include <linux/minmax.h>
#include <linux/percpu.h>
#include <linux/string.h>

#include "stats.h"
#include "wheel.h"

/* On 32-bit machines it is not to be sign-extended. */
static unsigned long read_count(const local_t *count)
{
	return local_read(count);
}

static unsigned long sum_of(const unsigned long __percpu *counter)
{
	unsigned long sum = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		sum += READ_ONCE(*per_cpu_ptr(counter, cpu));
	return sum;
}

static void sum_ended(const struct hwheel *wheel, struct hwheel_stats *stats)
{
	const struct hwheel_counts *counts = &wheel->counts;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(counts->lateness); i++) {
		unsigned long n = read_count(&counts->lateness[i]);

		stats->lateness[min(i, HWHEEL_LATENESS_BINS - 1U)] += n;
		stats->expired += n;
	}
	stats->handed_back = read_count(&counts->handed_back);
	stats->cancelled_queued = sum_of(&wheel->cpu->cancelled[0]);
	stats->cancelled_filed = sum_of(&wheel->cpu->cancelled[1]);
}

/*
 * On a stopped wheel nothing is pending, though a caller that cancelled a timeout during the stop
 * may not have counted it yet. After hwheel_stop() has returned, the completion is seen as done.
 *
 * Unsigned, so it comes out right when the counters of a 32-bit machine have wrapped. The
 * difference may be too high, but no more timeouts are pending than the limit allows.
 */
static u64 pending_of(const struct hwheel *wheel,
		      const struct hwheel_stats *stats)
{
	unsigned long ended = stats->expired + stats->handed_back +
			      stats->cancelled_queued + stats->cancelled_filed;

	if (completion_done((struct completion *)&wheel->stopped))
		return 0;
	return min_t(u64, max_t(long, (unsigned long)stats->armed - ended, 0),
		     wheel->max_pending ?: U64_MAX);
}

static void sum_pending(const struct hwheel *wheel, struct hwheel_stats *stats)
{
	sum_ended(wheel, stats);
	/* Pairs with the order of arming and ending, see the top. */
	smp_rmb();
	stats->armed = sum_of(&wheel->cpu->armed);
	stats->pending = pending_of(wheel, stats);
}

/**
 * hwheel_pending - how many timeouts are pending
 * @wheel: the wheel
 *
 * Context: any but NMI and under scheduler locks.
 * Return: the number; while others arm and end timeouts it may be too high by some
 * that ended meanwhile, and by arms that fail, but not beyond max_pending, and never too
 * low. After hwheel_stop() it is 0.
 */
u64 hwheel_pending(const struct hwheel *wheel)
{
	struct hwheel_stats stats = { };

	sum_pending(wheel, &stats);
	return stats.pending;
}
EXPORT_SYMBOL_GPL(hwheel_pending);

/**
 * hwheel_get_stats - what happened on a wheel since it was created
 * @wheel: the wheel; may be stopped
 * @stats: where to
 *
 * Sums up the counters of all CPUs while others go on counting: each of the figures is
 * exact at some time during the call, each at another time; but @pending may be too high, as
 * that of hwheel_pending(), and @armed counts an arm before it may fail.
 *
 * Context: any but NMI and under scheduler locks.
 */
void hwheel_get_stats(const struct hwheel *wheel, struct hwheel_stats *stats)
{
	const struct hwheel_counts *counts = &wheel->counts;

	memset(stats, 0, sizeof(*stats));
	sum_pending(wheel, stats);
	stats->refreshed_later = sum_of(&wheel->cpu->refreshed[0]);
	stats->refreshed_earlier = sum_of(&wheel->cpu->refreshed[1]);
	stats->passes = read_count(&counts->passes);
	stats->visited = read_count(&counts->visited);
	stats->moved = read_count(&counts->moved);
	stats->wakeups = read_count(&counts->wakeups);
	stats->drained = read_count(&counts->drained);
	stats->drained_max = read_count(&counts->drained_max);
	stats->lag = read_count(&counts->lag);
	stats->lag_max = read_count(&counts->lag_max);
	stats->overlong = (unsigned long)atomic_long_read(&wheel->overlong);
	stats->contained = (unsigned long)atomic_long_read(&wheel->contained);
}
EXPORT_SYMBOL_GPL(hwheel_get_stats);
