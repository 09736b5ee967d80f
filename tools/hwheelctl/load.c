// SPDX-License-Identifier: GPL-2.0-only
/* hwheelctl load: load on a wheel, with a progress bar and a report. */
#include <argp.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"
#include "command.h"
#include "duration.h"
#include "fail.h"
#include "histogram.h"
#include "json.h"
#include "loader.h"
#include "name.h"
#include "option.h"
#include "place.h"

#define BAR		16	/* characters */
#define MAX_THREADS	256
#define MAX_DELAY	(365 * 24 * 3600 * SEC)
#define MAX_RATE	SEC	/* one each ns */

struct request {
	struct order order;
	bool json;
	bool quiet;
};

/* The sums of all loaders */
struct report {
	struct tally tally;
	struct quantile late;
	__u64 bins[HWHEEL_LATENESS_BINS];
	__u64 arming_ns;
	__u64 tick_ns;
	__u64 lost;
};

/* --- while it goes on --- */

static struct tally tally_of(const struct loader *loaders, unsigned int n)
{
	struct tally sum = { 0 };

	for (unsigned int i = 0; i < n; i++)
		tally_add(&sum, &loaders[i].tally);
	return sum;
}

/* Of the time or of the timeouts, whatever is the end */
static double part_done(const struct order *order, const struct tally *tally, __u64 elapsed)
{
	double part = order->count ? (double)tally->armed / order->count :
				     (double)elapsed / order->time_ns;

	return part > 1 ? 1 : part;
}

static void print_progress(const struct order *order, const struct tally *tally,
			   const struct tally *before, __u64 elapsed, __u64 since)
{
	static const char bar[BAR + 1] = "################";
	double part = part_done(order, tally, elapsed);

	fprintf(stderr, "\r[%-*.*s] %3.0f %% %9.0f armed/s %9.0f expired/s %8llu pending",
		BAR, (int)(part * BAR), bar, part * 100,
		(tally->armed - before->armed) * 1e9 / since,
		(tally->expired - before->expired) * 1e9 / since, tally_open(tally));
}

/* The loaders' threads block it. */
static void end(int signal)
{
	(void)signal;
	loaders_stop();
}

static bool is_over(const struct loader *loaders, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++)
		if (!__atomic_load_n(&loaders[i].over, __ATOMIC_ACQUIRE))
			return false;
	return true;
}

/* Looks at what the loaders do, until all are done. */
static void follow(const struct loader *loaders, const struct request *request)
{
	const struct timespec pause = { .tv_nsec = 200000000 };
	bool shown = !request->quiet && isatty(STDERR_FILENO);
	__u64 start = clock_ns(), last = start, now;
	struct tally before = { 0 }, tally;

	while (!is_over(loaders, request->order.threads)) {
		nanosleep(&pause, NULL);
		now = clock_ns();
		tally = tally_of(loaders, request->order.threads);
		if (shown)
			print_progress(&request->order, &tally, &before, now - start, now - last);
		before = tally;
		last = now;
	}
	if (shown)
		fputc('\n', stderr);
}

/* --- and in the end --- */

static struct report *make_report(const struct loader *loaders, unsigned int n)
{
	struct report *report = calloc(1, sizeof(*report));

	if (!report)
		abort();
	report->tally = tally_of(loaders, n);
	report->lost = tally_open(&report->tally);
	report->tick_ns = loaders[0].tick_ns;
	for (unsigned int i = 0; i < n; i++) {
		quantile_merge(&report->late, &loaders[i].late);
		for (size_t bin = 0; bin < HWHEEL_LATENESS_BINS; bin++)
			report->bins[bin] += loaders[i].bins[bin];
		if (loaders[i].arming_ns > report->arming_ns)
			report->arming_ns = loaders[i].arming_ns;
	}
	return report;
}

static double rate_of(const struct report *report)
{
	return report->arming_ns ? report->tally.armed * 1e9 / report->arming_ns : 0;
}

static void print_lateness(const char *name, __u64 ns, __u64 tick_ns)
{
	char text[DURATION_TEXT];

	printf("  %-4s %12s  %8.3f ticks\n", name, duration_format(ns, text),
	       (double)ns / tick_ns);
}

static void print_text(const struct report *report)
{
	const struct tally *tally = &report->tally;
	char text[DURATION_TEXT];

	printf("armed     %12llu  in %s, %.0f a second\n", tally->armed,
	       duration_format(report->arming_ns, text), rate_of(report));
	printf("refreshed %12llu\n", tally->refreshed);
	printf("cancelled %12llu\n", tally->cancelled);
	printf("too late  %12llu  to be cancelled or refreshed: they had expired\n",
	       tally->too_late);
	printf("expired   %12llu\n", tally->expired);
	printf("stopped   %12llu  by a signal to this program\n", tally->stopped);
	printf("refused   %12llu  for want of room\n", tally->refused);
	printf("lost      %12llu\n", report->lost);
	printf("early     %12llu\n", tally->early);
	if (!report->late.count)
		return;
	puts("How late those that expired were:");
	print_lateness("p50", quantile_at(&report->late, 0.5), report->tick_ns);
	print_lateness("p99", quantile_at(&report->late, 0.99), report->tick_ns);
	print_lateness("max", report->late.max, report->tick_ns);
	puts("in ticks:");
	histogram_print(stdout, report->bins);
}

