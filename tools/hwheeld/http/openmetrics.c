// SPDX-License-Identifier: GPL-2.0-only
#include <stddef.h>
#include <stdio.h>

#include "clock/alarm.h"
#include "clock/now.h"
#include "http/answer.h"
#include "http/show.h"
#include "hwheelctl/array.h"
#include "log/log.h"
#include "memory.h"
#include "queue/queue.h"
#include "queue/room.h"
#include "queue/timeout.h"
#include "store/store.h"

#define OPENMETRICS_TYPE "application/openmetrics-text; version=1.0.0; charset=utf-8"

static double openmetrics_seconds(uint64_t ns)
{
	return (double)ns / 1e9;
}

static void openmetrics_counter(FILE *stream, const char *name, const char *help, uint64_t value)
{
	fprintf(stream, "# TYPE hwheeld_%s counter\n# HELP hwheeld_%s %s\nhwheeld_%s_total %llu\n",
		name, name, help, name, (unsigned long long)value);
}

static void openmetrics_gauge(FILE *stream, const char *name, const char *help, double value)
{
	fprintf(stream, "# TYPE hwheeld_%s gauge\n# HELP hwheeld_%s %s\nhwheeld_%s %.9g\n",
		name, name, help, name, value);
}

static void openmetrics_histogram(FILE *stream, const char *name, const char *help,
				  const struct metrics_histogram *histogram)
{
	unsigned long long sum = 0;

	fprintf(stream, "# TYPE hwheeld_%s_seconds histogram\n# UNIT hwheeld_%s_seconds seconds\n"
		"# HELP hwheeld_%s_seconds %s\n", name, name, name, help);
	for (unsigned int i = 0; i < METRICS_BINS - 1; i++) {
		sum += histogram->bins[i];
		fprintf(stream, "hwheeld_%s_seconds_bucket{le=\"%.9g\"} %llu\n", name,
			openmetrics_seconds(METRICS_FIRST_NS << i), sum);
	}
	sum += histogram->bins[METRICS_BINS - 1];
	fprintf(stream, "hwheeld_%s_seconds_bucket{le=\"+Inf\"} %llu\n"
		"hwheeld_%s_seconds_count %llu\nhwheeld_%s_seconds_sum %.9f\n",
		name, sum, name, sum, name, openmetrics_seconds(histogram->sum_ns));
}

static const struct {
	const char *name;
	const char *help;
	size_t at;			/* in struct metrics */
} openmetrics_counters[] = {
#define COUNTER(name, member, help)	{ name, help, offsetof(struct metrics, member) }
	COUNTER("created", put, "Timeouts created"),
	COUNTER("restarted", restarted, "Timeouts restarted"),
	COUNTER("cancelled", cancelled, "Timeouts cancelled"),
	COUNTER("due", due, "Timeouts that became due"),
	COUNTER("leased", leased, "Timeouts leased to clients"),
	COUNTER("acknowledged", acknowledged, "Timeouts acknowledged"),
	COUNTER("leases_ended", leases_ended, "Leases that ended without an acknowledgment"),
	COUNTER("leases_returned", leases_returned,
		"Leases given back, or whose client had hung up"),
	COUNTER("clients_refused", clients_refused, "Connections beyond a limit, or not permitted"),
	COUNTER("requests_too_slow", requests_too_slow, "Requests that took too long"),
	COUNTER("wall_steps", wall_steps, "Steps of the wall clock"),
};

