// SPDX-License-Identifier: GPL-2.0-only
#include <stdio.h>

#include "clock/alarm.h"
#include "clock/now.h"
#include "http/client.h"
#include "http/metrics.h"
#include "memory.h"
#include "queue/change.h"
#include "queue/queue.h"
#include "queue/timeout.h"

#define FIRST_BIN_NS	62500ULL

struct metrics metrics;

void metrics_count_answer(unsigned int status)
{
	metrics.answers[status / 100 % 6]++;
}

static void count(struct metrics_histogram *histogram, uint64_t ns)
{
	unsigned int bin = 0;

	while (bin < METRICS_BINS - 1 && ns >= FIRST_BIN_NS << bin)
		bin++;
	histogram->bins[bin]++;
	histogram->sum_ns += ns;
	if (ns > histogram->max_ns)
		histogram->max_ns = ns;
}

void metrics_count_due(uint64_t late_ns)
{
	metrics.due++;
	count(&metrics.lateness, late_ns);
}

void metrics_count_delivery(uint64_t late_ns)
{
	metrics.leased++;
	count(&metrics.delivery, late_ns);
}

static double seconds(uint64_t ns)
{
	return (double)ns / 1e9;
}

static void print_counter(FILE *stream, const char *name, const char *help, uint64_t value)
{
	fprintf(stream, "# TYPE hwheeld_%s counter\n# HELP hwheeld_%s %s\nhwheeld_%s_total %llu\n",
		name, name, help, name, (unsigned long long)value);
}

static void print_gauge(FILE *stream, const char *name, const char *help, double value)
{
	fprintf(stream, "# TYPE hwheeld_%s gauge\n# HELP hwheeld_%s %s\nhwheeld_%s %.9g\n",
		name, name, help, name, value);
}

static void print_histogram(FILE *stream, const char *name, const char *help,
			    const struct metrics_histogram *histogram)
{
	unsigned long long sum = 0;

	fprintf(stream, "# TYPE hwheeld_%s_seconds histogram\n# UNIT hwheeld_%s_seconds seconds\n"
		"# HELP hwheeld_%s_seconds %s\n", name, name, name, help);
	for (unsigned int i = 0; i < METRICS_BINS - 1; i++) {
		sum += histogram->bins[i];
		fprintf(stream, "hwheeld_%s_seconds_bucket{le=\"%.9g\"} %llu\n", name,
			seconds(FIRST_BIN_NS << i), sum);
	}
	sum += histogram->bins[METRICS_BINS - 1];
	fprintf(stream, "hwheeld_%s_seconds_bucket{le=\"+Inf\"} %llu\n"
		"hwheeld_%s_seconds_count %llu\nhwheeld_%s_seconds_sum %.9f\n",
		name, sum, name, sum, name, seconds(histogram->sum_ns));
}

static void print_timeouts(FILE *stream)
{
	print_counter(stream, "created", "Timeouts created", metrics.put);
	print_counter(stream, "restarted", "Timeouts restarted", metrics.restarted);
	print_counter(stream, "cancelled", "Timeouts cancelled", metrics.cancelled);
	print_counter(stream, "due", "Timeouts that became due", metrics.due);
	print_counter(stream, "leased", "Timeouts leased to clients", metrics.leased);
	print_counter(stream, "acknowledged", "Timeouts acknowledged", metrics.acknowledged);
	print_counter(stream, "leases_ended", "Leases that ended without an acknowledgment",
		      metrics.leases_ended);
	print_counter(stream, "leases_returned", "Leases given back, or whose client had hung up",
		      metrics.leases_returned);
	print_gauge(stream, "timeouts", "Timeouts that there are", (double)timeout_count());
	print_gauge(stream, "queues", "Queues that there are", (double)queue_count());
	print_gauge(stream, "memory_bytes", "Memory that timeouts take", (double)timeout_bytes());
	print_gauge(stream, "alarms_beside_wheel", "Alarms that found no room on the wheel",
		    (double)alarm_beside());
	print_histogram(stream, "lateness", "From the deadline until the timeout is due",
			&metrics.lateness);
	print_gauge(stream, "lateness_max_seconds", "The largest lateness",
		    seconds(metrics.lateness.max_ns));
	print_histogram(stream, "delivery", "From the deadline until a lease is committed",
			&metrics.delivery);
}

static void print_store(FILE *stream, struct store *store)
{
	struct store_figures figures;

	store->ops->figures(store, &figures);
	print_counter(stream, "commits", "Commits of the store", figures.commits);
	print_counter(stream, "records", "Records in these commits", figures.records);
	print_counter(stream, "commit_failures", "Commits that failed", figures.failures);
	print_gauge(stream, "commit_seconds_sum", "Time that commits took",
		    seconds(figures.commit_ns));
	print_gauge(stream, "commit_max_seconds", "The longest commit",
		    seconds(figures.commit_max_ns));
	print_gauge(stream, "log_records", "Records in the log", (double)change_log_size());
	print_gauge(stream, "store_lost", "1: the outcome of a commit is unknown",
		    store->ops->is_lost(store));
}

static void print_requests(FILE *stream)
{
	fputs("# TYPE hwheeld_answers counter\n# HELP hwheeld_answers Answers to requests\n",
	      stream);
	for (unsigned int i = 1; i < 6; i++)
		fprintf(stream, "hwheeld_answers_total{class=\"%uxx\"} %llu\n", i,
			(unsigned long long)metrics.answers[i]);
	print_gauge(stream, "connections", "Connections of clients", (double)client_count());
	print_gauge(stream, "requests", "Requests under way", (double)exchange_count());
	print_counter(stream, "clients_refused", "Connections beyond a limit, or not permitted",
		      metrics.clients_refused);
	print_counter(stream, "requests_too_slow", "Requests that took too long",
		      metrics.requests_too_slow);
	print_counter(stream, "wall_steps", "Steps of the wall clock", metrics.wall_steps);
}

static void print_clock(FILE *stream)
{
	print_gauge(stream, "clock_bound_seconds", "By how much the shared time may be wrong",
		    seconds(now_bound_ns()));
	print_gauge(stream, "clock_offset_seconds", "The shared time, less this wall clock",
		    now_offset_of_wall());
	print_counter(stream, "clock_corrections", "Leaders whose clock had to be corrected",
		      metrics.clock_corrections);
	print_gauge(stream, "clock_leader_epoch", "The epoch of the leader that has the clock",
		    (double)metrics.clock_epoch);
}

char *metrics_text(struct store *store, size_t *length)
{
	char *text = NULL;
	FILE *stream = memory_need(open_memstream(&text, length));

	print_timeouts(stream);
	print_store(stream, store);
	print_requests(stream);
	if (now_is_shared())
		print_clock(stream);
	fputs("# EOF\n", stream);
	fclose(stream);
	return memory_need(text);
}