static void print_json(const struct report *report)
{
	struct json_object *object = json_object_new_object();
	const struct tally *tally = &report->tally;

	json_add_number(object, "armed", tally->armed);
	json_add_number(object, "refreshed", tally->refreshed);
	json_add_number(object, "cancelled", tally->cancelled);
	json_add_number(object, "too_late", tally->too_late);
	json_add_number(object, "expired", tally->expired);
	json_add_number(object, "stopped", tally->stopped);
	json_add_number(object, "refused", tally->refused);
	json_add_number(object, "lost", report->lost);
	json_add_number(object, "early", tally->early);
	json_add_number(object, "arming_ns", report->arming_ns);
	json_object_object_add(object, "armed_per_second",
			       json_object_new_double(rate_of(report)));
	json_add_number(object, "tick_ns", report->tick_ns);
	json_add_number(object, "late_p50_ns", quantile_at(&report->late, 0.5));
	json_add_number(object, "late_p99_ns", quantile_at(&report->late, 0.99));
	json_add_number(object, "late_max_ns", report->late.max);
	json_add_numbers(object, "lateness", report->bins, HWHEEL_LATENESS_BINS);
	json_print(object);
}

static int tell(const struct loader *loaders, const struct request *request)
{
	struct report *report = make_report(loaders, request->order.threads);
	int ret = report->lost || report->tally.early ? FAILED : DONE;

	if (request->json)
		print_json(report);
	else
		print_text(report);
	free(report);
	return ret;
}

/* --- all of it --- */

static int open_all(struct loader *loaders, const struct order *order)
{
	for (unsigned int i = 0; i < order->threads; i++) {
		int error = loader_open(&loaders[i], order, i);

		if (error && !loaders[i].wheel)
			return fail_open(error);
		if (error)
			return fail_configure("a wheel for this load", error);
	}
	place_say(loaders[0].wheel);
	return DONE;
}

/* Only the main thread is to get signals. */
static int start_all(struct loader *loaders, unsigned int n)
{
	const struct sigaction action = { .sa_handler = end };
	sigset_t signals, before;
	int error = 0;

	sigemptyset(&signals);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGTERM);
	sigprocmask(SIG_BLOCK, &signals, &before);
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	for (unsigned int i = 0; i < n && !error; i++)
		error = loader_start(&loaders[i]);
	sigprocmask(SIG_SETMASK, &before, NULL);
	return error;
}

static int put_load(struct loader *loaders, const struct request *request)
{
	int error = start_all(loaders, request->order.threads);

	if (error)
		loaders_stop();
	else
		follow(loaders, request);
	for (unsigned int i = 0; i < request->order.threads; i++) {
		loader_join(&loaders[i]);
		if (loaders[i].error)
			error = loaders[i].error;
	}
	return error ? fail_arm(loaders[0].wheel, "load", error) : tell(loaders, request);
}

static int run(const struct request *request)
{
	struct loader *loaders = calloc(request->order.threads, sizeof(*loaders));
	int ret;

	if (!loaders)
		return fail("load", -ENOMEM);
	ret = open_all(loaders, &request->order);
	if (!ret)
		ret = put_load(loaders, request);
	for (unsigned int i = 0; i < request->order.threads; i++)
		loader_close(&loaders[i]);
	free(loaders);
	return ret;
}

/* --- arguments --- */

static void check(struct argp_state *state, const struct order *order)
{
	if (order->cancel + order->refresh > 100)
		argp_error(state, "more than 100 %% of them are cancelled or refreshed");
	if (!order->threads || !order->batch)
		argp_error(state, "at least one thread, and one in a batch");
	if (!order->count && !order->time_ns)
		argp_error(state, "neither a count nor a time");
	if (order->delay_ns > MAX_DELAY)
		argp_error(state, "a delay of more than a year");
}

/* An option about a wheel asks for a wheel, of the kind that it takes. */
static void complete(struct hwheel_config *config)
{
	config->clock = CLOCK_MONOTONIC;
	if (config->kind != HWHEEL_KIND_DEFAULT)
		return;
	if (config->levels > 1)
		config->kind = HWHEEL_KIND_HIERARCHICAL;
	else if (config->tick_ns || config->slots || config->levels)
		config->kind = HWHEEL_KIND_HASHED;
}

static unsigned int parse_kind(struct argp_state *state, const char *name)
{
	int kind = kind_of_name(name);

	if (kind < 0)
		argp_error(state, "%s: not hashed, hierarchical or simple", name);
	return kind;
}