static void openmetrics_timeouts(FILE *stream, struct service *service)
{
	enum room_reason lack = room_lacks_any(service);
	const struct metrics *metrics = &service->metrics;

	for (size_t i = 0; i < ARRAY_SIZE(openmetrics_counters); i++)
		openmetrics_counter(stream, openmetrics_counters[i].name,
				    openmetrics_counters[i].help,
				    *(const uint64_t *)((const char *)metrics +
							openmetrics_counters[i].at));
	openmetrics_gauge(stream, "timeouts", "Timeouts that there are",
			  (double)timeout_count(service));
	openmetrics_gauge(stream, "queues", "Queues that there are", (double)queue_count(service));
	openmetrics_gauge(stream, "memory_bytes", "Memory that timeouts take",
			  (double)service->timeouts_bytes);
	openmetrics_gauge(stream, "alarms_beside_wheel", "Alarms that found no room on the wheel",
			  (double)alarm_beside());
	fputs("# TYPE hwheeld_refuses gauge\n# HELP hwheeld_refuses 1: why new timeouts get 507\n",
	      stream);
	for (enum room_reason i = 0; i < ROOM_REASONS; i++)
		fprintf(stream, "hwheeld_refuses{reason=\"%s\"} %d\n", room_texts[i].word,
			i == lack);
	openmetrics_histogram(stream, "lateness", "From the deadline until the timeout is due",
			      &metrics->lateness);
	openmetrics_gauge(stream, "lateness_max_seconds", "The largest lateness",
			  openmetrics_seconds(metrics->lateness.max_ns));
	openmetrics_histogram(stream, "delivery", "From the deadline until a lease is committed",
			      &metrics->delivery);
}

static void openmetrics_store(FILE *stream, const struct service *service)
{
	struct store *store = service->store;
	const struct store_figures *figures = &store->figures;

	openmetrics_counter(stream, "commits", "Commits of the store", figures->commits);
	openmetrics_counter(stream, "records", "Records in these commits", figures->records);
	openmetrics_counter(stream, "commit_failures", "Commits that failed", figures->failures);
	openmetrics_gauge(stream, "commit_seconds_sum", "Time that commits took",
			  openmetrics_seconds(figures->commit_ns));
	openmetrics_gauge(stream, "commit_max_seconds", "The longest commit",
			  openmetrics_seconds(figures->commit_max_ns));
	openmetrics_gauge(stream, "log_records", "Records in the log", (double)log_size(service));
	if (figures->quota) {
		openmetrics_gauge(stream, "servers_bytes",
				  "What the store's fullest server has on its disk",
				  (double)figures->bytes);
		openmetrics_gauge(stream, "servers_quota_bytes",
				  "How much a server takes: new timeouts are refused at 75 %",
				  (double)figures->quota);
	}
	openmetrics_gauge(stream, "store_damaged", "1: a record is damaged, and nothing is served",
			  store->is_damaged);
	openmetrics_gauge(stream, "store_lost", "1: the outcome of a commit is unknown",
			  store->ops->is_lost(store));
}

static void openmetrics_requests(FILE *stream, const struct service *service)
{
	const struct metrics *metrics = &service->metrics;

	fputs("# TYPE hwheeld_answers counter\n# HELP hwheeld_answers Answers to requests\n",
	      stream);
	for (unsigned int i = 1; i < 6; i++)
		fprintf(stream, "hwheeld_answers_total{class=\"%uxx\"} %llu\n", i,
			(unsigned long long)metrics->answers[i]);
	openmetrics_gauge(stream, "connections", "Connections of clients",
			  (double)service->clients_count);
	openmetrics_gauge(stream, "requests", "Requests under way", (double)service->requests);
	if (!now_is_shared())
		return;
	openmetrics_gauge(stream, "clock_bound_seconds",
			  "By how much the shared time may be wrong",
			  openmetrics_seconds(now_bound_ns()));
	openmetrics_gauge(stream, "clock_offset_seconds", "The shared time, less this wall clock",
			  now_offset_of_wall());
	openmetrics_counter(stream, "clock_corrections",
			    "Keepers of the shared time that this node went by",
			    metrics->clock_corrections);
	openmetrics_gauge(stream, "clock_leader_epoch",
			  "The epoch of the keeper of the shared time",
			  (double)metrics->clock_epoch);
}

void show_metrics(struct request *request)
{
	char *text = NULL;
	size_t length;
	FILE *stream = memory_need(open_memstream(&text, &length));

	openmetrics_timeouts(stream, request->service);
	openmetrics_store(stream, request->service);
	openmetrics_requests(stream, request->service);
	fputs("# EOF\n", stream);
	fclose(stream);
	answer_text(request, MHD_HTTP_OK, OPENMETRICS_TYPE, memory_need(text), length);
}