static error_t parse_config(int key, char *argument, struct argp_state *state)
{
	struct hwheel_config *config = &((struct request *)state->input)->order.config;

	switch (key) {
	case OPTION_TICK:
		config->tick_ns = option_duration(state, key, argument);
		return 0;
	case OPTION_SLOTS:
		config->slots = option_number_up_to(state, key, argument, UINT32_MAX);
		return 0;
	case OPTION_LEVELS:
		config->levels = option_number_up_to(state, key, argument, UINT32_MAX);
		return 0;
	case OPTION_KIND:
		config->kind = parse_kind(state, argument);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static error_t parse_shares(int key, char *argument, struct argp_state *state)
{
	struct order *order = &((struct request *)state->input)->order;

	switch (key) {
	case 'c':
		order->cancel = option_number_up_to(state, key, argument, 100);
		return 0;
	case 'f':
		order->refresh = option_number_up_to(state, key, argument, 100);
		return 0;
	case 'j':
		order->threads = option_number_up_to(state, key, argument, MAX_THREADS);
		return 0;
	case 'b':
		order->batch = option_number_up_to(state, key, argument, HWHEEL_SUBMIT_MAX);
		return 0;
	case OPTION_CALLS:
		order->calls = true;
		return 0;
	case OPTION_SEED:
		order->seed = option_number(state, key, argument);
		return 0;
	default:
		return parse_config(key, argument, state);
	}
}

static error_t parse_amount(int key, char *argument, struct argp_state *state)
{
	struct order *order = &((struct request *)state->input)->order;

	switch (key) {
	case 'r':
		order->rate = option_number_up_to(state, key, argument, MAX_RATE);
		return 0;
	case 'n':
		order->count = option_number(state, key, argument);
		return 0;
	case 't':
		order->time_ns = option_duration(state, key, argument);
		return 0;
	case 'd':
		order->delay_ns = option_duration(state, key, argument);
		return 0;
	default:
		return parse_shares(key, argument, state);
	}
}

static error_t parse(int key, char *argument, struct argp_state *state)
{
	struct request *request = state->input;

	switch (key) {
	case OPTION_JSON:
		request->json = true;
		return 0;
	case 'q':
		request->quiet = true;
		return 0;
	case ARGP_KEY_END:
		check(state, &request->order);
		complete(&request->order.config);
		return 0;
	default:
		return parse_amount(key, argument, state);
	}
}

static const struct argp_option options[] = {
	{ "rate", 'r', "N", 0, "Arm N a second; 0: as many as it takes (default 10000)", 1 },
	{ "time", 't', "DURATION", 0, "Arm for so long (default 5s)", 1 },
	{ "count", 'n', "N", 0, "Arm N of them, however long that takes", 1 },
	{ "delay", 'd', "DURATION", 0,
	  "Delays are spread evenly from half of that up to it (default 1s)", 1 },
	{ "cancel", 'c', "PERCENT", 0, "How many are cancelled (default 50)", 1 },
	{ "refresh", 'f', "PERCENT", 0, "How many are refreshed once (default 0)", 1 },
	{ "threads", 'j', "N", 0, "By N threads, with a file of the device each (default 1)", 1 },
	{ "batch", 'b', "N", 0, "Up to N operations at a time (default 64)", 1 },
	{ "calls", OPTION_CALLS, NULL, 0,
	  "By system calls, one for each batch, not in memory that is mapped", 1 },
	{ "seed", OPTION_SEED, "N", 0, "Of the random numbers (default 1)", 1 },
	{ NULL, 0, NULL, 0, "A wheel of its own for each thread, not the shared one:", 2 },
	{ "tick", OPTION_TICK, "DURATION", 0, "With this tick", 2 },
	{ "slots", OPTION_SLOTS, "N", 0, "With so many slots", 2 },
	{ "levels", OPTION_LEVELS, "N", 0, "With so many levels", 2 },
	{ "kind", OPTION_KIND, "KIND", 0,
	  "hashed, hierarchical (default with several levels) or simple", 2 },
	{ NULL, 0, NULL, 0, "What is printed:", 3 },
	{ "json", OPTION_JSON, NULL, 0, "JSON", 3 },
	{ "quiet", 'q', NULL, 0, "No progress bar", 3 },
	{ }
};

int load_main(int argc, char **argv)
{
	const struct argp argp = {
		.options = options, .parser = parse,
		.doc = "Arm timeouts, cancel or refresh some of them a quarter of the delay\n"
		       "later, and read the events. In the end, report what became of all of\n"
		       "them and how late they expired. Ctrl-C ends it earlier. Fails if one was\n"
		       "early, or lost.\n"
		       "\vExamples:\n"
		       "  hwheelctl load\n"
		       "  hwheelctl load --rate 100000 --cancel 95 --time 30s\n"
		       "  hwheelctl load --count 1000000 --rate 0 --threads 4\n"
		       "  hwheelctl load --tick 1ms --delay 100ms --refresh 20 --json\n",
	};
	struct request request = {
		.order = {
			.rate = 10000, .time_ns = 5 * SEC, .delay_ns = SEC, .cancel = 50,
			.threads = 1, .batch = 64, .seed = 1,
		},
	};

	argp_parse(&argp, argc, argv, 0, NULL, &request);
	return run(&request);
}
